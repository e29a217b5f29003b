//! `traceconv web`: serves the page with the converter in it to the browser of this machine. Its files are in the program.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use clap::Args as ClapArgs;

use super::server::{Content, Event, Patience, Resource, Server, Site};
use crate::cli::{Status, fail, say};

/// The page's files: path, media type, content. If this file is missing, its name says how it is made.
const FILES: &[(&str, &str, &[u8])] = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/build/web/made-by-cargo-xtask-web.rs"));

/// One port for all runs: the browser keeps the page's data by port.
const PORT: u16 = 9021;

/// The arguments of `traceconv web`.
#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct WebArgs {
    /// The port to serve on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,

    /// Print the link, but start no browser
    #[arg(long)]
    no_browser: bool,
}

/// Serves until the program is ended.
pub(in crate::cli) fn run(args: &WebArgs) -> Status {
    serve(args).map_or_else(fail, |()| Status::Done)
}

fn serve(args: &WebArgs) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => format!("port {} of this machine is in use; name another one with --port, 0 for any", args.port),
        _ => format!("the page cannot be served: {error}"),
    })?;
    let address = listener.local_addr().map_err(|error| format!("the page cannot be served: {error}"))?;
    let origin = format!("http://{address}");
    let link = format!("{origin}/");
    let file = |&(path, media_type, bytes): &(&str, &'static str, &'static [u8])| Resource {
        path: path.into(),
        content: Content::Page { media_type, bytes },
    };
    let mut resources: Vec<Resource> = FILES.iter().map(file).collect();
    let index = FILES.iter().filter(|(path, ..)| *path == "/index.html").map(file);
    resources.extend(index.map(|index| Resource { path: "/".into(), ..index }));
    let server = Server::start(listener, Site { origin, is_own_page: true, resources }, Patience::default())
        .map_err(|error| format!("the page cannot be served: {error}"))?;
    let opens = !args.no_browser && open::that_detached(&link).is_ok();
    let how = if opens { "The browser opens" } else { "Open this link in a browser of this machine:" };
    say(&format!("The page is served until Ctrl-C. {how}\n  {link}\n"));
    loop {
        // Only refusals are reported.
        if let Some(Event::Refused(request)) = server.next(Duration::from_secs(3600)) {
            say(&format!("Refused: {request}.\n"));
        }
    }
}
