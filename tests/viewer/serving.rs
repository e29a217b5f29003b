//! The program on the viewer's port, as scripts and raw requests see it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use super::program::{Desk, LONG, PORT, Port};

/// The answer to a request of the public viewer: status and body.
fn fetch(line: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", PORT)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let request = format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nOrigin: https://ui.perfetto.dev\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let body = all.split_off(end);
    let head = String::from_utf8(all).unwrap();
    assert!(head.contains("\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev\r\n"), "{head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
}

/// The path under which the trace is, by the link.
fn path_in(link: &str) -> String {
    let url = link.split("url=").nth(1).and_then(|rest| rest.split('&').next()).unwrap();
    let url = percent_encoding::percent_decode_str(url).decode_utf8().unwrap();
    url.strip_prefix("http://127.0.0.1:9001").unwrap().to_owned()
}

#[test]
fn open_converts_serves_and_ends() {
    let _port = Port::take();
    let desk = Desk::new();
    let mut running = desk.start("demo.bin --open --no-browser");
    let link = running.link();
    assert!(link.starts_with("https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F"), "{link}");
    assert!(link.contains("%2Fdemo.perfetto-trace&referrer=traceconv&startupCommands="), "{link}");
    let path = path_in(&link);
    assert!(path.len() > "/demo.perfetto-trace".len() + 32, "{path} can be guessed");
    assert_eq!(fetch("GET /demo.perfetto-trace").0, 404);
    // The request that a browser sends before.
    assert_eq!(fetch("POST /status").0, 404);
    assert_eq!(fetch(&format!("OPTIONS {path}")).0, 204);
    assert_eq!(fetch(&format!("HEAD {path}")), (200, Vec::new()));
    let (status, body) = fetch(&format!("GET {path}"));
    assert!((status, &body) == (200, &fs::read(desk.path("demo.perfetto-trace")).unwrap()));
    let (status, said) = running.ends();
    assert_eq!(status, 0, "{said}");
    for part in [
        "4448 events",
        "Open this link in a browser",
        "allow it",
        desk.path("demo.perfetto-trace").to_str().unwrap(),
        &format!("The viewer has the trace ({} bytes).", body.len()),
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
}

#[test]
fn serve_goes_on_until_it_is_stopped() {
    let _port = Port::take();
    let desk = Desk::new();
    assert_eq!(desk.run("demo.bin -q").0, 0);
    let trace = fs::read(desk.path("demo.perfetto-trace")).unwrap();
    fs::rename(desk.path("demo.perfetto-trace"), desk.path("a b.trace")).unwrap();
    let mut command = desk.command("serve --no-browser");
    command.arg("a b.trace");
    let mut running = super::program::Running::start(command);
    let link = running.link();
    assert!(link.contains("%2Fa%2520b.trace&"), "{link}");
    let path = path_in(&link);
    for _ in 0..3 {
        assert!(fetch(&format!("GET {path}")) == (200, trace.clone()));
        running.says("The viewer has the trace");
    }
    assert_eq!(fetch("GET /a%20b").0, 404);
    // While it serves, there is no second one, and the message names the program that holds the port.
    let (status, said) = desk.run("demo.bin --open --no-browser");
    assert_eq!(status, 1);
    for part in
        ["  -> demo.perfetto-trace", "port 9001 of this machine is in use by another traceconv", "--open=page", "drag the file"]
    {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    assert!(desk.path("demo.perfetto-trace").exists());
    let pid = libc::pid_t::try_from(running.child.id()).unwrap();
    // SAFETY: the process is a child of this test that has not been waited for, so its number is still its own.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    assert_eq!(running.ends().0, 130);
}

#[test]
fn a_busy_port_is_told() {
    let _port = Port::take();
    let desk = Desk::new();
    assert_eq!(desk.run("demo.bin -q").0, 0);
    let holder = TcpListener::bind(("127.0.0.1", PORT)).unwrap();
    let answering = std::thread::spawn(move || {
        // A trace_processor answers the viewer's question; something else says nothing.
        let (mut first, _) = holder.accept().unwrap();
        let _ = first.read(&mut [0; 1024]).unwrap();
        first.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        let (second, _) = holder.accept().unwrap();
        (holder, second)
    });
    let (status, said) = desk.run("serve demo.perfetto-trace --no-browser");
    assert_eq!((status, said.contains("in use by a trace_processor (")), (1, true), "{said}");
    let (status, said) = desk.run("serve -q demo.perfetto-trace --no-browser");
    assert_eq!((status, said.contains("in use by another program (maybe a trace_processor)")), (1, true), "{said}");
    assert!(said.contains(desk.path("demo.perfetto-trace").to_str().unwrap()), "{said}");
    drop(answering.join().unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_gets_the_link() {
    let _port = Port::take();
    let desk = Desk::new();
    // The desktop's command that starts browsers.
    let starter = desk.path("bin/xdg-open");
    fs::create_dir(desk.path("bin")).unwrap();
    fs::write(&starter, "#!/bin/sh\nprintf '%s\\n' \"$@\" > opened.new && /bin/mv opened.new opened\n").unwrap();
    fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = desk.command("demo.bin --open");
    command.env("PATH", desk.path("bin"));
    let mut running = super::program::Running::start(command);
    running.says("The browser opens");
    let link = running.link();
    let started = std::time::Instant::now();
    while !desk.path("opened").exists() {
        assert!(started.elapsed() < LONG, "no browser was started");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(fs::read_to_string(desk.path("opened")).unwrap(), format!("{link}\n"));
    assert_eq!(fetch(&format!("GET {}", path_in(&link))).0, 200);
    assert_eq!(running.ends().0, 0);
    // Without one, the link is printed all the same, even to those who want no messages.
    let mut command = desk.command("demo.bin --open -q");
    command.env("PATH", desk.path("nowhere"));
    let mut running = super::program::Running::start(command);
    running.says("Open this link in a browser");
    let link = running.link();
    running.says("No browser could be started");
    assert_eq!(fetch(&format!("GET {}", path_in(&link))).0, 200);
    assert_eq!(running.ends().0, 0);
}

#[test]
fn the_page_needs_no_certain_port() {
    let _port = Port::take();
    let _holder = TcpListener::bind(("127.0.0.1", PORT)).unwrap();
    let desk = Desk::new();
    let mut running = desk.start("demo.bin --open=page --no-browser --ui-url http://localhost:10000/ui/");
    let link = running.link();
    let (address, lot) = link.strip_prefix("http://").and_then(|link| link.strip_suffix('/')).unwrap().split_once('/').unwrap();
    let ask = |line: &str, fields: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{line} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all
    };
    let page = ask(&format!("GET /{lot}/"), "");
    assert!(page.contains("data-origin=\"http://localhost:10000\""), "{page}");
    assert!(page.contains("data-viewer=\"http://localhost:10000/ui/#!/?referrer=traceconv&amp;startupCommands="), "{page}");
    // That the trace was fetched by the page does not mean that the viewer has it.
    assert!(
        ask(&format!("HEAD /{lot}/demo.perfetto-trace"), "Sec-Fetch-Site: same-origin\r\n").starts_with("HTTP/1.1 200 OK\r\n")
    );
    assert!(ask(&format!("POST /{lot}/-/handed-over"), &format!("Origin: http://{address}\r\n")).starts_with("HTTP/1.1 204 "));
    let (status, said) = running.ends();
    assert_eq!(status, 0, "{said}");
}

#[test]
fn wrong_usage_is_told_before_anything_is_done() {
    let desk = Desk::new();
    fs::copy(desk.path("demo.bin"), desk.path("other.bin")).unwrap();
    fs::create_dir(desk.path("out")).unwrap();
    for (line, part) in [
        ("demo.bin other.bin -o out --open", "--open shows one trace"),
        ("demo.bin -o - --open", "name one with -o"),
        ("demo.bin --split-size 100k --open", "--split-size writes several"),
        ("demo.bin --no-browser", "--no-browser concerns --open"),
        ("demo.bin --ui-url http://localhost:10000", "--ui-url concerns --open"),
        ("demo.bin --open=window", "[possible values: link, page]"),
        ("demo.bin --open --ui-url ui.perfetto.dev", "expected is an address like https://ui.perfetto.dev/"),
        ("serve", "TRACE"),
    ] {
        let (status, said) = desk.run(line);
        assert_eq!((status, said.contains(part)), (2, true), "{line}: {said}");
    }
    assert!(!desk.path("demo.perfetto-trace").exists() && !desk.path("demo.000.perfetto-trace").exists());
    for (line, part) in [
        ("serve gone.trace --no-browser", "gone.trace cannot be read"),
        (
            "serve demo.bin --no-browser",
            "demo.bin is not a trace but a recording (Tonbandgerät); `traceconv demo.bin --open` converts",
        ),
        ("serve out --no-browser", "is a directory"),
        // Nothing is shown of an input that was not converted.
        ("gone.bin --open --no-browser", "gone.bin cannot be opened"),
    ] {
        let (status, said) = desk.run(line);
        assert_eq!((status, said.contains(part)), (1, true), "{line}: {said}");
    }
}

/// The tracks that the link pins are there, under that name. The names of the CPU tracks are the viewer's own.
#[test]
fn the_pinned_tracks_are_in_the_trace() {
    let _port = Port::take();
    let desk = Desk::new();
    let damaged = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/damaged.bin");
    fs::copy(damaged, desk.path("damaged.bin")).unwrap();
    let mut running = desk.start("damaged.bin --open --no-browser");
    let link = running.link();
    let commands = link.rsplit_once("startupCommands=").unwrap().1;
    let commands = percent_encoding::percent_decode_str(commands).decode_utf8().unwrap();
    let commands: serde_json::Value = serde_json::from_str(&commands).unwrap();
    let pinned = regex_lite::Regex::new(commands[0]["args"][0].as_str().unwrap()).unwrap();
    let (_, trace) = fetch(&format!("GET {}", path_in(&link)));
    assert_eq!(running.ends().0, 0);
    let trace = <perfetto_protos::trace::Trace as protobuf::Message>::parse_from_bytes(&trace).unwrap();
    let descriptors = trace.packet.iter().filter(|packet| packet.has_track_descriptor());
    let names: Vec<&str> = descriptors.map(|packet| packet.track_descriptor().name()).filter(|name| !name.is_empty()).collect();
    let pinned: Vec<&str> = names.iter().copied().filter(|name| pinned.is_match(name)).collect();
    assert_eq!(pinned, ["Losses"], "of {names:?}");
    assert!(
        trace.packet.iter().any(|packet| packet.ftrace_events().compact_sched.is_some()),
        "the viewer makes CPU tracks of these"
    );
}

/// The commands in docs/first-trace.md that a session without a browser would wait in for ever.
#[test]
fn the_book_opens_traces() {
    let _port = Port::take();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/first-trace.md");
    let chapter = fs::read_to_string(&path).unwrap();
    let section = chapter.split("## Open it\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let block = |kind: &str| {
        let blocks = section.split(&format!("```{kind}\n")).nth(1).and_then(|rest| rest.split("```").next());
        blocks.unwrap_or_else(|| panic!("there is no block {kind}"))
    };
    let desk = Desk::new();
    for line in block("sh").lines() {
        let mut running = desk.start(&format!("{} --no-browser", line.strip_prefix("traceconv ").unwrap()));
        let link = running.link();
        if line.contains("page") {
            assert!(link.starts_with("http://127.0.0.1:"), "{line}: {link}");
        } else {
            assert_eq!(fetch(&format!("GET {}", path_in(&link))).0, 200, "{line}");
            running.says("The viewer has the trace");
        }
    }
    // The output is shown as it is, except for the length of the link.
    let mut shown = block("text").lines();
    let command = shown.next().and_then(|line| line.strip_prefix("$ traceconv ")).unwrap();
    assert_eq!(shown.next(), Some("..."));
    let mut running = desk.start(command);
    running.says("The trace is served");
    running.link();
    let said: Vec<&str> = running.said.lines().skip_while(|line| !line.starts_with("The trace is served")).collect();
    for (shown, said) in shown.zip(said) {
        assert!(shown == said || shown == "  LINK" && said.starts_with("  https://ui.perfetto.dev/#!/?url="), "{shown}\n{said}");
    }
}
