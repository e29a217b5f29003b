//! One table on its way into a file: as Parquet, as an Arrow file, as CSV, or as JSON lines.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_json::writer::{LineDelimited, WriterBuilder as JsonBuilder};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::ExportError;
use super::table::{Cell, Rows, Table};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Apache Parquet, compressed with zstd.
    Parquet,
    /// Arrow's file format (Feather, version 2).
    Arrow,
    /// Comma-separated values with a heading line; an unknown value is empty.
    Csv,
    /// A JSON object in each line.
    Ndjson,
}

impl Form {
    /// The extension of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Form::Parquet => "parquet",
            Form::Arrow => "arrow",
            Form::Csv => "csv",
            Form::Ndjson => "ndjson",
        }
    }
}

/// Rows are passed on in batches of this length.
const BATCH_ROWS: usize = 1 << 14;

/// A row group ends with a recording, when it has this number of rows.
const GROUP_ROWS: usize = 1 << 17;

/// A row group of a single recording ends here. Its encoded pages are in memory until then.
const GROUP_ROWS_MAX: usize = 1 << 20;

/// Consumes batches.
pub trait Sink: Send {
    /// Consumes a batch.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError>;

    /// A recording has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    fn end_recording(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    /// No more batches follow.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self) -> Result<(), ExportError> {
        Ok(())
    }
}

/// Batches are kept.
impl Sink for &mut Vec<RecordBatch> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        self.push(batch.clone());
        Ok(())
    }
}

impl<W: Write + Send> Sink for ArrowWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        Ok(ArrowWriter::write(self, batch)?)
    }

    fn end_recording(&mut self) -> Result<(), ExportError> {
        if self.in_progress_rows() >= GROUP_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        ArrowWriter::finish(self)?;
        Ok(())
    }
}

impl<W: Write + Send> Sink for FileWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        Ok(FileWriter::write(self, batch)?)
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        Ok(FileWriter::finish(self)?)
    }
}

impl<W: Write + Send> Sink for arrow_csv::Writer<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        Ok(arrow_csv::Writer::write(self, batch)?)
    }
}

impl<W: Write + Send> Sink for arrow_json::Writer<W, LineDelimited> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        Ok(arrow_json::Writer::write(self, batch)?)
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        Ok(arrow_json::Writer::finish(self)?)
    }
}

/// A table that is being written.
pub struct TableSink<'a> {
    rows: Rows,
    sink: Box<dyn Sink + 'a>,
}

impl<'a> TableSink<'a> {
    /// A table whose batches go to `sink`.
    #[must_use]
    pub fn to_sink(rows: Rows, sink: Box<dyn Sink + 'a>) -> TableSink<'a> {
        TableSink { rows, sink }
    }

    /// A table in a file of this form.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(
        table: Table,
        labels: &[String],
        form: Form,
        file: impl Write + Send + 'a,
    ) -> Result<TableSink<'a>, ExportError> {
        let rows = Rows::new(table, labels);
        let sink = Self::sink(form, file, rows.schema())?;
        Ok(TableSink { rows, sink })
    }

    fn sink(form: Form, file: impl Write + Send + 'a, schema: SchemaRef) -> Result<Box<dyn Sink + 'a>, ExportError> {
        Ok(match form {
            Form::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
                    .build();
                Box::new(ArrowWriter::try_new(file, schema, Some(properties))?)
            }
            Form::Arrow => {
                // A later batch has all names of those before it, and more.
                let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
                Box::new(FileWriter::try_new_with_options(file, &schema, options)?)
            }
            Form::Csv => Box::new(arrow_csv::WriterBuilder::new().build(file)),
            Form::Ndjson => Box::new(JsonBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(file)),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        self.rows.push(cells)?;
        if self.rows.len() >= BATCH_ROWS { self.pass_on() } else { Ok(()) }
    }

    fn pass_on(&mut self) -> Result<(), ExportError> {
        self.sink.write(&self.rows.take()?)
    }

    /// A recording has ended.
    ///
    /// # Errors
    /// When rows cannot be written.
    pub fn end_recording(&mut self) -> Result<(), ExportError> {
        self.sink.end_recording()
    }

    /// Passes on all rows, and ends the file.
    ///
    /// # Errors
    /// When rows cannot be written.
    pub fn finish(&mut self) -> Result<(), ExportError> {
        // Without rows too: a file of CSV has a heading line then.
        self.pass_on()?;
        self.sink.finish()
    }
}
