//! ITM and DWT streams, converted as a whole.
//!
//! - [`detection`]: recognition against all other formats, bare and in frames;
//! - [`golden`]: captures under `testdata/` and their expected views;
//! - [`meaning`]: times, losses, names and samples, compared with what the generator knows;
//! - [`properties`]: contracts that hold for any input;
//! - [`reference`]: a recording of a real target, if `TRACECONV_ITM` names the folder that has it.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod detection;
mod golden;
mod meaning;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod reference;
mod run;
