//! Recognising a capture.
//!
//! There is no magic number, but packets rarely occur by chance: three bytes of preamble, an id with a length, and another preamble
//! exactly at the end. Other recordings contain none; captures that have lost half of their bytes still consist mostly of packets.

use crate::format::Probe;

use super::decode::{BadPacket, Decoder, Lengths, Packets, Sink};
use super::record::Packet;
use super::scan::ScanFacts;
use super::sniff;

/// The number of bytes of an input that are inspected.
const SAMPLE_BYTES: usize = 64 << 10;

/// Fewer packets may occur by chance, unless they are the whole input.
const LEAST_PACKETS: u64 = 8;

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    if sniff::is_saved(sample) {
        let has_packets = memchr::memmem::find(sample, b"\"PayloadNumber").is_some();
        let reason = "it is a saved measurement: a JSON object with the keys of the TraceSniffer viewer".to_owned();
        return Some(Probe { score: if has_packets { 95 } else { 60 }, reason });
    }
    let is_whole = whole && sample.len() <= SAMPLE_BYTES;
    let sample = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    let cutter = Packets::new(Lengths::default());
    let mut facts = ScanFacts::default();
    Decoder::new(cutter.clone(), Lengths::default()).each(sample, 0..sample.len(), &mut facts);
    let mut counts = Counts::default();
    Decoder::new(cutter, facts.lengths(&Lengths::default())).each(sample, 0..sample.len(), &mut counts);
    if counts.packets == 0 {
        return None;
    }
    let bad_bytes = counts.bad_bytes.saturating_sub(if is_whole { 0 } else { counts.edge_bytes });
    let covered = (sample.len() as u64 - counts.bad_bytes) as f64 / (sample.len() as u64 - counts.bad_bytes + bad_bytes) as f64;
    let score = match counts.packets {
        packets if packets < LEAST_PACKETS && !(is_whole && bad_bytes == 0) => 20,
        packets if packets < LEAST_PACKETS => 60,
        _ if covered < 0.5 => 40,
        _ => 50 + (covered * 45.0) as u8,
    };
    let place = if is_whole { String::new() } else { format!(" of the first {} KiB", sample.len() >> 10) };
    let percent = covered * 100.0;
    let verb = if counts.packets == 1 { "packet makes" } else { "packets make" };
    Some(Probe { score, reason: format!("{} {verb} up {percent:.1} % of the bytes{place}", counts.packets) })
}

#[derive(Default)]
struct Counts {
    packets: u64,
    bad_bytes: u64,
    /// Of these, the bytes of a packet that is cut by the begin or end of the sample.
    edge_bytes: u64,
}

impl Sink for Counts {
    fn packet(&mut self, _packet: Packet) {
        self.packets += 1;
    }

    fn bad(&mut self, _offset: usize, bytes: &[u8], reason: BadPacket) {
        self.bad_bytes += bytes.len() as u64;
        if matches!(reason, BadPacket::Start | BadPacket::Truncated) && bytes.len() < 32 {
            self.edge_bytes += bytes.len() as u64;
        }
    }

    fn list(&mut self, _entries: &[u8]) -> u16 {
        0
    }
}
