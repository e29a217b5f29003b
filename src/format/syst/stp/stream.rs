//! STPv2 bytes → messages: the decoder of a stream in file order. Where the input is cut has no influence.

use std::sync::Arc;

use super::anchors::Bound;
use super::assembly::{Assembler, Assembly, MessageSink, Slot};
use super::packets::{NibbleOrder, Nibbles, PacketVisitor, Packets, Window, offset_of};
use super::predecode::Predecoded;
use crate::format::syst::decode::Context;
use crate::format::syst::decoded::Notice;

/// How many decoded bytes are kept.
const KEPT_BYTES: usize = 16;

/// The state of a stream.
#[derive(Debug)]
pub struct Stream {
    order: NibbleOrder,
    packets: Packets,
    assembly: Assembly,
    /// Bytes that are not decoded yet, after a few that are. Empty if the stream is the whole input.
    buffer: Vec<u8>,
    /// The offset in the file of each byte of the buffer, if it differs from its place in the stream.
    origins: Vec<u64>,
    /// The place in the stream of the buffer's first byte, in bytes.
    base: u64,
    /// How many nibbles of the buffer are decoded.
    used: usize,
    bounds: Arc<[Bound]>,
}

impl Stream {
    /// A stream with this order of nibbles, unless the stream states another one.
    #[must_use]
    pub fn new(order: NibbleOrder) -> Stream {
        Stream {
            order,
            packets: Packets::new(order, 0),
            assembly: Assembly::new(),
            buffer: Vec::new(),
            origins: Vec::new(),
            base: 0,
            used: 0,
            bounds: Arc::default(),
        }
    }

    /// Uses no time stamp that is out of these bounds.
    #[must_use]
    pub fn with_bounds(self, bounds: Arc<[Bound]>) -> Stream {
        Stream { bounds, ..self }
    }

    /// Decodes the next bytes. `origins` has the offset in the file of each, or is empty if the stream is the file itself.
    pub fn push(&mut self, bytes: &[u8], origins: &[u64], is_last: bool, sink: &mut impl MessageSink) {
        let drop = self.drop_decoded();
        self.buffer.drain(..drop);
        if !self.origins.is_empty() {
            self.origins.drain(..drop.min(self.origins.len()));
        }
        self.buffer.extend_from_slice(bytes);
        self.origins.extend_from_slice(origins);
        let buffer = std::mem::take(&mut self.buffer);
        self.read(&buffer, buffer.len(), is_last, None, sink);
        self.buffer = buffer;
    }

    /// Decodes the next part, up to `end`, of a stream that is the whole `input`. What was decoded ahead is not decoded again.
    pub fn push_part(&mut self, input: &[u8], end: usize, predecoded: &mut Predecoded, sink: &mut impl MessageSink) {
        self.drop_decoded();
        let base = usize::try_from(self.base).unwrap_or(usize::MAX);
        let bytes = input.get(base..).unwrap_or(&[]);
        self.read(bytes, end.saturating_sub(base), end >= input.len(), Some(predecoded), sink);
    }

    /// Forgets what is decoded, and returns its length in bytes. The last ones are kept: an ASYNC may have begun there.
    fn drop_decoded(&mut self) -> usize {
        let drop = (self.used / 2).saturating_sub(KEPT_BYTES);
        self.base += drop as u64;
        self.used -= 2 * drop;
        drop
    }

    /// Decodes bytes from `base` on. The first `len` of them are there to be decoded.
    fn read(
        &mut self,
        bytes: &[u8],
        len: usize,
        is_last: bool,
        predecoded: Option<&mut Predecoded>,
        sink: &mut impl MessageSink,
    ) {
        let end = 2 * len;
        let Stream { packets, assembly, origins, base, used, bounds, .. } = self;
        let window = Window { nibbles: Nibbles { bytes, end }, base: *base, origins, bounds };
        let mut at = *used;
        if let Some((meeting, predecoded)) = predecoded.and_then(|predecoded| Some((predecoded.meeting()?, predecoded))) {
            let mut visitor = Assembler { assembly, sink };
            at = packets.run(window, at, is_last, &mut visitor, |_, at| window.position(at) < meeting);
            if window.position(at) == meeting
                && let Some(position) = predecoded.join(packets, assembly, sink)
            {
                at = usize::try_from(position - 2 * *base).unwrap_or(end).min(end);
            }
        }
        let mut visitor = Assembler { assembly, sink };
        at = packets.run(window, at, is_last, &mut visitor, |_, _| true);
        if is_last {
            if packets.synced && at < end {
                // The input ends within a packet.
                let (from, to) = (window.offset_of(window.position(at)), window.offset_of(window.position(end)));
                let len = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).max(1);
                visitor.notice(
                    Notice::Unsynced,
                    0,
                    Context { offset: from, len, place: Some(packets.present()), transport: Some(packets.time), is_early: false },
                );
            } else if !packets.synced {
                packets.report_unsynced(window, window.position(end), &mut visitor);
            }
            at = end;
            assembly.finish(window.end_of(end), sink);
        }
        self.used = at;
    }

    /// The time of the last packet.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.packets.time
    }

    /// Ends all open messages without their ends.
    pub fn break_off(&mut self, sink: &mut impl MessageSink) {
        self.assembly.finish(offset_of(self.base, &self.origins, 2 * self.base + self.used as u64), sink);
    }

    /// Forgets open messages and bytes that are not decoded, and continues at the next ASYNC: bytes were lost. All from `offset` in the file
    /// on is not used; `time` is the last one before that.
    pub fn lose_sync(&mut self, offset: u64, time: u64) {
        let next = self.base + self.buffer.len() as u64;
        (self.packets, self.assembly) = (Packets::unsynced(self.order, 2 * next, offset, time), Assembly::new());
        (self.base, self.used) = (next, 0);
        self.buffer.clear();
        self.origins.clear();
    }

    /// The offset in the file of the oldest open message, or of the next byte. No later message or notice lies before it.
    #[must_use]
    pub fn oldest_offset(&self) -> u64 {
        let assembly = &self.assembly;
        let open = assembly.open.iter().filter(|open| open.number.is_some()).map(|open| open.context.offset);
        let waiting = assembly.slots.iter().filter_map(|slot| {
            if let Slot::Done(_, context, _) | Slot::Notice(.., context) = slot { Some(context.offset) } else { None }
        });
        let unsynced = (!self.packets.synced).then_some(self.packets.unsynced_offset);
        let next = offset_of(self.base, &self.origins, 2 * self.base);
        open.chain(waiting).chain(unsynced).chain([next]).min().unwrap_or(0)
    }
}
