//! The facts about a recording for the report: the clock and its evidence, inferred lengths, advice.

use super::super::decode::is_open;
use super::super::record::{OPEN, id, name_of, object_type};
use super::super::timer::{PeriodSource, PhaseSource, Timer};
use super::Setup;
use crate::clock::fit::Modulus;
use crate::format::{Detail, Facts, is_unrecorded};
use crate::model::{Certainty, Finding, Matter, Rate, counted, times};

pub fn facts(setups: &[Setup]) -> Facts {
    let cores = setups.iter().map(|setup| setup.core).max().map_or(1, |core| core.saturating_add(1));
    let each: Vec<Facts> = setups.iter().map(of_input).collect();
    let clock = each.first().and_then(|own| own.clock);
    let mut facts = Facts { system: Some("FreeRTOS"), cores, sessions: 1, clock, ..Facts::default() };
    for (setup, own) in setups.iter().zip(&each) {
        facts.details_of.push(own.details.clone());
        for finding in &own.findings {
            if !facts.findings.contains(finding) {
                facts.findings.push(finding.clone());
            }
        }
        for hint in &own.hints {
            let is_of_all = each.iter().all(|other| other.hints.contains(hint));
            let hint = if is_of_all { hint.clone() } else { format!("Core {}: {hint}", setup.core) };
            if !facts.hints.contains(&hint) {
                facts.hints.push(hint);
            }
        }
    }
    facts
}

fn of_input(setup: &Setup) -> Facts {
    let mut facts = Facts::default();
    let timer = setup.timer;
    let rate = Rate::from_hz((timer.tick_hz * 1e6).round() as u64, 1_000_000);
    let (origin, certainty) = match setup.timer_options.tick_hz {
        Some(_) => ("kernel ticks, given by an option", Certainty::Known),
        None => ("kernel ticks, assumed", Certainty::Assumed),
    };
    facts.clock = rate.map(|rate| (rate, origin));
    facts.findings.push(Finding::new(Matter::Clock, certainty, origin).never_recorded());
    facts.findings.push(modulus(&timer, setup.timer_options.tick_modulus.is_some()));
    facts.findings.extend(contradicted(setup, &timer));
    for id in (0..=255u8).filter(|&id| setup.lengths.is_given(id) && setup.facts.counts.get(usize::from(id)) == Some(&0)) {
        facts.hints.push(format!("--tsp-len {id}={}: the capture has no packet of this id.", setup.lengths.of(id)));
    }
    timer_details(setup, &timer, &mut facts);
    length_details(setup, &mut facts);
    let mut counts: Vec<(u64, u8)> =
        (0..=u8::MAX).zip(&*setup.facts.counts).map(|(id, &count)| (count, id)).filter(|(count, _)| *count > 0).collect();
    counts.sort_unstable_by_key(|&(count, id)| (std::cmp::Reverse(count), id));
    if !counts.is_empty() {
        let each = counts.iter().map(|&(count, id)| match name_of(id) {
            Some(name) => format!("{name} {count}"),
            None => format!("id {id} {count}"),
        });
        facts.details.push(detail("packets", each.collect::<Vec<_>>().join(", "), "counted"));
    }
    let names = setup.facts.names.len();
    if names > 0 {
        facts.details.push(detail(
            "names",
            if names == 1 { "1 task or object".to_owned() } else { format!("{names} tasks and objects") },
            "recorded in the capture: object lists",
        ));
        facts.hints.extend(unnamed_tasks(setup));
    } else {
        facts.hints.push(
            "The capture has no object list, so tasks and objects have no names; the target sends it when it receives the byte 0x97."
                .to_owned(),
        );
    }
    if timer.ticks == 0 && setup.facts.counts.iter().sum::<u64>() > 0 {
        facts.hints.push(
            "The tick hook (id 44) is not in the capture: after a silence of more than half of the tick count's range, times may be \
             wrong by multiples of it."
                .to_owned(),
        );
    }
    facts.hints.extend(Filtered::new(&*setup.facts.counts).hints(&*setup.facts.counts));
    facts
}

/// The packets that say why a task leaves its core, and when it is ready again.
const REASONS: &[u8] = &[
    id::BLOCKING_ON_QUEUE_RECEIVE,
    id::BLOCKING_ON_QUEUE_SEND,
    id::MOVED_TASK_TO_READY_STATE,
    id::TASK_DELAY_UNTIL,
    id::TASK_DELAY,
];
const SENDS: &[u8] = &[id::QUEUE_SEND, id::QUEUE_SEND_FROM_ISR];
const RECEIVES: &[u8] = &[id::QUEUE_RECEIVE, id::QUEUE_RECEIVE_FROM_ISR];
const SWITCHES: &[u8] = &[id::TASK_SWITCHED_IN];

/// The records that the target's filter removes, so that what they would say is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Filtered {
    pub switches: bool,
    pub readiness: bool,
    pub sends: bool,
    pub receives: bool,
}

impl Filtered {
    pub fn new(counts: &[u64]) -> Filtered {
        let count = |ids: &[u8]| -> u64 { ids.iter().filter_map(|&id| counts.get(usize::from(id))).sum() };
        let (switches, sends, receives) = (count(SWITCHES), count(SENDS), count(RECEIVES));
        Filtered {
            switches: is_unrecorded(switches, count(REASONS)),
            readiness: is_unrecorded(count(&[id::MOVED_TASK_TO_READY_STATE]), switches),
            sends: is_unrecorded(sends, receives),
            receives: is_unrecorded(receives, sends),
        }
    }

    fn hints(self, counts: &[u64]) -> Vec<String> {
        let missing = |ids: &[u8]| {
            let ids = ids.iter().filter(|&&id| counts.get(usize::from(id)).is_none_or(|&count| count == 0));
            ids.map(u8::to_string).collect::<Vec<_>>().join(", ")
        };
        let all = [
            (self.switches, SWITCHES, "say which task runs", "who runs is only known where a task says that it waits"),
            (
                self.readiness,
                REASONS,
                "say why a task leaves its core and when it is ready again",
                "the states of tasks that do not run are unknown",
            ),
            (
                self.sends,
                SENDS,
                "say what is sent to a queue and when a mutex is given back",
                "how long a mutex is held is unknown",
            ),
            (self.receives, RECEIVES, "say what is received from a queue", "the levels of queues are unknown"),
        ];
        let all = all.into_iter().filter(|(is_missing, ..)| *is_missing);
        let hint = |(_, ids, meaning, effect)| {
            format!(
                "The capture has no packets of the ids {}, which {meaning}: {effect}. Enable these ids in the target's filter.",
                missing(ids)
            )
        };
        all.map(hint).collect()
    }
}

/// A task that is switched in less often may be damage.
const SWITCHES_MIN: u64 = 3;

/// Advice about tasks that ran or were created, and are in no object list.
fn unnamed_tasks(setup: &Setup) -> Option<String> {
    let is_named = |number| setup.facts.names.get(&(object_type::TASK, number)).is_some_and(|name| !name.is_empty());
    let is_created = |number| setup.facts.created.is_used(object_type::TASK, number);
    let is_task = |(number, &count): (u8, &u64)| {
        // Tasks have consecutive numbers: a creation with another one may be damage, too.
        let follows = || number.checked_sub(1).is_some_and(|before| is_named(before) || is_created(before));
        count >= SWITCHES_MIN || is_created(number) && follows()
    };
    let unnamed = (0u8..=255).zip(&*setup.facts.switches).filter(|task| !is_named(task.0) && is_task(*task));
    let numbers: Vec<String> = unnamed.map(|(number, _)| format!("#{number}")).collect();
    (!numbers.is_empty()).then(|| {
        format!(
            "Tasks that were created after the object list have no names: {}. The target sends the list again when it receives \
             the byte 0x97.",
            numbers.join(", ")
        )
    })
}

/// Fewer neighbours of the same tick do not show the timer's direction.
const PAIRS_LEAST: u64 = 16;

/// The options for the timer that the capture contradicts.
fn contradicted(setup: &Setup, timer: &Timer) -> Vec<Finding> {
    let options = &setup.timer_options;
    let mut findings = Vec::new();
    let mut add = |of, because: String| findings.push(Finding::new(of, Certainty::Ambiguous, because));
    if let Some(max) = options.timer_max.filter(|&max| timer.largest > max) {
        add(Matter::Modulus, format!("--timer-max is {max}, but the timer's values go up to {}", timer.largest));
    }
    if options.is_down.is_some() && timer.pairs > PAIRS_LEAST && timer.agreeing * 2 < timer.pairs {
        let Timer { agreeing, pairs, .. } = timer;
        add(Matter::Modulus, format!("only {agreeing} of {pairs} neighbours of the same tick agree with --timer-dir"));
    }
    if let Some(hz) = options.timer_hz
        && timer.period > 1
        && hz / timer.tick_hz * 1.1 < f64::from(timer.largest)
    {
        let counts = hz / timer.tick_hz;
        add(
            Matter::Clock,
            format!(
                "--timer-hz gives {counts:.1} counts to a tick of 1/{} s, but the timer's values go up to {}",
                timer.tick_hz, timer.largest
            ),
        );
    }
    let falls = timer.falls.filter(|found| found.is_proved() && found.values != timer.tick_modulus);
    if let Some(given) = options.tick_modulus {
        if timer.beyond_modulus > 0 {
            let count = times(timer.beyond_modulus);
            add(Matter::Modulus, format!("--tick-mod is {given}, but the tick count has larger values, at least {count}"));
        } else if let Some(found) = falls.filter(|_| timer.wraps_are_long) {
            let (support, values) = (found.support, found.values);
            add(
                Matter::Modulus,
                format!(
                    "--tick-mod is {given}, but {support} falls of the tick count come from about {values}, and skip more than usual"
                ),
            );
        }
    }
    findings
}

/// How sure the range of the tick count is.
fn modulus(timer: &Timer, is_given: bool) -> Finding {
    let new = |certainty, because: String| Finding::new(Matter::Modulus, certainty, because);
    if is_given {
        return new(Certainty::Known, "--tick-mod".to_owned());
    }
    let Some(found) = timer.falls else {
        return new(Certainty::Inferred, "nothing contradicts the 16 bits of the tick count".to_owned());
    };
    let Modulus { values, support, contradictions } = found;
    let falls = support + contradictions;
    if found.is_proved() {
        new(Certainty::Inferred, format!("{support} of {falls} falls of the tick count are wraps from {values}"))
    } else if found.is_usual() && support > 1 {
        let from = format!("{support} of {falls} falls of the tick count come from about {values}");
        new(Certainty::Ambiguous, format!("{from}: restarts, or wraps if you give --tick-mod"))
    } else {
        new(Certainty::Inferred, format!("16 bits: its falls ({falls}) are taken for restarts or damage, not for wraps"))
    }
}

fn detail(name: &'static str, value: String, source: &str) -> Detail {
    Detail { name, value, source: source.to_owned() }
}

fn timer_details(setup: &Setup, timer: &Timer, facts: &mut Facts) {
    let options = &setup.timer_options;
    if timer.period == 1 {
        facts.details.push(detail("timer", "always 0: times are whole ticks".to_owned(), "inferred"));
        return;
    }
    if timer.period_source != PeriodSource::Given && !timer.is_spread && timer.timer_hz.is_none() {
        facts.hints.push(
            "The timer's values lie in few places of each tick, so it may count further than the largest of them. Then times within a \
             tick are too long: give --timer-max or --timer-hz."
                .to_owned(),
        );
    }
    let direction = if timer.is_down { "down" } else { "up" };
    let source = match options.is_down {
        Some(_) => "given by an option".to_owned(),
        None if timer.pairs == 0 => "assumed: no neighbours of the same tick differ".to_owned(),
        None => {
            let verb = if timer.agreeing == 1 { "agrees" } else { "agree" };
            format!("inferred: {} of {} of the same tick {verb}", timer.agreeing, counted(timer.pairs, "neighbour"))
        }
    };
    facts.details.push(detail("timer direction", direction.to_owned(), &source));
    let source = match timer.period_source {
        PeriodSource::Given => "given by an option".to_owned(),
        PeriodSource::Largest if !timer.is_spread => {
            format!("assumed: the largest value is {}, but few others occur", timer.largest)
        }
        PeriodSource::Largest => format!("inferred: the largest value is {}", timer.largest),
        PeriodSource::Rounded { other } => {
            let other = other.map_or(String::new(), |other| format!("; {other} counts would fit, too"));
            format!("inferred: the largest value is {}, assumed to be rounded{other}", timer.largest)
        }
    };
    let source = match timer.beyond {
        0 => source,
        1 => format!("{source}; a larger one is damaged"),
        beyond => format!("{source}; {beyond} larger ones are damaged"),
    };
    facts.details.push(detail("timer period", format!("{} counts a tick", timer.period), &source));
    let phase = f64::from(timer.phase) / f64::from(timer.period);
    let source = match timer.phase_source {
        PhaseSource::Ticks => format!("inferred from {}", counted(timer.ticks, "tick hook")),
        PhaseSource::Neighbours => format!("inferred from {} of the same tick", counted(timer.pairs, "neighbour")),
        PhaseSource::Assumed => "assumed".to_owned(),
    };
    facts.details.push(detail("timer phase", format!("{phase:.4} of a tick"), &source));
    if let Some(hz) = timer.timer_hz {
        facts.details.push(detail("timer rate", format!("{hz} Hz"), "given by an option"));
    }
    if timer.tick_modulus != 1 << 16 {
        let source = match timer.falls.filter(|_| options.tick_modulus.is_none()) {
            Some(modulus) => {
                format!("inferred: {} of its {} falls agree", modulus.support, modulus.support + modulus.contradictions)
            }
            None => "--tick-mod".to_owned(),
        };
        facts.details.push(detail("tick count", format!("modulo {}", timer.tick_modulus), &source));
    }
}

fn length_details(setup: &Setup, facts: &mut Facts) {
    let (mut given, mut inferred) = (Vec::new(), Vec::new());
    for id in 0..=255u8 {
        let len = setup.lengths.of(id);
        let is_learned = is_open(id) && len != OPEN;
        if id == id::OBJECT_LIST || !(is_learned || setup.lengths.is_given(id)) {
            continue;
        }
        let name = name_of(id).map_or(String::new(), |name| format!(" ({name})"));
        let list = if setup.lengths.is_given(id) { &mut given } else { &mut inferred };
        list.push(format!("id {id}{name} {}", counted(len, "byte")));
    }
    for (lengths, source) in [(given, "given by an option"), (inferred, "inferred")] {
        if !lengths.is_empty() {
            facts.details.push(detail("data of packets", lengths.join(", "), source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::decode::Lengths;
    use super::super::super::record::{Packet, id};
    use super::super::super::scan::ScanFacts;
    use super::super::super::timer::{TimerCounts, TimerOptions};
    use super::*;

    #[test]
    fn each_input_has_hints() {
        let of = |core: u16, is_named: bool| {
            let mut scanned = ScanFacts::default();
            if is_named {
                scanned.add_name(object_type::TASK, 1, b"a");
            }
            let timer_options = TimerOptions::default();
            let timer = TimerCounts::default().infer(&timer_options);
            Setup { core, timer_options, timer, lengths: Lengths::default(), facts: scanned }
        };
        let hints =
            |setups: &[Setup]| facts(setups).hints.into_iter().filter(|hint| hint.contains("object list")).collect::<Vec<_>>();
        let [both] = &*hints(&[of(0, false), of(1, false)]) else { panic!("it is one hint for both") };
        assert!(both.starts_with("The capture has no object list"), "{both}");
        assert_eq!(hints(&[of(0, true), of(1, false)]), [format!("Core 1: {both}")]);
    }

    /// An idle kernel that stops its tick skips the last values before most wraps.
    #[test]
    fn a_given_modulus_is_doubted_if_wraps_were_longer_steps_than_usual() {
        let of = |step: usize, values: u16| {
            let mut counts = TimerCounts::default();
            for tick in (0..usize::from(values) * 7).step_by(step).map(|tick| (tick % usize::from(values)) as u16) {
                counts.add(&Packet { id: id::CUSTOM_MARKER_1, tick, ..Packet::default() });
            }
            let timer_options = TimerOptions { tick_modulus: Some(1000), ..TimerOptions::default() };
            let timer = counts.infer(&timer_options);
            let setup = Setup { core: 0, timer_options, timer, lengths: Lengths::default(), facts: ScanFacts::default() };
            contradicted(&setup, &timer).into_iter().map(|finding| finding.because).collect::<String>()
        };
        assert_eq!([of(1, 1000), of(23, 1000)], ["", ""]);
        for (found, text) in [(of(1, 990), "6 falls of the tick count come from about 990"), (of(1, 2000), "has larger values")] {
            assert!(found.contains(text), "{found}");
        }
    }

    #[test]
    fn falls_of_the_tick_count_that_prove_no_modulus_are_said() {
        let of = |tops: &[u16]| {
            let mut counts = TimerCounts::default();
            for tick in tops.iter().flat_map(|&top| (0..top).step_by(7)).chain([0]) {
                counts.add(&Packet { id: id::CUSTOM_MARKER_1, tick, ..Packet::default() });
            }
            let finding = modulus(&counts.infer(&TimerOptions::default()), false);
            (finding.certainty, finding.because)
        };
        let has = |tops: &[u16], certainty, because: &str| {
            let found = of(tops);
            assert!(found.0 == certainty && found.1.contains(because), "{tops:?}: {found:?}");
        };
        has(&[u16::MAX; 4], Certainty::Inferred, "nothing contradicts the 16 bits");
        has(&[300], Certainty::Inferred, "its falls (1) are taken for restarts or damage");
        has(&[300, 5000, 1000], Certainty::Inferred, "its falls (3) are taken");
        has(&[1000; 2], Certainty::Ambiguous, "2 of 2 falls of the tick count come from about 9");
        has(&[1000; 4], Certainty::Inferred, "4 of 4 falls of the tick count are wraps from 9");
    }
}
