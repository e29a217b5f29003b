//! QS, the software tracing of the QP real-time frameworks (QP/C and QP/C++). Its host program is QSPY.
//!
//! A capture is a chain of HDLC-like frames ([`frame`]), each one record ([`record`]) with a sequence number and a checksum. How
//! wide its fields are depends on the target ([`layout`]), which tells it in one record ([`info`]); where that is missing it is
//! found out ([`infer`]).

pub mod clockrate;
pub mod decode;
pub mod dic;
pub mod element;
pub mod encode;
pub mod frame;
pub mod generate;
pub mod infer;
pub mod info;
pub mod layout;
pub mod names;
mod probe;
pub mod record;
pub mod repair;
mod resolve;
pub mod scan;
pub mod sessions;

use std::sync::Arc;

use super::{
    Decode, Detail, ErasedRecording, Facts, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Part, Probe, Recording,
    Stages, erase,
};
use crate::model::{CoreId, Ledger, Rate};
use decode::{Decoder, Records};
use dic::Dictionary;
use layout::Sizes;
use resolve::{Resolver, Wanted};
use scan::{Collector, ScanFacts};
use sessions::{Sessions, Told};

/// The format's entry in the registry.
pub struct Qs;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "qs-dict",
        kind: OptionKind::File("FILE.dic"),
        repeatable: false,
        help: "A dictionary that qspy saved: names, sizes and version",
    },
    OptionSpec {
        name: "qs-sizes",
        kind: OptionKind::Text("T4O4F4S2E2Q1P2B2C4"),
        repeatable: false,
        help: "The target's sizes in bytes, where it does not tell them; letters as qspy has them",
    },
    OptionSpec {
        name: "qs-version",
        kind: OptionKind::Text("X.Y.Z"),
        repeatable: false,
        help: "The target's version of QP, where it does not tell it",
    },
    OptionSpec {
        name: "qs-tick-hz",
        kind: OptionKind::Text("N"),
        repeatable: false,
        help: "The frequency of the clock tick of rate 0: the clock is measured against it from time events",
    },
    OptionSpec {
        name: "qs-counter",
        kind: OptionKind::Text("NAME:INDEX"),
        repeatable: true,
        help: "Draw an element of an application record as a counter; INDEX counts from 0",
    },
    OptionSpec {
        name: "qs-events",
        kind: OptionKind::Flag,
        repeatable: false,
        help: "Also draw the allocation of events, and critical sections",
    },
];

impl Format for Qs {
    fn name(&self) -> &'static str {
        "qs"
    }

    fn title(&self) -> &'static str {
        "QP/Spy (QS)"
    }

    fn recorded_by(&self) -> &'static str {
        "the QP frameworks QP/C and QP/C++, version 5.8 to 8.1: the bytes that the target sends to QSPY"
    }

    fn recognised_by(&self) -> &'static str {
        "frames whose checksums are right and whose numbers follow each other"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let options = inputs.iter().map(Options::read).collect::<Result<Vec<_>, _>>()?;
        Ok(erase(Scanner { inputs: options }))
    }
}

/// What the user says about an input.
#[derive(Clone, Debug, Default)]
struct Options {
    told: Told,
    clock: Option<Rate>,
    tick: Option<Rate>,
    wanted: Wanted,
}

impl Options {
    fn read(from: &FormatOptions) -> Result<Options, OptionError> {
        let wrong = |option, found: String, expected: &str| OptionError { option, found, expected: expected.to_owned() };
        let mut options = Options { clock: from.clock, ..Options::default() };
        options.wanted.everything = from.flag("qs-events");
        if let Some(text) = from.text("qs-sizes") {
            let mut sizes = Sizes::default();
            sizes.apply(text).map_err(|what| wrong("qs-sizes", what, "give letters and sizes like T4O4F4S2E2Q1P2B2C4"))?;
            let letters = text.chars().filter(|letter| letter.is_alphabetic()).map(|letter| letter.to_ascii_uppercase());
            options.told.sizes = letters.filter_map(|letter| Some((letter, *sizes.get_mut(letter)?))).collect();
        }
        if let Some(text) = from.text("qs-version") {
            let version = dic::parse_version(text);
            let found = || wrong("qs-version", format!("{text:?} is no version of QP"), "give one like 8.1.2 or 812");
            options.told.version = Some(version.ok_or_else(found)?);
        }
        if let Some((path, bytes)) = from.files("qs-dict").last() {
            let found = |what| wrong("qs-dict", format!("{path}: {what}"), "give a file that qspy saved with its key d");
            options.told.dictionary = Some(Arc::new(Dictionary::parse(bytes).map_err(found)?));
        }
        if let Some(text) = from.text("qs-tick-hz") {
            let (whole, fraction) = text.split_once('/').unwrap_or((text, "1"));
            let number = |text: &str| text.trim().parse::<u64>().ok();
            let rate = number(whole).zip(number(fraction)).and_then(|(whole, fraction)| Rate::from_hz(whole, fraction));
            let found = || wrong("qs-tick-hz", format!("{text:?} is no frequency"), "give ticks per second like 100 or 1000/3");
            options.tick = Some(rate.ok_or_else(found)?);
        }
        for text in from.texts("qs-counter") {
            let counter = text.rsplit_once(':').and_then(|(name, index)| Some((name.to_owned(), index.parse().ok()?)));
            let found = || wrong("qs-counter", format!("{text:?} has no index"), "give NAME:INDEX like PHILO_STAT:0");
            options.wanted.counters.push(counter.ok_or_else(found)?);
        }
        Ok(options)
    }
}

/// The first pass over a recording.
struct Scanner {
    inputs: Vec<Options>,
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Collector;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        decode::cut(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> ScanFacts {
        Collector::scan(part.input, part.start..part.end)
    }

    fn join(&self, _bytes: &[u8], facts: &mut Collector, next: ScanFacts) {
        facts.add_part(next);
    }

    fn finish(self, facts: Vec<Collector>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let facts: Vec<ScanFacts> = facts.into_iter().map(Collector::finish).collect();
        for (facts, ledger) in facts.iter().zip(ledgers) {
            if facts.is_cut {
                ledger.enter(scan::METADATA_CUT, 0, 1);
            }
        }
        let none = Options::default();
        let options = self.inputs.first().unwrap_or(&none);
        let told = |index: usize| self.inputs.get(index).map(|options| options.told.clone()).unwrap_or_default();
        let sessions: Vec<Sessions> = facts.iter().enumerate().map(|(index, facts)| Sessions::new(facts, &told(index))).collect();
        let mut report = Facts { system: Some("QP"), cores: sessions.len() as u16, begins_midway: true, ..Facts::default() };
        let measured = facts.first().zip(sessions.first()).map(|(facts, sessions)| clockrate::measure(facts, sessions));
        let clock = clock_of(options, measured.as_ref(), &mut report);
        report.clock = Some(clock);
        if let (Some(sessions), Some(facts)) = (sessions.first(), facts.first()) {
            tell(sessions, facts, &mut report);
        }
        let decoders = Decoders(sessions.iter().map(|sessions| Decoder::new(sessions.segments())).collect());
        let cores = (0..sessions.len()).map(|core| vec![CoreId(core as u16)]).collect();
        let units = measured.and_then(Result::ok).map(|measured| measured.units_per_tick);
        let resolver = Resolver::new(sessions, clock.0, options.wanted.clone(), units, report);
        Stages { cores, decode: decoders, resolve: resolver }
    }
}

/// The rate of the clock, and where it is known from.
fn clock_of(
    options: &Options,
    measured: Option<&Result<clockrate::Measured, String>>,
    report: &mut Facts,
) -> (Rate, &'static str) {
    if let Some(Ok(measured)) = measured {
        report.details.push(Detail {
            name: "clock units per tick",
            value: measured.units_per_tick.to_string(),
            source: format!("measured from {} time events", measured.samples),
        });
    }
    if let Some(rate) = options.clock {
        return (rate, "given by an option");
    }
    if let Some(tick) = options.tick {
        match measured {
            Some(Ok(measured)) => {
                if let Some(rate) = clockrate::rate_of(*measured, tick) {
                    return (rate, "measured from time events and --qs-tick-hz");
                }
            }
            Some(Err(why)) => report.hints.push(format!("--qs-tick-hz is of no use here: {why}. Give --clock-hz instead.")),
            None => {}
        }
    }
    report.hints.push(
        "The unit of the time stamps is not told by QS; one is taken for a microsecond. Give --clock-hz, or --qs-tick-hz with the \
         frequency of the clock tick."
            .to_owned(),
    );
    (Rate::from_ns_per_tick(1000).unwrap_or(Rate::NANOSECOND), "assumed, QS does not tell")
}

/// What is known of the target, and from where.
fn tell(sessions: &Sessions, facts: &ScanFacts, report: &mut Facts) {
    // What stands before the first session that was told may be the rest of another one.
    let told = sessions.all.iter().find(|session| session.info.is_some());
    let Some(session) = told.or(sessions.all.first()) else { return };
    if let Some(info) = &session.info {
        report.system = Some(info.product_text());
    }
    let mut detail = |name, value: String, source: String| report.details.push(Detail { name, value, source });
    let from = session.version_from.text().to_owned();
    detail("QP version", info::version_text(session.layout.config.version), from);
    let letters = Sizes::LETTERS.iter().zip(session.layout.config.sizes.all()).zip(session.sizes_from);
    let mut by_source: Vec<(sessions::Source, String)> = Vec::new();
    for ((letter, size), from) in letters {
        let text = format!("{letter}{size}");
        match by_source.iter_mut().find(|(source, _)| *source == from) {
            Some((_, sizes)) => *sizes += &text,
            None => by_source.push((from, text)),
        }
    }
    for (source, sizes) in by_source {
        detail("sizes", sizes, source.text().to_owned());
    }
    if let Some(info) = &session.info {
        detail("build", info.build_text(), "told by the target".to_owned());
    }
    if let Some(inferred) = &sessions.inferred {
        let value = format!("{} of {}", inferred.fitting, inferred.all);
        detail("records that fit the sizes", value, "counted".to_owned());
    }
    detail("names", sessions.all.iter().map(|session| session.names.count()).sum::<usize>().to_string(), "counted".to_owned());
    if sessions.all.iter().all(|session| session.info.is_none())
        && facts.evidence.as_ref().is_some_and(|evidence| evidence.is_from_host())
    {
        report.hints.push(
            "These look like the commands that the host sends to the target (QS-RX), not like what the target sends: record the \
             other direction."
                .to_owned(),
        );
    }
}

/// A decoder for each input.
struct Decoders(Vec<Decoder>);

impl Decode for Decoders {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        match self.0.get(input) {
            Some(decoder) => decoder.records_into(part.input, part.start..part.end, records),
            None => *records = Records::default(),
        }
    }
}
