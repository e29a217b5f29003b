// Reads the trace from traceconv, opens the viewer when the button is clicked, and hands the trace over to it.

const {trace, title, viewer, origin} = document.body.dataset;
const button = document.getElementById("open");
const progress = document.getElementById("progress");
const status = document.getElementById("status");

// How often the viewer is asked whether it listens, and how long, in milliseconds.
const PING_EVERY = 50;
const SLOW_AFTER = 15_000;

let buffer = null;

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

function fail(text) {
  say(text, true);
  button.disabled = buffer === null;
}

async function read() {
  say("Reading the trace …");
  const response = await fetch(trace, {cache: "no-store"});
  if (!response.ok) {
    throw new Error(`it answers ${response.status} ${response.statusText}`);
  }
  const length = Number(response.headers.get("Content-Length"));
  const bytes = new Uint8Array(length);
  let filled = 0;
  const reader = response.body.getReader();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) {
      break;
    }
    bytes.set(value, filled);
    filled += value.length;
    progress.value = length > 0 ? filled / length : 1;
  }
  if (filled !== length) {
    throw new Error(`only ${filled} of ${length} bytes came`);
  }
  buffer = bytes.buffer;
  button.disabled = false;
  say("Ready. The viewer opens in a new tab.");
}

// Ends the attempt before, if there was one.
let giveUp = () => {};

function openViewer() {
  giveUp();
  // Opened by the click itself, or the browser takes it for an unwanted pop-up.
  const tab = window.open(viewer);
  if (tab === null) {
    fail("The browser did not let the viewer's tab be opened. Allow pop-ups for this page, then click again.");
    return;
  }
  button.disabled = true;
  progress.removeAttribute("value");
  say("Waiting for the viewer …");
  const started = Date.now();
  const timer = setInterval(() => {
    if (tab.closed) {
      giveUp();
      fail("The viewer's tab was closed before it had the trace. Click again to reopen it.");
      return;
    }
    if (Date.now() - started > SLOW_AFTER) {
      fail(`The viewer has not answered yet. Is ${origin} reachable from here? Its tab shows what is wrong.`);
    }
    // Until the viewer has loaded, the tab is of no origin, and the browser drops this.
    tab.postMessage("PING", origin);
  }, PING_EVERY);
  const heard = (event) => {
    if (event.source === tab && event.origin === origin && event.data === "PONG") {
      giveUp();
      handOver(tab);
    }
  };
  window.addEventListener("message", heard);
  giveUp = () => {
    clearInterval(timer);
    window.removeEventListener("message", heard);
    progress.value = 1;
    giveUp = () => {};
  };
}

function handOver(tab) {
  try {
    // Given away, not copied: a large trace would be in memory twice.
    tab.postMessage({perfetto: {buffer, title, fileName: title}}, origin, [buffer]);
  } catch (error) {
    fail(`The browser could not hand the trace over: ${error.message}`);
    return;
  }
  buffer = null;
  say("The viewer has the trace. You may close this page.");
  // That traceconv has ended meanwhile is no harm.
  fetch("-/handed-over", {method: "POST"}).catch(() => {});
}

button.addEventListener("click", openViewer);
read().catch((error) => {
  fail(`The trace could not be read from traceconv: ${error.message}. If it has ended, run it again and reload this page.`);
});
