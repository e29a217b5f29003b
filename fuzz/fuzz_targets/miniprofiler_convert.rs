//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for; and
//! packets are found where simple code finds them.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;
use traceconv::format::miniprofiler::decode::{Content, Packets, packets_into};
use traceconv::format::miniprofiler::packet::find_reading;
use traceconv::format::miniprofiler::record::{Command, Reading};

/// The places of packets and commands, read one byte after the other.
fn read_simply(reading: Reading, input: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let rest = &input[at..];
        let packet =
            (rest.len() >= 8 && rest[..2] == reading.header).then(|| 8 + usize::from(rest[3]) + 256 * usize::from(rest[4]));
        let packet = packet.filter(|&len| {
            rest.len() >= len && rest[len - 1] == 0x0A && rest[len - 3..len - 1] == reading.crc_bytes(&rest[2..len - 3])
        });
        let command = || rest.first_chunk().and_then(Command::read).map(|_| 12);
        let len = packet.or_else(command);
        found.extend(len.map(|len| (at, len)));
        at += len.unwrap_or(1);
    }
    found
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let reading = find_reading(input).map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading);
    let mut packets = Packets::default();
    packets_into(reading, input, 0..input.len(), &mut packets);
    let found = packets.items.iter().filter(|item| item.content != Content::Stray);
    let found: Vec<(usize, usize)> = found.map(|item| (item.offset as usize, item.len as usize)).collect();
    assert_eq!(found, read_simply(reading, input));

    conversion::check("miniprofiler", &[], input, conversion::detail(choice), 16 + usize::from(choice >> 2));
});
