//! Packets to bytes: the inverse of [`decode`](super::decode), for tests, fuzzing and generated captures.

use super::record::{Metadata, PACKET_END, PROFILE_VERSION, ProfileRecord, Reading, Status, packet_type};

/// Appends a packet. A payload of more than 65535 bytes is cut off there.
pub fn packet(reading: Reading, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    let payload = payload.get(..usize::from(u16::MAX)).unwrap_or(payload);
    out.extend(reading.header);
    let covered = out.len();
    out.push(kind);
    out.extend((payload.len() as u16).to_le_bytes());
    out.extend(payload);
    let crc = reading.crc_bytes(out.get(covered..).unwrap_or(&[]));
    out.extend(crc);
    out.push(PACKET_END);
}

/// Appends an ACK or, if `is_ok` is false, a NACK.
pub fn answer(reading: Reading, is_ok: bool, out: &mut Vec<u8>) {
    packet(reading, if is_ok { packet_type::ACK } else { packet_type::NACK }, &[], out);
}

/// Appends a METADATA packet.
pub fn metadata(reading: Reading, metadata: &Metadata, out: &mut Vec<u8>) {
    packet(reading, packet_type::METADATA, &metadata.payload(), out);
}

/// Appends a STATUS packet.
pub fn status(reading: Reading, status: &Status, out: &mut Vec<u8>) {
    packet(reading, packet_type::STATUS, &status.payload(), out);
}

/// Appends a PROFILE_DATA packet. A packet has room for 4680 records: more are left out.
pub fn profile(reading: Reading, records: &[ProfileRecord], out: &mut Vec<u8>) {
    let records = records.get(..4680).unwrap_or(records);
    let mut payload = vec![PROFILE_VERSION];
    payload.extend((records.len() as u16).to_le_bytes());
    payload.extend(records.iter().flat_map(ProfileRecord::bytes));
    packet(reading, packet_type::PROFILE_DATA, &payload, out);
}
