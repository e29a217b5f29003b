//! The options that all transports share.

use std::sync::Arc;

use super::collateral::Collateral;
use super::decode::Decoder;
use super::scan::Builds;
use crate::format::program::ElfFile;
use crate::format::{FormatOptions, OptionError, OptionKind, OptionSpec};
use crate::model::{FrequencyError, Rate};
use crate::symbols::Symbols;

/// `--collateral`.
pub const COLLATERAL: OptionSpec =
    OptionSpec::repeated("collateral", OptionKind::File("FILE"), "The SyS-T collateral XML of the firmware");

/// `--syst-clock-hz`.
pub const MESSAGE_HZ: OptionSpec =
    OptionSpec::once("syst-clock-hz", OptionKind::Text("N[/D]"), "The frequency of the SyS-T message clock");

/// `--short-as-counter`.
pub const SHORT: OptionSpec =
    OptionSpec::once("short-as-counter", OptionKind::Flag, "Draw the values of SyS-T short messages as counters");

/// `--syst-short-guid`.
pub const SHORT_GUID: OptionSpec = OptionSpec::once(
    "syst-short-guid",
    OptionKind::Text("GUID"),
    "The client that SyS-T short messages are from: they do not contain it (default: the client without GUID, or the only one)",
);

/// The values of these options.
#[derive(Clone, Default)]
pub struct Settings {
    /// The collateral files.
    pub collateral: Arc<Collateral>,
    /// The rate of the message clock.
    pub message_rate: Option<Rate>,
    /// Whether short messages are drawn as counters.
    pub short_as_counter: bool,
    /// The program that ran on the target, and the name of its file.
    pub symbols: Option<(String, Arc<Symbols>)>,
}

impl Settings {
    /// The values of the first input's options; all inputs have the same ones.
    pub fn parse(inputs: &[FormatOptions]) -> Result<Settings, OptionError> {
        let mut collateral = Collateral::default();
        let Some(options) = inputs.first() else { return Ok(Settings::default()) };
        for (path, bytes) in options.files(COLLATERAL.name) {
            collateral.add(bytes).map_err(|error| OptionError {
                option: COLLATERAL.name,
                found: format!("{path}: {error}"),
                expected: "a SyS-T collateral XML file is expected".into(),
            })?;
        }
        if let Some(text) = options.text(SHORT_GUID.name) {
            let guid = super::collateral::parse_guid(text).map(u128::to_be_bytes);
            collateral.short_guid = Some(guid.ok_or_else(|| OptionError {
                option: SHORT_GUID.name,
                found: format!("{text:?} is not a GUID"),
                expected: "one like 494E5443-8A9C-4014-A65A-2F36A36D96E4 is expected".into(),
            })?);
        }
        Ok(Settings {
            collateral: Arc::new(collateral),
            message_rate: parse_rate(options, &MESSAGE_HZ)?,
            short_as_counter: options.flag(SHORT.name),
            symbols: ElfFile::read(options, None)?.map(|elf| (elf.path, elf.symbols)),
        })
    }

    /// The same, for transports without a clock: the general option for the clock is about the message clock.
    pub fn parse_without_transport_clock(inputs: &[FormatOptions]) -> Result<Settings, OptionError> {
        let mut settings = Settings::parse(inputs)?;
        settings.message_rate = settings.message_rate.or(inputs.first().and_then(|options| options.clock));
        Ok(settings)
    }

    /// A decoder of messages. `builds` are those of the input, if its parts are decoded in any order.
    pub fn decoder(&self, builds: Option<Builds>) -> Decoder {
        Decoder {
            collateral: self.collateral.clone(),
            builds: builds.map(Arc::new),
            symbols: self.symbols.as_ref().map(|(_, symbols)| symbols.clone()),
        }
    }
}

/// The value of an option that is a frequency in Hz.
pub fn parse_rate(options: &FormatOptions, option: &OptionSpec) -> Result<Option<Rate>, OptionError> {
    let Some(text) = options.text(option.name) else { return Ok(None) };
    let wrong = |error: FrequencyError| OptionError {
        option: option.name,
        found: format!("{text:?} is not a frequency"),
        expected: error.to_string(),
    };
    Rate::parse_hz(text).map(Some).map_err(wrong)
}
