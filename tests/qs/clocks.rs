//! Clocks of few bits, clocks that begin again, and targets that are reset again and again, compared with the times that were encoded.

use traceconv::format::qs::encode::{Encoder, Value};
use traceconv::format::qs::layout::{Config, Sizes};
use traceconv::format::qs::record::Kind;

use crate::captures::{encoder, frames};
use crate::common::run::{Conversion, Cut, Subject};

const OBJECT: u64 = 0x2000_0100;
const STATE: u64 = 0x0800_0200;

/// A target whose clock tick takes `units` of the time stamps, and its recording.
struct Target {
    encoder: Encoder,
    bytes: Vec<u8>,
    /// The times of all records with a time stamp.
    times: Vec<u64>,
    units: u64,
    tick: u64,
    records_ticks: bool,
    /// The clock begins again with each tick.
    begins_again: bool,
    random: u64,
}

impl Target {
    fn new(time_bytes: u8, units: u64) -> Target {
        let config = Config::new(Sizes { time: time_bytes, ..Sizes::default() }, 740);
        let encoder = encoder(config);
        let mut target = Target {
            encoder,
            bytes: Vec::new(),
            times: Vec::new(),
            units,
            tick: 0,
            records_ticks: true,
            begins_again: false,
            random: 1,
        };
        target.encoder.numbers(Kind::Run, &[], &mut target.bytes);
        target
    }

    /// A target that has been reset.
    fn booting(random: u64) -> Target {
        let mut target = Target { random, bytes: Vec::new(), ..Target::new(4, 10_000) };
        target.encoder.seq = 0;
        target.encoder.numbers(Kind::Empty, &[], &mut target.bytes);
        target
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(end)) >> 64) as u64
    }

    fn send(&mut self, kind: Kind, after: u64, rest: &[u64]) {
        let time = self.tick * self.units + after;
        self.times.push(time);
        let stamp = if self.begins_again { time % self.units } else { time };
        let numbers: Vec<u64> = std::iter::once(stamp).chain(rest.iter().copied()).collect();
        self.encoder.numbers(kind, &numbers, &mut self.bytes);
    }

    /// Ticks, in which nothing but the tick is recorded.
    fn wait(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            if self.records_ticks {
                self.encoder.numbers(Kind::Tick, &[self.tick, 0], &mut self.bytes);
            }
        }
    }

    /// A step right after a tick, or anywhere in it.
    fn step(&mut self) {
        let late = if self.below(3) == 0 { self.below(self.units * 3 / 4) } else { self.below(self.units / 100) };
        self.send(Kind::Dispatch, late, &[4, OBJECT, STATE]);
        self.send(Kind::InternTran, late + self.units / 50, &[4, OBJECT, STATE]);
    }

    /// Steps a few ticks apart; now and then nothing happens for long.
    fn run(mut self, steps: u64) -> Target {
        for _ in 0..steps {
            let ticks = if self.below(40) == 0 { 20 + self.below(200) } else { 1 + self.below(5) };
            self.wait(ticks);
            self.step();
        }
        self
    }

    fn convert(&self) -> Conversion {
        subject(self.encoder.layout.config.sizes).convert(&self.bytes, Cut::WHOLE)
    }

    /// The times of its records in the trace, in units after the first one.
    fn seen(&self, cut: Cut) -> Vec<u64> {
        let mut seen = Vec::new();
        subject(self.encoder.layout.config.sizes).each_record(&self.bytes, cut, |view| {
            if view.ticks.is_some() {
                seen.extend(view.nanos);
            }
        });
        // A microsecond is taken for a unit.
        seen.iter().map(|nanos| (nanos - seen[0]) / 1000).collect()
    }

    fn expected(&self) -> Vec<u64> {
        self.times.iter().map(|time| time - self.times[0]).collect()
    }
}

/// QS with these sizes.
fn subject(sizes: Sizes) -> Subject {
    Subject::new("qs").with_text("qs-sizes", &sizes.to_string())
}

fn hints(conversion: &Conversion) -> String {
    conversion.summary.facts.hints.join(" ")
}

#[test]
fn clock_ticks_count_how_often_a_short_counter_wraps() {
    for (time_bytes, units) in [(1, 60), (2, 1_000), (2, 10_000), (2, 30_000), (4, 80_000)] {
        let target = Target::new(time_bytes, units).run(400);
        for cut in [Cut::WHOLE, Cut::SMALL] {
            assert_eq!(target.seen(cut), target.expected(), "ticks of {units} units, {time_bytes} bytes");
        }
        let conversion = target.convert();
        assert!(!hints(&conversion).contains("begin again"), "{}", hints(&conversion));
    }
}

#[test]
fn silence_that_a_short_counter_does_not_show_is_stated() {
    let without_ticks = |time_bytes| Target { records_ticks: false, ..Target::new(time_bytes, 10_000) }.run(200).convert();
    let conversion = without_ticks(2);
    assert!(hints(&conversion).contains("begin again after 65536 units:"), "{}", hints(&conversion));
    assert!(hints(&conversion).contains("enable QF_TICK"));
    assert!(!hints(&without_ticks(4)).contains("begin again"));
    // A tick that takes more than half of the range does not tell the wraps.
    let conversion = Target::new(2, 40_000).run(200).convert();
    let warnings: Vec<String> = conversion.summary.facts.findings.iter().filter_map(|finding| finding.warning()).collect();
    assert!(warnings.iter().any(|warning| warning.contains("a clock tick takes 40000 of the 65536 values")), "{warnings:?}");
    assert!(!hints(&conversion).contains("enable QF_TICK"));
}

#[test]
fn a_clock_that_begins_again_with_each_tick_is_named() {
    for records_ticks in [false, true] {
        let target = Target { records_ticks, begins_again: true, ..Target::new(4, 80_000) }.run(200);
        let seen = target.seen(Cut::WHOLE);
        assert!(seen.is_sorted() && seen.iter().all(|&time| time < 80_000), "the events are in order, and no wrap is added");
        let hints = hints(&target.convert());
        assert!(hints.contains("The target's clock begins again about every 6") && hints.contains("QS_onGetTime"), "{hints}");
    }
}

#[test]
fn sessions_without_target_information_are_limited() {
    let config = Config::new(Sizes::default(), 740);
    let mut bytes = Vec::new();
    for _ in 0..9000 {
        let mut encoder = encoder(config);
        encoder.numbers(Kind::Run, &[], &mut bytes);
        for number in 0..10 {
            encoder.numbers(Kind::Dispatch, &[1000 + number * 50, 4, OBJECT, STATE], &mut bytes);
        }
    }
    let conversion = subject(config.sizes).convert(&bytes, Cut::WHOLE);
    assert_eq!(conversion.summary.facts.sessions, 4096);
}

#[test]
fn empty_begins_a_session_though_its_target_information_is_lost_and_the_clock_goes_on() {
    for time_bytes in [2, 4] {
        let mut target = Target::new(time_bytes, 10_000).run(50);
        target.encoder.seq = 0;
        target.encoder.numbers(Kind::Empty, &[], &mut target.bytes);
        let conversion = target.run(50).convert();
        assert_eq!(conversion.summary.facts.sessions, 2, "{time_bytes} bytes: {:?}", conversion.summary.ledger);
        assert_eq!(conversion.summary.ledger.at_least_lost(), 0);
    }
}

#[test]
fn empty_after_the_rest_of_a_frame_begins_a_session() {
    let boot = |random| {
        let mut target = Target::booting(random);
        for object in 0..20 {
            let values = [Value::Uint(OBJECT + object), Value::Bytes(b"Blinky")];
            target.encoder.record(Kind::ObjDict, &values, &mut target.bytes);
        }
        target.run(20).bytes
    };
    let first = boot(1);
    let bytes = [&first[..first.len() - 5], &boot(2)].concat();
    let conversion = subject(Sizes::default()).convert(&bytes, Cut::WHOLE);
    assert_eq!(conversion.summary.facts.sessions, 2, "{:?}", conversion.summary.ledger);
}

#[test]
fn an_empty_that_damage_makes_up_begins_no_session() {
    let target = Target::new(4, 10_000).run(100);
    let mut frames = frames(&target.bytes);
    frames.insert(200, &[0x67, 0x00, 0x98, 0x7E]);
    let conversion = subject(Sizes::default()).convert(&frames.concat(), Cut::WHOLE);
    let (facts, ledger) = (conversion.summary.facts, conversion.summary.ledger);
    assert_eq!((facts.sessions, ledger.at_least_lost()), (1, 0), "{ledger:?}");
}

/// The rest of a frame after an overrun of the target's buffer, whose checksum fits by chance.
#[test]
fn an_empty_with_data_begins_no_session() {
    let target = Target::new(4, 10_000).run(100);
    let frames = frames(&target.bytes);
    let bytes = [frames[..100].concat(), vec![0x00, 0x00, 0x00, 0x01, 0xFE, 0x7E], frames[140..].concat()].concat();
    let conversion = subject(Sizes::default()).convert(&bytes, Cut::WHOLE);
    assert_eq!(conversion.summary.facts.sessions, 1, "{:?}", conversion.summary.ledger);
}

impl Target {
    /// Names, of which the first has the number `first`.
    fn names(mut self, first: u8) -> Target {
        self.encoder.seq = first - 1;
        for object in 0..20 {
            let name = format!("Blinky{object}");
            let values = [Value::Uint(OBJECT + object), Value::Bytes(name.as_bytes())];
            self.encoder.record(Kind::ObjDict, &values, &mut self.bytes);
        }
        self
    }
}

/// Recordings of a target that is reset at once after each but the last.
fn boots(count: u64) -> Vec<Vec<u8>> {
    let boot = |random| Target::booting(random).names(3).run(30 + random).bytes;
    (1..=count).map(boot).collect()
}

/// The sessions of a recording, and how many frames are lost.
fn sessions_and_lost(bytes: &[u8]) -> (u32, u64) {
    let conversion = subject(Sizes::default()).convert(bytes, Cut::WHOLE);
    (conversion.summary.facts.sessions, conversion.summary.ledger.at_least_lost())
}

#[test]
fn a_copy_of_a_piece_with_a_start_up_is_no_reset() {
    let boots = boots(4);
    let whole = boots.concat();
    let (_, lost) = sessions_and_lost(&whole);
    let start = boots[0].len() + boots[1].len();
    for (before, after) in [(200, 100), (333, 777), (901, 402), (1501, 2003)] {
        let piece = &whole[start - before..start + after];
        // Right after the original, later, and earlier.
        for place in [start + after, start + after + 1404, start - before - 600] {
            let mut capture = whole.clone();
            capture.splice(place..place, piece.iter().copied());
            let (sessions, more) = sessions_and_lost(&capture);
            assert!(sessions == 4 && more <= lost + 1, "{before} and {after} bytes at {place}: {sessions} sessions, {more} lost");
        }
    }
}

#[test]
fn several_copies_of_a_start_up_are_no_resets() {
    let boots = boots(4);
    let whole = boots.concat();
    let (_, lost) = sessions_and_lost(&whole);
    let start = boots[0].len() + boots[1].len();
    for (before, after) in [(200, 100), (333, 777), (901, 402)] {
        for times in 2..5 {
            let mut capture = whole.clone();
            let piece = whole[start - before..start + after].repeat(times);
            capture.splice(start + after..start + after, piece);
            let (sessions, more) = sessions_and_lost(&capture);
            assert!(sessions == 4 && more <= lost + 1, "{before} and {after} bytes {times} times: {sessions}, {more} lost");
        }
    }
}

#[test]
fn a_copy_whose_first_whole_frame_is_the_start_up_is_no_reset() {
    let boots = boots(4);
    let whole = boots.concat();
    let start = boots[0].len() + boots[1].len();
    // It begins within the frame before.
    for before in [15, 16, 17] {
        for place in [start + 777, start + 2181] {
            let mut capture = whole.clone();
            capture.splice(place..place, whole[start - before..start + 777].iter().copied());
            assert_eq!(sessions_and_lost(&capture).0, 4, "{before} bytes before it, at {place}");
        }
    }
}

#[test]
fn a_copy_of_more_frames_than_there_are_numbers_is_left_out() {
    let whole = Target::new(4, 10_000).run(3000).bytes;
    let (_, lost) = sessions_and_lost(&whole);
    let events = |bytes: &[u8]| subject(Sizes::default()).convert(bytes, Cut::WHOLE).summary.events;
    for len in [6000, 9000] {
        let mut capture = whole.clone();
        capture.splice(20_000..20_000, whole[20_000 - len..20_000].iter().copied());
        assert_eq!((sessions_and_lost(&capture), events(&capture)), ((1, lost), events(&whole)), "{len} bytes");
    }
}

#[test]
fn resets_of_a_program_that_sends_the_same_each_time_are_resets() {
    let boot = &boots(1)[0];
    assert_eq!(sessions_and_lost(&boot.repeat(5)).0, 5);
    // With frames missing in one of them, or with one that ends sooner.
    let part = frames(boot);
    for gone in [30..32, 70..100, 120..121, 140..part.len()] {
        let mut kept = part.clone();
        kept.drain(gone.clone());
        let capture = [boot.repeat(2), kept.concat(), boot.repeat(2)].concat();
        assert_eq!(sessions_and_lost(&capture).0, 5, "without {gone:?}");
    }
}

#[test]
fn missing_frames_are_no_resets_of_a_short_counter() {
    for random in 1..9 {
        let mut target = Target { random, records_ticks: false, ..Target::new(2, 10_000) }.run(3000);
        let (all, mut kept) = (target.bytes.clone(), Vec::new());
        let mut frames = frames(&all).into_iter();
        while let Some(frame) = frames.next() {
            kept.extend_from_slice(frame);
            if target.below(100) == 0 {
                let gone = target.below(200) as usize;
                frames.by_ref().take(gone).for_each(drop);
            }
        }
        let conversion = subject(target.encoder.layout.config.sizes).convert(&kept, Cut::WHOLE);
        assert_eq!(conversion.summary.facts.sessions, 1, "{random}: {:?}", conversion.summary.ledger);
    }
}

#[test]
fn names_that_come_again_with_their_numbers_are_a_reset_though_the_clock_goes_on() {
    for records_ticks in [false, true] {
        for ticks in 40..60 {
            let mut target = Target { bytes: Vec::new(), records_ticks, ..Target::new(4, 10_000) };
            for _ in 0..3 {
                // EMPTY and TARGET_INFO are lost.
                target = target.names(3).run(ticks);
                // The count of clock ticks begins again, the clock does not.
                target.records_ticks = false;
            }
            let conversion = target.convert();
            assert_eq!(conversion.summary.facts.sessions, 3, "{:?}", conversion.summary.ledger);
            assert_eq!(conversion.summary.ledger.at_least_lost(), 0);
        }
    }
}

#[test]
fn names_that_come_again_with_other_numbers_are_no_reset() {
    for missing in 20..40 {
        let mut target = Target { bytes: Vec::new(), records_ticks: false, ..Target::new(4, 10_000) }.names(3).run(50);
        // Names are sent upon request, and frames before them are lost: by chance one of them has a number of the first ones.
        let all = target.bytes.len();
        target = target.names(240);
        let again = frames(&target.bytes[all..]).into_iter().skip(18).collect::<Vec<_>>().concat();
        target.bytes.truncate(all);
        target.bytes.extend_from_slice(&again);
        target.tick += missing;
        let conversion = target.run(50).convert();
        assert_eq!(conversion.summary.facts.sessions, 1, "{:?}", conversion.summary.ledger);
    }
}
