//! `--open` and `serve` of the built program: on the viewer's port as scripts see it, and in a real browser.
//!
//! The tests in [`browser`] need Chromium and are run by `cargo xtask browser-test`, which fails without it.
#![cfg(unix)]

mod browser;
mod devtools;
mod program;
mod serving;
mod stand_in;
