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
//! use traceconv::pipeline::Options;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo/demo.bin");
//! let capture: Vec<u8> = std::fs::read(path)?;
//! let options = Options::default().firmware_name("pump").threads(1);
//! let conversion = traceconv::convert(capture, &options)?;
//!
//! assert_eq!(conversion.format.name(), "tonbandgeraet");
//! assert_eq!(conversion.summary.events, 4448);
//! assert!(!conversion.trace.is_empty());
//! // Damage is not an error: it is in the ledger, with its offset.
//! assert!(conversion.summary.ledger.entries().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! [`convert`] recognises the format and decodes gzip, zstd, hex and base64 around the capture. `examples/convert_bytes.rs` does the same in
//! its steps, with options of the format and a report.
//!
//! **Stability.** The documented items follow [Semantic Versioning](https://semver.org/). Modules that are public but hidden from
//! this documentation are for this project's own tests, benches and fuzz targets, and may change in any version. The traits that
//! [`format::Format::open`] returns are documented for authors of formats in this project; they may change too.
//!
//! **Features.** `cli` is the program, `serve` its way to the browser; `export` writes tables; `mmap`, `parallel` and `compress` are as
//! their names say. Without features the library has no threads, files or network, and builds for `wasm32-unknown-unknown`.

#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(missing_docs)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod clock;
#[cfg(feature = "export")]
pub mod export;
pub mod format;
#[doc(hidden)]
pub mod frame;
pub mod input;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod model;
#[doc(hidden)]
pub mod perfetto;
pub mod pipeline;
#[doc(hidden)]
pub mod printf;
#[cfg(feature = "record")]
#[doc(hidden)]
pub mod record;
pub mod report;
pub mod stats;
#[doc(hidden)]
pub mod symbols;
#[doc(hidden)]
pub mod timeline;
#[doc(hidden)]
pub mod track;

/// A capture that was converted by [`convert`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Conversion {
    /// The detected format.
    pub format: &'static dyn format::Format,
    /// The trace.
    pub trace: Vec<u8>,
    /// The result for the capture: events, facts, losses and repairs.
    pub summary: pipeline::InputSummary,
    /// Damage of the encodings around the capture, such as a gzip file that was cut.
    pub damages: Vec<input::Damage>,
}

/// The reason why [`convert`] failed. Damaged input is not an error: it is in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes cannot be decoded.
    #[error(transparent)]
    Input(#[from] input::InputError),
    /// No format recognises the bytes.
    #[error(transparent)]
    Detect(#[from] input::detect::DetectError),
    /// The conversion failed.
    #[error(transparent)]
    Convert(#[from] pipeline::ConvertError),
}

/// Converts a capture in memory: decodes gzip, zstd, hex or base64 around it, recognises its format, and converts it with the format's
/// default options.
///
/// # Errors
/// When the bytes are empty or cannot be decoded, when no format recognises them, or when the format refuses them.
pub fn convert(capture: Vec<u8>, options: &pipeline::Options) -> Result<Conversion, Error> {
    let input = input::Input::from_vec(capture, &input::ReadOptions { spool_dir: None, ..input::ReadOptions::default() })?;
    let format = input::detect::detect(input.bytes(), input.layers())?.format;
    let source = pipeline::Source::new(input.bytes(), format);
    let mut trace = Vec::new();
    let mut converted = pipeline::convert(&[source], options, &mut trace, &mut |_| true)?;
    let summary = converted.inputs.pop().unwrap_or_default();
    Ok(Conversion { format, trace, summary, damages: input.damages().to_vec() })
}
