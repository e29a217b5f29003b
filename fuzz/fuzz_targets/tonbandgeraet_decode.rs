//! Bytes → records: every byte is accounted for, however the input is cut, and decoded records are encoded as the same records.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::tonbandgeraet::decode::{DELIMITER, Decoder, Wire};
use traceconv::format::tonbandgeraet::encode::encode;
use traceconv::format::tonbandgeraet::scan::ScanFacts;
use traceconv::frame::split;

fuzz_target!(|input: &[u8]| {
    for has_freertos in [false, true] {
        let decoder = Decoder::new(Wire::Plain, has_freertos);
        let whole = decoder.records(input, 0..input.len());
        assert_eq!(whole.frames_bytes(), input.len() as u64);

        let cut = split::cut::<DELIMITER>(input, input.len() / 2).min(input.len());
        let parts = [decoder.records(input, 0..cut), decoder.records(input, cut..input.len())];
        assert_eq!(parts.iter().map(|part| part.frames.len()).sum::<usize>(), whole.frames.len());

        // Written again, a record is read again as the same.
        let mut frames = Vec::new();
        for stored in &whole.frames {
            encode(&stored.record.map_text(|text| whole.bytes(text)), &mut frames);
        }
        let again = decoder.records(&frames, 0..frames.len());
        assert_eq!((again.frames.len(), again.bad.len()), (whole.frames.len(), 0));
        for (one, two) in whole.frames.iter().zip(&again.frames) {
            assert_eq!(one.record.map_text(|text| whole.bytes(text)), two.record.map_text(|text| again.bytes(text)));
        }
    }
    let facts = ScanFacts::scan(input, 0..input.len());
    assert!(facts.freertos_frames <= facts.frames);
});
