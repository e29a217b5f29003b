//! Tonbandgerät captures, converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and the views that must come out of them;
//! - [`meaning`]: the content of the trace, compared with the results of simple code from the records;
//! - [`cores`]: which core events belong to;
//! - [`damage`]: flipped bits, missing bytes and cut-outs;
//! - [`properties`]: contracts that hold for any input;
//! - [`restarts`]: boards that are reset again and again;
//! - [`superset`]: every kind of record of the superset, its meaning and its damage.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod cores;
mod damage;
mod golden;
mod meaning;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod restarts;
mod run;
mod superset;
