// What the tests share: a server for the page, the native program, captures.

import {execFile} from "node:child_process";
import {createReadStream, existsSync} from "node:fs";
import {readdir, stat} from "node:fs/promises";
import {createServer} from "node:http";
import {delimiter, extname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";
import {deflateRawSync} from "node:zlib";

export const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");
export const PAGE = join(ROOT, "build/web");
export const TESTDATA = join(ROOT, "testdata");

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FOLDERS = (process.env.PATH ?? "").split(delimiter);

/** The browser, and how it is started: without requests of its own. */
export const CHROMIUM = process.env.CHROMIUM ?? NAMES.flatMap((name) => FOLDERS.map((folder) => join(folder, name))).find(existsSync) ?? "chromium";
export const ARGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** The program with the page in it. */
export const SERVING = join(ROOT, "build/debug/traceconv");

/** The native program. */
export const PROGRAM = process.env.TRACECONV ?? join(ROOT, "build/release/traceconv");

const TYPES = new Map([
  [".html", "text/html"], [".js", "text/javascript"], [".css", "text/css"], [".json", "application/json"], [".svg", "image/svg+xml"],
  [".wasm", "application/wasm"], [".webmanifest", "application/manifest+json"],
]);

/**
 * A server of a folder, and of the captures in `testdata/`, on a port of its own. Gives its address, and ends with `close`.
 * @param {string} folder
 * @param {Record<string, string>} [headers]
 */
export async function serve(folder, headers = {}) {
  const server = createServer(async (request, response) => {
    const {pathname} = new URL(request.url ?? "/", "http://localhost");
    const root = pathname.startsWith("/testdata/") ? ROOT : folder;
    const path = join(root, decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
    try {
      const {size} = await stat(path);
      response.writeHead(200, {"Content-Type": TYPES.get(extname(path)) ?? "application/octet-stream", "Content-Length": size, ...headers});
      createReadStream(path).pipe(response);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(null)));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {url: `http://127.0.0.1:${port}/`, close: () => { server.closeAllConnections(); server.close(); }};
}

const run = promisify(execFile);

/** The trace that the native program writes; `null` if it writes none. @param {string[]} args @returns {Promise<Buffer | null>} */
export async function nativeTrace(...args) {
  try {
    const {stdout} = await run(PROGRAM, ["--quiet", "-o", "-", ...args], {encoding: "buffer", maxBuffer: 2 ** 31});
    return stdout;
  } catch (error) {
    if (/** @type {any} */ (error).code === 1) {
      return null;
    }
    throw error;
  }
}

// What lies beside captures and is none: views of them, sources, companions.
const NO_CAPTURE = /\.(md|csv|toml|xml|dic|ld|c|cpp|S|sh|elf|svg|(records\.jsonl|(events|ledger|trace)\.txt))$/;

/** All captures in testdata. @returns {Promise<string[]>} */
export async function captures() {
  const found = await readdir(TESTDATA, {recursive: true, withFileTypes: true});
  return found.filter((entry) => entry.isFile() && !NO_CAPTURE.test(entry.name)).map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
}

/** CRC-32 of ZIP. @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? crc >>> 1 ^ 0xedb88320 : crc >>> 1;
    }
  }
  return ~crc >>> 0;
}

/** A ZIP archive. @param {{name: string, bytes: Buffer}[]} files */
export function zip(files) {
  const [locals, entries] = [/** @type {Buffer[]} */ ([]), /** @type {Buffer[]} */ ([])];
  let offset = 0;
  for (const {name, bytes} of files) {
    const [path, content] = [Buffer.from(name), deflateRawSync(bytes)];
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(content.length, 14);
    fields.writeUInt32LE(bytes.length, 18);
    fields.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), fields, path, content]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0"), fields, place, path]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06"), end]);
}

/** A zstd frame of blocks that are not compressed. @param {Buffer} bytes */
export function zstd(bytes) {
  const header = Buffer.from("28b52ffda000000000", "hex");
  header.writeUInt32LE(bytes.length, 5);
  /** @type {Uint8Array[]} */
  const parts = [header];
  for (let start = 0; start < bytes.length; start += 1 << 17) {
    const block = bytes.subarray(start, start + (1 << 17));
    const isLast = start + block.length === bytes.length;
    const size = Buffer.alloc(3);
    size.writeUIntLE(block.length << 3 | Number(isLast), 0, 3);
    parts.push(size, block);
  }
  return Buffer.concat(parts);
}

/** A name without its last extension. @param {string} name */
export function stem(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}
