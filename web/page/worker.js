// One request in a worker of its own: reads the files in slices, and writes the output in pieces.

import {ask} from "./engine.js";
import {OutputWriter} from "./storage.js";

// How often progress is reported, in milliseconds.
const REPORT_EVERY = 100;
// How much of a file is read at once, in bytes.
const PIECE_BYTES = 1 << 20;

/** The bytes of a file in pieces. All are read into one buffer where the browser can, so that there is no garbage. @param {File} file */
async function* pieces(file) {
  const stream = file.stream();
  /** @type {ReadableStreamBYOBReader} */
  let reader;
  try {
    reader = stream.getReader({mode: "byob"});
  } catch {
    const other = stream.getReader();
    for (let {done, value} = await other.read(); !done; {done, value} = await other.read()) {
      yield value ?? new Uint8Array();
    }
    return;
  }
  let buffer = new ArrayBuffer(PIECE_BYTES);
  for (;;) {
    const {done, value} = await reader.read(new Uint8Array(buffer));
    if (done || value === undefined) {
      return;
    }
    yield value;
    buffer = value.buffer;
  }
}

addEventListener("message", async ({data: {module, request, files, place}}) => {
  /** @type {Map<number, File>} */
  const byId = new Map(files);
  const reader = new FileReaderSync();
  const fileOf = (/** @type {number} */ id) => {
    const file = byId.get(id);
    if (file === undefined) {
      throw new Error("no such file");
    }
    return file;
  };
  let reported = 0;
  try {
    const writer = await OutputWriter.open(place);
    const reply = await ask(module, request, {
      read: (id, offset, bytes) => new Uint8Array(reader.readAsArrayBuffer(fileOf(id).slice(offset, offset + bytes))),
      load: (id) => pieces(fileOf(id)),
      emit: (piece) => writer.write(piece),
      progress(done, total) {
        const now = performance.now();
        if (now - reported >= REPORT_EVERY) {
          reported = now;
          postMessage({progress: total > 0 ? done / total : 0});
        }
      },
    });
    postMessage({reply, output: await writer.finish()});
  } catch (error) {
    postMessage({error: error instanceof Error ? error.message : String(error)});
  }
});
