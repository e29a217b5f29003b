//! QS captures, read and converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and their expected views;
//! - [`compare`]: records, compared with the text of the host program, which [`qspy`] reads;
//! - [`meaning`]: the content of the trace, compared with the results of simple code from the records;
//! - [`properties`]: contracts that hold for any input;
//! - [`clocks`]: times, compared with those that were encoded, and what is said where they are not known;
//! - [`versions`]: records whose meaning depends on the version;
//! - [`detection`]: recognition of QS.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
mod clocks;
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
mod versions;
