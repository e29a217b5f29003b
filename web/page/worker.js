// One request in a worker of its own: reads the files in slices, and writes the trace in pieces.

import {ask} from "./engine.js";
import {TraceWriter} from "./storage.js";

// How often progress is reported, in milliseconds.
const REPORT_EVERY = 100;

addEventListener("message", async ({data: {module, request, files, place}}) => {
  /** @type {Map<number, File>} */
  const byId = new Map(files);
  const reader = new FileReaderSync();
  let reported = 0;
  try {
    const writer = await TraceWriter.open(place);
    const reply = await ask(module, request, {
      read(id, offset, bytes) {
        const file = byId.get(id);
        if (file === undefined) {
          throw new Error("no such file");
        }
        return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + bytes)));
      },
      emit: (piece) => writer.write(piece),
      progress(done, total) {
        const now = performance.now();
        if (now - reported >= REPORT_EVERY) {
          reported = now;
          postMessage({progress: total > 0 ? done / total : 0});
        }
      },
    });
    postMessage({reply, trace: await writer.finish()});
  } catch (error) {
    postMessage({error: error instanceof Error ? error.message : String(error)});
  }
});
