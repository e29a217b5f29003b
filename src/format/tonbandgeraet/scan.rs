//! The first pass: what holds for the whole recording, wherever in it it stands.
//!
//! Names, kinds and the tick rate may come after their first use, so they are collected before anything is decoded. Only the first
//! two bytes of a frame are looked at to tell whether it is one of these.
//!
//! Targets repeat their metadata, some with every restart of the recording. Only what differs from what was told last
//! is kept, so that memory is bounded by what changes.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::format::Mode;
use crate::frame::split::{self, Delimiters};
use crate::model::TextRef;

use super::decode::{DELIMITER, Decoder};
use super::field::KeepText;
use super::record::{EVENTS, FIRST_FREERTOS_ID, Record};

/// How many metadata records are kept of one input. A healthy one has some hundreds.
pub const METADATA_LIMIT: usize = 1 << 17;

/// How many bytes of their texts are kept.
const METADATA_TEXT_BYTES: usize = 16 << 20;

/// How many different core numbers are counted.
const CORES_LIMIT: usize = 1 << 10;

/// One metadata record that told something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where its frame starts in the input, in bytes.
    pub offset: u64,
    /// The core that the last `core_id` record before it named; `None` before the first one.
    pub core: Option<u32>,
    /// The record; its text is in [`ScanFacts::text`].
    pub record: Record<TextRef>,
}

/// What `core_id` records say about one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreFacts {
    /// The core's number.
    pub core: u32,
    /// How many `core_id` records name it.
    pub records: u64,
    /// Where the first of them starts in the input, in bytes.
    pub first_offset: u64,
    /// How many of them have time 0, as the start of a recording has.
    pub at_time_zero: u64,
}

/// What the first pass finds out about a part, or about the whole input.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// Metadata in file order. A record is left out when its subject (its ids, and the core) was last told the same.
    pub metadata: Vec<Metadata>,
    /// The texts of the metadata, not necessarily UTF-8.
    pub text: Vec<u8>,
    /// Whether there was more metadata than is kept (see [`METADATA_LIMIT`]), and what came later was left out.
    pub metadata_cut: bool,
    /// The cores that `core_id` records name, in order of first appearance.
    pub cores: Vec<CoreFacts>,
    /// The core that the last `core_id` record named.
    pub last_core: Option<u32>,
    /// Whole frames, good or bad.
    pub frames: u64,
    /// Frames that, by their ids alone, are events of FreeRTOS.
    pub freertos_frames: u64,
}

impl ScanFacts {
    /// Scans the part `range` of `input`.
    #[must_use]
    pub fn scan(input: &[u8], range: Range<usize>) -> ScanFacts {
        let edges = split::edges::<DELIMITER>(input, range.clone());
        let part = input.get(range.clone()).unwrap_or(&[]);
        let whole_frames = part.get(..part.len() - edges.tail_fragment - edges.unfinished).unwrap_or(&[]);
        // Metadata of FreeRTOS is kept until the mode is known.
        let decoder = Decoder { mode: Mode::FreeRtos };
        let mut collector = Collector::default();
        let mut payload = Vec::new();
        let (mut frames, mut freertos_frames) = (0, 0);
        let mut at = edges.head_fragment;
        for delimiter in Delimiters::<DELIMITER>::new(whole_frames, at) {
            let frame = whole_frames.get(at..=delimiter).unwrap_or(&[]);
            let class = class_of(frame);
            frames += 1;
            freertos_frames += u64::from(class & FREERTOS);
            if class & WANTED != 0
                && let Ok(record) = decoder.record(frame, &mut payload)
            {
                collector.add((range.start + at) as u64, record);
            }
            at = delimiter + 1;
        }
        let mut facts = collector.facts;
        (facts.frames, facts.freertos_frames) = (frames, freertos_frames);
        facts
    }

    /// The facts of the whole input from those of its parts, in file order. They do not depend on how the input was cut.
    #[must_use]
    pub fn merge(parts: impl IntoIterator<Item = ScanFacts>) -> ScanFacts {
        let mut collector = Collector::default();
        parts.into_iter().for_each(|part| collector.add_part(part));
        collector.facts
    }

    /// The bytes behind a reference into [`ScanFacts::text`]; empty for a foreign one.
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        let start = text.start as usize;
        self.text.get(start..start.saturating_add(text.len as usize)).unwrap_or(&[])
    }

    /// What ran on the target: FreeRTOS, if it names its tasks or queues, or if its events are not as rare as damage makes them.
    #[must_use]
    pub fn mode(&self) -> Mode {
        let of_freertos = |entry: &&Metadata| entry.record.id() >= FIRST_FREERTOS_ID;
        let is_told = self.metadata.iter().filter(of_freertos).nth(1).is_some();
        if is_told || self.freertos_frames > self.frames / 1000 { Mode::FreeRtos } else { Mode::BareMetal }
    }

    fn add_core(&mut self, added: CoreFacts) {
        if let Some(core) = self.cores.iter_mut().find(|core| core.core == added.core) {
            core.records += added.records;
            core.at_time_zero += added.at_time_zero;
        } else if self.cores.len() < CORES_LIMIT {
            self.cores.push(added);
        }
    }
}

/// What a record is about: its id, its own ids, and the core.
type Subject = (u8, u32, u32, Option<u32>);

/// Gathers facts, of frames or of whole parts.
#[derive(Debug, Default)]
pub struct Collector {
    facts: ScanFacts,
    /// The last record of each subject, as an index into [`ScanFacts::metadata`].
    last: FxHashMap<Subject, usize>,
}

impl Collector {
    /// Adds the facts of the next part.
    pub fn add_part(&mut self, part: ScanFacts) {
        let core_before = self.facts.last_core;
        for entry in &part.metadata {
            let record = entry.record.map_text(|text| part.bytes(text));
            self.add_metadata(entry.offset, entry.core.or(core_before), record);
        }
        let facts = &mut self.facts;
        facts.metadata_cut |= part.metadata_cut;
        facts.last_core = part.last_core.or(core_before);
        facts.frames += part.frames;
        facts.freertos_frames += part.freertos_frames;
        for core in part.cores {
            facts.add_core(core);
        }
    }

    /// All facts.
    #[must_use]
    pub fn finish(self) -> ScanFacts {
        self.facts
    }

    fn add(&mut self, offset: u64, record: Record<&[u8]>) {
        match record {
            Record::CoreId { ts, core_id } => {
                self.facts.last_core = Some(core_id);
                let at_time_zero = u64::from(ts == 0);
                self.facts.add_core(CoreFacts { core: core_id, records: 1, first_offset: offset, at_time_zero });
            }
            _ => self.add_metadata(offset, self.facts.last_core, record),
        }
    }

    fn add_metadata(&mut self, offset: u64, core: Option<u32>, record: Record<&[u8]>) {
        let Some(subject) = subject_of(&record, core) else { return };
        let facts = &mut self.facts;
        let told = self.last.get(&subject).and_then(|&index| facts.metadata.get(index));
        if told.is_some_and(|told| told.record.map_text(|text| facts.bytes(text)) == record) {
            return;
        }
        if facts.metadata.len() >= METADATA_LIMIT || facts.text.len() >= METADATA_TEXT_BYTES {
            facts.metadata_cut = true;
            return;
        }
        self.last.insert(subject, facts.metadata.len());
        let record = record.map_text(|text| facts.text.keep(text));
        facts.metadata.push(Metadata { offset, core, record });
    }
}

fn subject_of(record: &Record<&[u8]>, core: Option<u32>) -> Option<Subject> {
    let (first, second) = match *record {
        Record::TsResolutionNs { .. } => (0, 0),
        Record::IsrName { isr_id, .. } => (isr_id, 0),
        Record::EvtmarkerName { evtmarker_id, .. } => (evtmarker_id, 0),
        Record::ValmarkerName { valmarker_id, .. } => (valmarker_id, 0),
        Record::TaskName { task_id, .. } | Record::TaskIsTimerTask { task_id } => (task_id, 0),
        Record::TaskIsIdleTask { task_id, .. } => (task_id, 0),
        Record::QueueName { queue_id, .. } | Record::QueueKind { queue_id, .. } => (queue_id, 0),
        Record::TaskEvtmarkerName { evtmarker_id, task_id, .. } => (evtmarker_id, task_id),
        Record::TaskValmarkerName { valmarker_id, task_id, .. } => (valmarker_id, task_id),
        _ => return None,
    };
    Some((record.id(), first, second, core))
}

const FREERTOS: u8 = 1;
const WANTED: u8 = 2;

/// By id: whether it is one of FreeRTOS, and whether this pass wants to read it.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut index = 0;
    while index < EVENTS.len() {
        let event = EVENTS[index];
        let wanted = event.is_metadata || event.id == CORE_ID;
        classes[event.id as usize] = if wanted { WANTED } else { 0 } | if event.id >= FIRST_FREERTOS_ID { FREERTOS } else { 0 };
        index += 1;
    }
    classes
};

const CORE_ID: u8 = 0x00;

/// The class of a frame by its first two bytes: a code, and the id unless that is 0, which a code of 1 stands for.
#[inline]
fn class_of(frame: &[u8]) -> u8 {
    match frame {
        [1, ..] => CLASSES[CORE_ID as usize],
        [_, id, ..] => CLASSES[usize::from(*id)],
        _ => 0,
    }
}
