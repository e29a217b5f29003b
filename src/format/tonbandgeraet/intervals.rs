//! Events that are missing between drop counters.
//!
//! The original library counts its events, and sends its drop counter before every N-th. So all drop counters have the same number of frames
//! between them. It also counts while the recording is paused, and events that a port loses without saying so: after these, one interval
//! has another length. Nothing else in a plain recording shows that.
//!
//! N is the target's configuration: intervals show it that have the same length as the one after them.

use super::decode::{BadFrame, DELIMITER, Decoder};
use super::record::Record;

/// The limit of changes of the length. Further intervals are not checked.
const RUNS_LIMIT: usize = 1 << 14;

/// Of this many regular intervals at most one may be odd: where more are, nothing is regular.
const REGULAR_LEAST: u64 = 3;

/// After a loss the library sends the counter before every event.
const SHORTEST: u64 = 2;

/// Successive intervals of the same length.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The length, in frames.
    frames: u64,
    intervals: u64,
    /// The first one.
    place: Place,
}

/// Where two drop counters start in the input, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    from: u64,
    to: u64,
}

/// A drop counter.
#[derive(Clone, Copy, Debug)]
struct Counter {
    offset: u64,
    /// The number of frames before it.
    number: u64,
}

/// The intervals between the drop counters of a part, or of the whole input.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    runs: Vec<Run>,
    /// The first counter, if no recording starts before it.
    first: Option<Counter>,
    last: Option<Counter>,
    /// Whether a recording starts, which sends frames that are not counted.
    has_start: bool,
}

/// An interval that is not as long as the others around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OddInterval {
    place: Place,
    frames: u64,
    /// The length of the others.
    usual: u64,
}

impl Intervals {
    /// Adds a drop counter that starts at `offset`, after `number` frames.
    pub fn add_counter(&mut self, offset: u64, number: u64) {
        let counter = Counter { offset, number };
        match self.last {
            Some(last) => self.add(last, counter),
            None if !self.has_start => self.first = Some(counter),
            None => {}
        }
        self.last = Some(counter);
    }

    /// A recording starts, or goes on on another core.
    pub fn add_start(&mut self) {
        (self.last, self.has_start) = (None, true);
    }

    /// Adds the intervals of the next part. `frames` are those before it.
    pub fn join(&mut self, next: &Intervals, frames: u64) {
        let moved = |counter: Counter| Counter { number: counter.number + frames, ..counter };
        if let Some(first) = next.first.map(moved) {
            self.add_counter(first.offset, first.number);
        }
        if next.has_start {
            self.add_start();
        }
        next.runs.iter().for_each(|&run| self.add_run(run));
        self.last = next.last.map(moved).or(self.last);
    }

    fn add(&mut self, from: Counter, to: Counter) {
        let place = Place { from: from.offset, to: to.offset };
        let frames = to.number - from.number - 1;
        if frames >= SHORTEST {
            self.add_run(Run { frames, intervals: 1, place });
        }
    }

    fn add_run(&mut self, run: Run) {
        if let Some(last) = self.runs.last_mut().filter(|last| last.frames == run.frames) {
            last.intervals += run.intervals;
        } else if self.runs.len() < RUNS_LIMIT {
            self.runs.push(run);
        }
    }

    /// The intervals that are not as long as the others before and after them. Few are, or the counters do not come regularly.
    #[must_use]
    pub fn odd(&self) -> Vec<OddInterval> {
        let usual = |run: &Run| (run.intervals > 1).then_some(run.frames);
        let mut after = vec![None; self.runs.len()];
        let mut next = None;
        for (run, after) in self.runs.iter().zip(&mut after).rev() {
            *after = next;
            next = usual(run).or(next);
        }
        let mut odd = Vec::new();
        let mut before = None;
        for (run, after) in self.runs.iter().zip(after) {
            before = usual(run).or(before);
            if run.intervals == 1
                && let Some(usual) =
                    before.or(after).filter(|&usual| usual != run.frames && after.is_none_or(|after| after == usual))
            {
                odd.push(OddInterval { place: run.place, frames: run.frames, usual });
            }
        }
        let regular: u64 = self.runs.iter().map(|run| run.intervals).filter(|&intervals| intervals > 1).sum();
        if odd.len() as u64 * REGULAR_LEAST > regular {
            odd.clear();
        }
        odd
    }
}

/// Events that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The record before which they are missing, by where its frame starts, if that is known; else the next drop counter.
    pub before: u64,
    pub is_place_known: bool,
    pub at_least: u64,
}

/// The events that are missing, in file order.
#[must_use]
pub fn missing(odd: &[OddInterval], input: &[u8]) -> Vec<Missing> {
    let mut is_disordered = false;
    let seen = odd.iter().filter_map(|interval| interval.missing(input, &mut is_disordered));
    let mut missing: Vec<Missing> = seen.collect();
    if is_disordered {
        // Pieces of the file may have been moved: what one interval lacks is in another one.
        missing.iter_mut().for_each(|one| one.at_least = 0);
    }
    missing
}

/// The longest silence between neighbouring events.
fn longest_silence(bytes: &[u8]) -> u64 {
    let (mut payload, mut last, mut longest) = (Vec::new(), None, 0);
    for frame in bytes.split_inclusive(|&byte| byte == DELIMITER) {
        if let Ok((record, _)) = Decoder::plain().record(frame, &mut payload)
            && let Some(ts) = record.ts()
        {
            longest = longest.max(ts.saturating_sub(last.replace(ts).unwrap_or(ts)));
        }
    }
    longest
}

impl OddInterval {
    /// `None` if something else explains the length: damage, a reset, metadata that was sent again.
    fn missing(&self, input: &[u8], is_disordered: &mut bool) -> Option<Missing> {
        let range = usize::try_from(self.place.from).ok()?..usize::try_from(self.place.to).ok()?;
        let mut payload = Vec::new();
        let mut at = range.start;
        let mut last: Option<(u64, u32)> = None;
        let (mut longest, mut second) = ((0, self.place.to), 0);
        // The rest of something that is missing, or nothing: a byte 0 too many.
        let mut empty: Option<u64> = None;
        let (mut metadata, mut empties) = (0, 0);
        loop {
            let len = memchr::memchr(DELIMITER, input.get(at..)?)? + 1;
            let record = match Decoder::plain().record(&input[at..at + len], &mut payload) {
                Ok((record, _)) => record,
                Err(BadFrame::Empty) => {
                    (empty, empties) = (Some((at + len) as u64), empties + 1);
                    at += len;
                    continue;
                }
                Err(_) => return None,
            };
            if let Some(ts) = record.ts() {
                let count = match record {
                    Record::DroppedEvtCnt { cnt, .. } => Some(cnt),
                    _ => None,
                };
                if let Some((before, dropped)) = last {
                    if count.is_some_and(|count| count != dropped) {
                        return None;
                    }
                    let Some(silence) = ts.checked_sub(before) else {
                        *is_disordered = true;
                        return None;
                    };
                    second = second.max(silence.min(longest.0));
                    if silence > longest.0 {
                        longest = (silence, at as u64);
                    }
                    last = Some((ts, dropped));
                } else {
                    last = Some((ts, count?));
                }
            } else {
                metadata += 1;
            }
            if at >= range.end {
                break;
            }
            at += len;
        }
        // Metadata may be sent again, and is not counted then.
        let frames = self.frames.saturating_sub(empties);
        let counted =
            (frames.saturating_sub(metadata)..=frames).map(|frames| (frames, frames.next_multiple_of(self.usual) - frames));
        // By damage, a counter became something else.
        let is_counter_damaged = (frames + 1).is_multiple_of(self.usual + 1);
        let is_explained = is_counter_damaged || counted.clone().any(|(frames, _)| frames == self.usual);
        let least = counted.map(|(_, missing)| missing).min().filter(|_| !is_explained)?;
        // A pause is longer than what is usual here. Where a few events were lost is not known.
        let reach = range.len();
        let [start, end] = [range.start.saturating_sub(reach), range.end.saturating_add(reach).min(input.len())];
        let around = [start..range.start, range.end..end].map(|around| input.get(around).map_or(0, longest_silence));
        let is_pause = longest.0 / 2 > around[0].max(around[1]).max(second);
        let place = Some(longest.1).filter(|_| is_pause).or(empty);
        Some(Missing { before: place.unwrap_or(self.place.to), is_place_known: place.is_some(), at_least: least })
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::encode;
    use super::super::scan::ScanFacts;
    use super::super::tests::regular_parts;
    use super::*;

    /// A plain recording, as the library writes it.
    #[derive(Default)]
    struct Tracer {
        bytes: Vec<u8>,
        ts: u64,
        until_counter: u64,
        is_paused: bool,
        dropped: u32,
    }

    impl Tracer {
        fn send(&mut self, record: &Record<&[u8]>) {
            if !self.is_paused {
                encode(record, &mut self.bytes);
            }
        }

        fn events(mut self, count: u64) -> Tracer {
            for _ in 0..count {
                self.ts += 10;
                self.event(&Record::IsrEnter { ts: self.ts, isr_id: 3 });
            }
            self
        }

        fn event(&mut self, record: &Record<&[u8]>) {
            if self.until_counter == 0 {
                self.send(&Record::DroppedEvtCnt { ts: self.ts, cnt: self.dropped });
                self.until_counter = 50;
            } else {
                self.until_counter -= 1;
            }
            self.send(record);
        }

        fn pause(mut self, events: u64) -> Tracer {
            self.is_paused = true;
            self = self.events(events);
            self.is_paused = false;
            self
        }
    }

    /// What is missing from a recording, each with the time of the record before which it is. The cuts have no influence.
    fn missing(bytes: &[u8]) -> Vec<(u64, u64)> {
        let of = |facts: &ScanFacts| -> Vec<(u64, u64)> {
            let places = super::missing(&facts.intervals.odd(), bytes).into_iter();
            let ts_at = |offset: u64| {
                let frame = bytes[offset as usize..].split_inclusive(|&byte| byte == DELIMITER).next().unwrap();
                Decoder::plain().record(frame, &mut Vec::new()).unwrap().0.ts().unwrap()
            };
            places.map(|one| (ts_at(one.before), one.at_least)).collect()
        };
        let whole = of(&ScanFacts::scan(bytes, 0..bytes.len()));
        for part_bytes in [1, 7, 100, 400] {
            let parts = regular_parts(bytes, part_bytes).into_iter().map(|part| ScanFacts::scan(bytes, part));
            assert_eq!(of(&ScanFacts::merge(parts)), whole, "parts of {part_bytes} bytes");
        }
        whole
    }

    #[test]
    fn a_pause_is_seen_at_its_end() {
        let whole = Tracer::default().events(510);
        assert_eq!(missing(&whole.bytes), []);
        // 230 events, then 30 that are not recorded: 26 + 21 = 47 are in that interval, which makes 51 with 4 more.
        for (pause, least) in [(3, 3), (30, 30), (51 + 7, 7), (1000 * 51 + 50, 50)] {
            let paused = Tracer::default().events(230).pause(pause).events(280);
            assert_eq!(missing(&paused.bytes), [(2310 + pause * 10, least)], "{pause}");
        }
        // After one event the silence is not unusual: it is missing before the next counter.
        assert_eq!(missing(&Tracer::default().events(230).pause(1).events(280).bytes), [(2560, 1)]);
        // As many as between two counters are not seen.
        assert_eq!(missing(&Tracer::default().events(230).pause(51).events(280).bytes), []);
        let twice = Tracer::default().events(230).pause(3).events(200).pause(9).events(200);
        assert_eq!(missing(&twice.bytes), [(2340, 3), (4430, 9)]);
    }

    #[test]
    fn other_intervals_have_other_reasons() {
        // The library of another program counts otherwise.
        let (mut first, second) =
            (Tracer::default().events(510).bytes, Tracer { ts: 6000, ..Tracer::default() }.events(510).bytes);
        let reset = Tracer::default().events(400).bytes;
        assert_eq!(missing(&[&first[..], &reset].concat()), []);
        // A start, with its metadata.
        let mut start = Vec::new();
        encode(&Record::CoreId { ts: 0, core_id: 0 }, &mut start);
        assert_eq!(missing(&[&first[..], &start, &second].concat()), []);
        // A target that dropped events says so.
        let mut dropping = Tracer::default().events(120);
        (dropping.dropped, dropping.until_counter) = (7, 0);
        assert_eq!(missing(&dropping.events(300).bytes), []);
        // A damaged frame is a loss of its own.
        first[1000] ^= 0x40;
        first.drain(1003..1005);
        assert_eq!(missing(&first), []);
    }

    #[test]
    fn pieces_that_were_moved_are_not_missing() {
        let bytes = Tracer::default().events(510).bytes;
        let frames: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == DELIMITER).collect();
        let moved = [&frames[..240], &frames[250..330], &frames[240..250], &frames[330..]].concat().concat();
        assert_eq!(missing(&moved), [(2460, 0)]);
        // A counter that damage made a marker of.
        let mut damaged = bytes;
        let at = frames_before(&damaged, 208);
        assert_eq!(damaged[at + 1], 1);
        damaged[at + 1] = 5;
        assert!(missing(&damaged).is_empty());
    }

    fn frames_before(bytes: &[u8], count: usize) -> usize {
        bytes.split_inclusive(|&byte| byte == DELIMITER).take(count).map(<[u8]>::len).sum()
    }

    #[test]
    fn an_empty_frame_is_where_others_were() {
        let cut = |lost| {
            let mut tracer = Tracer::default().events(230).pause(lost);
            tracer.bytes.push(DELIMITER);
            missing(&tracer.events(280).bytes)
        };
        assert_eq!(cut(2), [(2330, 2)]);
        assert_eq!(cut(0), [], "a byte too many");
    }

    #[test]
    fn metadata_that_is_sent_again_is_not_missing() {
        let mut names = Vec::new();
        (0..9).for_each(|isr_id| encode(&Record::IsrName { isr_id, name: b"again" }, &mut names));
        let tracer = Tracer::default().events(230);
        let again = |mut tracer: Tracer| {
            tracer.bytes.extend_from_slice(&names);
            tracer
        };
        assert_eq!(missing(&again(Tracer::default().events(230)).events(300).bytes), []);
        assert_eq!(missing(&again(tracer.pause(20)).events(300).bytes), [(2510, 11)]);
    }
}
