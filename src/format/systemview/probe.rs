//! Recognising a recording.
//!
//! A stream of numbers of seven bits resembles text and much else, so the packets alone are weak evidence. A file has a header; a stream
//! begins with ten zero bytes, a start packet, and the configuration. Bytes from the middle of a stream are recognised by interrupts and
//! switches that alternate.

use crate::format::Probe;

use super::decode::each_packet;
use super::packet::{Reading, read_any, starts};
use super::record::id;

/// The number of bytes of an input that are inspected.
const SAMPLE_BYTES: usize = 64 << 10;

/// Fewer packets may occur by chance.
const LEAST_PACKETS: u64 = 64;

/// Without header and start, no more than this fraction of the bytes may be no packets.
const BAD_SHARE: usize = 20;

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let is_whole = whole && sample.len() <= SAMPLE_BYTES;
    let sample = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    let reading = Reading::of(sample);
    let has_header = read_any(reading, sample, 0).is_some_and(|packet| packet.id == id::HEADER);
    let is_started = has_header || starts(sample).next().is_some();
    // Of most other formats, the first eighth or quarter shows that too much is no packet.
    let shows_too_much = |share| {
        let mut bad = 0;
        each_packet(reading, sample, 0..sample.len() / share, |at, found| bad += found.err().map_or(0, |end| end - at));
        bad * BAD_SHARE > sample.len()
    };
    if !is_started && [8, 4].into_iter().any(shows_too_much) {
        return None;
    }
    let (mut packets, mut bad_bytes, mut edge_bytes, mut typical, mut enters, mut exits) =
        (0u64, 0usize, 0usize, 0u64, 0u64, 0u64);
    each_packet(reading, sample, 0..sample.len(), |at, found| match found {
        Ok(packet) if !packet.has_time() => {}
        Ok(packet) => {
            packets += 1;
            match packet.id {
                id::ISR_ENTER => enters += 1,
                id::ISR_EXIT | id::ISR_TO_SCHEDULER => exits += 1,
                id::TASK_START_EXEC | id::TASK_START_READY | id::TASK_STOP_READY | id::IDLE => typical += 1,
                _ => {}
            }
        }
        // The last packet is cut by the end of the sample.
        Err(end) if end >= sample.len() && !is_whole && end - at < 256 => edge_bytes += end - at,
        Err(end) => bad_bytes += end - at,
    });
    if packets == 0 {
        // Its first bytes may be text, too: nothing of it is what another program wrote before.
        return has_header.then(|| Probe { score: 99, reason: "it has the header of a SystemView file".to_owned() });
    }
    let covered = 1.0 - bad_bytes as f64 / (sample.len() - edge_bytes).max(1) as f64;
    let place = if is_whole { String::new() } else { format!(" of the first {} KiB", sample.len() >> 10) };
    let share = format!(
        "{} up {:.1} % of the bytes{place}",
        if packets == 1 { "1 packet makes".to_owned() } else { format!("{packets} packets make") },
        covered * 100.0
    );
    if has_header {
        return Some(Probe { score: 99, reason: format!("it has the header of a SystemView file, and {share}") });
    }
    if is_started {
        let score = if covered > 0.9 { 97 } else { 80 };
        return Some(Probe { score, reason: format!("ten zero bytes and a start, and {share}") });
    }
    let is_balanced = enters.abs_diff(exits) * 10 <= enters + exits;
    if covered > 1.0 - 1.0 / BAD_SHARE as f64
        && packets >= LEAST_PACKETS
        && (typical + enters + exits) * 2 > packets
        && is_balanced
    {
        return Some(Probe { score: 60, reason: format!("{share}, and most are of tasks and interrupts") });
    }
    None
}
