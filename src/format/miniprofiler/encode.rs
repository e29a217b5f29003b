//! Packets → bytes, for tests, fuzzing and generated captures.

use super::record::{Metadata, PACKET_END, PROFILE_VERSION, ProfileRecord, Reading, Status, packet_type};

/// Appends a packet. A payload is truncated to 65535 bytes.
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

/// Appends a PROFILE_DATA packet, with at most 4680 records.
pub fn profile(reading: Reading, records: &[ProfileRecord], out: &mut Vec<u8>) {
    let records = records.get(..4680).unwrap_or(records);
    let mut payload = vec![PROFILE_VERSION];
    payload.extend((records.len() as u16).to_le_bytes());
    payload.extend(records.iter().flat_map(ProfileRecord::bytes));
    packet(reading, packet_type::PROFILE_DATA, &payload, out);
}

#[cfg(test)]
mod tests {
    use super::super::record::Command;
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("two digits")).collect()
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        bytes
    }

    /// The four readings by the protocol's document and its author's host: two of them have the same CRCs.
    #[test]
    fn an_answer_in_every_reading() {
        for (reading, expected) in [
            (Reading::DOCUMENT_DUMP, "AA 55 01 00 00 88 83 0A"),
            (Reading::HOST, "55 AA 01 00 00 88 83 0A"),
            (Reading::DOCUMENT_TEXT, "55 AA 01 00 00 84 92 0A"),
            (Reading::FOURTH, "AA 55 01 00 00 84 92 0A"),
        ] {
            assert_eq!(written(|out| answer(reading, true, out)), hex(expected), "{}", reading.description());
            assert_eq!(Reading::ALL.iter().filter(|known| **known == reading).count(), 1);
        }
        let mut all = Reading::ALL.to_vec();
        all.dedup();
        assert_eq!(all.len(), 24);
    }

    /// Packets made by hand from the protocol's document.
    #[test]
    fn packets_of_every_type() {
        let reading = Reading::DOCUMENT_DUMP;
        assert_eq!(written(|out| answer(reading, false, out)), hex("AA 55 02 00 00 D8 DA 0A"));
        let mut fw_version = [0; 16];
        fw_version[..6].copy_from_slice(b"v1.0.0");
        let device = Metadata { mcu_clock_hz: 168_000_000, timer_hz: 1_000_000, build_id: 0xDEAD_BEEF, fw_version };
        let expected =
            "AA 55 03 1C 00 00 7A 03 0A 40 42 0F 00 EF BE AD DE 76 31 2E 30 2E 30 00 00 00 00 00 00 00 00 00 00 E0 A9 0A";
        assert_eq!(written(|out| metadata(reading, &device, out)), hex(expected));
        assert_eq!(Metadata::read(&device.payload()), Some(device));
        let state = Status { is_profiling: 1, buffer_overflows: 2, records_captured: 12_345, usage_percent: 37 };
        let expected = "AA 55 04 0A 00 01 02 00 00 00 39 30 00 00 25 A4 CB 0A";
        assert_eq!(written(|out| status(reading, &state, out)), hex(expected));
        assert_eq!(Status::read(&state.payload()), Some(state));
        let call = |func_addr, entry_us, duration_us, depth| ProfileRecord { func_addr, entry_us, duration_us, depth };
        for (records, expected) in [
            (vec![], "AA 55 05 03 00 01 00 00 78 2F 0A"),
            (
                vec![call(0x0800_0221, 1500, 300, 1), call(0x0800_0101, 1000, 2000, 0)],
                "AA 55 05 1F 00 01 02 00 21 02 00 08 DC 05 00 00 2C 01 00 00 01 00 01 01 00 08 E8 03 00 00 D0 07 00 00 00 00 5E 6D 0A",
            ),
            (
                vec![call(0x0800_0101, 0xFFFF_FF00, 512, 0)],
                "AA 55 05 11 00 01 01 00 01 01 00 08 00 FF FF FF 00 02 00 00 00 00 9E 3D 0A",
            ),
        ] {
            assert_eq!(written(|out| profile(reading, &records, out)), hex(expected));
            assert!(records.iter().all(|record| ProfileRecord::read(&record.bytes()) == *record));
        }
    }

    #[test]
    fn commands_with_their_sums() {
        for (command, sum) in Command::ALL.into_iter().zip(0x56..) {
            let frame = command.frame(&[]);
            assert_eq!((frame[0], frame[1], frame[11]), (0x55, command.code(), sum));
            assert_eq!(Command::read(&frame), Some(command));
            let mut wrong = frame;
            wrong[7] = 1;
            assert_eq!(Command::read(&wrong), None, "a payload beyond its length");
            wrong[2] = 8;
            wrong[11] = sum.wrapping_add(9);
            assert_eq!(Command::read(&wrong), Some(command));
        }
    }
}
