//! The links: the address of the viewer and of the trace, and the tracks that are pinned and expanded.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// The characters that JavaScript's `encodeURIComponent` does not change.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The tracks that the viewer pins to its top: the processors and the losses. It calls its scheduling tracks
/// `CPU 0 Scheduling`, older ones `CPU 0`; the track of losses is ours.
const PINNED: &str = r"^(CPU \d+( Scheduling|$)|Losses$)";

/// The paths of the groups that it expands: the firmware, whose process ids begin at 100,000, and its active objects. Older viewers
/// compare names only, and expand the firmware.
const EXPANDED: &str = r"^.* 1\d{5}( > Active objects( > [^>]+)?)?$";

/// Where the viewer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Viewer {
    /// As given, without a fragment.
    url: String,
    /// Scheme, host and port, as a browser states them in `Origin`.
    origin: String,
}

impl Viewer {
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The viewer, without a trace to open.
    pub(super) fn link(&self) -> String {
        format!("{}#!/?referrer=traceconv&startupCommands={}", self.url, component(startup_commands().as_bytes()))
    }

    /// The viewer, that fetches the trace itself.
    pub(super) fn link_to(&self, trace_url: &str) -> String {
        format!(
            "{}#!/?url={}&referrer=traceconv&startupCommands={}",
            self.url,
            component(trace_url.as_bytes()),
            component(startup_commands().as_bytes())
        )
    }
}

/// The one that everybody uses.
impl Default for Viewer {
    fn default() -> Viewer {
        Viewer { url: "https://ui.perfetto.dev/".into(), origin: "https://ui.perfetto.dev".into() }
    }
}

impl fmt::Display for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl FromStr for Viewer {
    type Err = String;

    fn from_str(text: &str) -> Result<Viewer, String> {
        let wrong = |reason: &str| Err(format!("{reason}; expected is an address like {}", Viewer::default()));
        if text.contains(['#', '?']) {
            return wrong("# and ?, and the text after them, are added by this program");
        }
        let Ok(uri) = text.parse::<http::Uri>() else { return wrong("it is no address") };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return wrong("it has no http:// or https://, or no host");
        };
        let scheme = scheme.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return wrong("it is neither http:// nor https://"),
        };
        if authority.as_str().contains('@') {
            return wrong("a browser takes no name or password in it");
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("" | ":") => default_port,
            Some(_) => match authority.port_u16() {
                Some(port) => port,
                None => return wrong("its port is no number up to 65535"),
            },
            None => return wrong("it is no address"),
        };
        let host = authority.host().to_ascii_lowercase();
        let origin = if port == default_port { format!("{scheme}://{host}") } else { format!("{scheme}://{host}:{port}") };
        let url = format!("{origin}{}", uri.path());
        Ok(Viewer { url, origin })
    }
}

/// The path of a file: its name, so encoded that a browser asks for exactly this.
pub(super) fn path_of(file_name: &OsStr) -> String {
    format!("/{}", component(file_name.as_encoded_bytes()))
}

/// As `encodeURIComponent` does it.
fn component(bytes: &[u8]) -> String {
    percent_encode(bytes, COMPONENT).to_string()
}

/// The commands that the viewer runs once the trace is loaded, as JSON.
fn startup_commands() -> String {
    serde_json::json!([
        { "id": "dev.perfetto.PinTracksByRegex", "args": [PINNED] },
        { "id": "dev.perfetto.ExpandTracksByRegex", "args": [EXPANDED, "path"] },
    ])
    .to_string()
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;

    #[test]
    fn the_origin_is_what_a_browser_states() {
        for (url, origin, shown) in [
            ("https://ui.perfetto.dev/", "https://ui.perfetto.dev", "https://ui.perfetto.dev/"),
            ("https://ui.perfetto.dev", "https://ui.perfetto.dev", "https://ui.perfetto.dev/"),
            ("HTTPS://UI.Example.org:443/Perfetto/", "https://ui.example.org", "https://ui.example.org/Perfetto/"),
            ("http://localhost:10000/index.html", "http://localhost:10000", "http://localhost:10000/index.html"),
            ("http://build:80/", "http://build", "http://build/"),
            ("http://build:443/", "http://build:443", "http://build:443/"),
            ("http://[::1]:8080", "http://[::1]:8080", "http://[::1]:8080/"),
        ] {
            let viewer: Viewer = url.parse().unwrap();
            assert_eq!((viewer.origin(), viewer.to_string().as_str()), (origin, shown), "{url}");
        }
        assert_eq!(Viewer::default().to_string().parse(), Ok(Viewer::default()));
        for (url, reason) in [
            ("ui.perfetto.dev", "no http://"),
            ("/index.html", "no http://"),
            ("file:///ui/index.html", "no address"),
            ("ftp://host/", "neither http://"),
            ("https://me:secret@host/", "name or password"),
            ("https://host/#!/viewer", "# and ?, and the text after them"),
            ("https://host/?x", "# and ?, and the text after them"),
            ("https://host:99999/", "its port is no number"),
            ("https://host:x/", "expected is an address"),
            ("", "no address"),
            ("https://h o/", "no address"),
        ] {
            let error = url.parse::<Viewer>().unwrap_err();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn names_become_exact_paths() {
        assert_eq!(path_of(OsStr::new("demo.perfetto-trace")), "/demo.perfetto-trace");
        assert_eq!(path_of(OsStr::new("a b&c#d?e%f/g+ü")), "/a%20b%26c%23d%3Fe%25f%2Fg%2B%C3%BC");
        assert_eq!(path_of(OsStr::new("it's (1)!*~_-")), "/it's%20(1)!*~_-");
        #[cfg(unix)]
        assert_eq!(path_of(std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.bin")), "/%FF.bin");
    }

    #[test]
    fn the_link_carries_the_trace_and_the_commands() {
        let viewer: Viewer = "http://localhost:10000/ui/".parse().unwrap();
        let link = viewer.link_to("http://127.0.0.1:9001/a%20b");
        let (before, arguments) = link.split_once("#!/?").unwrap();
        assert_eq!(before, "http://localhost:10000/ui/");
        // As the viewer takes it apart: `+` is a blank, and each value is decoded once.
        let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8().unwrap().into_owned();
        let arguments: Vec<(String, String)> = arguments
            .split('&')
            .map(|argument| argument.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        assert_eq!(arguments[0], ("url".into(), "http://127.0.0.1:9001/a%20b".into()));
        assert_eq!(arguments[1], ("referrer".into(), "traceconv".into()));
        let commands: serde_json::Value = serde_json::from_str(&arguments[2].1).unwrap();
        assert_eq!(arguments[2].0, "startupCommands");
        assert_eq!(commands[0]["id"], "dev.perfetto.PinTracksByRegex");
        let pinned = regex_lite::Regex::new(commands[0]["args"][0].as_str().unwrap()).unwrap();
        for name in ["CPU 0 Scheduling", "CPU 11 Scheduling (big)", "CPU 3", "Losses"] {
            assert!(pinned.is_match(name), "{name}");
        }
        for name in ["CPU", "CPU 0 Frequency", "CPU Scheduling", "My Losses", "Losses of mine", "MCU 1"] {
            assert!(!pinned.is_match(name), "{name}");
        }
        assert_eq!((&commands[1]["id"], &commands[1]["args"][1]), (&"dev.perfetto.ExpandTracksByRegex".into(), &"path".into()));
        let expanded = regex_lite::Regex::new(commands[1]["args"][0].as_str().unwrap()).unwrap();
        for path in ["demo: QP/C 100000", "b 100001 > Active objects", "b 100001 > Active objects > Table"] {
            assert!(expanded.is_match(path), "{path}");
        }
        for path in ["sensor 4", "demo 100000 > Objects", "demo 100000 > Active objects > Table > state", "module 1000004"] {
            assert!(!expanded.is_match(path), "{path}");
        }
        assert_eq!(viewer.link(), link.replace("url=http%3A%2F%2F127.0.0.1%3A9001%2Fa%2520b&", ""));
    }
}
