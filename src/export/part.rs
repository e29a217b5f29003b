//! The rows of recordings, one after the other, in several tables at once.

use super::ExportError;
use super::drawn::{Drawn, Receive};
use super::labels::{Labels, identity};
use super::sink::TableSink;
use super::table::{Cell, Table};
use crate::metrics::Figure;
use crate::pipeline::Operations;
use crate::report::TOOL_VERSION;
use crate::report::stats::Recording;
use crate::track::{Block, Track};

/// A part of a dataset has at most this number of recordings, ...
pub const PART_RECORDINGS: usize = 256;
/// ... or this number of bytes of input.
const PART_BYTES: u64 = 64 << 20;

/// The lengths of the parts that recordings of these lengths in bytes make, of at most `most` recordings each.
pub fn part_lengths(bytes: impl IntoIterator<Item = u64>, most: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = Vec::new();
    let mut of_part = PART_BYTES;
    for bytes in bytes {
        match lengths.last_mut() {
            Some(length) if of_part < PART_BYTES && *length < most => *length += 1,
            _ => {
                lengths.push(1);
                of_part = 0;
            }
        }
        of_part = of_part.saturating_add(bytes);
    }
    lengths
}

/// The name of the files of a part, without extension: it depends on the part's recordings only, so a part that is written again has the
/// same name and the same bytes.
#[must_use]
pub fn part_name<'a>(recordings: impl IntoIterator<Item = &'a str>) -> String {
    format!("part-{}", identity(recordings.into_iter().map(|id| (None, id.as_bytes())), &[]))
}

/// A folder as query engines expect it, with the `/` after it.
#[must_use]
pub fn part_folder(label: &str, value: Option<&str>) -> String {
    let value = value.unwrap_or("__HIVE_DEFAULT_PARTITION__");
    let mut folder = format!("{label}=");
    for byte in value.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => folder.push(char::from(byte)),
            byte => folder += &format!("%{byte:02X}"),
        }
    }
    folder + "/"
}

/// Tables that are being written: some recordings of a dataset, or all.
pub struct Part<'a> {
    tables: Vec<(Table, TableSink<'a>)>,
    labels: Vec<String>,
    id: String,
    drawn: Drawn,
    error: Option<ExportError>,
}

impl<'a> Part<'a> {
    /// These tables, whose table of recordings has columns for these labels.
    #[must_use]
    pub fn new(tables: Vec<(Table, TableSink<'a>)>, labels: Vec<String>) -> Part<'a> {
        Part { tables, labels, id: String::new(), drawn: Drawn::default(), error: None }
    }

    /// Begins a recording. [`Operations`] that follow are its own.
    pub fn begin(&mut self, id: &str) {
        id.clone_into(&mut self.id);
        self.drawn = Drawn::default();
    }

    /// Ends a recording. Without statistics it could not be read, and its inputs say why.
    ///
    /// # Errors
    /// When rows cannot be written.
    pub fn end(&mut self, labels: &Labels, recording: &Recording, figures: &[Figure]) -> Result<(), ExportError> {
        let mut drawn = std::mem::take(&mut self.drawn);
        drawn.finish(self);
        self.recording(labels, recording);
        for Figure { metric, name, value, uncertainty, .. } in figures {
            let (full_name, unit) = (metric.full_name(), metric.unit.symbol());
            let value = value.as_f64();
            let row = [
                metric.section.into(),
                name.as_str().into(),
                full_name.as_str().into(),
                Some(value).filter(|value| value.is_finite()).into(),
                unit.into(),
                (*uncertainty).into(),
            ];
            self.row(Table::Metrics, &row);
        }
        for (index, input) in (0u64..).zip(&recording.inputs) {
            for (severity, entries) in [("loss", &input.losses), ("repair", &input.repairs)] {
                for entry in entries {
                    let row = [
                        index.into(),
                        severity.into(),
                        (&*entry.kind).into(),
                        entry.count.into(),
                        entry.at_least_lost.into(),
                        entry.first_offset.into(),
                    ];
                    self.row(Table::Losses, &row);
                }
            }
        }
        for (_, table) in &mut self.tables {
            table.end_recording()?;
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn recording(&mut self, labels: &Labels, recording: &Recording) {
        let Recording { inputs, losses, .. } = recording;
        let Some(first) = inputs.first() else { return };
        // Of one that cannot be opened, or whose format is not known, nothing was counted.
        let is_read = inputs.iter().all(|input| input.input_bytes > 0);
        let counted = |count: u64| Cell::from(Some(count).filter(|_| is_read));
        let sum = |of: fn(&crate::report::InputReport) -> u64| inputs.iter().map(of).fold(0, u64::saturating_add);
        let first_ns = inputs.iter().filter_map(|input| input.first_ns).min();
        let last_ns = inputs.iter().filter_map(|input| input.last_ns).max();
        let duration_ns = first_ns.zip(last_ns).map(|(first_ns, last_ns)| last_ns.saturating_sub(first_ns));
        let certainty = inputs.iter().filter_map(crate::report::InputReport::time_certainty).max();
        let errors: Vec<&str> = inputs.iter().filter_map(|input| input.error.as_deref()).collect();
        let error = (!errors.is_empty()).then(|| errors.join("; "));
        let paths: Vec<&str> = inputs.iter().map(|input| input.path.as_str()).collect();
        let path = paths.join(" ");
        // A label wins over the facts of the recording.
        let known = |label: &str, details: &[&str]| {
            let detail = || first.details.iter().find(|detail| details.contains(&&*detail.name)).map(|detail| &*detail.value);
            labels.get(label).map(String::as_str).or_else(detail)
        };
        let row = [
            path.as_str().into(),
            first.format.into(),
            known("firmware", &["firmware version", "application"]).into(),
            known("build", &["build id", "build"]).into(),
            first.system.as_deref().into(),
            first_ns.into(),
            duration_ns.into(),
            counted(sum(|input| input.events)),
            first.clock.as_ref().map(|clock| clock.hz).into(),
            first.clock.as_ref().map(|clock| &*clock.because).into(),
            certainty.map(crate::model::Certainty::text).into(),
            counted(first.cores.into()),
            counted(first.sessions.into()),
            counted(sum(|input| input.input_bytes)),
            counted(sum(|input| input.skipped_bytes)),
            counted(losses.cases),
            counted(losses.at_least_lost),
            counted(losses.repairs),
            TOOL_VERSION.into(),
            error.as_deref().into(),
        ];
        let values = self.labels.iter().map(|label| labels.get(label).map(String::as_str).into());
        let row: Vec<Cell<'_>> = row.into_iter().chain(values).collect();
        self.row(Table::Recordings, &row);
    }

    fn row(&mut self, table: Table, cells: &[Cell<'_>]) {
        let Some((_, sink)) = self.tables.iter_mut().find(|(other, _)| *other == table) else { return };
        let mut row = Vec::with_capacity(1 + cells.len());
        row.push(Cell::Text(&self.id));
        row.extend_from_slice(cells);
        if let Err(error) = sink.push(&row) {
            // Said when the recording ends: operations cannot fail.
            self.error.get_or_insert(error);
        }
    }

    /// Ends all tables.
    ///
    /// # Errors
    /// When rows cannot be written.
    pub fn finish(mut self) -> Result<(), ExportError> {
        self.tables.iter_mut().try_for_each(|(_, table)| table.finish())
    }
}

impl Operations for Part<'_> {
    fn consume(&mut self, late: &[Track], block: &Block) {
        let mut drawn = std::mem::take(&mut self.drawn);
        drawn.consume(late, block, self);
        self.drawn = drawn;
    }
}

impl Receive for Part<'_> {
    fn event(&mut self, row: &[Cell<'_>]) {
        self.row(Table::Events, row);
    }

    fn slice(&mut self, row: &[Cell<'_>]) {
        self.row(Table::Slices, row);
    }

    fn state(&mut self, row: &[Cell<'_>]) {
        self.row(Table::States, row);
    }

    fn value(&mut self, row: &[Cell<'_>]) {
        self.row(Table::Values, row);
    }
}
