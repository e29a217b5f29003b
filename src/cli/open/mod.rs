//! `traceconv INPUT --open` and `traceconv serve TRACE`: hands a trace to the viewer in the browser of this machine.
//!
//! Two ways. The viewer fetches the trace from here, from the one port and address that its own rules let it connect to
//! ([`VIEWER_PORT`]). Or a page of ours ([`How::Page`]) reads it and hands it over by `postMessage`: that takes a click, but the viewer
//! needs no access to this machine, which browsers ask their user for.

mod http;
mod link;
mod server;
mod shown;
#[cfg(test)]
mod tests;
#[cfg(feature = "web-page")]
pub(super) mod web;

use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::plan::{self, ConvertPlan, Place, PlanError};
use super::{Status, fail, say};
use link::Viewer;
use server::{Event, Patience, Server};
use shown::Shown;

/// Of all ports of this machine the viewer connects to this one only.
const VIEWER_PORT: u16 = 9001;

/// For how long `--open` waits for the viewer while nothing happens.
const OPEN_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Options of a conversion.
#[derive(Debug, ClapArgs)]
pub(super) struct OpenArgs {
    /// Open the trace in the viewer
    ///
    /// With `link`, which is the default, the viewer fetches the trace from port 9001 of this machine, for which the browser may ask a permission. With
    /// `page` a page of this machine with a button hands it over. The program ends when the viewer has the trace.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "link")]
    open: Option<How>,

    #[command(flatten)]
    with: ViewerArgs,
}

/// Options of whatever opens the viewer.
#[derive(Debug, ClapArgs)]
struct ViewerArgs {
    /// Where the viewer is.
    #[arg(long, value_name = "URL", help = "Where the viewer is, if it is one of your own [default: https://ui.perfetto.dev/]")]
    ui_url: Option<Viewer>,

    /// Print the link, but start no browser
    #[arg(long)]
    no_browser: bool,
}

/// The arguments of `traceconv serve`.
#[derive(Debug, ClapArgs)]
pub(super) struct ServeArgs {
    /// The trace, as a conversion wrote it
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// Serve a page with a button that hands the trace to the viewer, as --open=page does
    #[arg(long)]
    page: bool,

    #[command(flatten)]
    with: ViewerArgs,

    /// Print nothing but errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// How the viewer gets the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// The viewer fetches it from port 9001
    Link,
    /// A page with a button hands it over
    Page,
}

/// A trace to be shown, once it is there.
#[derive(Debug)]
pub(super) struct OpenPlan {
    trace: PathBuf,
    how: How,
    viewer: Viewer,
    starts_browser: bool,
    is_quiet: bool,
    /// Until the viewer has it, or until somebody ends the program.
    once: bool,
}

/// The trace to open when a conversion is done, if any.
pub(super) fn plan_open(args: &OpenArgs, plan: &ConvertPlan) -> Result<Option<OpenPlan>, PlanError> {
    let Some(how) = args.open else {
        return match (&args.with.ui_url, args.with.no_browser) {
            (Some(_), _) => Err(PlanError::usage("--ui-url concerns --open, which is not given")),
            (None, true) => Err(PlanError::usage("--no-browser concerns --open, which is not given")),
            (None, false) => Ok(None),
        };
    };
    let [job] = plan.jobs.as_slice() else {
        return Err(PlanError::usage(
            "--open shows one trace, but there are several; convert them, and `traceconv serve` the one",
        ));
    };
    if plan.form.split_bytes.is_some() {
        return Err(PlanError::usage(
            "--open shows one trace, and --split-size writes several; `traceconv serve` shows one of them",
        ));
    }
    let Place::File(trace) = &job.output else {
        return Err(PlanError::usage("--open shows a trace in a file; name one with -o"));
    };
    Ok(Some(OpenPlan {
        trace: trace.clone(),
        how,
        viewer: args.with.ui_url.clone().unwrap_or_default(),
        starts_browser: !args.with.no_browser,
        is_quiet: plan.reading.verbosity == super::plan::Verbosity::Quiet,
        once: true,
    }))
}

/// Plans to serve.
pub(super) fn plan_serve(args: ServeArgs) -> OpenPlan {
    OpenPlan {
        trace: args.trace,
        how: if args.page { How::Page } else { How::Link },
        viewer: args.with.ui_url.unwrap_or_default(),
        starts_browser: !args.with.no_browser,
        is_quiet: args.quiet,
        once: false,
    }
}

/// Shows the trace of a conversion that ended so, if there is one.
pub(super) fn after(plan: Option<&OpenPlan>, status: Status) -> Status {
    match plan {
        Some(plan) if matches!(status, Status::Done | Status::TooMuchLost | Status::TooUncertain) => status.max(run(plan)),
        _ => status,
    }
}

/// Serves the trace, and returns when it is time to.
pub(super) fn run(plan: &OpenPlan) -> Status {
    show(plan).map_or_else(fail, |()| Status::Done)
}

/// Why a trace cannot be shown.
enum ShowError {
    /// The file is not there, or is no trace.
    Trace(String),
    /// The port is taken.
    Busy { holder: &'static str, file: PathBuf },
    /// Any other error of the system.
    System(std::io::Error),
    /// Nobody has fetched it.
    NotFetched { file: PathBuf },
}

impl fmt::Display for ShowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShowError::Trace(reason) => f.write_str(reason),
            ShowError::Busy { holder, file } => write!(
                f,
                "port {VIEWER_PORT} of this machine is in use by {holder}, and the viewer fetches traces from no other port. End what \
                 holds it and run `traceconv serve` on the trace; or use --open=page (`serve --page`), which needs no certain port; or \
                 drag the file onto the viewer's page: {}",
                plan::shown(file)
            ),
            ShowError::System(error) => write!(f, "the trace cannot be served: {error}"),
            ShowError::NotFetched { file } => write!(
                f,
                "nobody has fetched the trace within {} minutes; `traceconv serve` serves it without a limit of time: {}",
                OPEN_PATIENCE.as_secs() / 60,
                plan::shown(file)
            ),
        }
    }
}

fn show(plan: &OpenPlan) -> Result<(), ShowError> {
    let file = std::path::absolute(&plan.trace).unwrap_or_else(|_| plan.trace.clone());
    let size = shown::check(&plan.trace).map_err(ShowError::Trace)?;
    let port = match plan.how {
        How::Link => VIEWER_PORT,
        How::Page => 0,
    };
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(listener) => listener,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            return Err(ShowError::Busy { holder: shown::holder_of(VIEWER_PORT), file });
        }
        Err(error) => return Err(ShowError::System(error)),
    };
    let address = listener.local_addr().map_err(ShowError::System)?;
    let lot = shown::draw_lot().map_err(ShowError::System)?;
    let shown = match plan.how {
        How::Link => Shown::by_link(&file, &plan.viewer, address, &lot),
        How::Page => Shown::by_page(&file, size, &plan.viewer, address, &lot),
    };
    let Shown { site, link } = shown;
    let server = Server::start(listener, site, Patience::default()).map_err(ShowError::System)?;
    let started = plan.starts_browser.then(|| open::that_detached(&link));
    // Whoever wants no messages still needs the link where no browser opens it.
    if !plan.is_quiet || !matches!(started, Some(Ok(()))) {
        print_instructions(plan, &link, &file, started.as_ref().and_then(|started| started.as_ref().err()));
    }
    loop {
        match server.next(OPEN_PATIENCE) {
            Some(event) => {
                let ends = plan.once
                    && match event {
                        Event::Sent { .. } => plan.how == How::Link,
                        Event::HandedOver => true,
                        Event::BrokenOff { .. } | Event::Unreadable(_) | Event::Refused(_) => false,
                    };
                if !plan.is_quiet || matches!(event, Event::Unreadable(_)) {
                    tell_event(plan, &event);
                }
                if ends {
                    return Ok(());
                }
            }
            None if plan.once => return Err(ShowError::NotFetched { file }),
            None => {}
        }
    }
}

/// Prints the link, and advice if it does not work.
fn print_instructions(plan: &OpenPlan, link: &str, file: &Path, failure: Option<&std::io::Error>) {
    let until = if plan.once { "until the viewer has it; Ctrl-C ends it before" } else { "until Ctrl-C" };
    let mut text = format!("The trace is served {until}. ");
    text += match (plan.starts_browser, failure) {
        (true, None) => "The browser opens",
        (true, Some(_)) | (false, _) => "Open this link in a browser of this machine:",
    };
    text += &format!("\n  {link}\n");
    if let Some(error) = failure {
        // It repeats the command with the link.
        let error = error.to_string().replace(link, "LINK");
        text += &format!("No browser could be started: {error}\n");
    }
    match plan.how {
        How::Link => {
            text += "If the browser asks whether the page may access apps on this device, or the local network: allow it. If that was \
                     denied, nothing happens: use --open=page (`serve --page`), or drag the file onto the viewer's page:\n";
        }
        How::Page => text += "If it does not work: drag the file onto the viewer's page:\n",
    }
    text += &format!("  {}\n", plan::shown(file));
    if std::env::var_os("SSH_CONNECTION").is_some() {
        text += "You are here by SSH: a browser on your own machine reaches this only through a tunnel to the same port, as with ssh -L.\n";
    }
    say(&text);
}

fn tell_event(plan: &OpenPlan, event: &Event) {
    match event {
        Event::Sent { bytes } => match plan.how {
            How::Link => say(&format!("The viewer has the trace ({bytes} bytes).\n")),
            // The page says more.
            How::Page => {}
        },
        Event::HandedOver => say("The viewer has the trace.\n"),
        Event::BrokenOff { sent_bytes, of_bytes } => {
            say(&format!("The browser broke off after {sent_bytes} of {of_bytes} bytes; it may try again.\n"));
        }
        Event::Unreadable(error) => say(&format!("error: {} cannot be read: {error}\n", plan::shown(&plan.trace))),
        Event::Refused(request) => say(&format!("Refused: {request}.\n")),
    }
}
