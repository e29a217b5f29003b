//! As much of HTTP/1.1 as a browser on this machine needs: a request's head, and responses after which the connection is closed.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A request's head may be this long, in bytes.
const HEAD_MAX_BYTES: usize = 16 << 10;
/// It may have this many fields.
const FIELDS_MAX: usize = 64;

/// The fields of a request that matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// As in the request: nothing is decoded.
    pub(super) target: String,
    /// `None` if it is missing, or there are several.
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    /// Whose page asks, and how, as browsers say it: no page can change these.
    pub(super) fetch_site: Option<String>,
    pub(super) fetch_mode: Option<String>,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum NoRequest {
    /// The other side closed the connection, or said nothing in time: browsers open connections that they never use.
    Silent,
    /// It is not a request of HTTP/1.1.
    Malformed,
    /// Its head is too long.
    TooLong,
}

/// Reads a request's head. All of it has to come until `deadline`.
pub(super) fn read_request(stream: &mut TcpStream, deadline: Instant) -> Result<Request, NoRequest> {
    let mut head = Vec::with_capacity(2 << 10);
    let mut piece = [0; 2 << 10];
    loop {
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
        if head.len() >= HEAD_MAX_BYTES {
            return Err(NoRequest::TooLong);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(NoRequest::Silent);
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(NoRequest::Silent),
            Ok(len) => head.extend_from_slice(piece.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(NoRequest::Silent),
        }
    }
}

/// The request that begins with these bytes; `None` if they end too early.
fn parse(head: &[u8]) -> Result<Option<Request>, NoRequest> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(NoRequest::TooLong),
        Err(_) => return Err(NoRequest::Malformed),
    }
    let (Some(method), Some(target)) = (request.method, request.path) else { return Err(NoRequest::Malformed) };
    let only = |name: &str| {
        let mut values = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        let value = values.next().filter(|_| values.next().is_none())?;
        Some(String::from_utf8_lossy(value.value).trim().to_owned())
    };
    let has_origin = request.headers.iter().any(|field| field.name.eq_ignore_ascii_case("origin"));
    // Several are as good as a wrong one.
    let origin = has_origin.then(|| only("origin").unwrap_or_default());
    let (fetch_site, fetch_mode) = (only("sec-fetch-site"), only("sec-fetch-mode"));
    Ok(Some(Request { method: method.to_owned(), target: target.to_owned(), host: only("host"), origin, fetch_site, fetch_mode }))
}

/// The head of a response with a body of `body_bytes`. The connection is closed after it.
pub(super) fn head(status: &str, body_bytes: u64, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status}\r\nServer: traceconv\r\nConnection: close\r\nCache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n"
    );
    // A response of this status has no body, so it has no length either.
    if !status.starts_with("204") {
        head += &format!("Content-Length: {body_bytes}\r\n");
    }
    for (name, value) in fields {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    head.into_bytes()
}

/// Says that nothing more comes, and waits until the other side has taken everything and closes too. Without that, what it has sent
/// and nobody read would make the system throw away what is on its way to it.
///
/// # Errors
/// When the other side breaks off, or does not close within `idle`.
pub(super) fn close(stream: &mut TcpStream, idle: Duration) -> io::Result<()> {
    // Enough for the body of any request that a browser has reason to send.
    const UNREAD_MAX_BYTES: usize = 1 << 20;
    stream.flush()?;
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(idle))?;
    let mut unread = [0; 4 << 10];
    let mut count = 0;
    while count < UNREAD_MAX_BYTES {
        match stream.read(&mut unread) {
            Ok(0) => return Ok(()),
            Ok(len) => count += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_stand() {
        let text = b"GET /a%20b?c HTTP/1.1\r\nHost: 127.0.0.1:9001\r\norigin: https://ui.perfetto.dev \r\n\r\nrest";
        let request = parse(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/a%20b?c"));
        assert_eq!(request.host.as_deref(), Some("127.0.0.1:9001"));
        assert_eq!(request.origin.as_deref(), Some("https://ui.perfetto.dev"));
        for len in 0..text.len() - 4 {
            assert!(matches!(parse(&text[..len]), Ok(None)), "{len}");
        }
        let twice = parse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nOrigin: c\r\nOrigin: d\r\n\r\n").unwrap().unwrap();
        assert_eq!((twice.host, twice.origin.as_deref()), (None, Some("")));
        assert_eq!(parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().unwrap().origin, None);
        for malformed in ["\x16\x03\x01\x02", "GET / HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "{}\r\n\r\n", "GET /\0 HTTP/1.1\r\n\r\n"]
        {
            assert!(matches!(parse(malformed.as_bytes()), Err(NoRequest::Malformed)), "{malformed:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX + 1));
        assert!(matches!(parse(many.as_bytes()), Err(NoRequest::TooLong)));
    }

    #[test]
    fn responses_close_the_connection() {
        let text = String::from_utf8(head("200 OK", 5, &[("A", "b")])).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\nContent-Length: 5\r\nA: b\r\n\r\n"), "{text}");
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
        assert!(!String::from_utf8(head("204 No Content", 0, &[])).unwrap().contains("Content-Length"));
    }
}
