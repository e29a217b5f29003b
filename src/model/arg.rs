//! Named values that belong to events, in 16 bytes each: they outnumber the events, and every stage passes them on.

use super::{NameId, TextRef};

/// The type of a [`Tagged`] value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// An unsigned number.
    Uint,
    /// A signed number.
    Int,
    /// A number that is shown in hex.
    Hex,
    /// The bits of a number with a fraction.
    Float,
    /// 0 or 1.
    Bool,
    /// The number of a name.
    Name,
    /// The place of a text.
    Text,
    /// The number of a flow.
    FlowOut,
    /// The number of a flow that ends.
    FlowIn,
    /// The name of the event's category.
    Category,
    /// The places of a log's text and source code.
    Log,
}

impl Tag {
    /// Whether the bits are the value itself, with the same meaning everywhere.
    #[inline]
    #[must_use]
    pub fn is_plain(self) -> bool {
        // They come first.
        (self as u8) <= Tag::Bool as u8
    }
}

/// A name of some kind, and a value. The meaning of the numbers of names and texts depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tagged<N> {
    /// The name.
    pub name: N,
    tag: Tag,
    bits: u64,
}

impl<N> Tagged<N> {
    /// A value of these bits.
    #[inline]
    #[must_use]
    pub fn of_bits(name: N, tag: Tag, bits: u64) -> Tagged<N> {
        Tagged { name, tag, bits }
    }

    /// A text.
    #[inline]
    #[must_use]
    pub fn of_text(name: N, text: TextRef) -> Tagged<N> {
        Tagged { name, tag: Tag::Text, bits: u64::from(text.start) | u64::from(text.len) << 32 }
    }

    /// The type of its value.
    #[inline]
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Its bits.
    #[inline]
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// The place of its text, if it was made with [`Tagged::of_text`].
    #[inline]
    #[must_use]
    pub fn text(&self) -> Option<TextRef> {
        (self.tag == Tag::Text).then_some(TextRef { start: self.bits as u32, len: (self.bits >> 32) as u32 })
    }

    /// The same value under a name of another kind.
    #[inline]
    #[must_use]
    pub fn renamed<M>(&self, name: M) -> Tagged<M> {
        Tagged { name, tag: self.tag, bits: self.bits }
    }
}

/// A named value that belongs to an event.
pub type Arg = Tagged<NameId>;

const _: () = assert!(std::mem::size_of::<Arg>() == 16);

/// The value of an [`Arg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArgValue {
    /// An unsigned number.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// An address or a pattern of bits: shown in hex.
    Hex(u64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A name known for the whole conversion.
    Name(NameId),
    /// A text of the batch.
    Text(TextRef),
    /// Not shown as a value: a flow of this number starts or goes on at this event, and the viewer draws an arrow to the next
    /// event of the same flow. Numbers are the format's own, below [`ArgValue::FLOW_LIMIT`]. An event has one flow at most.
    FlowOut(u64),
    /// As [`ArgValue::FlowOut`], but the flow ends here.
    FlowIn(u64),
    /// Not shown as a value: the event's category, by which the viewer searches and filters. Its arg's name does not matter. An event
    /// has one at most; the end of a span has that of its begin.
    Category(NameId),
}

impl ArgValue {
    /// Numbers of flows that formats make are below this.
    pub const FLOW_LIMIT: u64 = 1 << 62;
}

impl Arg {
    /// A value under a name.
    #[inline]
    #[must_use]
    pub fn new(name: NameId, value: ArgValue) -> Arg {
        let (tag, bits) = match value {
            ArgValue::Uint(value) => (Tag::Uint, value),
            ArgValue::Int(value) => (Tag::Int, value.cast_unsigned()),
            ArgValue::Hex(value) => (Tag::Hex, value),
            ArgValue::Float(value) => (Tag::Float, value.to_bits()),
            ArgValue::Bool(value) => (Tag::Bool, u64::from(value)),
            ArgValue::Name(value) => (Tag::Name, u64::from(value.0)),
            ArgValue::Text(text) => return Arg::of_text(name, text),
            ArgValue::FlowOut(number) => (Tag::FlowOut, number),
            ArgValue::FlowIn(number) => (Tag::FlowIn, number),
            ArgValue::Category(category) => (Tag::Category, u64::from(category.0)),
        };
        Arg::of_bits(name, tag, bits)
    }

    /// Its value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> ArgValue {
        let bits = self.bits;
        match self.tag {
            Tag::Uint => ArgValue::Uint(bits),
            Tag::Int => ArgValue::Int(bits.cast_signed()),
            // No arg of an event is a log.
            Tag::Hex | Tag::Log => ArgValue::Hex(bits),
            Tag::Float => ArgValue::Float(f64::from_bits(bits)),
            Tag::Bool => ArgValue::Bool(bits != 0),
            Tag::Name => ArgValue::Name(NameId(bits as u32)),
            Tag::Text => ArgValue::Text(self.text().unwrap_or_default()),
            Tag::FlowOut => ArgValue::FlowOut(bits),
            Tag::FlowIn => ArgValue::FlowIn(bits),
            Tag::Category => ArgValue::Category(NameId(bits as u32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_unpacked_as_it_was_packed() {
        let text = TextRef { start: 7, len: u32::MAX };
        for value in [
            ArgValue::Uint(u64::MAX),
            ArgValue::Int(-1),
            ArgValue::Hex(1 << 63),
            ArgValue::Float(-0.1),
            ArgValue::Bool(true),
            ArgValue::Bool(false),
            ArgValue::Name(NameId(u32::MAX)),
            ArgValue::Text(text),
            ArgValue::FlowOut(ArgValue::FLOW_LIMIT - 1),
            ArgValue::FlowIn(0),
            ArgValue::Category(NameId(7)),
        ] {
            let arg = Arg::new(NameId(3), value);
            assert_eq!((arg.name, arg.value()), (NameId(3), value));
            let renamed = arg.renamed(9u32);
            assert_eq!((renamed.name, renamed.tag(), renamed.bits()), (9, arg.tag(), arg.bits()));
        }
        assert_eq!(Arg::new(NameId(0), ArgValue::Uint(1)).text(), None);
    }
}
