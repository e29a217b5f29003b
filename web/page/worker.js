// One request in a worker of its own: reads the files in slices, and gives the trace away as a Blob, which the browser may keep on disk.

import {ask} from "./engine.js";

// How much of a trace is in this worker's memory, in bytes, and how often progress is reported, in milliseconds.
const BLOB_BYTES = 16 << 20;
const REPORT_EVERY = 100;

addEventListener("message", async ({data: {module, request, files}}) => {
  /** @type {Map<number, File>} */
  const byId = new Map(files);
  const reader = new FileReaderSync();
  /** @type {Blob[]} */
  const blobs = [];
  // One buffer for all pieces: what a worker throws away while it is busy is collected late.
  const buffer = new Uint8Array(BLOB_BYTES);
  let filled = 0;
  const flush = () => {
    blobs.push(new Blob([buffer.subarray(0, filled)]));
    filled = 0;
  };
  let reported = 0;
  try {
    const reply = await ask(module, request, {
      read(id, offset, bytes) {
        const file = byId.get(id);
        if (file === undefined) {
          throw new Error("no such file");
        }
        return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + bytes)));
      },
      emit(piece) {
        if (filled + piece.length > BLOB_BYTES) {
          flush();
        }
        if (piece.length > BLOB_BYTES) {
          blobs.push(new Blob([piece.slice()]));
          return;
        }
        buffer.set(piece, filled);
        filled += piece.length;
      },
      progress(done, total) {
        const now = performance.now();
        if (now - reported >= REPORT_EVERY) {
          reported = now;
          postMessage({progress: total > 0 ? done / total : 0});
        }
      },
    });
    flush();
    postMessage({reply, trace: new Blob(blobs)});
  } catch (error) {
    postMessage({error: error instanceof Error ? error.message : String(error)});
  }
});
