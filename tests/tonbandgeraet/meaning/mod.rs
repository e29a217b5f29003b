//! The content of a trace, compared with the results of simple code from the records.
//!
//! [`records::picture`] and [`shown::picture`] know nothing of each other: one follows the description of the target's events, the
//! other the display of the viewer. Both give a [`Picture`], and the two must be the same: every slice,
//! instant, counter value, context switch, waking and flow.
//!
//! `TRACECONV_EXTRA_CAPTURES` names a folder with more captures to compare; their figures are printed.

mod records;
mod shown;

use std::collections::BTreeMap;
use std::fmt::Debug;

use traceconv::format::tonbandgeraet::generate::Damage;

use crate::run::{self, Cut};

/// Where something is shown. Tasks and objects are known by the target's own numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Thread(u32),
    Priority(u32),
    ValueOfTask(u32, String),
    Interrupt(String),
    Object(u32, String),
    Marker(String),
    Value(String),
}

/// The number of all idle tasks.
pub const IDLE: u32 = 0;

/// A context switch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Switch {
    pub ns: u64,
    /// The state in which the task before left: 0 ready, 1 waiting, 4 suspended, 16 deleted. None: the records leave it open.
    pub left: Option<i64>,
    pub next: u32,
}

/// A task made ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waking {
    pub ns: u64,
    pub task: u32,
    pub in_irq: bool,
    pub target_core: u32,
}

/// All that a trace shows, in a form that does not depend on how it is stored.
#[derive(Debug, Default)]
pub struct Picture {
    /// Begin, end and name.
    pub slices: BTreeMap<Place, Vec<(u64, u64, String)>>,
    pub instants: BTreeMap<Place, Vec<(u64, String)>>,
    /// In the order of time.
    pub counters: BTreeMap<Place, Vec<(u64, i64)>>,
    pub switches: BTreeMap<u32, Vec<Switch>>,
    pub wakings: BTreeMap<u32, Vec<Waking>>,
    /// From, to, and the object between.
    pub flows: Vec<(u64, u64, String)>,
    /// Slices of tasks that left their core without a reason and never came again: the records leave open whether they wait.
    pub open_questions: Vec<(Place, u64)>,
}

impl Picture {
    fn sort(&mut self) {
        self.slices.values_mut().for_each(|slices| slices.sort());
        self.instants.values_mut().for_each(|instants| instants.sort());
        self.flows.sort();
    }

    /// How long each task ran, in nanoseconds: from its switch to the next one of the core.
    fn running(&self) -> BTreeMap<u32, u64> {
        let mut running = BTreeMap::new();
        for switches in self.switches.values() {
            for pair in switches.windows(2) {
                *running.entry(pair[0].next).or_default() += pair[1].ns - pair[0].ns;
            }
        }
        running
    }

    /// How long the slices of each place last together, in nanoseconds. Nested ones count twice.
    fn durations(&self, of: impl Fn(&Place) -> bool) -> BTreeMap<Place, u64> {
        let places = self.slices.iter().filter(|(place, _)| of(place));
        places.map(|(place, slices)| (place.clone(), slices.iter().map(|(begin, end, _)| end - begin).sum())).collect()
    }

    fn last_levels(&self) -> BTreeMap<&Place, i64> {
        let objects = self.counters.iter().filter(|(place, _)| matches!(place, Place::Object(..)));
        let objects = objects.filter_map(|(place, values)| Some((place, values.last()?.1)));
        objects.collect()
    }
}

fn compare<K: Debug + Ord, V: Debug + PartialEq>(items: &str, expected: &BTreeMap<K, Vec<V>>, shown: &BTreeMap<K, Vec<V>>) {
    for (place, expected) in expected {
        let shown = shown.get(place).map_or(&[][..], Vec::as_slice);
        for (number, (one, two)) in expected.iter().zip(shown).enumerate() {
            assert_eq!(one, two, "{items} {number} of {place:?}: expected, shown");
        }
        let further = (expected.get(shown.len()..), shown.get(expected.len()..));
        assert_eq!(expected.len(), shown.len(), "number of {items}s of {place:?}; further: {further:?}");
    }
    let unexpected: Vec<&K> =
        shown.iter().filter(|(place, all)| !all.is_empty() && !expected.contains_key(place)).map(|(place, _)| place).collect();
    assert!(unexpected.is_empty(), "{items}s on {unexpected:?} out of nothing");
}

/// Compares the trace of a capture with its records. Gives the picture.
fn check(capture: &[u8]) -> Picture {
    let conversion = run::convert(capture, Cut::WHOLE);
    let trace = conversion.read();
    assert!(trace.unclosed.is_empty(), "slices without end");
    let mut expected = records::picture(capture);
    let mut shown = shown::picture(&trace);
    for (place, begin) in &expected.open_questions {
        if let Some(slices) = shown.slices.get_mut(place) {
            slices.retain(|(at, _, name)| at != begin || name != "wait");
        }
    }
    for (core, switches) in &mut shown.switches {
        let open = expected.switches.get(core).into_iter().flatten();
        for (switch, expected) in switches.iter_mut().zip(open) {
            switch.left = switch.left.filter(|_| expected.left.is_some());
        }
    }
    expected.sort();
    shown.sort();
    compare("switch", &expected.switches, &shown.switches);
    compare("waking", &expected.wakings, &shown.wakings);
    compare("slice", &expected.slices, &shown.slices);
    compare("instant", &expected.instants, &shown.instants);
    compare("value", &expected.counters, &shown.counters);
    assert_eq!(expected.flows, shown.flows, "flows: expected, shown");

    // Compared again by the sums that people use.
    assert_eq!(expected.running(), shown.running());
    assert_eq!(expected.durations(|_| true), shown.durations(|_| true));
    assert_eq!(expected.last_levels(), shown.last_levels());
    shown
}

/// The capture must contain every kind of item, otherwise the comparison proves little.
fn assert_rich(picture: &Picture) {
    assert!(picture.running().len() > 8);
    assert!(picture.wakings.values().flatten().any(|waking| waking.in_irq));
    assert!(picture.wakings.values().flatten().any(|waking| !waking.in_irq));
    assert!(picture.flows.len() > 100);
    for state in [0, 1, 4] {
        assert!(picture.switches.values().flatten().any(|switch| switch.left == Some(state)), "nobody left with state {state}");
    }
    let kinds: [fn(&Place) -> bool; 4] = [
        |place| matches!(place, Place::Thread(_)),
        |place| matches!(place, Place::Interrupt(_)),
        |place| matches!(place, Place::Object(..)),
        |place| matches!(place, Place::Marker(_)),
    ];
    assert!(kinds.iter().all(|of| picture.durations(of).values().sum::<u64>() > 0));
    assert!(picture.last_levels().len() > 4);
}

#[test]
fn one_core_is_shown_as_recorded() {
    let mut has_deleted = false;
    for seed in 1..=6 {
        let picture = check(&run::generated(200_000, seed, 1, Damage::None));
        assert_rich(&picture);
        has_deleted |= picture.switches.values().flatten().any(|switch| switch.left == Some(16));
    }
    assert!(has_deleted, "no task has deleted itself");
}

#[test]
fn several_cores_are_shown_as_recorded() {
    for (seed, cores) in [(1, 2), (2, 2), (3, 4)] {
        let picture = check(&run::generated(300_000, seed, cores, Damage::None));
        assert_rich(&picture);
        assert_eq!(picture.switches.len(), usize::from(cores));
    }
}

#[test]
fn whole_hand_made_captures_are_shown_as_recorded() {
    let whole = ["bare_metal", "mutex_handover", "mailbox", "resumed_from_isr", "left_without_reason", "marker_of_task_zero"];
    for capture in crate::captures::all() {
        if whole.contains(&capture.name.as_str()) {
            check(&capture.bytes);
        }
    }
}

/// A tracer may be configured not to record that tasks become ready.
#[test]
fn without_records_of_readiness_no_task_is_drawn_ready() {
    use traceconv::format::tonbandgeraet::generate::{GenerateOptions, generate};

    let ready = |filtered: &'static [u8]| {
        let mut capture = Vec::new();
        let options = GenerateOptions { bytes: 60_000, seed: 4, filtered, ..GenerateOptions::default() };
        generate(&options, &mut capture).expect("memory does not fail");
        let conversion = run::convert(&capture, Cut::WHOLE);
        let trace = conversion.read();
        let idle = |comm: &str| comm.to_lowercase().contains("idle") || comm.starts_with("swapper");
        let ready = trace.running().iter().filter(|run| run.end_state == Some(0) && !idle(&run.comm) && run.tid > 0).count();
        (ready, conversion.summary.facts.hints.join(" "))
    };
    let (some, hints) = ready(&[]);
    assert!(some > 10 && !hints.contains("task_to_rdy_state"), "{some} {hints}");
    let (none, hints) = ready(&[0x55]);
    assert!(none <= 1 && hints.contains("no events task_to_rdy_state (0x55)"), "{none} {hints}");
}

/// No event of bare metal has the id of one of FreeRTOS, so these are no damage.
#[test]
fn a_few_events_of_freertos_among_many_others_are_shown() {
    use traceconv::format::tonbandgeraet::record::Record;

    let mut records = vec![Record::CoreId { ts: 0, core_id: 0 }];
    for turn in 1..4000 {
        records.extend([Record::IsrEnter { ts: turn * 100, isr_id: 1 }, Record::IsrExit { ts: turn * 100 + 10, isr_id: 1 }]);
        if turn % 1000 == 0 {
            records.push(Record::TaskSwitchedIn { ts: turn * 100 + 50, task_id: turn as u32 / 1000 });
        }
    }
    let capture = crate::captures::frames(&records);
    assert_eq!(run::convert(&capture, Cut::SMALL).summary.ledger.entries(), []);
    // Beside the first row and the last one, which say that it is unknown who runs.
    assert_eq!(check(&capture).switches.values().map(Vec::len).sum::<usize>(), 2 + 3);
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_EXTRA_CAPTURES"]
fn extra_captures_are_shown_as_recorded() {
    let folder = std::env::var_os("TRACECONV_EXTRA_CAPTURES").expect("TRACECONV_EXTRA_CAPTURES names a folder");
    for entry in std::fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        let capture = std::fs::read(&path).expect("it can be read");
        let picture = check(&capture);
        println!("{}: all as recorded", path.display());
        println!("  running, ns by task: {:?}", picture.running());
        println!("  interrupts, ns: {:?}", picture.durations(|place| matches!(place, Place::Interrupt(_))));
        println!("  mutexes held, ns: {:?}", picture.durations(|place| matches!(place, Place::Object(..))));
        println!("  last levels: {:?}", picture.last_levels());
        println!(
            "  {} slices, {} instants, {} values, {} switches, {} wakings, {} flows",
            picture.slices.values().map(Vec::len).sum::<usize>(),
            picture.instants.values().map(Vec::len).sum::<usize>(),
            picture.counters.values().map(Vec::len).sum::<usize>(),
            picture.switches.values().map(Vec::len).sum::<usize>(),
            picture.wakings.values().map(Vec::len).sum::<usize>(),
            picture.flows.len(),
        );
    }
}
