//! Messages of the reference library, and frames that are odd or none.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.replace("<guid>", "494E54438A9C4014A65A2F36A36D96E4").replace(' ', "");
    data_encoding::HEXUPPER.decode(hex.as_bytes()).unwrap()
}

#[test]
fn short_forms_of_the_reference_library() {
    let value = |hex: &str| {
        let bytes = bytes(hex);
        let message = Message::read_frame(&bytes).unwrap();
        (message.fields.kind, message.short_value().unwrap())
    };
    assert_eq!(value("71563412"), (Kind::Short32, 0x123_4567));
    assert_eq!(value("8777665544332211"), (Kind::Short64, 0x112_2334_4556_6778));
    assert_eq!(value("F1DEBC0A"), (Kind::Short32, 0x0AB_CDEF));
    assert_eq!(value("F0FFFFC0"), (Kind::BuildCompact32, 0x3F_FFFF));
    assert_eq!(value("50341280"), (Kind::BuildCompact32, 0x21_2345));
    assert_eq!(value("E0CDAB41E259D148"), (Kind::BuildCompact64, 0x12_3456_789A_BCDE));
}

#[test]
fn all_fields() {
    let frame = bytes("001C8002 <guid> A02914BDBA600600 0000010000000000 76657273696F6E2062616E6E657220737472696E6700 6A07097B");
    let message = Message::read_frame(&frame).unwrap();
    assert_eq!((message.fields.kind, message.build()), (Kind::BuildLong, Some(0x10000)));
    assert_eq!((message.crc, message.marks), (Some(0x7B09_076A), Marks::default()));
    assert_eq!((message.fields.timestamp, message.fields.header.unit()), (Some(0x0006_60BA_BD14_29A0), 1));
    assert_eq!(message.payload.get(8..), Some(&b"version banner string\0"[..]));
    let frame = bytes("00522A02 0B00 8877665544332211 763100");
    let message = Message::read_frame(&frame).unwrap();
    assert_eq!((message.fields.header.module(), message.fields.header.unit(), message.fields.length), (0x2A, 5, Some(11)));
    let location = |hex: &str| Message::read_frame(&bytes(hex)).unwrap().fields.location.unwrap();
    assert_eq!(location("32532A01 00 0700 2F00 0600 6C6F63313600"), Location::FileLine16(7, 47));
    assert_eq!(location("22532A01 01 78563412 30000000 0600 6C6F63333200"), Location::FileLine32(0x1234_5678, 48));
    assert_eq!(location("62532A01 03 B27BF6B3DC550000 0500 6164647200"), Location::Address64(0x55DC_B3F6_7BB2));
}

#[test]
fn clocks_and_structured_data() {
    let frame = bytes("08522A01 1000 9A78563412000000 00366E0100000000");
    assert_eq!(Message::read_frame(&frame).unwrap().clock(), Some((0x12_3456_789A, 24_000_000)));
    let frame = bytes("4950950F <guid> 8877665544332211 0010000000000000 626C6F6200 01020304");
    let message = Message::read_frame(&frame).unwrap();
    let Kind::Sbd(subtype) = message.fields.kind else { panic!("{message:?}") };
    let sbd = Sbd::read(subtype, message.payload).unwrap();
    assert_eq!(
        (sbd.id, sbd.address, sbd.name, sbd.blob),
        (0x1122_3344_5566_7788, Some(0x1000), Some(&b"blob"[..]), &[1, 2, 3, 4][..])
    );
}

#[test]
fn events_of_linux_are_told_from_other_data() {
    let event = |subtype: u8, payload: &str| Sbd::read(subtype, &bytes(payload)).unwrap().ftrace_event();
    // Event 313, interrupts off, process 1234.
    assert_eq!(event(1, "3901 01 00 D2040000 00112233"), Some(313));
    assert_eq!(event(1, "0500 00 00 00000000"), None, "a number that someone counts");
    assert_eq!(event(1, "8877665544332211"), None, "a hash");
    assert_eq!(event(7, "3901 01 00 D2040000 0010 6100"), None, "it has an address and a name");
}

#[test]
fn frames_that_are_odd_or_none() {
    let read = |hex: &str| Message::read_frame(&bytes(hex)).map(|message| (message.payload.len(), message.marks));
    assert_eq!(read(""), Err(Malformed::Empty));
    assert_eq!(read("7156"), Err(Malformed::TooShort));
    assert_eq!(read("8777665544"), Err(Malformed::TooShort));
    assert_eq!(read("42509501494E54438A9C4014"), Err(Malformed::TooShort));
    assert_eq!(read("42522A01070068656C6C6F00"), Ok((6, Marks::TRUNCATED)));
    assert_eq!(read("42522A01050068656C6C6F00"), Ok((5, Marks::SURPLUS)));
    assert_eq!(read("42542A0168656C6C6F00DEADBEEF"), Ok((6, Marks::CRC_BAD)));
    assert_eq!(read("04502A01AABB"), Err(Malformed::UnknownType));
    assert_eq!(read("C2502A0168656C6C6F00"), Err(Malformed::ReservedBits));
    assert_eq!(read("42502A4168656C6C6F00"), Err(Malformed::ReservedBits));
    assert_eq!(read("42502A8168656C6C6F00"), Err(Malformed::ReservedBits));
    assert_eq!(read("42502A0468656C6C6F00"), Err(Malformed::UnknownSubtype));
    assert_eq!(read("42512A01FF0100020068656C6C6F00"), Err(Malformed::UnknownLocation));
    assert_eq!(read("42502A01"), Ok((0, Marks::default())));
}

#[test]
fn full_messages_are_told_by_the_header_as_by_its_kind() {
    for kind in 0..16 {
        for subtype in 0..64 {
            for other in [0, 1 << 7, 1 << 30, 1 << 31, Header::GUID | Header::LENGTH | 0x70] {
                let header = Header(kind | subtype << 24 | other);
                let is_full = header.kind().is_ok_and(|kind| !kind.is_short_form());
                assert_eq!(header.is_full(), is_full, "{kind} {subtype} {other:#x}");
            }
        }
    }
}
