//! The first pass: what holds for the whole recording, wherever in it it stands.

use std::ops::Range;

use super::decode::each_frame;
use super::packet::{Frame, Framing, profile};
use super::record::{Metadata, PROFILE_VERSION, ProfileRecord, RECORD_BYTES, Reading, packet_type};
use super::resolve::clock::LATE_TICKS;

/// Calls that reach back before a wrap of the clock are looked for in so many bytes from the start of the input. A cut between packets
/// is not needed there: a packet that goes beyond does not count.
const REACH_BYTES: usize = 1 << 20;

/// What the first pass finds out about a part, or about the whole input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanFacts {
    /// The first METADATA packet.
    pub metadata: Option<Metadata>,
    /// Whether there is one before the first call.
    begins_with_metadata: bool,
    /// How far back its calls reach.
    reach: Option<Reach>,
}

/// How far back the calls at the start of an input reach: up to the first thing that may be a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    /// When the first call ended, and how long it was, as the wire tells it.
    first_exit: u32,
    first_duration: u32,
    /// When the last call ended and the earliest began, counted from the end of the first.
    last_exit: i64,
    earliest_entry: i64,
    /// No more calls count.
    is_over: bool,
}

impl Reach {
    fn of(exit: u32, duration: u32) -> Reach {
        let earliest_entry = -i64::from(duration);
        Reach { first_exit: exit, first_duration: duration, last_exit: 0, earliest_entry, is_over: false }
    }

    /// Adds the calls that follow. The answer is the same however the calls are put together.
    #[inline]
    fn add(&mut self, next: Reach) {
        if self.is_over {
            return;
        }
        let step = i64::from(next.first_exit.wrapping_sub(self.first_exit.wrapping_add(self.last_exit as u32)).cast_signed());
        if step < -LATE_TICKS {
            self.is_over = true;
            return;
        }
        let start = self.last_exit + step;
        self.earliest_entry = self.earliest_entry.min(start + next.earliest_entry);
        self.last_exit = start + next.last_exit;
        self.is_over = next.is_over;
    }
}

impl ScanFacts {
    /// Scans the part `range` of `input`.
    ///
    /// Most of an input is calls, of which nothing is asked here: METADATA is searched by its header and judged by its CRC, wherever
    /// it stands; calls are looked at near the start of the input only.
    #[must_use]
    pub fn scan(reading: Reading, input: &[u8], range: Range<usize>) -> ScanFacts {
        let mut facts = ScanFacts::default();
        if range.start < REACH_BYTES {
            facts.scan_calls(reading, input, range.start..range.end.min(REACH_BYTES));
        }
        facts.metadata = find_metadata(reading, input, range);
        facts
    }

    fn scan_calls(&mut self, reading: Reading, input: &[u8], range: Range<usize>) {
        each_frame(reading, input, range, |_, frame| {
            let Frame::Packet { kind, payload } = frame else { return };
            match kind {
                packet_type::METADATA if payload.len() == Metadata::BYTES => self.may_restart(),
                packet_type::PROFILE_DATA => {
                    let Some((PROFILE_VERSION, _, records)) = profile(payload) else { return };
                    for record in records.as_chunks::<RECORD_BYTES>().0 {
                        let record = ProfileRecord::read(record);
                        let exit = record.entry_us.wrapping_add(record.duration_us);
                        match &mut self.reach {
                            Some(reach) => reach.add(Reach::of(exit, record.duration_us)),
                            none => *none = Some(Reach::of(exit, record.duration_us)),
                        }
                    }
                }
                _ => {}
            }
        });
    }

    /// A device sends METADATA when it starts.
    fn may_restart(&mut self) {
        match &mut self.reach {
            Some(reach) => reach.is_over = true,
            None => self.begins_with_metadata = true,
        }
    }

    /// Adds what the next part of the input tells.
    pub fn add(&mut self, part: ScanFacts) {
        self.metadata = self.metadata.or(part.metadata);
        match &mut self.reach {
            Some(reach) => {
                reach.is_over |= part.begins_with_metadata;
                if let Some(next) = part.reach {
                    reach.add(next);
                }
            }
            None => {
                self.begins_with_metadata |= part.begins_with_metadata;
                self.reach = part.reach;
            }
        }
    }

    /// How often the device's clock had wrapped before the first call ended, at least: the times of all calls that follow are
    /// not to be negative.
    #[must_use]
    pub fn wraps_before(&self) -> u64 {
        let Some(reach) = self.reach else { return 0 };
        // The first call is told whole, and its end is unwrapped by that.
        let own = u64::from(reach.first_exit < reach.first_duration);
        let missing = -(i64::from(reach.first_exit) + reach.earliest_entry);
        own.max(u64::try_from(missing.max(0)).unwrap_or(0).div_ceil(1 << 32))
    }
}

/// The first METADATA packet that starts in a part.
fn find_metadata(reading: Reading, input: &[u8], range: Range<usize>) -> Option<Metadata> {
    let [one, two] = reading.header;
    let head = [one, two, packet_type::METADATA, Metadata::BYTES as u8, 0];
    let end = range.end.saturating_add(head.len() - 1).min(input.len());
    let framing = Framing::new(reading);
    let found = memchr::memmem::find_iter(input.get(range.start..end)?, &head);
    found.map(|at| range.start + at).find_map(|at| match framing.frame(input, at) {
        Some(Frame::Packet { kind: packet_type::METADATA, payload }) => Metadata::read(payload),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;

    #[test]
    fn calls_that_began_before_a_wrap_move_the_start() {
        let record = |entry_us, duration_us, depth| ProfileRecord { func_addr: 0x0800_0100, entry_us, duration_us, depth };
        // The child ends soon after the wrap, its caller had begun before it.
        let records = [record(40, 10, 1), record(0xFFFF_FFF0, 100, 0), record(200, 1, 0)];
        let mut input = Vec::new();
        for record in &records {
            encode::profile(Reading::HOST, std::slice::from_ref(record), &mut input);
        }
        let packet = input.len() / 3;
        assert_eq!(ScanFacts::scan(Reading::HOST, &input[..packet], 0..packet).wraps_before(), 0);
        let whole = ScanFacts::scan(Reading::HOST, &input, 0..input.len());
        assert_eq!(whole.wraps_before(), 1);
        for cut in [packet, 2 * packet] {
            let mut facts = ScanFacts::scan(Reading::HOST, &input[..cut], 0..cut);
            facts.add(ScanFacts::scan(Reading::HOST, &input[cut..], 0..input.len() - cut));
            assert_eq!(facts, whole, "cut at {cut}");
        }
    }
}
