//! The first pass: what holds for the whole recording. Lengths of ids that are in no table, names, and counts that tell what the
//! time fields mean.

use std::collections::BTreeMap;

use super::decode::{BadPacket, Lengths, Sink, is_open};
use super::record::{HEAD_BYTES, MAX_DATA_BYTES, Packet, TYPES, entries, id};
use super::sniff::Saved;
use super::timer::Gathered;

/// How many ids may have a length that is not in the table.
const OPEN_IDS: usize = 101;

/// Objects, by type a bit for each number.
#[derive(Clone, Debug, Default)]
pub struct Used([[u64; 4]; TYPES]);

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

/// What the first pass finds out about a part, or about the whole input.
#[derive(Clone, Debug)]
pub struct ScanFacts {
    /// By id, how many packets there are.
    pub counts: Vec<u64>,
    /// By id and number of bytes: how often so many bytes of data stood before the next preamble.
    distances: Vec<[u32; MAX_DATA_BYTES + 1]>,
    /// The names of objects, by type and number, as told last.
    pub names: BTreeMap<(u8, u8), Vec<u8>>,
    /// Entries of object lists whose number the tracer had lost.
    pub lost_numbers: u64,
    /// The objects that an operation or a list names.
    pub used: Used,
    /// What tells the meaning of the time fields.
    pub gathered: Gathered,
    /// Whether the input is a saved measurement.
    pub is_saved: bool,
    /// What was in it.
    pub saved: Saved,
    /// The list whose packet comes next.
    list: Vec<u8>,
}

impl Default for ScanFacts {
    fn default() -> Self {
        ScanFacts {
            counts: vec![0; 256],
            distances: vec![[0; MAX_DATA_BYTES + 1]; OPEN_IDS],
            names: BTreeMap::new(),
            lost_numbers: 0,
            used: Used::default(),
            gathered: Gathered::default(),
            is_saved: false,
            saved: Saved::default(),
            list: Vec::new(),
        }
    }
}

impl Sink for ScanFacts {
    #[inline]
    fn packet(&mut self, packet: Packet) {
        self.counts[usize::from(packet.id)] += 1;
        match packet.id {
            id::BLOCKING_ON_QUEUE_RECEIVE..=id::BLOCKING_ON_QUEUE_SEND
            | id::GIVE_MUTEX_RECURSIVE..=id::TAKE_MUTEX_RECURSIVE_FAILED
            | id::QUEUE_SEND..=id::QUEUE_PEEK_FROM_ISR_FAILED => self.used.note(packet.data[0], packet.data[1]),
            id::OBJECT_LIST => self.add_list(packet.data[0], packet.data[1]),
            _ => {}
        }
        if packet.is_hook() {
            self.gathered.add(&packet);
        }
    }

    fn bad(&mut self, _offset: usize, bytes: &[u8], reason: BadPacket) {
        if let (BadPacket::UnknownId, Some(&id)) = (reason, bytes.get(4))
            && is_open(id)
            && let Some(count) =
                bytes.len().checked_sub(HEAD_BYTES).and_then(|len| self.distances.get_mut(usize::from(id))?.get_mut(len))
        {
            *count = count.saturating_add(1);
        }
    }

    fn list(&mut self, entries: &[u8]) -> u16 {
        self.list.clear();
        self.list.extend_from_slice(entries);
        0
    }
}

impl ScanFacts {
    fn add_list(&mut self, type_number: u8, count: u8) {
        let list = std::mem::take(&mut self.list);
        for (position, entry) in (1u8..=255).zip(entries(count, &list)) {
            // Deleting an object makes the tracer forget the number of the next one. Its place tells it: numbers are places.
            let number = if entry.number == 0 { position } else { entry.number };
            self.lost_numbers += u64::from(entry.number == 0);
            self.add_name(type_number, number, entry.name);
        }
        self.list = list;
    }

    /// Takes the name of an object.
    pub fn add_name(&mut self, type_number: u8, number: u8, name: &[u8]) {
        if usize::from(type_number) < TYPES {
            self.used.note(type_number, number);
            if !name.is_empty() || !self.names.contains_key(&(type_number, number)) {
                self.names.insert((type_number, number), name.to_vec());
            }
        }
    }

    /// Adds what the next part gave.
    pub fn append(&mut self, mut next: ScanFacts) {
        self.counts.iter_mut().zip(&next.counts).for_each(|(all, next)| *all += next);
        for (all, next) in self.distances.iter_mut().flatten().zip(next.distances.iter().flatten()) {
            *all = all.saturating_add(*next);
        }
        for ((type_number, number), name) in std::mem::take(&mut next.names) {
            self.add_name(type_number, number, &name);
        }
        self.lost_numbers += next.lost_numbers;
        self.used.append(&next.used);
        self.gathered.append(&next.gathered);
        self.is_saved |= next.is_saved;
        self.saved.append(next.saved);
    }

    /// Adds the lengths that were learned: the number of bytes that stood most often before the next preamble, if more than half of
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
