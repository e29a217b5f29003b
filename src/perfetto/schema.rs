//! The messages of Perfetto's schema that rare packets need, with their field numbers (protos/perfetto/trace, v58).
//!
//! Events, interned texts and scheduling columns are not here: they are written by hand (`event`, `strings`, `sched`).

use prost::Message;

/// `TrackDescriptor.ChildTracksOrdering.EXPLICIT`: children are ordered by their ranks.
pub(super) const CHILD_ORDERING_EXPLICIT: i32 = 3;
/// `TrackDescriptor.SiblingMergeBehavior.SIBLING_MERGE_BEHAVIOR_NONE`.
pub(super) const SIBLING_MERGE_NONE: i32 = 2;
/// `PROCESS_ORDERING_EXPLICIT` and `THREAD_ORDERING_EXPLICIT`: in the order of the ranks.
pub(super) const ORDERING_EXPLICIT: i32 = 1;

/// One packet of a trace. A trace is a sequence of these, each as field 1.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    #[prost(bool, optional, tag = "87")]
    pub first_packet_on_sequence: Option<bool>,
    #[prost(message, optional, tag = "89")]
    pub trace_uuid: Option<TraceUuid>,
    #[prost(message, optional, tag = "126")]
    pub trace_attributes: Option<TraceAttributes>,
}

impl TracePacket {
    /// Appends the packet to a trace.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        super::wire::put_length(out, super::TRACE_PACKET, self.encoded_len());
        self.encode_raw(out);
    }
}

/// Defaults for packets of the sequence.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacketDefaults {
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<TrackEventDefaults>,
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEventDefaults {
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// The same moment in several clocks.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
    #[prost(string, optional, tag = "14")]
    pub description: Option<String>,
    #[prost(int32, optional, tag = "15")]
    pub sibling_merge_behavior: Option<i32>,
    #[prost(int32, optional, tag = "19")]
    pub process_ordering: Option<i32>,
    #[prost(int32, optional, tag = "20")]
    pub thread_ordering: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    /// 1 nanoseconds, 2 count, 3 bytes.
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceUuid {
    #[prost(int64, optional, tag = "1")]
    pub msb: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub lsb: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceAttributes {
    #[prost(message, repeated, tag = "1")]
    pub attribute: Vec<Attribute>,
}

/// Exactly one of the two values is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub long_value: Option<i64>,
    #[prost(string, optional, tag = "3")]
    pub string_value: Option<String>,
}
