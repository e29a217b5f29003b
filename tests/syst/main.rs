//! MIPI SyS-T captures, converted as a whole, and parts of the format that have an independent reference.
//!
//! - [`golden`]: captures under `testdata/syst/` and their expected views;
//! - [`clocks`]: the messages' own clock, the transport's, and the time of day;
//! - [`command`]: the built program and its options;
//! - [`printf`]: formatting against the C library's, of cases that [`printf_case`] makes;
//! - [`reference`]: captures that are not in the repository, against another decoder's output;
//! - [`program`]: with the ELF file of the program that ran;
//! - [`properties`]: contracts that hold for any input;
//! - [`meaning`]: the content of the trace.

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
