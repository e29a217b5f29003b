//! The first pass: the header, the registry, and the cores that have events.

use rustc_hash::FxHashMap;

use super::decode::{Decoder, Entry, IN_INITIALIZATION, IN_INTERRUPT, Slot, places};
use super::layout::{Layout, kind};
use super::names::{Names, id};
use super::resolve::Resolver;
use crate::format::{FormatOptions, Part, Recording, Stages};
use crate::model::{CoreId, Ledger, Rate, losses, lossy};

/// The limit of objects in a registry.
const METADATA_LIMIT: usize = 1 << 16;

/// The first pass over a recording.
pub(super) struct Scanner {
    inputs: Vec<(Option<Rate>, CoreId)>,
    names: Names,
}

impl Scanner {
    pub(super) fn new(inputs: &[FormatOptions], names: Names) -> Scanner {
        let inputs = (0..).zip(inputs).map(|(index, input)| (input.clock, CoreId(input.core.unwrap_or(index)))).collect();
        Scanner { inputs, names }
    }
}

/// An object of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    pub kind: u8,
    pub parameters: [u32; 2],
    pub priority: Option<u32>,
    pub name: String,
}

impl Registered {
    /// How many messages a queue can hold. The parameters are the size of its memory in bytes and that of a message in words, or, if it was
    /// created before the trace was enabled, the size of as many words and 0.
    pub fn queue_capacity(&self, word_bytes: u32) -> Option<u32> {
        let [bytes, words] = self.parameters;
        Some(bytes / word_bytes / words.max(1)).filter(|&messages| self.kind == kind::QUEUE && messages > 0)
    }
}

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    pub layout: Option<Layout>,
    /// By address.
    pub objects: FxHashMap<u32, Registered>,
    /// The bit of each core that has events.
    pub cores: u64,
    pub events: u64,
    pub unused: u64,
    /// How many entries say that a thread waits or is resumed: those of the scheduler may be filtered.
    pub scheduled: u64,
    /// How many time stamps are after, and before, the one before them.
    rises: u64,
    falls: u64,
    /// How many entries show that the kernel records the interrupted thread, and how many that it does not.
    interrupted: u64,
    uninterrupted: u64,
    /// The first and the last time stamp.
    first: Option<u64>,
    last: Option<u64>,
    excess: u64,
}

impl ScanFacts {
    /// The length of a word.
    pub fn word_bytes(&self) -> u32 {
        self.layout.map_or(4, |layout| layout.word_bytes as u32)
    }

    /// Whether the clock counts down, as many hardware timers do.
    pub fn is_down(&self) -> bool {
        self.falls > self.rises
    }

    /// Whether entries of interrupts have the interrupted thread. Kernels that do not record the threshold of threads do not.
    pub fn records_interrupted(&self) -> bool {
        self.interrupted > self.uninterrupted
    }

    fn count_kernel(&mut self, entry: &Entry) {
        let has_more = if entry.thread == IN_INTERRUPT { entry.priority != 0 } else { entry.priority >> 31 != 0 };
        match entry.thread {
            IN_INITIALIZATION => {}
            _ if has_more => self.interrupted += 1,
            IN_INTERRUPT => {}
            _ => self.uninterrupted += 1,
        }
    }

    fn count_step(&mut self, next: u64) {
        if let Some(last) = self.last {
            self.rises += u64::from(next > last);
            self.falls += u64::from(next < last);
        }
    }
}

/// The facts about an input for the second pass.
pub(super) struct Setup {
    pub clock: Option<Rate>,
    pub core: CoreId,
    pub facts: ScanFacts,
}

impl Setup {
    /// The cores that may have events.
    fn cores(&self) -> Vec<CoreId> {
        let cores = (0..64).filter(|bit| self.facts.cores & 1 << bit != 0);
        let mut cores: Vec<CoreId> = cores.map(|bit| CoreId(self.core.0.saturating_add(bit))).collect();
        if cores.is_empty() {
            cores.push(self.core);
        }
        cores
    }
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = ScanFacts;
    type Decoder = Decoder;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        let Ok(layout) = Layout::read(input) else { return if at == 0 { 0 } else { input.len() } };
        let ring = layout.ring_in(input.len());
        match at {
            0 => 0,
            at if at <= ring.start => ring.start,
            at if at <= ring.end => ring.start + (at - ring.start).next_multiple_of(layout.entry_bytes()),
            _ => input.len(),
        }
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> ScanFacts {
        let mut facts = ScanFacts::default();
        let Ok(layout) = Layout::read(part.input) else { return facts };
        if part.start == 0 {
            facts.layout = Some(layout);
            for object in layout.objects(part.input) {
                // An object that is gone gives way to another one at its address.
                if object.is_free && facts.objects.contains_key(&object.pointer) {
                    continue;
                }
                if facts.objects.len() >= METADATA_LIMIT {
                    facts.excess += 1;
                    continue;
                }
                let name = lossy(object.name);
                let (kind, parameters, priority) = (object.kind, object.parameters, object.priority);
                facts.objects.insert(object.pointer, Registered { kind, parameters, priority, name });
            }
        }
        for at in places(&layout, part.input, part.start..part.end) {
            match Slot::read(&layout, part.input, at) {
                Slot::Event(entry) => {
                    facts.events += 1;
                    facts.scheduled += u64::from(matches!(entry.id, id::THREAD_RESUME | id::THREAD_SUSPEND));
                    facts.cores |= 1 << entry.core;
                    facts.count_step(entry.time);
                    facts.count_kernel(&entry);
                    (facts.first, facts.last) = (facts.first.or(Some(entry.time)), Some(entry.time));
                }
                Slot::Unused => facts.unused += 1,
                Slot::Bad => {}
            }
        }
        facts
    }

    fn join(&self, _bytes: &[u8], facts: &mut ScanFacts, next: ScanFacts) {
        if next.layout.is_some() {
            (facts.layout, facts.objects, facts.excess) = (next.layout, next.objects, next.excess);
        }
        facts.cores |= next.cores;
        facts.events += next.events;
        facts.scheduled += next.scheduled;
        facts.unused += next.unused;
        next.first.into_iter().for_each(|first| facts.count_step(first));
        (facts.first, facts.last) = (facts.first.or(next.first), next.last.or(facts.last));
        facts.rises += next.rises;
        facts.falls += next.falls;
        facts.interrupted += next.interrupted;
        facts.uninterrupted += next.uninterrupted;
    }

    fn finish(self, facts: Vec<ScanFacts>, ledgers: &mut [Ledger]) -> Stages<Decoder, Resolver> {
        for (facts, ledger) in facts.iter().zip(ledgers) {
            ledger.enter_unplaced(losses::METADATA_LIMIT, facts.excess);
        }
        let setups: Vec<Setup> =
            facts.into_iter().zip(self.inputs).map(|(facts, (clock, core))| Setup { clock, core, facts }).collect();
        Stages { cores: setups.iter().map(Setup::cores).collect(), decode: Decoder, resolve: Resolver::new(setups, self.names) }
    }
}
