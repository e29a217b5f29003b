//! The first pass: facts about the whole recording. Lengths of ids that are not in the table, names, and the counts from which the
//! meaning of the time fields is inferred.

use std::collections::BTreeMap;

use super::InputOptions;
use super::decode::{BadPacket, Decoder, Decoders, InputDecoder, Lengths, Packets, Sink, is_open};
use super::record::{HEAD_BYTES, MAX_DATA_BYTES, Packet, entries, id, is_hook, object_type};
use super::resolve::{Resolver, Setup};
use super::sniff::{self, Saved};
use super::timer::TimerCounts;
use crate::format::{Part, Recording, Stages};
use crate::frame::sync;
use crate::model::Ledger;

/// The first pass over a recording.
pub(super) struct Scanner {
    inputs: Vec<InputOptions>,
    cutter: Packets,
}

impl Scanner {
    pub(super) fn new(inputs: Vec<InputOptions>) -> Scanner {
        let cutter = Packets::new(inputs.first().map(|input| input.lengths.clone()).unwrap_or_default());
        Scanner { inputs, cutter }
    }

    fn lengths(&self, input: usize) -> Lengths {
        self.inputs.get(input).map(|input| input.lengths.clone()).unwrap_or_default()
    }
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Option<Box<ScanFacts>>;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        if sniff::is_saved(input) { sniff::cut(input, at) } else { sync::cut(&self.cutter, input, at) }
    }

    fn scan(&self, input: usize, part: Part<'_>) -> ScanFacts {
        let mut facts = ScanFacts { base: part.start as u64, ..ScanFacts::default() };
        if sniff::is_saved(part.input) {
            facts.is_saved = true;
            sniff::scan(part.input, part.start..part.end, &mut facts);
        } else {
            Decoder::new(self.cutter.clone(), self.lengths(input)).each(part.input, part.start..part.end, &mut facts);
        }
        facts
    }

    fn join(&self, _bytes: &[u8], facts: &mut Self::Facts, next: ScanFacts) {
        match facts {
            None => *facts = Some(Box::new(next)),
            Some(facts) => facts.append(next),
        }
    }

    fn finish(self, facts: Vec<Self::Facts>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let mut decoders = Vec::new();
        let mut setups = Vec::new();
        for (number, facts) in facts.into_iter().enumerate() {
            let mut facts = facts.unwrap_or_default();
            let options = self.inputs.get(number);
            let lengths = facts.lengths(&self.lengths(number));
            let core = options.and_then(|options| options.core).unwrap_or(u16::try_from(number).unwrap_or(u16::MAX));
            let timer_options = options.map(|options| options.timer).unwrap_or_default();
            let timer;
            if facts.is_saved {
                let saved = std::mem::take(&mut facts.saved);
                let bad = saved.bad.clone();
                let mut packets = saved.into_records();
                // The time fields can be inspected only now that the packets are in order.
                packets.iter().for_each(|packet| facts.packet(*packet));
                timer = facts.timer_counts.infer(&timer_options);
                packets.iter_mut().for_each(|packet| packet.since_tick = timer.since_tick(packet.timer));
                decoders.push(InputDecoder::Saved { packets: packets.into(), bad: bad.into() });
            } else {
                timer = facts.timer_counts.infer(&timer_options);
                let decoder = Decoder::new(self.cutter.clone(), lengths.clone()).with_timer(timer);
                decoders.push(InputDecoder::Stream(Box::new(decoder)));
            }
            setups.push(Setup { core, timer_options, timer, lengths, facts: *facts });
        }
        let resolver = Resolver::new(setups, ledgers);
        Stages { cores: resolver.cores(), decode: Decoders(decoders), resolve: resolver }
    }
}

/// The number of ids whose length may be missing from the table.
const OPEN_IDS: usize = 101;

/// A set of objects: for each type, a bit for each number.
#[derive(Clone, Debug, Default)]
pub struct Used([[u64; 4]; object_type::TYPES]);

impl Used {
    fn note(&mut self, type_number: u8, number: u8) {
        if let Some(bits) = self.0.get_mut(usize::from(type_number)) {
            bits[usize::from(number >> 6)] |= 1 << (number & 63);
        }
    }

    fn append(&mut self, next: &Used) {
        self.0.iter_mut().flatten().zip(next.0.iter().flatten()).for_each(|(all, next)| *all |= next);
    }

    /// Whether an object is among them.
    #[must_use]
    pub fn is_used(&self, type_number: u8, number: u8) -> bool {
        let bits = self.0.get(usize::from(type_number)).copied().unwrap_or_default();
        bits[usize::from(number >> 6)] >> (number & 63) & 1 != 0
    }
}

/// The limit of [`ScanFacts::listed`].
const LISTED_LIMIT: usize = 1 << 16;

/// A name in an object list, or a task that is created under a number.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where the packet is in the input.
    pub offset: u64,
    pub type_number: u8,
    pub number: u8,
    /// `None`: created.
    pub name: Option<Vec<u8>>,
}

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug)]
pub struct ScanFacts {
    /// The number of packets, by id.
    pub counts: Box<[u64; 256]>,
    /// How often N bytes of data precede the next preamble, by id and N.
    distances: Vec<[u32; MAX_DATA_BYTES + 1]>,
    /// The last name of each object, by type and number.
    pub names: BTreeMap<(u8, u8), Vec<u8>>,
    /// All names and creations of tasks, in file order.
    pub listed: Vec<Listed>,
    /// How many of them were left out.
    pub unlisted: u64,
    /// Where the part begins in the input.
    base: u64,
    /// The number of entries in object lists whose object number the tracer had lost.
    pub lost_numbers: u64,
    /// The objects that an operation or a list names.
    pub used: Used,
    /// How often each task was switched in, by number.
    pub switches: Box<[u64; 256]>,
    /// The tasks that were created, and those that were deleted.
    pub created: Used,
    pub deleted: Used,
    /// The counts from which the meaning of the time fields is inferred.
    pub timer_counts: TimerCounts,
    /// Whether the input is a saved measurement.
    pub is_saved: bool,
    /// Its content.
    pub saved: Saved,
    /// The object list whose packet follows.
    list: Vec<u8>,
}

impl Default for ScanFacts {
    fn default() -> Self {
        ScanFacts {
            counts: Box::new([0; 256]),
            distances: vec![[0; MAX_DATA_BYTES + 1]; OPEN_IDS],
            names: BTreeMap::new(),
            listed: Vec::new(),
            unlisted: 0,
            base: 0,
            lost_numbers: 0,
            used: Used::default(),
            switches: Box::new([0; 256]),
            created: Used::default(),
            deleted: Used::default(),
            timer_counts: TimerCounts::default(),
            is_saved: false,
            saved: Saved::default(),
            list: Vec::new(),
        }
    }
}

/// What packets of an id say about the whole recording, besides their time.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    UsesObject,
    SwitchesIn,
    /// See [`ScanFacts::add_rare`].
    Rare,
}

const fn says(id: u8) -> Says {
    match id {
        id::BLOCKING_ON_QUEUE_RECEIVE..=id::BLOCKING_ON_QUEUE_SEND
        | id::GIVE_MUTEX_RECURSIVE..=id::TAKE_MUTEX_RECURSIVE_FAILED
        | id::QUEUE_SEND..=id::QUEUE_PEEK_FROM_ISR_FAILED => Says::UsesObject,
        id::TASK_SWITCHED_IN => Says::SwitchesIn,
        id::TASK_CREATE | id::TASK_DELETE => Says::Rare,
        _ if is_hook(id) => Says::Nothing,
        _ => Says::Rare,
    }
}

const SAYS: [Says; 256] = {
    let mut table = [Says::Nothing; 256];
    let mut id = 0;
    while id < table.len() {
        table[id] = says(id as u8);
        id += 1;
    }
    table
};

impl Sink for ScanFacts {
    #[inline(always)]
    fn packet(&mut self, packet: Packet) {
        self.counts[usize::from(packet.id)] += 1;
        match SAYS[usize::from(packet.id)] {
            Says::Nothing => {}
            Says::UsesObject => self.used.note(packet.data[0], packet.data[1]),
            Says::SwitchesIn => self.switches[usize::from(packet.data[0])] += 1,
            // Not the packet itself, so that it stays in registers.
            Says::Rare if self.add_rare(packet.offset, packet.id, packet.data[0], packet.data[1]) => {}
            Says::Rare => return,
        }
        self.timer_counts.add(&packet);
    }

    fn bad(&mut self, _offset: usize, bytes: &[u8], reason: BadPacket) {
        if let (BadPacket::UnknownId, Some(&id)) = (reason, bytes.get(4))
            && is_open(id)
            && let Some(count) =
                bytes.len().checked_sub(HEAD_BYTES).and_then(|len| self.distances.get_mut(usize::from(id))?.get_mut(len))
        {
            *count = count.saturating_add(1);
            // Its length is not known yet, but the place of its time is.
            self.timer_counts.add(&Packet::head(bytes));
            return;
        }
        self.timer_counts.add_damage();
    }

    fn list(&mut self, entries: &[u8]) -> u16 {
        self.list.clear();
        self.list.extend_from_slice(entries);
        0
    }
}

impl ScanFacts {
    /// Adds what a rare packet says. Returns whether its time counts.
    #[cold]
    fn add_rare(&mut self, offset: u32, id: u8, first: u8, second: u8) -> bool {
        let offset = self.base + u64::from(offset);
        match id {
            id::TASK_CREATE => {
                self.created.note(object_type::TASK, first);
                self.add_listed(Listed { offset, type_number: object_type::TASK, number: first, name: None });
            }
            id::TASK_DELETE => self.deleted.note(object_type::TASK, first),
            id::OBJECT_LIST => self.add_list(offset, first, second),
            _ => {}
        }
        is_hook(id)
    }

    fn add_listed(&mut self, listed: Listed) {
        if self.listed.len() < LISTED_LIMIT {
            self.listed.push(listed);
        } else {
            self.unlisted += 1;
        }
    }

    fn add_list(&mut self, offset: u64, type_number: u8, count: u8) {
        let list = std::mem::take(&mut self.list);
        for (position, entry) in (1u8..=255).zip(entries(count, &list)) {
            // When an object is deleted, the tracer loses the number of the next one. Its position in the list is its number.
            let number = if entry.number == 0 { position } else { entry.number };
            self.lost_numbers += u64::from(entry.number == 0);
            self.add_name(type_number, number, entry.name);
            self.add_listed(Listed { offset, type_number, number, name: Some(entry.name.to_vec()) });
        }
        self.list = list;
    }

    /// Adds the name of an object.
    pub fn add_name(&mut self, type_number: u8, number: u8, name: &[u8]) {
        if usize::from(type_number) < object_type::TYPES {
            self.used.note(type_number, number);
            if !name.is_empty() || !self.names.contains_key(&(type_number, number)) {
                self.names.insert((type_number, number), name.to_vec());
            }
        }
    }

    /// Adds the facts of the next part.
    pub fn append(&mut self, mut next: ScanFacts) {
        self.counts.iter_mut().zip(&*next.counts).for_each(|(all, next)| *all += next);
        for (all, next) in self.distances.iter_mut().flatten().zip(next.distances.iter().flatten()) {
            *all = all.saturating_add(*next);
        }
        for ((type_number, number), name) in std::mem::take(&mut next.names) {
            self.add_name(type_number, number, &name);
        }
        next.listed.into_iter().for_each(|listed| self.add_listed(listed));
        self.unlisted += next.unlisted;
        self.lost_numbers += next.lost_numbers;
        self.used.append(&next.used);
        self.switches.iter_mut().zip(&*next.switches).for_each(|(all, next)| *all += next);
        self.created.append(&next.created);
        self.deleted.append(&next.deleted);
        self.timer_counts.append(&next.timer_counts);
        self.is_saved |= next.is_saved;
        self.saved.append(next.saved);
    }

    /// `known`, and the inferred lengths: the number of bytes that most often precede the next preamble, if more than half of
    /// all did.
    #[must_use]
    pub fn lengths(&self, known: &Lengths) -> Lengths {
        let mut lengths = known.clone();
        for (id, counts) in (0u8..).zip(&self.distances) {
            let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            let most = (0u8..).zip(counts).max_by_key(|&(len, &count)| (count, std::cmp::Reverse(len)));
            if let Some((len, &count)) = most
                && u64::from(count) * 2 > all
            {
                lengths.learn(id, len);
            }
        }
        lengths
    }
}
