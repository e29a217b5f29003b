//! A server of a few resources to a browser on this machine, and of nothing to anybody else.
//!
//! Each connection has a thread and serves one request, so that those that a browser opens and never uses hold nobody up. What the
//! server is asked for must be addressed to it by number (`Host`): a page of elsewhere whose name is made to point here is refused. Of the
//! rest only the one page may ask that the site is for: the viewer, which browsers make state its `Origin`, or our own page, for which
//! they state `Sec-Fetch-Site`. Other programs of this machine do not know the path, which is drawn by lot.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::http::{self, NoRequest, Request};

/// How many connections there are at a time. A browser has six for each host.
const CONNECTIONS_MAX: usize = 256;
/// From here on a connection has to send its request sooner: somebody opens connections and does not use them.
const CONNECTIONS_CROWDED: usize = 32;
/// How much sooner.
const CROWDED_DIVISOR: u32 = 10;
/// How much of a file is read and sent at a time, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The file that is served.
#[derive(Debug)]
pub(super) struct Site {
    /// Whose pages may ask: scheme, host and port.
    pub(super) origin: String,
    /// Whether that is this server itself: then browsers state no origin for what a page reads.
    pub(super) is_own_page: bool,
    pub(super) resources: Vec<Resource>,
}

/// The content under a path.
#[derive(Debug)]
pub(super) struct Resource {
    /// The path exactly as it is asked for.
    pub(super) path: String,
    pub(super) content: Content,
}

impl Resource {
    fn is_meant(&self, target: &str) -> bool {
        #[cfg(feature = "web-page")]
        if matches!(self.content, Content::Page { .. }) {
            return target.split('?').next() == Some(&self.path);
        }
        self.path == target
    }
}

#[derive(Debug)]
pub(super) enum Content {
    /// A file, as it is when it is asked for.
    File(PathBuf),
    Text {
        media_type: &'static str,
        text: String,
    },
    /// A file of the converter's page, which is in the program.
    #[cfg(feature = "web-page")]
    Page {
        media_type: &'static str,
        bytes: &'static [u8],
    },
    /// Nothing: a POST to it reports that the page has handed the trace over.
    HandedOver,
}

/// An event of the server.
#[derive(Debug)]
pub(super) enum Event {
    /// The file was sent, and the other side has all of it.
    Sent { bytes: u64 },
    /// The other side broke off.
    BrokenOff { sent_bytes: u64, of_bytes: u64 },
    /// The file could not be read.
    Unreadable(io::Error),
    /// The page says so.
    HandedOver,
    /// Somebody was refused.
    Refused(String),
}

/// How long others are waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a request, from its connection on.
    pub(super) request: Duration,
    /// For anything to go on while a response is sent.
    pub(super) response: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { request: Duration::from_secs(5), response: Duration::from_secs(60) }
    }
}

/// A running server. Dropping it ends it; answers that are being sent are broken off only by the end of the process.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    is_ending: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
    events: Receiver<Event>,
}

/// The state that all connections share.
struct Shared {
    /// The required value of `Host`.
    host: String,
    site: Site,
    patience: Patience,
    connections: AtomicUsize,
}

impl Server {
    /// Starts to serve.
    ///
    /// # Errors
    /// When the listener has no address.
    pub(super) fn start(listener: TcpListener, site: Site, patience: Patience) -> io::Result<Server> {
        let address = listener.local_addr()?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let (sender, events) = mpsc::channel();
        let shared = Arc::new(Shared { host: address.to_string(), site, patience, connections: AtomicUsize::new(0) });
        let ending = is_ending.clone();
        let accepting =
            thread::Builder::new().name("accept".into()).spawn(move || accept(&listener, &shared, &sender, &ending))?;
        Ok(Server { address, is_ending, accepting: Some(accepting), events })
    }

    /// Waits for the next event; `None` if there is none for this long.
    pub(super) fn next(&self, patience: Duration) -> Option<Event> {
        self.events.recv_timeout(patience).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok();
        if let Some(accepting) = self.accepting.take().filter(|_| woken) {
            let _ = accepting.join();
        }
    }
}

/// A connection that counts until it is dropped.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, events: &Sender<Event>, is_ending: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if is_ending.load(Ordering::SeqCst) {
            return;
        }
        let Ok((mut stream, peer)) = accepted else {
            // Broken off before it was accepted, or the process has too many files open for the moment.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        // Cannot be otherwise while the listener is bound to the loopback address.
        if !peer.ip().is_loopback() {
            continue;
        }
        let others = shared.connections.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(shared.clone());
        if others >= CONNECTIONS_MAX {
            continue;
        }
        let events = events.clone();
        // Without a thread the connection is closed, and the browser tries again.
        let _ = thread::Builder::new().name("serve".into()).spawn(move || {
            if let Some(event) = serve(&mut stream, &counted.0) {
                // Nobody may want to know any more.
                let _ = events.send(event);
            }
        });
    }
}

/// Serves the request of a connection. Returns the event to report.
fn serve(stream: &mut TcpStream, shared: &Shared) -> Option<Event> {
    let Patience { mut request, response } = shared.patience;
    if shared.connections.load(Ordering::SeqCst) > CONNECTIONS_CROWDED {
        request /= CROWDED_DIVISOR;
    }
    stream.set_write_timeout(Some(response)).ok()?;
    stream.set_nodelay(true).ok()?;
    let answer = match http::read_request(stream, Instant::now() + request) {
        Ok(request) => answer(&request, shared),
        Err(NoRequest::Silent) => return None,
        Err(NoRequest::Malformed) => Answer::text("400 Bad Request", "This is no request of HTTP/1.1."),
        Err(NoRequest::TooLong) => Answer::text("431 Request Header Fields Too Large", "The request is too long."),
    };
    let Answer { status, fields, body, event } = answer;
    // A page of the right origin may read every answer, so that it can show errors.
    let mut all_fields = vec![
        ("Access-Control-Allow-Origin", shared.site.origin.as_str()),
        ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
        ("Access-Control-Allow-Headers", "*"),
        ("Access-Control-Allow-Private-Network", "true"),
    ];
    all_fields.extend(fields);
    let head = http::head(status, body.bytes(), &all_fields);
    let of_bytes = if let Body::File { bytes, .. } = body { Some(bytes) } else { None };
    let mut sent_bytes = 0;
    let sent =
        stream.write_all(&head).and_then(|()| body.send(stream, &mut sent_bytes)).and_then(|()| http::close(stream, response));
    match (sent, of_bytes) {
        (Ok(()), Some(bytes)) => Some(Event::Sent { bytes }),
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::UnexpectedEof => Some(Event::Unreadable(error)),
        (Err(_), Some(of_bytes)) => Some(Event::BrokenOff { sent_bytes, of_bytes }),
        (_, None) => event,
    }
}

/// The answer to a request.
struct Answer<'a> {
    status: &'static str,
    fields: Vec<(&'static str, &'a str)>,
    body: Body<'a>,
    event: Option<Event>,
}

enum Body<'a> {
    /// None, though there would be one of this length (HEAD).
    None(u64),
    Bytes(&'a [u8]),
    File {
        file: File,
        bytes: u64,
    },
}

impl Body<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Body::None(bytes) | Body::File { bytes, .. } => *bytes,
            Body::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Sends exactly as much as was announced. That the file has become shorter is an unexpected end of file.
    fn send(self, stream: &mut TcpStream, sent_bytes: &mut u64) -> io::Result<()> {
        match self {
            Body::None(_) => Ok(()),
            Body::Bytes(bytes) => stream.write_all(bytes),
            Body::File { mut file, bytes } => {
                let mut piece = vec![0; PIECE_BYTES];
                while *sent_bytes < bytes {
                    let wanted = usize::try_from(bytes - *sent_bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
                    let len = match file.read(piece.get_mut(..wanted).unwrap_or_default()) {
                        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(len) => len,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)),
                    };
                    stream.write_all(piece.get(..len).unwrap_or_default())?;
                    *sent_bytes += len as u64;
                }
                Ok(())
            }
        }
    }
}

impl Answer<'_> {
    fn text(status: &'static str, text: &'static str) -> Answer<'static> {
        Answer {
            status,
            fields: vec![("Content-Type", "text/plain; charset=utf-8")],
            body: Body::Bytes(text.as_bytes()),
            event: None,
        }
    }

    fn refusal(status: &'static str, text: &'static str, refused: String) -> Answer<'static> {
        Answer { event: Some(Event::Refused(refused)), ..Answer::text(status, text) }
    }
}

fn answer<'a>(request: &Request, shared: &'a Shared) -> Answer<'a> {
    if request.host.as_deref() != Some(&shared.host) {
        let refused = format!("a request for the host {:?}", request.host.as_deref().unwrap_or("(none)"));
        return Answer::refusal("421 Misdirected Request", "This server is reached by its number only.", refused);
    }
    if let Some(origin) = request.origin.as_deref()
        && origin != shared.site.origin
    {
        let refused = format!("a request of a page of {origin:?}");
        return Answer::refusal("403 Forbidden", "Not for pages of this origin.", refused);
    }
    if request.origin.is_none() && !shared.site.is_own_page {
        let refused = "a request without the viewer's origin: no browser sends one".to_owned();
        return Answer::refusal("403 Forbidden", "Only for the viewer's page.", refused);
    }
    let Some(resource) = shared.site.resources.iter().find(|resource| resource.is_meant(&request.target)) else {
        return Answer::text("404 Not Found", "There is nothing here. traceconv printed the address of the trace.");
    };
    let is_own = request.origin.is_some() || request.fetch_site.as_deref() == Some("same-origin");
    if matches!(resource.content, Content::File(_)) && (!is_own || request.fetch_mode.as_deref() == Some("no-cors")) {
        let refused = "a request for the trace that is not of the page that it is for".to_owned();
        return Answer::refusal("403 Forbidden", "Only for the page that shows it.", refused);
    }
    match (&resource.content, request.method.as_str()) {
        (Content::HandedOver, "POST") if request.origin.is_some() => {
            Answer { status: "204 No Content", fields: Vec::new(), body: Body::None(0), event: Some(Event::HandedOver) }
        }
        (Content::HandedOver, _) => Answer::text("404 Not Found", "There is nothing here."),
        (_, "OPTIONS") => Answer { status: "204 No Content", fields: Vec::new(), body: Body::None(0), event: None },
        (Content::File(path), "GET" | "HEAD") => {
            let (file, bytes) = match open_file(path) {
                Ok(opened) => opened,
                Err(error) => {
                    let event = Some(Event::Unreadable(error));
                    return Answer { event, ..Answer::text("404 Not Found", "The file cannot be read any more.") };
                }
            };
            let body = if request.method == "HEAD" { Body::None(bytes) } else { Body::File { file, bytes } };
            // The whole file is the right answer to a request for a part of it, too.
            let fields = vec![("Content-Type", "application/octet-stream"), ("Accept-Ranges", "none")];
            Answer { status: "200 OK", fields, body, event: None }
        }
        (Content::Text { media_type, text }, "GET" | "HEAD") => {
            let body = if request.method == "HEAD" { Body::None(text.len() as u64) } else { Body::Bytes(text.as_bytes()) };
            Answer { status: "200 OK", fields: vec![("Content-Type", media_type), PAGE_POLICY], body, event: None }
        }
        #[cfg(feature = "web-page")]
        (Content::Page { media_type, bytes }, "GET" | "HEAD") => {
            let body = if request.method == "HEAD" { Body::None(bytes.len() as u64) } else { Body::Bytes(bytes) };
            Answer { status: "200 OK", fields: vec![("Content-Type", media_type), FRAME_POLICY], body, event: None }
        }
        _ => {
            let mut answer = Answer::text("405 Method Not Allowed", "It can only be read.");
            answer.fields.push(("Allow", "GET, HEAD, OPTIONS"));
            answer
        }
    }
}

/// The policy that the page in the program cannot state itself: nobody else may put it into a frame.
#[cfg(feature = "web-page")]
const FRAME_POLICY: (&str, &str) = ("Content-Security-Policy", "frame-ancestors 'self'");

/// The policy of a page of ours: it runs and shows only content from here, and connects only to here. Nobody may put it into a frame.
const PAGE_POLICY: (&str, &str) = (
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

fn open_file(path: &PathBuf) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    Ok((file, metadata.len()))
}
