//! The records of the wire. One table lists all events; everything that depends on the list is made from it: the type, ids
//! and names, the reader, the writer, and the list of fields for `dump`.
//!
//! A record is its id and then its fields in the order of the table, without padding or lengths. Events with a time stamp (`ts`, always
//! first) are *timed*; those without are *metadata*: they may come at any place and hold for the whole recording.

use crate::format::FieldValue;
use crate::model::TextRef;

use super::decode::BadFrame;
use super::field::{Reader, Writer};

/// The first id that only targets with FreeRTOS use.
pub const FIRST_FREERTOS_ID: u8 = 0x54;

/// What is known about an event beside its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// The first byte of its payload.
    pub id: u8,
    /// Its name in the notes on the format.
    pub name: &'static str,
    /// Whether it has no time stamp and holds for the whole recording.
    pub is_metadata: bool,
}

macro_rules! records {
    ($($id:literal $name:ident $variant:ident [$($ts:ident: $ts_type:tt)?] { $($field:ident: $type:tt),* })*) => {
        /// One event as the target wrote it.
        ///
        /// `T` is how its text, if it has one, is held: borrowed bytes (`&[u8]`, not necessarily UTF-8), or a reference into
        /// an arena. Times are in ticks of the target's timer, ids are the target's own, delays in ticks of its kernel.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record<T> {
            $(
                #[doc = concat!("`", stringify!($name), "`, id ", stringify!($id), ".")]
                $variant { $($ts: $ts_type,)? $($field: $type),* },
            )*
        }

        /// All events, in the order of their ids.
        pub const EVENTS: &[EventInfo] = &[
            $(EventInfo { id: $id, name: stringify!($name), is_metadata: is_metadata!($($ts)?) },)*
        ];

        impl<T: Copy> Record<T> {
            /// The id on the wire.
            #[inline]
            #[must_use]
            pub fn id(&self) -> u8 {
                match self {
                    $(Record::$variant { .. } => $id,)*
                }
            }

            /// The name in the notes on the format.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Record::$variant { .. } => stringify!($name),)*
                }
            }

            /// The time in ticks; `None` for metadata.
            #[inline]
            #[must_use]
            pub fn ts(&self) -> Option<u64> {
                match *self {
                    $(Record::$variant { $($ts,)? .. } => option_of!($($ts)?),)*
                }
            }

            /// Its text. No event has more than one.
            #[must_use]
            #[allow(unused_variables)]
            pub fn text(&self) -> Option<T> {
                match *self {
                    $(Record::$variant { $($field,)* .. } => text_of!($($field $type)*),)*
                }
            }

            /// The same record with its text held in another way.
            #[must_use]
            pub fn map_text<U>(self, map: impl FnOnce(T) -> U) -> Record<U> {
                match self {
                    $(Record::$variant { $($ts,)? $($field),* } => {
                        Record::$variant { $($ts,)? $($field: mapped!(map, $field $type)),* }
                    })*
                }
            }

            /// Appends its fields but the time, in the order of the wire. `text` is what stands for its text.
            pub fn list_fields<'a>(&self, text: &'a str, fields: &mut Vec<(&'a str, FieldValue<'a>)>) {
                match *self {
                    $(Record::$variant { $($field,)* .. } => {
                        $(fields.push((stringify!($field), field_value!(text, $field $type)));)*
                    })*
                }
            }

            /// Reads the fields of the event `id`.
            #[inline(always)]
            pub(super) fn read<R: Reader<Text = T>>(id: u8, reader: &mut R) -> Result<Record<T>, BadFrame> {
                Ok(match id {
                    $($id => Record::$variant {
                        $($ts: reader.$ts_type()?,)?
                        $($field: read_field!(reader, $type)),*
                    },)*
                    _ => return Err(BadFrame::UnknownEvent),
                })
            }
        }

        impl Record<&[u8]> {
            /// Writes the id and the fields.
            #[inline]
            pub(super) fn write(&self, writer: &mut Writer<'_>) {
                match *self {
                    $(Record::$variant { $($ts,)? $($field),* } => {
                        writer.byte($id);
                        $(writer.$ts_type($ts);)?
                        $(write_field!(writer, $field $type);)*
                    })*
                }
            }
        }
    };
}

macro_rules! is_metadata {
    ($ts:ident) => {
        false
    };
    () => {
        true
    };
}

macro_rules! option_of {
    ($value:ident) => {
        Some($value)
    };
    () => {
        None
    };
}

macro_rules! text_of {
    ($field:ident T) => { Some($field) };
    ($field:ident $type:tt $($rest:tt)*) => { text_of!($($rest)*) };
    () => { None };
}

macro_rules! mapped {
    ($map:ident, $field:ident T) => {
        $map($field)
    };
    ($map:ident, $field:ident $type:tt) => {
        $field
    };
}

macro_rules! field_value {
    ($text:ident, $field:ident u32) => {
        FieldValue::Uint(u64::from($field))
    };
    ($text:ident, $field:ident u64) => {
        FieldValue::Uint($field)
    };
    ($text:ident, $field:ident i64) => {
        FieldValue::Int($field)
    };
    ($text:ident, $field:ident QueueKind) => {
        FieldValue::Text($field.name())
    };
    ($text:ident, $field:ident T) => {{
        let _ = $field;
        FieldValue::Text($text)
    }};
}

macro_rules! read_field {
    ($reader:ident, T) => {
        $reader.text()?
    };
    ($reader:ident, QueueKind) => {
        QueueKind::from_wire($reader.u8()?).ok_or(BadFrame::UnknownEnum)?
    };
    ($reader:ident, $type:ident) => {
        $reader.$type()?
    };
}

macro_rules! write_field {
    ($writer:ident, $field:ident T) => {
        $writer.text($field)
    };
    ($writer:ident, $field:ident QueueKind) => {
        $writer.byte($field as u8)
    };
    ($writer:ident, $field:ident $type:ident) => {
        $writer.$type($field)
    };
}

records! {
    0x00 core_id CoreId [ts: u64] { core_id: u32 }
    0x01 dropped_evt_cnt DroppedEvtCnt [ts: u64] { cnt: u32 }
    0x02 ts_resolution_ns TsResolutionNs [] { ns_per_ts: u64 }
    0x03 isr_name IsrName [] { isr_id: u32, name: T }
    0x04 isr_enter IsrEnter [ts: u64] { isr_id: u32 }
    0x05 isr_exit IsrExit [ts: u64] { isr_id: u32 }
    0x06 evtmarker_name EvtmarkerName [] { evtmarker_id: u32, name: T }
    0x07 evtmarker Evtmarker [ts: u64] { evtmarker_id: u32, msg: T }
    0x08 evtmarker_begin EvtmarkerBegin [ts: u64] { evtmarker_id: u32, msg: T }
    0x09 evtmarker_end EvtmarkerEnd [ts: u64] { evtmarker_id: u32 }
    0x0A valmarker_name ValmarkerName [] { valmarker_id: u32, name: T }
    0x0B valmarker Valmarker [ts: u64] { valmarker_id: u32, val: i64 }
    0x54 task_switched_in TaskSwitchedIn [ts: u64] { task_id: u32 }
    0x55 task_to_rdy_state TaskToRdyState [ts: u64] { task_id: u32 }
    0x56 task_resumed TaskResumed [ts: u64] { task_id: u32 }
    0x57 task_resumed_from_isr TaskResumedFromIsr [ts: u64] { task_id: u32 }
    0x58 task_suspended TaskSuspended [ts: u64] { task_id: u32 }
    0x59 curtask_delay CurtaskDelay [ts: u64] { ticks: u32 }
    0x5A curtask_delay_until CurtaskDelayUntil [ts: u64] { time_to_wake: u32 }
    0x5B task_priority_set TaskPrioritySet [ts: u64] { task_id: u32, priority: u32 }
    0x5C task_priority_inherit TaskPriorityInherit [ts: u64] { task_id: u32, priority: u32 }
    0x5D task_priority_disinherit TaskPriorityDisinherit [ts: u64] { task_id: u32, priority: u32 }
    0x5E task_created TaskCreated [ts: u64] { task_id: u32 }
    0x5F task_name TaskName [] { task_id: u32, name: T }
    0x60 task_is_idle_task TaskIsIdleTask [] { task_id: u32, core_id: u32 }
    0x61 task_is_timer_task TaskIsTimerTask [] { task_id: u32 }
    0x62 task_deleted TaskDeleted [ts: u64] { task_id: u32 }
    0x63 queue_created QueueCreated [ts: u64] { queue_id: u32 }
    0x64 queue_name QueueName [] { queue_id: u32, name: T }
    0x65 queue_kind QueueKind [] { queue_id: u32, kind: QueueKind }
    0x66 queue_send QueueSend [ts: u64] { queue_id: u32, len_after: u32 }
    0x67 queue_send_from_isr QueueSendFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
    0x68 queue_overwrite QueueOverwrite [ts: u64] { queue_id: u32, len_after: u32 }
    0x69 queue_overwrite_from_isr QueueOverwriteFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
    0x6A queue_receive QueueReceive [ts: u64] { queue_id: u32, len_after: u32 }
    0x6B queue_receive_from_isr QueueReceiveFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
    0x6C queue_reset QueueReset [ts: u64] { queue_id: u32 }
    0x6D curtask_block_on_queue_peek CurtaskBlockOnQueuePeek [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
    0x6E curtask_block_on_queue_send CurtaskBlockOnQueueSend [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
    0x6F curtask_block_on_queue_receive CurtaskBlockOnQueueReceive [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
    0x70 queue_cur_length QueueCurLength [ts: u64] { queue_id: u32, length: u32 }
    0x7A task_evtmarker_name TaskEvtmarkerName [] { evtmarker_id: u32, task_id: u32, name: T }
    0x7B task_evtmarker TaskEvtmarker [ts: u64] { evtmarker_id: u32, msg: T }
    0x7C task_evtmarker_begin TaskEvtmarkerBegin [ts: u64] { evtmarker_id: u32, msg: T }
    0x7D task_evtmarker_end TaskEvtmarkerEnd [ts: u64] { evtmarker_id: u32 }
    0x7E task_valmarker_name TaskValmarkerName [] { valmarker_id: u32, task_id: u32, name: T }
    0x7F task_valmarker TaskValmarker [ts: u64] { valmarker_id: u32, val: i64 }
}

const _: () = assert!(size_of::<Record<TextRef>>() <= 24);

/// What kind of queue a queue is. Semaphores and mutexes are queues to FreeRTOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum QueueKind {
    /// A queue, also a queue set as current targets report it.
    Queue = 0,
    /// A semaphore that counts.
    CountingSemaphore = 1,
    /// A semaphore that is free or taken.
    BinarySemaphore = 2,
    /// A mutex.
    Mutex = 3,
    /// A mutex that its holder may take again.
    RecursiveMutex = 4,
    /// A queue set. Defined, but written by no known target.
    QueueSet = 5,
}

impl QueueKind {
    /// The kind behind a byte of the wire.
    #[must_use]
    pub fn from_wire(byte: u8) -> Option<QueueKind> {
        Some(match byte {
            0 => QueueKind::Queue,
            1 => QueueKind::CountingSemaphore,
            2 => QueueKind::BinarySemaphore,
            3 => QueueKind::Mutex,
            4 => QueueKind::RecursiveMutex,
            5 => QueueKind::QueueSet,
            _ => return None,
        })
    }

    /// The name that `dump` shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Queue => "queue",
            QueueKind::CountingSemaphore => "counting_semaphore",
            QueueKind::BinarySemaphore => "binary_semaphore",
            QueueKind::Mutex => "mutex",
            QueueKind::RecursiveMutex => "recursive_mutex",
            QueueKind::QueueSet => "queue_set",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        assert_eq!(EVENTS.len(), 47);
        assert!(EVENTS.is_sorted_by(|a, b| a.id < b.id));
        let metadata: Vec<u8> = EVENTS.iter().filter(|event| event.is_metadata).map(|event| event.id).collect();
        assert_eq!(metadata, [0x02, 0x03, 0x06, 0x0A, 0x5F, 0x60, 0x61, 0x64, 0x65, 0x7A, 0x7E]);
        assert_eq!(EVENTS.iter().filter(|event| event.id < FIRST_FREERTOS_ID).count(), 12);
    }

    #[test]
    fn a_record_tells_its_parts() {
        let name: Record<&[u8]> = Record::TaskValmarkerName { valmarker_id: 2, task_id: 3, name: b"cnt" };
        assert_eq!((name.id(), name.name(), name.ts(), name.text()), (0x7E, "task_valmarker_name", None, Some(&b"cnt"[..])));
        assert_eq!(name.map_text(<[u8]>::len).text(), Some(3));
        let mut fields = Vec::new();
        name.list_fields("cnt", &mut fields);
        let expected =
            [("valmarker_id", FieldValue::Uint(2)), ("task_id", FieldValue::Uint(3)), ("name", FieldValue::Text("cnt"))];
        assert_eq!(fields, expected);

        let value: Record<&[u8]> = Record::Valmarker { ts: 9, valmarker_id: 2, val: -1 };
        assert_eq!((value.id(), value.ts(), value.text()), (0x0B, Some(9), None));
        fields.clear();
        value.list_fields("", &mut fields);
        assert_eq!(fields, [("valmarker_id", FieldValue::Uint(2)), ("val", FieldValue::Int(-1))]);

        let kind: Record<&[u8]> = Record::QueueKind { queue_id: 1, kind: QueueKind::RecursiveMutex };
        fields.clear();
        kind.list_fields("", &mut fields);
        assert_eq!(fields[1], ("kind", FieldValue::Text("recursive_mutex")));
    }

    #[test]
    fn kinds_of_queues_keep_their_numbers() {
        for byte in 0..=5 {
            assert_eq!(QueueKind::from_wire(byte).map(|kind| kind as u8), Some(byte));
        }
        assert_eq!(QueueKind::from_wire(6), None);
    }
}
