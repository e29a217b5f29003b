//! The superset's sync frame, which has all facts that are needed to decode the frames after it, and the layout of delta time stamps.

use super::decode::BadFrame;
use super::record::SyncFields;
use crate::model::Rate;

/// Its id.
pub const SYNC: u8 = 0x0C;

/// The value of its first field.
pub const MAGIC: u8 = 0x54;

/// The supported version of the format.
pub const VERSION: u8 = 1;

/// What its frame begins with, after the first byte, which COBS adds.
pub const BEGIN: [u8; 3] = [SYNC, MAGIC, VERSION];

/// Where the last sync's frame may begin within another one, after the first bytes of that.
pub fn place_within(frame: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(frame.get(2..)?, &BEGIN).map(|begin| begin + 1)
}

/// More cores than any target has.
const CORES_LIMIT: u32 = 1 << 10;

/// The number of bits of a delta time stamp for the frame's number.
const NUMBER_BITS: u32 = 2;

/// Bits of [`SyncFields::flags`].
pub mod flags {
    /// The firmware traces FreeRTOS.
    pub const FREERTOS: u8 = 0x01;
    /// A recording starts here.
    pub const START: u8 = 0x02;
    /// The recording ends here.
    pub const STOP: u8 = 0x04;
    /// The position of the backend's number.
    pub const BACKEND_SHIFT: u32 = 4;
    /// The backend that keeps a buffer for each core.
    pub const SNAPSHOT: u8 = 1;
}

impl SyncFields {
    /// Checks the fields of a sync frame.
    ///
    /// # Errors
    /// Why they are invalid or not supported.
    pub(super) fn check(bytes: &[u8]) -> Result<(), BadFrame> {
        let sync = SyncFields::read(bytes)?;
        let is_supported = sync.magic == MAGIC && sync.version == VERSION;
        let is_plausible = sync.core < sync.cores && sync.cores <= CORES_LIMIT;
        if is_supported && is_plausible { Ok(()) } else { Err(BadFrame::UnknownSync) }
    }

    /// The length of a tick; `None` for an invalid clock.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        Rate::from_ns_fraction(u64::from(self.clock_num), u64::from(self.clock_den))
    }

    /// Whether a recording starts here.
    #[must_use]
    pub fn starts(&self) -> bool {
        // The first frame of a recording has number 0: otherwise the flag is damaged.
        self.flags & flags::START != 0 && self.seq == 0
    }

    /// Whether each core has a buffer, and so a sequence, of its own.
    #[must_use]
    pub fn is_snapshot(&self) -> bool {
        self.flags >> flags::BACKEND_SHIFT & 3 == flags::SNAPSHOT
    }

    /// The layout of the delta time stamps after it.
    #[must_use]
    pub fn layout(&self) -> DeltaLayout {
        DeltaLayout::of_cores(self.cores)
    }
}

/// The layout of a delta time stamp: ticks since the event before, the core, and the lowest bits of the frame's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeltaLayout {
    core_bits: u32,
}

/// The parts of a delta time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Ticks since the event or sync before.
    pub ticks: u64,
    /// The core.
    pub core: u32,
    /// The frame's number modulo 4.
    pub number: u32,
}

impl DeltaLayout {
    /// The layout for a number of cores.
    #[must_use]
    pub fn of_cores(cores: u32) -> DeltaLayout {
        // The number may not be the one that was checked: bytes of a file may change.
        DeltaLayout { core_bits: cores.clamp(1, CORES_LIMIT).next_power_of_two().trailing_zeros() }
    }

    /// The longest time between two events that fits a delta, in ticks.
    #[must_use]
    pub fn max_ticks(self) -> u64 {
        u64::from((u32::MAX >> (NUMBER_BITS + self.core_bits)) - 1)
    }

    /// The parts of a value of the wire, which is at least 1.
    #[must_use]
    pub fn parts(self, wire: u32) -> Delta {
        let value = wire.saturating_sub(1);
        let core = value >> NUMBER_BITS & ((1 << self.core_bits) - 1);
        Delta { ticks: u64::from(value >> (NUMBER_BITS + self.core_bits)), core, number: value & 3 }
    }

    /// The value of the wire; only the two lowest bits of the number are used. `None` if the parts do not fit.
    #[must_use]
    pub fn wire(self, delta: Delta) -> Option<u32> {
        if delta.ticks > self.max_ticks() || delta.core >> self.core_bits != 0 {
            return None;
        }
        let ticks = u32::try_from(delta.ticks).ok()? << (NUMBER_BITS + self.core_bits);
        Some((ticks | delta.core << NUMBER_BITS | delta.number & 3) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_are_laid_out_by_the_number_of_cores() {
        let delta = Delta { ticks: 7, core: 0, number: 2 };
        assert_eq!(DeltaLayout::of_cores(1).wire(delta), Some(0x1F));
        assert_eq!(DeltaLayout::of_cores(2).wire(delta), Some(0x3B));
        assert_eq!(DeltaLayout::of_cores(2).parts(14), Delta { ticks: 1, core: 1, number: 1 });
        for (cores, bits) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (1024, 10), (u32::MAX, 10)] {
            assert_eq!(DeltaLayout::of_cores(cores).core_bits, bits, "{cores}");
        }
        let layout = DeltaLayout::of_cores(3);
        let longest = Delta { ticks: layout.max_ticks(), core: 2, number: 3 };
        assert_eq!(layout.wire(longest).map(|wire| layout.parts(wire)), Some(longest));
        assert_eq!(layout.wire(Delta { ticks: layout.max_ticks() + 1, ..longest }), None);
        assert_eq!(layout.wire(Delta { core: 4, ..longest }), None);
    }

    #[test]
    fn only_supported_syncs_are_valid() {
        let sync =
            SyncFields { magic: MAGIC, version: VERSION, cores: 2, core: 1, clock_num: 125, clock_den: 21, ..Default::default() };
        let check = |sync: SyncFields| {
            let mut bytes = Vec::new();
            sync.write(&mut bytes);
            SyncFields::check(&bytes)
        };
        assert_eq!(check(sync), Ok(()));
        for wrong in [
            SyncFields { magic: 0, ..sync },
            SyncFields { version: 2, ..sync },
            SyncFields { core: 2, ..sync },
            SyncFields { cores: 0, ..sync },
        ] {
            assert_eq!(check(wrong), Err(BadFrame::UnknownSync), "{wrong:?}");
        }
        assert_eq!(SyncFields::check(&[MAGIC, VERSION, 0]), Err(BadFrame::MissingField));
    }
}
