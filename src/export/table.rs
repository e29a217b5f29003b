//! The tables with their columns, and rows of cells on their way into Arrow's record batches.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// A row for each recording, also for those that cannot be read.
    Recordings,
    /// All figures of statistics.
    Metrics,
    /// All losses and repairs.
    Losses,
    /// The events of the common model, as `--detail all` draws them.
    Events,
    /// The slices and instants of a trace.
    Slices,
    /// The states of tasks.
    States,
    /// The values of a trace's counters.
    Values,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text from a small set: dictionary-encoded.
    Name,
    /// Any text.
    Text,
    /// A whole number of 64 bits with a sign; greater numbers become the greatest.
    Whole,
    /// A number with a fraction.
    Real,
}

use Kind::{Name, Real, Text, Whole};

impl Table {
    /// All, in the order in which they are listed.
    pub const ALL: [Table; 7] =
        [Table::Recordings, Table::Metrics, Table::Losses, Table::Events, Table::Slices, Table::States, Table::Values];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Table::Recordings => "recordings",
            Table::Metrics => "metrics",
            Table::Losses => "losses",
            Table::Events => "events",
            Table::Slices => "slices",
            Table::States => "states",
            Table::Values => "values",
        }
    }

    /// Whether its rows are operations of the timeline.
    #[must_use]
    pub fn is_drawn(self) -> bool {
        matches!(self, Table::Events | Table::Slices | Table::States | Table::Values)
    }

    /// Its columns after `recording`. The table of recordings has one more for each label.
    #[must_use]
    pub fn columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Table::Recordings => &[
                ("path", Text),
                ("format", Name),
                ("firmware", Name),
                ("build", Name),
                ("system", Name),
                ("first_ns", Whole),
                ("duration_ns", Whole),
                ("events", Whole),
                ("clock_hz", Real),
                ("clock_source", Name),
                ("time_certainty", Name),
                ("cores", Whole),
                ("sessions", Whole),
                ("input_bytes", Whole),
                ("skipped_bytes", Whole),
                ("loss_cases", Whole),
                ("lost_events", Whole),
                ("repairs", Whole),
                ("tool_version", Name),
                ("error", Text),
            ],
            Table::Metrics => {
                &[("section", Name), ("name", Name), ("metric", Name), ("value", Real), ("unit", Name), ("uncertainty", Real)]
            }
            Table::Losses => &[
                ("input", Whole),
                ("severity", Name),
                ("kind", Name),
                ("count", Whole),
                ("lost_events", Whole),
                ("first_offset", Whole),
            ],
            Table::Events => {
                &[("ts_ns", Whole), ("core", Whole), ("event", Name), ("subject_kind", Name), ("subject", Name), ("args", Text)]
            }
            Table::Slices => {
                // A slice may be called by a text of the recording: too many for a dictionary in memory. Parquet makes one where it pays.
                &[("ts_ns", Whole), ("dur_ns", Whole), ("track", Name), ("name", Text), ("args", Text)]
            }
            Table::States => {
                &[("ts_ns", Whole), ("dur_ns", Whole), ("task", Name), ("tid", Whole), ("core", Whole), ("state", Name)]
            }
            Table::Values => &[("ts_ns", Whole), ("track", Name), ("value", Real), ("unit", Name)],
        }
    }
}

/// A cell of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// Unknown.
    Null,
    /// Of a column of names or texts.
    Text(&'a str),
    /// Of a column of whole numbers.
    Whole(i64),
    /// Of a column of numbers with a fraction.
    Real(f64),
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Whole(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Cell::Real(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

enum Column {
    Name(StringDictionaryBuilder<Int32Type>),
    Text(StringBuilder),
    Whole(Int64Builder),
    Real(Float64Builder),
}

impl Column {
    fn new(kind: Kind) -> Column {
        match kind {
            Name => Column::Name(StringDictionaryBuilder::new()),
            Text => Column::Text(StringBuilder::new()),
            Whole => Column::Whole(Int64Builder::new()),
            Real => Column::Real(Float64Builder::new()),
        }
    }

    /// A cell of another type is unknown.
    fn push(&mut self, cell: Cell<'_>) -> Result<(), ArrowError> {
        match (self, cell) {
            (Column::Name(names), Cell::Text(text)) => {
                names.append(text)?;
            }
            (Column::Name(names), _) => names.append_null(),
            (Column::Text(texts), Cell::Text(text)) => texts.append_value(text),
            (Column::Text(texts), _) => texts.append_null(),
            (Column::Whole(numbers), Cell::Whole(number)) => numbers.append_value(number),
            (Column::Whole(numbers), _) => numbers.append_null(),
            (Column::Real(numbers), Cell::Real(number)) => numbers.append_value(number),
            (Column::Real(numbers), _) => numbers.append_null(),
        }
        Ok(())
    }

    /// Names keep their dictionary, so that those of the batches of a file extend each other.
    fn take(&mut self) -> ArrayRef {
        match self {
            Column::Name(names) => Arc::new(names.finish_preserve_values()),
            Column::Text(texts) => Arc::new(texts.finish()),
            Column::Whole(numbers) => Arc::new(numbers.finish()),
            Column::Real(numbers) => Arc::new(numbers.finish()),
        }
    }
}

/// Rows of a table.
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    len: usize,
}

impl Rows {
    /// No rows of a table yet. `labels` are more columns of names.
    #[must_use]
    pub fn new(table: Table, labels: &[String]) -> Rows {
        let labels = labels.iter().filter(|_| table == Table::Recordings).map(|label| (label.as_str(), Name));
        let all: Vec<(&str, Kind)> =
            std::iter::once(("recording", Name)).chain(table.columns().iter().copied()).chain(labels).collect();
        let field = |&(name, kind): &(&str, Kind)| {
            let (data_type, is_nullable) = match kind {
                Name => (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), name != "recording"),
                Text => (DataType::Utf8, true),
                Whole => (DataType::Int64, true),
                Real => (DataType::Float64, true),
            };
            Field::new(name, data_type, is_nullable)
        };
        let schema = Arc::new(Schema::new(all.iter().map(field).collect::<Vec<_>>()));
        Rows { schema, columns: all.iter().map(|&(_, kind)| Column::new(kind)).collect(), len: 0 }
    }

    /// Their columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a row; cells that are missing at its end are unknown.
    ///
    /// # Errors
    /// When there are more than 2³¹ different names.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ArrowError> {
        for (column, cell) in self.columns.iter_mut().zip(cells.iter().chain(std::iter::repeat(&Cell::Null))) {
            column.push(*cell)?;
        }
        self.len += 1;
        Ok(())
    }

    /// All rows, as a batch. None are left.
    ///
    /// # Errors
    /// Never; Arrow's interface wants it.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.len = 0;
        RecordBatch::try_new(self.schema.clone(), self.columns.iter_mut().map(Column::take).collect())
    }
}
