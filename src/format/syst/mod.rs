//! MIPI SyS-T: messages for tracing and logging, by three transports.
//!
//! A message is a string of bytes ([`record`]): texts, printf formats with packed arguments, numbers of formats that a *collateral* file
//! knows, data, builds, clocks. It arrives as hex in a console's lines ([`text`]), as bare bytes ([`raw`], [`part`]) or in the packets
//! of MIPI STPv2 ([`stp`]), maybe in CoreSight frames. These are three entries in the registry with one decoder, one resolver and one
//! set of options: what a message means does not depend on how it came.

pub mod collateral;
pub mod decode;
pub mod encode;
pub mod generate;
mod line;
mod listing;
mod part;
pub mod printf;
mod probe;
pub mod raw;
pub mod record;
mod resolve;
mod scan;
pub mod shown;
pub mod stp;
mod text;

use std::sync::{Arc, OnceLock};

use super::{
    Decode, ErasedRecording, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Part, Probe, Recording, Stages, erase,
};
use crate::model::{FrequencyError, Ledger, Rate};
use crate::symbols::Symbols;
use collateral::Collateral;
use decode::{Decoder, Records};
use part::RawPart;
use resolve::Resolver;
use scan::Found;
use stp::ahead::Ahead;
use stp::correlate::{Correlator, Pair};
use stp::{Evidence, NibbleOrder};

/// How messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Text,
    Raw,
    Stp,
}

/// SyS-T in lines of text.
pub struct SystText;

/// SyS-T as bare bytes.
pub struct SystRaw;

/// SyS-T in STPv2.
pub struct SystStp;

const fn option(name: &'static str, kind: OptionKind, repeatable: bool, help: &'static str) -> OptionSpec {
    OptionSpec { name, kind, repeatable, help }
}

const COLLATERAL: OptionSpec = option("collateral", OptionKind::File("FILE"), true, "The SyS-T collateral XML of the firmware");
const ELF: OptionSpec = OptionSpec {
    name: "elf",
    kind: OptionKind::File("FILE"),
    repeatable: false,
    help: "The program that ran on the target: names of functions, files and lines",
};
const MESSAGE_HZ: OptionSpec =
    option("syst-clock-hz", OptionKind::Text("N[/D]"), false, "The frequency of the SyS-T message clock");
const SHORT: OptionSpec =
    option("short-as-counter", OptionKind::Flag, false, "Draw the values of SyS-T short messages as counters");
const STP_HZ: OptionSpec = option("stp-freq", OptionKind::Text("N[/D]"), false, "The frequency of the STP clock");
const NIBBLES: OptionSpec =
    option("stp-nibbles", OptionKind::Text("ORDER"), false, "The order of nibbles in STP values: msb, lsb or auto");

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
        probe::text(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Scanner::open(Transport::Text, inputs)
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
        "messages that are legal, one where the one before ends"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::raw(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Scanner::open(Transport::Raw, inputs)
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
        "STPv2's ASYNC packets, and legal messages behind them"
    }

    fn probe(&self, sample: &[u8], _whole: bool) -> Option<Probe> {
        probe::stp(sample)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[COLLATERAL, ELF, MESSAGE_HZ, SHORT, STP_HZ, NIBBLES]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Scanner::open(Transport::Stp, inputs)
    }
}

/// What the user said, understood.
#[derive(Clone, Default)]
struct Settings {
    collateral: Arc<Collateral>,
    message_rate: Option<Rate>,
    transport_rate: Option<Rate>,
    nibble_order: Option<NibbleOrder>,
    short_as_counter: bool,
    /// The program, and the name of its file.
    symbols: Option<(String, Arc<Symbols>)>,
}

impl Settings {
    fn of(transport: Transport, inputs: &[FormatOptions]) -> Result<Settings, OptionError> {
        let mut collateral = Collateral::default();
        let Some(options) = inputs.first() else { return Ok(Settings::default()) };
        for (path, bytes) in options.files(COLLATERAL.name) {
            collateral.add(bytes).map_err(|error| OptionError {
                option: COLLATERAL.name,
                found: format!("{path}: {error}"),
                expected: "a SyS-T collateral XML file is expected".into(),
            })?;
        }
        let rate = |option: OptionSpec| {
            let Some(text) = options.text(option.name) else { return Ok(None) };
            let wrong = |error: FrequencyError| OptionError {
                option: option.name,
                found: format!("{text:?} is no frequency"),
                expected: error.to_string(),
            };
            Rate::parse_hz(text).map(Some).map_err(wrong)
        };
        let nibble_order = match options.text(NIBBLES.name) {
            None | Some("auto") => None,
            Some("msb") => Some(NibbleOrder::Msb),
            Some("lsb") => Some(NibbleOrder::Lsb),
            Some(other) => {
                let expected = "msb, lsb or auto is expected".to_owned();
                return Err(OptionError { option: NIBBLES.name, found: format!("{other:?}"), expected });
            }
        };
        let symbols = options.files(ELF.name).last().map(|(path, bytes)| {
            Symbols::parse(bytes, None).map(|symbols| (path.to_owned(), Arc::new(symbols))).map_err(|error| OptionError {
                option: ELF.name,
                found: format!("`{path}` is {error}"),
                expected: error.expected().into(),
            })
        });
        // The general option speaks of the clock that times are made with.
        let (message_clock, transport_clock) =
            if transport == Transport::Stp { (None, options.clock) } else { (options.clock, None) };
        Ok(Settings {
            collateral: Arc::new(collateral),
            message_rate: rate(MESSAGE_HZ)?.or(message_clock),
            transport_rate: rate(STP_HZ)?.or(transport_clock),
            nibble_order,
            short_as_counter: options.flag(SHORT.name),
            symbols: symbols.transpose()?,
        })
    }
}

/// The records of a part of a text.
#[derive(Debug, Default)]
struct TextPart {
    records: Records,
    end: usize,
    is_last: bool,
}

/// A part of an STP stream: its bytes, and what of them was decoded ahead.
#[derive(Debug, Default)]
struct StpPart {
    start: usize,
    /// The bytes, and [`StpPart::PAD_BYTES`] behind them.
    padded: Vec<u8>,
    is_last: bool,
    ahead: Ahead,
}

impl StpPart {
    /// So that words may be loaded near the end.
    const PAD_BYTES: usize = 16;

    fn unpadded(padded: &[u8]) -> &[u8] {
        padded.get(..padded.len().saturating_sub(StpPart::PAD_BYTES)).unwrap_or(&[])
    }

    fn bytes(&self) -> &[u8] {
        StpPart::unpadded(&self.padded)
    }
}

/// The records of a part, by transport.
#[derive(Debug)]
enum TransportPart {
    Text(TextPart),
    Raw(RawPart),
    Stp(StpPart),
}

impl Default for TransportPart {
    fn default() -> TransportPart {
        TransportPart::Text(TextPart::default())
    }
}

/// The metadata of a part.
enum PartFacts {
    Found(Found),
    Raw(part::Scanned),
}

/// The metadata of all parts of an input.
#[derive(Default)]
enum InputFacts {
    #[default]
    Empty,
    Found(Found),
    Raw(part::Scan),
}

/// The first pass.
struct Scanner {
    transport: Transport,
    settings: Settings,
    inputs: usize,
    /// What the start of each input tells of its STP: found out by whoever needs it first.
    heads: Vec<OnceLock<StpHead>>,
}

impl Scanner {
    fn open(transport: Transport, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let settings = Settings::of(transport, inputs)?;
        let heads = inputs.iter().map(|_| OnceLock::new()).collect();
        Ok(erase(Scanner { transport, settings, inputs: inputs.len(), heads }))
    }
}

impl Recording for Scanner {
    type PartFacts = PartFacts;
    type Facts = InputFacts;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        match self.transport {
            Transport::Text => text::cut(input, at),
            // Parts are put together in file order.
            Transport::Raw | Transport::Stp => at.min(input.len()),
        }
    }

    fn scan(&self, input: usize, part: Part<'_>) -> PartFacts {
        match self.transport {
            Transport::Text => PartFacts::Found(text::scan(part)),
            Transport::Raw => PartFacts::Raw(part::scan(&self.settings.collateral, part)),
            Transport::Stp => {
                let look = || StpHead::of(part.input, &self.settings);
                PartFacts::Found(self.heads.get(input).map_or_else(Found::default, |head| scan_stp(head.get_or_init(look), part)))
            }
        }
    }

    fn join(&self, bytes: &[u8], facts: &mut InputFacts, next: PartFacts) {
        match (facts, next) {
            (InputFacts::Raw(all), PartFacts::Raw(next)) => all.add(next, bytes, &self.settings.collateral),
            (InputFacts::Found(all), PartFacts::Found(next)) => all.add(next),
            (facts, PartFacts::Found(first)) => *facts = InputFacts::Found(first),
            (facts, PartFacts::Raw(first)) => {
                let mut all = part::Scan::new();
                all.add(first, bytes, &self.settings.collateral);
                *facts = InputFacts::Raw(all);
            }
        }
    }

    fn finish(self, facts: Vec<InputFacts>, _ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let found = |facts: InputFacts| match facts {
            InputFacts::Empty => Found::default(),
            InputFacts::Found(found) => found,
            InputFacts::Raw(scan) => scan.found,
        };
        let mut found: Vec<Found> = facts.into_iter().map(found).collect();
        found.resize_with(self.inputs.max(found.len()), Found::default);
        let collateral = self.settings.collateral.clone();
        let decoders: Vec<Decoder> = found
            .iter_mut()
            .map(|found| Decoder {
                collateral: collateral.clone(),
                builds: (self.transport != Transport::Stp).then(|| Arc::new(found.take_builds())),
                symbols: self.settings.symbols.as_ref().map(|(_, symbols)| symbols.clone()),
            })
            .collect();
        // What is in CoreSight frames has to be taken out of them first, and builds choose clients in the order of the stream.
        let order = |found: &Found| self.settings.nibble_order.unwrap_or(found.stp.order());
        let decodes_ahead = |found: &Found| found.tpiu.is_none() && !collateral.has_builds();
        let orders = found.iter().map(|found| decodes_ahead(found).then(|| order(found))).collect();
        let resolver = Resolver::new(self.transport, &self.settings, found, &decoders);
        let decode = Decoders { transport: self.transport, decoders, orders };
        Stages { cores: resolver.cores(), decode, resolve: resolver }
    }
}

/// How much of the start of an input tells its STP, in bytes. The same for all windows: whatever they are, it is looked at whole.
const STP_HEAD_BYTES: usize = 256 << 10;

/// What the start of an STP stream tells.
#[derive(Debug)]
struct StpHead {
    evidence: Evidence,
    tpiu: Option<u8>,
    order: NibbleOrder,
    /// The clock's rate, and whether an option says so.
    rate: (Option<Rate>, bool),
    pairs: Vec<Pair>,
    /// The stream is to be read whole for its clock messages.
    is_correlated: bool,
}

impl StpHead {
    fn of(input: &[u8], settings: &Settings) -> StpHead {
        let bytes = input.get(..STP_HEAD_BYTES).unwrap_or(input);
        // Sampled in several places: the first messages may be few.
        let (mut evidence, mut tpiu) = (Evidence::default(), None);
        bytes.chunks(STP_HEAD_BYTES / 4).for_each(|chunk| evidence.add(&Evidence::of(chunk)));
        if evidence.reading(evidence.order()).legal == 0
            && let Some((source, found)) = probe::tpiu_source(bytes)
        {
            (tpiu, evidence) = (Some(source), found);
        }
        let order = settings.nibble_order.unwrap_or(evidence.order());
        let told = evidence.reading(order).hz.and_then(|hz| Rate::from_hz(hz, 1));
        let rate = (settings.transport_rate.or(told), settings.transport_rate.is_some());
        let mut head = StpHead { evidence, tpiu, order, rate, pairs: Vec::new(), is_correlated: false };
        let mut correlator = head.correlator();
        correlator.push(bytes, bytes.len() == input.len());
        head.pairs = correlator.pairs().to_vec();
        // Pairs are for time stamps of messages, or tell how fast the transport's clock is.
        head.is_correlated = !head.pairs.is_empty() && (correlator.has_timestamps() || rate.0.is_none());
        head
    }

    fn correlator(&self) -> Correlator {
        Correlator::new(self.order, self.tpiu, self.rate.0.unwrap_or(Rate::NANOSECOND), self.rate.1)
    }
}

/// The first part has what the head tells.
fn scan_stp(head: &StpHead, part: Part<'_>) -> Found {
    let mut found = Found::default();
    let is_last = part.end >= part.input.len();
    if part.start > 0 {
        if head.is_correlated {
            found.stp_bytes = (part.bytes().to_vec(), is_last);
        }
        return found;
    }
    (found.stp, found.tpiu, found.pairs) = (head.evidence.clone(), head.tpiu, head.pairs.clone());
    found.correlator = head.is_correlated.then(|| {
        let mut correlator = Box::new(head.correlator());
        correlator.push(part.bytes(), is_last);
        correlator
    });
    found
}

/// A decoder for each input.
struct Decoders {
    transport: Transport,
    decoders: Vec<Decoder>,
    /// The order of nibbles of inputs whose parts are decoded ahead.
    orders: Vec<Option<NibbleOrder>>,
}

impl Decode for Decoders {
    type Records = TransportPart;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut TransportPart) {
        let nothing = Decoder::default();
        let decoder = self.decoders.get(input).unwrap_or(&nothing);
        let is_last = part.end >= part.input.len();
        match (self.transport, &mut *records) {
            (Transport::Text, TransportPart::Text(text)) => {
                text.records.reset(part.start as u64);
                (text.end, text.is_last) = (part.end, is_last);
                text::decode(decoder, part, &mut text.records);
            }
            (Transport::Raw, TransportPart::Raw(raw)) => raw.decode(decoder, part),
            (Transport::Stp, TransportPart::Stp(stp)) => {
                (stp.start, stp.is_last) = (part.start, is_last);
                stp.padded.clear();
                stp.padded.extend_from_slice(part.bytes());
                stp.padded.extend([0; StpPart::PAD_BYTES]);
                match self.orders.get(input).copied().flatten() {
                    Some(order) => stp.ahead.decode(decoder, order, &stp.padded, part.start),
                    None => stp.ahead.forget(),
                }
            }
            (transport, records) => {
                *records = match transport {
                    Transport::Text => TransportPart::Text(TextPart::default()),
                    Transport::Raw => TransportPart::Raw(RawPart::default()),
                    Transport::Stp => TransportPart::Stp(StpPart::default()),
                };
                self.decode(input, part, records);
            }
        }
    }
}
