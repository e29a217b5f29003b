//! `cargo xtask truth`: how true the times of damaged recordings are. Recordings are generated, converted whole, damaged, and
//! converted again, and the times of the events that survived are compared. Recordings that begin late, are silent for long, or lack
//! records are compared with the plain one of the same firmware, too.

mod damage;
pub mod states;

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;
use traceconv::format::itm::generate as itm;
use traceconv::format::qs::generate as qs;
use traceconv::format::syst::{generate as syst, stp::NibbleOrder};
use traceconv::format::systemview::generate as systemview;
use traceconv::format::tonbandgeraet::generate as tonbandgeraet;
use traceconv::format::tracex::generate as tracex;
use traceconv::format::tsp::generate as tsp;
use traceconv::format::{FORMATS, Format, FormatOptions, Part, Resolved, miniprofiler::generate as miniprofiler};
use traceconv::model::losses::TIME_AMBIGUOUS;
use traceconv::model::{Entities, Event, EventBatch, EventKind, Label, Ledger, Matter, Rate};

use damage::{Damage, Damaged};
use states::{States, TaskStates};

/// Wrong times must not be further from damage, in records.
const FURTHEST: u64 = 64;

/// The recordings to measure.
#[derive(Args)]
pub struct Arguments {
    /// How many recordings of each kind
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// The first of their seeds
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Size of each recording in bytes
    #[arg(long, default_value = "150k", value_parser = crate::generate::parse_bytes)]
    bytes: u64,
    /// Only generators whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Fail if a goal is missed
    #[arg(long)]
    check: bool,
    /// Print one row for each generator: all damaged recordings, as in docs/time.md
    #[arg(long)]
    summary: bool,
    /// Print the ledgers of conversions that state more losses than there are, or none where there are some
    #[arg(long)]
    explain: bool,
    /// Write the recordings to this folder
    #[arg(long)]
    keep: Option<std::path::PathBuf>,
}

/// A kind of recording.
struct Generator {
    name: &'static str,
    format: &'static str,
    /// Whether `--check` fails if it misses a goal.
    is_checked: bool,
    /// A time is wrong if it is off by more than this, in nanoseconds.
    step_ns: u64,
    /// Whether a checksum or a sequence number covers all that is sent, so that "nothing lost" must never be said falsely.
    is_covered: bool,
    /// Whether the start of a recording can be recognised within a stream.
    shows_restart: bool,
    /// Whether time stamps are differences: the stream is the same whatever time passed in a piece that is missing. Times are then compared
    /// with the truth between two places of damage.
    is_relative: bool,
    /// Whether it is an image of memory: no piece of it is missing, surplus or elsewhere, and it has no second one after it. With a filter
    /// its ring holds other events.
    is_image: bool,
    /// The target's clock, if recordings do not have it, in Hz.
    clock_hz: Option<u64>,
    /// A unit of the target's clock, in nanoseconds.
    unit_ns: u64,
    /// How long a silence it can have, in nanoseconds, and the records that a filter removes, by their ids.
    silence_ns: u64,
    filtered: &'static [u8],
    make: fn(Recipe) -> Vec<u8>,
}

/// The options of a generated recording.
#[derive(Clone, Copy, Default)]
struct Recipe {
    bytes: u64,
    seed: u64,
    /// How long the target has run, and for how long nothing is recorded in the middle, in units of the target's clock.
    start: u64,
    silent: u64,
    filtered: &'static [u8],
}

const PLAIN: Generator = Generator {
    name: "",
    format: "",
    is_checked: true,
    step_ns: 1,
    is_covered: false,
    shows_restart: true,
    is_relative: false,
    is_image: false,
    clock_hz: None,
    unit_ns: 1,
    silence_ns: 0,
    filtered: &[],
    make: |_| Vec::new(),
};

/// All hooks except switches and ticks.
const TSP_FILTER: &[u8] =
    &[7, 8, 9, 10, 11, 12, 13, 15, 17, 19, 21, 23, 25, 28, 29, 35, 38, 39, 40, 41, 42, 43, 50, 51, 73, 74, 75];
const TSP: Generator =
    Generator { format: "tsp", step_ns: 1_000, unit_ns: 1_000_000, silence_ns: 20_000_000_000, filtered: TSP_FILTER, ..PLAIN };

/// Tasks that become ready.
const TONBANDGERAET_FILTER: &[u8] = &[0x55];
const TONBANDGERAET: Generator =
    Generator { format: "tonbandgeraet", unit_ns: 25, silence_ns: 600_000_000_000, filtered: TONBANDGERAET_FILTER, ..PLAIN };

/// Tasks that become ready.
const SYSTEMVIEW_FILTER: &[u8] = &[6];

/// Exceptions.
const ITM_FILTER: &[u8] = &[1];
const ITM: Generator = Generator {
    format: "itm",
    step_ns: 10,
    shows_restart: false,
    clock_hz: Some(100_000_000),
    unit_ns: 10,
    filtered: ITM_FILTER,
    ..PLAIN
};

/// Events taken out of queues.
const QS_FILTER: &[u8] = &[16, 17];

const GENERATORS: [Generator; 14] = [
    Generator { name: "tsp", make: |recipe| made_tsp(recipe, tsp::TimerKind::Up1MHz), ..TSP },
    Generator { name: "tsp-down", step_ns: 10_700, make: |recipe| made_tsp(recipe, tsp::TimerKind::Down93), ..TSP },
    Generator { name: "tsp-modulo", silence_ns: 300_000_000, make: |recipe| made_tsp(recipe, tsp::TimerKind::Modulo1000), ..TSP },
    Generator {
        name: "qs",
        format: "qs",
        is_covered: true,
        unit_ns: 1_000,
        silence_ns: 600_000_000_000,
        filtered: QS_FILTER,
        make: made_qs,
        ..PLAIN
    },
    Generator { name: "tonbandgeraet", make: |recipe| made_tonbandgeraet(recipe, 1), ..TONBANDGERAET },
    Generator { name: "tonbandgeraet-2", make: |recipe| made_tonbandgeraet(recipe, 2), ..TONBANDGERAET },
    Generator {
        name: "miniprofiler",
        format: "miniprofiler",
        step_ns: 1_000,
        is_covered: true,
        shows_restart: false,
        unit_ns: 1_000,
        silence_ns: 600_000_000_000,
        make: made_miniprofiler,
        ..PLAIN
    },
    Generator {
        name: "syst-text",
        format: "syst-text",
        shows_restart: false,
        unit_ns: 1_000,
        silence_ns: 600_000_000_000,
        make: |recipe| made_syst(recipe, syst::Carrier::Text),
        ..PLAIN
    },
    Generator {
        name: "syst-raw",
        format: "syst-raw",
        shows_restart: false,
        unit_ns: 1_000,
        silence_ns: 600_000_000_000,
        make: |recipe| made_syst(recipe, syst::Carrier::Raw),
        ..PLAIN
    },
    Generator {
        name: "syst-stp",
        format: "syst-stp",
        // Packets have no checksum: where the reading goes astray, up to the next ASYNC, wrong stamps may be within their bounds.
        is_checked: false,
        step_ns: 42,
        shows_restart: false,
        unit_ns: 1_000,
        silence_ns: 600_000_000_000,
        make: |recipe| made_syst(recipe, syst::Carrier::Stp(NibbleOrder::Msb)),
        ..PLAIN
    },
    Generator {
        name: "systemview",
        format: "systemview",
        step_ns: 25,
        is_relative: true,
        unit_ns: 25,
        // Differences have 32 bits.
        silence_ns: 60_000_000_000,
        filtered: SYSTEMVIEW_FILTER,
        make: made_systemview,
        ..PLAIN
    },
    Generator {
        name: "tracex",
        format: "tracex",
        step_ns: 1_000,
        is_image: true,
        clock_hz: Some(1_000_000),
        unit_ns: 1_000,
        // Time stamps have 32 bits.
        silence_ns: 2_000_000_000_000,
        make: made_tracex,
        ..PLAIN
    },
    Generator {
        name: "itm",
        is_relative: true,
        silence_ns: 20_000_000,
        make: |recipe| made_itm(recipe, itm::Times::Both),
        ..ITM
    },
    Generator { name: "itm-global", silence_ns: 600_000_000_000, make: |recipe| made_itm(recipe, itm::Times::Global), ..ITM },
];

fn made_tsp(recipe: Recipe, timer: tsp::TimerKind) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_ticks, silent: silent_ticks, filtered } = recipe;
    let options = tsp::GenerateOptions { bytes, seed, timer, start_ticks, silent_ticks, filtered, ..Default::default() };
    tsp::generate_with_truth(&options).0
}

fn made_qs(recipe: Recipe) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_units, silent: silent_units, filtered } = recipe;
    let mut out = Vec::new();
    let options = qs::GenerateOptions { bytes, seed, start_units, silent_units, filtered, ..Default::default() };
    drop(qs::generate(&options, &mut out));
    out
}

fn made_tonbandgeraet(recipe: Recipe, cores: u16) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_ticks, silent: silent_ticks, filtered } = recipe;
    let mut out = Vec::new();
    let options =
        tonbandgeraet::GenerateOptions { bytes, seed, cores, start_ticks, silent_ticks, filtered, ..Default::default() };
    drop(tonbandgeraet::generate(&options, &mut out));
    out
}

fn made_miniprofiler(recipe: Recipe) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_us, silent: silent_us, .. } = recipe;
    let mut out = Vec::new();
    let options = miniprofiler::GenerateOptions { bytes, seed, start_us, silent_us, ..Default::default() };
    drop(miniprofiler::generate(&options, &mut out, &mut |_| {}));
    out
}

fn made_systemview(recipe: Recipe) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_ticks, silent: silent_ticks, filtered } = recipe;
    let options = systemview::GenerateOptions { bytes, seed, start_ticks, silent_ticks, filtered, ..Default::default() };
    systemview::generate_with_truth(&options).0
}

fn made_tracex(recipe: Recipe) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_ticks, silent: silent_ticks, .. } = recipe;
    let options = tracex::GenerateOptions { bytes, seed, start_ticks, silent_ticks, ..Default::default() };
    tracex::generate_with_truth(&options).0
}

fn made_itm(recipe: Recipe, times: itm::Times) -> Vec<u8> {
    let Recipe { bytes, seed, start: start_ticks, silent: silent_ticks, filtered } = recipe;
    let options = itm::GenerateOptions { bytes, seed, times, start_ticks, silent_ticks, filtered, ..Default::default() };
    itm::generate_with_truth(&options).0
}

fn made_syst(recipe: Recipe, carrier: syst::Carrier) -> Vec<u8> {
    let Recipe { bytes, seed, start, silent: silent_us, .. } = recipe;
    let (start_us, mut out) = (1_000_000 + start, Vec::new());
    let options = syst::GenerateOptions { bytes, seed, carrier, with_crc: true, start_us, silent_us, ..Default::default() };
    drop(syst::generate(&options, &mut out));
    out
}

/// What differs from the plain recording.
#[derive(Clone, Copy)]
enum Case {
    Damage(Damage),
    /// The target has run for this number of nanoseconds.
    Uptime(u64),
    Silence,
    Filter,
}

const CASES: [(&str, Case); 16] = [
    ("none", Case::Damage(Damage::None)),
    ("1 flip", Case::Damage(Damage::Flips(1))),
    ("10 flips", Case::Damage(Damage::Flips(10))),
    ("100 flips", Case::Damage(Damage::Flips(100))),
    ("10 deletions", Case::Damage(Damage::Deletions)),
    ("10 insertions", Case::Damage(Damage::Insertions)),
    ("3 blocks twice", Case::Damage(Damage::Duplicated)),
    ("3 blocks swapped", Case::Damage(Damage::Swapped)),
    ("mid-stream", Case::Damage(Damage::MidStream)),
    ("restart early", Case::Damage(Damage::Restart(8))),
    ("restart late", Case::Damage(Damage::Restart(90))),
    ("1 of 2 cores", Case::Damage(Damage::OneCore)),
    // Just before a counter of 32 bits wraps that counts microseconds.
    ("up 71 min", Case::Uptime(4_294_900_000_000)),
    ("up 10 days", Case::Uptime(864_000_000_000_000)),
    ("silence", Case::Silence),
    ("filter", Case::Filter),
];

/// A recording after its conversion.
struct Converted {
    /// Each event: what it is, the session it is in, its time.
    events: Vec<(String, u32, u64)>,
    ledger: Ledger,
    sessions: u32,
    /// The time of each record, by its offset.
    records: Vec<(u64, u64)>,
    states: States,
    /// Whether the report says that the length of a tick is not recorded.
    is_scale_assumed: bool,
}

fn convert(format: &dyn Format, clock_hz: Option<u64>, bytes: &[u8]) -> Option<Converted> {
    let clock = clock_hz.and_then(|hz| Rate::from_hz(hz, 1));
    let scan = format.open(&[FormatOptions { clock, ..FormatOptions::default() }]).ok()?;
    let part = Part::new(bytes, 0..bytes.len());
    let facts = scan.join(bytes, None, scan.scan(0, part));
    let mut ledger = Ledger::default();
    let mut stages = scan.finish(vec![Some(facts)], std::slice::from_mut(&mut ledger));
    let (mut entities, mut batch) = (Entities::default(), EventBatch { judged: Some(Vec::new()), ..EventBatch::default() });
    let records = stages.decode.decode(0, part, None);
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    drop(stages.resolve.resolve(0, bytes, records, &mut out));
    stages.resolve.finish(0, bytes, &mut out);
    let (mut session, mut states) = (0, TaskStates::default());
    let mut events = Vec::with_capacity(batch.events.len());
    for event in &batch.events {
        states.event(event, &entities);
        match event.kind {
            EventKind::SessionStart(number) => session = number,
            EventKind::Loss(_) | EventKind::LateObjectLevel { .. } | EventKind::CoreEnd => {}
            _ => events.push((name_of(event, &batch, &entities), session, event.time.0)),
        }
    }
    let records = batch.judged.unwrap_or_default().into_iter();
    let mut records: Vec<(u64, u64)> = records.filter_map(|judged| Some((judged.offset, judged.time?.0))).collect();
    records.sort_unstable();
    let facts = stages.resolve.facts();
    let mut of_clock = facts.findings.iter().filter(|finding| finding.of == Matter::Clock);
    let is_scale_assumed = of_clock.any(|finding| finding.warning().is_some());
    let sessions = facts.sessions;
    Some(Converted { events, ledger, sessions, records, states: states.into_states(), is_scale_assumed })
}

/// What an event is, without its time.
fn name_of(event: &Event, batch: &EventBatch, entities: &Entities) -> String {
    let mut name = String::new();
    let label = |label: Label, name: &mut String| match (label.as_name(), label.as_text()) {
        (Some(of), _) => write!(name, "{of:?}"),
        (_, Some(text)) => write!(name, "{}", batch.texts.get(text)),
        _ => Ok(()),
    };
    let _ = match event.kind {
        EventKind::Call { function, depth, .. } => write!(name, "call {function:?} {depth}"),
        EventKind::Log(index) => {
            let log = batch.logs.get(index as usize);
            let text = log.map(|log| batch.texts.get(log.body)).unwrap_or_default();
            write!(name, "log {text}")
        }
        EventKind::SpanBegin { lane, label: of, .. }
        | EventKind::Instant { lane, label: of, .. }
        | EventKind::State { lane, label: of, .. } => {
            let _ = write!(name, "lane {lane:?} ");
            label(of, &mut name)
        }
        EventKind::SpanEnd { lane, .. } => write!(name, "end {lane:?}"),
        EventKind::Object { object, op, .. } => write!(name, "{object:?} {op:?}"),
        kind => write!(name, "{kind:?}"),
    };
    by_number(&name, entities)
}

/// With the target's numbers in place of handles, which are in order of appearance.
fn by_number(name: &str, entities: &Entities) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("Id(") {
        let start = rest.get(..at).and_then(|head| head.rfind(|c: char| !c.is_alphanumeric())).map_or(0, |before| before + 1);
        let (Some(kind), Some(tail)) = (rest.get(start..at), rest.get(at + 3..)) else { break };
        let end = tail.find(')').unwrap_or(tail.len());
        let index: usize = tail.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let number = match kind {
            "Task" => entities.tasks.get(index).map(|task| task.number.to_string()),
            "Isr" => entities.isrs.get(index).map(|isr| isr.number.to_string()),
            "Object" => entities.objects.get(index).map(|object| object.number.to_string()),
            "Lane" => entities.lanes.get(index).map(|lane| format!("{} {:?}", lane.number, lane.name)),
            "Name" => entities.names.get(index).map(|name| name.to_string()),
            "Function" => entities.functions.get(index).map(|function| format!("{:x}", function.address)),
            _ => None,
        };
        out.push_str(rest.get(..start).unwrap_or_default());
        out.push_str(kind);
        out.push_str(&number.unwrap_or_else(|| index.to_string()));
        rest = tail.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The events of both that are the same, in order: numbers in each.
fn aligned(clean: &[u32], damaged: &[u32]) -> Vec<(usize, usize)> {
    /// A row of this number of equal ones is the same.
    const SURE: usize = 16;
    /// Not further apart than this.
    const REACH: usize = 3000;
    let mut places: HashMap<&[u32], Vec<usize>> = HashMap::new();
    for (place, row) in damaged.windows(SURE).enumerate() {
        places.entry(row).or_default().push(place);
    }
    let (mut at, mut other) = (0, 0);
    let mut pairs = Vec::new();
    while at < clean.len() && other < damaged.len() {
        if clean[at] == damaged[other] {
            pairs.push((at, other));
            (at, other) = (at + 1, other + 1);
            continue;
        }
        let mut best: Option<(usize, usize)> = None;
        for ahead in 0..REACH {
            if best.is_some_and(|(one, two)| one + two <= ahead) {
                break;
            }
            let Some(places) = clean.get(at + ahead..at + ahead + SURE).and_then(|row| places.get(row)) else { continue };
            if let Some(&place) = places.get(places.partition_point(|&place| place < other))
                && best.is_none_or(|(one, two)| ahead + place - other < one + two)
            {
                best = Some((ahead, place - other));
            }
        }
        (at, other) = match best {
            Some((ahead, apart)) => (at + ahead, other + apart),
            None => (at + 1, other),
        };
    }
    pairs
}

/// The result for one generator and one case.
#[derive(Default)]
struct Score {
    runs: u64,
    surviving: u64,
    wrong: u64,
    furthest: u64,
    known_states_ns: u64,
    wrong_states_ns: u64,
    wrong_scales: u64,
    assumed_scales: u64,
    false_restarts: u64,
    missed_restarts: u64,
    over_stated: u64,
    false_claims: u64,
    damaged_runs: u64,
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.runs += other.runs;
        self.surviving += other.surviving;
        self.wrong += other.wrong;
        self.furthest = self.furthest.max(other.furthest);
        self.known_states_ns += other.known_states_ns;
        self.wrong_states_ns += other.wrong_states_ns;
        self.wrong_scales += other.wrong_scales;
        self.assumed_scales += other.assumed_scales;
        self.false_restarts += other.false_restarts;
        self.missed_restarts += other.missed_restarts;
        self.over_stated += other.over_stated;
        self.false_claims += other.false_claims;
        self.damaged_runs += other.damaged_runs;
    }

    fn wrong_times(&self) -> f64 {
        self.wrong as f64 * 100.0 / self.surviving.max(1) as f64
    }

    fn wrong_states(&self) -> String {
        match self.known_states_ns {
            0 => "–".to_owned(),
            known => format!("{:.2} %", self.wrong_states_ns as f64 * 100.0 / known as f64),
        }
    }

    fn add_states(&mut self, truth: &States, made: &States, session: u32, shift: i128) {
        let (known, wrong) = states::compare(truth, made, session, shift);
        self.known_states_ns += known;
        self.wrong_states_ns += wrong;
    }
}

/// What a conversion is compared with.
struct Truth<'a> {
    /// The undamaged recordings in it.
    whole: &'a [&'a Converted],
    /// Which bytes of them survive where, if it is damaged.
    damaged: Option<&'a Damaged>,
    sessions: u32,
    /// How long nothing is recorded in the middle, in nanoseconds.
    silence_ns: u64,
    /// Whether it begins in mid-stream: nothing before that is missing.
    begins_late: bool,
}

fn numbered(names: &[(String, u32, u64)], numbers: &mut HashMap<String, u32>) -> Vec<u32> {
    let mut number = |name: &String| {
        let next = numbers.len() as u32;
        *numbers.entry(name.clone()).or_insert(next)
    };
    names.iter().map(|event| number(&event.0)).collect()
}

/// Records of a damaged recording that are also in the whole ones.
struct Records {
    /// The source of each, its number in the damaged recording, and by how much its time is later.
    all: Vec<(usize, usize, i128)>,
    /// By how much the times of each source are later: it may begin at another time than the whole one.
    begins: Vec<i128>,
    /// The same of each record.
    shifts: Vec<i128>,
}

impl Records {
    fn new(truth: &Truth<'_>, damaged: &Damaged, made: &Converted, is_relative: bool) -> Records {
        let mut all = Vec::new();
        for (index, &(offset, time)) in made.records.iter().enumerate() {
            let origin = damaged.origins.get(offset as usize).copied().unwrap_or(u64::MAX);
            let (source, origin) = if origin >= damage::SECOND { (1, origin.wrapping_sub(damage::SECOND)) } else { (0, origin) };
            let Some(whole) = truth.whole.get(source) else { continue };
            if let Ok(found) = whole.records.binary_search_by_key(&origin, |record| record.0) {
                all.push((source, index, i128::from(time) - i128::from(whole.records[found].1)));
            }
        }
        let median = |source| {
            let mut of: Vec<i128> = all.iter().filter(|record| record.0 == source).map(|record| record.2).collect();
            of.sort_unstable();
            of.get(of.len() / 2).copied().unwrap_or(0)
        };
        let begins: Vec<i128> = (0..truth.whole.len()).map(median).collect();
        let mut shifts: Vec<i128> = all.iter().map(|record| begins[record.0]).collect();
        if is_relative {
            // Those of each stretch within damage and between.
            let stretch = |record: &(usize, usize, i128)| {
                let offset = made.records[record.1].0;
                let count =
                    |edge: fn(&std::ops::Range<u64>) -> u64| damaged.places.partition_point(|place| edge(place) <= offset);
                count(|place| place.start) + count(|place| place.end)
            };
            let stretches = all.chunk_by(|one, other| stretch(one) == stretch(other));
            shifts = stretches
                .flat_map(|of| {
                    let mut errors: Vec<i128> = of.iter().map(|record| record.2).collect();
                    errors.sort_unstable();
                    vec![errors[errors.len() / 2]; of.len()]
                })
                .collect();
        }
        Records { all, begins, shifts }
    }

    /// How many have wrong times, and the one that is furthest from damage: by how many records, and its offset.
    fn wrong(&self, step_ns: u64, damaged: &Damaged, made: &Converted) -> (u64, (u64, u64)) {
        let (mut wrong, mut furthest) = (0, (0, 0));
        for (&(_, index, error), shift) in self.all.iter().zip(&self.shifts) {
            if (error - shift).unsigned_abs() <= u128::from(step_ns) {
                continue;
            }
            wrong += 1;
            let offset = made.records[index].0;
            let record_at = |place: u64| made.records.partition_point(|record| record.0 < place);
            let after = damaged.places.partition_point(|place| place.start <= offset);
            let before = after.checked_sub(1).map(|before| index.saturating_sub(record_at(damaged.places[before].end)));
            let after = damaged.places.get(after).map(|place| record_at(place.start).saturating_sub(index));
            let distance = before.into_iter().chain(after).min().unwrap_or(0);
            furthest = furthest.max((distance as u64, offset));
        }
        (wrong, furthest)
    }
}

fn score(generator: &Generator, truth: &Truth<'_>, made: &Converted, score: &mut Score) -> Option<String> {
    score.runs += 1;
    score.false_restarts += u64::from(made.sessions.saturating_sub(truth.sessions));
    score.missed_restarts += u64::from(truth.sessions.saturating_sub(made.sessions));
    let whole = truth.whole;
    let mut clean: Vec<(String, u32, u64)> = whole.iter().flat_map(|whole| whole.events.iter().cloned()).collect();
    let mut numbers = HashMap::new();
    let right = numbered(&made.events, &mut numbers);
    if truth.damaged.is_none() {
        // Events of kinds that are not recorded at all are not missing.
        let is_recorded: Vec<bool> = clean.iter().map(|event| numbers.contains_key(&event.0)).collect();
        let mut kept = is_recorded.iter();
        clean.retain(|_| kept.next() == Some(&true));
    }
    let left = numbered(&clean, &mut numbers);
    let pairs = aligned(&left, &right);
    let is_intact = truth.damaged.is_none_or(|damaged| damaged.places.is_empty());
    // Of a damaged recording, records are compared by their places. Others have the same events at other places.
    let (surviving, wrong, (furthest, furthest_at)) = match truth.damaged {
        Some(damaged) => {
            let records = Records::new(truth, damaged, made, generator.is_relative);
            for (session, (whole, begin)) in (0..).zip(whole.iter().zip(&records.begins)) {
                score.add_states(&whole.states, &made.states, session, *begin);
            }
            let (wrong, furthest) = records.wrong(generator.step_ns, damaged, made);
            (records.all.len() as u64, wrong, furthest)
        }
        None => {
            let errors: Vec<i128> =
                pairs.iter().map(|&(one, two)| i128::from(made.events[two].2) - i128::from(clean[one].2)).collect();
            let begin = errors.iter().min().copied().unwrap_or(0);
            let is_wrong = |error: i128, silence_ns: u64| {
                (error - begin - i128::from(silence_ns)).unsigned_abs() > u128::from(generator.step_ns)
            };
            // If there is a silence, it begins where fewest are wrong.
            let mut now = errors.iter().filter(|error| is_wrong(**error, truth.silence_ns)).count() as u64;
            let mut wrong = now;
            for &error in &errors {
                now = now + u64::from(is_wrong(error, 0)) - u64::from(is_wrong(error, truth.silence_ns));
                wrong = wrong.min(now);
            }
            if truth.silence_ns == 0 {
                score.add_states(&whole[0].states, &made.states, 0, begin);
            }
            (pairs.len() as u64, wrong, (0, 0))
        }
    };
    score.surviving += surviving;
    score.wrong += wrong;
    // A counter that wraps once may have been silent for long: no more than a warning is possible.
    let is_said = made.is_scale_assumed || is_intact && made.ledger.entries().iter().any(|entry| entry.kind == TIME_AMBIGUOUS);
    let is_scale_wrong = wrong * 5 > surviving;
    score.wrong_scales += u64::from(is_scale_wrong && !is_said);
    score.assumed_scales += u64::from(is_scale_wrong && is_said);
    if !is_scale_wrong {
        score.furthest = score.furthest.max(furthest);
    }
    let stated: u64 = made.ledger.entries().iter().map(|entry| entry.at_least_lost).sum();
    let frames: u64 = whole.iter().map(|whole| whole.ledger.frames_ok).sum();
    let missing = if is_intact { 0 } else { frames.saturating_sub(made.ledger.frames_ok) };
    // A frame whose checksum is wrong is there, but its event is not.
    let without = if is_intact { 0 } else { (clean.len() - pairs.len()) as u64 };
    let is_over = whole.len() == 1 && stated > missing.max(without);
    score.over_stated += u64::from(is_over);
    let is_damaged = !is_intact && !truth.begins_late && (wrong > 0 || pairs.len() < clean.len());
    let is_false = is_damaged && !made.ledger.has_losses() && whole.len() == 1;
    score.damaged_runs += u64::from(is_damaged);
    score.false_claims += u64::from(is_false);
    let is_odd = is_over || is_false || is_scale_wrong || is_intact && wrong > 0;
    (is_odd || furthest > FURTHEST || made.sessions != truth.sessions).then(|| {
        let lines = made.ledger.entries().iter();
        let lines = lines.map(|entry| {
            format!("{} {} x{} lost {}", entry.first_offset.unwrap_or(0), entry.kind.code, entry.count, entry.at_least_lost)
        });
        format!(
            "stated {stated}, frames missing {missing}, events missing {without} of {}, wrong {wrong}, furthest {furthest} at {furthest_at}, sessions {}: {}",
            clean.len(),
            made.sessions,
            lines.collect::<Vec<_>>().join("; ")
        )
    })
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.summary {
        println!(
            "| generator | wrong times | furthest | wrong states | wrong scales | false restarts | missed restarts | loss overstated | \"nothing lost\" said falsely |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
    } else {
        println!(
            "| generator | case | surviving events | wrong times | furthest from damage | wrong states | wrong scales (assumed) | false restarts | missed restarts | over-stated losses | false \"nothing lost\" |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
    }
    let mut missed = Vec::new();
    for generator in &GENERATORS {
        if arguments.only.as_ref().is_some_and(|only| !generator.name.contains(only.as_str())) {
            continue;
        }
        let Some(format) = FORMATS.iter().find(|format| format.name() == generator.format) else {
            anyhow::bail!("there is no format {}", generator.format);
        };
        let mut totals: Vec<Score> = CASES.iter().map(|_| Score::default()).collect();
        for seed in arguments.first_seed..arguments.first_seed + arguments.seeds {
            add_seed(generator, *format, arguments, seed, &mut totals)?;
        }
        let mut damaged = Score::default();
        for ((name, case), total) in CASES.iter().zip(&totals).filter(|(_, total)| total.runs > 0) {
            if is_counted(*case) {
                damaged.add(total);
            }
            if !arguments.summary {
                print(generator, name, total);
            }
            if generator.is_checked && is_missed(generator, *case, total) {
                missed.push(format!("{} with {name}", generator.name));
            }
        }
        if arguments.summary {
            print_summary(generator, &damaged);
        }
    }
    if arguments.check && !missed.is_empty() {
        anyhow::bail!("goals missed: {}", missed.join(", "));
    }
    Ok(())
}

/// Adds the scores of one recording in all cases.
fn add_seed(
    generator: &Generator,
    format: &dyn Format,
    arguments: &Arguments,
    seed: u64,
    totals: &mut [Score],
) -> anyhow::Result<()> {
    let recipe = Recipe { bytes: arguments.bytes, seed, ..Recipe::default() };
    let (clean, second) = ((generator.make)(recipe), (generator.make)(Recipe { seed: seed + 1000, ..recipe }));
    let (Some(mut truth), Some(other)) =
        (convert(format, generator.clock_hz, &clean), convert(format, generator.clock_hz, &second))
    else {
        return Ok(());
    };
    let all = std::mem::take(&mut truth.events);
    for ((name, case), total) in CASES.iter().zip(totals) {
        truth.events.clone_from(&all);
        let units = |ns: u64| ns / generator.unit_ns;
        let silent = units(generator.silence_ns);
        let (recipe, damaged, silence_ns) = match *case {
            Case::Damage(Damage::OneCore) if generator.name != "tonbandgeraet-2" => continue,
            Case::Filter if generator.filtered.is_empty() => continue,
            Case::Damage(damage) if generator.is_image && !matches!(damage, Damage::None | Damage::Flips(_)) => continue,
            Case::Damage(damage) => {
                match damage {
                    Damage::Restart(percent) => truth.events.truncate(all.len() * percent / 100),
                    Damage::MidStream => drop(truth.events.drain(..all.len() * 36 / 100)),
                    _ => {}
                }
                (recipe, Some(damage::damaged(&clean, &second, damage, seed)), 0)
            }
            Case::Uptime(ns) => (Recipe { start: units(ns), ..recipe }, None, 0),
            Case::Silence => (Recipe { silent, ..recipe }, None, silent * generator.unit_ns),
            Case::Filter => (Recipe { filtered: generator.filtered, ..recipe }, None, 0),
        };
        let bytes = damaged.as_ref().map_or_else(|| (generator.make)(recipe), |damaged| damaged.bytes.clone());
        if let Some(folder) = &arguments.keep {
            std::fs::write(folder.join(format!("{}, {name}, {seed}.bin", generator.name)), &bytes)?;
        }
        let Some(made) = convert(format, generator.clock_hz, &bytes) else { continue };
        let sessions = damaged.as_ref().map_or(1, |damaged| damaged.sessions);
        let whole = [&truth, &other];
        let whole = &whole[..sessions as usize];
        let begins_late = matches!(case, Case::Damage(Damage::MidStream));
        let truth = Truth { whole, damaged: damaged.as_ref(), sessions, silence_ns, begins_late };
        if let Some(why) = score(generator, &truth, &made, total).filter(|_| arguments.explain) {
            eprintln!("{} with {name}, seed {seed}: {why}", generator.name);
        }
    }
    Ok(())
}

fn print(generator: &Generator, name: &str, total: &Score) {
    let &Score { runs, surviving, wrong, furthest, wrong_scales, assumed_scales, .. } = total;
    let &Score { false_restarts, missed_restarts, over_stated, false_claims, damaged_runs, .. } = total;
    let (share, states) = (total.wrong_times(), total.wrong_states());
    println!(
        "| {} | {name} | {surviving} | {wrong} ({share:.2} %) | {furthest} | {states} | {wrong_scales} ({assumed_scales}) of {runs} | {false_restarts} | {missed_restarts} | {over_stated} of {runs} | {false_claims} of {damaged_runs} |",
        generator.name
    );
}

/// Whether a case is damage after which the rest of the recording is there, or a restart.
fn is_counted(case: Case) -> bool {
    matches!(case, Case::Damage(damage) if !matches!(damage, Damage::None | Damage::MidStream | Damage::OneCore))
}

fn print_summary(generator: &Generator, total: &Score) {
    let &Score { runs, furthest, wrong_scales, over_stated, false_claims, damaged_runs, .. } = total;
    let &Score { false_restarts, missed_restarts, .. } = total;
    println!(
        "| {} | {:.2} % | {furthest} | {} | {wrong_scales} | {false_restarts} | {missed_restarts} | {over_stated} of {runs} | {false_claims} of {damaged_runs} |",
        generator.name,
        total.wrong_times(),
        total.wrong_states()
    );
}

/// Whether a goal is missed.
fn is_missed(generator: &Generator, case: Case, total: &Score) -> bool {
    let is_intact = !matches!(case, Case::Damage(damage) if !matches!(damage, Damage::None | Damage::OneCore));
    let is_assumed = total.assumed_scales > 0;
    total.false_restarts > 0
        || total.wrong_scales > 0
        || total.furthest > FURTHEST
        || is_intact && !is_assumed && total.wrong > 0
        || total.missed_restarts > 0 && generator.shows_restart
        || total.over_stated > 0
        || total.false_claims > 0 && generator.is_covered
}
