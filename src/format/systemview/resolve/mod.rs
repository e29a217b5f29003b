//! Packets in file order → events of the common model.
//!
//! Time stamps are differences, so there is nothing to unwrap: the time is their sum. Two things are not in the sum. A restart of the
//! target begins again at 0; the first pass finds restarts ([`super::scan`]). And damage loses the differences of the packets in it: the time
//! after that is the earliest possible one, until the target sends its clock (`SYSTIME_CYCLES`).

mod drops;
mod events;
mod handles;
mod names;
mod stops;
mod view;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::decode::{Bad, Record, Records};
use super::descriptions::Kernel;
use super::hooks::Hooks;
use super::packet::{CONFIRMED_BY, Framing, Packet, Reading, is_sent_start};
use super::program;
use super::record::{Fields, id};
use super::scan::{Init, SessionStart, Setup, later};
use crate::clock::{Copies, RESTART_GAP_NS, SESSIONS_LIMIT};
use crate::format::options::overridden_rate;
use crate::format::program::Lookups;
use crate::format::{Detail, Facts, ListRecord, Resolve, Resolved, SHARED_LOSSES};
use crate::model::{
    Certainty, CoreId, Event, EventKind, Finding, IsrId, LaneId, Ledger, LossKind, LossNote, Matter, NameId, Nanos,
    OpenFunctions, Rate, RecordedWaits, TaskId, Ticks,
};
use crate::model::{counted, losses};
use crate::printf::Format;
use crate::printf::escape::PendingText;
use crate::symbols::Symbols;
use drops::Drops;
use handles::Shared;
use names::Lives;
use stops::Stop;

/// Without a recorded rate, a tick is taken for this fraction of a second.
const ASSUMED_HZ: u64 = 1_000_000;

/// An unusual difference elsewhere than beside damage is doubtful if it is longer than this many seconds.
const DOUBTFUL_SECONDS: u64 = 1;

/// A ring begins within its oldest packet. What is not a packet in its first bytes is the rest of that one, whose bytes may also look like packets.
const BEGIN_BYTES: usize = 64;

/// More changes of the rate are not listed.
const RATES_LISTED: usize = 8;

/// The state of a core.
#[derive(Default)]
struct CoreState {
    core: CoreId,
    running: Option<TaskId>,
    is_idle: bool,
    /// Whether the running task has said why it will leave.
    has_reason: bool,
    /// Whether the running task is not ready any more: it will leave.
    is_leaving: bool,
    /// Tasks that an executor in an interrupt keeps from running, the outermost first.
    preempted: Vec<TaskId>,
    isrs: Vec<IsrId>,
    /// The task that runs when these have ended.
    due: Option<TaskId>,
    timers: Vec<LaneId>,
    /// Whether a call is open that moves a task from one list of ready tasks to another, and the task whose priority was set last.
    is_moving: Option<u16>,
    moved: Option<TaskId>,
    /// The call that the port for FreeRTOS 11 may record once more within itself, and its lane.
    hooked: Option<(Option<LaneId>, u16)>,
    /// Zephyr: whether the running thread is about to sleep, or has begun to lock a mutex since it runs, and the thread that was aborted last.
    is_sleeping: bool,
    is_locking: bool,
    aborted: Option<TaskId>,
    /// Zephyr: the thread that the running one has just woken.
    woken: Option<TaskId>,
    /// Whether a call is open that began before it was known what runs.
    has_stray: bool,
    /// RT-Thread: since when the present thread runs.
    since: Nanos,
}

/// More texts are read again for each message.
const FORMATS_LIMIT: usize = 1 << 12;

/// Where a restart is, and where it is drawn.
#[derive(Clone, Copy, Debug)]
struct Restart {
    offset: u64,
    /// The sum of all time stamps before it.
    ticks_before: u64,
    /// The time at which the next session begins.
    base_ticks: u64,
}

/// From ticks to times. A session may have another rate than the one before it: its times go on where that one ended.
#[derive(Clone, Copy, Debug)]
struct Clock {
    rate: Rate,
    hz: u64,
    /// Ticks, and their time, …
    ticks: u64,
    /// … from which on the rate holds.
    nanos: u64,
}

impl Clock {
    fn new(rate: Rate) -> Clock {
        Clock { rate, hz: (rate.hz() as u64).max(1), ticks: 0, nanos: 0 }
    }

    #[inline]
    fn time(&self, ticks: u64) -> Option<Nanos> {
        let since = self.rate.to_nanos(Ticks(ticks.saturating_sub(self.ticks)))?;
        let nanos = since.0.checked_add(self.nanos)?;
        (nanos <= Nanos::MAX.0).then_some(Nanos(nanos))
    }

    /// Another rate holds from these ticks on.
    fn change(&mut self, rate: Rate, ticks: u64) {
        if rate != self.rate {
            let nanos = self.time(ticks).unwrap_or(Nanos::MAX).0;
            *self = Clock { ticks, nanos, ..Clock::new(rate) };
        }
    }
}

/// The resolver of one input.
struct InputResolver {
    clock: Clock,
    reading: Reading,
    cores: [CoreState; 2],
    restarts: std::vec::IntoIter<Restart>,
    next_restart: Option<Restart>,
    is_copy: bool,
    /// How many events were lost that are counted with an earlier input.
    counted_elsewhere: u64,
    /// The sum of all time stamps.
    sum: u64,
    /// Is added to the sum.
    base: i128,
    last_ns: u64,
    session: u32,
    init: Init,
    /// Where ids get other tasks, and which one of its tasks an id has, if not the first one of the session.
    next_lives: Lives,
    lives: FxHashMap<u32, u32>,
    drops: Drops,
    /// Whether the session begins with a start: then the target's clock was 0 at the time 0.
    has_start: bool,
    is_damaged: bool,
    /// How many packets there were from the last damage to the stop of the recorder.
    stopped_at: Option<u64>,
    /// A longer silence than this before a start is one of a recorder that was stopped.
    silence_ticks: Option<u64>,
    /// Whether the task that the present packet makes ready was ready, or is not created yet.
    is_no_wake_up: bool,
    /// What the present packet means if it says that a task stops, and how many packets after it say nothing.
    stop: Stop,
    void_packets: u8,
    /// Whether the next packet names the task that runs after the interrupts.
    is_due: bool,
    /// Whether the present start comes after such a silence.
    is_after_silence: bool,
    /// How many packets there were since the last damage.
    since_damage: u64,
    /// The ticks between two packets that follow each other closely.
    close_ticks: Option<u64>,
    /// A longer difference is unusual, …
    unusual_ticks: u64,
    /// … and one longer than this may be made up by damage.
    longest_ticks: u64,
    /// By how much the target's clock is ahead of the time since the session's start, modulo its range.
    clock_ahead: Option<u32>,
    copies: Copies,
    /// Where a copy of bytes before it ends: its packets are left out.
    copied_until: u64,
    /// The offsets of overflow packets that damage has made up.
    made_up_overflows: Vec<u64>,
    /// The losses before the next event.
    pending: Vec<LossNote>,
    /// The open functions of each lane.
    open_functions: FxHashMap<LaneId, OpenFunctions>,
    /// Zephyr: the threads that sleep, and the one that has begun to suspend itself.
    sleepers: FxHashSet<TaskId>,
    suspending: Option<TaskId>,
    /// ThreadX: the threads that are known to be ready, to wait or to be suspended.
    alive: FxHashSet<TaskId>,
    /// RT-Thread: the threads that another one has kept from running, and that one.
    kept_by: FxHashMap<TaskId, TaskId>,
    /// Whether its version records that a thread that sleeps, or another one that is suspended, stops being ready: then it does so there, not at the call.
    sleeps_are_recorded: bool,
    suspensions_are_recorded: bool,
    /// Whether the interrupt of the system timer is recorded.
    timer_is_recorded: bool,
}

/// Turns packets into events.
pub(super) struct Resolver {
    inputs: Vec<InputResolver>,
    context: Context,
    facts: Facts,
}

/// The state that all inputs share.
struct Context {
    shared: Shared,
    /// Whether an option gives the rate of all sessions.
    is_rate_given: bool,
    symbols: Option<Arc<Symbols>>,
    /// Blocks of the heap: address, time in ticks, bytes.
    allocations: Vec<(u32, u64, u32)>,
    words: Words,
    /// The names of functions and of places of calls by their addresses, if the program has them.
    code_names: [FxHashMap<u64, Option<NameId>>; 2],
    has_words: bool,
    /// Memory for the arguments of a message, and for its text.
    arguments: Vec<u8>,
    text: PendingText,
    /// The formats of messages by their texts, up to [`FORMATS_LIMIT`].
    formats: FxHashMap<Box<[u8]>, Arc<Format>>,
    /// Whether packets that concern all cores are in the streams of all of them.
    has_copies: bool,
    /// Whether there are several inputs.
    has_inputs: bool,
    lookups: Lookups,
}

/// Names of arguments.
#[derive(Default)]
struct Words {
    result: Option<NameId>,
    heap: Option<NameId>,
    address: Option<NameId>,
    bytes: Option<NameId>,
    tag: Option<NameId>,
    called_at: Option<NameId>,
    arguments: [Option<NameId>; 10],
    callers: [Option<NameId>; 10],
}

impl Resolver {
    pub(super) fn new(setups: Vec<Setup>) -> Resolver {
        let shared = Shared::new(&setups);
        let options = setups.first().map(|setup| setup.options.clone()).unwrap_or_default();
        let is_rate_given = options.clock.is_some();
        let (rate, origin, certainty) = match (options.clock, shared.init(0).rate()) {
            (Some(rate), _) => (rate, "given by an option", Certainty::Known),
            (None, Some(rate)) => (rate, "recorded in the capture", Certainty::Known),
            (None, None) => {
                (Rate::from_hz(ASSUMED_HZ, 1).unwrap_or(Rate::NANOSECOND), "assumed, no packet has it", Certainty::Assumed)
            }
        };
        let clock = Clock::new(rate);
        let rate_of = |session| shared.init(session).rate().filter(|_| !is_rate_given).unwrap_or(rate);
        let drawn = draw_restarts(&setups, |session| Clock::new(rate_of(session)).hz);
        let mut allocations = Vec::new();
        let mut inputs = Vec::new();
        let mut facts = Facts { sessions: drawn.iter().map(Vec::len).max().unwrap_or(0) as u32 + 1, ..Facts::default() };
        for (setup, restarts) in setups.iter().zip(drawn) {
            for &(address, ticks, bytes) in &setup.facts.allocations {
                let place = restarts.partition_point(|restart| restart.ticks_before < ticks).checked_sub(1);
                let restart = place.and_then(|place| restarts.get(place));
                let (before, base) = restart.map_or((0, 0), |restart| (restart.ticks_before, restart.base_ticks));
                allocations.push((address, base + (ticks - before.min(ticks)), bytes));
            }
            inputs.push(InputResolver::new(setup, inputs.len(), restarts, clock, &shared));
        }
        allocations.sort_unstable();
        facts.clock = Some((rate, origin));
        facts.hints.extend(overridden_rate(options.clock, shared.init(0).rate()));
        facts.findings.push(Finding::new(Matter::Clock, certainty, origin.trim_start_matches("assumed, ")));
        facts.begins_midway = true;
        facts.cores = setups.iter().flat_map(Setup::cores).map(|core| core.0.saturating_add(1)).max().unwrap_or(1);
        facts.system = match shared.kernel {
            Some(Kernel::FreeRtos | Kernel::FreeRtosEspressif) => Some("FreeRTOS"),
            Some(Kernel::Zephyr) => Some("Zephyr"),
            Some(Kernel::Other(_)) | None => None,
        };
        let symbols = options.program.as_ref().map(|program| program.symbols.clone());
        describe(&shared, &setups, &mut facts);
        if !is_rate_given {
            describe_rates(&shared, facts.sessions, rate, &mut facts.details);
        }
        let has_copies = setups.iter().any(|setup| setup.is_copy);
        Resolver {
            inputs,
            facts,
            context: Context {
                shared,
                is_rate_given,
                symbols,
                allocations,
                words: Words::default(),
                code_names: Default::default(),
                has_words: false,
                arguments: Vec::new(),
                text: PendingText::default(),
                formats: FxHashMap::default(),
                has_copies,
                has_inputs: setups.len() > 1,
                lookups: Lookups::default(),
            },
        }
    }
}

impl Setup {
    /// The sessions but the first.
    pub(super) fn restarts(&self) -> impl Iterator<Item = SessionStart> + '_ {
        self.sessions.iter().copied().filter(|session| session.ticks_before > 0)
    }

    /// The core of a packet with this bit.
    pub(super) fn core_of(&self, bit: u8) -> CoreId {
        match (bit, self.facts.cores) {
            (_, [false, true]) => CoreId(1),
            (0, [_, false]) => self.core,
            _ => CoreId(u16::from(bit)),
        }
    }
}

/// The restarts of each input. A restart is one of all cores, so sessions of the same number begin together.
fn draw_restarts(setups: &[Setup], hz_of: impl Fn(u32) -> u64) -> Vec<Vec<Restart>> {
    let all: Vec<Vec<SessionStart>> = setups.iter().map(|setup| setup.restarts().collect()).collect();
    let mut bases: Vec<u64> = Vec::new();
    for number in 0..all.iter().map(Vec::len).max().unwrap_or(0) {
        let gap = (hz_of(number as u32) / (1_000_000_000 / RESTART_GAP_NS)).max(1);
        let end_of = |starts: &Vec<SessionStart>| {
            let start = starts.get(number)?;
            let (before, base) = match number.checked_sub(1) {
                Some(previous) => (starts.get(previous)?.ticks_before, bases.get(previous).copied().unwrap_or(0)),
                None => (0, 0),
            };
            Some(base + (start.ticks_before - before.min(start.ticks_before)))
        };
        bases.push(all.iter().filter_map(end_of).max().unwrap_or(0) + gap);
    }
    let drawn = |starts: Vec<SessionStart>| {
        let restart = |(start, &base_ticks): (&SessionStart, &u64)| Restart {
            offset: start.offset,
            ticks_before: start.ticks_before,
            base_ticks,
        };
        starts.iter().zip(&bases).map(restart).collect()
    };
    all.into_iter().map(drawn).collect()
}

/// The sessions whose rate is another one than that of the session before.
fn describe_rates(shared: &Shared, sessions: u32, mut rate: Rate, details: &mut Vec<Detail>) {
    let changed = (1..sessions).filter_map(|session| {
        let init = shared.init(session);
        let next = init.rate().filter(|&next| next != rate)?;
        rate = next;
        Some(format!("{} Hz from session {} on", init.sys_freq, session + 1))
    });
    let changed: Vec<String> = changed.take(RATES_LISTED).collect();
    if !changed.is_empty() {
        let source = "recorded in the capture".to_owned();
        details.push(Detail { name: "other clocks", value: changed.join(", "), source });
    }
}

fn describe(shared: &Shared, setups: &[Setup], facts: &mut Facts) {
    let has_system = facts.system.is_some();
    let mut detail = |name, value: String, source: &str| facts.details.push(Detail { name, value, source: source.to_owned() });
    for (key, name) in [("N", "application"), ("D", "device"), ("C", "core")] {
        if let Some(value) = shared.system.get(key) {
            detail(name, value.clone(), "recorded in the capture");
        }
    }
    if let Some(os) = shared.system.get("O").filter(|_| !has_system) {
        detail("operating system", os.clone(), "recorded in the capture");
    }
    if let (Some(setup), true) = (setups.first(), setups.iter().any(|setup| setup.reading == Reading::CoreBit)) {
        let is_mixed = setup.facts.cores == [true, true];
        let value = if is_mixed { "both cores in one stream" } else { "one core in a stream" };
        detail("event ids", format!("with a bit for the core, {value}"), "inferred from the name of the device");
    }
    if setups.iter().any(|setup| setup.reading == Reading::Wide) {
        detail("numbers", "of up to 64 bits".to_owned(), "inferred: packets at the begin have numbers of more than 32");
    }
    let undecided: u64 = setups.iter().map(|setup| setup.undecided).max().unwrap_or(0);
    if undecided > 0 {
        let value = format!("{undecided} more, each of which may be a restart of the target");
        detail("starts of the recorder", value, "inferred: the clocks at them fit both");
    }
    if let Some(first) = shared.inferred_functions {
        let source = "inferred: their first arguments are addresses of functions in the program";
        detail("function calls", format!("event ids {first} and {}", first + 1), source);
    }
    if shared.waits == RecordedWaits::Nothing && setups.iter().any(|setup| setup.facts.tasks.values().any(|one| one.runs)) {
        detail("states of tasks", "unknown while they do not run".to_owned(), "no packet says that a task becomes ready");
    }
    let timeouts = shared.timeouts();
    if timeouts > 0 {
        let source = "inferred: as many timers are at the same distance from the begin of a thread";
        detail("timers that end waits", format!("those of {}", counted(timeouts, "thread")), source);
    }
    let tasks = shared.task_names();
    if tasks > 0 {
        detail("names", counted(tasks, "task"), "recorded in the capture");
    }
    let variables = shared.variables();
    if variables > 0 {
        let source = "inferred: variables at the addresses of tasks without a name";
        detail("names from the program", counted(variables, "task"), source);
    }
    for (path, _) in setups.first().map(|setup| setup.options.descriptions.as_slice()).unwrap_or(&[]) {
        detail("descriptions", counted(shared.descriptions.len(), "event"), path);
    }
    if shared.descriptions.is_empty() && shared.kernel.is_none() {
        facts.hints.push(
            "The names of the kernel's functions are not known: --systemview-desc FILE reads them from a SYSVIEW_….txt of the operating \
             system."
                .to_owned(),
        );
    }
    let options = setups.first().map(|setup| &setup.options);
    let program = options.and_then(|options| options.program.as_ref());
    program::describe(program, &shared.system, options.is_some_and(|options| options.is_match_required), facts);
    let has_symbols = program.is_some();
    if shared.heap_offset.is_some() && !has_symbols {
        facts.hints.push("The heap's events have call stacks: --elf FILE names the functions in them.".to_owned());
    }
    if shared.has_functions && !has_symbols {
        facts.hints.push("Functions are recorded by their addresses: --elf FILE names them.".to_owned());
    }
    if let (Some(first), Some(last)) = (shared.unnamed.first(), shared.unnamed.last()) {
        let traced = if has_symbols { "" } else { ", and --elf FILE finds out whether they are calls of functions" };
        facts.hints.push(format!(
            "No module describes its events from {first} to {last}: --systemview-desc FILE reads their names from a text file{traced}."
        ));
    }
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        self.context.prepare(0, out);
        let Some(input) = self.inputs.get_mut(input) else { return };
        account(records, out.ledger);
        out.batch.events.reserve(records.packets.len());
        out.batch.args.reserve(records.packets.len());
        let mut start = 0;
        for bad in &records.bad {
            input.packets(records, start..bad.index, bytes, &mut self.context, out);
            let note = account_bad(bad, !input.has_start, bytes, &mut input.copies, out.ledger);
            input.note_bad(note);
            input.note_copy(bad.range.1 as u64, bytes, out.ledger);
            start = bad.index;
        }
        input.packets(records, start..records.packets.len(), bytes, &mut self.context, out);
    }

    fn finish(&mut self, input: usize, _bytes: &[u8], out: &mut Resolved<'_>) {
        self.context.prepare(0, out);
        if let Some(input) = self.inputs.get_mut(input) {
            input.emit_losses(Nanos(input.last_ns), out);
        }
    }

    fn dump(&mut self, input: usize, bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        if let Some(input) = self.inputs.get_mut(input) {
            account(records, ledger);
            for bad in &records.bad {
                account_bad(bad, !input.has_start, bytes, &mut input.copies, ledger);
            }
            view::dump_part(input, &self.context.shared, records, bytes, out);
        }
    }

    fn facts(&self) -> Facts {
        let of_input = |input: &InputResolver| {
            let lost = Some(input.counted_elsewhere).filter(|&lost| lost > 0)?;
            let value = format!("at least {} of all cores, counted with the first", counted(lost, "event"));
            Some(Detail { name: SHARED_LOSSES, value, source: "recorded in the capture".to_owned() })
        };
        let details_of = self.inputs.iter().map(|input| of_input(input).into_iter().collect()).collect();
        let mut facts = Facts { details_of, ..self.facts.clone() };
        if self.context.symbols.is_some() {
            facts.hints.extend(self.context.lookups.hint());
        }
        facts
    }
}

fn loss_of(bad: &Bad, begins_midway: bool) -> LossKind {
    if bad.is_truncated {
        losses::TRUNCATED_FRAME
    } else if begins_midway && bad.range.0 < BEGIN_BYTES {
        losses::STARTS_WITHIN_PACKET
    } else {
        losses::DAMAGED_PACKET
    }
}

/// Enters the packets of a part in the ledger.
fn account(records: &Records, ledger: &mut Ledger) {
    ledger.decoded_bytes += records.ok_bytes;
    ledger.frames_ok += records.packets.len() as u64;
}

/// Enters bad bytes in the ledger, and gives their loss. The packets before them must be resolved: the number of searches for copies is
/// limited, so their order has an influence.
fn account_bad(bad: &Bad, begins_midway: bool, bytes: &[u8], copies: &mut Copies, ledger: &mut Ledger) -> LossNote {
    let (offset, len) = (bad.range.0 as u64, (bad.range.1 - bad.range.0) as u64);
    let kind = loss_of(bad, begins_midway);
    let is_lost = match kind == losses::STARTS_WITHIN_PACKET {
        // It is one packet, in one piece or more.
        true => offset == 0,
        false => bad.is_truncated || !copies.begins_at(bytes, offset + len),
    };
    let at_least_lost = u64::from(is_lost);
    ledger.bad_frame(kind, offset, len, at_least_lost);
    LossNote { kind, offset, bytes: len, at_least_lost }
}

impl Context {
    /// Makes the entities of a session, and the names of arguments.
    fn prepare(&mut self, session: u32, out: &mut Resolved<'_>) {
        self.shared.prepare(session, out.entities);
        if !std::mem::replace(&mut self.has_words, true) {
            let mut numbered = |base: &str| std::array::from_fn(|index| out.entities.add_name(&format!("{base} {index}")));
            let (arguments, callers) = (numbered("argument"), numbered("caller"));
            let mut name = |text| out.entities.add_name(text);
            self.words = Words {
                result: name("result"),
                heap: name("heap"),
                address: name("address"),
                bytes: name("bytes"),
                tag: name("tag"),
                called_at: name("called at"),
                arguments,
                callers,
            };
        }
    }

    /// Keeps the name of code at an address, if there is room, and returns it.
    fn remember_name(&mut self, kind: usize, address: u64, name: Option<NameId>) -> Option<NameId> {
        let names = &mut self.code_names[kind];
        if names.len() < FORMATS_LIMIT {
            names.insert(address, name);
        }
        name
    }

    /// The format of a message.
    fn format(&mut self, text: &[u8]) -> Arc<Format> {
        if let Some(format) = self.formats.get(text) {
            return format.clone();
        }
        let format = Arc::new(Format::new(text));
        if self.formats.len() < FORMATS_LIMIT {
            self.formats.insert(text.into(), format.clone());
        }
        format
    }

    /// How many bytes the block at an address has that was taken last before a time.
    fn bytes_of(&self, address: u32, ticks: u64) -> u32 {
        let place = self.allocations.partition_point(|&(at, time, _)| (at, time) <= (address, ticks));
        let block = place.checked_sub(1).and_then(|place| self.allocations.get(place));
        block.filter(|block| block.0 == address).map_or(0, |block| block.2)
    }
}

impl InputResolver {
    /// The resolver of an input before its first packet. `number`: its place among the inputs.
    fn new(setup: &Setup, number: usize, restarts: Vec<Restart>, clock: Clock, shared: &Shared) -> InputResolver {
        let mut restarts = restarts.into_iter();
        let start = setup.sessions.first().filter(|session| session.ticks_before == 0);
        InputResolver {
            clock,
            reading: setup.reading,
            cores: [0, 1].map(|bit| CoreState { core: setup.core_of(bit), ..CoreState::default() }),
            next_restart: restarts.next(),
            restarts,
            is_copy: setup.is_copy,
            counted_elsewhere: 0,
            sum: 0,
            base: 0,
            last_ns: 0,
            session: 0,
            init: shared.init(0),
            next_lives: shared.names.lives_of_input(number),
            lives: FxHashMap::default(),
            drops: match start {
                Some(start) if start.counts_from_zero => Drops::from_zero(),
                Some(_) => Drops::default(),
                None => Drops::midway(),
            },
            has_start: start.is_some(),
            is_damaged: false,
            stopped_at: None,
            silence_ticks: setup.facts.longest_ticks(),
            is_no_wake_up: false,
            stop: Stop::Said,
            void_packets: 0,
            is_due: false,
            is_after_silence: false,
            // A recording from the middle of a stream may begin within a packet.
            since_damage: if start.is_some() { u64::MAX } else { 0 },
            close_ticks: setup.facts.close_ticks(),
            unusual_ticks: setup.facts.unusual_ticks(),
            longest_ticks: setup.facts.unusual_ticks().max(DOUBTFUL_SECONDS.saturating_mul(clock.hz)),
            clock_ahead: None,
            copies: Copies::default(),
            copied_until: 0,
            made_up_overflows: setup.facts.made_up_overflows(&setup.sessions),
            pending: Vec::new(),
            open_functions: FxHashMap::default(),
            kept_by: FxHashMap::default(),
            sleepers: FxHashSet::default(),
            suspending: None,
            alive: FxHashSet::default(),
            sleeps_are_recorded: false,
            suspensions_are_recorded: false,
            timer_is_recorded: false,
        }
    }

    /// The time, in ticks.
    fn ticks(&self) -> u64 {
        u64::try_from((i128::from(self.sum) + self.base).max(0)).unwrap_or(u64::MAX)
    }

    /// A task begins or ends at this offset: perhaps its id has another task from here on.
    fn begin_life(&mut self, offset: u64) {
        while let Some((at, task)) = self.next_lives.next_if(|&(at, _)| at <= offset) {
            if at == offset {
                *self.lives.entry(task).or_default() += 1;
            }
        }
    }

    fn note_bad(&mut self, note: LossNote) {
        (self.is_damaged, self.since_damage, self.void_packets, self.is_due) = (true, 0, 0, false);
        if note.kind != losses::STARTS_WITHIN_PACKET {
            self.drops.note_damage();
        }
        note.add_by_kind(&mut self.pending);
    }

    /// Bytes that are there twice after damage that ends at `end` are left out: time does not pass twice.
    fn note_copy(&mut self, end: u64, bytes: &[u8], ledger: &mut Ledger) {
        if end < self.copied_until {
            return;
        }
        let until = end + self.copies.twice(bytes, end);
        if until > end && self.next_restart.is_none_or(|restart| restart.offset >= until) {
            ledger.enter(losses::DUPLICATED_BLOCK, end, 0);
            self.copied_until = until;
        }
    }

    #[cold]
    fn emit_losses(&mut self, time: Nanos, out: &mut Resolved<'_>) {
        for note in std::mem::take(&mut self.pending) {
            out.batch.add_loss(time, self.cores[0].core, note);
            self.forget();
        }
    }

    /// The state of the cores is unknown from here on.
    fn forget(&mut self) {
        for core in &mut self.cores {
            *core = CoreState { core: core.core, ..CoreState::default() };
        }
        self.open_functions.clear();
        self.sleepers.clear();
        self.suspending = None;
        self.alive.clear();
        self.kept_by.clear();
    }

    /// Resolves some packets of a part.
    fn packets(
        &mut self,
        records: &Records,
        range: std::ops::Range<usize>,
        bytes: &[u8],
        context: &mut Context,
        out: &mut Resolved<'_>,
    ) {
        let packets = records.packets.get(range).unwrap_or(&[]);
        let end_of = |record: &Record| records.base + u64::from(record.offset) + u64::from(record.packet.bytes);
        let copied = packets.partition_point(|record| end_of(record) <= self.copied_until);
        for record in packets.get(copied..).unwrap_or(&[]) {
            self.packet(&record.packet, records.base + u64::from(record.offset), bytes, context, out);
        }
    }

    /// Advances the time, and appends the packet's events.
    #[inline]
    fn packet(&mut self, packet: &Packet, offset: u64, bytes: &[u8], context: &mut Context, out: &mut Resolved<'_>) {
        if !packet.has_time() {
            return;
        }
        let delta = packet.delta;
        let mut is_first = self.sum == 0;
        if let Some(restart) = self.next_restart.take_if(|restart| restart.offset == offset) {
            self.next_restart = self.restarts.next();
            self.restart(restart, context, out);
            is_first = true;
        }
        self.is_after_silence = !is_first && self.silence_ticks.is_some_and(|ticks| delta > ticks);
        self.sum = later(self.sum, delta);
        self.since_damage = self.since_damage.saturating_add(1);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::from(packet.bytes));
        let is_near = self.since_damage <= CONFIRMED_BY as u64;
        if packet.id == id::OVERFLOW {
            self.place_overflow(packet, bytes, start, end);
        }
        if delta > self.unusual_ticks && !(packet.id == id::TRACE_START && is_sent_start(self.reading, bytes, start)) {
            if is_near || !Framing::new(self.reading).is_confirmed(bytes, end) {
                // The begin or the end of this packet was found by chance.
                self.base -= i128::from(delta);
                out.ledger.enter(losses::TIME_OUTLIER, offset, 0);
            } else if delta > self.longest_ticks {
                let step = self.clock.rate.to_nanos(Ticks(delta)).unwrap_or_default();
                out.ledger.enter_doubt(offset, format!("a step of {step}, which is taken, or damage that looks like packets"));
            }
        }
        let mut fields = packet.fields(bytes, start);
        match packet.id {
            id::TASK_START_READY => self.is_no_wake_up = self.is_no_wake_up(fields, bytes, end, &context.shared),
            id::TASK_STOP_EXEC | id::TASK_STOP_READY if context.shared.hooks.stop_otherwise(packet.id) => {
                self.stop = self.stop(packet.id, fields, bytes, end, &context.shared);
            }
            id::SYSTIME_CYCLES => self.compare_clock(fields.number()),
            _ => {}
        }
        let time = match self.clock.time(self.ticks()) {
            Some(time) => time,
            None => {
                out.ledger.enter(losses::TIME_OVERFLOW, offset, 0);
                Nanos::MAX
            }
        };
        let time = time.max(Nanos(self.last_ns));
        self.last_ns = time.0;
        out.batch.note_judged(offset, time);
        if !self.pending.is_empty() {
            self.emit_losses(time, out);
        }
        if self.void_packets > 0 {
            self.void_packets -= 1;
            return;
        }
        events::resolve(self, packet, fields, events::At { time, offset }, context, out);
    }

    /// Whether the packet after one that makes a task ready says that the task inherits a priority, as the ports for FreeRTOS 10 record it: then
    /// it was ready, in the list of another priority. Or that it is created, as µC/OS-II records it: it is ready from there on.
    fn is_no_wake_up(&self, mut task: Fields<'_>, bytes: &[u8], end: usize, shared: &Shared) -> bool {
        let event = if shared.hooks == Hooks::MicroCos { Some(id::TASK_CREATE) } else { shared.inherit };
        let next = event.and_then(|event| Framing::new(self.reading).read(bytes, end).filter(|next| next.id == event));
        next.is_some_and(|next| {
            let (task, holder) = (task.long(), next.fields(bytes, end).long());
            holder == task || holder == self.init.address(task)
        })
    }

    fn restart(&mut self, restart: Restart, context: &mut Context, out: &mut Resolved<'_>) {
        let Restart { offset, ticks_before, base_ticks } = restart;
        let reached = self.ticks();
        self.base = i128::from(base_ticks.max(reached)) - i128::from(ticks_before);
        self.sum = ticks_before;
        self.forget();
        (self.stopped_at, self.is_damaged, self.drops, self.clock_ahead) = (None, false, Drops::from_zero(), None);
        self.has_start = true;
        if self.session + 1 >= SESSIONS_LIMIT {
            return;
        }
        self.session += 1;
        self.lives.clear();
        self.init = context.shared.init(self.session);
        if let Some(rate) = self.init.rate().filter(|_| !context.is_rate_given) {
            self.clock.change(rate, self.ticks());
            self.longest_ticks = self.unusual_ticks.max(DOUBTFUL_SECONDS.saturating_mul(self.clock.hz));
        }
        context.prepare(self.session, out);
        out.ledger.enter(losses::SESSION_RESTART, offset, 0);
        let time = self.clock.time(self.ticks()).unwrap_or(Nanos::MAX).max(Nanos(self.last_ns));
        self.emit_losses(time, out);
        out.batch.events.push(Event { time, core: self.cores[0].core, kind: EventKind::SessionStart(self.session) });
    }

    /// The target's clock when it sent this packet. After damage, it gives the ticks that were lost.
    fn compare_clock(&mut self, cycles: u32) {
        let ahead = cycles.wrapping_sub(self.ticks() as u32);
        // The clock may have run before the recording began.
        let first = if self.is_damaged && self.has_start { 0 } else { ahead };
        let missing = ahead.wrapping_sub(*self.clock_ahead.get_or_insert(first));
        if self.is_damaged && u64::from(missing) > self.clock.hz / 1000 && missing < 1 << 31 {
            self.base += i128::from(missing);
        }
        self.is_damaged = false;
    }
}
