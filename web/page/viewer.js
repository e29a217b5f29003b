// Hands a trace to the viewer: in a tab of its own, or in a frame of this page. The handshake is the viewer's documented one: PING until
// PONG, then one message with the buffer.

const DEFAULT_VIEWER = "https://ui.perfetto.dev/";
// The viewer pins these to its top: who ran on each core, and what is missing.
const PINNED = String.raw`^(CPU \d+( Scheduling|$)|Losses$)`;
// It expands the firmware and its active objects. Older viewers compare names, not paths.
const EXPANDED = String.raw`^.* 1\d{5}( > Active objects( > [^>]+)?)?$`;
// How often the viewer is asked whether it listens, and when it is said that it is slow, in milliseconds.
const PING_EVERY = 50;
const SLOW_AFTER = 15_000;
// No browser has a larger buffer in one piece.
const BUFFER_MAX_BYTES = 2 ** 31 - 1;

/** Where the viewer is: that of everybody, or one of the user's own (`?viewer=`). */
export const viewer = viewerOf(new URLSearchParams(location.search).get("viewer"));

/** @param {string | null} own @returns {URL} */
function viewerOf(own) {
  try {
    const url = new URL(own ?? DEFAULT_VIEWER);
    if (url.protocol === "https:" || url.protocol === "http:") {
      url.hash = "";
      return url;
    }
  } catch {
    // No address.
  }
  return new URL(DEFAULT_VIEWER);
}

/** @param {boolean} embedded */
function link(embedded) {
  const commands = JSON.stringify([
    {id: "dev.perfetto.PinTracksByRegex", args: [PINNED]},
    {id: "dev.perfetto.ExpandTracksByRegex", args: [EXPANDED, "path"]},
  ]);
  const mode = embedded ? "mode=embedded&hideSidebar=true&" : "";
  return `${viewer.href}#!/?${mode}referrer=traceconv&startupCommands=${encodeURIComponent(commands)}`;
}

/** @param {Blob} trace */
async function bufferOf(trace) {
  if (trace.size > BUFFER_MAX_BYTES) {
    throw new Error("The trace is too large to be handed over in one piece. Download it, and open it with Perfetto's trace_processor");
  }
  return trace.arrayBuffer();
}

/**
 * Asks a window until it answers. Gives true then, false if it was closed.
 * @param {Window} target
 * @param {(text: string) => void} say
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>}
 */
function answers(target, say, signal) {
  return new Promise((resolve) => {
    const started = Date.now();
    const end = (/** @type {boolean} */ answered) => {
      clearInterval(timer);
      removeEventListener("message", heard);
      resolve(answered);
    };
    const timer = setInterval(() => {
      if (target.closed || signal?.aborted) {
        end(false);
        return;
      }
      if (Date.now() - started > SLOW_AFTER) {
        say(`The viewer has not answered yet. Is ${viewer.origin} reachable from here?`);
      }
      // Until the viewer has loaded, the window is of another origin, and the browser drops this.
      target.postMessage("PING", viewer.origin);
    }, PING_EVERY);
    const heard = (/** @type {MessageEvent} */ event) => {
      if (event.source === target && event.origin === viewer.origin && event.data === "PONG") {
        end(true);
      }
    };
    addEventListener("message", heard);
  });
}

/** @param {Window} target @param {ArrayBuffer} buffer @param {string} title @param {boolean} keepApiOpen */
function handOver(target, buffer, title, keepApiOpen) {
  // Given away, not copied: a large trace would be in memory twice.
  target.postMessage({perfetto: {buffer, title, fileName: `${title}.perfetto-trace`, keepApiOpen}}, viewer.origin, [buffer]);
}

/**
 * Opens a trace in a tab of the viewer. To be called by a click: the browser takes it for an unwanted pop-up otherwise.
 * @param {Blob} trace
 * @param {string} title
 * @param {(text: string) => void} say
 */
export async function openInTab(trace, title, say) {
  const tab = window.open(link(false));
  if (tab === null) {
    say("The browser did not let the viewer's tab be opened. Allow pop-ups for this page, then click again.");
    return;
  }
  say("Waiting for the viewer …");
  const [answered, buffer] = await Promise.all([answers(tab, say), bufferOf(trace)]);
  if (!answered) {
    say("The viewer's tab was closed before it had the trace.");
    return;
  }
  handOver(tab, buffer, title, false);
  say("The viewer has the trace.");
}

/** The frame of the viewer in this page, once there is one. @type {{frame: HTMLIFrameElement, ready: Promise<boolean>} | null} */
let embedded = null;

/**
 * Shows a trace in the frame; the viewer is loaded by the first call, after a click.
 * @param {HTMLElement} place
 * @param {Blob} trace
 * @param {string} title
 * @param {(text: string) => void} say
 */
export async function showEmbedded(place, trace, title, say) {
  if (embedded === null) {
    const frame = document.createElement("iframe");
    frame.title = "Perfetto trace viewer";
    frame.referrerPolicy = "no-referrer";
    frame.src = link(true);
    place.replaceChildren(frame);
    const target = frame.contentWindow;
    if (target === null) {
      return;
    }
    embedded = {frame, ready: answers(target, say)};
  }
  say("Waiting for the viewer …");
  const [, buffer] = await Promise.all([embedded.ready, bufferOf(trace)]);
  const target = embedded.frame.contentWindow;
  if (target !== null) {
    handOver(target, buffer, title, true);
    say("");
  }
}

/** Takes the frame away. @param {HTMLElement} place */
export function closeEmbedded(place) {
  embedded = null;
  place.replaceChildren();
}
