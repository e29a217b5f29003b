//! TARGET_INFO: the target's description of itself.

use super::layout::{Config, Sizes};

/// The content of a TARGET_INFO record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetInfo {
    /// Whether the target has just been reset; else it answers a request.
    pub is_reset: bool,
    /// The version of QP, e.g. 812 for 8.1.2.
    pub version: u16,
    /// The date of that release as YYMMDD, sent by QP 8 only.
    pub release_date: Option<u32>,
    /// The variant of QP, sent by QP 8 only: 1 is QP/C, 2 is QP/C++.
    pub product: Option<u8>,
    /// Whether the processor is big-endian. Records are little-endian regardless.
    pub is_big_endian: bool,
    /// The sizes as sent; 0: the target has no such type.
    pub nibbles: [u8; 9],
    /// The largest number of active objects.
    pub max_active: u8,
    /// The largest number of event pools.
    pub max_pools: u8,
    /// The largest number of tick rates.
    pub max_tick_rates: u8,
    /// When the program was built: year, month, day, hour, minute, second.
    pub build: [u16; 6],
}

/// The length of the data after the version.
const TAIL_BYTES: usize = 13;

impl TargetInfo {
    /// Reads the data of a TARGET_INFO record, in the form of QP 8 or the one before.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<TargetInfo> {
        let (&flags, rest) = data.split_first()?;
        let mut info = match rest.len().checked_sub(TAIL_BYTES)? {
            2 => {
                let version = u16::from_le_bytes(*rest.first_chunk()?);
                let (is_big_endian, version) = (version >> 15 != 0, version & 0x7FFF);
                TargetInfo { is_reset: flags != 0, version, is_big_endian, ..TargetInfo::default() }
            }
            4 if flags & 3 == 2 => {
                let release = !u32::from_le_bytes(*rest.first_chunk()?);
                TargetInfo {
                    is_reset: flags & 0x40 != 0,
                    version: (release % 10_000) as u16,
                    release_date: Some(release / 10_000),
                    product: Some(flags >> 2 & 3),
                    is_big_endian: flags & 0x80 != 0,
                    ..TargetInfo::default()
                }
            }
            _ => return None,
        };
        let tail: &[u8; TAIL_BYTES] = rest.last_chunk()?;
        let [se, qc, bp, of, t, max_active, pools_rates, second, minute, hour, day, month, year] = *tail;
        // In the order of `Sizes::LETTERS`: T O F S E Q P B C.
        info.nibbles = [t & 15, of & 15, of >> 4, se & 15, se >> 4, qc & 15, bp >> 4, bp & 15, qc >> 4];
        info.max_active = max_active;
        (info.max_pools, info.max_tick_rates) = (pools_rates & 15, pools_rates >> 4);
        info.build = [2000 + u16::from(year), month.into(), day.into(), hour.into(), minute.into(), second.into()];
        let sane = Sizes::LETTERS.iter().zip(info.nibbles).all(|(&letter, size)| size == 0 || Sizes::is_legal(letter, size));
        // Time stamps, addresses and signals are required.
        let required = info.nibbles.iter().take(4).all(|&size| size != 0);
        (sane && required && info.version >= 100).then_some(info)
    }

    /// The sizes and the version. Sizes that the target does not have are not needed: the default is used.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut sizes = Sizes::default();
        for (&letter, size) in Sizes::LETTERS.iter().zip(self.nibbles) {
            if let Some(place) = sizes.get_mut(letter).filter(|_| size != 0) {
                *place = size;
            }
        }
        Config::new(sizes, self.version)
    }

    /// The time of the build for people, e.g. `2025-12-17 16:07:05`.
    #[must_use]
    pub fn build_text(&self) -> String {
        let [year, month, day, hour, minute, second] = self.build;
        format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }

    /// The variant of QP, for people.
    #[must_use]
    pub fn product_text(&self) -> &'static str {
        match self.product {
            Some(1) => "QP/C",
            Some(2) => "QP/C++",
            _ => "QP",
        }
    }

    /// Appends the data of the record, in the form of its version.
    pub fn append(&self, out: &mut Vec<u8>) {
        if self.version >= 800 {
            let flags = 2 | self.product.unwrap_or(1) << 2 | u8::from(self.is_reset) << 6 | u8::from(self.is_big_endian) << 7;
            let release = self.release_date.unwrap_or(0).wrapping_mul(10_000).wrapping_add(u32::from(self.version));
            out.push(flags);
            out.extend((!release).to_le_bytes());
        } else {
            out.push(if self.is_reset { 0xFF } else { 0 });
            out.extend((self.version | u16::from(self.is_big_endian) << 15).to_le_bytes());
        }
        let [t, o, f, s, e, q, p, b, c] = self.nibbles;
        out.extend([s | e << 4, q | c << 4, b | p << 4, o | f << 4, t, self.max_active]);
        out.push(self.max_pools | self.max_tick_rates << 4);
        let [year, month, day, hour, minute, second] = self.build;
        out.extend([second, minute, hour, day, month, year.saturating_sub(2000)].map(|part| part as u8));
    }
}

/// A version for people, e.g. `8.1.2`.
#[must_use]
pub fn version_text(version: u16) -> String {
    format!("{}.{}.{}", version / 100, version / 10 % 10, version % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8]) -> TargetInfo {
        let info = TargetInfo::read(data).unwrap();
        let mut again = Vec::new();
        info.append(&mut again);
        assert_eq!(again, data);
        info
    }

    #[test]
    fn both_forms_are_recognised() {
        // Without sequence number, id and checksum; unescaped.
        let new =
            read(&[0x46, 0x83, 0xb9, 0xf7, 0x64, 0x22, 0x41, 0x22, 0x44, 0x04, 0x20, 0x13, 0x05, 0x07, 0x10, 0x11, 0x0c, 0x19]);
        assert_eq!((new.version, new.release_date, new.product, new.is_reset), (812, Some(260_101), Some(1), true));
        assert_eq!(new.config().sizes.to_string(), "T4O4F4S2E2Q1P2B2C4");
        assert_eq!((new.build_text().as_str(), version_text(new.version).as_str()), ("2025-12-17 16:07:05", "8.1.2"));
        assert_eq!((new.max_active, new.max_pools, new.max_tick_rates), (32, 3, 1));
        let old = read(&[0xff, 0xd1, 0x02, 0x42, 0x44, 0x44, 0x88, 0x04, 0x40, 0x23, 0x38, 0x08, 0x14, 0x14, 0x0b, 0x1a]);
        assert_eq!((old.version, old.is_reset, old.config().sizes.to_string().as_str()), (721, true, "T4O8F8S2E4Q4P4B4C4"));
        let oldest = read(&[0xff, 0x47, 0x02, 0x22, 0x21, 0x22, 0x44, 0x04, 0x20, 0x23, 0x12, 0x31, 0x12, 0x02, 0x03, 0x11]);
        assert_eq!((oldest.version, oldest.config().sizes.time_event, oldest.config().user_base), (583, 2, 70));
    }

    #[test]
    fn invalid_data_is_rejected() {
        assert_eq!(TargetInfo::read(&[]), None);
        assert_eq!(TargetInfo::read(&[0xff; 16]), None);
        assert_eq!(TargetInfo::read(&[0; 17]), None);
        assert_eq!(TargetInfo::read(&[0; 18]), None);
    }
}
