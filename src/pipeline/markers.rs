//! Facts needed before a recording can share a time axis with others: its begin, and the occurrences of its sync marker.

use super::flow::read;
use super::{ConvertError, Options, Progress, Source};
use crate::model::{Entities, Event, EventBatch, EventKind, Label, LaneId, Nanos};

/// Limit of remembered occurrences of a marker. Further ones are only counted.
const OCCURRENCES: usize = 1 << 16;

/// The result of a search, on the recording's own time axis.
#[derive(Clone, Debug, Default)]
pub struct Occurrences {
    /// The time of the first event.
    pub first: Option<Nanos>,
    /// The earliest time that any event refers to.
    pub earliest: Option<Nanos>,
    /// The times of the first occurrences of the marker.
    pub times: Vec<Nanos>,
    /// The number of all occurrences.
    pub count: u64,
}

/// Reads a recording.
pub fn find(
    sources: &[Source<'_>],
    marker: Option<&str>,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Occurrences, ConvertError> {
    let mut found = Occurrences::default();
    let mut matcher = marker.map(Matcher::new);
    let consume = |batch: &EventBatch, entities: &Entities| {
        found.first = found.first.or(batch.first_time());
        for event in &batch.events {
            let earlier = earlier_time(event);
            found.earliest = Some(found.earliest.map_or(earlier, |earliest| earliest.min(earlier)));
            if let Some(matcher) = &mut matcher
                && matcher.matches(event, batch, entities)
            {
                found.count += 1;
                if found.times.len() < OCCURRENCES {
                    found.times.push(event.time);
                }
            }
        }
    };
    read(sources, options, progress, consume)?;
    Ok(found)
}

/// The earliest time that an event refers to.
fn earlier_time(event: &Event) -> Nanos {
    match event.kind {
        EventKind::LateObjectLevel { since, .. } => event.time.min(Nanos(since.get())),
        EventKind::Call { begin, .. } => event.time.min(Nanos(begin.get())),
        _ => event.time,
    }
}

/// Finds events with a name: instants, begins of spans, log messages, states and values whose label is that name, or (without a
/// label) whose lane has it; the begin of an interrupt or the end of a function with that name.
struct Matcher<'m> {
    marker: &'m str,
    names: Known,
    lanes: Known,
    isrs: Known,
    functions: Known,
}

/// By index: whether the name equals the marker, as far as looked up.
#[derive(Default)]
struct Known(Vec<Option<bool>>);

impl Known {
    fn get(&mut self, index: usize, ask: impl FnOnce() -> bool) -> bool {
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        *self.0[index].get_or_insert_with(ask)
    }
}

impl<'m> Matcher<'m> {
    fn new(marker: &'m str) -> Matcher<'m> {
        let nothing = Known::default;
        Matcher { marker, names: nothing(), lanes: nothing(), isrs: nothing(), functions: nothing() }
    }

    fn matches(&mut self, event: &Event, batch: &EventBatch, entities: &Entities) -> bool {
        let marker = self.marker;
        match event.kind {
            EventKind::Instant { lane, label, .. }
            | EventKind::SpanBegin { lane, label, .. }
            | EventKind::State { lane, label, .. } => self.is_label(label, batch, entities) || self.is_lane(lane, entities),
            EventKind::Value { lane, .. } | EventKind::Float { lane, .. } => self.is_lane(lane, entities),
            EventKind::Log(index) => batch.logs.get(index as usize).is_some_and(|log| {
                batch.texts.get(log.body) == marker
                    || self.is_label(log.name, batch, entities)
                    || self.is_lane(log.lane, entities)
            }),
            EventKind::IsrEnter(isr) => {
                let name = || entities.isrs.get(isr.index()).and_then(|isr| isr.name.as_deref());
                self.isrs.get(isr.index(), || name() == Some(marker))
            }
            EventKind::Call { function, .. } => {
                let name = || entities.functions.get(function.index()).map(|function| &*function.name);
                self.functions.get(function.index(), || name() == Some(marker))
            }
            _ => false,
        }
    }

    fn is_label(&mut self, label: Label, batch: &EventBatch, entities: &Entities) -> bool {
        let marker = self.marker;
        match (label.as_name(), label.as_text()) {
            (Some(name), _) => {
                self.names.get(name.0 as usize, || entities.names.get(name.0 as usize).is_some_and(|name| **name == *marker))
            }
            (None, Some(text)) => !label.is_none() && batch.texts.get(text) == marker,
            (None, None) => false,
        }
    }

    fn is_lane(&mut self, lane: LaneId, entities: &Entities) -> bool {
        let marker = self.marker;
        let name = || entities.lanes.get(lane.index()).and_then(|lane| lane.name.as_deref());
        self.lanes.get(lane.index(), || name() == Some(marker))
    }
}
