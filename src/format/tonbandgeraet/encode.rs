//! Records → frames, for tests, fuzzing, benches and generated captures. Writes what the target writes: numbers in their
//! shortest form, one frame per record.

use crate::frame::cobs;

use super::field::Writer;
use super::record::Record;

/// Appends the frame of `record`, delimiter included, to `frames`.
pub fn encode(record: &Record<&[u8]>, frames: &mut Vec<u8>) {
    let start = frames.len();
    // The payload stands where it stands in the frame when it has no full block: then stuffing only puts codes where zeros are.
    frames.push(0);
    record.write(&mut Writer::new(frames));
    let payload_len = frames.len() - start - 1;
    if payload_len < 254 {
        frames.push(0);
        stuff_in_place(frames.get_mut(start..).unwrap_or(&mut []));
    } else {
        let payload = frames.split_off(start + 1);
        frames.truncate(start);
        cobs::stuff(&payload, frames);
    }
}

/// Makes a frame of 0, a payload of less than 254 bytes, and 0.
fn stuff_in_place(frame: &mut [u8]) {
    let mut block_len = 0;
    for byte in frame.iter_mut().rev() {
        if *byte == 0 {
            *byte = block_len;
            block_len = 0;
        }
        block_len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::cobs::stuff;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stuffing_in_place_equals_stuffing(payload in prop::collection::vec(prop_oneof![1 => Just(0u8), 3 => any::<u8>()], 0..254)) {
            let mut in_place = [&[0], &payload[..], &[0]].concat();
            stuff_in_place(&mut in_place);
            let mut frame = Vec::new();
            stuff(&payload, &mut frame);
            prop_assert_eq!(in_place, frame);
        }
    }
}
