//! The packets of the wire as types: information ids, their names and lengths, and a decoded packet.

/// The first bytes of every packet, and the last bytes of an object list. Not escaped: they may also occur inside a packet.
pub const PREAMBLE: [u8; 3] = [0xFD, 0xFE, 0xFF];

/// Preamble, packet id, information id, tick and timer.
pub const HEAD_BYTES: usize = 9;

/// The largest number of data bytes in a packet. Packets of the table have at most 3; those that users define may have more.
pub const MAX_DATA_BYTES: usize = 8;

/// The size of the largest object list, in bytes: enough for 255 objects (the most of a type) with names of the usual 16 bytes.
pub const MAX_LIST_BYTES: usize = 5 << 10;

/// The number of object types.
pub const TYPES: usize = 6;

/// The type number of tasks.
pub const TASK_TYPE: usize = 5;

/// Information ids, by their names in the protocol's specification.
pub mod id {
    #![allow(missing_docs)]
    pub const START: u8 = 0;
    pub const TASK_SWITCHED_IN: u8 = 2;
    pub const INCREASE_TICK_COUNT: u8 = 3;
    pub const LOW_POWER_IDLE_BEGIN: u8 = 4;
    pub const LOW_POWER_IDLE_END: u8 = 5;
    pub const TASK_SWITCHED_OUT: u8 = 6;
    pub const TASK_PRIORITY_INHERIT: u8 = 7;
    pub const TASK_PRIORITY_DISINHERIT: u8 = 8;
    pub const BLOCKING_ON_QUEUE_RECEIVE: u8 = 9;
    pub const BLOCKING_ON_QUEUE_SEND: u8 = 10;
    pub const MOVED_TASK_TO_READY_STATE: u8 = 11;
    pub const POST_MOVED_TASK_TO_READY_STATE: u8 = 12;
    pub const QUEUE_CREATE: u8 = 13;
    pub const QUEUE_CREATE_FAILED: u8 = 14;
    pub const CREATE_MUTEX: u8 = 15;
    pub const CREATE_MUTEX_FAILED: u8 = 16;
    pub const GIVE_MUTEX_RECURSIVE: u8 = 17;
    pub const GIVE_MUTEX_RECURSIVE_FAILED: u8 = 18;
    pub const TAKE_MUTEX_RECURSIVE: u8 = 19;
    pub const TAKE_MUTEX_RECURSIVE_FAILED: u8 = 20;
    pub const CREATE_COUNTING_SEMAPHORE: u8 = 21;
    pub const CREATE_COUNTING_SEMAPHORE_FAILED: u8 = 22;
    pub const QUEUE_SEND: u8 = 23;
    pub const QUEUE_SEND_FAILED: u8 = 24;
    pub const QUEUE_RECEIVE: u8 = 25;
    pub const QUEUE_PEEK: u8 = 26;
    pub const QUEUE_PEEK_FROM_ISR: u8 = 27;
    pub const QUEUE_RECEIVE_FAILED: u8 = 28;
    pub const QUEUE_SEND_FROM_ISR: u8 = 29;
    pub const QUEUE_SEND_FROM_ISR_FAILED: u8 = 30;
    pub const QUEUE_RECEIVE_FROM_ISR: u8 = 31;
    pub const QUEUE_RECEIVE_FROM_ISR_FAILED: u8 = 32;
    pub const QUEUE_PEEK_FROM_ISR_FAILED: u8 = 33;
    pub const QUEUE_DELETE: u8 = 34;
    pub const TASK_CREATE: u8 = 35;
    pub const TASK_CREATE_FAILED: u8 = 36;
    pub const TASK_DELETE: u8 = 37;
    pub const TASK_DELAY_UNTIL: u8 = 38;
    pub const TASK_DELAY: u8 = 39;
    pub const TASK_PRIORITY_SET: u8 = 40;
    pub const TASK_SUSPEND: u8 = 41;
    pub const TASK_RESUME: u8 = 42;
    pub const TASK_RESUME_FROM_ISR: u8 = 43;
    pub const TASK_INCREMENT_TICK: u8 = 44;
    pub const MALLOC: u8 = 50;
    pub const FREE: u8 = 51;
    pub const CUSTOM_MARKER_1: u8 = 73;
    pub const CUSTOM_MARKER_5: u8 = 77;
    pub const ERROR_STREAM_FIFO_FULL: u8 = 101;
    pub const ERROR_RECEIVE_FIFO_FULL: u8 = 102;
    /// Never sent; the viewer writes it to its saved files when a packet is missing.
    pub const PACKETID_ERROR: u8 = 148;
    /// As [`PACKETID_ERROR`], at the end of a damaged stretch.
    pub const ERROR_STOP: u8 = 150;
    pub const OBJECT_LIST: u8 = 151;
    pub const SNIFF_FILTER: u8 = 152;
}

/// The names of the ids 0 to 77, without their prefix.
const NAMES: [&str; 78] = [
    "START",
    "END",
    "TASK_SWITCHED_IN",
    "INCREASE_TICK_COUNT",
    "LOW_POWER_IDLE_BEGIN",
    "LOW_POWER_IDLE_END",
    "TASK_SWITCHED_OUT",
    "TASK_PRIORITY_INHERIT",
    "TASK_PRIORITY_DISINHERIT",
    "BLOCKING_ON_QUEUE_RECEIVE",
    "BLOCKING_ON_QUEUE_SEND",
    "MOVED_TASK_TO_READY_STATE",
    "POST_MOVED_TASK_TO_READY_STATE",
    "QUEUE_CREATE",
    "QUEUE_CREATE_FAILED",
    "CREATE_MUTEX",
    "CREATE_MUTEX_FAILED",
    "GIVE_MUTEX_RECURSIVE",
    "GIVE_MUTEX_RECURSIVE_FAILED",
    "TAKE_MUTEX_RECURSIVE",
    "TAKE_MUTEX_RECURSIVE_FAILED",
    "CREATE_COUNTING_SEMAPHORE",
    "CREATE_COUNTING_SEMAPHORE_FAILED",
    "QUEUE_SEND",
    "QUEUE_SEND_FAILED",
    "QUEUE_RECEIVE",
    "QUEUE_PEEK",
    "QUEUE_PEEK_FROM_ISR",
    "QUEUE_RECEIVE_FAILED",
    "QUEUE_SEND_FROM_ISR",
    "QUEUE_SEND_FROM_ISR_FAILED",
    "QUEUE_RECEIVE_FROM_ISR",
    "QUEUE_RECEIVE_FROM_ISR_FAILED",
    "QUEUE_PEEK_FROM_ISR_FAILED",
    "QUEUE_DELETE",
    "TASK_CREATE",
    "TASK_CREATE_FAILED",
    "TASK_DELETE",
    "TASK_DELAY_UNTIL",
    "TASK_DELAY",
    "TASK_PRIORITY_SET",
    "TASK_SUSPEND",
    "TASK_RESUME",
    "TASK_RESUME_FROM_ISR",
    "TASK_INCREMENT_TICK",
    "TIMER_CREATE",
    "TIMER_CREATE_FAILED",
    "TIMER_COMMAND_SEND",
    "TIMER_EXPIRED",
    "TIMER_COMMAND_RECEIVED",
    "MALLOC",
    "FREE",
    "EVENT_GROUP_CREATE",
    "EVENT_GROUP_CREATE_FAILED",
    "EVENT_GROUP_SYNC_BLOCK",
    "EVENT_GROUP_SYNC_END",
    "EVENT_GROUP_WAIT_BITS_BLOCK",
    "EVENT_GROUP_WAIT_BITS_END",
    "EVENT_GROUP_CLEAR_BITS",
    "EVENT_GROUP_CLEAR_BITS_FROM_ISR",
    "EVENT_GROUP_SET_BITS",
    "EVENT_GROUP_SET_BITS_FROM_ISR",
    "EVENT_GROUP_DELETE",
    "PEND_FUNC_CALL",
    "PEND_FUNC_CALL_FROM_ISR",
    "QUEUE_REGISTRY_ADD",
    "TASK_NOTIFY_TAKE_BLOCK",
    "TASK_NOTIFY_TAKE",
    "TASK_NOTIFY_WAIT_BLOCK",
    "TASK_NOTIFY_WAIT",
    "TASK_NOTIFY",
    "TASK_NOTIFY_FROM_ISR",
    "TASK_NOTIFY_GIVE_FROM_ISR",
    "CUSTOM_MARKER_1",
    "CUSTOM_MARKER_2",
    "CUSTOM_MARKER_3",
    "CUSTOM_MARKER_4",
    "CUSTOM_MARKER_5",
];

/// The name of an id in the specification; none for reserved ids.
#[must_use]
pub fn name_of(id: u8) -> Option<&'static str> {
    match id {
        id::ERROR_STREAM_FIFO_FULL => Some("ERROR_STREAM_FIFO_FULL"),
        id::ERROR_RECEIVE_FIFO_FULL => Some("ERROR_RECEIVE_FIFO_FULL"),
        id::PACKETID_ERROR => Some("PACKETID_ERROR"),
        149 => Some("ERROR_START"),
        id::ERROR_STOP => Some("ERROR_STOP"),
        id::OBJECT_LIST => Some("OBJECT_LIST"),
        id::SNIFF_FILTER => Some("SNIFF_FILTER"),
        _ => NAMES.get(usize::from(id)).copied(),
    }
}

/// An unknown length: it is inferred, or given by an option.
pub const OPEN: u8 = 0xFF;

/// The number of data bytes in the packets of an id, as the tracer sends them (the specification leaves some open, and the viewer
/// is wrong about id 3). [`OPEN`] for ids that no tracer has code for, or that users define.
#[must_use]
pub const fn data_bytes_of(id: u8) -> u8 {
    match id {
        4 | 5 | 16 | 21 | 22 | 34 | 36 | 44 | 101 | 102 => 0,
        2 | 3 | 6 | 11..=15 | 35 | 37 | 41..=43 => 1,
        7..=10 | 17..=20 | 23..=33 | 40 | 50 | 51 => 2,
        38 | 39 => 3,
        _ => OPEN,
    }
}

/// The type of a queue-like object or task, as a text for `dump`.
#[must_use]
pub fn type_name(number: u8) -> &'static str {
    match number {
        0 => "queue",
        1 => "mutex",
        2 => "counting semaphore",
        3 => "binary semaphore",
        4 => "recursive mutex",
        5 => "task",
        _ => "unknown",
    }
}

/// A packet and its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Where it starts, in bytes from the start of the part. To be read as an `i32`: packets of the part before have negative
    /// offsets.
    pub offset: u32,
    /// The running number, modulo 256.
    pub packet_id: u8,
    /// The information id.
    pub id: u8,
    /// The tick count's low 16 bits. 0 for an object list, which has no time.
    pub tick: u16,
    /// The port's counter within the tick.
    pub timer: u16,
    /// The counts since the tick that this means; 0 while the meaning is not known.
    pub since_tick: u16,
    /// The number of bytes in `data`.
    pub data_len: u8,
    /// Whether it continues the packet before it without anything odd: both were sent by hooks and have the same tick count, the numbers
    /// follow each other, and the timer does not go back. Not found for all that do.
    pub continues: bool,
    /// The data. For an object list: its type, its number of objects, and the number of the list in its part (big-endian).
    pub data: [u8; MAX_DATA_BYTES],
}

const _: () = assert!(size_of::<Packet>() <= 24);

impl Packet {
    /// A packet whose data are not known, from its bytes: number, id and time.
    #[must_use]
    pub fn head(bytes: &[u8]) -> Packet {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let both = |at: usize| u16::from_be_bytes([byte(at), byte(at + 1)]);
        Packet { packet_id: byte(3), id: byte(4), tick: both(5), timer: both(7), ..Packet::default() }
    }

    /// The data.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.data.get(..usize::from(self.data_len)).unwrap_or(&[])
    }

    /// The number in the two bytes of the data at `at`.
    #[must_use]
    pub fn u16_at(&self, at: usize) -> u16 {
        let byte = |at: usize| self.data.get(at).copied().unwrap_or(0);
        u16::from_be_bytes([byte(at), byte(at + 1)])
    }

    /// Whether it was sent by a hook: it has a time that advances the clock.
    #[inline]
    #[must_use]
    pub fn is_hook(&self) -> bool {
        is_hook(self.id)
    }
}

/// Whether packets of an id are sent by hooks.
#[inline]
#[must_use]
pub const fn is_hook(id: u8) -> bool {
    !matches!(id, id::ERROR_STREAM_FIFO_FULL..=id::ERROR_RECEIVE_FIFO_FULL | id::PACKETID_ERROR..=id::SNIFF_FILTER)
}

/// An entry of an object list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListEntry<'a> {
    /// The object's number within its type; 0 if the tracer has lost it.
    pub number: u8,
    /// The name, not necessarily UTF-8.
    pub name: &'a [u8],
}

/// The entries of an object list, from its bytes after the count.
pub fn entries(count: u8, mut bytes: &[u8]) -> impl Iterator<Item = ListEntry<'_>> {
    (0..count).map_while(move |_| {
        let (&[number, len], rest) = bytes.split_first_chunk::<2>()?;
        let (name, rest) = rest.split_at_checked(usize::from(len))?;
        bytes = rest;
        Some(ListEntry { number, name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_names() {
        assert_eq!(name_of(id::TASK_INCREMENT_TICK), Some("TASK_INCREMENT_TICK"));
        assert_eq!(name_of(id::MALLOC), Some("MALLOC"));
        assert_eq!(name_of(id::CUSTOM_MARKER_1), Some("CUSTOM_MARKER_1"));
        assert_eq!(name_of(78), None);
        assert_eq!((data_bytes_of(3), data_bytes_of(38), data_bytes_of(75)), (1, 3, OPEN));
    }

    #[test]
    fn entries_end_where_the_bytes_do() {
        let list: Vec<_> = entries(3, &[1, 2, b'a', b'b', 0, 0, 9, 5, b'c']).collect();
        assert_eq!(list, [ListEntry { number: 1, name: b"ab" }, ListEntry { number: 0, name: b"" }]);
    }
}
