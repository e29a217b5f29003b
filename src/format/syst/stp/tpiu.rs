//! CoreSight frames: 16 bytes in which the streams of several trace sources are interleaved (Arm DDI 0314, "formatter").
//!
//! An even byte with bit 0 set names the source of the next bytes; else it is data, and its bit 0 is in the last byte of the frame. An
//! odd byte is always data. A full sync word may occur between frames.

/// The length of a frame.
pub const FRAME_BYTES: usize = 16;

/// Occurs between frames.
const FULL_SYNC: [u8; 4] = [0xFF, 0xFF, 0xFF, 0x7F];

/// Unpacks frames and keeps the bytes of one source.
#[derive(Clone, Debug)]
pub struct Deframer {
    /// The wanted source.
    wanted: u8,
    /// The source of the next bytes.
    source: u8,
    frame: [u8; FRAME_BYTES],
    have: usize,
}

impl Deframer {
    /// Keeps the bytes of this source.
    #[must_use]
    pub fn new(wanted: u8) -> Deframer {
        Deframer { wanted, source: 0, frame: [0; FRAME_BYTES], have: 0 }
    }

    /// Reads the next bytes of the file, at `offset`, and appends those of the source, each with its offset in the file.
    pub fn push(&mut self, bytes: &[u8], offset: u64, out: &mut Vec<u8>, origins: &mut Vec<u64>) {
        self.each(bytes, |wanted, source, byte, index| {
            if source == wanted {
                out.push(byte);
                origins.push((offset + index as u64).saturating_sub(FRAME_BYTES as u64 - 1));
            }
        });
    }

    /// Passes each byte with its source, and the index of the last byte of its frame.
    fn each(&mut self, bytes: &[u8], mut each: impl FnMut(u8, u8, u8, usize)) {
        for (index, &byte) in bytes.iter().enumerate() {
            self.frame[self.have] = byte;
            self.have += 1;
            if self.have == FULL_SYNC.len() && self.frame[..FULL_SYNC.len()] == FULL_SYNC {
                self.have = 0;
            } else if self.have == FRAME_BYTES {
                self.have = 0;
                self.unpack(index, &mut each);
            }
        }
    }

    fn unpack(&mut self, index: usize, each: &mut impl FnMut(u8, u8, u8, usize)) {
        let frame = self.frame;
        let bits = frame[15];
        let mut delayed = None;
        for (at, &byte) in frame[..15].iter().enumerate() {
            let bit = bits >> (at / 2) & 1;
            if at % 2 == 1 {
                each(self.wanted, self.source, byte, index);
                self.source = delayed.take().unwrap_or(self.source);
            } else if byte & 1 == 1 {
                // With its bit set, the next byte is still of the source before.
                if bit == 1 && at < 14 { delayed = Some(byte >> 1) } else { self.source = byte >> 1 }
            } else {
                each(self.wanted, self.source, byte | bit, index);
            }
        }
    }
}

/// The bytes of each source in a sample of frames, except source 0 (no source), in the order of their first bytes.
#[must_use]
pub fn sources(sample: &[u8]) -> Vec<(u8, Vec<u8>)> {
    // 0x70 and above are reserved or triggers.
    let mut bytes_of: [Vec<u8>; 0x70] = [const { Vec::new() }; 0x70];
    let mut order = Vec::new();
    Deframer::new(0).each(sample, |_, source, byte, _| {
        if source == 0 {
            return;
        }
        if let Some(bytes) = bytes_of.get_mut(usize::from(source)) {
            if bytes.is_empty() {
                order.push(source);
            }
            bytes.push(byte);
        }
    });
    order.into_iter().map(|source| (source, std::mem::take(&mut bytes_of[usize::from(source)]))).collect()
}

/// Appends frames that hold `bytes` of one source: for tests and generated captures.
pub fn wrap(bytes: &[u8], source: u8, out: &mut Vec<u8>) {
    // The first frame names the source, the others begin with data.
    let mut bytes = bytes.iter().copied();
    let mut is_first = true;
    loop {
        let mut frame = [0; FRAME_BYTES];
        let mut bits = 0u8;
        let mut at = 0;
        while at < 15 {
            if at % 2 == 0 && is_first {
                frame[at] = source << 1 | 1;
                is_first = false;
            } else if let Some(byte) = bytes.next() {
                if at % 2 == 0 {
                    frame[at] = byte & 0xFE;
                    bits |= (byte & 1) << (at / 2);
                } else {
                    frame[at] = byte;
                }
            } else if at % 2 == 0 {
                // The rest belongs to no source.
                frame[at] = 1;
                frame[15] = bits;
                out.extend(frame);
                return;
            } else {
                // An odd byte is always data: padding, which is two NULL packets in STP.
                frame[at] = 0;
            }
            at += 1;
        }
        frame[15] = bits;
        out.extend(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_of_two_sources() {
        // Source 1 from byte 1 on; source 2 is named at byte 4 but begins after byte 5.
        let frame = [0x03, 0xAA, 0xBA, 0xCC, 0x05, 0xDD, 0xE0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0b0000_0110];
        let all = sources(&frame);
        assert_eq!(all[0], (1, vec![0xAA, 0xBB, 0xCC, 0xDD]));
        assert_eq!(all[1].0, 2);
        assert_eq!(all[1].1, [0xE0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    }

    proptest! {
        #[test]
        fn wrapped_bytes_are_unpacked(bytes in prop::collection::vec(any::<u8>(), 1..200), cut in 0usize..200) {
            let mut frames = Vec::new();
            wrap(&bytes, 0x10, &mut frames);
            prop_assert_eq!(frames.len() % FRAME_BYTES, 0);
            let (mut out, mut origins) = (Vec::new(), Vec::new());
            let mut deframer = Deframer::new(0x10);
            let cut = cut.min(frames.len());
            deframer.push(&frames[..cut], 0, &mut out, &mut origins);
            deframer.push(&frames[cut..], cut as u64, &mut out, &mut origins);
            prop_assert_eq!(out.get(..bytes.len()), Some(&bytes[..]));
            prop_assert!(out[bytes.len()..].iter().all(|&byte| byte == 0));
            prop_assert_eq!(origins.len(), out.len());
            prop_assert!(origins.iter().all(|&at| at % 16 == 0 && at < frames.len() as u64));
        }
    }
}
