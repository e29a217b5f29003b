//! QS captures, read and converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and the views that must come out of them;
//! - [`compare`]: records against the text of the host program, which [`qspy`] reads;
//! - [`meaning`]: what the trace shows, against what simple code computes straight from the records;
//! - [`properties`]: contracts that hold for any input;
//! - [`detection`]: what is taken for QS.
//!
//! All look at traces through [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod detection;
mod golden;
mod meaning;
mod properties;
mod qspy;
#[path = "../reader/mod.rs"]
mod reader;
