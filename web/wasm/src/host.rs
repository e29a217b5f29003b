//! The page's side: the request, the bytes of files, and a place for the reply and the trace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

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
        /// Takes a piece of the output: of a trace, or of the files in an archive.
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
/// How much of a file that is read in slices is in memory.
const READER_BYTES: usize = 1 << 20;

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
    pub bytes: u64,
}

impl File {
    /// Its first bytes: `limit` at most.
    ///
    /// # Errors
    /// When it cannot be read, or does not fit into memory.
    pub fn read(&self, limit: u64) -> io::Result<Vec<u8>> {
        let too_large =
            || io::Error::other(format!("{} does not fit into the page's memory; use the program traceconv for it", self.name));
        let length = usize::try_from(self.bytes.min(limit)).map_err(|_| too_large())?;
        if self.bytes <= limit
            && let Some(content) = LOADED.with_borrow_mut(|loaded| loaded.remove(&self.id))
        {
            return Ok(content);
        }
        let mut content = Vec::new();
        // Exactly as much as is needed: a vector that grows would be in memory twice.
        content.try_reserve_exact(length).map_err(|_| too_large())?;
        while content.len() < length {
            let start = content.len();
            content.resize(length.min(start + SLICE_BYTES), 0);
            let slice = content.get_mut(start..).unwrap_or_default();
            match self.read_at(start as u64, slice)? {
                0 => {
                    content.truncate(start);
                    break;
                }
                count => content.truncate(start + count),
            }
        }
        Ok(content)
    }

    /// The number of bytes from `offset` on that were put into `slice`; 0 at the file's end.
    fn read_at(&self, offset: u64, slice: &mut [u8]) -> io::Result<usize> {
        let wanted = slice.len();
        // SAFETY: The host writes at most `wanted` bytes to where `slice` is, and keeps no reference to it.
        let count = unsafe { imports::read(self.id, offset as f64, slice.as_mut_ptr(), wanted) };
        let count = usize::try_from(count)
            .map_err(|_| io::Error::other(format!("{} cannot be read (was it changed or moved?)", self.name)))?;
        Ok(count.min(wanted))
    }

    /// Reads it in slices.
    pub fn reader(&self) -> Reader<'_> {
        Reader { file: self, at: 0, slice: Vec::new(), slice_at: 0 }
    }
}

/// Reads a file of any length with one slice of it in memory, and reports how far it is.
pub struct Reader<'a> {
    file: &'a File,
    at: u64,
    slice: Vec<u8>,
    /// Where in the file the slice begins.
    slice_at: u64,
}

impl Reader<'_> {
    /// What is in memory from the present position on.
    fn rest(&self) -> &[u8] {
        let skipped = self.at.checked_sub(self.slice_at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.slice.get(skipped..)).unwrap_or_default()
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest().is_empty() {
            self.slice.resize(READER_BYTES, 0);
            let count = self.file.read_at(self.at, &mut self.slice)?;
            self.slice.truncate(count);
            self.slice_at = self.at;
            progress(self.at, self.file.bytes);
        }
        let count = self.rest().read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
            SeekFrom::End(distance) => self.file.bytes.checked_add_signed(distance),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
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

/// Hands a trace, or the files in an archive, to the page.
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: The host reads these bytes before it returns.
        unsafe { imports::emit(bytes.as_ptr(), bytes.len()) };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
