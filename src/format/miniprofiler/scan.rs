//! The first pass: facts about the whole recording.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::decode::{Decoders, each_frame};
use super::options::MiniProfilerOptions;
use super::packet::{Frame, Framing, find_reading, profile};
use super::record::{Metadata, PROFILE_VERSION, ProfileRecord, RECORD_BYTES, Reading, packet_type};
use super::resolve::Resolver;
use super::resolve::clock::LATE_TICKS;
use crate::format::{Part, Recording, Stages};
use crate::frame::sync;
use crate::model::{CoreId, Ledger};

/// One input: its core, and its reading.
pub(super) struct Source {
    pub(super) core: CoreId,
    pub(super) reading: FoundReading,
}

/// A reading, and the number of packets that confirm it; `None` if there are no packets.
type FoundReading = Option<(Reading, usize)>;

impl Source {
    pub(super) fn reading(&self) -> Reading {
        self.reading.map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading)
    }
}

/// The address and length of an input in memory, which identify it where its number is not known.
type Place = (usize, usize);

/// The first pass over a recording.
pub(super) struct Scanner {
    options: MiniProfilerOptions,
    cores: Vec<CoreId>,
    /// The reading of each input. It depends on the input's bytes only, and is kept so that it is searched once.
    readings: Mutex<Vec<(Place, FoundReading)>>,
}

impl Scanner {
    pub(super) fn new(options: MiniProfilerOptions, cores: Vec<CoreId>) -> Scanner {
        Scanner { options, cores, readings: Mutex::default() }
    }

    fn find_reading(&self, input: &[u8]) -> FoundReading {
        let place = (input.as_ptr().addr(), input.len());
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = readings.iter().find(|(known, _)| *known == place) {
            return *found;
        }
        let found = find_reading(input);
        readings.push((place, found));
        found
    }

    fn reading(&self, input: &[u8]) -> Reading {
        self.find_reading(input).map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading)
    }
}

/// The facts of a part or an input, and the reading.
pub(super) struct Collected {
    facts: ScanFacts,
    reading: FoundReading,
}

impl Recording for Scanner {
    type PartFacts = Collected;
    type Facts = Option<Collected>;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        sync::cut(&Framing::new(self.reading(input)), input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> Collected {
        let reading = self.find_reading(part.input);
        let used = reading.map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading);
        Collected { facts: ScanFacts::scan(used, part.input, part.start..part.end), reading }
    }

    fn join(&self, _bytes: &[u8], facts: &mut Option<Collected>, next: Collected) {
        match facts {
            None => *facts = Some(next),
            Some(collected) => collected.facts.add(next.facts),
        }
    }

    fn finish(self, collected: Vec<Option<Collected>>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let sources: Vec<Source> = (0..)
            .zip(&collected)
            .map(|(index, collected)| Source {
                core: self.cores.get(index).copied().unwrap_or_default(),
                reading: collected.as_ref().and_then(|collected| collected.reading),
            })
            .collect();
        let facts = collected.into_iter().map(|collected| collected.map(|collected| collected.facts)).collect();
        let decoders = Decoders(sources.iter().map(Source::reading).collect());
        let resolver = Resolver::new(self.options, &sources, facts, ledgers);
        Stages { cores: resolver.cores(), decode: decoders, resolve: resolver }
    }
}

/// Calls that began before a wrap of the clock are searched in this number of bytes at the start of the input. A packet that extends
/// beyond them is not counted.
const REACH_BYTES: usize = 1 << 20;

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanFacts {
    /// The first METADATA packet.
    pub metadata: Option<Metadata>,
    /// Whether there is one before the first call.
    begins_with_metadata: bool,
    /// How far back the calls at its start extend.
    reach: Option<Reach>,
}

/// How far back the calls at the start of an input extend, up to the first possible restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    /// The end and the duration of the first call, as recorded.
    first_exit: u32,
    first_duration: u32,
    /// The end of the last call and the begin of the earliest, from the end of the first.
    last_exit: i64,
    earliest_entry: i64,
    /// Whether later calls are not counted.
    is_over: bool,
}

impl Reach {
    fn of(exit: u32, duration: u32) -> Reach {
        let earliest_entry = -i64::from(duration);
        Reach { first_exit: exit, first_duration: duration, last_exit: 0, earliest_entry, is_over: false }
    }

    /// Adds the next calls. The result does not depend on how the calls are grouped.
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
    /// Most of an input is calls, which are read here only near the start of the input. METADATA is searched by its header and checked
    /// by its CRC.
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

    /// Adds the facts of the next part of the input.
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

    /// When the first call began, in ticks.
    #[must_use]
    pub fn first_begin(&self) -> Option<u64> {
        let reach = self.reach?;
        let exit = (self.wraps_before() << 32) + u64::from(reach.first_exit);
        Some(exit.saturating_sub(u64::from(reach.first_duration)))
    }

    /// The least number of wraps of the device's clock before the end of the first call, so that no call has a negative time.
    #[must_use]
    pub fn wraps_before(&self) -> u64 {
        let Some(reach) = self.reach else { return 0 };
        // The first call is recorded completely, so its own duration shows whether it began before a wrap.
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
