//! The packets of the wire as types: information ids, their names and lengths, and a decoded packet.

/// The first bytes of every packet, and the last bytes of an object list. Not escaped: they may also occur inside a packet.
pub const PREAMBLE: [u8; 3] = [0xFD, 0xFE, 0xFF];

/// Preamble, packet id, information id, tick and timer.
pub const HEAD_BYTES: usize = 9;

/// The largest number of data bytes in a packet. Packets of the table have at most 3; those that users define may have more.
pub const MAX_DATA_BYTES: usize = 8;

/// The size of the largest object list, in bytes: enough for 255 objects (the most of a type) with names of the usual 16 bytes.
pub const MAX_LIST_BYTES: usize = 5 << 10;

/// An unknown length: it is inferred, or given by an option.
pub const OPEN: u8 = 0xFF;

macro_rules! ids {
    ($($id:literal $name:ident $data_bytes:tt)*) => {
        /// Information ids, by their names in the protocol's specification.
        pub mod id {
            #![allow(missing_docs)]
            $(pub const $name: u8 = $id;)*
        }

        /// The name of an id in the specification; none for reserved ids.
        #[must_use]
        pub fn name_of(id: u8) -> Option<&'static str> {
            match id {
                $($id => Some(stringify!($name)),)*
                _ => None,
            }
        }

        /// The number of data bytes in the packets of an id, as the tracer sends them (the specification leaves some open, and the viewer
        /// is wrong about id 3). [`OPEN`] for ids that no tracer has code for, or that users define.
        #[must_use]
        pub const fn data_bytes_of(id: u8) -> u8 {
            match id {
                $($id => $data_bytes,)*
                _ => OPEN,
            }
        }
    };
}

// The id, its name without the prefix, and the number of data bytes.
ids! {
    0 START OPEN
    1 END OPEN
    2 TASK_SWITCHED_IN 1
    3 INCREASE_TICK_COUNT 1
    4 LOW_POWER_IDLE_BEGIN 0
    5 LOW_POWER_IDLE_END 0
    6 TASK_SWITCHED_OUT 1
    7 TASK_PRIORITY_INHERIT 2
    8 TASK_PRIORITY_DISINHERIT 2
    9 BLOCKING_ON_QUEUE_RECEIVE 2
    10 BLOCKING_ON_QUEUE_SEND 2
    11 MOVED_TASK_TO_READY_STATE 1
    12 POST_MOVED_TASK_TO_READY_STATE 1
    13 QUEUE_CREATE 1
    14 QUEUE_CREATE_FAILED 1
    15 CREATE_MUTEX 1
    16 CREATE_MUTEX_FAILED 0
    17 GIVE_MUTEX_RECURSIVE 2
    18 GIVE_MUTEX_RECURSIVE_FAILED 2
    19 TAKE_MUTEX_RECURSIVE 2
    20 TAKE_MUTEX_RECURSIVE_FAILED 2
    21 CREATE_COUNTING_SEMAPHORE 0
    22 CREATE_COUNTING_SEMAPHORE_FAILED 0
    23 QUEUE_SEND 2
    24 QUEUE_SEND_FAILED 2
    25 QUEUE_RECEIVE 2
    26 QUEUE_PEEK 2
    27 QUEUE_PEEK_FROM_ISR 2
    28 QUEUE_RECEIVE_FAILED 2
    29 QUEUE_SEND_FROM_ISR 2
    30 QUEUE_SEND_FROM_ISR_FAILED 2
    31 QUEUE_RECEIVE_FROM_ISR 2
    32 QUEUE_RECEIVE_FROM_ISR_FAILED 2
    33 QUEUE_PEEK_FROM_ISR_FAILED 2
    34 QUEUE_DELETE 0
    35 TASK_CREATE 1
    36 TASK_CREATE_FAILED 0
    37 TASK_DELETE 1
    38 TASK_DELAY_UNTIL 3
    39 TASK_DELAY 3
    40 TASK_PRIORITY_SET 2
    41 TASK_SUSPEND 1
    42 TASK_RESUME 1
    43 TASK_RESUME_FROM_ISR 1
    44 TASK_INCREMENT_TICK 0
    45 TIMER_CREATE OPEN
    46 TIMER_CREATE_FAILED OPEN
    47 TIMER_COMMAND_SEND OPEN
    48 TIMER_EXPIRED OPEN
    49 TIMER_COMMAND_RECEIVED OPEN
    50 MALLOC 2
    51 FREE 2
    52 EVENT_GROUP_CREATE OPEN
    53 EVENT_GROUP_CREATE_FAILED OPEN
    54 EVENT_GROUP_SYNC_BLOCK OPEN
    55 EVENT_GROUP_SYNC_END OPEN
    56 EVENT_GROUP_WAIT_BITS_BLOCK OPEN
    57 EVENT_GROUP_WAIT_BITS_END OPEN
    58 EVENT_GROUP_CLEAR_BITS OPEN
    59 EVENT_GROUP_CLEAR_BITS_FROM_ISR OPEN
    60 EVENT_GROUP_SET_BITS OPEN
    61 EVENT_GROUP_SET_BITS_FROM_ISR OPEN
    62 EVENT_GROUP_DELETE OPEN
    63 PEND_FUNC_CALL OPEN
    64 PEND_FUNC_CALL_FROM_ISR OPEN
    65 QUEUE_REGISTRY_ADD OPEN
    66 TASK_NOTIFY_TAKE_BLOCK OPEN
    67 TASK_NOTIFY_TAKE OPEN
    68 TASK_NOTIFY_WAIT_BLOCK OPEN
    69 TASK_NOTIFY_WAIT OPEN
    70 TASK_NOTIFY OPEN
    71 TASK_NOTIFY_FROM_ISR OPEN
    72 TASK_NOTIFY_GIVE_FROM_ISR OPEN
    73 CUSTOM_MARKER_1 OPEN
    74 CUSTOM_MARKER_2 OPEN
    75 CUSTOM_MARKER_3 OPEN
    76 CUSTOM_MARKER_4 OPEN
    77 CUSTOM_MARKER_5 OPEN
    101 ERROR_STREAM_FIFO_FULL 0
    102 ERROR_RECEIVE_FIFO_FULL 0
    // Never sent; the viewer writes it to its saved files when a packet is missing, as the next two around a damaged stretch.
    148 PACKETID_ERROR OPEN
    149 ERROR_START OPEN
    150 ERROR_STOP OPEN
    151 OBJECT_LIST OPEN
    152 SNIFF_FILTER OPEN
}

/// The types of objects. All but tasks are queues in FreeRTOS.
pub mod object_type {
    #![allow(missing_docs)]
    pub const QUEUE: u8 = 0;
    pub const MUTEX: u8 = 1;
    pub const COUNTING_SEMAPHORE: u8 = 2;
    pub const BINARY_SEMAPHORE: u8 = 3;
    pub const RECURSIVE_MUTEX: u8 = 4;
    pub const TASK: u8 = 5;
    /// The number of types.
    pub const TYPES: usize = 6;
}

/// The name of a type of objects.
#[must_use]
pub fn type_name(number: u8) -> &'static str {
    match number {
        object_type::QUEUE => "queue",
        object_type::MUTEX => "mutex",
        object_type::COUNTING_SEMAPHORE => "counting semaphore",
        object_type::BINARY_SEMAPHORE => "binary semaphore",
        object_type::RECURSIVE_MUTEX => "recursive mutex",
        object_type::TASK => "task",
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
    fn entries_end_where_the_bytes_do() {
        let list: Vec<_> = entries(3, &[1, 2, b'a', b'b', 0, 0, 9, 5, b'c']).collect();
        assert_eq!(list, [ListEntry { number: 1, name: b"ab" }, ListEntry { number: 0, name: b"" }]);
    }
}
