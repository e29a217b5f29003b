//! The server as a browser, a careless one and a hostile one see it: raw requests to a server on any free port.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::server::{Content, Event, Patience, Resource, Server, Site};
use super::shown::Shown;

const ORIGIN: &str = "https://viewer.example";
/// Enough that a wait for it is a failure.
const LONG: Duration = Duration::from_secs(30);

/// A server of one file.
struct Stand {
    server: Server,
    address: SocketAddr,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

/// Bytes that show where they come from.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

impl Stand {
    fn new(content: &[u8], patience: Patience) -> Stand {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a b.trace");
        fs::write(&file, content).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shown = Shown::by_link(&file, &format!("{ORIGIN}/ui/").parse().unwrap(), address, "lot");
        assert!(
            shown.link.contains(&format!("url=http%3A%2F%2F127.0.0.1%3A{}%2Flot%2Fa%2520b.trace", address.port())),
            "{}",
            shown.link
        );
        Stand { server: Server::start(listener, shown.site, patience).unwrap(), address, file, _dir: dir }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// The request line, the right host, the viewer's origin if there is no other, and these fields.
    fn request(&self, line: &str, fields: &str) -> String {
        let origin = if fields.contains("Origin:") { String::new() } else { format!("Origin: {ORIGIN}\r\n") };
        format!("{line} HTTP/1.1\r\nHost: {}\r\n{origin}{fields}\r\n", self.address)
    }

    fn ask(&self, request: &str) -> Response {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Response::read(&mut stream)
    }

    fn next(&self) -> Event {
        self.server.next(LONG).expect("something happens")
    }
}

#[derive(Debug)]
struct Response {
    head: String,
    body: Vec<u8>,
}

impl Response {
    /// Reads to the end, which the server makes.
    fn read(stream: &mut TcpStream) -> Response {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = all.split_off(end);
        Response { head: String::from_utf8(all).unwrap(), body }
    }

    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().filter_map(|line| line.split_once(": ")).filter(|(known, _)| *known == name);
        let value = values.next().map(|(_, value)| value);
        assert!(values.next().is_none(), "{name} twice: {}", self.head);
        value
    }
}

fn short() -> Patience {
    Patience { request: Duration::from_millis(300), response: Duration::from_millis(600) }
}

#[test]
fn a_get_gives_the_whole_file() {
    let content = pattern(3_000_001);
    let stand = Stand::new(&content, Patience::default());
    let origin = format!("Origin: {ORIGIN}\r\n");
    // A part is not given: the whole is the right answer too, and says that it is the whole.
    for fields in [origin.as_str(), "", "Range: bytes=10-20\r\n", "Range: bytes=9999999-\r\n", "Connection: keep-alive\r\n"] {
        let response = stand.ask(&stand.request("GET /lot/a%20b.trace", fields));
        assert_eq!((response.status(), response.body == content), (200, true), "{}", response.head);
        assert_eq!(response.field("Content-Length"), Some("3000001"));
        assert_eq!(response.field("Content-Type"), Some("application/octet-stream"));
        assert_eq!(response.field("Cache-Control"), Some("no-cache"));
        assert_eq!(response.field("Connection"), Some("close"));
        assert_eq!(response.field("Accept-Ranges"), Some("none"));
        assert_eq!(response.field("Access-Control-Allow-Origin"), Some(ORIGIN));
        assert_eq!(response.field("Access-Control-Allow-Private-Network"), Some("true"));
        assert!(matches!(stand.next(), Event::Sent { bytes: 3_000_001 }));
    }
    // As it is now, not as it was when the server started.
    fs::write(&stand.file, b"new").unwrap();
    assert_eq!(stand.ask(&stand.request("GET /lot/a%20b.trace", "")).body, b"new");
    fs::remove_file(&stand.file).unwrap();
    assert!(matches!(stand.next(), Event::Sent { bytes: 3 }));
    assert_eq!(stand.ask(&stand.request("GET /lot/a%20b.trace", "")).status(), 404);
    assert!(matches!(stand.next(), Event::Unreadable(_)));
}

#[test]
fn nothing_else_is_given() {
    let stand = Stand::new(b"trace", Patience::default());
    let lines = [
        ("HEAD /lot/a%20b.trace", 200),
        ("OPTIONS /lot/a%20b.trace", 204),
        ("POST /lot/a%20b.trace", 405),
        ("PUT /lot/a%20b.trace", 405),
        ("DELETE /lot/a%20b.trace", 405),
        ("GET /", 404),
        ("GET /a%20b.trace", 404),
        ("GET /tol/a%20b.trace", 404),
        ("GET /a+b.trace", 404),
        ("GET /%61%20b.trace", 404),
        ("GET /lot/a%20b.trace?x", 404),
        ("GET /lot/a%20b.trace/", 404),
        ("GET //a%20b.trace", 404),
        ("GET /lot/../a%20b.trace", 404),
        ("GET /etc/passwd", 404),
        ("OPTIONS /status", 404),
        ("OPTIONS *", 404),
        // The viewer asks for a trace_processor: 200 would be taken for one.
        ("POST /status", 404),
        ("GET /status", 404),
        ("GET /-/page.js", 404),
    ];
    for (line, status) in lines {
        let response = stand.ask(&stand.request(line, &format!("Origin: {ORIGIN}\r\n")));
        assert_eq!(response.status(), status, "{line}: {}", response.head);
        assert_ne!(response.body, b"trace", "{line}");
        assert_eq!(response.field("Access-Control-Allow-Methods"), Some("GET, HEAD, OPTIONS"), "{line}");
        assert_eq!(response.field("Access-Control-Allow-Headers"), Some("*"), "{line}");
        match status {
            200 => assert_eq!((response.field("Content-Length"), response.body.len()), (Some("5"), 0)),
            204 => assert_eq!((response.field("Content-Length"), response.body.len()), (None, 0)),
            405 => assert_eq!(response.field("Allow"), Some("GET, HEAD, OPTIONS")),
            _ => assert_eq!(response.field("Content-Length"), Some(response.body.len().to_string().as_str())),
        }
    }
    let absolute =
        format!("GET http://{}/lot/a%20b.trace HTTP/1.1\r\nHost: {}\r\nOrigin: {ORIGIN}\r\n\r\n", stand.address, stand.address);
    assert_eq!(stand.ask(&absolute).status(), 404);
    assert_eq!(stand.ask("nonsense\r\n\r\n").status(), 400);
    assert_eq!(stand.ask(&format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(20_000))).status(), 431);
    // A body that nobody reads does not spoil the answer.
    let body = format!("Content-Length: 100000\r\n\r\n{}", "x".repeat(100_000));
    assert_eq!(stand.ask(&stand.request("POST /status", &body)).status(), 404);
    assert!(stand.server.next(Duration::ZERO).is_none(), "none of it counts as fetched");
}

#[test]
fn others_are_refused() {
    let stand = Stand::new(b"trace", Patience::default());
    let port = stand.address.port();
    let hosts = [
        "Host: attacker.example\r\n".to_owned(),
        format!("Host: attacker.example:{port}\r\n"),
        format!("Host: localhost:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        "Host: 127.0.0.1:1\r\n".to_owned(),
        format!("Host: 127.0.0.1:{port}\r\nHost: attacker.example\r\n"),
        String::new(),
    ];
    for host in hosts {
        let response = stand.ask(&format!("GET /lot/a%20b.trace HTTP/1.1\r\n{host}\r\n"));
        assert_eq!(response.status(), 421, "{host}");
        assert!(matches!(stand.next(), Event::Refused(_)));
    }
    for origin in ["https://attacker.example", "null", "http://viewer.example", "https://viewer.example.org", ""] {
        let response = stand.ask(&stand.request("GET /lot/a%20b.trace", &format!("Origin: {origin}\r\n")));
        assert_eq!((response.status(), response.field("Access-Control-Allow-Origin")), (403, Some(ORIGIN)), "{origin}");
        assert!(matches!(stand.next(), Event::Refused(_)));
    }
    // Requests that no browser sends for the viewer: `curl`, an image, a script.
    for fields in ["", "Sec-Fetch-Site: same-origin\r\n"] {
        let response = stand.ask(&format!("GET /lot/a%20b.trace HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", stand.address));
        assert_eq!((response.status(), response.field("Cross-Origin-Resource-Policy")), (403, Some("same-origin")));
        assert!(matches!(stand.next(), Event::Refused(_)));
    }
    assert_eq!(stand.ask(&stand.request("GET /lot/a%20b.trace", "Sec-Fetch-Mode: no-cors\r\n")).status(), 403);
    assert!(matches!(stand.next(), Event::Refused(_)));
}

/// Connections that are opened and not used are closed sooner when there are many.
#[test]
fn a_crowd_of_idle_connections_holds_nobody_up_for_long() {
    let stand = Stand::new(b"trace", Patience { request: Duration::from_secs(20), response: LONG });
    let idle: Vec<TcpStream> = (0..200).map(|_| stand.connect()).collect();
    assert_eq!(stand.ask(&stand.request("GET /lot/a%20b.trace", "")).body, b"trace");
    let started = Instant::now();
    for mut stream in idle.into_iter().skip(100) {
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
    }
    assert!(started.elapsed() < Duration::from_secs(15), "the last of a crowd wait as long as one alone");
}

#[test]
fn silent_connections_hold_nobody_up() {
    let stand = Stand::new(b"trace", short());
    let mut silent: Vec<TcpStream> = (0..20).map(|_| stand.connect()).collect();
    let mut half = stand.connect();
    half.write_all(b"GET /lot/a%20b.trace HT").unwrap();
    let asked = Instant::now();
    assert_eq!(stand.ask(&stand.request("GET /lot/a%20b.trace", "")).body, b"trace");
    assert!(asked.elapsed() < LONG / 2);
    // And they are closed in the end.
    silent.push(half);
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
    }
    // One that says a byte now and then is not waited for longer.
    let mut slow = stand.connect();
    let started = Instant::now();
    while slow.write_all(b"G").is_ok() && started.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(started.elapsed() < LONG, "the server never closes a connection that speaks slowly");
}

#[test]
fn more_connections_than_there_is_room_for_are_closed() {
    let stand = Stand::new(b"trace", Patience { request: LONG, response: LONG });
    let waiting: Vec<TcpStream> = (0..256).map(|_| stand.connect()).collect();
    let mut over = stand.connect();
    assert!(matches!(over.read(&mut [0; 16]), Ok(0) | Err(_)));
    drop(waiting);
    let started = Instant::now();
    loop {
        let mut stream = stand.connect();
        let mut answer = Vec::new();
        let _ = stream.write_all(stand.request("GET /lot/a%20b.trace", "").as_bytes());
        if stream.read_to_end(&mut answer).is_ok() && answer.ends_with(b"trace") {
            break;
        }
        assert!(started.elapsed() < LONG, "there is room again");
    }
}

#[test]
fn a_slow_reader_gets_all_of_it() {
    let content = pattern(12 << 20);
    let stand = Stand::new(&content, Patience { request: LONG, response: Duration::from_secs(5) });
    let mut slow = stand.connect();
    slow.write_all(stand.request("GET /lot/a%20b.trace", "").as_bytes()).unwrap();
    // Meanwhile another one is served.
    assert!(stand.ask(&stand.request("GET /lot/a%20b.trace", "")).body == content);
    assert!(matches!(stand.next(), Event::Sent { .. }));
    assert!(stand.server.next(Duration::from_millis(50)).is_none(), "the slow one has not had it yet");
    let mut got = Vec::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        std::thread::sleep(Duration::from_millis(20));
        match slow.read(&mut piece).unwrap() {
            0 => break,
            len => got.extend_from_slice(&piece[..len]),
        }
    }
    assert!(got.ends_with(&content));
    assert!(stand.server.next(Duration::from_millis(50)).is_none(), "it has not closed, so it may not have had the last of it");
    drop(slow);
    assert!(matches!(stand.next(), Event::Sent { bytes } if bytes == content.len() as u64));
}

#[test]
fn who_breaks_off_has_not_got_it() {
    let content = pattern(12 << 20);
    let stand = Stand::new(&content, Patience::default());
    let mut stream = stand.connect();
    stream.write_all(stand.request("GET /lot/a%20b.trace", "").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    drop(stream);
    assert!(matches!(stand.next(), Event::BrokenOff { of_bytes, .. } if of_bytes == content.len() as u64));
    // One that stops reading is given up.
    let stand = Stand::new(&content, short());
    let mut stream = stand.connect();
    stream.write_all(stand.request("GET /lot/a%20b.trace", "").as_bytes()).unwrap();
    assert!(matches!(stand.next(), Event::BrokenOff { .. }));
    drop(stream);
}

#[test]
fn a_file_cut_short_meanwhile_is_told() {
    let content = pattern(12 << 20);
    let stand = Stand::new(&content, Patience::default());
    let mut stream = stand.connect();
    stream.write_all(stand.request("GET /lot/a%20b.trace", "").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    fs::File::options().write(true).open(&stand.file).unwrap().set_len(6 << 20).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < content.len() - 1000, "less than was announced");
    assert!(matches!(stand.next(), Event::Unreadable(_)));
}

#[test]
fn the_page_tells_when_it_has_handed_over() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let origin = format!("http://{address}");
    let text = Content::Text { media_type: "text/html", text: "page".into() };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace");
    fs::write(&file, b"trace").unwrap();
    let resources = vec![
        Resource { path: "/".into(), content: text },
        Resource { path: "/done".into(), content: Content::HandedOver },
        Resource { path: "/trace".into(), content: Content::File(file) },
    ];
    let server =
        Server::start(listener, Site { origin: origin.clone(), is_own_page: true, resources }, Patience::default()).unwrap();
    let ask = |line: &str, fields: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{line} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").as_bytes()).unwrap();
        Response::read(&mut stream)
    };
    let page = ask("GET /", "");
    assert_eq!((page.status(), page.body.as_slice()), (200, b"page".as_slice()));
    let policy = page.field("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    // The trace is for the page itself, which browsers say of it.
    assert_eq!(ask("GET /trace", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n").body, b"trace");
    assert!(matches!(server.next(LONG), Some(Event::Sent { .. })));
    for fields in ["", "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\n"] {
        assert_eq!(ask("GET /trace", fields).status(), 403, "{fields}");
        assert!(matches!(server.next(LONG), Some(Event::Refused(_))));
    }
    assert_eq!(ask("POST /done", "").status(), 404);
    assert_eq!(ask("GET /done", &format!("Origin: {origin}\r\n")).status(), 404);
    assert!(server.next(Duration::ZERO).is_none());
    assert_eq!(ask("POST /done", &format!("Origin: {origin}\r\n")).status(), 204);
    assert!(matches!(server.next(LONG), Some(Event::HandedOver)));
}

#[test]
fn the_port_is_free_again_when_the_server_ends() {
    let stand = Stand::new(b"trace", Patience::default());
    let address = stand.address;
    drop(stand);
    TcpListener::bind(address).unwrap();
}
