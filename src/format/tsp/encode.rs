//! Packets → bytes, for tests, fuzzing and generated captures.

use super::record::{ListEntry, PREAMBLE, Packet, id};

/// Appends a packet; not an object list.
pub fn packet(packet: &Packet, bytes: &mut Vec<u8>) {
    bytes.extend(PREAMBLE);
    bytes.extend([packet.packet_id, packet.id]);
    bytes.extend(packet.tick.to_be_bytes());
    bytes.extend(packet.timer.to_be_bytes());
    bytes.extend(packet.bytes());
}

/// Appends the list of the objects of one type. Names are cut at 255 bytes, the list at 255 entries.
pub fn object_list(packet_id: u8, type_number: u8, entries: &[ListEntry<'_>], bytes: &mut Vec<u8>) {
    let entries = entries.get(..255).unwrap_or(entries);
    bytes.extend(PREAMBLE);
    bytes.extend([packet_id, id::OBJECT_LIST, type_number, entries.len() as u8]);
    for entry in entries {
        let name = entry.name.get(..255).unwrap_or(entry.name);
        bytes.extend([entry.number, name.len() as u8]);
        bytes.extend(name);
    }
    bytes.extend(PREAMBLE);
}

/// A packet from its fields.
///
/// # Panics
/// When there are more than [`MAX_DATA_BYTES`](super::record::MAX_DATA_BYTES) bytes of data.
#[must_use]
pub fn packet_of(packet_id: u8, id: u8, tick: u16, timer: u16, data: &[u8]) -> Packet {
    let mut packet = Packet { packet_id, id, tick, timer, data_len: data.len() as u8, ..Packet::default() };
    packet.data[..data.len()].copy_from_slice(data);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(packet_id: u8, id: u8, tick: u16, timer: u16, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet(&packet_of(packet_id, id, tick, timer, data), &mut bytes);
        bytes
    }

    #[test]
    fn known_vectors() {
        assert_eq!(bytes_of(0, 2, 0x102, 3, &[2]), [0xFD, 0xFE, 0xFF, 0, 2, 1, 2, 0, 3, 2]);
        assert_eq!(bytes_of(1, 23, 0x102, 4, &[1, 1]), [0xFD, 0xFE, 0xFF, 1, 0x17, 1, 2, 0, 4, 1, 1]);
        assert_eq!(bytes_of(2, 39, 0x102, 5, &[5, 1, 0x2C]), [0xFD, 0xFE, 0xFF, 2, 0x27, 1, 2, 0, 5, 5, 1, 0x2C]);
        assert_eq!(bytes_of(3, 44, 0x102, 0x10, &[]), [0xFD, 0xFE, 0xFF, 3, 0x2C, 1, 2, 0, 0x10]);
        assert_eq!(bytes_of(4, 50, 0x102, 0x11, &[4, 0x10]), [0xFD, 0xFE, 0xFF, 4, 0x32, 1, 2, 0, 0x11, 4, 0x10]);
        assert_eq!(bytes_of(5, 101, 0x102, 0x12, &[]), [0xFD, 0xFE, 0xFF, 5, 0x65, 1, 2, 0, 0x12]);
    }

    #[test]
    fn a_list_as_a_real_target_sends_it() {
        let queues = [ListEntry { number: 1, name: b"Queue" }, ListEntry { number: 2, name: b"Queue" }];
        let mut bytes = Vec::new();
        object_list(0x77, 0, &queues, &mut bytes);
        let expected = [
            0xFD, 0xFE, 0xFF, 0x77, 0x97, 0, 2, 1, 5, 0x51, 0x75, 0x65, 0x75, 0x65, 2, 5, 0x51, 0x75, 0x65, 0x75, 0x65, 0xFD,
            0xFE, 0xFF,
        ];
        assert_eq!(bytes, expected);
    }
}
