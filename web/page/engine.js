// Runs one request in an instance of the converter, in a worker as well as in Node. Each request has an instance of its own, so that
// its memory is given back with it.

/** @import {FileRef, Request} from "./types.d.ts" */

const MEMORY_MAX_BYTES = 2 ** 32;

/**
 * What the host gives: bytes of a file, and a place for the output.
 * @typedef {object} Host
 * @property {(file: number, offset: number, bytes: number) => Uint8Array} read Fewer bytes at the file's end.
 * @property {(file: number) => AsyncIterable<Uint8Array>} [load] All bytes of a recording, piece by piece.
 * @property {(piece: Uint8Array<ArrayBuffer>) => void} [emit] A piece of the trace, or of the files in an archive, which is there during the call only.
 * @property {(done: number, total: number) => void} [progress]
 */

/**
 * Puts a file into the memory that was reserved for it. If that is null, the converter reports it.
 * @param {FileRef} file
 * @param {number} start
 * @param {(start: number, bytes: number) => Uint8Array} at
 * @param {NonNullable<Host["load"]>} pieces
 */
async function load({id, name, bytes}, start, at, pieces) {
  if (start === 0) {
    return;
  }
  let offset = 0;
  try {
    for await (const piece of pieces(id)) {
      at(start, bytes).set(piece, offset);
      offset += piece.length;
    }
  } catch {
    offset = -1;
  }
  if (offset !== bytes) {
    throw new Error(`${name} cannot be read (was it changed or moved?)`);
  }
}

/**
 * The answer to a request.
 * @param {WebAssembly.Module} module
 * @param {Request} request
 * @param {Host} host
 * @returns {Promise<any>}
 */
export async function ask(module, request, host) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  let answer = "";
  let failure = "";
  /** @type {WebAssembly.Memory} */
  let memory;
  // The memory may have grown since: its buffer is another one then.
  const at = (/** @type {number} */ start, /** @type {number} */ bytes) => new Uint8Array(memory.buffer, start >>> 0, bytes >>> 0);
  const textAt = (/** @type {number} */ start, /** @type {number} */ bytes) => new TextDecoder().decode(at(start, bytes));
  const instance = await WebAssembly.instantiate(module, {
    host: {
      request: (/** @type {number} */ to) => at(to, text.length).set(text),
      read(/** @type {number} */ file, /** @type {number} */ offset, /** @type {number} */ to, /** @type {number} */ bytes) {
        try {
          const slice = host.read(file, offset, bytes);
          at(to, bytes).set(slice);
          return slice.length;
        } catch {
          return -1;
        }
      },
      emit: (/** @type {number} */ from, /** @type {number} */ bytes) => host.emit?.(at(from, bytes)),
      progress: (/** @type {number} */ done, /** @type {number} */ total) => host.progress?.(done, total),
      reply(/** @type {number} */ from, /** @type {number} */ bytes) {
        answer = textAt(from, bytes);
      },
      fail(/** @type {number} */ from, /** @type {number} */ bytes) {
        failure = textAt(from, bytes);
      },
    },
  });
  memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
  if (host.load !== undefined && request.do === "convert") {
    const reserve = /** @type {(file: number, bytes: number) => number} */ (instance.exports.reserve);
    // The converter itself refuses what is larger than its memory can be.
    for (const {file} of request.inputs.filter(({file}) => file.bytes < MEMORY_MAX_BYTES)) {
      await load(file, reserve(file.id, file.bytes), at, host.load);
    }
  }
  try {
    /** @type {(bytes: number) => void} */ (instance.exports.run)(text.length);
  } catch (error) {
    const bytes = memory.buffer.byteLength;
    throw new Error(failure || `the converter ended with ${bytes >> 20} MB of memory in use (${error instanceof Error ? error.message : error})`);
  }
  const reply = JSON.parse(answer);
  if (typeof reply.error === "string") {
    throw new Error(reply.error);
  }
  return reply;
}
