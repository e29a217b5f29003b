//! Batches: many inputs in one run of the built program, the result of each, and the reports for people and for CI.
#![cfg(unix)]

mod captures;
#[path = "../desk/mod.rs"]
mod desk;
mod inputs;
mod many;
mod mixed;
mod reports;
mod terminal;
mod unchanged;
mod workflow;

use desk::{Desk, Ran};
use serde_json::Value;

/// The inputs of a report.
fn inputs(report: &Value) -> &[Value] {
    report["inputs"].as_array().unwrap()
}
