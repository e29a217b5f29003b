//! Chromium, remote-controlled through the pipe of its DevTools protocol: JSON messages that end with a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::LONG;

/// Where the browser is: `cargo xtask browser-test` has found it.
fn find() -> PathBuf {
    let path = std::env::var_os("CHROMIUM").expect("CHROMIUM names the browser; run these tests by `cargo xtask browser-test`");
    path.into()
}

/// A browser with a profile of its own. It ends with this value.
pub struct Browser {
    child: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn start(options: &[&str]) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let browser = find();
        // The browser has its pipe at 3 and 4; a shell puts it there.
        let script = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(&browser).args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--password-store=basic",
            // Root cannot use the sandbox; only pages of these tests are opened here.
            "--no-sandbox",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).args(options).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let requests = child.stdin.take().unwrap();
        let mut replies = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while replies.read_until(0, &mut message).is_ok_and(|len| len > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser { child, requests, messages, last_id: 0, _profile: profile };
        let version = browser.call(None, "Browser.getVersion", &json!({}));
        println!("{} (protocol {})", version["product"].as_str().unwrap(), version["protocolVersion"].as_str().unwrap());
        browser
    }

    /// Calls a method, of a page or of the browser, and gives its result.
    #[track_caller]
    pub fn call(&mut self, page: Option<&Page>, method: &str, parameters: &Value) -> Value {
        self.try_call(page, method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method that may be refused.
    #[track_caller]
    pub fn try_call(&mut self, page: Option<&Page>, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(page) = page {
            request["sessionId"] = json!(page.session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).unwrap();
        let started = Instant::now();
        loop {
            let left = LONG.saturating_sub(started.elapsed());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|error| panic!("{method} is not answered: {error}"));
            if message["id"] == json!(self.last_id) {
                return message.get("error").map_or_else(|| Ok(message["result"].clone()), |error| Err(error.clone()));
            }
        }
    }

    /// Opens a page in a new tab.
    #[track_caller]
    pub fn open(&mut self, url: &str) -> Page {
        let target = self.call(None, "Target.createTarget", &json!({ "url": url }))["targetId"].clone();
        let attached = self.call(None, "Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        Page { session: attached["sessionId"].as_str().unwrap().to_owned() }
    }

    /// The value of an expression on a page.
    #[track_caller]
    pub fn value(&mut self, page: &Page, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call(Some(page), "Runtime.evaluate", &parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression on a page is true.
    #[track_caller]
    pub fn wait_for(&mut self, page: &Page, expression: &str) {
        let started = Instant::now();
        while self.value(page, expression) != json!(true) {
            let text = self.value(page, "document.body?.innerText");
            assert!(started.elapsed() < LONG, "{expression} does not become true; the page says: {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks on an element with the mouse, as a user does.
    #[track_caller]
    pub fn click(&mut self, page: &Page, selector: &str) {
        let place = self.value(
            page,
            &format!("(() => {{ const r = document.querySelector('{selector}').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"),
        );
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let parameters = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call(Some(page), "Input.dispatchMouseEvent", &parameters);
        }
    }

    /// How many tabs show this address.
    pub fn tabs_at(&mut self, prefix: &str) -> usize {
        let targets = self.call(None, "Target.getTargets", &json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        targets.iter().filter(|target| target["type"] == "page" && target["url"].as_str().unwrap().starts_with(prefix)).count()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A tab.
pub struct Page {
    session: String,
}
