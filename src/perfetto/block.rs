//! One block of track operations → its packets.

use prost::Message;

use super::describe::append_descriptor;
use super::event::{CLOCK_ABSOLUTE, CLOCK_INCREMENTAL, EventScratch, EventWriter};
use super::sched::SchedEncoder;
use super::schema::{Clock, ClockSnapshot, TracePacket, TracePacketDefaults, TrackEventDefaults};
use super::strings::Strings;
use super::tracks::Tracks;
use super::wire::{bytes_field_len, put_bytes, put_length};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::timeline::{Block, OpKind, TrackId};

/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.interned_data`.
const INTERNED_DATA: u32 = 12;

/// Encodes blocks. Holds nothing but memory that is used again: the packets depend on the block alone.
#[derive(Default)]
pub struct Encoder {
    strings: Strings,
    interned_data: Vec<u8>,
    tracks: Tracks,
    /// The slot of each operation's name: to find it takes a branch that is often mispredicted, so it is done only once.
    name_slots: Vec<u32>,
    events: EventScratch,
    sched: SchedEncoder,
}

impl Encoder {
    /// An encoder without memory yet.
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Appends the packets of a block.
    ///
    /// References of the block to names, texts, tracks or annotations that it does not have are left out.
    pub fn encode_block(&mut self, block: &Block, out: &mut Vec<u8>) {
        self.interned_data.clear();
        self.count_uses(block);
        self.strings.number_all(block, &mut self.interned_data);
        self.tracks.choose_default();
        append_opening(block.number, self.tracks.default_track(), &self.interned_data, out);
        self.append_operations(block, out);
        for rows in &block.sched {
            self.sched.append(block, rows, out);
        }
    }
}

impl Encoder {
    /// Finds out what is used most. Not inlined, nor is the next: both loops need all registers for themselves.
    #[inline(never)]
    fn count_uses(&mut self, block: &Block) {
        self.strings.start(block);
        self.tracks.start();
        self.name_slots.clear();
        self.name_slots.extend(block.ops.iter().map(|op| {
            if op.kind == OpKind::Describe {
                return 0;
            }
            self.tracks.count(op.track);
            self.strings.count_event_name(op.name)
        }));
    }

    #[inline(never)]
    fn append_operations(&mut self, block: &Block, out: &mut Vec<u8>) {
        let mut events = EventWriter::new(block, &self.strings, &self.tracks, &mut self.events);
        for (op, &name_slot) in block.ops.iter().zip(&self.name_slots) {
            if op.kind == OpKind::Describe {
                events.flush(out);
                if let Some(track) = usize::try_from(op.value).ok().and_then(|index| block.tracks.get(index)) {
                    append_descriptor(track, out);
                }
            } else {
                events.write(op, name_slot, out);
            }
        }
        events.flush(out);
    }
}

/// Appends the packets of a block, with memory of its own. See [`Encoder::encode_block`].
pub fn encode_block(block: &Block, out: &mut Vec<u8>) {
    Encoder::new().encode_block(block, out);
}

/// The first packet of a block: forgets the blocks before it and states all that its events build on.
fn append_opening(number: u64, default_track: Option<TrackId>, interned_data: &[u8], out: &mut Vec<u8>) {
    // The incremental clock starts at 0 in every block. It could as well start at the block's first event, but snapshots of
    // the trace's clock must not go backwards from block to block, and a block may begin with an event that is known late.
    let clocks = vec![
        Clock { clock_id: Some(CLOCK_INCREMENTAL), timestamp: Some(0), is_incremental: Some(true) },
        Clock { clock_id: Some(CLOCK_ABSOLUTE), timestamp: Some(0), is_incremental: None },
    ];
    let packet = TracePacket {
        clock_snapshot: Some(ClockSnapshot { clocks }),
        trusted_packet_sequence_id: Some(SEQUENCE_ID),
        sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
        trace_packet_defaults: Some(TracePacketDefaults {
            track_event_defaults: default_track.map(|track| TrackEventDefaults { track_uuid: Some(u64::from(track.0)) }),
            timestamp_clock_id: Some(CLOCK_INCREMENTAL),
        }),
        first_packet_on_sequence: (number == 0).then_some(true),
        ..TracePacket::default()
    };
    // Messages written one after the other are one message. This spares the copy of each text that a `prost` message owns.
    let packet = packet.encode_to_vec();
    let interned_len = if interned_data.is_empty() { 0 } else { bytes_field_len(INTERNED_DATA, interned_data.len()) };
    put_length(out, TRACE_PACKET, packet.len() + interned_len);
    out.extend_from_slice(&packet);
    if interned_len > 0 {
        put_bytes(out, INTERNED_DATA, interned_data);
    }
}
