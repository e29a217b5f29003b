//! Whether a program is the one that a target runs, judged by a checksum of its code.
//!
//! Targets send "the CRC-32 of `.text`" without saying which CRC-32. Four are in use: that of zlib (what Python's `zlib.crc32`
//! gives), of bzip2, of MPEG-2, and of the CRC unit of STM32 controllers, which is MPEG-2's over 32-bit words.

use crc::{Algorithm, CRC_32_BZIP2, CRC_32_ISO_HDLC, CRC_32_MPEG_2, Crc};

/// Which checksum a build id turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// As zlib, gzip and Ethernet: reflected.
    Zlib,
    /// As bzip2: not reflected, inverted at the end.
    Bzip2,
    /// As MPEG-2: not reflected, not inverted.
    Mpeg2,
    /// As the CRC unit of STM32 controllers: MPEG-2 over little-endian 32-bit words. The last word is filled up with zeros.
    Stm32Words,
}

impl Checksum {
    /// All of them, the most likely first.
    pub const ALL: [Checksum; 4] = [Checksum::Zlib, Checksum::Bzip2, Checksum::Mpeg2, Checksum::Stm32Words];

    /// The checksum of some code.
    #[must_use]
    pub fn of(self, code: &[u8]) -> u32 {
        let plain = |algorithm: &'static Algorithm<u32>| Crc::<u32>::new(algorithm).checksum(code);
        match self {
            Checksum::Zlib => plain(&CRC_32_ISO_HDLC),
            Checksum::Bzip2 => plain(&CRC_32_BZIP2),
            Checksum::Mpeg2 => plain(&CRC_32_MPEG_2),
            Checksum::Stm32Words => {
                let crc = Crc::<u32>::new(&CRC_32_MPEG_2);
                let mut digest = crc.digest();
                for chunk in code.chunks(4) {
                    let mut word = [0; 4];
                    word[..chunk.len()].copy_from_slice(chunk);
                    word.reverse();
                    digest.update(&word);
                }
                digest.finalize()
            }
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Checksum::Zlib => "CRC-32 (zlib)",
            Checksum::Bzip2 => "CRC-32/BZIP2",
            Checksum::Mpeg2 => "CRC-32/MPEG-2",
            Checksum::Stm32Words => "CRC-32 of the STM32 CRC unit",
        }
    }
}

/// The judgement of a program by a build id that a target sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildIdVerdict {
    /// It is this checksum of the program's `.text`.
    Fits(Checksum),
    /// It differs from all known checksums of the program's `.text`: the program may be another build.
    Differs,
    /// It is a placeholder (0, FFFFFFFF, DEADBEEF and the like), not a checksum.
    NotAnId,
    /// The program has no `.text` to compare with.
    NoText,
}

/// Values that people write where a build id is asked for and they have none.
const NO_IDS: [u32; 6] = [0, 0xFFFF_FFFF, 0xDEAD_BEEF, 0xCAFE_BABE, 0xBAAD_F00D, 0x1234_5678];

/// Judges a build id by the program's code, if it has any.
#[must_use]
pub fn judge_build_id(build_id: u32, text: Option<&[u8]>) -> BuildIdVerdict {
    let text = text.filter(|text| !text.is_empty());
    let fitting = text.and_then(|text| Checksum::ALL.into_iter().find(|checksum| checksum.of(text) == build_id));
    match fitting {
        Some(checksum) => BuildIdVerdict::Fits(checksum),
        None if NO_IDS.contains(&build_id) => BuildIdVerdict::NotAnId,
        None if text.is_none() => BuildIdVerdict::NoText,
        None => BuildIdVerdict::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_the_catalogue() {
        let check = b"123456789";
        assert_eq!(Checksum::Zlib.of(check), 0xCBF4_3926);
        assert_eq!(Checksum::Bzip2.of(check), 0xFC89_1918);
        assert_eq!(Checksum::Mpeg2.of(check), 0x0376_E6E7);
        // Words are summed from their highest byte on: "4321" + "8765" is the input of the MPEG-2 variant.
        assert_eq!(Checksum::Stm32Words.of(b"12345678"), Checksum::Mpeg2.of(b"43218765"));
        assert_eq!(Checksum::Stm32Words.of(b"12345"), Checksum::Mpeg2.of(b"4321\0\0\x005"));
        // The unit's reset value, and one word of zeros.
        assert_eq!(Checksum::Stm32Words.of(&[]), 0xFFFF_FFFF);
        assert_eq!(Checksum::Stm32Words.of(&[0; 4]), 0xC704_DD7B);
    }

    #[test]
    fn verdicts() {
        let text = Some(&b"123456789"[..]);
        assert_eq!(judge_build_id(0xCBF4_3926, text), BuildIdVerdict::Fits(Checksum::Zlib));
        assert_eq!(judge_build_id(0xFC89_1918, text), BuildIdVerdict::Fits(Checksum::Bzip2));
        assert_eq!(judge_build_id(0xCBF4_3927, text), BuildIdVerdict::Differs);
        for no_id in [0, 0xFFFF_FFFF, 0xDEAD_BEEF] {
            assert_eq!(judge_build_id(no_id, text), BuildIdVerdict::NotAnId);
        }
        assert_eq!(judge_build_id(7, None), BuildIdVerdict::NoText);
        assert_eq!(judge_build_id(7, Some(&[])), BuildIdVerdict::NoText);
    }
}
