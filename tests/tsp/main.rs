//! TSP captures, converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and their expected views;
//! - [`meaning`]: the content of the trace, compared with the results of simple code from the records;
//! - [`properties`]: contracts that hold for any input.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod meaning;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod run;
