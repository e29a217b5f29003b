//! Records → frames, for tests, fuzzing, benches and generated captures. Writes the same bytes as the target: numbers in
//! their shortest form, one frame per record; in the superset delta time stamps, and sync frames at the same places.

use crate::frame::cobs;

use super::field::Writer;
use super::record::{DELTA, Record, SyncFields};
use super::sync_frame::{Delta, MAGIC, VERSION, flags};

/// Appends the frame of `record`, delimiter included, to `frames`.
pub fn encode(record: &Record<&[u8]>, frames: &mut Vec<u8>) {
    encode_flagged(record, 0, frames);
}

fn encode_flagged(record: &Record<&[u8]>, flags: u8, frames: &mut Vec<u8>) {
    let start = frames.len();
    // A payload without a full block is at its final place: stuffing only replaces zeros with codes.
    frames.push(0);
    record.write(flags, &mut Writer::new(frames));
    let payload_len = frames.len() - start - 1;
    if payload_len < 254 {
        frames.push(0);
        stuff_in_place(frames.get_mut(start..).unwrap_or(&mut []));
    } else {
        let payload = frames.split_off(start + 1);
        frames.truncate(start);
        cobs::stuff(&payload, frames);
    }
}

/// Makes a frame of 0, a payload of less than 254 bytes, and 0.
fn stuff_in_place(frame: &mut [u8]) {
    let mut block_len = 0;
    for byte in frame.iter_mut().rev() {
        if *byte == 0 {
            *byte = block_len;
            block_len = 0;
        }
        block_len += 1;
    }
}

/// Writes one sequence of frames in the superset: a stream, or one core's snapshot.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The fields of syncs. Number, time and count of losses are the current ones.
    sync: SyncFields,
    /// The number of frames from a sync to the next one.
    sync_every: u32,
    /// Frames until a sync is due; 0: before the next frame.
    sync_in: u32,
    /// Whether the first sync of the recording is written. The number of frames does not show it, because it wraps.
    has_begun: bool,
}

impl Sequence {
    /// A sequence for a number of cores, a tick of `clock.0 / clock.1` nanoseconds, and syncs every `sync_every` frames. `sync_flags` are
    /// those of every sync: see [`flags`].
    #[must_use]
    pub fn new(cores: u32, clock: (u32, u32), sync_flags: u8, sync_every: u32) -> Sequence {
        let (clock_num, clock_den) = clock;
        let sync = SyncFields {
            magic: MAGIC,
            version: VERSION,
            flags: sync_flags,
            cores,
            clock_num,
            clock_den,
            ..SyncFields::default()
        };
        Sequence { sync, sync_every, sync_in: 0, has_begun: false }
    }

    /// Starts a recording. Its first frame will be a sync.
    pub fn start(&mut self, ticks: u64) {
        self.sync.ts = ticks;
        self.sync.seq = 0;
        self.sync_in = 0;
        self.has_begun = false;
    }

    /// Counts N frames (modulo 2^32) as sent without writing them: a reader reports them as lost.
    pub fn skip(&mut self, frames: u32) {
        self.sync.seq = self.sync.seq.wrapping_add(frames);
    }

    /// Writes an event at `ticks`. The time in the record is ignored.
    pub fn event(&mut self, core: u32, ticks: u64, record: &Record<&[u8]>, frames: &mut Vec<u8>) {
        let elapsed = ticks.wrapping_sub(self.sync.ts);
        self.sync.ts = ticks;
        let delta = |ticks, number| self.sync.layout().wire(Delta { ticks, core, number });
        let wire = match delta(elapsed, self.sync.seq) {
            Some(wire) if self.sync_in > 0 => Some(wire),
            _ => {
                self.sync(core, 0, frames);
                self.sync.layout().wire(Delta { ticks: 0, core, number: self.sync.seq })
            }
        };
        // Events of a core that does not exist are ignored.
        let Some(wire) = wire else { return };
        let mut record = *record;
        record.set_ts(u64::from(wire));
        encode_flagged(&record, DELTA, frames);
        self.count();
    }

    /// Writes metadata.
    pub fn metadata(&mut self, core: u32, record: &Record<&[u8]>, frames: &mut Vec<u8>) {
        self.sync_if_due(core, None, frames);
        encode(record, frames);
        self.count();
    }

    /// Writes the sync that is due, if one is; before an event it has the event's time.
    pub fn sync_if_due(&mut self, core: u32, ticks: Option<u64>, frames: &mut Vec<u8>) {
        if self.sync_in == 0 {
            self.sync.ts = ticks.unwrap_or(self.sync.ts);
            self.sync(core, 0, frames);
        }
    }

    /// Counts an event that the target dropped.
    pub fn lose(&mut self, ticks: u64) {
        self.sync.ts = ticks;
        self.sync.dropped = self.sync.dropped.wrapping_add(1);
        self.sync_in = 0;
    }

    /// Stops the recording.
    pub fn stop(&mut self, core: u32, ticks: u64, frames: &mut Vec<u8>) {
        self.sync.ts = ticks;
        self.sync(core, flags::STOP, frames);
    }

    fn sync(&mut self, core: u32, more: u8, frames: &mut Vec<u8>) {
        let start = if self.has_begun { 0 } else { flags::START };
        self.has_begun = true;
        let mut fields = Vec::new();
        SyncFields { core, flags: self.sync.flags | start | more, ..self.sync }.write(&mut fields);
        encode(&Record::Sync { fields: &fields }, frames);
        self.sync.seq = self.sync.seq.wrapping_add(1);
        self.sync_in = self.sync_every;
    }

    fn count(&mut self) {
        self.sync.seq = self.sync.seq.wrapping_add(1);
        self.sync_in = self.sync_in.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::cobs::stuff;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stuffing_in_place_equals_stuffing(payload in prop::collection::vec(prop_oneof![1 => Just(0u8), 3 => any::<u8>()], 0..254)) {
            let mut in_place = [&[0], &payload[..], &[0]].concat();
            stuff_in_place(&mut in_place);
            let mut frame = Vec::new();
            stuff(&payload, &mut frame);
            prop_assert_eq!(in_place, frame);
        }
    }
}
