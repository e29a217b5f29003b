//! The contents of recordings, as JSON and as text.

use std::fmt::Write;

use serde::Serialize;

use super::text::duration;
use super::{InputReport, TOOL_VERSION, indented_json, summary, visible};
use crate::model::counted;
use crate::pipeline::Contents;

/// The version of the shape of [`InfoFile`]. A field that is added does not change it.
pub const INFO_SCHEMA_VERSION: u32 = 1;

/// How long a line for people is, in characters.
const LINE_WIDTH: usize = 110;
/// How many names of a kind are listed for people.
const NAMES_MAX: usize = 60;

/// The contents of all recordings of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InfoFile {
    /// [`INFO_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program's version.
    pub tool_version: &'static str,
    /// One per recording, in the order in which they were named.
    pub recordings: Vec<RecordingInfo>,
}

/// The contents of a recording: one input, or one for each core.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RecordingInfo {
    /// Its inputs, with format, clock and losses, as in the report of a conversion.
    pub inputs: Vec<InputReport>,
    /// From its first to its last event, in nanoseconds.
    pub duration_ns: Option<u64>,
    /// How many events there are in a second; `null` if it has no duration.
    pub events_per_second: Option<f64>,
    /// How many bytes (without layers) an event takes; `null` without events.
    pub bytes_per_event: Option<f64>,
    /// `null` if it could not be read; the inputs say why.
    pub contents: Option<Contents>,
}

impl InfoFile {
    /// The contents of these recordings.
    #[must_use]
    pub fn new(recordings: Vec<RecordingInfo>) -> InfoFile {
        InfoFile { schema_version: INFO_SCHEMA_VERSION, tool_version: TOOL_VERSION, recordings }
    }

    /// As indented JSON with a final line break.
    ///
    /// # Errors
    /// Never for values made by this library; serde's interface wants it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        indented_json(self)
    }
}

impl RecordingInfo {
    /// A recording of these inputs, with their events entered.
    #[must_use]
    pub fn new(inputs: Vec<InputReport>, contents: Option<Contents>) -> RecordingInfo {
        let first_ns = inputs.iter().filter_map(|input| input.first_ns).min();
        let last_ns = inputs.iter().filter_map(|input| input.last_ns).max();
        let duration_ns = first_ns.zip(last_ns).map(|(first_ns, last_ns)| last_ns.saturating_sub(first_ns));
        let events = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.events));
        let bytes = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.input_bytes));
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| (part / whole * 1000.0).round() / 1000.0);
        RecordingInfo {
            duration_ns,
            events_per_second: duration_ns.and_then(|duration_ns| ratio(events as f64 * 1e9, duration_ns as f64)),
            bytes_per_event: ratio(bytes as f64, events as f64),
            inputs,
            contents,
        }
    }

    /// For people: some lines, with a final line break.
    #[must_use]
    pub fn text(&self, verbose: bool) -> String {
        let mut text: String = self.inputs.iter().map(|input| summary(input, verbose)).collect();
        let Some(contents) = &self.contents else { return text };
        // Writing to a string cannot fail.
        let _ = self.write_contents(&mut text, contents);
        text
    }

    fn write_contents(&self, text: &mut String, contents: &Contents) -> std::fmt::Result {
        if let Some(rate) = self.bytes_per_event {
            write!(text, "  {rate:.1} bytes per event")?;
            if let Some(rate) = self.events_per_second {
                // Of 10 per second and more, fractions say nothing.
                let digits = usize::from(rate < 9.95);
                write!(text, ", {rate:.digits$} events per second")?;
            }
            text.push('\n');
        }
        let events = contents.events.iter().map(|kind| format!("{} {}", kind.kind, kind.count));
        write_wrapped(text, "events", events.collect())?;
        if contents.cores.len() > 1 {
            let cores = contents.cores.iter().map(|core| format!("core {} {}", core.core, core.events));
            write_wrapped(text, "events by core", cores.collect())?;
        }
        // A single session has nothing to add to its input.
        for session in contents.sessions.iter().filter(|_| contents.sessions.len() > 1) {
            let name = session.name.as_deref().map_or_else(String::new, |name| format!(" ({})", visible(name)));
            let lasted_ns = session.last_ns.unwrap_or(0).saturating_sub(session.first_ns.unwrap_or(0));
            let events = counted(session.events, "event");
            writeln!(text, "  session {}{name}: {events} in {}", session.number, duration(lasted_ns))?;
        }
        write_list(text, "task", distinct(contents.tasks.iter().map(|task| task.name.clone())))?;
        write_list(text, "interrupt", distinct(contents.interrupts.iter().map(|isr| isr.name.clone())))?;
        let mut kinds: Vec<&str> = distinct(contents.objects.iter().map(|object| object.kind));
        kinds.sort_unstable();
        for kind in kinds {
            let of_kind = contents.objects.iter().filter(|object| object.kind == kind);
            write_list(text, kind, distinct(of_kind.map(|object| object.name.clone())))?;
        }
        write_list(text, "state machine", distinct(contents.machines.iter().map(|machine| machine.name.clone())))?;
        write_list(text, "group", distinct(contents.groups.iter().map(|group| group.name.clone())))?;
        for kind in ["marker", "log", "value", "state"] {
            let of_kind = contents.lanes.iter().filter(|lane| lane.kind == kind);
            let names = of_kind.map(|lane| match &lane.owner {
                Some(owner) => format!("{owner}/{}", lane.name),
                None => lane.name.clone(),
            });
            write_list(text, kind, distinct(names))?;
        }
        if contents.functions > 0 {
            writeln!(text, "  functions: {}, {} with a place in the source", contents.functions, contents.functions_with_source)?;
        }
        Ok(())
    }
}

/// Each once, in their order: a thing in several sessions is named once.
fn distinct<T: PartialEq + Clone + std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = rustc_hash::FxHashSet::default();
    items.filter(|item| seen.insert(item.clone())).collect()
}

/// A list of names with their number and the noun; nothing if it is empty.
fn write_list(text: &mut String, noun: &str, names: Vec<String>) -> std::fmt::Result {
    if names.is_empty() { Ok(()) } else { write_wrapped(text, &counted(names.len(), noun), names) }
}

/// A list with its title, in lines of limited width.
fn write_wrapped(text: &mut String, title: &str, names: Vec<String>) -> std::fmt::Result {
    let names: Vec<String> = names.iter().map(|name| visible(name).into_owned()).collect();
    let mut line = format!("  {title}:");
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names.len() - more;
    let last = if more > 0 { Some(format!("and {more} more (--json has all)")) } else { None };
    let words = names.into_iter().take(shown).chain(last);
    for (index, word) in words.enumerate() {
        if index > 0 {
            line.push(',');
        }
        if line.chars().count() + 1 + word.chars().count() > LINE_WIDTH {
            writeln!(text, "{line}")?;
            line = "   ".into();
        }
        line.push(' ');
        line += &word;
    }
    writeln!(text, "{line}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;
    use crate::pipeline::{KindCount, ObjectContents, SessionContents};

    #[test]
    fn rates_are_of_the_whole_recording() {
        let info = RecordingInfo::new(vec![example(), InputReport { input_bytes: 960, ..example() }], None);
        assert_eq!(info.duration_ns, Some(2_500_000_000));
        assert_eq!((info.events_per_second, info.bytes_per_event), (Some(78.4), Some(10.0)));
        let nothing = RecordingInfo::new(vec![InputReport::default()], None);
        assert_eq!((nothing.duration_ns, nothing.events_per_second, nothing.bytes_per_event), (None, None, None));
    }

    #[test]
    fn people_get_lists() {
        let object = |name: &str, kind| ObjectContents { name: name.into(), kind, number: 0, session: 1 };
        let session =
            |number| SessionContents { number, events: 49, first_ns: Some(5), last_ns: Some(1005), ..Default::default() };
        let contents = Contents {
            events: vec![KindCount { kind: "scheduling", count: 90 }, KindCount { kind: "resets", count: 8 }],
            sessions: vec![session(1), session(2)],
            objects: (0..80)
                .map(|n| object(&format!("q{n}"), "queue"))
                .chain([object("m", "mutex"), object("m", "mutex")])
                .collect(),
            functions: 3,
            functions_with_source: 2,
            ..Contents::default()
        };
        let text = RecordingInfo::new(vec![example()], Some(contents)).text(false);
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("per event")).collect();
        assert_eq!(
            lines,
            [
                "  10.2 bytes per event, 39 events per second",
                "  events: scheduling 90, resets 8",
                "  session 1: 49 events in 1.000 µs",
                "  session 2: 49 events in 1.000 µs",
                "  1 mutex: m",
                "  80 queues: q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20,",
                "    q21, q22, q23, q24, q25, q26, q27, q28, q29, q30, q31, q32, q33, q34, q35, q36, q37, q38, q39, q40, q41,",
                "    q42, q43, q44, q45, q46, q47, q48, q49, q50, q51, q52, q53, q54, q55, q56, q57, q58, q59,",
                "    and 20 more (--json has all)",
                "  functions: 3, 2 with a place in the source",
            ]
        );
    }
}
