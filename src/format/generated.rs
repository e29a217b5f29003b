//! Random numbers and damage for generated captures.

/// A small generator of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 29)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The damage between the target and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// No damage.
    #[default]
    None,
    /// About one bit in 8 KiB is flipped.
    Flips,
    /// About once in 4 KiB, a burst of up to 40 bytes is missing.
    Bytes,
}

impl Damage {
    /// Bytes with this damage, except for some at the begin.
    pub(super) fn to(self, mut bytes: Vec<u8>, spared: usize, random: &mut Random) -> Vec<u8> {
        let mut at = spared;
        match self {
            Damage::None => bytes,
            Damage::Flips => {
                while let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                    at += 4096 + random.below(8192) as usize;
                }
                bytes
            }
            Damage::Bytes => {
                let mut kept = Vec::new();
                let mut rest = bytes.as_slice();
                while let Some((piece, after)) = rest.split_at_checked(at) {
                    kept.extend(piece);
                    rest = after.get(1 + random.below(40) as usize..).unwrap_or(&[]);
                    at = 2048 + random.below(4096) as usize;
                }
                kept.extend(rest);
                kept
            }
        }
    }
}
