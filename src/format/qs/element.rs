//! The elements of application records: each a format byte and a value.

use super::layout::{Sizes, load};

/// One element of an application record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element<'a> {
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A number to be shown in hex, with this number of digits.
    Hex(u64, u8),
    /// A number with a fraction.
    Float(f64),
    /// A value of one of the eight enumerations.
    Enum {
        /// The enumeration.
        group: u8,
        /// The value.
        value: u8,
    },
    /// A text, without its zero. Not necessarily UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Memory(&'a [u8]),
    /// A signal of an object (0: global).
    Signal {
        /// Its number.
        signal: u32,
        /// The object.
        object: u64,
    },
    /// The address of an object.
    Object(u64),
    /// The address of a function.
    Function(u64),
}

/// An element with its format byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formatted<'a> {
    /// The low half is the type, the high half the presentation.
    pub format: u8,
    /// The value.
    pub element: Element<'a>,
}

/// The data of an application record do not consist of whole elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadElement;

/// The elements of an application record, one after the other.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    sizes: Sizes,
    has_enums: bool,
}

impl<'a> Elements<'a> {
    /// The elements in the data after the time stamp, for a version of QP.
    #[must_use]
    pub fn new(data: &'a [u8], sizes: Sizes, version: u16) -> Elements<'a> {
        Elements { rest: data, sizes, has_enums: version >= 720 }
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], BadElement> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(BadElement)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn uint(&mut self, width: u8) -> Result<u64, BadElement> {
        self.bytes(usize::from(width)).map(|bytes| load(bytes, 0, width))
    }

    fn element(&mut self, format: u8) -> Result<Element<'a>, BadElement> {
        let number = |value: u64, digits: u8| if format >> 4 == 15 { Element::Hex(value, digits) } else { Element::Uint(value) };
        Ok(match format & 15 {
            0 if self.has_enums && format & 0x80 != 0 => Element::Enum { group: format >> 4 & 7, value: self.uint(1)? as u8 },
            0 => Element::Int(i64::from(self.uint(1)? as i8)),
            1 => number(self.uint(1)?, 2),
            2 => Element::Int(i64::from(self.uint(2)? as i16)),
            3 => number(self.uint(2)?, 4),
            4 => Element::Int(i64::from(self.uint(4)? as i32)),
            5 => number(self.uint(4)?, 8),
            6 => Element::Float(f64::from(f32::from_bits(self.uint(4)? as u32))),
            7 => Element::Float(f64::from_bits(self.uint(8)?)),
            8 => {
                let len = memchr::memchr(0, self.rest).ok_or(BadElement)?;
                let text = self.bytes(len)?;
                self.bytes(1)?;
                Element::Text(text)
            }
            9 => {
                let len = self.uint(1)?;
                Element::Memory(self.bytes(len as usize)?)
            }
            10 => {
                let signal = self.uint(self.sizes.signal)? as u32;
                Element::Signal { signal, object: self.uint(self.sizes.object)? }
            }
            11 => Element::Object(self.uint(self.sizes.object)?),
            12 => Element::Function(self.uint(self.sizes.function)?),
            13 => Element::Int(self.uint(8)?.cast_signed()),
            14 => number(self.uint(8)?, 16),
            _ => Element::Hex(self.uint(4)?, 8),
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Formatted<'a>, BadElement>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&format, rest) = self.rest.split_first()?;
        self.rest = rest;
        let element = self.element(format).map(|element| Formatted { format, element });
        if element.is_err() {
            self.rest = &[];
        }
        Some(element)
    }
}

/// Appends an element as the target writes it. Values that do not fit the format byte are truncated.
pub fn append(formatted: Formatted<'_>, sizes: Sizes, out: &mut Vec<u8>) {
    let Formatted { format, element } = formatted;
    out.push(format);
    let width = match format & 15 {
        0 | 1 => 1,
        2 | 3 => 2,
        7 | 13 | 14 => 8,
        _ => 4,
    };
    let mut push = |value: u64, width: u8| {
        out.extend(value.to_le_bytes().into_iter().take(usize::from(width)));
    };
    match element {
        Element::Int(value) => push(value.cast_unsigned(), width),
        Element::Uint(value) | Element::Hex(value, _) => push(value, width),
        Element::Float(value) if width == 4 => push(u64::from((value as f32).to_bits()), 4),
        Element::Float(value) => push(value.to_bits(), 8),
        Element::Enum { value, .. } => push(u64::from(value), 1),
        Element::Text(text) => {
            out.extend(text.iter().copied().filter(|&byte| byte != 0));
            out.push(0);
        }
        Element::Memory(bytes) => {
            let bytes = bytes.get(..bytes.len().min(255)).unwrap_or(&[]);
            out.push(bytes.len() as u8);
            out.extend_from_slice(bytes);
        }
        Element::Signal { signal, object } => {
            push(u64::from(signal), sizes.signal);
            push(object, sizes.object);
        }
        Element::Object(address) => push(address, sizes.object),
        Element::Function(address) => push(address, sizes.function),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of QP 7.2.1 on a 64-bit host with every kind of element, without its time stamp.
    const ALL: &[u8] = &[
        0x00, 0x80, 0x01, 0xff, 0x62, 0x00, 0x80, 0x53, 0xff, 0xff, 0x04, 0x00, 0x00, 0x00, 0x80, 0xa5, 0xff, 0xff, 0xff, 0xff,
        0xf1, 0x7e, 0xf3, 0x7e, 0x7d, 0xf5, 0xef, 0xbe, 0xad, 0xde, 0x5d, 0x00, 0x0e, 0xfa, 0xd5, 0xfe, 0xff, 0xff, 0xff, 0xfe,
        0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0x3e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x36, 0x00, 0x00,
        0xc0, 0xbf, 0x87, 0x11, 0x2d, 0x44, 0x54, 0xfb, 0x21, 0x09, 0x40, 0x09, 0x06, 0x7e, 0x7d, 0x00, 0xff, 0x20, 0x5e, 0x09,
        0x00, 0x08, 0x00, 0x08, 0x61, 0x62, 0x63, 0x00, 0x0a, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a,
        0x0a, 0x00, 0x80, 0xee, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x80, 0xee, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x66, 0x13, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0xf0,
        0xc8, 0xb0, 0x09,
    ];

    const SIZES: Sizes =
        Sizes { time: 4, object: 8, function: 8, signal: 2, event_size: 4, queue: 4, pool: 4, block: 4, time_event: 4 };

    #[test]
    fn every_kind_of_element() {
        let elements: Vec<Formatted<'_>> = Elements::new(ALL, SIZES, 721).collect::<Result<_, _>>().unwrap();
        let values: Vec<Element<'_>> = elements.iter().map(|formatted| formatted.element).collect();
        let expected = [
            Element::Int(-128),
            Element::Uint(255),
            Element::Int(-32768),
            Element::Uint(65535),
            Element::Int(-2_147_483_648),
            Element::Uint(4_294_967_295),
            Element::Hex(0x7E, 2),
            Element::Hex(0x7D7E, 4),
            Element::Hex(0xDEAD_BEEF, 8),
            Element::Int(-5_000_000_000),
            Element::Hex(0x1234_5678_9ABC_DEF0, 16),
            Element::Uint(u64::MAX),
            Element::Float(-1.5),
            // The bits of the record: pi, as far as its writer knew it.
            Element::Float(f64::from_bits(0x4009_21FB_5444_2D11)),
            Element::Memory(&[0x7E, 0x7D, 0x00, 0xFF, 0x20, 0x5E]),
            Element::Memory(&[]),
            Element::Text(b""),
            Element::Text(b"abc"),
            Element::Signal { signal: 4, object: 0 },
            Element::Signal { signal: 10, object: 0x40_EE80 },
            Element::Object(0x40_EE80),
            Element::Object(0),
            Element::Function(0x40_1366),
            Element::Enum { group: 0, value: 1 },
            Element::Enum { group: 7, value: 200 },
            Element::Enum { group: 3, value: 9 },
        ];
        assert_eq!(values, expected);
        let mut again = Vec::new();
        elements.into_iter().for_each(|element| append(element, SIZES, &mut again));
        assert_eq!(again, ALL);
    }

    #[test]
    fn before_there_were_enumerations_it_was_a_width() {
        let first = |version| Elements::new(&[0x80, 0xFF], SIZES, version).next();
        assert_eq!(first(719), Some(Ok(Formatted { format: 0x80, element: Element::Int(-1) })));
        assert_eq!(first(720), Some(Ok(Formatted { format: 0x80, element: Element::Enum { group: 0, value: 255 } })));
    }

    #[test]
    fn every_cut_within_an_element_is_noticed() {
        let ends: Vec<usize> = {
            let mut elements = Elements::new(ALL, SIZES, 721);
            std::iter::from_fn(|| elements.next().map(|_| ALL.len() - elements.rest.len())).collect()
        };
        for end in 1..ALL.len() {
            let fits = Elements::new(&ALL[..end], SIZES, 721).all(|element| element.is_ok());
            assert_eq!(fits, ends.contains(&end), "cut at {end}");
        }
    }
}
