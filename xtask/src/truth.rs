//! `cargo xtask truth`: how true the times of damaged recordings are. Recordings are generated, converted whole, damaged, and
//! converted again, and the times of the events that survived are compared.

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;
use traceconv::format::qs::generate as qs;
use traceconv::format::syst::generate as syst;
use traceconv::format::tonbandgeraet::generate as tonbandgeraet;
use traceconv::format::tsp::generate as tsp;
use traceconv::format::{FORMATS, Format, FormatOptions, Part, Resolved, miniprofiler::generate as miniprofiler};
use traceconv::model::{Entities, Event, EventBatch, EventKind, Label, Ledger};

/// Wrong times must not reach further from damage, in events.
const LONGEST_STREAK: u64 = 128;

/// The recordings to measure.
#[derive(Args)]
pub struct Truth {
    /// How many recordings of each kind
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Size of each recording in bytes
    #[arg(long, default_value = "150k", value_parser = crate::generate::parse_bytes)]
    bytes: u64,
    /// Only generators whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Fail if a goal is missed
    #[arg(long)]
    check: bool,
    /// Print the ledgers of conversions that state more losses than there are, or none where there are some
    #[arg(long)]
    explain: bool,
}

/// A kind of recording.
struct Generator {
    name: &'static str,
    format: &'static str,
    /// A time is wrong if it is off by more than this, in nanoseconds.
    step_ns: u64,
    /// Whether a checksum or a sequence number covers all that is sent, so that "nothing lost" must never be said falsely.
    is_covered: bool,
    /// Whether the start of a recording can be recognised within a stream.
    shows_restart: bool,
    make: fn(bytes: u64, seed: u64) -> Vec<u8>,
}

const GENERATORS: [Generator; 9] = [
    Generator {
        name: "tsp",
        format: "tsp",
        step_ns: 1_000,
        is_covered: false,
        shows_restart: true,
        make: |bytes, seed| made_tsp(bytes, seed, tsp::TimerKind::Up1MHz),
    },
    Generator {
        name: "tsp-down",
        format: "tsp",
        step_ns: 10_700,
        is_covered: false,
        shows_restart: true,
        make: |bytes, seed| made_tsp(bytes, seed, tsp::TimerKind::Down93),
    },
    Generator {
        name: "tsp-modulo",
        format: "tsp",
        step_ns: 1_000,
        is_covered: false,
        shows_restart: true,
        make: |bytes, seed| made_tsp(bytes, seed, tsp::TimerKind::Modulo1000),
    },
    Generator { name: "qs", format: "qs", step_ns: 1, is_covered: true, shows_restart: true, make: made_qs },
    Generator {
        name: "tonbandgeraet",
        format: "tonbandgeraet",
        step_ns: 1,
        is_covered: false,
        shows_restart: true,
        make: |bytes, seed| made_tonbandgeraet(bytes, seed, 1),
    },
    Generator {
        name: "tonbandgeraet-2",
        format: "tonbandgeraet",
        step_ns: 1,
        is_covered: false,
        shows_restart: true,
        make: |bytes, seed| made_tonbandgeraet(bytes, seed, 2),
    },
    Generator {
        name: "miniprofiler",
        format: "miniprofiler",
        step_ns: 1_000,
        is_covered: true,
        shows_restart: false,
        make: |bytes, seed| made_miniprofiler(bytes, seed, 0),
    },
    Generator {
        name: "syst-text",
        format: "syst-text",
        step_ns: 1,
        is_covered: false,
        shows_restart: false,
        make: |bytes, seed| made_syst(bytes, seed, syst::Carrier::Text),
    },
    Generator {
        name: "syst-raw",
        format: "syst-raw",
        step_ns: 1,
        is_covered: false,
        shows_restart: false,
        make: |bytes, seed| made_syst(bytes, seed, syst::Carrier::Raw),
    },
];

fn made_tsp(bytes: u64, seed: u64, timer: tsp::TimerKind) -> Vec<u8> {
    let options = tsp::GenerateOptions { bytes, seed, timer, ..tsp::GenerateOptions::default() };
    tsp::generate_with_truth(&options).0
}

fn made_qs(bytes: u64, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let options = qs::GenerateOptions { bytes, seed, ..qs::GenerateOptions::default() };
    drop(qs::generate(&options, &mut out));
    out
}

fn made_tonbandgeraet(bytes: u64, seed: u64, cores: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let damage = tonbandgeraet::Damage::None;
    let options = tonbandgeraet::GenerateOptions { bytes, seed, cores, damage, slow_task: None };
    drop(tonbandgeraet::generate(&options, &mut out));
    out
}

fn made_miniprofiler(bytes: u64, seed: u64, start_us: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let options = miniprofiler::GenerateOptions { bytes, seed, start_us, ..miniprofiler::GenerateOptions::default() };
    drop(miniprofiler::generate(&options, &mut out, &mut |_| {}));
    out
}

fn made_syst(bytes: u64, seed: u64, carrier: syst::Carrier) -> Vec<u8> {
    let mut out = Vec::new();
    let options = syst::GenerateOptions { bytes, seed, carrier, with_crc: true, ..syst::GenerateOptions::default() };
    drop(syst::generate(&options, &mut out));
    out
}

/// The damage to a recording.
#[derive(Clone, Copy)]
enum Damage {
    None,
    Flips(u64),
    Deletions,
    Insertions,
    Duplicated,
    Swapped,
    MidStream,
    /// Another recording follows after this share of the first, in percent.
    Restart(usize),
}

const DAMAGES: [(&str, Damage); 11] = [
    ("none", Damage::None),
    ("1 flip", Damage::Flips(1)),
    ("10 flips", Damage::Flips(10)),
    ("100 flips", Damage::Flips(100)),
    ("10 deletions", Damage::Deletions),
    ("10 insertions", Damage::Insertions),
    ("3 blocks twice", Damage::Duplicated),
    ("3 blocks swapped", Damage::Swapped),
    ("mid-stream", Damage::MidStream),
    ("restart early", Damage::Restart(8)),
    ("restart late", Damage::Restart(90)),
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit.max(1) as u64) as usize
    }
}

/// The damaged recording, and how many sessions it has.
fn damaged(generator: &Generator, clean: &[u8], damage: Damage, bytes: u64, seed: u64) -> (Vec<u8>, u32) {
    let mut random = Random(seed * 0x9E37_79B9 + 1);
    let mut out = clean.to_vec();
    // The start of a recording has the names and sizes that all else needs.
    let from = out.len() / 20;
    let mut sessions = 1;
    match damage {
        Damage::None => {}
        Damage::Flips(count) => {
            for _ in 0..count {
                let at = from + random.below(out.len() - from);
                out[at] ^= 1 << random.below(8);
            }
        }
        Damage::Deletions => {
            for _ in 0..10 {
                let (at, len) = (from + random.below(out.len() - from - 100), 1 + random.below(40));
                out.drain(at..at + len);
            }
        }
        Damage::Insertions => {
            for _ in 0..10 {
                let (at, len) = (from + random.below(out.len() - from), 1 + random.below(40));
                let noise: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                out.splice(at..at, noise);
            }
        }
        Damage::Duplicated | Damage::Swapped => {
            for _ in 0..3 {
                let len = 300 + random.below(700);
                let at = from + random.below(out.len() - from - 2 * len);
                if let Damage::Swapped = damage {
                    out[at..at + 2 * len].rotate_left(len);
                } else {
                    let block = out[at..at + len].to_vec();
                    out.splice(at..at, block);
                }
            }
        }
        Damage::MidStream => drop(out.drain(..clean.len() * 37 / 100 + random.below(64))),
        Damage::Restart(percent) => {
            out.truncate(out.len() * percent / 100);
            out.extend((generator.make)(bytes, seed + 1000));
            sessions = 2;
        }
    }
    (out, sessions)
}

/// A recording after its conversion.
struct Converted {
    /// Each event: what it is, the session it is in, its time.
    events: Vec<(String, u32, u64)>,
    ledger: Ledger,
    sessions: u32,
}

fn convert(format: &dyn Format, bytes: &[u8]) -> Option<Converted> {
    let scan = format.open(&[FormatOptions::default()]).ok()?;
    let part = Part::new(bytes, 0..bytes.len());
    let facts = scan.join(bytes, None, scan.scan(0, part));
    let mut ledger = Ledger::default();
    let mut stages = scan.finish(vec![Some(facts)], std::slice::from_mut(&mut ledger));
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let records = stages.decode.decode(0, part, None);
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    drop(stages.resolve.resolve(0, bytes, records, &mut out));
    stages.resolve.finish(0, bytes, &mut out);
    let mut session = 0;
    let mut events = Vec::with_capacity(batch.events.len());
    for event in &batch.events {
        match event.kind {
            EventKind::SessionStart(number) => session = number,
            EventKind::Loss(_) | EventKind::LateObjectLevel { .. } => {}
            _ => events.push((name_of(event, &batch, &entities), session, event.time.0)),
        }
    }
    Some(Converted { events, ledger, sessions: stages.resolve.facts().sessions })
}

/// What an event is, without its time.
fn name_of(event: &Event, batch: &EventBatch, entities: &Entities) -> String {
    let mut name = format!("{} ", event.core.0);
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

/// The result for one generator and one damage.
#[derive(Default)]
struct Score {
    runs: u64,
    surviving: u64,
    wrong: u64,
    longest: u64,
    wrong_scales: u64,
    false_restarts: u64,
    missed_restarts: u64,
    over_stated: u64,
    false_claims: u64,
    damaged_runs: u64,
}

fn numbered(names: &[(String, u32, u64)], numbers: &mut HashMap<String, u32>) -> Vec<u32> {
    let mut number = |name: &String| {
        let next = numbers.len() as u32;
        *numbers.entry(name.clone()).or_insert(next)
    };
    names.iter().map(|event| number(&event.0)).collect()
}

fn score(generator: &Generator, truth: &[&Converted], made: &Converted, sessions: u32, score: &mut Score) -> Option<String> {
    score.runs += 1;
    score.false_restarts += u64::from(made.sessions.saturating_sub(sessions));
    score.missed_restarts += u64::from(sessions.saturating_sub(made.sessions));
    let clean: Vec<(String, u32, u64)> = truth.iter().flat_map(|truth| truth.events.iter().cloned()).collect();
    let sources: Vec<usize> = truth.iter().enumerate().flat_map(|(index, truth)| vec![index; truth.events.len()]).collect();
    let mut numbers = HashMap::new();
    let (left, right) = (numbered(&clean, &mut numbers), numbered(&made.events, &mut numbers));
    let pairs = aligned(&left, &right);
    // A recording may begin at another time than the whole one: the median difference is that of the begins.
    let off = |&(one, two): &(usize, usize)| i128::from(made.events[two].2) - i128::from(clean[one].2);
    let mut begins = Vec::new();
    for source in 0..truth.len() {
        let mut all: Vec<i128> = pairs.iter().filter(|pair| sources[pair.0] == source).map(off).collect();
        all.sort_unstable();
        begins.push(all.get(all.len() / 2).copied().unwrap_or(0));
    }
    let (mut streak, mut wrong, mut longest) = (0u64, 0u64, 0u64);
    for pair in &pairs {
        let error = off(pair) - begins[sources[pair.0]];
        if error.unsigned_abs() > u128::from(generator.step_ns) {
            (streak, wrong) = (streak + 1, wrong + 1);
            longest = longest.max(streak);
        } else {
            streak = 0;
        }
    }
    score.surviving += pairs.len() as u64;
    score.wrong += wrong;
    score.longest = score.longest.max(longest);
    score.wrong_scales += u64::from(wrong * 5 > pairs.len() as u64);
    let stated: u64 = made.ledger.entries().iter().map(|entry| entry.at_least_lost).sum();
    let frames: u64 = truth.iter().map(|truth| truth.ledger.frames_ok).sum();
    let missing = frames.saturating_sub(made.ledger.frames_ok);
    // A frame whose checksum is wrong is there, but its event is not.
    let without = (clean.len() - pairs.len()) as u64;
    let is_over = truth.len() == 1 && stated > missing.max(without);
    score.over_stated += u64::from(is_over);
    let is_damaged = wrong > 0 || pairs.len() < clean.len();
    let is_false = is_damaged && !made.ledger.has_losses() && truth.len() == 1;
    score.damaged_runs += u64::from(is_damaged);
    score.false_claims += u64::from(is_false);
    (is_over || is_false).then(|| {
        let lines = made.ledger.entries().iter();
        let lines = lines.map(|entry| {
            format!("{} {} x{} lost {}", entry.first_offset.unwrap_or(0), entry.kind.code, entry.count, entry.at_least_lost)
        });
        format!(
            "stated {stated}, frames missing {missing}, events missing {without}, wrong {wrong}: {}",
            lines.collect::<Vec<_>>().join("; ")
        )
    })
}

pub fn run(arguments: &Truth) -> anyhow::Result<()> {
    println!(
        "| generator | damage | surviving events | wrong times | longest streak | wrong scales | false restarts | missed restarts | over-stated losses | false \"nothing lost\" |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut missed = Vec::new();
    for generator in &GENERATORS {
        if arguments.only.as_ref().is_some_and(|only| !generator.name.contains(only.as_str())) {
            continue;
        }
        let Some(format) = FORMATS.iter().find(|format| format.name() == generator.format) else {
            anyhow::bail!("there is no format {}", generator.format);
        };
        for (name, damage) in DAMAGES {
            let mut total = Score::default();
            for seed in 1..=arguments.seeds {
                let clean = (generator.make)(arguments.bytes, seed);
                let (bytes, sessions) = damaged(generator, &clean, damage, arguments.bytes, seed);
                let truth = convert(*format, &clean);
                let second = (sessions == 2).then(|| convert(*format, &(generator.make)(arguments.bytes, seed + 1000))).flatten();
                let (Some(mut truth), Some(made)) = (truth, convert(*format, &bytes)) else { continue };
                match damage {
                    Damage::Restart(percent) => {
                        let kept = truth.events.len() * percent / 100;
                        truth.events.truncate(kept);
                    }
                    Damage::MidStream => drop(truth.events.drain(..truth.events.len() * 36 / 100)),
                    _ => {}
                }
                let truths: Vec<&Converted> = std::iter::once(&truth).chain(&second).collect();
                if let Some(why) = score(generator, &truths, &made, sessions, &mut total).filter(|_| arguments.explain) {
                    eprintln!("{} with {name}, seed {seed}: {why}", generator.name);
                }
            }
            let Score {
                runs,
                surviving,
                wrong,
                longest,
                wrong_scales,
                false_restarts,
                missed_restarts,
                over_stated,
                false_claims,
                damaged_runs,
            } = total;
            let share = wrong as f64 * 100.0 / surviving.max(1) as f64;
            println!(
                "| {} | {name} | {surviving} | {wrong} ({share:.2} %) | {longest} | {wrong_scales} of {runs} | {false_restarts} | {missed_restarts} | {over_stated} of {runs} | {false_claims} of {damaged_runs} |",
                generator.name
            );
            let is_restart = matches!(damage, Damage::Restart(_));
            // A recording that begins in mid-stream has no metadata: its scale is assumed, and said to be.
            let is_known = !is_restart && !matches!(damage, Damage::MidStream);
            let is_missed = false_restarts > 0
                || is_known && (wrong_scales > 0 || longest > LONGEST_STREAK)
                || missed_restarts > 0 && generator.shows_restart
                || over_stated > 0
                || false_claims > 0 && generator.is_covered;
            if is_missed {
                missed.push(format!("{} with {name}", generator.name));
            }
        }
    }
    if arguments.check && !missed.is_empty() {
        anyhow::bail!("goals missed: {}", missed.join(", "));
    }
    Ok(())
}
