//! The arguments of a log message, which say their types themselves.
//!
//! First a u32 with three bits for each argument, the first lowest, then the arguments. Without arguments there is nothing.

use std::fmt::Write as _;

use super::decode::BadFrame;
#[cfg(any(test, feature = "generate"))]
use super::field::Writer;
use super::field::{Borrow, Reader as _, SliceReader};

/// The bits of a type, of 32.
const TYPE_BITS: u32 = 3;

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'a> {
    /// An unsigned integer, a pointer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A floating-point number of 64 bits.
    Double(f64),
    /// The bytes of a text, perhaps cut.
    Text(&'a [u8]),
    /// A floating-point number of 32 bits.
    Float(f32),
}

#[cfg(any(test, feature = "generate"))]
impl Argument<'_> {
    fn type_number(self) -> u32 {
        match self {
            Argument::Unsigned(_) => 1,
            Argument::Signed(_) => 2,
            Argument::Double(_) => 3,
            Argument::Text(_) => 4,
            Argument::Float(_) => 5,
        }
    }
}

/// Passes each argument to `each`.
///
/// # Errors
/// They are not arguments: one lacks bytes, is of an unknown type, or is followed by other bytes.
pub fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(Argument<'a>)) -> Result<(), BadFrame> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut texts = Borrow;
    let mut reader = SliceReader::new(bytes, &mut texts);
    let mut types = reader.u32()?;
    while types != 0 {
        each(match types & ((1 << TYPE_BITS) - 1) {
            1 => Argument::Unsigned(reader.u64()?),
            2 => {
                let zigzag = reader.u64()?;
                Argument::Signed((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
            }
            3 => Argument::Double(f64::from_bits(reader.u64()?)),
            4 => {
                let len = reader.u32()?;
                Argument::Text(reader.bytes(len as usize)?)
            }
            5 => Argument::Float(f32::from_bits(reader.u32()?)),
            _ => return Err(BadFrame::UnknownEnum),
        });
        types >>= TYPE_BITS;
    }
    if reader.is_at_end() { Ok(()) } else { Err(BadFrame::LooseBytes) }
}

/// Checks that bytes are arguments.
pub(super) fn check(bytes: &[u8]) -> Result<(), BadFrame> {
    read(bytes, |_| {})
}

/// Appends arguments, of which there are ten at most, in the form of the wire.
#[cfg(any(test, feature = "generate"))]
pub fn write(arguments: &[Argument<'_>], bytes: &mut Vec<u8>) {
    if arguments.is_empty() {
        return;
    }
    let mut writer = Writer::new(bytes);
    writer.u32(arguments.iter().rev().fold(0, |types, argument| types << TYPE_BITS | argument.type_number()));
    for argument in arguments {
        match *argument {
            Argument::Unsigned(value) => writer.u64(value),
            Argument::Signed(value) => writer.u64((value << 1 ^ value >> 63).cast_unsigned()),
            Argument::Double(value) => writer.u64(value.to_bits()),
            Argument::Text(text) => {
                writer.u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
                writer.text(text);
            }
            Argument::Float(value) => writer.u32(value.to_bits()),
        }
    }
}

/// Arguments for people: `7, -5, "text"`.
#[must_use]
pub fn list(bytes: &[u8]) -> String {
    let mut list = String::new();
    // What is not whole was refused when the frame was read.
    let _ = read(bytes, |argument| {
        let comma = if list.is_empty() { "" } else { ", " };
        let _ = match argument {
            Argument::Unsigned(value) => write!(list, "{comma}{value}"),
            Argument::Signed(value) => write!(list, "{comma}{value}"),
            Argument::Double(value) => write!(list, "{comma}{value}"),
            Argument::Text(text) => write!(list, "{comma}{:?}", String::from_utf8_lossy(text)),
            Argument::Float(value) => write!(list, "{comma}{value}"),
        };
    });
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn vectors() {
        let mut wire = Vec::new();
        write(&[Argument::Unsigned(300), Argument::Signed(-1), Argument::Text(b"hi"), Argument::Float(1.0)], &mut wire);
        assert_eq!(wire, [0x91, 0x16, 0xAC, 0x02, 0x01, 0x02, b'h', b'i', 0x80, 0x80, 0x80, 0xFC, 0x03]);
        assert_eq!(list(&wire), "300, -1, \"hi\", 1");
        assert_eq!((list(b""), check(b"")), (String::new(), Ok(())));
        for (bytes, error) in [
            (&[0x01][..], BadFrame::MissingField),
            (&[0x06, 0x00], BadFrame::UnknownEnum),
            (&[0x08, 0x00], BadFrame::UnknownEnum),
            (&[0x01, 0x00, 0x00], BadFrame::LooseBytes),
            (&[0x04, 0x02, b'a'], BadFrame::MissingField),
            (&[0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, b'a'], BadFrame::MissingField),
            (&[0x01, 0x80], BadFrame::UnterminatedVarint),
        ] {
            assert_eq!(check(bytes), Err(error), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(unsigned: u64, signed: i64, double in -1e9f64..1e9, single in -1e9f32..1e9, text: Vec<u8>, order in 0usize..5) {
            let all = [
                Argument::Unsigned(unsigned),
                Argument::Signed(signed),
                Argument::Double(double),
                Argument::Text(&text),
                Argument::Float(single),
            ];
            let arguments = [&all[order..], &all[..order]].concat();
            let mut wire = Vec::new();
            write(&arguments, &mut wire);
            let mut found = Vec::new();
            prop_assert_eq!(read(&wire, |argument| found.push(argument)), Ok(()));
            prop_assert_eq!(found, arguments);
        }

        #[test]
        fn no_bytes_are_too_much(bytes: Vec<u8>) {
            let mut count = 0;
            let _ = read(&bytes, |_| count += 1);
            prop_assert!(count <= 11);
        }
    }
}
