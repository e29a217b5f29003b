//! Tonbandgerät: COBS frames, FreeRTOS and bare metal.

use super::{Format, FormatOptions, Probe, Scan};

/// The format's entry in the registry.
pub struct Tonbandgeraet;

impl Format for Tonbandgeraet {
    fn name(&self) -> &'static str {
        "tonbandgeraet"
    }

    fn title(&self) -> &'static str {
        "Tonbandgerät"
    }

    fn probe(&self, _sample: &[u8], _whole: bool) -> Option<Probe> {
        None
    }

    fn open(&self, _options: &FormatOptions) -> Box<dyn Scan> {
        todo!()
    }
}
