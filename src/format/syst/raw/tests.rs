//! Hostile input does not take long, and damage does not swallow messages.

use super::delimit::{PAYLOAD_LIMIT, Step, Stream};
use super::{count, probe};
use crate::format::syst::collateral::Collateral;
use crate::format::syst::record::Header;

/// How many bytes a hostile input has: several regions of checksums, and the longest messages fit in.
const HOSTILE_BYTES: usize = 600_000;

/// How often each byte may be inspected, on average. Without shared searches it would be thousands of times.
const LOOKS: u64 = 160;

/// The first word of a message.
fn header(kind: u32, subtype: u32, flags: u32) -> [u8; 4] {
    (kind | subtype << 24 | flags | 4 << 4 | 0x12 << 12).to_le_bytes()
}

fn raw(flags: u32) -> Vec<u8> {
    header(6, 5, flags).to_vec()
}

/// A message of no payload with a checksum that fits.
fn proven() -> Vec<u8> {
    let message = raw(Header::CHECKSUM);
    let crc = crc32c::crc32c(&message).to_le_bytes();
    [message, crc.to_vec()].concat()
}

/// A message with a length field and no payload.
fn empty() -> Vec<u8> {
    [raw(Header::LENGTH), vec![0, 0]].concat()
}

/// A message with this length field; other bytes follow instead of the payload.
fn long(flags: u32, len: u16) -> Vec<u8> {
    [raw(Header::LENGTH | flags), len.to_le_bytes().to_vec()].concat()
}

fn repeated(piece: &[u8]) -> Vec<u8> {
    piece.iter().copied().cycle().take(HOSTILE_BYTES).collect()
}

/// As [`repeated`], with a byte of zero now and then.
fn with_zeros(piece: &[u8], every: usize) -> Vec<u8> {
    let mut bytes = repeated(piece);
    bytes.iter_mut().skip(every).step_by(every).for_each(|byte| *byte = 0);
    bytes
}

/// Two kinds of pieces, in stretches.
fn in_turn(one: &[u8], other: &[u8], stretch: usize) -> Vec<u8> {
    let (one, other) = (repeated(one), repeated(other));
    (0..HOSTILE_BYTES).map(|at| if (at / stretch).is_multiple_of(2) { one[at] } else { other[at] }).collect()
}

fn collateral(formats: &str) -> Collateral {
    let mut collateral = Collateral::default();
    let clients = format!("<Collateral>{formats}</Collateral>");
    collateral.add(clients.as_bytes()).expect("it is well-formed");
    collateral
}

/// Messages and wreckage arranged so that each place asks for long searches.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let broken = raw(Header::CHECKSUM);
    let printf = |text: &[u8]| [&header(2, 11, 0)[..], text].concat();
    let text = |flags| header(2, 1, flags).to_vec();
    let catalog = [&header(3, 1, 0)[..], &1u32.to_le_bytes(), &[0x11; 12]].concat();
    let random = {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..HOSTILE_BYTES).map(|_| next()).collect()
    };
    vec![
        ("broken checksums between messages that fit", repeated(&[broken.clone(), proven()].concat())),
        ("broken checksums of texts between messages that fit", with_zeros(&[text(Header::CHECKSUM), proven()].concat(), 50_000)),
        ("broken checksums after lengths", repeated(&[empty(), empty(), empty(), broken.clone()].concat())),
        ("wrong checksums after lengths", repeated(&[empty(), empty(), long(Header::CHECKSUM, 0xFFF0)].concat())),
        ("a checksum at every second place", repeated(&[0x06, 0x04])),
        ("a length and a checksum at every place", repeated(&[0x36])),
        ("long lengths and checksums at every third place", repeated(&[0x36, 0x3E, 0x7F])),
        ("lengths that lead to checksums", in_turn(&long(0, 0xFFF8), &[0x06, 0x04], 1 << 16)),
        ("lengths that lead to lengths that lead to checksums", in_turn(&long(0, 0x7FF8), &[0x36, 0x3E, 0x7F], 1 << 15)),
        ("formats without end", repeated(&printf(b"%d%d"))),
        ("formats that end late", with_zeros(&printf(b"%d%d"), 60_000)),
        ("formats that end soon", with_zeros(&printf(b"%d%d"), 1_000)),
        ("formats with texts that are missing", with_zeros(&[empty(), empty(), printf(b"%s%s")].concat(), 60_000)),
        ("texts that end late", with_zeros(&text(0), 60_000)),
        ("catalog messages whose floats are of either size", repeated(&catalog)),
        ("catalog messages in formats", with_zeros(&[catalog.clone(), printf(b"%d")].concat(), 1_000)),
        ("zeros", repeated(&[0])),
        ("zeros between checksums", in_turn(&[0], &broken, 1 << 10)),
        ("any bytes", random),
    ]
}

#[test]
fn no_input_takes_much_longer_than_its_length_is_worth() {
    let floats: String = (0..20)
        .map(|build| {
            format!(
                "<Client Name=\"c\"><Guids><Guid ID=\"{{00000000-0000-0000-0000-000000000000}}\" \
                 Mask=\"{{00000000-0000-0000-0000-000000000000}}\"/></Guids><Builds><Build ID=\"{build}\"/></Builds>\
                 <Catalog32><Format ID=\"1\">{} %f %s</Format></Catalog32></Client>",
                "%d".repeat(build % 3)
            )
        })
        .collect();
    let collateral = collateral(&floats);
    for (name, bytes) in hostile() {
        let stream = Stream::new(&bytes, 0, &collateral, None);
        count(&stream, true);
        let looks = stream.work() / bytes.len() as u64;
        assert!(looks <= LOOKS, "{name}: each byte is inspected {looks} times");
    }
}

#[test]
fn a_search_of_many_is_the_search_of_one() {
    // Whether a region was computed before does not show: from each place, a stream that begins there finds the same.
    let collateral = Collateral::default();
    for (name, bytes) in hostile() {
        let bytes = &bytes[..300_000];
        let stream = Stream::new(bytes, 0, &collateral, None);
        count(&stream, true);
        for at in (0..bytes.len()).step_by(7919) {
            let fresh = Stream::new(&bytes[at..], at, &collateral, None);
            assert_eq!(fresh.length(at, PAYLOAD_LIMIT), stream.length(at, PAYLOAD_LIMIT), "{name}: at {at}");
            assert_eq!(fresh.step(at), stream.step(at), "{name}: at {at}");
            assert_eq!(fresh.is_anchor(at), stream.is_anchor(at), "{name}: at {at}");
        }
    }
}

/// The places of a stream that are messages.
fn messages(bytes: &[u8]) -> Vec<usize> {
    let collateral = Collateral::default();
    let stream = Stream::new(bytes, 0, &collateral, None);
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        match stream.step(at) {
            Step::Message(len) | Step::Proven(len) => {
                found.push(at);
                at += len;
            }
            Step::Padding(len) | Step::Truncated(len) => at += len,
            Step::Lost(_) => at = stream.find_anchor(at + 1, bytes.len()).unwrap_or(bytes.len()),
        }
    }
    found
}

#[test]
fn damage_does_not_swallow_messages_whose_checksums_fit() {
    // Texts of 40 bytes, with and without a length.
    let message = |flags: u32, number: u8| {
        let mut message = header(2, 1, flags | Header::CHECKSUM).to_vec();
        if flags & Header::LENGTH != 0 {
            message.extend([40, 0]);
        }
        message.extend([b'a' + number % 26; 39]);
        message.push(0);
        let crc = crc32c::crc32c(&message).to_le_bytes();
        message.extend(crc);
        message
    };
    for flags in [0, Header::LENGTH] {
        let pieces: Vec<Vec<u8>> = (0..200).map(|number| message(flags, number)).collect();
        let one = pieces[0].len();
        for (damage, what) in [
            // A head with a length of 150 messages, after which a message follows.
            ([&raw(Header::LENGTH)[..], &u16::try_from(150 * one).unwrap().to_le_bytes()].concat(), "without checksum"),
            (
                [&raw(Header::LENGTH | Header::CHECKSUM)[..], &u16::try_from(150 * one - 4).unwrap().to_le_bytes()].concat(),
                "a wrong one",
            ),
            // Two of which the first is short.
            ([empty(), raw(Header::LENGTH), u16::try_from(150 * one).unwrap().to_le_bytes().to_vec()].concat(), "after another"),
        ] {
            for before in [0, 3] {
                let mut bytes = pieces[..before].concat();
                let start = bytes.len() + damage.len();
                bytes.extend(&damage);
                bytes.extend(pieces.concat());
                let found = messages(&bytes);
                let expected: Vec<usize> = (0..200).map(|number| start + number * one).collect();
                let intact: Vec<usize> = found.into_iter().filter(|&at| at >= start).collect();
                assert_eq!(intact, expected, "{what}, {before} before, flags {flags:#x}");
            }
        }
    }
}

/// A short form has no redundancy: what follows it must be a message, however long that is.
#[test]
fn a_long_message_with_a_checksum_follows_a_short_one() {
    let mut long = [raw(Header::CHECKSUM), vec![0x36; 3000]].concat();
    let crc = crc32c::crc32c(&long).to_le_bytes();
    long.extend(crc);
    let short = vec![0x71, 0x56, 0x34, 0x12];
    let start = proven().len();
    let bytes = [proven(), short, long.clone(), proven()].concat();
    assert_eq!(messages(&bytes), [0, start, start + 4, start + 4 + long.len()]);
}

#[test]
fn long_messages_without_contradiction_are_messages() {
    let long = [raw(Header::LENGTH), 5000u16.to_le_bytes().to_vec(), vec![0x36; 5000]].concat();
    let bytes = [long.clone(), proven(), long.clone(), long.clone()].concat();
    let second = long.len() + proven().len();
    assert_eq!(messages(&bytes), [0, long.len(), second, second + long.len()]);
}

/// The bytes of a payload may look like messages if what follows it are messages. A damaged length ends anywhere.
#[test]
fn a_damaged_length_swallows_no_messages_without_checksums() {
    let text = || [&header(2, 1, Header::LENGTH)[..], &[6, 0], b"hello\0"].concat();
    let good = text().repeat(200);
    let catalogs = Collateral::default();
    for (len, expected) in [(1000, Step::Lost(super::delimit::NoLength::Illegal)), (1200, Step::Message(1206))] {
        let bytes = [long(0, len), good.clone()].concat();
        assert_eq!(Stream::new(&bytes, 0, &catalogs, None).step(0), expected, "{len} bytes");
    }
    // The message before the end of the input, and one whose payload is no message.
    let bytes = [long(0, 2400), good].concat();
    assert_eq!(Stream::new(&bytes, 0, &catalogs, None).step(0), Step::Message(2406));
    let bytes = [long(0, 999), vec![0x55; 1000], text().repeat(9)].concat();
    assert_eq!(Stream::new(&bytes, 0, &catalogs, None).step(0), Step::Message(1005));
}

/// The library cuts the format after 32 bytes, without a NUL.
#[test]
fn a_long_invalid_format_ends_after_32_bytes() {
    let text = [&header(2, 1, 0)[..], b"hello\0"].concat();
    let catalogs = Collateral::default();
    for (format, len) in [(&b"%q and what follows until here it is cut"[..32], 36), (&b"%q\0"[..], 7)] {
        let bytes = [header(2, 5, 0).to_vec(), format.to_vec(), text.repeat(3)].concat();
        assert_eq!(Stream::new(&bytes, 0, &catalogs, None).step(0), Step::Message(len));
    }
}

/// Bytes of another kind in which headers happen to be legal: two messages by their lengths, which cover all of them.
#[test]
fn two_long_messages_without_a_checksum_are_no_evidence() {
    let message = |len: u16| [long(0, len), vec![b'x'; usize::from(len)]].concat();
    assert!(probe(&[message(100), message(60)].concat(), true).is_some());
    assert!(probe(&[message(9000), message(6000)].concat(), true).is_none());
    // A stream of data between shorter messages.
    let mixed = [vec![message(100); 8], vec![message(60_000)], vec![message(100); 2]].concat().concat();
    assert!(probe(&mixed, true).is_some());
    assert!(probe(mixed.get(..40_000).unwrap_or_default(), false).is_some());
}
