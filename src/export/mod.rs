//! Tables: recordings as rows, for query engines.
//!
//! - [`Table`]: which tables there are; [`table`]: rows of cells as Arrow's record batches;
//! - [`part`]: the rows of recordings, one after the other, of several tables at once; [`drawn`]: those that the timeline draws;
//! - [`Labels`]: where a recording belongs, with its identity;
//! - [`sink`]: a table as Parquet, Arrow, CSV or JSON lines; [`dataset`]: reading a dataset again.
//!
//! A row belongs to a recording by the column `recording`, which is the recording's identity.

pub mod dataset;
mod drawn;
mod labels;
pub mod part;
pub mod sink;
pub mod table;

pub use labels::{
    Labels, OWN_LABELS, add_folder_labels, add_note_labels, check_label, join_labels, label_columns, recording_identity,
};
pub use part::{PART_RECORDINGS, Part, part_folder, part_lengths, part_name};
pub use sink::{Form, Sink, TableSink};
pub use table::{Kind, Table};

/// The version of the tables' shape. A column that is added does not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// Why tables cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Arrow's writers.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    /// Parquet's writer or reader.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A file that is not of a dataset.
    #[error("{0}")]
    Dataset(String),
}
