//! The server of a trace, and the messages before it starts.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::link::{Viewer, path_of};
use super::server::{Content, Resource, Site};
use crate::cli::plan;
use crate::format::SAMPLE_BYTES;
use crate::input::detect::detect;
use crate::input::is_compressed;

/// The served trace, and the link to it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) site: Site,
    pub(super) link: String,
}

impl Shown {
    /// The file alone, for the viewer to fetch.
    /// `lot` is the first part of all paths.
    pub(super) fn by_link(file: &Path, viewer: &Viewer, address: SocketAddr, lot: &str) -> Shown {
        let path = format!("/{lot}{}", path_of(file.file_name().unwrap_or_default()));
        let link = viewer.link_to(&format!("http://{address}{path}"));
        let resources = vec![Resource { path, content: Content::File(file.to_path_buf()) }];
        Shown { site: Site { origin: viewer.origin().to_owned(), is_own_page: false, resources }, link }
    }

    /// The page that hands the file over.
    pub(super) fn by_page(file: &Path, size: u64, viewer: &Viewer, address: SocketAddr, lot: &str) -> Shown {
        let name = file.file_name().unwrap_or_default();
        let path = format!("/{lot}{}", path_of(name));
        let page = fill_in(
            include_str!("page.html"),
            &[
                ("title", &name.to_string_lossy()),
                ("path", &path),
                ("size", &format!("{size} bytes")),
                ("file", &file.display().to_string()),
                ("viewer", &viewer.link()),
                ("origin", viewer.origin()),
            ],
        );
        let text = |path: &str, media_type, text| Resource {
            path: format!("/{lot}{path}"),
            content: Content::Text { media_type, text },
        };
        let resources = vec![
            text("/", "text/html; charset=utf-8", page),
            text("/-/page.js", "text/javascript; charset=utf-8", include_str!("page.js").into()),
            text("/-/page.css", "text/css; charset=utf-8", include_str!("page.css").into()),
            Resource { path: format!("/{lot}/-/handed-over"), content: Content::HandedOver },
            Resource { path, content: Content::File(file.to_path_buf()) },
        ];
        let origin = format!("http://{address}");
        Shown { link: format!("{origin}/{lot}/"), site: Site { origin, is_own_page: true, resources } }
    }
}

/// 128 bits of the system's randomness as hex digits, which nobody can guess.
pub(super) fn draw_lot() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

/// Puts values in the places `{{name}}` of a page.
fn fill_in(page: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        filled += before;
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        for character in value.chars() {
            match character {
                '&' => filled += "&amp;",
                '<' => filled += "&lt;",
                '>' => filled += "&gt;",
                '"' => filled += "&quot;",
                '\'' => filled += "&#39;",
                other => filled.push(other),
            }
        }
        rest = after;
    }
    filled + rest
}

/// The length of a trace in bytes. A recording is refused, recognised by content.
pub(super) fn check(trace: &Path) -> Result<u64, String> {
    let name = plan::shown(trace);
    let unreadable = |error: std::io::Error| format!("{name} cannot be read: {error}");
    let metadata = fs::metadata(trace).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory; name a trace"));
    }
    if !metadata.is_file() {
        return Err(format!("{name} is no file, and only a file can be read more than once"));
    }
    let mut sample = Vec::new();
    let file = File::open(trace).map_err(unreadable)?;
    file.take(SAMPLE_BYTES as u64).read_to_end(&mut sample).map_err(unreadable)?;
    if sample.is_empty() {
        return Err(format!("{name} is empty"));
    }
    // A trace is a list of packets, which begins with the tag of the first one, or is compressed; or one in JSON, as other tools write it.
    let is_text = sample.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
    let is_packets = sample.starts_with(&[0x0a]) && !is_text;
    let is_json =
        is_text && sample.trim_ascii_start().starts_with(b"{") && sample.windows(13).any(|window| window == b"\"traceEvents\"");
    if is_packets || is_json || is_compressed(&sample) {
        return Ok(metadata.len());
    }
    if let Ok(detected) = detect(&sample, &[]) {
        let title = detected.format.title();
        return Err(format!("{name} is not a trace but a recording ({title}); `traceconv {name} --open` converts and shows it"));
    }
    Err(format!("{name} is not a Perfetto trace, and nothing else is served"))
}

/// The program that most likely holds a port of this machine, for people.
pub(super) fn holder_of(port: u16) -> &'static str {
    match ask(port) {
        Some(answer) if answer.contains("\r\nServer: traceconv\r\n") => "another traceconv that serves a trace",
        // The viewer's own question for one.
        Some(answer) if answer.starts_with("HTTP/1.1 200") => "a trace_processor (`trace_processor server http`)",
        _ => "another program (maybe a trace_processor)",
    }
}

/// The answer of a server on this machine to the viewer's question for a trace_processor, as far as it comes at once.
fn ask(port: u16) -> Option<String> {
    let patience = Duration::from_millis(500);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    stream.set_write_timeout(Some(patience)).ok()?;
    let request = format!("POST /status HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = [0; 1024];
    let len = stream.read(&mut answer).ok()?;
    Some(String::from_utf8_lossy(answer.get(..len).unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_takes_any_name() {
        let page = fill_in("a {{x}} b {{y}}{{z}} {{x}}", &[("x", "<\"'&>{{y}}"), ("y", "1")]);
        assert_eq!(page, "a &lt;&quot;&#39;&amp;&gt;{{y}} b 1 &lt;&quot;&#39;&amp;&gt;{{y}}");
        let viewer = "https://viewer.example/".parse().unwrap();
        let shown = Shown::by_page(Path::new("/tmp/a \"b\".trace"), 5, &viewer, "127.0.0.1:4000".parse().unwrap(), "lot");
        let Content::Text { text, .. } = &shown.site.resources[0].content else { panic!("no page") };
        assert!(text.contains("data-trace=\"/lot/a%20%22b%22.trace\" data-title=\"a &quot;b&quot;.trace\""), "{text}");
        assert!(!text.contains("{{"), "{text}");
        assert_eq!((shown.link.as_str(), shown.site.origin.as_str()), ("http://127.0.0.1:4000/lot/", "http://127.0.0.1:4000"));
    }

    #[test]
    fn only_traces_are_shown() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, content).unwrap();
            check(&path)
        };
        assert_eq!(file("trace", &[0x0a, 0, 0x0a, 0]), Ok(4));
        assert_eq!(file("other.json", b"{\"traceEvents\":[]}"), Ok(18));
        assert!(file("README.md", b"# A page\n").unwrap_err().contains("is not a Perfetto trace"));
        assert!(file("lines.txt", b"\nnot a trace").unwrap_err().contains("is not a Perfetto trace"));
        assert!(file("empty", b"").unwrap_err().contains("is empty"));
        let demo = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo/demo.bin")).unwrap();
        assert!(file("demo.bin", &demo).unwrap_err().contains("not a trace but a recording (Tonbandgerät)"));
        assert!(check(dir.path()).unwrap_err().contains("is a directory"));
        assert!(check(&dir.path().join("gone")).unwrap_err().contains("cannot be read"));
    }
}
