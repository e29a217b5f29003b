//! Small captures of all formats, and other files.

use traceconv::format::syst::generate::{self as syst, Carrier};
use traceconv::format::syst::stp::NibbleOrder;
use traceconv::format::{miniprofiler::generate as miniprofiler, qs::generate as qs};
use traceconv::format::{tonbandgeraet::generate as tonbandgeraet, tsp::generate as tsp};

/// The names of all formats, as in a report.
pub const FORMATS: [&str; 7] = ["tonbandgeraet", "qs", "tsp", "miniprofiler", "syst-text", "syst-raw", "syst-stp"];

/// A capture of about so many bytes of one of [`FORMATS`].
pub fn of_format(format: &str, bytes: u64, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let carried = |carrier, out: &mut Vec<u8>| {
        syst::generate(&syst::GenerateOptions { bytes, seed, carrier, ..syst::GenerateOptions::default() }, out)
    };
    match format {
        "tonbandgeraet" => {
            let options = tonbandgeraet::GenerateOptions { bytes, seed, ..tonbandgeraet::GenerateOptions::default() };
            tonbandgeraet::generate(&options, &mut out)
        }
        "qs" => qs::generate(&qs::GenerateOptions { bytes, seed, ..qs::GenerateOptions::default() }, &mut out),
        "tsp" => tsp::generate(&tsp::GenerateOptions { bytes, seed, ..tsp::GenerateOptions::default() }, &mut out),
        "miniprofiler" => {
            let options = miniprofiler::GenerateOptions { bytes, seed, ..miniprofiler::GenerateOptions::default() };
            miniprofiler::generate(&options, &mut out, &mut |_| {})
        }
        "syst-text" => carried(Carrier::Text, &mut out),
        "syst-raw" => carried(Carrier::Raw, &mut out),
        "syst-stp" => carried(Carrier::Stp(NibbleOrder::Msb), &mut out),
        other => panic!("{other}"),
    }
    .unwrap();
    out
}

/// A small capture; another number is another capture.
pub fn small(number: u64) -> Vec<u8> {
    of_format("tonbandgeraet", 3000, number)
}

/// The same with a piece missing in its middle.
pub fn damaged(number: u64) -> Vec<u8> {
    let mut bytes = small(number);
    bytes.drain(1500..1540);
    bytes
}
