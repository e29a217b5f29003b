//! Clocks beside the trace's own → `ClockSnapshot` packets.
//!
//! A snapshot holds the readings of several clocks at one moment. The viewer's axis is BOOTTIME. Its time of day is REALTIME,
//! whose offset it takes from the first snapshot of the trace; so that one is written before all blocks, for time 0. BOOTTIME
//! must not go back from snapshot to snapshot, and each block begins with one of time 0. So all other readings come after the
//! last block, in order of time. They do not change the trace's events, which are on BOOTTIME. A query for another clock (the
//! table `clock_snapshot`, functions such as `to_realtime`) gets the preceding reading.

use super::SEQUENCE_ID;
use super::event::CLOCK_ABSOLUTE;
use super::schema::{Clock, ClockSnapshot, TracePacket};
use crate::model::{ClockKind, SideClock};

/// `BUILTIN_CLOCK_REALTIME`: nanoseconds since 1970.
const REALTIME: u32 = 1;

/// The first clock of the target. Clocks from 64 to 127 belong to a packet sequence; 64 is that of the events.
const FIRST_TARGET_CLOCK: u32 = 65;

/// The first number that cannot be a clock of a sequence.
const END_OF_TARGET_CLOCKS: u32 = 128;

/// The number of the side clock at an index of the list; `None` beyond the limit of a sequence.
#[must_use]
pub fn clock_id(clocks: &[SideClock], index: usize) -> Option<u32> {
    if clocks.get(index)?.kind == ClockKind::Wall {
        return Some(REALTIME);
    }
    let before = clocks.iter().take(index).filter(|clock| clock.kind != ClockKind::Wall).count();
    let id = FIRST_TARGET_CLOCK.checked_add(u32::try_from(before).ok()?)?;
    (id < END_OF_TARGET_CLOCKS).then_some(id)
}

/// The packet with the time of day at time 0 of the trace. It must precede the first block. Empty if that time is not known, or
/// lies before 1970.
#[must_use]
pub fn wall_clock(clocks: &[SideClock]) -> Vec<u8> {
    let mut out = Vec::new();
    let wall = clocks.iter().find(|clock| clock.kind == ClockKind::Wall);
    let first = wall.and_then(|clock| clock.readings.all().first());
    if let Some(at_start) = first.and_then(|first| first.value.0.checked_sub(first.time.0)) {
        snapshot(0, REALTIME, at_start, None).append_to(&mut out);
    }
    out
}

/// The packets of all readings, in order of time. They must come after the last block.
#[must_use]
pub fn clock_readings(clocks: &[SideClock]) -> Vec<u8> {
    let numbered = clocks.iter().enumerate().filter_map(|(index, clock)| Some((clock_id(clocks, index)?, clock)));
    let mut readings: Vec<_> =
        numbered.flat_map(|(id, clock)| clock.readings.all().iter().map(move |reading| (id, *reading))).collect();
    readings.sort_by_key(|(_, reading)| reading.time);
    let mut out = Vec::new();
    for (id, reading) in readings {
        let sequence = (id != REALTIME).then_some(SEQUENCE_ID);
        snapshot(reading.time.0, id, reading.value.0, sequence).append_to(&mut out);
    }
    out
}

fn snapshot(time_ns: u64, id: u32, value_ns: u64, sequence: Option<u32>) -> TracePacket {
    let clock = |id, timestamp| Clock { clock_id: Some(id), timestamp: Some(timestamp), is_incremental: None };
    TracePacket {
        clock_snapshot: Some(ClockSnapshot { clocks: vec![clock(CLOCK_ABSOLUTE, time_ns), clock(id, value_ns)] }),
        trusted_packet_sequence_id: sequence,
        ..TracePacket::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClockReadings, Nanos};

    fn clock(kind: ClockKind, readings: &[(u64, u64)]) -> SideClock {
        let mut all = ClockReadings::default();
        readings.iter().for_each(|&(time, value)| all.add(Nanos(time), Nanos(value)));
        SideClock { kind, readings: all }
    }

    #[test]
    fn the_wall_clock_is_written_for_time_0() {
        assert_eq!(wall_clock(&[]), b"");
        let target = clock(ClockKind::Target("a"), &[(1, 2)]);
        assert_eq!(wall_clock(std::slice::from_ref(&target)), b"");
        let wall = clock(ClockKind::Wall, &[(3, 10), (4, 99)]);
        assert_eq!(wall_clock(&[target, wall]), b"\x0a\x0e\x32\x0c\x0a\x04\x08\x06\x10\x00\x0a\x04\x08\x01\x10\x07");
        assert_eq!(wall_clock(&[clock(ClockKind::Wall, &[(3, 2)])]), b"", "before 1970");
    }

    #[test]
    fn readings_come_in_order_of_time_whatever_their_clock() {
        let clocks = [
            clock(ClockKind::Target("a"), &[(1, 7), (9, 8)]),
            clock(ClockKind::Wall, &[(5, 6)]),
            clock(ClockKind::Target("b"), &[(5, 9)]),
        ];
        let expected = [
            &b"\x0a\x10\x32\x0c\x0a\x04\x08\x06\x10\x01\x0a\x04\x08\x41\x10\x07\x50\x01"[..],
            b"\x0a\x0e\x32\x0c\x0a\x04\x08\x06\x10\x05\x0a\x04\x08\x01\x10\x06",
            b"\x0a\x10\x32\x0c\x0a\x04\x08\x06\x10\x05\x0a\x04\x08\x42\x10\x09\x50\x01",
            b"\x0a\x10\x32\x0c\x0a\x04\x08\x06\x10\x09\x0a\x04\x08\x41\x10\x08\x50\x01",
        ];
        assert_eq!(clock_readings(&clocks), expected.concat());
    }

    #[test]
    fn a_sequence_has_only_so_many_clocks() {
        let clocks = vec![clock(ClockKind::Target("a"), &[(1, 1)]); 70];
        assert_eq!(clock_id(&clocks, 62), Some(127));
        assert_eq!(clock_id(&clocks, 63), None);
        assert_eq!(clock_readings(&clocks).len(), 63 * 18);
    }
}
