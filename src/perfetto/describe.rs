//! Tracks → `TrackDescriptor` packets.

use super::SEQUENCE_ID;
use super::schema::{
    CHILD_ORDERING_EXPLICIT, CounterDescriptor, ProcessDescriptor, SIBLING_MERGE_NONE, ThreadDescriptor, TracePacket,
    TrackDescriptor,
};
use crate::track::{Track, TrackKind, Unit};

/// Appends the packet that describes a track.
pub(super) fn append_descriptor(track: &Track, out: &mut Vec<u8>) {
    let packet = TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE_ID),
        track_descriptor: Some(descriptor(track)),
        ..TracePacket::default()
    };
    packet.append_to(out);
}

fn descriptor(track: &Track) -> TrackDescriptor {
    let name = || Some(track.name.to_string());
    let mut descriptor = TrackDescriptor {
        uuid: Some(u64::from(track.id.0)),
        parent_uuid: track.parent.map(|parent| u64::from(parent.0)),
        description: track.description.as_deref().map(str::to_owned),
        sibling_order_rank: Some(track.rank),
        ..TrackDescriptor::default()
    };
    match track.kind {
        TrackKind::Process { pid } => {
            descriptor.process = Some(ProcessDescriptor { pid: Some(pid), process_name: name() });
        }
        TrackKind::Thread { pid, tid } => {
            descriptor.thread = Some(ThreadDescriptor { pid: Some(pid), tid: Some(i64::from(tid)), thread_name: name() });
        }
        TrackKind::Group => {
            descriptor.name = name();
            descriptor.child_ordering = Some(CHILD_ORDERING_EXPLICIT);
            descriptor.sibling_merge_behavior = Some(SIBLING_MERGE_NONE);
        }
        // By default the viewer draws siblings with the same name as one track, so two queues of the same name would be merged.
        TrackKind::Slices => {
            descriptor.name = name();
            descriptor.sibling_merge_behavior = Some(SIBLING_MERGE_NONE);
        }
        TrackKind::Counter { unit } => {
            descriptor.name = name();
            descriptor.sibling_merge_behavior = Some(SIBLING_MERGE_NONE);
            descriptor.counter = Some(counter(unit));
        }
    }
    descriptor
}

fn counter(unit: Unit) -> CounterDescriptor {
    let (unit, unit_name) = match unit {
        Unit::None => (None, None),
        Unit::Nanoseconds => (Some(1), None),
        Unit::Count => (Some(2), None),
        Unit::Bytes => (Some(3), None),
        Unit::Named(name) => (None, Some(name.to_owned())),
    };
    CounterDescriptor { unit, unit_name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::TrackId;

    fn bytes(kind: TrackKind, parent: Option<u32>) -> Vec<u8> {
        let mut out = Vec::new();
        let track = Track { id: TrackId(9), parent: parent.map(TrackId), kind, name: "ab".into(), description: None, rank: 3 };
        append_descriptor(&track, &mut out);
        out
    }

    #[test]
    fn processes_and_threads_carry_their_ids_even_if_zero() {
        assert_eq!(
            bytes(TrackKind::Process { pid: 5 }, None),
            b"\x0a\x11\x50\x01\xe2\x03\x0c\x08\x09\x1a\x06\x08\x05\x32\x02ab\x60\x03"
        );
        assert_eq!(
            bytes(TrackKind::Thread { pid: 5, tid: 0 }, None),
            b"\x0a\x13\x50\x01\xe2\x03\x0e\x08\x09\x22\x08\x08\x05\x10\x00\x2a\x02ab\x60\x03"
        );
    }

    #[test]
    fn groups_order_their_children_and_nothing_merges() {
        assert_eq!(
            bytes(TrackKind::Group, Some(2)),
            b"\x0a\x13\x50\x01\xe2\x03\x0e\x08\x09\x12\x02ab\x28\x02\x58\x03\x60\x03\x78\x02"
        );
        assert_eq!(bytes(TrackKind::Slices, Some(2)), b"\x0a\x11\x50\x01\xe2\x03\x0c\x08\x09\x12\x02ab\x28\x02\x60\x03\x78\x02");
    }

    #[test]
    fn counters_have_units() {
        let start = b"\x0a\x15\x50\x01\xe2\x03\x10\x08\x09\x12\x02ab\x28\x02\x42\x02\x18";
        for (unit, number) in [(Unit::Nanoseconds, 1), (Unit::Count, 2), (Unit::Bytes, 3)] {
            let expected = [&start[..], &[number], b"\x60\x03\x78\x02"].concat();
            assert_eq!(bytes(TrackKind::Counter { unit }, Some(2)), expected);
        }
        // A counter without a unit is still a counter: its descriptor is there and empty.
        assert_eq!(
            bytes(TrackKind::Counter { unit: Unit::None }, None),
            b"\x0a\x11\x50\x01\xe2\x03\x0c\x08\x09\x12\x02ab\x42\x00\x60\x03\x78\x02"
        );
        assert_eq!(
            bytes(TrackKind::Counter { unit: Unit::Named("Hz") }, None),
            b"\x0a\x15\x50\x01\xe2\x03\x10\x08\x09\x12\x02ab\x42\x04\x32\x02Hz\x60\x03\x78\x02"
        );
    }
}
