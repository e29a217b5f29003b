//! Compressed output of a trace: gzip or zstd, in pieces that are compressed in parallel.
//!
//! The output depends only on the bytes, because the pieces have one size whatever the number of threads. A gzip file has one
//! member, whose pieces are byte-aligned (as `pigz` does), so that every reader accepts it. zstd has a frame for each piece; all
//! its tools, and viewers that read zstd, join them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::{Compress, Compression as Level, Crc, FlushCompress, Status};

/// The compression of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip: every viewer opens it.
    Gzip,
    /// zstd: smaller and faster, but older viewers do not open it (the viewer's source of 2026 does).
    Zstd,
}

impl Compression {
    /// The extension of file names.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstd => "zst",
        }
    }

    /// The size of a piece in bytes. Part of the output's definition. Larger pieces gain nothing: gzip looks back 32 KiB, zstd
    /// (at this level) 2 MiB.
    fn piece_bytes(self) -> usize {
        match self {
            Compression::Gzip => 1 << 20,
            Compression::Zstd => 4 << 20,
        }
    }
}

/// The level of gzip: higher levels make traces hardly smaller and take much longer.
const GZIP_LEVEL: u32 = 4;
/// The level of zstd, its default.
const ZSTD_LEVEL: i32 = 3;

/// The header of gzip files: deflate, no name, no time, no system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// The last, empty block of a deflate stream.
const DEFLATE_END: [u8; 2] = [0x03, 0x00];

/// Compresses the bytes written to it. [`Compressor::finish`] must be called to write the end.
pub struct Compressor<W: Write> {
    inner: W,
    compression: Compression,
    piece: Vec<u8>,
    /// Used in turn. Empty: pieces are compressed on the caller's thread.
    workers: Vec<Worker>,
    /// The workers whose results have not been collected, oldest first.
    busy: VecDeque<usize>,
    next: usize,
    has_begun: bool,
    crc: Crc,
    written_bytes: u64,
}

struct Worker {
    pieces: SyncSender<Vec<u8>>,
    results: Receiver<io::Result<Piece>>,
}

/// A piece, compressed.
struct Piece {
    bytes: Vec<u8>,
    crc: Crc,
}

impl<W: Write> Compressor<W> {
    /// Compresses into `inner` on this number of threads; 0: one per processor; 1: the caller's own.
    pub fn new(inner: W, compression: Compression, threads: usize) -> Compressor<W> {
        let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
        // The caller mostly waits for its writer.
        let threads = if threads == 1 { 0 } else { threads };
        Compressor {
            inner,
            compression,
            piece: Vec::with_capacity(compression.piece_bytes()),
            workers: (0..threads).map_while(|_| Worker::start(compression)).collect(),
            busy: VecDeque::new(),
            next: 0,
            has_begun: false,
            crc: Crc::new(),
            written_bytes: 0,
        }
    }

    /// Writes the end, and returns the writer and the length of the compressed data in bytes.
    ///
    /// # Errors
    /// When the end cannot be written.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        if !self.piece.is_empty() || !self.has_begun {
            self.end_piece()?;
        }
        while !self.busy.is_empty() {
            self.take_result()?;
        }
        if self.compression == Compression::Gzip {
            let (sum, amount) = (self.crc.sum(), self.crc.amount());
            self.write_out(&DEFLATE_END)?;
            self.write_out(&sum.to_le_bytes())?;
            self.write_out(&amount.to_le_bytes())?;
        }
        self.inner.flush()?;
        Ok((self.inner, self.written_bytes))
    }

    fn write_out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }

    fn end_piece(&mut self) -> io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            if self.compression == Compression::Gzip {
                self.write_out(&GZIP_HEADER)?;
            }
        }
        let piece = std::mem::take(&mut self.piece);
        if self.workers.is_empty() {
            let compressed = compress(self.compression, &piece)?;
            self.piece = piece;
            self.piece.clear();
            return self.write_piece(&compressed);
        }
        if self.busy.len() == self.workers.len() {
            self.take_result()?;
        }
        let index = self.next;
        self.next = (self.next + 1) % self.workers.len();
        self.workers[index].pieces.send(piece).map_err(|_| gone())?;
        self.busy.push_back(index);
        self.piece.reserve_exact(self.compression.piece_bytes());
        Ok(())
    }

    fn take_result(&mut self) -> io::Result<()> {
        let Some(index) = self.busy.pop_front() else { return Ok(()) };
        let compressed = self.workers[index].results.recv().map_err(|_| gone())??;
        self.write_piece(&compressed)
    }

    fn write_piece(&mut self, compressed: &Piece) -> io::Result<()> {
        self.crc.combine(&compressed.crc);
        self.write_out(&compressed.bytes)
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = self.compression.piece_bytes() - self.piece.len();
        let taken = data.get(..room).unwrap_or(data);
        self.piece.extend_from_slice(taken);
        if self.piece.len() == self.compression.piece_bytes() {
            self.end_piece()?;
        }
        Ok(taken.len())
    }

    /// Does nothing: pieces have one size, however they are written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Worker {
    /// `None` if no thread can be started.
    fn start(compression: Compression) -> Option<Worker> {
        let (pieces, incoming) = sync_channel::<Vec<u8>>(1);
        let (outgoing, results) = sync_channel(1);
        let work = move || {
            for piece in incoming {
                if outgoing.send(compress(compression, &piece)).is_err() {
                    return;
                }
            }
        };
        // It ends with the channel.
        std::thread::Builder::new().name("compress".into()).spawn(work).ok()?;
        Some(Worker { pieces, results })
    }
}

fn gone() -> io::Error {
    io::Error::other("a thread that compresses has ended")
}

fn compress(compression: Compression, piece: &[u8]) -> io::Result<Piece> {
    let mut crc = Crc::new();
    let bytes = match compression {
        Compression::Gzip => {
            crc.update(piece);
            deflate(piece)?
        }
        Compression::Zstd => zstd::bulk::compress(piece, ZSTD_LEVEL)?,
    };
    Ok(Piece { bytes, crc })
}

/// A piece of a deflate stream that ends at a byte boundary, and is not the last one.
fn deflate(piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut state = Compress::new(Level::new(GZIP_LEVEL), false);
    let mut bytes = Vec::with_capacity(piece.len() / 2 + 1024);
    loop {
        let done = usize::try_from(state.total_in()).map_err(io::Error::other)?;
        let rest = piece.get(done..).unwrap_or(&[]);
        let status = state.compress_vec(rest, &mut bytes, FlushCompress::Sync).map_err(io::Error::other)?;
        // With room left, all output is complete.
        if state.total_in() == piece.len() as u64 && bytes.len() < bytes.capacity() {
            return Ok(bytes);
        }
        if status == Status::BufError && bytes.len() < bytes.capacity() {
            return Err(io::Error::other("deflate makes no progress"));
        }
        bytes.reserve(bytes.capacity().max(1024));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn compressed(data: &[u8], compression: Compression, threads: usize, step: usize) -> Vec<u8> {
        let mut compressor = Compressor::new(Vec::new(), compression, threads);
        data.chunks(step).for_each(|chunk| compressor.write_all(chunk).unwrap());
        compressor.flush().unwrap();
        let (bytes, len) = compressor.finish().unwrap();
        assert_eq!(bytes.len() as u64, len);
        bytes
    }

    fn plain(bytes: &[u8], compression: Compression) -> Vec<u8> {
        let mut data = Vec::new();
        match compression {
            // A decoder of one member, so that a second one is detected as missing data.
            Compression::Gzip => {
                let mut decoder = flate2::bufread::GzDecoder::new(bytes);
                decoder.read_to_end(&mut data).unwrap();
                assert!(decoder.into_inner().is_empty(), "there is more after the member");
            }
            Compression::Zstd => {
                zstd::stream::read::Decoder::new(bytes).unwrap().read_to_end(&mut data).unwrap();
            }
        }
        data
    }

    #[test]
    fn compressed_data_is_read_back_and_does_not_depend_on_threads() {
        let mut state = 1u32;
        let noise = (0..9_500_000u32).map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if i % 3 == 0 { (state >> 24) as u8 } else { (i / 7) as u8 }
        });
        let data: Vec<u8> = noise.collect();
        for compression in [Compression::Gzip, Compression::Zstd] {
            for len in [0, 1, 1 << 20, (1 << 20) + 1, 4 << 20, data.len()] {
                let data = &data[..len];
                let bytes = compressed(data, compression, 1, 1 << 16);
                assert!(plain(&bytes, compression) == data, "{compression:?} {len}");
                for (threads, step) in [(0, 777_777), (3, 1 << 18)] {
                    assert!(compressed(data, compression, threads, step) == bytes, "{compression:?} {len} {threads}");
                }
            }
        }
    }

    #[test]
    fn noise_that_cannot_be_compressed_is_kept() {
        let mut state = 7u64;
        let data: Vec<u8> = (0..3_000_000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        for compression in [Compression::Gzip, Compression::Zstd] {
            assert!(plain(&compressed(&data, compression, 2, 100_000), compression) == data);
        }
    }

    #[test]
    fn an_error_of_the_writer_is_returned() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for threads in [1, 2] {
            let mut compressor = Compressor::new(Full, Compression::Zstd, threads);
            let data = vec![0; 20 << 20];
            let error = compressor.write_all(&data).err().or_else(|| compressor.finish().err()).unwrap();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
