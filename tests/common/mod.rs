//! Code for the tests of every format: driving the library, the views of a capture, and the goldens made of them.
//!
//! A format's tests say `#[path = "../common/mod.rs"] mod common;`, beside `#[path = "../reader/mod.rs"] mod reader;`.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test uses another part")]

pub mod golden;
pub mod run;
pub mod views;
