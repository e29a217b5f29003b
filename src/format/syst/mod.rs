//! MIPI SyS-T: messages for tracing and logging, by three transports.
//!
//! A message ([`record`]) is a short string of bytes: a text, a printf format with packed arguments, the id of a format in a
//! *collateral* file ([`collateral`]), data, a build number or a reading of a clock. A transport carries messages to the host:
//!
//! | transport | a message is | module |
//! |---|---|---|
//! | text | a line of a console with a marker and hex digits | [`text`] |
//! | raw  | bytes; the next message follows at once | [`raw`] |
//! | STP  | packets of MIPI STPv2, maybe in CoreSight frames | [`stp`] |
//!
//! Each transport is an entry in the registry with its own first pass and parallel stage. It knows how to find messages, their places
//! and the transport's times, and nothing of the other transports. The rest is shared:
//!
//! ```text
//!  text ─┐                                 ┌─ parts in file order ─┐
//!  raw  ─┼─ bytes of messages ─► decode ──►┤  (resolve::Sequence)  ├─ records ─► resolve ─► events
//!  stp  ─┘   (decode::Context)             └───────────────────────┘
//! ```
//!
//! 1. **First pass.** Text and raw collect facts from all messages ([`scan`]): time stamps, clock messages, builds. STP inspects the
//!    head of the stream, and reads all of it only if its clock messages are needed.
//! 2. **Parallel stage.** A transport finds messages in its part of the input, and passes each to the one decoder ([`decode`]), which
//!    formats texts ([`crate::printf`]) and makes records ([`decoded`]). Where a raw or STP message begins depends on all bytes
//!    before the part, so these transports decode ahead from the first place in the part where that can be known.
//! 3. **Ordered stage.** The transport's `resolve::Sequence` joins the parts of an input into one sequence of records, and decodes what
//!    could not be decoded ahead. The one resolver ([`resolve`]) judges times, keeps the ledger, and makes events on the tracks of
//!    senders. Time stamps of the message clock get onto the transport's axis by [`correlation`].
//!
//! Modules import only those of earlier lines: `record correlation` · `collateral` · `scan` `decoded` · `decode` ·
//! `settings` · `resolve` · `text` `raw` `stp`.

pub mod collateral;
mod correlation;
pub mod decode;
pub mod decoded;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
mod raw;
pub mod record;
mod resolve;
mod scan;
mod settings;
pub mod stp;
mod text;

use super::program::ELF;
use super::{ErasedRecording, Format, FormatOptions, OptionError, OptionSpec, Probe};
use settings::{COLLATERAL, MESSAGE_HZ, SHORT, SHORT_GUID};

/// SyS-T in lines of text.
pub struct SystText;

/// SyS-T as bare bytes.
pub struct SystRaw;

/// SyS-T in STPv2.
pub struct SystStp;

impl Format for SystText {
    fn name(&self) -> &'static str {
        "syst-text"
    }

    fn title(&self) -> &'static str {
        "MIPI SyS-T (text)"
    }

    fn recorded_by(&self) -> &'static str {
        "a console: the SyS-T library's example platform, Zephyr's logging"
    }

    fn recognised_by(&self) -> &'static str {
        "lines with `SYS-T RAW DATA:` and a message in hex"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        text::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT, SHORT_GUID]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        text::open(inputs)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::with_catalog(bytes, seed, generate::Carrier::Text, out)
    }
}

impl Format for SystRaw {
    fn name(&self) -> &'static str {
        "syst-raw"
    }

    fn title(&self) -> &'static str {
        "MIPI SyS-T (raw)"
    }

    fn recorded_by(&self) -> &'static str {
        "any transport that keeps messages apart: bare SyS-T messages with lengths or checksums, one after the other"
    }

    fn recognised_by(&self) -> &'static str {
        "legal messages that follow each other without gaps"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        raw::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT, SHORT_GUID]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        raw::open(inputs)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::with_catalog(bytes, seed, generate::Carrier::Raw, out)
    }
}

impl Format for SystStp {
    fn name(&self) -> &'static str {
        "syst-stp"
    }

    fn title(&self) -> &'static str {
        "MIPI SyS-T (STPv2)"
    }

    fn recorded_by(&self) -> &'static str {
        "CoreSight STM, Linux p_sys-t, Zephyr, the SyS-T library's simulator: STPv2 streams, also in CoreSight (TPIU) frames"
    }

    fn recognised_by(&self) -> &'static str {
        "STPv2's ASYNC packets, and legal messages after them"
    }

    fn probe(&self, sample: &[u8], _whole: bool) -> Option<Probe> {
        stp::probe(sample)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT, SHORT_GUID, stp::STP_HZ, stp::NIBBLES, stp::SOURCE]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        stp::open(inputs)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::with_catalog(bytes, seed, generate::Carrier::Stp(stp::NibbleOrder::Msb), out)
    }
}
