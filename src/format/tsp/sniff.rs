//! Saved measurements: the viewer's JSON files (`.sniff`), in which every packet is an object.
//!
//! A file is read in parts, cut before the keys of packets. The numbers in the keys give the order of the packets (as texts, they would
//! be out of order from 10 million on), so the packets are sorted between the two passes. A packet is about a tenth of its text in size.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use serde::Deserialize;

use super::decode::{BadPacket, Records, Sink as _};
use super::record::{Packet, object_type, type_name};
use super::scan::ScanFacts;

const PAYLOAD_KEY: &[u8] = b"\"PayloadNumber";
const OBJECTS_KEY: &[u8] = b"\"SnifferObjectList\"";

/// The limit of a packet's text, in bytes.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// The limit of the text of the object lists, in bytes.
const MAX_OBJECTS_BYTES: usize = 1 << 20;

/// A file is cut anywhere if no packet begins in this many bytes.
const MAX_SILENCE_BYTES: usize = 1 << 20;

/// The content of a saved measurement.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// Its packets, by the number in their key.
    pub packets: Vec<(u64, Packet)>,
    /// Texts that are not valid packets: their ranges in the input.
    pub bad: Vec<Range<usize>>,
}

impl Saved {
    pub(super) fn append(&mut self, next: Saved) {
        self.packets.extend(next.packets);
        self.bad.extend(next.bad);
    }

    /// All packets, in the order of their numbers.
    #[must_use]
    pub fn into_records(mut self) -> Vec<Packet> {
        self.packets.sort_by_key(|packet| packet.0);
        self.packets.into_iter().map(|packet| packet.1).collect()
    }
}

/// Whether an input is a saved measurement: a JSON object whose first key begins with `Sniffer`. Other editors put a byte order mark before
/// it.
#[must_use]
pub fn is_saved(input: &[u8]) -> bool {
    let start = input.get(..256).unwrap_or(input);
    let start = start.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(start).trim_ascii_start();
    start.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"Sniffer"))
}

/// The next key of a packet that starts in `range`.
fn next_key(input: &[u8], range: Range<usize>) -> Option<usize> {
    let end = range.end.saturating_add(PAYLOAD_KEY.len() - 1).min(input.len());
    let mut from = range.start;
    while let Some(found) = memmem::find(input.get(from..end)?, PAYLOAD_KEY) {
        let at = from + found;
        // Within a name, the quote would be escaped.
        if at == 0 || input.get(at - 1) != Some(&b'\\') {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The first safe cut at or after `at`.
#[must_use]
pub fn cut(input: &[u8], at: usize) -> usize {
    let far = at.saturating_add(MAX_SILENCE_BYTES).min(input.len());
    next_key(input, at.min(far)..far).unwrap_or(far)
}

/// Reads the packets whose keys are in `range`, and the names if they are in it.
pub fn scan(input: &[u8], range: Range<usize>, facts: &mut ScanFacts) {
    if range.start == 0 {
        let part = input.get(range.clone()).unwrap_or(&[]);
        let objects = memmem::find(part, OBJECTS_KEY).and_then(|at| value_at(input, at + OBJECTS_KEY.len()));
        objects.into_iter().for_each(|at| read_names(input, at, facts));
    }
    let mut next = next_key(input, range.clone());
    while let Some(at) = next {
        let read = read_packet(input, at);
        next = next_key(input, at + 1..range.end);
        match read {
            Some(packet) => facts.saved.packets.push(packet),
            None => facts.saved.bad.push(at..next.unwrap_or(range.end).min(input.len())),
        }
    }
}

/// The start of the value of a key that ends at `key_end`.
fn value_at(input: &[u8], key_end: usize) -> Option<usize> {
    let rest = input.get(key_end..)?;
    let value = rest.trim_ascii_start().strip_prefix(b":")?;
    Some(input.len() - value.len())
}

fn read_names(input: &[u8], at: usize, facts: &mut ScanFacts) {
    let text = input.get(at..at.saturating_add(MAX_OBJECTS_BYTES).min(input.len())).unwrap_or(&[]);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<BTreeMap<String, BTreeMap<String, String>>>();
    let Some(Ok(objects)) = values.next() else { return };
    for (key, names) in objects {
        // The keys are the names of the types, as in `COUNTING_SEMAPHORE`.
        let has_key = |&number: &u8| type_name(number).to_uppercase().replace(' ', "_") == key;
        let Some(type_number) = (object_type::QUEUE..=object_type::TASK).find(has_key) else { continue };
        for (number, name) in names {
            if let Ok(number) = number.parse() {
                facts.add_name(type_number, number, name.as_bytes());
            }
        }
    }
}

#[derive(Deserialize)]
struct Payload {
    data1: Option<u8>,
    data2: Option<u8>,
    data3: Option<u8>,
    #[serde(rename = "payloadHead")]
    head: Head,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(rename = "informationID")]
    information_id: u8,
    #[serde(rename = "packetID")]
    packet_id: u8,
    tick_count_high: u8,
    tick_count_low: u8,
    timer_byte_high: u8,
    timer_byte_low: u8,
}

/// The number and the packet of the key at `at`.
fn read_packet(input: &[u8], at: usize) -> Option<(u64, Packet)> {
    let text = input.get(at..at.saturating_add(MAX_TEXT_BYTES).min(input.len()))?;
    let digits = text.get(PAYLOAD_KEY.len()..)?;
    let end = digits.iter().position(|&byte| byte == b'"')?;
    let number: u64 = std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()?;
    let value = digits.get(end + 1..)?.trim_ascii_start().strip_prefix(b":")?;
    let payload = serde_json::Deserializer::from_slice(value).into_iter::<Payload>().next()?.ok()?;
    let head = &payload.head;
    let mut packet = Packet {
        offset: i32::try_from(at).unwrap_or(i32::MAX).cast_unsigned(),
        packet_id: head.packet_id,
        id: head.information_id,
        tick: u16::from_be_bytes([head.tick_count_high, head.tick_count_low]),
        timer: u16::from_be_bytes([head.timer_byte_high, head.timer_byte_low]),
        ..Packet::default()
    };
    let data = [payload.data1, payload.data2, payload.data3];
    for (to, byte) in packet.data.iter_mut().zip(data.iter().map_while(|byte| *byte)) {
        *to = byte;
        packet.data_len += 1;
    }
    Some((number, packet))
}

/// The records of a part of a saved measurement. The first part has all packets; each part has the account of its own bytes.
pub fn records_into(input: &[u8], range: Range<usize>, packets: &[Packet], bad: &[Range<usize>], records: &mut Records) {
    records.reset(range.start as u64);
    let len = range.end.min(input.len()).saturating_sub(range.start);
    if range.start == 0 {
        // All in the first part, as the packets are, for the order of the texts is not that of the numbers.
        for bad in bad {
            records.bad(bad.start, input.get(bad.clone()).unwrap_or(&[]), BadPacket::BadText);
        }
        records.slots.extend_from_slice(packets);
    }
    let from = bad.partition_point(|bad| bad.start < range.start);
    let bad_bytes = bad.iter().skip(from).take_while(|bad| bad.start < range.end).map(|bad| bad.len()).sum();
    records.ok_bytes = len.saturating_sub(bad_bytes) as u64;
}
