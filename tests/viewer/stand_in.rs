//! A substitute for the viewer: a page on a server of its own that treats links and messages like Perfetto's user interface, and
//! sends the traces that it got to its server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use super::program::LONG;

/// The rules of the viewer's own server for the connections of its page.
const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline'; connect-src 'self' http://127.0.0.1:9001 \
                      ws://127.0.0.1:9001 https:";

const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><title>viewer</title><body><script>
"use strict";
const report = (what, body) => fetch("/" + what, {method: "POST", body});

// Takes the link apart as the viewer's router does.
const fragment = new URL("https://example.com" + location.hash.substring(2));
const route = Object.fromEntries(fragment.search.substring(1).replaceAll("+", " ").split("&").filter((part) => part !== "")
  .map((part) => part.split("=").map(decodeURIComponent)));

async function atStart() {
  await report("route", JSON.stringify(route));
  // Is there a trace_processor?
  let answer = "no answer";
  try {
    const response = await fetch("http://127.0.0.1:9001/status", {method: "POST", cache: "no-cache", body: new Uint8Array([8, 1])});
    answer = String(response.status);
  } catch (error) {
    answer = "failed";
  }
  await report("accelerator", answer);
  if (route.url === undefined) {
    return;
  }
  try {
    const response = await fetch(route.url);
    if (response.status !== 200) {
      throw new Error("status " + response.status);
    }
    const blob = await response.blob();
    await report("trace", blob);
  } catch (error) {
    await report("failed", String(error));
  }
}

window.addEventListener("message", async (event) => {
  if (document.readyState !== "complete" || event.source === null || event.source !== window.opener) {
    return;
  }
  if (event.data === "PING") {
    event.source.postMessage("PONG", event.origin);
    return;
  }
  const posted = event.data.perfetto;
  const trusted = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(event.origin).hostname);
  if (posted === undefined || posted.title === undefined || !(posted.buffer instanceof ArrayBuffer) || !trusted) {
    await report("failed", "not what the viewer takes");
    return;
  }
  await report("title", posted.title);
  await report("trace", posted.buffer);
});
atStart();
</script>"#;

/// The server of the substitute.
pub struct StandIn {
    pub port: u16,
    reports: Receiver<(String, Vec<u8>)>,
}

impl StandIn {
    pub fn start() -> StandIn {
        StandIn::after(Duration::ZERO)
    }

    /// One whose page takes so long to come that nobody is there to hear the first questions.
    pub fn start_slowly() -> StandIn {
        StandIn::after(Duration::from_millis(700))
    }

    fn after(delay: Duration) -> StandIn {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, reports) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, &sender, delay));
            }
        });
        StandIn { port, reports }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The next report of the page: its name and content.
    #[track_caller]
    pub fn next(&self) -> (String, Vec<u8>) {
        self.reports.recv_timeout(LONG).expect("the substitute reports something")
    }

    /// The report of this name, which must be the next one.
    #[track_caller]
    pub fn report(&self, name: &str) -> Vec<u8> {
        let (what, content) = self.next();
        assert_eq!(what, name, "{}", String::from_utf8_lossy(&content[..content.len().min(500)]));
        content
    }

    /// The same as text.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.report(name)).unwrap()
    }

    pub fn has_nothing_to_report(&self) -> bool {
        self.reports.try_recv().is_err()
    }
}

fn serve(stream: TcpStream, reports: &Sender<(String, Vec<u8>)>, delay: Duration) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).is_err() || line.is_empty() {
        return;
    }
    let mut length = 0;
    loop {
        let mut field = String::new();
        if reader.read_line(&mut field).is_err() || field.trim().is_empty() {
            break;
        }
        if let Some(value) = field.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default();
    let (status, content) = match (line.starts_with("POST "), path) {
        (true, path) => {
            let _ = reports.send((path.trim_start_matches('/').to_owned(), body));
            ("200 OK", "")
        }
        (false, "/") => {
            std::thread::sleep(delay);
            ("200 OK", PAGE)
        }
        (false, _) => ("404 Not Found", ""),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    let _ = reader.get_mut().write_all((head + content).as_bytes());
}
