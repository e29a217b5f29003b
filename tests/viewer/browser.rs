//! `--open`, `serve` and the page in Chromium, with a substitute for the viewer.

use std::fs;

use serde_json::{Value, json};

use super::devtools::Browser;
use super::program::{Desk, Port};
use super::stand_in::StandIn;

/// The name of the permission that browsers ask for when a public page connects to this machine, the newest name first.
const LOOPBACK: [&str; 2] = ["loopback-network", "local-network-access"];

fn pins_and_expands(route: &str) {
    let route: Value = serde_json::from_str(route).unwrap();
    let commands: Value = serde_json::from_str(route["startupCommands"].as_str().unwrap()).unwrap();
    assert_eq!(commands[0]["id"], "dev.perfetto.PinTracksByRegex");
    assert_eq!(commands[1]["id"], "dev.perfetto.ExpandTracksByRegex");
    assert_eq!(route["referrer"], "traceconv");
}

/// The page was opened, and the server gave it nothing.
fn fetches_nothing(page: &StandIn) {
    pins_and_expands(&page.text("route"));
    assert_eq!(page.text("accelerator"), "failed");
    assert_eq!(page.text("failed"), "TypeError: Failed to fetch");
}

/// The page was opened, and has the trace of the demo.
fn fetches_the_trace(page: &StandIn, desk: &Desk) {
    pins_and_expands(&page.text("route"));
    assert_eq!(page.text("accelerator"), "404");
    assert!(page.report("trace") == fs::read(desk.path("demo.perfetto-trace")).unwrap());
}

#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn the_viewer_fetches_the_trace() {
    let _port = Port::take();
    let (desk, viewer) = (Desk::new(), StandIn::start());
    let mut running = desk.start(&format!("demo.bin --open --no-browser --ui-url {}", viewer.url()));
    let mut browser = Browser::start(&[]);
    browser.open(&running.link());
    let route = viewer.text("route");
    pins_and_expands(&route);
    assert!(route.contains("\"url\":\"http://127.0.0.1:9001/") && route.contains("/demo.perfetto-trace\""), "{route}");
    assert_eq!(viewer.text("accelerator"), "404");
    let trace = viewer.report("trace");
    assert!(trace == fs::read(desk.path("demo.perfetto-trace")).unwrap());
    let (status, said) = running.ends();
    assert_eq!(status, 0, "{said}");
    assert!(said.contains(&format!("The viewer has the trace ({} bytes).", trace.len())), "{said}");
}

#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn a_large_trace_with_a_strange_name_is_fetched_again_and_again() {
    let _port = Port::take();
    let (desk, viewer) = (Desk::new(), StandIn::start());
    let trace: Vec<u8> = (0..40_000_000u32).map(|at| if at == 0 { 0x0a } else { (at ^ (at >> 9)) as u8 }).collect();
    let name = "ü & 100% #1 + ?=.trace";
    fs::write(desk.path(name), &trace).unwrap();
    let mut command = desk.command(&format!("serve --no-browser --ui-url {}", viewer.url()));
    let mut running = super::program::Running::start({
        command.arg(name);
        command
    });
    let link = running.link();
    let mut browser = Browser::start(&[]);
    for _ in 0..2 {
        browser.open(&link);
        pins_and_expands(&viewer.text("route"));
        assert_eq!(viewer.text("accelerator"), "404");
        assert!(viewer.report("trace") == trace);
        running.says("The viewer has the trace (40000000 bytes).");
    }
}

#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn pages_of_elsewhere_get_nothing() {
    let _port = Port::take();
    let (desk, viewer, attacker) = (Desk::new(), StandIn::start(), StandIn::start());
    let mut running = desk.start(&format!("demo.bin --open --no-browser --ui-url {}", viewer.url()));
    let mut browser = Browser::start(&[]);
    let link = running.link();
    browser.open(&link.replace(&viewer.url(), &attacker.url()));
    fetches_nothing(&attacker);
    running.says("Refused: a request of a page of");
    // It still waits for the right one.
    browser.open(&link);
    fetches_the_trace(&viewer, &desk);
    assert_eq!(running.ends().0, 0);
}

/// The viewer's page is public, and newer browsers ask their user before it may connect to this machine.
#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn the_permission_for_this_machine_is_what_it_takes() {
    let _port = Port::take();
    let (desk, viewer) = (Desk::new(), StandIn::start());
    let public = format!("--ip-address-space-overrides=127.0.0.1:{}=public", viewer.port);
    let mut browser = Browser::start(&[&public]);
    let permit = |browser: &mut Browser, setting: &str| {
        let origin = viewer.url();
        let known = LOOPBACK.iter().any(|name| {
            let parameters =
                json!({ "origin": origin.trim_end_matches('/'), "permission": { "name": name }, "setting": setting });
            browser.try_call(None, "Browser.setPermission", &parameters).is_ok()
        });
        assert!(known, "this browser knows none of {LOOPBACK:?}");
    };
    let mut running = desk.start(&format!("demo.bin --open --no-browser --ui-url {}", viewer.url()));
    let link = running.link();
    permit(&mut browser, "denied");
    browser.open(&link);
    fetches_nothing(&viewer);
    permit(&mut browser, "granted");
    browser.open(&link);
    fetches_the_trace(&viewer, &desk);
    assert_eq!(running.ends().0, 0);
}

#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn the_page_hands_the_trace_over() {
    for is_slow in [false, true] {
        let (desk, viewer) = (Desk::new(), if is_slow { StandIn::start_slowly() } else { StandIn::start() });
        // The permission is not needed this way.
        let public = format!("--ip-address-space-overrides=127.0.0.1:{}=public", viewer.port);
        let mut browser = Browser::start(&[&public]);
        let mut running = desk.start(&format!("demo.bin --open=page --no-browser --ui-url {}", viewer.url()));
        let page = browser.open(&running.link());
        browser.wait_for(&page, "document.getElementById('open')?.disabled === false");
        assert_eq!(browser.value(&page, "document.getElementById('progress').value"), json!(1));
        assert_eq!(browser.value(&page, "getComputedStyle(document.querySelector('main')).borderRadius"), json!("8px"));
        assert!(viewer.has_nothing_to_report());
        browser.click(&page, "#open");
        let mut title = None;
        let trace = loop {
            match viewer.next() {
                (what, trace) if what == "trace" => break trace,
                (what, text) if what == "title" => title = Some(String::from_utf8(text).unwrap()),
                (what, text) if what == "route" => pins_and_expands(&String::from_utf8(text).unwrap()),
                (what, _) => assert_eq!(what, "accelerator"),
            }
        };
        assert!(trace == fs::read(desk.path("demo.perfetto-trace")).unwrap());
        assert_eq!(title.as_deref(), Some("demo.perfetto-trace"));
        browser.wait_for(&page, "document.getElementById('status').textContent.startsWith('The viewer has the trace.')");
        let (status, said) = running.ends();
        assert_eq!((status, said.ends_with("The viewer has the trace.\n")), (0, true), "{said}");
        assert_eq!(browser.tabs_at(&viewer.url()), 1);
    }
}

#[test]
#[ignore = "needs Chromium; run by cargo xtask browser-test"]
fn the_page_says_what_is_wrong() {
    let (desk, viewer) = (Desk::new(), StandIn::start());
    assert_eq!(desk.run("demo.bin -q").0, 0);
    let mut running = desk.start(&format!("serve demo.perfetto-trace --page --no-browser --ui-url {}", viewer.url()));
    let link = running.link();
    let mut browser = Browser::start(&[]);
    let page = browser.open(&link);
    browser.wait_for(&page, "document.getElementById('open')?.disabled === false");
    // A click that no user made: the browser opens no tab for it.
    browser.value(&page, "document.getElementById('open').click()");
    browser.wait_for(&page, "document.getElementById('status').textContent.includes('Allow pop-ups')");
    assert_eq!(browser.tabs_at(&viewer.url()), 0);
    // A file that is gone.
    fs::remove_file(desk.path("demo.perfetto-trace")).unwrap();
    let page = browser.open(&link);
    browser.wait_for(&page, "document.getElementById('status')?.textContent.includes('it answers 404')");
    assert_eq!(browser.value(&page, "document.getElementById('open').disabled"), json!(true));
    // A program that has ended.
    drop(running);
    browser.click(&page, "#open");
    assert_eq!(browser.tabs_at(&viewer.url()), 0);
}
