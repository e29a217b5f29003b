// What the tests share: a server for the page, the native program, captures.

import {execFile} from "node:child_process";
import {createReadStream, existsSync} from "node:fs";
import {readdir, stat} from "node:fs/promises";
import {createServer} from "node:http";
import {delimiter, extname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";

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

/** A name without its last extension. @param {string} name */
export function stem(name) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}
