//! The page's side: the request, the bytes of files, and a place for the reply and the trace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Deserialize;

/// The functions that the host provides (`web/engine.js`). Lengths and places are in bytes of this instance's memory.
mod imports {
    #[link(wasm_import_module = "host")]
    // SAFETY: the page defines these functions with these types.
    unsafe extern "C" {
        /// Puts the request there; `bytes` is its length.
        pub fn request(to: *mut u8, bytes: usize);
        /// Puts bytes of a file there; how many, 0 at its end, negative if it cannot be read.
        pub fn read(file: u32, offset: f64, to: *mut u8, bytes: usize) -> i32;
        /// Takes a piece of the trace.
        pub fn emit(from: *const u8, bytes: usize);
        /// Takes the reply.
        pub fn reply(from: *const u8, bytes: usize);
        /// Takes the message of a panic, after which the instance is of no use.
        pub fn fail(from: *const u8, bytes: usize);
        /// Takes how far the work is, in bytes.
        pub fn progress(done: f64, total: f64);
    }
}

/// How much of a file is read at once.
const SLICE_BYTES: usize = 4 << 20;

thread_local! {
    /// Files that the host has put into memory before the request, by their numbers.
    static LOADED: RefCell<BTreeMap<u32, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Memory for all bytes of a file, which the host fills before it calls [`run`](super::run): it reads a large file while it waits, so that
/// the buffers of the browser are freed meanwhile. Null if there is not enough.
// SAFETY: no other function of this module is exported under this name.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(file: u32, bytes: usize) -> *mut u8 {
    let mut content = Vec::new();
    if content.try_reserve_exact(bytes).is_err() {
        return std::ptr::null_mut();
    }
    content.resize(bytes, 0);
    let start = content.as_mut_ptr();
    LOADED.with_borrow_mut(|loaded| loaded.insert(file, content));
    start
}

/// A file that the page has.
#[derive(Clone, Debug, Deserialize)]
pub struct File {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: usize,
}

impl File {
    /// Its first bytes: `limit` at most.
    ///
    /// # Errors
    /// When it cannot be read, or does not fit into memory.
    pub fn read(&self, limit: usize) -> io::Result<Vec<u8>> {
        let length = self.bytes.min(limit);
        if length == self.bytes
            && let Some(content) = LOADED.with_borrow_mut(|loaded| loaded.remove(&self.id))
        {
            return Ok(content);
        }
        let mut content = Vec::new();
        // Exactly as much as is needed: a vector that grows would be in memory twice.
        content.try_reserve_exact(length).map_err(|_| {
            io::Error::other(format!("{} does not fit into the page's memory; use the program traceconv for it", self.name))
        })?;
        while content.len() < length {
            let start = content.len();
            content.resize(length.min(start + SLICE_BYTES), 0);
            let slice = content.get_mut(start..).unwrap_or_default();
            let wanted = slice.len();
            // SAFETY: The host writes at most `wanted` bytes to where `slice` is, and keeps no reference to it.
            let count = unsafe { imports::read(self.id, start as f64, slice.as_mut_ptr(), wanted) };
            match usize::try_from(count) {
                Ok(0) => {
                    content.truncate(start);
                    break;
                }
                Ok(count) => content.truncate(start + count.min(wanted)),
                Err(_) => return Err(io::Error::other(format!("{} cannot be read (was it changed or moved?)", self.name))),
            }
        }
        Ok(content)
    }
}

/// The request, which is so long.
pub fn request(bytes: usize) -> Vec<u8> {
    let mut request = vec![0; bytes];
    // SAFETY: The host writes at most `bytes` bytes to where `request` is, and keeps no reference to it.
    unsafe { imports::request(request.as_mut_ptr(), bytes) };
    request
}

/// Sends the reply.
pub fn reply(text: &str) {
    // SAFETY: The host reads these bytes before it returns.
    unsafe { imports::reply(text.as_ptr(), text.len()) };
}

/// Reports a panic.
pub fn fail(text: &str) {
    // SAFETY: The host reads these bytes before it returns.
    unsafe { imports::fail(text.as_ptr(), text.len()) };
}

/// Reports progress.
pub fn progress(done: u64, total: u64) {
    // SAFETY: No memory is handed over.
    unsafe { imports::progress(done as f64, total as f64) };
}

/// Hands the trace to the page.
pub struct Trace;

impl Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: The host reads these bytes before it returns.
        unsafe { imports::emit(bytes.as_ptr(), bytes.len()) };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
