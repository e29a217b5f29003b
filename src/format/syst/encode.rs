//! Messages → bytes: for tests, fuzzing and generated captures.
//!
//! [`encode`] is the inverse of [`Message::read_frame`](super::record::Message::read_frame).

use super::record::{Fields, Guid, Header, KINDS, Kind, Location};

/// A message to be written. A short form only has its payload.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// Its kind.
    pub kind: Kind,
    /// From 0 to 7.
    pub severity: u8,
    /// Its sender.
    pub origin: Origin,
    /// The place in the program that sends it.
    pub location: Option<Location>,
    /// Whether it has a length field. The payload then has at most 65535 bytes.
    pub with_length: bool,
    /// The time, in ticks of the message clock.
    pub timestamp: Option<u64>,
    /// Whether a checksum ends it.
    pub with_crc: bool,
    /// The payload; of a short form its number as a u64.
    pub payload: &'a [u8],
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A GUID and a unit of 11 bits.
    Guid(Guid, u16),
    /// A module of 7 bits and a unit of 4.
    Module(u8, u16),
}

impl<'a> Draft<'a> {
    /// A message of module 0 and unit 0 without any field.
    #[must_use]
    pub fn new(kind: Kind, payload: &'a [u8]) -> Draft<'a> {
        let origin = Origin::Module(0, 0);
        Draft { kind, severity: 4, origin, location: None, with_length: false, timestamp: None, with_crc: false, payload }
    }

    /// The same message as one that was read.
    #[must_use]
    pub fn of(fields: &Fields<'_>, payload: &'a [u8]) -> Draft<'a> {
        let header = fields.header;
        let origin =
            fields.guid.map_or(Origin::Module(header.module(), header.unit()), |guid| Origin::Guid(*guid, header.unit()));
        Draft {
            kind: fields.kind,
            severity: header.severity(),
            origin,
            location: fields.location,
            with_length: fields.length.is_some(),
            timestamp: fields.timestamp,
            with_crc: header.has(Header::CHECKSUM),
            payload,
        }
    }
}

impl Draft<'_> {
    /// The bytes of the message.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(self, &mut bytes);
        bytes
    }
}

/// Appends a message.
pub fn encode(draft: &Draft<'_>, out: &mut Vec<u8>) {
    let (kind_bits, subtype) = type_and_subtype(draft.kind);
    if draft.kind.is_short_form() {
        return encode_short(draft, kind_bits, out);
    }
    let start = out.len();
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    let origin = match draft.origin {
        Origin::Guid(_, unit) => Header::GUID | u32::from(unit & 0x7FF) << 12,
        Origin::Module(module, unit) => u32::from(unit & 0xF) << 12 | u32::from(module & 0x7F) << 16,
    };
    let header = kind_bits
        | u32::from(draft.severity & 7) << 4
        | subtype << 24
        | origin
        | flag(draft.location.is_some(), Header::LOCATION)
        | flag(draft.with_length, Header::LENGTH)
        | flag(draft.with_crc, Header::CHECKSUM)
        | flag(draft.timestamp.is_some(), Header::TIMESTAMP);
    out.extend(header.to_le_bytes());
    if let Origin::Guid(guid, _) = draft.origin {
        out.extend(guid);
    }
    if let Some(location) = draft.location {
        out.push(location.format());
        match location {
            Location::FileLine16(file, line) => out.extend([file.to_le_bytes(), line.to_le_bytes()].as_flattened()),
            Location::FileLine32(file, line) => out.extend([file.to_le_bytes(), line.to_le_bytes()].as_flattened()),
            Location::Address32(address) => out.extend(address.to_le_bytes()),
            Location::Address64(address) => out.extend(address.to_le_bytes()),
        }
    }
    if draft.with_length {
        out.extend(u16::try_from(draft.payload.len()).unwrap_or(u16::MAX).to_le_bytes());
    }
    if let Some(timestamp) = draft.timestamp {
        out.extend(timestamp.to_le_bytes());
    }
    out.extend_from_slice(draft.payload);
    if draft.with_crc {
        let crc = crc32c::crc32c(out.get(start..).unwrap_or(&[]));
        out.extend(crc.to_le_bytes());
    }
}

/// TYPE and SUBTYPE of a kind; of one that the format does not have, those of no kind.
fn type_and_subtype(kind: Kind) -> (u32, u32) {
    let place = KINDS.as_flattened().iter().position(|known| *known == Ok(kind));
    place.map_or((15, 63), |place| (place as u32 / 64, place as u32 % 64))
}

fn encode_short(draft: &Draft<'_>, kind_bits: u32, out: &mut Vec<u8>) {
    let value = draft.payload.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let kind_bits = u64::from(kind_bits);
    // The low 20 bits of a build follow TYPE, the others SUBTYPE.
    let build = |subtype: u64| kind_bits | (value & 0xF_FFFF) << 4 | subtype << 24 | value >> 20 << 30;
    match draft.kind {
        Kind::Short32 => out.extend((kind_bits as u32 | (value as u32) << 4).to_le_bytes()),
        Kind::Short64 => out.extend((kind_bits | value << 4).to_le_bytes()),
        Kind::BuildCompact32 => out.extend((build(0) as u32).to_le_bytes()),
        _ => out.extend(build(1).to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Marks, Message, Pointers};
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        let pointers = || prop_oneof![Just(Pointers::Bits32), Just(Pointers::Bits64)];
        prop_oneof![
            prop::sample::select(vec![
                Kind::BuildLong,
                Kind::Generic,
                Kind::FunctionEnter,
                Kind::FunctionExit,
                Kind::InvalidParam,
                Kind::Assert,
                Kind::ClockSync,
            ]),
            pointers().prop_map(Kind::Printf),
            (any::<bool>(), pointers()).prop_map(|(wide_id, pointers)| Kind::Catalog { wide_id, pointers }),
            (0u8..64).prop_map(Kind::Raw),
            (0u8..16).prop_map(Kind::Sbd),
        ]
    }

    fn locations() -> impl Strategy<Value = Location> {
        prop_oneof![
            any::<(u16, u16)>().prop_map(|(file, line)| Location::FileLine16(file, line)),
            any::<(u32, u32)>().prop_map(|(file, line)| Location::FileLine32(file, line)),
            any::<u32>().prop_map(Location::Address32),
            any::<u64>().prop_map(Location::Address64),
        ]
    }

    proptest! {
        #[test]
        fn reading_a_written_message_gives_the_same(
            kind in kinds(),
            severity in 0u8..8,
            guid in prop::option::of(any::<Guid>()),
            (module, unit) in (0u8..128, any::<u16>()),
            location in prop::option::of(locations()),
            (with_length, with_crc) in any::<(bool, bool)>(),
            timestamp in any::<Option<u64>>(),
            payload in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let origin = guid.map_or(Origin::Module(module, unit & 0xF), |guid| Origin::Guid(guid, unit & 0x7FF));
            let draft = Draft { kind, severity, origin, location, with_length, timestamp, with_crc, payload: &payload };
            let frame = draft.bytes();
            let message = Message::read_frame(&frame).unwrap();
            prop_assert_eq!(message.marks, Marks::default());
            prop_assert_eq!(message.payload, &payload[..]);
            prop_assert_eq!((message.fields.kind, message.fields.guid, message.fields.location), (kind, guid.as_ref(), location));
            prop_assert_eq!((message.fields.timestamp, message.crc.is_some()), (timestamp, with_crc));
            prop_assert_eq!(Draft::of(&message.fields, message.payload).bytes(), frame);
        }

        #[test]
        fn short_forms_keep_their_number(value in any::<u64>(), which in 0usize..4) {
            let (kind, bits) = [(Kind::Short32, 28), (Kind::Short64, 60), (Kind::BuildCompact32, 22), (Kind::BuildCompact64, 54)][which];
            let value = value & ((1 << bits) - 1);
            let frame = Draft::new(kind, &value.to_le_bytes()).bytes();
            let message = Message::read_frame(&frame).unwrap();
            prop_assert_eq!((message.fields.kind, message.short_value()), (kind, Some(value)));
        }

        #[test]
        fn any_bytes_are_read_without_panic(frame in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(message) = Message::read_frame(&frame) {
                prop_assert!(message.payload.len() <= frame.len());
                let _ = (message.short_value(), message.clock(), message.build());
            }
        }
    }
}
