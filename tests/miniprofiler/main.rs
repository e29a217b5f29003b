//! MiniProfiler captures, converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and their expected views;
//! - [`truth`]: every call and every slice, compared with the truth from the generator (or from a file beside a capture);
//! - [`nesting`]: slices of calls in any order, late, with equal times, overlapping;
//! - [`program`]: names, places and interrupts from the program that ran;
//! - [`properties`]: contracts that hold for any input.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod nesting;
mod program;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod run;
mod truth;
