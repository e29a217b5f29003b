//! Datasets of Parquet files that are read again: which recordings are in them, and their figures.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, RecordBatch, TypedDictionaryArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;

use super::ExportError;

/// The file of a dataset's directory that says which version its tables have.
pub const ABOUT: &str = "dataset.json";

/// Reads columns of a Parquet file; those that it does not have are left out. `consume` gets each batch.
///
/// # Errors
/// When it is no Parquet file, or is damaged.
pub fn read<R: ChunkReader + 'static>(
    file: R,
    columns: &[&str],
    mut consume: impl FnMut(&RecordBatch) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    for batch in builder.with_projection(mask).with_batch_size(1 << 16).build()? {
        consume(&batch?)?;
    }
    Ok(())
}

/// A column of names.
pub type Names<'a> = TypedDictionaryArray<'a, Int32Type, arrow_array::StringArray>;

/// A column of names of a batch.
///
/// # Errors
/// When there is no such column.
pub fn names<'a>(batch: &'a RecordBatch, name: &str) -> Result<Names<'a>, ExportError> {
    let column = batch.column_by_name(name).and_then(|column| column.as_dictionary_opt::<Int32Type>());
    column.and_then(|column| column.downcast_dict()).ok_or_else(|| missing(name))
}

/// The name in a row; empty if it is unknown.
#[must_use]
pub fn name_at<'a>(names: &Names<'a>, row: usize) -> &'a str {
    let key = usize::try_from(key_at(names, row)).ok().filter(|key| *key < names.values().len());
    key.map_or("", |key| names.values().value(key))
}

/// The number of the name in a row, among all of its column; negative if it is unknown.
#[must_use]
pub fn key_at(names: &Names<'_>, row: usize) -> i32 {
    if names.is_valid(row) { names.keys().value(row) } else { -1 }
}

/// All names of a column, by their numbers.
pub fn dictionary<'a>(names: &Names<'a>) -> impl Iterator<Item = &'a str> {
    names.values().iter().map(Option::unwrap_or_default)
}

/// A column of texts.
///
/// # Errors
/// When there is no such column.
pub fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a arrow_array::StringArray, ExportError> {
    batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(|| missing(name))
}

/// A column of numbers with a fraction.
///
/// # Errors
/// When there is no such column.
pub fn reals<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a arrow_array::Float64Array, ExportError> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Float64Type>());
    column.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> ExportError {
    ExportError::Dataset(format!("has no column `{name}` as traceconv writes it"))
}

/// The identities of the recordings of a file of the table of recordings that could be read when it was written.
///
/// # Errors
/// When it is no such file.
pub fn identities<R: ChunkReader + 'static>(file: R) -> Result<Vec<String>, ExportError> {
    let mut all = Vec::new();
    read(file, &["recording", "error"], |batch| {
        let ids = names(batch, "recording")?;
        let errors = batch.column_by_name("error").ok_or_else(|| missing("error"))?;
        for (index, id) in ids.into_iter().enumerate() {
            if errors.is_null(index) {
                all.extend(id.map(str::to_owned));
            }
        }
        Ok(())
    })?;
    Ok(all)
}
