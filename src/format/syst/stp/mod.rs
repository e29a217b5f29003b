//! STPv2 packets → messages.
//!
//! The stream is made of nibbles, the low one of a byte first. A message is what one master and channel sends from a data packet with
//! a time stamp to a flag or a marked data packet; those of other channels may lie between. All of it has a memory: of the present
//! master and channel, of the time ([`packets`]), of open messages ([`assembly`]). An ASYNC with its VERSION tells all of this but the
//! time and what is open, so from there on parts are decoded ahead, and joined in file order ([`ahead`]). Where the input is cut has no
//! influence.
//!
//! Sizes of packets and the meaning of time stamps are those on which three independent decoders agree. Packets whose layout is not
//! public cost the rest up to the next ASYNC.

pub mod ahead;
mod assembly;
pub mod correlate;
pub mod encode;
mod evidence;
mod packets;
pub mod tpiu;

pub use evidence::Evidence;

use super::decode::{Context, Notice};
use ahead::Ahead;
use assembly::{Assembling, Assembly, Slot};
use packets::{Nibbles, Packets, Take, Window};

/// How many used bytes are kept.
const KEPT_BYTES: usize = 16;

/// In which order the nibbles of a value stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NibbleOrder {
    /// Most significant first: what hardware sends.
    Msb,
    /// Least significant first: what the library's simulator and some firmware send.
    Lsb,
}

/// Where messages and notices go.
pub trait Sink {
    /// The bytes of a message. `is_whole`: its end was seen.
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool);
    /// Something else.
    fn notice(&mut self, notice: Notice, value: u64, context: Context);
    /// A record of the part decoded ahead that [`Stream::push_part`] was given; without such a part there is none.
    fn ahead(&mut self, _record: u32) {}
}

/// The state of a stream.
#[derive(Debug)]
pub struct Stream {
    packets: Packets,
    assembly: Assembly,
    /// Bytes that were not used up yet, and where the first of their nibbles stands in the stream.
    buffer: Vec<u8>,
    /// Where each byte of the buffer was in the file, if that is not its place in the stream.
    origins: Vec<u64>,
    /// The place in the stream of the buffer's first byte, in bytes.
    base: u64,
    /// How many nibbles of the buffer are used up.
    used: usize,
}

impl Stream {
    /// A stream whose values are written in this order, unless it says otherwise itself.
    #[must_use]
    pub fn new(order: NibbleOrder) -> Stream {
        Stream {
            packets: Packets::new(order, 0),
            assembly: Assembly::new(),
            buffer: Vec::new(),
            origins: Vec::new(),
            base: 0,
            used: 0,
        }
    }

    /// Takes the next bytes. `origins`: where each was in the file, if that differs from its place in the stream; else empty.
    pub fn push(&mut self, bytes: &[u8], origins: &[u64], is_last: bool, sink: &mut impl Sink) {
        self.take(bytes, origins, is_last, None, sink);
    }

    /// Takes the next part of a stream that is the file itself. What was decoded of it ahead is not decoded again.
    pub fn push_part(&mut self, bytes: &[u8], ahead: &mut Ahead, is_last: bool, sink: &mut impl Sink) {
        self.take(bytes, &[], is_last, Some(ahead), sink);
    }

    fn take(&mut self, bytes: &[u8], origins: &[u64], is_last: bool, ahead: Option<&mut Ahead>, sink: &mut impl Sink) {
        // Some of what was used up is kept: an ASYNC may have begun there.
        let drop = (self.used / 2).saturating_sub(KEPT_BYTES).min(self.buffer.len());
        self.buffer.drain(..drop);
        if !self.origins.is_empty() {
            self.origins.drain(..drop.min(self.origins.len()));
        }
        self.base += drop as u64;
        self.used -= 2 * drop;
        self.buffer.extend_from_slice(bytes);
        self.origins.extend_from_slice(origins);
        let end = 2 * self.buffer.len();
        // So that words may be loaded near the end.
        self.buffer.extend([0; 16]);
        let Stream { packets, assembly, buffer, origins, base, used } = self;
        let window = Window { nibbles: Nibbles { bytes: buffer, end }, base: *base, origins };
        let mut at = *used;
        if let Some((meeting, ahead)) = ahead.and_then(|ahead| Some((ahead.meeting()?, ahead))) {
            let mut take = Assembling { assembly, sink };
            at = packets.run(window, at, is_last, &mut take, |_, at| window.position(at) < meeting);
            if window.position(at) == meeting
                && let Some(position) = ahead.join(packets, assembly, sink)
            {
                at = usize::try_from(position - 2 * *base).unwrap_or(end).min(end);
            }
        }
        let mut take = Assembling { assembly, sink };
        at = packets.run(window, at, is_last, &mut take, |_, _| true);
        if is_last {
            if packets.synced && at < end {
                // A packet that the input ends within.
                let (from, to) = (window.offset_of(window.position(at)), window.offset_of(window.position(end)));
                let len = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).max(1);
                take.notice(Notice::Unsynced, 0, Context { offset: from, len, place: None, transport: Some(packets.time) });
            } else if !packets.synced {
                packets.tell_unsynced(window, window.position(end), &mut take);
            }
            at = end;
            assembly.finish(window.end_of(end), sink);
        }
        self.used = at;
        self.buffer.truncate(end / 2);
    }

    /// Where the oldest open message, or the next byte, is in the file: nothing that comes lies before it.
    #[must_use]
    pub fn oldest_offset(&self) -> u64 {
        let assembly = &self.assembly;
        let open = assembly.open.iter().filter(|open| open.number.is_some()).map(|open| open.context.offset);
        let waiting = assembly
            .slots
            .iter()
            .filter_map(|slot| if let Slot::Done(_, context, _) = slot { Some(context.offset) } else { None });
        let unsynced = (!self.packets.synced).then_some(self.packets.unsynced_offset);
        let next = packets::offset_of(self.base, &self.origins, 2 * self.base);
        open.chain(waiting).chain(unsynced).chain([next]).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
