//! The content of stimulus ports: as the user says, or as it looks; and the bytes of one, which may be a recording of another format.

use super::decode::{FramedReader, Record, Records, Wrapping};
use super::probe::judge;
use super::scan::{PortFacts, are_used};
use crate::format::Part;
use crate::frame::swo::{Packet, Packets};
use crate::frame::sync::cut;

/// A stream is read in pieces of this length, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// The limit of places with losses.
const PLACES_MAX: usize = 1 << 16;

/// The content of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Characters of messages.
    Text,
    /// A number for each write: a counter.
    Unsigned,
    /// The same, with a sign at the width of the write.
    Signed,
    /// A number with a fraction, in writes of four bytes.
    Float,
    /// Words without a meaning that is known: instants.
    Hex,
    /// Nothing to show.
    None,
}

impl Content {
    /// As the user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Content::Text => "text",
            Content::Unsigned => "unsigned",
            Content::Signed => "signed",
            Content::Float => "float",
            Content::Hex => "hex",
            Content::None => "none",
        }
    }

    fn parse(text: &str) -> Option<Content> {
        use Content::{Float, Hex, None, Signed, Text, Unsigned};
        [Text, Unsigned, Signed, Float, Hex, None].into_iter().find(|content| content.name() == text)
    }

    /// The apparent content of writes of one byte, and of more.
    pub fn of(facts: &PortFacts) -> [Content; 2] {
        let strays = facts.sequences.strays();
        let texts = |wide: usize| facts.texts[wide].saturating_sub(strays[wide]);
        let looks = |wide: usize| match facts.writes[wide] {
            // Damage makes other bytes of some.
            writes if writes > 0 && texts(wide) * 20 >= writes * 19 => Content::Text,
            _ => Content::Hex,
        };
        [looks(0), looks(1)]
    }
}

/// A port as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortOption {
    /// Its number.
    pub port: u16,
    /// Its content.
    pub content: Content,
    /// Its name.
    pub name: Option<String>,
}

impl PortOption {
    /// Reads `N=KIND[:NAME]`.
    pub fn parse(text: &str) -> Option<PortOption> {
        let (port, rest) = text.split_once('=')?;
        let (content, name) = rest.split_once(':').map_or((rest, None), |(content, name)| (content, Some(name)));
        let port = port.trim().parse::<u8>().ok()?;
        let name = name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        Some(PortOption { port: u16::from(port), content: Content::parse(content.trim())?, name })
    }
}

/// Passes the bytes that were written to a port to `out`, the lowest byte of each write first. Gives the overflows and the damaged pieces of
/// the stream: after how many of these bytes, and how many. Beyond [`PLACES_MAX`] places, they are counted at the last one.
pub fn bytes_of(stream: &[u8], wanted: u16, out: &mut dyn FnMut(&[u8])) -> Vec<(u64, u64)> {
    let wrapping = judge(stream).0;
    let (mut pages, mut writes) = (0, 0);
    each_part(stream, wrapping, &mut |records| {
        for Record { packet, .. } in &records.packets {
            pages += u64::from(matches!(packet, Ok(Packet::Page { .. })));
            writes += u64::from(matches!(packet, Ok(Packet::Port { .. })));
        }
    });
    let has_pages = are_used(pages, writes);
    let (mut page, mut was_damaged, mut passed) = (0u16, false, 0u64);
    let mut losses: Vec<(u64, u64)> = Vec::new();
    each_part(stream, wrapping, &mut |records| {
        let mut piece = Vec::new();
        for Record { packet, .. } in &records.packets {
            let is_damaged = packet.is_err() || !has_pages && matches!(packet, Ok(Packet::Page { .. }));
            if is_damaged && !was_damaged || *packet == Ok(Packet::Overflow) {
                let is_full = losses.len() >= PLACES_MAX;
                match losses.last_mut().filter(|(place, _)| is_full || *place == passed) {
                    Some((_, count)) => *count += 1,
                    None => losses.push((passed, 1)),
                }
            }
            was_damaged = is_damaged;
            match *packet {
                Ok(Packet::Page { page: next }) if has_pages => page = u16::from(next),
                Ok(Packet::Port { port, bytes, value }) if page * 32 + u16::from(port) == wanted => {
                    piece.extend(value.to_le_bytes().iter().take(usize::from(bytes)));
                    passed += u64::from(bytes);
                }
                _ => {}
            }
        }
        out(&piece);
    });
    losses
}

/// Passes the packets of a stream to `each`, part by part.
fn each_part(stream: &[u8], wrapping: Wrapping, each: &mut dyn FnMut(&Records)) {
    let (mut framed, mut records) = (FramedReader::default(), Records::default());
    let mut start = 0;
    while start < stream.len() {
        let end = match wrapping {
            Wrapping::Bare(_) => cut(&Packets, stream, start + PIECE_BYTES),
            Wrapping::Framed(..) => stream.len().min(start + PIECE_BYTES),
        };
        let part = Part::new(stream, start..end);
        match wrapping {
            Wrapping::Bare(first) => records.read(part, first),
            Wrapping::Framed(source, first) => framed.read(source, first, part, &mut records),
        }
        each(&records);
        start = end.max(start + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_port() {
        let stream = [0x0B, 1, 2, 3, 4, 0x01, 9, 0x70, 0x18, 0x09, 7, 0x08, 0x0A, 5, 6, 0x04];
        let of = |port| {
            let mut bytes = Vec::new();
            let losses = bytes_of(&stream, port, &mut |piece| bytes.extend(piece));
            (bytes, losses)
        };
        assert_eq!(of(1), (vec![1, 2, 3, 4, 5, 6], vec![(4, 1), (6, 1)]));
        assert_eq!(of(0), (vec![9], vec![(1, 2)]));
        assert_eq!(of(33), (vec![7], vec![(0, 1), (1, 1)]));
    }

    #[test]
    fn a_page_that_is_chosen_once_is_damage() {
        let mut stream = [0x01, b'a'].repeat(3000);
        stream[2001] = b'h';
        stream[2000] = 0x10;
        let mut count = 0;
        let losses = bytes_of(&stream, 0, &mut |piece| count += piece.len());
        assert_eq!((count, losses), (2999, vec![(1000, 1)]));
    }

    #[test]
    fn options_say_what_a_port_carries() {
        let port = |port, content, name: Option<&str>| Some(PortOption { port, content, name: name.map(str::to_owned) });
        assert_eq!(PortOption::parse("1=signed:motor speed"), port(1, Content::Signed, Some("motor speed")));
        assert_eq!(PortOption::parse("31=none"), port(31, Content::None, None));
        assert_eq!(PortOption::parse("0=text:a:b"), port(0, Content::Text, Some("a:b")));
        for text in ["", "1", "1=", "256=text", "x=text", "1=u32", "-1=hex"] {
            assert_eq!(PortOption::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_few_other_bytes_are_damage() {
        let facts = |writes, texts| PortFacts { writes, texts, ..PortFacts::default() };
        assert_eq!(Content::of(&facts([100, 0], [97, 0])), [Content::Text, Content::Hex]);
        assert_eq!(Content::of(&facts([100, 50], [90, 50])), [Content::Hex, Content::Text]);
        let written = |bytes: &[u8]| {
            let mut facts = facts([bytes.len() as u64, 0], [bytes.len() as u64, 0]);
            bytes.iter().for_each(|&byte| facts.sequences.add(&[byte], false));
            Content::of(&facts)[0]
        };
        assert_eq!(written("temp\u{e9}rature: 20 \u{b0}C".as_bytes()), Content::Text);
        assert_eq!(written(&[0xB6, 0xB7, 0xB5, 0xB6, 0xBA]), Content::Hex);
        assert_eq!(written(&[&[b'x'; 39][..], &[0xFF]].concat()), Content::Text);
    }
}
