// The converter as the page uses it: each request in a worker, one after the other; a worker that is not wanted any more is ended.

import {newFile, removeFile} from "./storage.js";

/** @import {Request} from "./types.d.ts" */

/** @type {Promise<WebAssembly.Module> | null} */
let compiled = null;

function compile() {
  const url = new URL("traceconv.wasm", import.meta.url);
  compiled ??= WebAssembly.compileStreaming(fetch(url))
    // A server that does not know the media type of WebAssembly.
    .catch(async () => WebAssembly.compile(await (await fetch(url)).arrayBuffer()))
    .catch((error) => {
      compiled = null;
      throw new Error(`the converter could not be loaded: ${error.message}`);
    });
  return compiled;
}

/**
 * @typedef {object} Options
 * @property {Map<number, File>} [files] By their numbers in the request.
 * @property {AbortSignal} [signal]
 * @property {(part: number) => void} [progress] From 0 to 1.
 */

// The requests that were made, each after the one before: two conversions at once would need twice the memory.
let last = Promise.resolve();

/**
 * @typedef {object} Answer
 * @property {any} reply
 * @property {Blob} output The trace, or the files that were unpacked.
 * @property {() => void} drop To be called when the output is not needed any more.
 */

/**
 * Does a request.
 * @param {Request} request
 * @param {Options} [options]
 * @returns {Promise<Answer>}
 */
export function run(request, options = {}) {
  const result = last.then(() => runNow(request, options));
  last = result.then(() => {}, () => {});
  return result;
}

/** @param {Request} request @param {Options} options @returns {Promise<Answer>} */
async function runNow(request, {files, signal, progress}) {
  signal?.throwIfAborted();
  const [module, place] = await Promise.all([compile(), ["convert", "unpack"].includes(request.do) ? newFile() : null]);
  // It may have been cancelled meanwhile.
  signal?.throwIfAborted();
  const worker = new Worker(new URL("worker.js", import.meta.url), {type: "module"});
  try {
    const answer = await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      worker.addEventListener("error", (event) => reject(new Error(event.message || "the converter's worker could not be started")));
      worker.addEventListener("message", ({data}) => {
        if (data.progress !== undefined) {
          progress?.(data.progress);
        } else if (data.error !== undefined) {
          reject(new Error(data.error));
        } else {
          resolve(data);
        }
      });
      worker.postMessage({module, request, files: [...(files ?? [])], place});
    });
    return {...answer, drop: () => removeFile(place, false)};
  } catch (error) {
    removeFile(place, true);
    throw error;
  } finally {
    worker.terminate();
  }
}
