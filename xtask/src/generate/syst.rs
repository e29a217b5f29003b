//! `cargo xtask gen syst-text`, `syst-raw`, `syst-stp`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use traceconv::format::syst::generate::{self, Carrier, GenerateOptions};

use super::{parse_bytes, write};

/// Options of the generator of SyS-T.
#[derive(Args)]
pub struct Syst {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many formats the catalog has
    #[arg(long, default_value_t = 2000)]
    formats: u32,
    /// End messages with a checksum
    #[arg(long)]
    crc: bool,
    /// Leave out the length of payloads
    #[arg(long)]
    no_length: bool,
    /// STPv2: the least significant nibble of a value comes first
    #[arg(long)]
    pub lsb: bool,
    /// Flip bits
    #[arg(long)]
    flips: bool,
    /// Where to write the collateral
    #[arg(long)]
    collateral: Option<PathBuf>,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Writes the capture, and the collateral if it is wanted.
pub fn run(arguments: &Syst, carrier: Carrier) -> anyhow::Result<()> {
    let options = GenerateOptions {
        bytes: arguments.bytes,
        seed: arguments.seed,
        carrier,
        formats: arguments.formats,
        with_length: !arguments.no_length,
        with_crc: arguments.crc,
        flips: arguments.flips,
        ..GenerateOptions::default()
    };
    if let Some(path) = &arguments.collateral {
        fs::write(path, generate::collateral(arguments.formats)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    write(arguments.output.as_ref(), |out| generate::generate(&options, out))
}
