//! Why an input cannot be used at all. Each message is the end of a sentence that begins with the input's name.

use std::io;
use std::path::PathBuf;

use super::Layer;

/// Why an input cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened.
    #[error("cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// It is a directory.
    #[error("is a directory, not a recording; name the files in it, e.g. DIR/*.bin")]
    Directory,
    /// There is not one byte.
    #[error("is empty (0 bytes); check that the recording was started and written out on the target's side")]
    Empty,
    /// Reading failed half-way.
    #[error("cannot be read to its end: {0}")]
    Read(#[source] io::Error),
    /// Its file became shorter meanwhile.
    #[error(
        "was cut short while it was read: its file is shorter now than when it was opened, so the bytes read are not those of the file; \
         convert it again when nothing writes to it any more, or convert a copy"
    )]
    CutShort,
    /// Too much for the memory.
    #[error("does not fit into memory ({0} bytes were read); let it be mapped (without --no-mmap) or convert it from a file")]
    Memory(u64),
    /// No room for a temporary file.
    #[error(
        "is too large for memory, and a temporary file in {dir} cannot take it: {source}; make room there, or name another \
         directory with -o or TMPDIR"
    )]
    Spool {
        /// Where the temporary file was.
        dir: PathBuf,
        /// The problem.
        source: io::Error,
    },
    /// A layer was recognised, but nothing could be read from it.
    #[error("starts like {layer} data, but nothing can be decoded from it: {detail}; check that it was copied completely")]
    Undecodable {
        /// The layer.
        layer: Layer,
        /// The message of the decoder.
        detail: String,
    },
    /// It decompresses to more than is allowed.
    #[error(
        "is {what} data that decompresses to more than {limit_bytes} bytes; raise the limit with --max-decompressed if that is right"
    )]
    TooLarge {
        /// The kind of data.
        what: &'static str,
        /// The limit.
        limit_bytes: u64,
    },
    /// A channel of it was asked for.
    #[error("is not an ITM stream, which --swo-port reads")]
    NoChannels,
    /// A channel has no bytes.
    #[error("has no writes to stimulus port {0} (--swo-port); `traceconv info` lists those that have")]
    EmptyChannel(u16),
    /// An archive, or a member of one, cannot be read.
    #[error("{0}")]
    Archive(String),
    /// A layer with nothing in it.
    #[error("is {0} data with nothing in it (0 bytes once decoded); check that the recording was written before it was packed")]
    NothingInside(Layer),
    /// This build cannot read that layer.
    #[error("is {0} data, which this build cannot read (feature `compress` is off); decompress it first")]
    NotBuiltIn(Layer),
}
