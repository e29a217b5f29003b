// Where traces and the files of archives are kept while the page is open: in files of the browser's private storage for this page, so that they are on disk and
// not in memory. Where a browser has no such storage, or it is full, they are kept as Blobs.

// The folder of all pages' traces. Each page has a folder in it, and holds a lock of the same name for as long as it is open.
const FOLDER = "traces";
// What is written at once, in bytes, of pieces that are smaller.
const PIECE_BYTES = 4 << 20;
// A piece of this size is written as it is, in bytes: it is in the processor's cache still, and not copied.
const LARGE_PIECE_BYTES = 64 << 10;
// How long a download may take to begin, in milliseconds.
const REMOVE_AFTER = 60_000;

/** The name of a file in the storage, with its folders. @typedef {string[]} StoredFile */

/** @param {string[]} names @param {boolean} create */
async function folderAt(names, create) {
  let folder = await navigator.storage.getDirectory();
  for (const name of names) {
    folder = await folder.getDirectoryHandle(name, {create});
  }
  return folder;
}

/** The folder of this page, made at its first use. @type {Promise<string | null> | null} */
let own = null;
let files = 0;

/** Holds the lock of a name until the page is closed. @param {string} name */
function hold(name) {
  return new Promise((resolve, reject) => {
    navigator.locks.request(name, () => {
      resolve(null);
      return new Promise(() => {});
    }).catch(reject);
  });
}

/** Removes the traces of pages that were closed. */
async function removeOrphans() {
  const all = await folderAt([FOLDER], true);
  const names = [];
  for await (const name of all.keys()) {
    names.push(name);
  }
  // Asked for after the folders: a page holds its lock before it makes its folder.
  const {held} = await navigator.locks.query();
  const open = new Set(held?.map((lock) => lock.name));
  await Promise.allSettled(names.filter((name) => !open.has(name)).map((name) => all.removeEntry(name, {recursive: true})));
}

async function ownFolder() {
  try {
    const name = crypto.randomUUID();
    await hold(name);
    await removeOrphans();
    return name;
  } catch {
    // No storage here: from http other than localhost, and in some private windows.
    return null;
  }
}

/** A name for a new file; `null` without storage. @returns {Promise<StoredFile | null>} */
export async function newFile() {
  own ??= ownFolder();
  const name = await own;
  return name === null ? null : [FOLDER, name, String(files++)];
}

/** Removes a file: at once, or when a download of it has begun. @param {StoredFile | null} file @param {boolean} now */
export function removeFile(file, now) {
  if (file === null) {
    return;
  }
  const folders = file.slice(0, -1);
  const remove = async () => (await folderAt(folders, false)).removeEntry(file.at(-1) ?? "");
  // What cannot be removed, because its worker ends only now, is removed with its folder.
  setTimeout(() => remove().catch(() => {}), now ? 0 : REMOVE_AFTER);
}

/** A trace, or the files of an archive, being written, in a worker. */
export class OutputWriter {
  /** @type {Blob[]} */
  #blobs = [];
  // One buffer for all pieces: what a worker throws away while it is busy is collected late.
  #buffer = new Uint8Array(PIECE_BYTES);
  #filled = 0;
  /** @type {FileSystemFileHandle | null} */
  #handle = null;
  /** @type {FileSystemSyncAccessHandle | null} */
  #access = null;
  #storedBytes = 0;

  /** @param {StoredFile | null} file */
  static async open(file) {
    const writer = new OutputWriter();
    if (file !== null) {
      try {
        const folder = await folderAt(file.slice(0, -1), true);
        writer.#handle = await folder.getFileHandle(file.at(-1) ?? "", {create: true});
        writer.#access = await writer.#handle.createSyncAccessHandle();
      } catch {
        // Blobs do as well.
      }
    }
    return writer;
  }

  /** @param {Uint8Array<ArrayBuffer>} piece */
  write(piece) {
    if (this.#access !== null && this.#blobs.length === 0 && piece.length >= LARGE_PIECE_BYTES) {
      this.#flush();
      this.#store(piece);
      return;
    }
    for (let start = 0; start < piece.length;) {
      const part = piece.subarray(start, start + PIECE_BYTES - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      start += part.length;
      if (this.#filled === PIECE_BYTES) {
        this.#flush();
      }
    }
  }

  #flush() {
    if (this.#filled > 0) {
      this.#store(this.#buffer.subarray(0, this.#filled));
      this.#filled = 0;
    }
  }

  /** Stores what comes after all that was stored. @param {Uint8Array<ArrayBuffer>} part */
  #store(part) {
    // The storage takes no more once it was full: the parts would get out of order.
    if (this.#access !== null && this.#blobs.length === 0) {
      try {
        if (this.#access.write(part, {at: this.#storedBytes}) === part.length) {
          this.#storedBytes += part.length;
          return;
        }
      } catch {
        // It is full.
      }
    }
    this.#blobs.push(new Blob([part]));
  }

  /** All that was written. */
  async finish() {
    this.#flush();
    if (this.#access === null || this.#handle === null) {
      return new Blob(this.#blobs);
    }
    this.#access.close();
    const stored = await this.#handle.getFile();
    return this.#blobs.length === 0 ? stored : new Blob([stored.slice(0, this.#storedBytes), ...this.#blobs]);
  }
}
