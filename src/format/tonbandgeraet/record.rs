//! The records of the wire. One table lists all events ([`super::event_table`], generated). The type, ids and names, the reader, the
//! writer, and the list of fields for `dump` are made from it.
//!
//! A record is its id and then its fields in the order of the table, without padding or lengths. Events with a time stamp (`ts`, always
//! first) are *timed*; those without are *metadata*: they may occur anywhere and are valid for the whole recording.

use crate::format::FieldValue;
use crate::model::TextRef;

use super::arguments;
use super::decode::BadFrame;
use super::event_table::{enum_table, event_table, wide_table};
#[cfg(any(test, feature = "generate"))]
use super::field::Writer;
use super::field::{Borrow, Reader, SliceReader};

/// The bit of the first byte that is set for a delta time stamp.
pub const DELTA: u8 = 0x80;

/// Receives a record that was just read. Implement it with `#[inline(always)]`.
pub(super) trait RecordSink<R: Reader> {
    /// The result of reading.
    type Out;

    /// Receives the record. The reader is after its last field.
    fn record(&mut self, reader: &mut R, record: Record<R::Text>) -> Result<Self::Out, BadFrame>;
}

/// The properties of an event, except its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// The first byte of its payload.
    pub id: u8,
    /// Its name in the format's description.
    pub name: &'static str,
    /// Whether it has no time stamp and is valid for the whole recording.
    pub is_metadata: bool,
    /// Whether only the superset has it.
    pub is_superset: bool,
    /// Whether only targets with FreeRTOS send it.
    pub is_freertos: bool,
}

macro_rules! records {
    ($($id:literal $format:ident $scope:ident $name:ident $variant:ident [$($ts:ident: $ts_type:tt)?]
        { $($field:ident: $type:tt),* })*) => {
        /// One event as the target wrote it.
        ///
        /// `T` is the type of its text, if it has one: borrowed bytes (`&[u8]`, not necessarily UTF-8), or a reference into
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
            $(EventInfo {
                id: $id,
                name: stringify!($name),
                is_metadata: matches!(stringify!($($ts)?).as_bytes(), b""),
                is_superset: matches!(stringify!($format).as_bytes(), b"superset"),
                is_freertos: matches!(stringify!($scope).as_bytes(), b"freertos"),
            },)*
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

            /// The name in the format's description.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Record::$variant { .. } => stringify!($name),)*
                }
            }

            /// The time in ticks; `None` for metadata.
            #[inline(always)]
            #[must_use]
            pub fn ts(&self) -> Option<u64> {
                match *self {
                    $(Record::$variant { $($ts,)? .. } => option_of!($($ts)?),)*
                }
            }

            /// Sets the time, in ticks. No effect on metadata.
            #[inline]
            #[allow(unused_variables)]
            pub(super) fn set_ts(&mut self, ticks: u64) {
                match self {
                    $(Record::$variant { $($ts,)? .. } => { $(*$ts = ticks;)? })*
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

            /// The same record with another type of text.
            #[must_use]
            pub fn map_text<U>(self, map: impl FnOnce(T) -> U) -> Record<U> {
                match self {
                    $(Record::$variant { $($ts,)? $($field),* } => {
                        Record::$variant { $($ts,)? $($field: mapped!(map, $field $type)),* }
                    })*
                }
            }

            /// Appends its fields except the time, in the order of the wire. `text` is its text.
            pub fn list_fields<'a>(&self, text: &'a str, fields: &mut Vec<(&'a str, FieldValue<'a>)>) {
                match *self {
                    $(Record::$variant { $($field,)* .. } => {
                        $(fields.push((stringify!($field), field_value!(text, $field $type)));)*
                    })*
                }
            }

            /// Reads the fields of the event `id`, and passes the record to `to`.
            ///
            /// [`RecordSink::record`] becomes part of every arm, so that it can store the fields one by one. Otherwise a record is first
            /// written in small pieces and immediately read back in large ones, for which the processor has to wait: that was half of
            /// the time of decoding.
            #[inline(always)]
            pub(super) fn read<R: Reader<Text = T>, K: RecordSink<R>>(id: u8, reader: &mut R, to: &mut K) -> Result<K::Out, BadFrame> {
                // Nearly all events have a time: it is read here, and not in every arm.
                let ts = if TIMED[usize::from(id >> 6)] >> (id & 63) & 1 != 0 { reader.u64()? } else { 0 };
                match id {
                    $($id => {
                        let record = Record::$variant {
                            $($ts: ts,)?
                            $($field: read_field!(reader, $field $type)),*
                        };
                        to.record(reader, record)
                    })*
                    _ => Err(BadFrame::UnknownEvent),
                }
            }
        }

        #[cfg(any(test, feature = "generate"))]
        impl Record<&[u8]> {
            /// Writes the id, with `flags` added to it, and the fields.
            #[inline]
            pub(super) fn write(&self, flags: u8, writer: &mut Writer<'_>) {
                match *self {
                    $(Record::$variant { $($ts,)? $($field),* } => {
                        writer.byte($id | flags);
                        $(writer.$ts_type($ts);)?
                        $(write_field!(writer, $field $type);)*
                    })*
                }
            }
        }
    };
}

/// A bit for each event with a time.
const TIMED: [u64; 4] = {
    let mut timed = [0; 4];
    let mut index = 0;
    while index < EVENTS.len() {
        let event = EVENTS[index];
        timed[(event.id >> 6) as usize] |= (!event.is_metadata as u64) << (event.id & 63);
        index += 1;
    }
    timed
};

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
    ($text:expr, $field:ident u8) => {
        FieldValue::Uint(u64::from($field))
    };
    ($text:expr, $field:ident u32) => {
        FieldValue::Uint(u64::from($field))
    };
    ($text:expr, $field:ident u64) => {
        FieldValue::Uint($field)
    };
    ($text:expr, $field:ident i64) => {
        FieldValue::Int($field)
    };
    ($text:expr, $field:ident T) => {{
        let _ = $field;
        FieldValue::Text($text)
    }};
    ($text:expr, $field:ident $type:ident) => {
        FieldValue::Text($field.name())
    };
}

macro_rules! read_field {
    // The fields of an event that is too wide for a record: there is one.
    ($reader:ident, fields T) => {
        $reader.checked_text(SyncFields::check)?
    };
    ($reader:ident, arguments T) => {
        $reader.checked_text(arguments::check)?
    };
    ($reader:ident, $field:ident T) => {
        $reader.text()?
    };
    ($reader:ident, $field:ident u8) => {
        $reader.u8()?
    };
    ($reader:ident, $field:ident u32) => {
        $reader.u32()?
    };
    ($reader:ident, $field:ident u64) => {
        $reader.u64()?
    };
    ($reader:ident, $field:ident i64) => {
        $reader.i64()?
    };
    ($reader:ident, $field:ident $type:ident) => {
        $type::from_wire($reader.u8()?).ok_or(BadFrame::UnknownEnum)?
    };
}

#[cfg(any(test, feature = "generate"))]
macro_rules! write_field {
    ($writer:ident, $field:ident T) => {
        $writer.text($field)
    };
    ($writer:ident, $field:ident u8) => {
        $writer.byte($field)
    };
    ($writer:ident, $field:ident u32) => {
        $writer.u32($field)
    };
    ($writer:ident, $field:ident u64) => {
        $writer.u64($field)
    };
    ($writer:ident, $field:ident i64) => {
        $writer.i64($field)
    };
    ($writer:ident, $field:ident $type:ident) => {
        $writer.byte($field as u8)
    };
}

event_table!(records);

/// Whether only targets with FreeRTOS send an event.
#[must_use]
pub fn is_freertos(id: u8) -> bool {
    EVENTS.iter().any(|event| event.id == id && event.is_freertos)
}

const _: () = assert!(size_of::<Record<TextRef>>() <= 24);

macro_rules! wire_enums {
    ($(#[doc = $doc:literal] $name:ident { $($value:ident $word:ident = $number:literal)* })*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[repr(u8)]
            pub enum $name {
                $(
                    #[doc = concat!("`", stringify!($word), "`.")]
                    $value = $number,
                )*
            }

            impl $name {
                /// The value of a byte of the wire.
                #[must_use]
                pub fn from_wire(byte: u8) -> Option<$name> {
                    match byte {
                        $($number => Some($name::$value),)*
                        _ => None,
                    }
                }

                /// The name that `dump` shows.
                #[must_use]
                pub fn name(self) -> &'static str {
                    match self {
                        $($name::$value => stringify!($word),)*
                    }
                }
            }
        )*
    };
}

enum_table!(wire_enums);

macro_rules! wide_records {
    ($($name:ident { $($field:ident: $type:tt),* })*) => {
        $(
            /// The fields of an event that is too wide for a [`Record`], which has them as bytes.
            #[allow(missing_docs)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name {
                $(pub $field: $type,)*
            }

            impl $name {
                /// Reads the fields. Bytes after the last one are fields of a later version.
                ///
                /// # Errors
                /// A field is missing or too large.
                pub fn read(bytes: &[u8]) -> Result<$name, BadFrame> {
                    let mut texts = Borrow;
                    let mut reader = SliceReader::new(bytes, &mut texts);
                    Ok($name { $($field: read_field!(reader, $field $type),)* })
                }

                /// Appends the fields in the form of the wire.
                #[cfg(any(test, feature = "generate"))]
                pub fn write(&self, bytes: &mut Vec<u8>) {
                    let mut writer = Writer::new(bytes);
                    $({
                        let $field = self.$field;
                        write_field!(writer, $field $type);
                    })*
                }

                /// Appends the fields for `dump`.
                pub fn list_fields<'a>(&self, fields: &mut Vec<(&'a str, FieldValue<'a>)>) {
                    $({
                        let $field = self.$field;
                        fields.push((stringify!($field), field_value!("", $field $type)));
                    })*
                }
            }
        )*
    };
}

wide_table!(wide_records);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        let plain = || EVENTS.iter().filter(|event| !event.is_superset);
        assert_eq!(plain().count(), 47);
        assert!(EVENTS.is_sorted_by(|a, b| a.id < b.id) && EVENTS.iter().all(|event| event.id < DELTA));
        let metadata: Vec<u8> = plain().filter(|event| event.is_metadata).map(|event| event.id).collect();
        assert_eq!(metadata, [0x02, 0x03, 0x06, 0x0A, 0x5F, 0x60, 0x61, 0x64, 0x65, 0x7A, 0x7E]);
        assert_eq!(plain().filter(|event| !event.is_freertos).count(), 12);
    }

    #[test]
    fn a_record_lists_its_parts() {
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
}
