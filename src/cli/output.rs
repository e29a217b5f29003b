//! Where results go. A file appears under its name only when it is complete: it is written under another name beside it and
//! then renamed, and it is removed if anything goes wrong, a signal included.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "record")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use tempfile::{NamedTempFile, TempPath};

use super::STATUS_STOPPED;
use super::plan::{Place, directory_of, shown};
use crate::pipeline::{Compression, Compressor};

const BUFFER_BYTES: usize = 256 << 10;

/// The temporary files of the moment, one for each thread that converts. Held locked while such a file is made or renamed, so that
/// the signal handler (which then waits) never misses one.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file that the signal handler knows while this lives.
pub(super) struct Listed {
    path: PathBuf,
}

impl Drop for Listed {
    fn drop(&mut self) {
        TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

/// Makes SIGINT, SIGTERM and SIGHUP end this process at once (also while it waits for input), without leaving half a file.
pub(super) fn clean_up_on_signals() {
    // A handler that cannot be installed leaves the system's default: the process ends, at worst leaving a temporary file.
    let _ = ctrlc::set_handler(|| {
        #[cfg(feature = "record")]
        if STOPS_GENTLY.swap(false, Ordering::Relaxed) {
            IS_STOPPED.store(true, Ordering::Relaxed);
            return;
        }
        let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        for path in temporaries.iter() {
            let _ = fs::remove_file(path);
        }
        std::process::exit(STATUS_STOPPED);
    });
}

/// Whether the next such signal only asks to stop.
#[cfg(feature = "record")]
static STOPS_GENTLY: AtomicBool = AtomicBool::new(false);
/// Whether it has done so.
#[cfg(feature = "record")]
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Lets the next signal set the flag that is returned, instead of ending the process. The one after that ends it. `false`: no longer.
#[cfg(feature = "record")]
pub(super) fn gentle_stop(wanted: bool) -> &'static AtomicBool {
    STOPS_GENTLY.store(wanted, Ordering::Relaxed);
    &IS_STOPPED
}

/// An output that is being written.
pub(super) enum Output {
    Plain(BufWriter<Sink>),
    Compressed(Box<Compressor<BufWriter<Sink>>>),
}

/// An output to which nothing is to be added, but which is not in its place yet.
pub(super) struct Complete {
    file: Option<CompleteFile>,
}

struct CompleteFile {
    path: TempPath,
    target: PathBuf,
    // Declared after the file, so that it is dropped after it.
    _listed: Listed,
}

pub(super) enum Sink {
    Standard(io::Stdout),
    /// A device, a FIFO: written as it is.
    Special(File),
    Temporary {
        file: NamedTempFile,
        target: PathBuf,
        // Declared after the file, so that it is dropped after it.
        listed: Listed,
    },
}

impl Sink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Sink::Standard(stdout) => stdout,
            Sink::Special(file) => file,
            Sink::Temporary { file, .. } => file.as_file_mut(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Output {
    /// Starts writing to `place`.
    pub(super) fn create(place: &Place) -> anyhow::Result<Output> {
        Ok(Output::Plain(writer_to(place)?))
    }

    /// The same, compressed on `threads` threads (0: one per processor).
    pub(super) fn create_compressed(place: &Place, compression: Compression, threads: usize) -> anyhow::Result<Output> {
        Ok(Output::Compressed(Box::new(Compressor::new(writer_to(place)?, compression, threads))))
    }

    /// Puts the complete file in its place.
    pub(super) fn finish(self) -> io::Result<()> {
        self.complete()?.0.finish()
    }

    /// Writes the rest and closes it, without putting it in its place. Compressed ones have a length of their own, in bytes.
    pub(super) fn complete(self) -> io::Result<(Complete, Option<u64>)> {
        let (writer, bytes) = match self {
            Output::Plain(writer) => (writer, None),
            Output::Compressed(compressor) => {
                let (writer, bytes) = compressor.finish()?;
                (writer, Some(bytes))
            }
        };
        let file = match writer.into_inner().map_err(io::IntoInnerError::into_error)? {
            Sink::Temporary { file, target, listed } => {
                Some(CompleteFile { path: file.into_temp_path(), target, _listed: listed })
            }
            mut other => {
                other.flush()?;
                None
            }
        };
        Ok((Complete { file }, bytes))
    }
}

impl Complete {
    /// Puts it in its place.
    pub(super) fn finish(self) -> io::Result<()> {
        let Some(CompleteFile { path, target, _listed }) = self.file else { return Ok(()) };
        let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        // On failure the file goes with the error's value.
        let result = path.persist(target).map_err(|error| error.error);
        drop(temporaries);
        result
    }
}

impl Output {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Output::Plain(writer) => writer,
            Output::Compressed(compressor) => compressor,
        }
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer().write(data)
    }

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        self.writer().write_all(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// The beginning of a message about an output.
pub(super) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", shown(path))
}

/// Creates a directory, and those that it is in.
pub(super) fn create_dir(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", shown(dir)))
}

/// Writes a report, in a directory that is created if needed.
pub(super) fn write_report(place: &Place, noun: &str, text: &str) -> anyhow::Result<()> {
    if let Place::File(path) = place {
        create_dir(directory_of(path)).with_context(|| cannot_write(path))?;
    }
    write_text(place, noun, text)
}

/// Whether the reader of an output has had enough (`| head`).
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    is_of_kind(error, &[io::ErrorKind::BrokenPipe])
}

/// Whether nothing may be written there.
pub(super) fn is_denied(error: &anyhow::Error) -> bool {
    is_of_kind(error, &[io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem])
}

fn is_of_kind(error: &anyhow::Error, kinds: &[io::ErrorKind]) -> bool {
    let mut errors = error.chain().filter_map(|error| error.downcast_ref::<io::Error>());
    errors.any(|error| kinds.contains(&error.kind()))
}

/// Writes a text. That its reader has had enough (`| head`) is no failure.
pub(super) fn write_text(place: &Place, noun: &str, text: &str) -> anyhow::Result<()> {
    let mut output = Output::create(place)?;
    match output.write_all(text.as_bytes()).and_then(|()| output.finish()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.with_context(|| format!("cannot write {noun} to {}", place.as_output())),
    }
}

fn writer_to(place: &Place) -> anyhow::Result<BufWriter<Sink>> {
    let sink = match place {
        Place::Standard => Sink::Standard(io::stdout()),
        Place::File(path) => open(path).with_context(|| cannot_write(path))?,
    };
    Ok(BufWriter::with_capacity(BUFFER_BYTES, sink))
}

fn open(path: &Path) -> io::Result<Sink> {
    // There the system knows of it by its name alone.
    if cfg!(windows) && path.as_os_str().eq_ignore_ascii_case("NUL") {
        return Ok(Sink::Special(File::options().write(true).open(path)?));
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        // Renaming onto a device would replace the device.
        Ok(metadata) if !metadata.is_file() => Ok(Sink::Special(File::options().write(true).open(path)?)),
        // Through a link, the linked file is replaced, not the link; and it keeps its permissions.
        Ok(metadata) => temporary(fs::canonicalize(path)?, Some(metadata.permissions())),
        // A link whose target does not exist yet makes that, as for any other program.
        Err(_) => temporary(through_links(path), None),
    }
}

/// The file that a path leads to by links, none of which need exist at its end.
fn through_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const LINKS_MAX: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { break };
        path = directory_of(&path).join(target);
    }
    path
}

fn temporary(target: PathBuf, permissions: Option<fs::Permissions>) -> io::Result<Sink> {
    let dir = directory_of(&target);
    if fs::metadata(dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        let message = format!("there is no directory {}; make it, or name one that is there", shown(dir));
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".traceconv-").suffix(".tmp");
    let mut temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    // Made here: it gets the permissions of any new file, and errors are the system's own, without the temporary name, which says
    // nothing to people.
    let file = builder.make_in(dir, |path| File::options().read(true).write(true).create_new(true).open(path))?;
    let listed = Listed { path: file.path().to_path_buf() };
    temporaries.insert(listed.path.clone());
    drop(temporaries);
    if let Some(permissions) = permissions {
        // Not worth failing for: a file of somebody else in a shared directory.
        let _ = file.as_file().set_permissions(permissions);
    }
    Ok(Sink::Temporary { file, target, listed })
}
