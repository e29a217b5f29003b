//! MiniProfiler captures, converted as a whole.
//!
//! - [`golden`]: captures under `testdata/` and the views that must come out of them;
//! - [`truth`]: every call and every slice against what really was, as the generator (or a file beside a capture) tells it;
//! - [`nesting`]: slices of calls in any order, late, with equal times, overlapping;
//! - [`program`]: names, places and interrupts from the program that ran;
//! - [`properties`]: contracts that hold for any input.
//!
//! All look at traces through [`reader`], which shares no code with the writer.

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
