//! Bytes → packets: in parallel from a bare stream, in file order from CoreSight frames.

use super::probe::place_of;
use crate::format::{Decode, Part};
use crate::frame::swo::{LOOKAHEAD_BYTES, MAX_PACKET_BYTES, NoPacket, Packet, each_packet, read};
use crate::frame::tpiu::{self, Deframer, FRAME_BYTES};

/// After each block of this number of bytes it is judged whether frames begin where they are read.
const BLOCK_BYTES: usize = 512;
/// It has at least this number of bytes that are not part of a packet, or are of a source that has sent fewer than [`RARE_BYTES`].
const STRANGE_LEAST: u64 = 2;
const RARE_BYTES: u64 = 16;
/// How many of the next bytes are read to find out where frames begin, and the most blocks from one search in vain to the next.
const AHEAD_BYTES: usize = 2048;
const WAIT_BLOCKS: u32 = 64;

/// How a stream is wrapped, and where in the input it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// The stream alone.
    Bare(usize),
    /// In CoreSight frames, as this source.
    Framed(u8, usize),
}

impl Default for Wrapping {
    fn default() -> Wrapping {
        Wrapping::Bare(0)
    }
}

/// A packet, or a byte that is not part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it starts in the input, in bytes; of a framed stream: where its first byte is.
    pub offset: u64,
    /// The packet.
    pub packet: Result<Packet, NoPacket>,
}

/// The packets of a part, in file order.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The part of the input, in bytes.
    pub range: (usize, usize),
    /// The packets, without the zeros of synchronisation packets. None yet of a framed stream.
    pub packets: Vec<Record>,
    /// Which of them are local or global time stamps.
    pub stamps: Vec<u32>,
    /// How many of them are not packets.
    pub bad: u64,
}

impl Records {
    /// Reads the packets of a part of a bare stream, which begins at `start` in the input. The memory is reused.
    pub fn read(&mut self, part: Part<'_>, start: usize) {
        self.clear((part.start, part.end));
        let start = start.clamp(part.start, part.end);
        (part.start..start).for_each(|at| self.add(at as u64, Err(NoPacket::Damaged)));
        // Packets are 3 bytes on average.
        self.packets.reserve((part.end - part.start) / 3);
        each_packet(part.input, start..part.end, |at, found| self.add(at as u64, found));
    }

    fn clear(&mut self, range: (usize, usize)) {
        self.range = range;
        self.packets.clear();
        self.stamps.clear();
        self.bad = 0;
    }

    #[inline]
    fn add(&mut self, offset: u64, found: Result<(Packet, usize), NoPacket>) {
        if !matches!(found, Ok((Packet::Zero, _))) {
            self.bad += u64::from(found.is_err());
            if let Ok((Packet::LocalTime { .. } | Packet::GlobalLow { .. } | Packet::GlobalHigh { .. }, _)) = found {
                self.stamps.push(u32::try_from(self.packets.len()).unwrap_or(u32::MAX));
            }
            self.packets.push(Record { offset, packet: found.map(|(packet, _)| packet) });
        }
    }
}

/// Reads the stream of a source in CoreSight frames, part by part in file order.
#[derive(Clone, Debug, Default)]
pub struct FramedReader {
    deframer: Deframer,
    /// The bytes of the stream that are not read yet, after the last [`MAX_PACKET_BYTES`] that are.
    bytes: Vec<u8>,
    origins: Vec<u64>,
    next: usize,
    /// Before which of them something is missing, however the packets look.
    gaps: Vec<usize>,
    /// The bytes before the first frame.
    skipped: u64,
    /// Signs that frames do not begin where they are read, in this block.
    strange: u64,
    /// The blocks until frames may be searched for again, and how many they were last time.
    wait: (u32, u32),
    /// The number of bytes of each other source so far.
    pub others: Vec<u64>,
}

impl FramedReader {
    /// Reads the next part of the input, and puts its packets into `records`. The first frame begins at `start`.
    pub fn read(&mut self, source: u8, start: usize, part: Part<'_>, records: &mut Records) {
        records.clear((part.start, part.end));
        let mut at = start.clamp(part.start, part.end);
        self.skipped += (at - part.start) as u64;
        self.others.resize(128, 0);
        // The blocks are the same wherever parts begin.
        while at < part.end {
            let end = part.end.min((at / BLOCK_BYTES + 1) * BLOCK_BYTES);
            self.read_block(source, part.input.get(at..end).unwrap_or_default(), at);
            let bad = records.bad;
            self.unpack(false, records);
            self.strange += records.bad - bad;
            at = end;
            if at.is_multiple_of(BLOCK_BYTES) {
                self.end_block(source, part.input.get(at..).unwrap_or_default());
            }
        }
        if part.end >= part.input.len() {
            self.unpack(true, records);
        }
        let done = self.next.saturating_sub(MAX_PACKET_BYTES);
        self.bytes.drain(..done);
        self.origins.drain(..done);
        self.gaps.iter_mut().for_each(|gap| *gap = gap.saturating_sub(done));
        self.next -= done;
    }

    fn read_block(&mut self, source: u8, bytes: &[u8], offset: usize) {
        let FramedReader { deframer, bytes: stream, origins, gaps, others, strange, .. } = self;
        let mut offset = offset;
        for piece in bytes.split_inclusive(|&byte| byte == tpiu::SYNC_END) {
            let breaks = deframer.breaks();
            deframer.each(piece, |from, byte, index, at| {
                if from == source {
                    stream.push(byte);
                    origins.push((offset + index + at).saturating_sub(FRAME_BYTES - 1) as u64);
                } else if from != 0 {
                    let of = &mut others[usize::from(from & 0x7F)];
                    *of += 1;
                    *strange += u64::from(*of < RARE_BYTES);
                    if tpiu::is_reserved(from) {
                        note_gap(stream, gaps);
                    }
                }
            });
            if deframer.breaks() > breaks {
                note_gap(stream, gaps);
            }
            offset += piece.len();
        }
    }

    fn unpack(&mut self, is_last: bool, records: &mut Records) {
        let end = if is_last { self.bytes.len() } else { self.bytes.len().saturating_sub(LOOKAHEAD_BYTES) };
        while self.next < end {
            let gap = self.gaps.first().copied();
            let offset = self.origins.get(self.next).copied().unwrap_or(0);
            if gap == Some(self.next) {
                self.gaps.remove(0);
                records.add(offset, Err(NoPacket::Damaged));
                continue;
            }
            // No packet continues after a gap.
            let found = match gap {
                Some(gap) => read(self.bytes.get(..gap).unwrap_or(&[]), self.next).map_err(|_| NoPacket::Damaged),
                None => read(&self.bytes, self.next),
            };
            records.add(offset, found);
            self.next += found.map_or(1, |(_, len)| len);
        }
    }

    /// Searches for frames after a block that shows that they begin elsewhere: bytes were lost.
    fn end_block(&mut self, source: u8, rest: &[u8]) {
        let is_strange = std::mem::take(&mut self.strange) >= STRANGE_LEAST;
        let (left, last) = self.wait;
        if left > 0 {
            self.wait.0 -= 1;
        } else if !is_strange {
            self.wait.1 = last / 2;
        } else {
            let wait = (2 * last).clamp(1, WAIT_BLOCKS);
            self.wait = (wait, wait);
            let ahead = rest.get(..AHEAD_BYTES).unwrap_or(rest);
            let before = self.bytes.get(self.next..).unwrap_or_default();
            if let Some(place) = place_of(ahead, source, &self.deframer, before) {
                self.deframer.move_to(place);
                self.wait = (0, 0);
                note_gap(&self.bytes, &mut self.gaps);
            }
        }
    }

    /// The bytes so far that are not part of a whole frame.
    pub fn broken_bytes(&self, is_last: bool) -> u64 {
        self.skipped + self.deframer.broken_bytes(is_last)
    }
}

/// Something is missing after these bytes of the stream. Before its first byte, nothing is known to be.
fn note_gap(stream: &[u8], gaps: &mut Vec<usize>) {
    if !stream.is_empty() && gaps.last() != Some(&stream.len()) {
        gaps.push(stream.len());
    }
}

/// The wrapping of each input.
pub(super) struct Decoder(pub(super) Vec<Wrapping>);

impl Decode for Decoder {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        match self.0.get(input).copied().unwrap_or_default() {
            Wrapping::Framed(..) => records.clear((part.start, part.end)),
            Wrapping::Bare(start) => records.read(part, start),
        }
    }
}
