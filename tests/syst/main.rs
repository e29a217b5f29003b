//! MIPI SyS-T captures, converted as a whole, and the parts of it that can be held against something else.
//!
//! - [`golden`]: captures under `testdata/syst/` and the views that must come out of them;
//! - [`printf`]: formatting against the C library's;
//! - [`reference`]: captures that are not in the repository, against what another decoder says of them;
//! - [`properties`]: contracts that hold for any input;
//! - [`meaning`]: what the trace shows.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod meaning;
mod printf;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod reference;
