//! MIPI SyS-T captures, converted as a whole, and the parts of it that can be held against something else.
//!
//! - [`golden`]: captures under `testdata/syst/` and the views that must come out of them;
//! - [`clocks`]: the messages' own clock, the transport's, and the time of day;
//! - [`command`]: the built program and its options;
//! - [`printf`]: formatting against the C library's, of cases that [`printf_case`] makes;
//! - [`reference`]: captures that are not in the repository, against what another decoder says of them;
//! - [`program`]: with the ELF file of the program that ran;
//! - [`properties`]: contracts that hold for any input;
//! - [`meaning`]: what the trace shows.

mod captures;
mod clocks;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod golden;
mod meaning;
mod printf;
mod printf_case;
mod program;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod reference;
