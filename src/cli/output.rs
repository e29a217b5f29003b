//! Where results go. A file appears under its name only when it is complete: it is written under another name beside it and
//! then renamed, and it is removed if anything goes wrong, a signal included.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use tempfile::NamedTempFile;

use super::STATUS_STOPPED;
use super::plan::{Place, directory_of};

const BUFFER_BYTES: usize = 256 << 10;

/// The temporary file of the moment. Held locked while such a file is made or renamed, so that the signal handler (which then
/// waits) never misses one.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Makes SIGINT, SIGTERM and SIGHUP end this process at once (also while it waits for input), without leaving half a file.
pub(super) fn clean_up_on_signals() {
    // A handler that cannot be installed leaves the system's default: the process ends, at worst with a file left behind.
    let _ = ctrlc::set_handler(|| {
        let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = temporary.as_deref() {
            let _ = fs::remove_file(path);
        }
        std::process::exit(i32::from(STATUS_STOPPED));
    });
}

/// An output that is being written.
pub(super) struct Output {
    writer: BufWriter<Sink>,
}

enum Sink {
    Standard(io::Stdout),
    /// A device, a FIFO: written as it is.
    Special(File),
    Temporary {
        file: NamedTempFile,
        target: PathBuf,
    },
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Standard(stdout) => stdout.write(data),
            Sink::Special(file) => file.write(data),
            Sink::Temporary { file, .. } => file.as_file_mut().write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Standard(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::Temporary { file, .. } => file.as_file_mut().flush(),
        }
    }
}

impl Output {
    /// Starts writing to `place`.
    pub(super) fn create(place: &Place) -> anyhow::Result<Output> {
        let sink = match place {
            Place::Standard => Sink::Standard(io::stdout()),
            Place::File(path) => open(path).with_context(|| cannot_write(path))?,
        };
        Ok(Output { writer: BufWriter::with_capacity(BUFFER_BYTES, sink) })
    }

    /// Puts the complete file in its place.
    pub(super) fn finish(self) -> io::Result<()> {
        match self.writer.into_inner().map_err(io::IntoInnerError::into_error)? {
            Sink::Standard(mut stdout) => stdout.flush(),
            Sink::Special(mut file) => file.flush(),
            Sink::Temporary { file, target } => {
                let mut temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
                // On failure the file goes with the error's value.
                let result = file.persist(target).map(drop).map_err(|error| error.error);
                *temporary = None;
                result
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer.write(data)
    }

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        self.writer.write_all(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The beginning of a message about an output.
pub(super) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

fn open(path: &Path) -> io::Result<Sink> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        // Renaming onto a device would replace the device.
        Ok(metadata) if !metadata.is_file() => Ok(Sink::Special(File::options().write(true).open(path)?)),
        // Through a link, the file behind it is replaced, not the link; and it keeps its permissions.
        Ok(metadata) => temporary(fs::canonicalize(path)?, Some(metadata.permissions())),
        Err(_) => temporary(path.to_path_buf(), None),
    }
}

fn temporary(target: PathBuf, permissions: Option<fs::Permissions>) -> io::Result<Sink> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".traceconv-").suffix(".tmp");
    // What any new file gets: the umask is applied to it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    let file = builder.tempfile_in(directory_of(&target)).map_err(without_path)?;
    *temporary = Some(file.path().to_path_buf());
    drop(temporary);
    if let Some(permissions) = permissions {
        // Not worth failing for: a file of somebody else in a shared directory.
        let _ = file.as_file().set_permissions(permissions);
    }
    Ok(Sink::Temporary { file, target })
}

/// The system's own error. What `tempfile` gives also has the temporary name, which says nothing to people.
fn without_path(error: io::Error) -> io::Error {
    let source = error.get_ref().and_then(|inner| inner.source()).and_then(|source| source.downcast_ref::<io::Error>());
    source.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}
