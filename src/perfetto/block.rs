//! One block of track operations → its packets.

use std::cmp::Reverse;

use prost::Message;

use super::describe::append_descriptor;
use super::event::{CLOCK_ABSOLUTE, CLOCK_INCREMENTAL, EventScratch, EventType, EventWriter};
use super::sched::SchedEncoder;
use super::schema::{Clock, ClockSnapshot, TracePacket, TracePacketDefaults, TrackEventDefaults};
use super::strings::Strings;
use super::wire::{bytes_field_len, put_bytes, put_length};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::timeline::{Block, TrackId};

/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.interned_data`.
const INTERNED_DATA: u32 = 12;

/// Encodes blocks. Holds nothing but memory that is used again: the packets depend on the block alone.
#[derive(Default)]
pub struct Encoder {
    strings: Strings,
    interned_data: Vec<u8>,
    track_uses: Vec<u32>,
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
        self.strings.collect(block, &mut self.interned_data);
        let default_track = most_used_track(block, &mut self.track_uses);
        append_opening(block.number, default_track, &self.interned_data, out);

        let mut events = EventWriter::new(block, &self.strings, default_track, &mut self.events);
        for op in &block.ops {
            match EventType::of(op.kind) {
                Some(event) => events.write(op, event, out),
                None => {
                    events.flush(out);
                    if let Some(track) = usize::try_from(op.value).ok().and_then(|index| block.tracks.get(index)) {
                        append_descriptor(track, out);
                    }
                }
            }
        }
        events.flush(out);
        for rows in &block.sched {
            self.sched.append(block, rows, out);
        }
    }
}

/// Appends the packets of a block, with memory of its own. See [`Encoder::encode_block`].
pub fn encode_block(block: &Block, out: &mut Vec<u8>) {
    Encoder::new().encode_block(block, out);
}

/// The track that events are on unless they say otherwise: the one with most events; of several, the first.
fn most_used_track(block: &Block, uses: &mut Vec<u32>) -> Option<TrackId> {
    /// Bounds the memory. With so many tracks in a trace, which one is spared the few bytes hardly matters.
    const MAX_TRACK: u32 = 1 << 16;
    uses.clear();
    for op in block.ops.iter().filter(|op| op.track.0 < MAX_TRACK && EventType::of(op.kind).is_some()) {
        let index = op.track.0 as usize;
        if index >= uses.len() {
            uses.resize(index + 1, 0);
        }
        uses[index] = uses[index].saturating_add(1);
    }
    let (track, uses) = (0..).zip(uses.iter()).min_by_key(|&(_, uses)| Reverse(uses))?;
    (*uses > 0).then_some(TrackId(track))
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
