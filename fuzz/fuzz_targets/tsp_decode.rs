//! Bytes → packets: every byte is accounted for, parts give the packets of the whole, and decoded packets are encoded as the same packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::tsp::decode::{Decoder, Lengths, Packets, Records, list_entries};
use traceconv::format::tsp::encode::{object_list, packet};
use traceconv::format::tsp::record::id;
use traceconv::frame::sync;

fn bytes_of(records: &Records) -> u64 {
    records.bad.iter().fold(records.ok_bytes, |sum, bad| sum + u64::from(bad.len))
}

fuzz_target!(|input: &[u8]| {
    let cutter = Packets::new(Lengths::default());
    let mut learned = Lengths::default();
    learned.learn(75, 2);
    learned.learn(73, 8);
    let decoder = Decoder::new(cutter.clone(), learned);
    let whole = decoder.records(input, 0..input.len());
    assert_eq!(bytes_of(&whole), input.len() as u64);

    let cut = sync::cut(&cutter, input, input.len() / 2);
    let parts = [decoder.records(input, 0..cut), decoder.records(input, cut..input.len())];
    assert_eq!(parts.iter().map(|part| part.packets().len()).sum::<usize>(), whole.packets().len());
    assert_eq!(parts.iter().map(|part| part.bad.len()).sum::<usize>(), whole.bad.len());

    // Written again, a packet is read again as the same.
    let mut again = Vec::new();
    for stored in whole.packets() {
        if stored.id == id::OBJECT_LIST {
            object_list(stored.packet_id, stored.data[0], &list_entries(&whole, stored).collect::<Vec<_>>(), &mut again);
        } else {
            packet(stored, &mut again);
        }
    }
    let read = decoder.records(&again, 0..again.len());
    assert_eq!((read.packets().len(), read.bad.len()), (whole.packets().len(), 0));
});
