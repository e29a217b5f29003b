//! Events as the table `events.toml` has them, with values: calls of the library. From it come the driver's command, the
//! record that the Rust encoder writes, and the line that the decoder's record must be.

use std::fmt::Write;
use std::sync::LazyLock;

use serde::Deserialize;
use traceconv::format::FieldValue;
use traceconv::format::tonbandgeraet::arguments::{self, Argument};
use traceconv::format::tonbandgeraet::decode::{Decoder, Wire};
use traceconv::format::tonbandgeraet::record::Record;
use traceconv::frame::cobs;

use crate::firmware::Firmware;

/// An event of the table.
#[derive(Debug, Deserialize)]
pub struct Event {
    pub id: u8,
    pub name: String,
    format: String,
    scope: String,
    /// Whether it has a time stamp.
    pub time: bool,
    pub fields: Vec<Field>,
}

#[derive(Debug, Deserialize)]
pub struct Field {
    name: String,
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Deserialize)]
struct Table {
    event: Vec<Event>,
    enums: std::collections::BTreeMap<String, std::collections::BTreeMap<String, u64>>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("../../events.toml")).expect("the table of events is well-formed"));

/// The event of a name.
pub fn event(name: &str) -> &'static Event {
    TABLE.event.iter().find(|event| event.name == name).unwrap_or_else(|| panic!("there is no event {name}"))
}

/// The events that code of this firmware can send. Those that the library sends by itself are not among them.
pub fn events_of(firmware: &Firmware) -> Vec<&'static Event> {
    const BY_THE_LIBRARY: [&str; 4] = ["core_id", "dropped_evt_cnt", "ts_resolution_ns", "sync"];
    // In the superset the name of an interrupt has its core where there are several.
    let other_isr_name = if firmware.is_plain || firmware.cores == 1 { "core_isr_name" } else { "isr_name" };
    let is_sent = |event: &&Event| {
        !BY_THE_LIBRARY.contains(&&*event.name)
            && event.name != other_isr_name
            && (event.format == "plain" || !firmware.is_plain)
            && (event.scope == "base" || firmware.has_freertos)
    };
    TABLE.event.iter().filter(is_sent).collect()
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(u64),
    Signed(i64),
    /// The bytes that the library finds at the address; `None` for no address.
    Text(Option<Vec<u8>>),
    /// Arguments of a message: unsigned, signed, double, text and float, as many of them as are there, in an order by the number.
    Arguments {
        rotate: usize,
        count: usize,
        number: u64,
        signed: i64,
        text: Vec<u8>,
    },
}

/// One call of the library.
#[derive(Clone, Debug)]
pub struct Call {
    pub event: &'static Event,
    /// One for each field.
    pub values: Vec<Value>,
}

impl Call {
    /// Makes values fit their fields: `numbers` and `signed` are cut to the range of the field.
    pub fn fitting(event: &'static Event, numbers: [u64; 3], signed: i64, text: Option<Vec<u8>>) -> Call {
        let value = |(index, field): (usize, &Field)| match &*field.kind {
            "str" => Value::Text(text.clone()),
            "args" => Value::Arguments {
                rotate: (numbers[1] % 5) as usize,
                count: (numbers[2] % 6) as usize,
                number: numbers[0],
                signed,
                text: text.clone().unwrap_or_default(),
            },
            "s64" => Value::Signed(signed),
            "u64" => Value::Number(numbers[index]),
            "u32" => Value::Number(numbers[index] & u64::from(u32::MAX)),
            // Flags.
            "u8" => Value::Number(numbers[index] & 1),
            name => Value::Number(numbers[index] % TABLE.enums[name].len() as u64),
        };
        Call { event, values: event.fields.iter().enumerate().map(value).collect() }
    }

    /// Whether it holds for the whole recording.
    pub fn is_metadata(&self) -> bool {
        !self.event.time
    }

    /// The driver's command.
    pub fn command(&self) -> String {
        if let [Value::Number(format), Value::Arguments { .. }] = &*self.values {
            let mut command = format!("log {format}");
            self.with_arguments(usize::MAX, |arguments| {
                for argument in arguments {
                    match *argument {
                        Argument::Unsigned(value) => write!(command, " 1 {value}"),
                        Argument::Signed(value) => write!(command, " 2 {}", (value << 1 ^ value >> 63).cast_unsigned()),
                        Argument::Double(value) => write!(command, " 3 {}", value.to_bits()),
                        Argument::Text(text) => {
                            let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
                            write!(command, " 4 x{hex}")
                        }
                        Argument::Float(value) => write!(command, " 5 {}", value.to_bits()),
                    }
                    .expect("memory does not fail");
                }
            });
            return command;
        }
        let kind = match self.event.fields.iter().map(|field| &*field.kind).find(|kind| ["str", "s64", "u64"].contains(kind)) {
            Some("str") => "text",
            Some("s64") if self.event.fields.len() == 1 => "delta",
            Some("s64") => "value",
            Some("u64") if self.event.name == "address_base" => "wide",
            Some("u64") if self.event.fields.len() > 1 => "heap",
            _ => "numbers",
        };
        // Bits 8 to 11 are the number of numbers, bit 12 is set for metadata.
        let numbers = self.values.iter().filter(|value| matches!(value, Value::Number(_))).count()
            + usize::from(self.values.iter().any(|value| matches!(value, Value::Signed(_))));
        let mut command = format!("{kind} {}", usize::from(self.event.id) | numbers << 8 | usize::from(self.is_metadata()) << 12);
        for value in &self.values {
            match value {
                Value::Number(number) => write!(command, " {number}"),
                Value::Signed(number) => write!(command, " {number}"),
                Value::Arguments { .. } => unreachable!("a message is the only event with arguments"),
                Value::Text(text) => {
                    // The command has two numbers, whatever the event has.
                    let zeros = if self.values.len() == 2 { " 0" } else { "" };
                    let hex = text.as_ref().map(|text| text.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
                    write!(command, "{zeros} {}", hex.unwrap_or_else(|| "null".to_owned()))
                }
            }
            .expect("memory does not fail");
        }
        command
    }

    /// Hands the arguments of a message over, texts cut.
    fn with_arguments<R>(&self, max_str_len: usize, take: impl FnOnce(&[Argument<'_>]) -> R) -> R {
        let Some(Value::Arguments { rotate, count, number, signed, text }) = self.values.last() else { return take(&[]) };
        let len = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        let mut arguments = [
            Argument::Unsigned(*number),
            Argument::Signed(*signed),
            Argument::Double(*signed as f64 / 3.0),
            Argument::Text(&text[..len.min(max_str_len)]),
            Argument::Float(*number as f32 / 3.0),
        ];
        arguments.rotate_left(*rotate);
        take(&arguments[..*count])
    }

    /// The text as the library takes it: up to a zero byte, or cut.
    fn text(&self, firmware: &Firmware) -> &[u8] {
        let text = self.values.iter().find_map(|value| if let Value::Text(Some(text)) = value { Some(text) } else { None });
        let text = text.map_or(&[][..], |text| text);
        let len = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        &text[..len.min(firmware.max_str_len)]
    }

    /// Hands its record over, with a time in ticks. The record is read from a frame that is put together here from the table, so
    /// that the table and the records of the library are compared as well.
    pub fn with_record<R>(&self, firmware: &Firmware, ticks: u64, take: impl FnOnce(&Record<&[u8]>) -> R) -> R {
        let mut payload = vec![self.event.id];
        if self.event.time {
            varint(ticks, &mut payload);
        }
        for value in &self.values {
            match *value {
                Value::Number(number) => varint(number, &mut payload),
                // The value of the wire has no room for the magnitude of the lowest number, so "negative zero" means it.
                Value::Signed(number) => varint(number.unsigned_abs() << 1 | u64::from(number < 0), &mut payload),
                Value::Text(_) => payload.extend(self.text(firmware)),
                Value::Arguments { .. } => {
                    self.with_arguments(firmware.max_str_len, |list| arguments::write(list, &mut payload));
                }
            }
        }
        let mut frame = Vec::new();
        cobs::stuff(&payload, &mut frame);
        let records = Decoder::new(Wire::Superset, true).records(&frame, 0..frame.len());
        assert!(records.bad.is_empty() && records.frames.len() == 1, "{self:?} cannot be read: {:?}", records.bad);
        let record = records.frames[0].record.map_text(|text| records.bytes(text));
        assert_eq!((record.id(), record.name()), (self.event.id, &*self.event.name));
        take(&record)
    }

    /// Its name and its fields as `dump` shows them.
    pub fn line(&self, firmware: &Firmware) -> String {
        let mut line = self.event.name.clone();
        for (field, value) in self.event.fields.iter().zip(&self.values) {
            let value = match (TABLE.enums.get(&field.kind), value) {
                (Some(names), Value::Number(number)) => names.iter().find(|(_, n)| *n == number).expect("it fits").0.clone(),
                (_, Value::Number(number)) => number.to_string(),
                (_, Value::Signed(number)) => number.to_string(),
                (_, Value::Arguments { .. }) => {
                    let mut wire = Vec::new();
                    self.with_arguments(firmware.max_str_len, |list| arguments::write(list, &mut wire));
                    arguments::list(&wire)
                }
                (_, Value::Text(_)) => String::from_utf8_lossy(self.text(firmware)).into_owned(),
            };
            write!(line, " {}={value}", field.name).expect("memory does not fail");
        }
        line
    }
}

/// The fields of a record of a dump, as [`Call::line`] has them.
pub fn dumped_fields(fields: &[(&str, FieldValue<'_>)]) -> String {
    fields.iter().fold(String::new(), |line, (name, value)| match value {
        FieldValue::Uint(number) => format!("{line} {name}={number}"),
        FieldValue::Int(number) => format!("{line} {name}={number}"),
        FieldValue::Text(text) => format!("{line} {name}={text}"),
        other => panic!("{name} is {other:?}"),
    })
}

fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value > 0x7F {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
