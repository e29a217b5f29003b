//! Converts embedded binary traces to Perfetto traces.
//!
//! bytes → frames → records → events → tracks → packets; each arrow is one module, and each module ignores those after it:
//! [`frame`] and [`mod@format`] read, [`model`] is the common language, [`timeline`] draws, [`perfetto`] writes.

#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod format;
pub mod frame;
pub mod input;
pub mod model;
pub mod perfetto;
pub mod pipeline;
pub mod report;
pub mod symbols;
pub mod timeline;
