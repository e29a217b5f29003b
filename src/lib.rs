//! Converts embedded binary traces to Perfetto traces.
//!
//! bytes → frames → records → events → tracks → packets. Each arrow is one module, and each module ignores those after it:
//! `frame` and [`mod@format`] read, [`model`] is the common language, `timeline` draws, `perfetto` writes. Other programs use
//! these: [`input`] opens and recognises bytes, [`pipeline`] converts, [`report`] describes the result, [`stats`] computes
//! figures.
//!
//! A capture in memory becomes a trace in memory; nothing is printed, no file is touched, and no thread is started:
//!
//! ```
//! use traceconv::format::FormatOptions;
//! use traceconv::input::detect::detect;
//! use traceconv::pipeline::{self, Options, Source};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo/demo.bin");
//! let capture: Vec<u8> = std::fs::read(path)?;
//! let format = detect(&capture, &[])?.format;
//! let source = Source { bytes: &capture, format, options: FormatOptions::default(), release: &|_| {} };
//! let options = Options { firmware_name: "pump".into(), threads: 1, ..Options::default() };
//! let mut trace = Vec::new();
//! let converted = pipeline::convert(&[source], &options, &mut trace, &mut |_| true)?;
//!
//! assert_eq!(format.name(), "tonbandgeraet");
//! assert_eq!(converted.inputs[0].events, 4451);
//! assert_eq!(converted.output_bytes, trace.len() as u64);
//! // Damage is not an error: it is in the ledger, with its offset.
//! assert!(converted.inputs[0].ledger.entries().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! `examples/convert_bytes.rs` does the same with compressed input, options and a report.
//!
//! **Stability.** The documented items follow [Semantic Versioning](https://semver.org/). Modules that are public but hidden from
//! this documentation are for this project's own tests, benches and fuzz targets, and may change in any version. The traits that
//! [`format::Format::open`] returns are documented for authors of formats in this project; they may change too.
//!
//! **Features.** `cli` is the program, `serve` its way to the browser; `mmap`, `parallel` and `compress` are as their names say. Without
//! features the library has no threads, files or network, and builds for `wasm32-unknown-unknown`.

#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod format;
#[doc(hidden)]
pub mod frame;
pub mod input;
#[doc(hidden)]
pub mod metrics;
pub mod model;
#[doc(hidden)]
pub mod perfetto;
pub mod pipeline;
pub mod report;
pub mod stats;
#[doc(hidden)]
pub mod symbols;
#[doc(hidden)]
pub mod timeline;
#[doc(hidden)]
pub mod track;
