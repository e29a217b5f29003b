//! Where bytes come from: files, pipes and memory, compressed or written as text, and which format they are in.
//!
//! An [`Input`] is the bytes that a format's decoder is given. Layers around them on disk are recognised by content, never by
//! a file's name, and removed here: **layers** are gzip, zstd, hex and base64 text, dumps, log lines and text modes, also one inside the other. A layer
//! that is damaged gives the part that could be read; the rest is reported as [`Damage`], and conversion goes on.
//!
//! Memory stays bounded: regular files are mapped, and data that cannot be mapped (a pipe, the content of a layer) are spooled to
//! memory and, when it grows, to a temporary file that is then mapped.
//!
//! The rest may be an image of a target's memory with a recording somewhere in it: [`memory`] finds that and takes it out. Text and
//! erased memory around a recording are left out by [`margins`].

#[cfg(feature = "archives")]
pub mod archive;
mod bytes;
mod c_array;
mod cores_json;
mod decimal;
pub mod detect;
mod dump;
mod error;
mod layer;
mod log_lines;
#[cfg(feature = "mmap")]
pub mod mapped;
mod margins;
pub mod memory;
mod recognise;
pub mod sidecar;
mod signature;
mod spool;
mod text;
mod text_mode;
mod trial;

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use bytes::Bytes;
pub use error::InputError;
#[cfg(feature = "compress")]
pub use layer::{COMPRESSED_HEAD_BYTES, beginning, is_compressed};
pub use layer::{Damage, Layer};
pub use recognise::{RecogniseError, Recognised};
pub use signature::Signature;

use crate::format::{FORMATS, SAMPLE_BYTES};
use crate::model::{RecorderNote, RecorderNotes, losses, times};
use spool::Spool;

/// How many layers are taken off one input. More is no recording but an attack or a mistake.
pub const LAYERS_MAX: usize = 4;

/// How inputs are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Map files into memory instead of reading them. Without it everything is read into memory, however large.
    pub mmap: bool,
    /// Where a temporary file may be made for data that cannot be mapped; `None`: such data stay in memory.
    pub spool_dir: Option<PathBuf>,
    /// How much of such data is kept in memory, in bytes, before a temporary file is made.
    pub spool_after_bytes: usize,
    /// To how many bytes a layer, or a member of an archive, may decompress.
    pub max_decompressed_bytes: u64,
}

impl ReadOptions {
    /// The defaults: files are mapped, other data stay in memory.
    #[must_use]
    pub fn new() -> ReadOptions {
        ReadOptions::default()
    }

    /// Sets [`ReadOptions::mmap`].
    #[must_use]
    pub fn mmap(self, mmap: bool) -> ReadOptions {
        ReadOptions { mmap, ..self }
    }

    /// Sets [`ReadOptions::spool_dir`].
    #[must_use]
    pub fn spool_dir(self, spool_dir: impl Into<Option<PathBuf>>) -> ReadOptions {
        ReadOptions { spool_dir: spool_dir.into(), ..self }
    }

    /// Sets [`ReadOptions::spool_after_bytes`].
    #[must_use]
    pub fn spool_after_bytes(self, spool_after_bytes: usize) -> ReadOptions {
        ReadOptions { spool_after_bytes, ..self }
    }

    /// Sets [`ReadOptions::max_decompressed_bytes`].
    #[must_use]
    pub fn max_decompressed_bytes(self, max_decompressed_bytes: u64) -> ReadOptions {
        ReadOptions { max_decompressed_bytes, ..self }
    }
}

/// The limit of [`ReadOptions::max_decompressed_bytes`] by default: beyond any recording, and far below the size of a bomb of a few bytes.
pub const MAX_DECOMPRESSED_BYTES: u64 = 64_000_000_000;

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { mmap: true, spool_dir: None, spool_after_bytes: 64 << 20, max_decompressed_bytes: MAX_DECOMPRESSED_BYTES }
    }
}

/// The bytes of one input, ready for a decoder.
#[derive(Debug)]
pub struct Input {
    bytes: Bytes,
    layers: Vec<Layer>,
    file_bytes: u64,
    damages: Vec<Damage>,
    part: Option<memory::Part>,
    notes: Vec<RecorderNote>,
}

impl Input {
    /// Opens a file (or whatever can be read under that name: a FIFO, a device).
    ///
    /// # Errors
    /// When it is no file, cannot be read, is empty, or when a layer gives nothing at all.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Input, InputError> {
        let metadata = fs::metadata(path).map_err(InputError::Open)?;
        if metadata.is_dir() {
            return Err(InputError::Directory);
        }
        let mut file = File::open(path).map_err(InputError::Open)?;
        // Files of /proc are regular and have length 0 but content all the same, so an empty file is only known after reading.
        if metadata.is_file()
            && metadata.len() > 0
            && options.mmap
            && let Some(bytes) = Bytes::map(&file)
        {
            return Input::unwrap_layers(bytes, options);
        }
        Input::read(&mut file, options)
    }

    /// Opens a file if its first bytes, decompressed, are what is looked for; `None` if they are not, or it cannot be opened.
    #[cfg(feature = "compress")]
    pub fn open_if(path: &Path, options: &ReadOptions, is_wanted: impl Fn(&[u8]) -> bool) -> Option<Result<Input, InputError>> {
        // A FIFO would lose the bytes that are looked at.
        let file = File::open(path).ok().filter(|_| path.is_file())?;
        let mut head = Vec::new();
        file.take(COMPRESSED_HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
        is_wanted(&beginning(&head)).then(|| Input::open(path, options))
    }

    /// Reads a stream to its end.
    ///
    /// # Errors
    /// When it cannot be read, is empty, or when a layer gives nothing at all.
    pub fn read(stream: &mut dyn Read, options: &ReadOptions) -> Result<Input, InputError> {
        let mut spool = Spool::new(options);
        let mut buffer = vec![0; 256 << 10];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => spool.push(buffer.get(..len).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(InputError::Read(error)),
            }
        }
        drop(buffer);
        Input::unwrap_layers(spool.finish()?, options)
    }

    /// Takes bytes that are in memory already.
    ///
    /// # Errors
    /// When they are empty, or when a layer gives nothing at all.
    pub fn from_vec(bytes: Vec<u8>, options: &ReadOptions) -> Result<Input, InputError> {
        Input::unwrap_layers(Bytes::from(bytes), options)
    }

    fn unwrap_layers(mut bytes: Bytes, options: &ReadOptions) -> Result<Input, InputError> {
        if bytes.is_empty() {
            return Err(InputError::Empty);
        }
        let file_bytes = bytes.len() as u64;
        let mut layers = Vec::new();
        let mut damages: Vec<Damage> = Vec::new();
        while layers.len() < LAYERS_MAX
            && let Some(layer) = Layer::sniff(&bytes).or_else(|| text_mode::undoable(&bytes)).or_else(|| log_lines::sniff(&bytes))
        {
            let unwrapped = layer.content(&bytes, options);
            if bytes.was_cut_short() {
                return Err(InputError::CutShort);
            }
            let unwrapped = unwrapped?;
            layers.push(layer);
            bytes = unwrapped.bytes;
            // An offset in a layer means nothing within the next one; but the content ends too early.
            for damage in &mut damages {
                damage.offset = bytes.len() as u64;
            }
            damages.extend(unwrapped.damages);
        }
        Ok(Input { bytes, layers, file_bytes, damages, part: None, notes: Vec::new() })
    }

    /// The bytes of a channel of this recording, as an input of their own: what software wrote to a stimulus port of an ITM.
    ///
    /// # Errors
    /// When no format that has channels recognises this recording, or the channel has no bytes.
    pub fn channel(self, number: u16, options: &ReadOptions) -> Result<Input, InputError> {
        let sample = self.bytes.get(..SAMPLE_BYTES).unwrap_or(&self.bytes);
        let is_whole = sample.len() == self.bytes.len();
        let (mut spool, mut failed) = (Spool::new(options), Ok(()));
        let mut lost = None;
        for format in FORMATS {
            if format.probe(sample, is_whole).is_some_and(|probe| probe.score >= detect::SCORE_MIN) {
                let mut take = |piece: &[u8]| {
                    if failed.is_ok() {
                        failed = spool.push(piece);
                    }
                };
                lost = format.channel(&self.bytes, number, &mut take);
                if lost.is_some() {
                    break;
                }
            }
        }
        failed?;
        let Some(lost) = lost else { return Err(InputError::NoChannels) };
        let bytes = spool.finish()?;
        if bytes.is_empty() {
            return Err(InputError::EmptyChannel(number));
        }
        let mut damages = self.damages;
        damages.iter_mut().for_each(|damage| damage.offset = bytes.len() as u64);
        let count = lost.iter().map(|(_, count)| count).sum();
        if let Some(&(offset, _)) = lost.first() {
            damages.push(Damage {
                kind: losses::DROPPED_BY_TARGET,
                offset,
                count,
                // They may all have been packets of others.
                at_least_lost: 0,
                detail: format!("in the stream around the channel, packets are missing {}", times(count)),
            });
        }
        // The cases are counted with the damage.
        let note = |&(offset, _): &(u64, u64)| RecorderNote { count: 0, ..RecorderNote::new(losses::DROPPED_BY_TARGET, offset) };
        let notes = lost.iter().map(note).collect();
        Ok(Input { bytes, layers: self.layers, file_bytes: self.file_bytes, damages, part: None, notes })
    }

    /// Where data are missing in the stream around these bytes, if it is a channel: notes to be drawn. They are counted with the damage.
    #[must_use]
    pub fn notes(&self) -> Option<RecorderNotes> {
        let line = |note: &RecorderNote| format!("{{\"note\":\"{}\",\"offset\":{}}}\n", note.kind.code, note.offset);
        let text = self.notes.iter().map(line).collect::<String>().into_bytes();
        (!self.notes.is_empty()).then(|| RecorderNotes { text, notes: self.notes.clone(), ..RecorderNotes::default() })
    }

    /// The input that pieces of this one are, one after the other, with the damage of its layers.
    ///
    /// # Errors
    /// When they do not fit anywhere.
    fn of_pieces(&self, pieces: impl IntoIterator<Item = Range<usize>>, options: &ReadOptions) -> Result<Input, InputError> {
        /// A large piece may have to go to a file.
        const STEP_BYTES: usize = 1 << 20;
        let mut spool = Spool::new(options);
        let pieces = pieces.into_iter().filter_map(|piece| self.bytes.get(piece));
        pieces.flat_map(|piece| piece.chunks(STEP_BYTES)).try_for_each(|step| spool.push(step))?;
        let bytes = spool.finish()?;
        if self.was_cut_short() {
            return Err(InputError::CutShort);
        }
        let (layers, damages) = (self.layers.clone(), self.damages.clone());
        Ok(Input { bytes, layers, file_bytes: self.file_bytes, damages, part: None, notes: Vec::new() })
    }

    /// The bytes for the decoder.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the file became shorter while it was read: then nothing that was made of it can be relied on.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.bytes.was_cut_short()
    }

    /// Gives back the memory of a range that will not be read again soon. It may be read again all the same.
    pub fn release(&self, range: Range<usize>) {
        self.bytes.release(range);
    }

    /// The layers that were around the bytes, outermost first.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The length of the file or stream itself, in bytes, with its layers.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The damage of the layers.
    #[must_use]
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }
}
