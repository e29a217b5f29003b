//! Realistic captures of any size, for tests, benches and `cargo xtask gen`.
//!
//! A firmware of two clients with GUIDs and one module logs from a catalog, with printf, texts, functions, short messages, data, builds
//! and clock messages. Everything depends on the options alone.

use std::io::{self, Write};

use super::encode::{Draft, Origin, encode};
use super::record::{Guid, Kind, Pointers};
use super::stp::NibbleOrder;
use super::stp::encode::{Ending, TimeScheme, Writer};
use super::text::MARKER;
use crate::format::{FormatOptions, OptionValue};

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Lines of text.
    Text,
    /// Bare bytes.
    Raw,
    /// STPv2 packets, in this order of nibbles.
    Stp(NibbleOrder),
}

/// The capture to generate.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the message that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// How messages are sent.
    pub carrier: Carrier,
    /// How many formats the catalog has.
    pub formats: u32,
    /// Whether messages have a length field.
    pub with_length: bool,
    /// Whether they end with a checksum.
    pub with_crc: bool,
    /// Whether about one bit in 8 KiB is flipped.
    pub flips: bool,
    /// How long the target has run at the start, in microseconds.
    pub start_us: u64,
    /// In the middle of the capture, nothing is recorded for this number of microseconds.
    pub silent_us: u64,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            carrier: Carrier::Text,
            formats: 2000,
            with_length: true,
            with_crc: false,
            flips: false,
            start_us: 1_000_000,
            silent_us: 0,
        }
    }
}

/// The clients with GUIDs, and their names.
const CLIENTS: [(Guid, &str); 2] = [
    (*b"\x5B\x1F\x6D\x02\x91\x4C\x4A\x77\x9E\x10\x2C\x44\xD0\x8A\x31\x07", "radio"),
    (*b"\xC3\x20\x7E\x9A\x04\xB8\x4F\x1D\xA6\x5F\x71\xEE\x12\x95\x6B\x40", "motor"),
];

/// The module without GUID.
const MODULE: u8 = 0x12;

/// Ticks of the message clock per second.
const CLOCK_HZ: u64 = 1_000_000;

/// Ticks of the STP clock per second.
const STP_HZ: u32 = 24_000_000;

/// The type of an argument.
#[derive(Clone, Copy)]
enum Argument {
    Int,
    Long,
    Float,
    Text,
}

/// The formats, and their arguments. They repeat.
const SHAPES: [(&str, &[Argument]); 7] = [
    ("packet %u from node %d", &[Argument::Int, Argument::Int]),
    ("state 0x%08x", &[Argument::Int]),
    ("done", &[]),
    ("speed %.2f rpm at %u", &[Argument::Float, Argument::Int]),
    ("task %s took %lu us", &[Argument::Text, Argument::Long]),
    ("queue level %5d of %-5d", &[Argument::Int, Argument::Int]),
    ("error %d, retry %u of %u", &[Argument::Int, Argument::Int, Argument::Int]),
];

fn shape(number: u32) -> (&'static str, &'static [Argument]) {
    SHAPES[number as usize % SHAPES.len()]
}

/// Catalog ids look like hashes.
fn id_of(number: u32) -> u32 {
    number.wrapping_mul(0x9E37_79B1) | 1
}

/// The collateral of the generated firmware.
#[must_use]
pub fn collateral(formats: u32) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<syst:Collateral xmlns:syst=\"http://www.mipi.org/1.0/sys-t\">\n",
    );
    let mut client = |name: &str, guid: &str, mask: &str| {
        xml.push_str(&format!(" <syst:Client Name=\"{name}\">\n  <syst:Guids><syst:Guid ID=\"{guid}\"{mask}/></syst:Guids>\n"));
        xml.push_str("  <syst:Modules><syst:Module ID=\"18\">boot</syst:Module></syst:Modules>\n");
        xml.push_str(
            "  <syst:SourceFiles><syst:File ID=\"1\"><![CDATA[src/main.c]]></syst:File></syst:SourceFiles>\n  <syst:Catalog32>\n",
        );
        for number in 0..formats {
            let (id, line) = (id_of(number), 10 + number);
            xml.push_str(&format!(
                "   <syst:Format ID=\"{id:#010x}\" File=\"1\" Line=\"{line}\"><![CDATA[{name} {number}: {}]]></syst:Format>\n",
                shape(number).0
            ));
        }
        xml.push_str("  </syst:Catalog32>\n  <syst:Short32>\n");
        xml.push_str("   <syst:Format ID=\"0x0A000000\" Mask=\"0x0F000000\">battery %d mV</syst:Format>\n  </syst:Short32>\n </syst:Client>\n");
    };
    for (guid, name) in CLIENTS {
        let mut text = String::new();
        crate::printf::escape::push_guid(&guid, &mut text);
        client(name, &text, "");
    }
    client("boot", "{00000000-0000-0000-1200-000000000000}", " Mask=\"{00000000-0000-0000-FF00-000000000000}\"");
    xml.push_str("</syst:Collateral>\n");
    xml
}

/// Writes a capture, and gives its catalog as an option.
///
/// # Errors
/// Those of `out`.
pub fn with_catalog(bytes: u64, seed: u64, carrier: Carrier, out: &mut dyn Write) -> io::Result<FormatOptions> {
    let options = GenerateOptions { bytes, seed, carrier, ..GenerateOptions::default() };
    generate(&options, out)?;
    let catalog = collateral(options.formats).into_bytes();
    let file = OptionValue::File { path: "collateral.xml".into(), bytes: catalog.into() };
    Ok(FormatOptions { own: vec![("collateral", file)], ..FormatOptions::default() })
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut firmware = Firmware::new(options);
    let mut written = 0u64;
    let mut count = 0u64;
    let mut piece = Vec::new();
    let mut silent_us = options.silent_us;
    while written < options.bytes {
        piece.clear();
        if written * 2 >= options.bytes {
            firmware.now += std::mem::take(&mut silent_us);
        }
        firmware.step(count, &mut piece);
        count += 1;
        if options.flips {
            for byte in &mut piece {
                if firmware.random.below(8192) == 0 {
                    *byte ^= 1 << firmware.random.below(8);
                }
            }
        }
        out.write_all(&piece)?;
        written += piece.len() as u64;
    }
    // The half byte that is left.
    out.write_all(&firmware.stp.map(Writer::finish).unwrap_or_default())
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

struct Firmware {
    options: GenerateOptions,
    random: Random,
    /// In microseconds.
    now: u64,
    stp: Option<Writer>,
    /// Open functions of each client.
    open: [Vec<u8>; 2],
    payload: Vec<u8>,
    frame: Vec<u8>,
}

const FUNCTIONS: [&str; 8] = ["init", "poll", "read_sensor", "update", "transmit", "receive", "filter", "log_flush"];

impl Firmware {
    fn new(options: &GenerateOptions) -> Firmware {
        let stp = match options.carrier {
            Carrier::Stp(order) => Some(Writer::new(order, TimeScheme::Natural, false)),
            _ => None,
        };
        Firmware {
            options: *options,
            random: Random(options.seed),
            now: options.start_us,
            stp,
            open: [Vec::new(), Vec::new()],
            payload: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Writes one message with its carrier.
    fn step(&mut self, count: u64, out: &mut Vec<u8>) {
        self.now += 1 + self.random.below(40);
        let client = self.random.below(2) as usize;
        let what = if count == 0 { 99 } else { self.random.below(100) };
        self.payload.clear();
        let mut origin = Origin::Guid(CLIENTS[client].0, 1 + self.random.below(3) as u16);
        let mut severity = 4;
        let kind = match what {
            0..=69 => {
                let number = self.random.below(u64::from(self.options.formats.max(1))) as u32;
                severity = 2 + (number % 6) as u8;
                self.payload.extend(id_of(number).to_le_bytes());
                self.arguments(shape(number).1);
                Kind::Catalog { wide_id: false, pointers: Pointers::Bits32 }
            }
            70..=77 => {
                let (text, arguments) = shape(self.random.below(SHAPES.len() as u64) as u32);
                self.payload.extend(text.bytes().chain([0]));
                self.arguments(arguments);
                origin = Origin::Module(MODULE, 2);
                Kind::Printf(Pointers::Bits32)
            }
            78..=81 => {
                self.payload.extend(format!("radio channel {} is free\0", self.random.below(40)).bytes());
                Kind::Generic
            }
            82..=90 => self.function(client),
            91..=94 => {
                self.payload.extend((0x0A00_0000 | (3000 + self.random.below(700))).to_le_bytes());
                Kind::Short32
            }
            95..=97 => {
                for _ in 0..8 + self.random.below(40) {
                    let byte = self.random.next() as u8;
                    self.payload.push(byte);
                }
                Kind::Raw(7)
            }
            98 => {
                severity = 0;
                origin = Origin::Module(0, 0);
                self.payload.extend([self.now.to_le_bytes(), CLOCK_HZ.to_le_bytes()].as_flattened());
                Kind::ClockSync
            }
            _ => {
                severity = 0;
                self.payload.extend(0x10002u64.to_le_bytes());
                self.payload.extend(b"generated\0");
                Kind::BuildLong
            }
        };
        let draft = Draft {
            kind,
            severity,
            origin,
            location: None,
            with_length: self.options.with_length,
            timestamp: self.stp.is_none().then_some(self.now),
            with_crc: self.options.with_crc,
            payload: &self.payload,
        };
        self.frame.clear();
        encode(&draft, &mut self.frame);
        self.send(count, client, out);
    }

    fn send(&mut self, count: u64, client: usize, out: &mut Vec<u8>) {
        match &mut self.stp {
            Some(writer) => {
                if count.is_multiple_of(40) {
                    writer.sync();
                    writer.frequency(STP_HZ);
                    writer.send_whole_time();
                }
                let ending = if count.is_multiple_of(3) { Ending::Marked } else { Ending::Flag };
                writer.go_to(0x80, 1 + client as u16);
                writer.message(&self.frame, self.now * u64::from(STP_HZ / 1_000_000), ending);
                out.extend(writer.take_bytes());
            }
            None if self.options.carrier == Carrier::Raw => out.extend_from_slice(&self.frame),
            None => {
                if count % 50 == 7 {
                    out.extend(format!("[{:>10}] uart: {} bytes\r\n", self.now, count).bytes());
                }
                out.extend_from_slice(MARKER);
                let mut hex = String::with_capacity(2 * self.frame.len());
                crate::printf::escape::push_hex(&self.frame, &mut hex);
                out.extend(hex.bytes());
                out.extend(b"\r\n");
            }
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            match argument {
                Argument::Int | Argument::Long => self.payload.extend((self.random.below(5000) as u32).to_le_bytes()),
                Argument::Float => self.payload.extend((self.random.below(100_000) as f64 / 16.0).to_le_bytes()),
                Argument::Text => {
                    self.payload.extend(FUNCTIONS[self.random.below(8) as usize].bytes().chain([0]));
                }
            }
        }
    }

    fn function(&mut self, client: usize) -> Kind {
        let open = &mut self.open[client];
        let is_exit = open.len() >= 6 || (!open.is_empty() && self.random.below(2) == 0);
        let name = if is_exit { open.pop().unwrap_or(0) } else { self.random.below(8) as u8 };
        if !is_exit {
            self.open[client].push(name);
        }
        self.payload.extend(FUNCTIONS[usize::from(name)].bytes().chain([0]));
        if is_exit { Kind::FunctionExit } else { Kind::FunctionEnter }
    }
}
