//! Records → bytes, for tests and generated captures.

use super::frame;
use super::layout::Layout;
use super::record::{Code, Kind};

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number; truncated to the field's width.
    Uint(u64),
    /// The bytes of a text without its zero, or of the rest of a record.
    Bytes(&'a [u8]),
}

/// Appends the data of a record. `values` are those of all its fields by the table; those of fields that the version does not send
/// are ignored.
pub fn data(kind: Kind, values: &[Value<'_>], layout: &Layout, out: &mut Vec<u8>) {
    let version = kind.spec().nearest(layout.config.version);
    for (field, value) in kind.spec().fields.iter().zip(values) {
        if !field.is_sent_by(version) {
            continue;
        }
        match (value, layout.config.sizes.width(field.code)) {
            (Value::Uint(value), Some(width)) => out.extend(value.to_le_bytes().into_iter().take(usize::from(width))),
            (Value::Bytes(bytes), None) => {
                out.extend_from_slice(bytes);
                if field.code == Code::Text {
                    out.push(0);
                }
            }
            _ => {}
        }
    }
}

/// Appends the frames of a target, numbered one after the other.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// The layout of its records.
    pub layout: Layout,
    /// The sequence number of the frame before; that of the first is 1.
    pub seq: u8,
    scratch: Vec<u8>,
}

impl Encoder {
    /// An encoder at the start of a session.
    #[must_use]
    pub fn new(layout: Layout) -> Encoder {
        Encoder { layout, seq: 0, scratch: Vec::new() }
    }

    /// Appends the frame of a record with its id from the table.
    pub fn record(&mut self, kind: Kind, values: &[Value<'_>], out: &mut Vec<u8>) {
        self.with_id(kind, kind.spec().id, values, out);
    }

    /// Appends the frame of a record of fixed fields.
    pub fn numbers(&mut self, kind: Kind, numbers: &[u64], out: &mut Vec<u8>) {
        let mut values = [Value::Uint(0); super::layout::FIELDS_MAX];
        values.iter_mut().zip(numbers).for_each(|(value, &number)| *value = Value::Uint(number));
        let count = numbers.len().min(values.len());
        self.with_id(kind, kind.spec().id, values.get(..count).unwrap_or(&[]), out);
    }

    /// Appends the frame of a record with another id, for application records.
    pub fn with_id(&mut self, kind: Kind, id: u8, values: &[Value<'_>], out: &mut Vec<u8>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        data(kind, values, &self.layout, &mut scratch);
        self.seq = self.seq.wrapping_add(1);
        frame::append(self.seq, id, &scratch, out);
        self.scratch = scratch;
    }
}
