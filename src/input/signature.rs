//! Things that are given by mistake instead of a recording, recognised by their first bytes, each with advice.

use crate::frame::transfer::{self, Changed};
use crate::model::lossy;

/// Something that is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// Its kind, e.g. `a JPEG picture`.
    pub what: String,
    /// Advice: a sentence without a final stop.
    pub advice: &'static str,
    /// Whether it cannot be anything else, so that it outweighs a format's doubtful claim.
    pub certain: bool,
    /// Whether it holds the content of a target's memory.
    pub holds_memory: bool,
}

const NOT_A_RECORDING: &str = "give the file that the target's trace was captured into";
const UNPACK_FIRST: &str = "unpack it first and give the recording that is in it";
const CORE_FILE: &str = "give the recording, or a core file of the memory that it was kept in";
const CAPTURE_OF_IT: &str = "give the recording that the firmware made, not the firmware";

/// Magic bytes with their offset, the kind of file, and advice. Four bytes or more: shorter ones turn up by chance.
const MAGICS: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\xff\xd8\xff\xe0", "a JPEG picture", NOT_A_RECORDING),
    (0, b"\xff\xd8\xff\xe1", "a JPEG picture", NOT_A_RECORDING),
    (0, b"\xff\xd8\xff\xdb", "a JPEG picture", NOT_A_RECORDING),
    (0, b"\xff\xd8\xff\xee", "a JPEG picture", NOT_A_RECORDING),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture", NOT_A_RECORDING),
    (0, b"GIF8", "a GIF picture", NOT_A_RECORDING),
    (0, b"%PDF-", "a PDF document", NOT_A_RECORDING),
    (8, b"WAVEfmt ", "a WAV sound", NOT_A_RECORDING),
    (0, b"\x7fELF", "an ELF program", CAPTURE_OF_IT),
    (0, b"UF2\n", "a UF2 firmware image", CAPTURE_OF_IT),
    (0, b"SQLite format 3\0", "an SQLite database", NOT_A_RECORDING),
    (0, b"PK\x03\x04", "a ZIP archive", UNPACK_FIRST),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK_FIRST),
    (0, b"Rar!\x1a\x07", "a RAR archive", UNPACK_FIRST),
    (257, b"ustar", "a tar archive", UNPACK_FIRST),
    (0, b"\xfd7zXZ\0", "xz data", "decompress it with `xz -d` first"),
    (4, b"1AY&SY", "bzip2 data", "decompress it with `bzip2 -d` first"),
    (0, b"\x04\x22\x4d\x18", "LZ4 data", "decompress it with `lz4 -d` first"),
    (0, b"\xd4\xc3\xb2\xa1", "a network capture (pcap)", NOT_A_RECORDING),
    (0, b"\xa1\xb2\xc3\xd4", "a network capture (pcap)", NOT_A_RECORDING),
    (0, b"\x0a\x0d\x0d\x0a", "a network capture (pcapng)", NOT_A_RECORDING),
    (0, b"\xc1\x1f\xfc\xc1", "a CTF trace (little-endian)", "open it with Trace Compass or babeltrace"),
    (0, b"\xc1\xfc\x1f\xc1", "a CTF trace (big-endian)", "open it with Trace Compass or babeltrace"),
];

impl Signature {
    /// The signature at the start of an input. `whole`: the sample is the whole input.
    #[must_use]
    pub fn of(sample: &[u8], whole: bool) -> Option<Signature> {
        let certain = |what: &str, advice| Some(Signature { what: what.into(), advice, certain: true, holds_memory: false });
        if is_elf_core(sample) {
            return Some(Signature { what: "an ELF core file".into(), advice: CORE_FILE, certain: true, holds_memory: true });
        }
        let magic = MAGICS.iter().find(|(offset, magic, ..)| sample.get(*offset..).is_some_and(|at| at.starts_with(magic)));
        if let Some((_, _, what, advice)) = magic {
            return certain(what, advice);
        }
        if looks_like_perfetto(sample, whole) {
            let advice = "it needs no conversion: open it at https://ui.perfetto.dev";
            return certain("a Perfetto trace already", advice);
        }
        let first = *sample.first()?;
        if matches!(first, 0x00 | 0xff) && sample.iter().all(|&byte| byte == first) {
            let what = format!("0x{first:02X} in every byte, as erased or never written memory has it");
            let advice = "check the address and the time the memory was read at";
            return Some(Signature { what, advice, certain: false, holds_memory: true });
        }
        if let Some(Changed { what, is_hopeless: certain, advice }) = transfer::changed(sample) {
            return Some(Signature { what, advice, certain, holds_memory: false });
        }
        text(sample)
    }
}

/// ELF with `e_type` `ET_CORE`, in the file's own byte order.
fn is_elf_core(sample: &[u8]) -> bool {
    const LITTLE_ENDIAN: u8 = 1;
    match sample {
        [0x7f, b'E', b'L', b'F', _, LITTLE_ENDIAN, ..] => sample.get(16..18) == Some(&[4, 0]),
        [0x7f, b'E', b'L', b'F', ..] => sample.get(16..18) == Some(&[0, 4]),
        _ => false,
    }
}

/// A Perfetto trace is `TracePacket`s (field 1 of the file's message), each a well-formed message of its own.
fn looks_like_perfetto(sample: &[u8], whole: bool) -> bool {
    const ENOUGH_PACKETS: usize = 4;
    let mut rest = sample;
    let mut packets = 0;
    while packets < ENOUGH_PACKETS {
        let Some(after_tag) = rest.strip_prefix(&[0x0a]) else { break };
        let Some((len, body)) = varint(after_tag) else { break };
        let Some((packet, next)) = usize::try_from(len).ok().and_then(|len| body.split_at_checked(len)) else { break };
        if packet.is_empty() || !is_message(packet) {
            return false;
        }
        packets += 1;
        rest = next;
    }
    packets == ENOUGH_PACKETS || (whole && packets > 0 && rest.is_empty())
}

/// Whether these bytes are protobuf fields from start to end.
fn is_message(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some((tag, rest)) = varint(bytes) else { return false };
        // TracePacket's extensions and test fields end far below this number.
        if !(1..=5000).contains(&(tag >> 3)) {
            return false;
        }
        let value_len = match tag & 7 {
            0 => varint(rest).map(|(_, after)| rest.len() - after.len()),
            1 => Some(8),
            2 => varint(rest).and_then(|(len, after)| usize::try_from(len).ok()?.checked_add(rest.len() - after.len())),
            5 => Some(4),
            _ => None,
        };
        match value_len.and_then(|len| rest.get(len..)) {
            Some(rest) => bytes = rest,
            None => return false,
        }
    }
    true
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(index).ok()?)?;
        if byte < 0x80 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

/// Text, and texts that are nearly in an accepted form.
fn text(sample: &[u8]) -> Option<Signature> {
    const ENOUGH_BYTES: usize = 4096;
    let doubtful = |what: String, advice| Some(Signature { what, advice, certain: false, holds_memory: false });
    let start = sample.get(..ENOUGH_BYTES).unwrap_or(sample);
    if start.iter().any(|&byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)) {
        return None;
    }
    // A character may be cut at the end of the sample, hence "nearly": only an error before the last bytes counts.
    if std::str::from_utf8(start).is_err_and(|error| error.valid_up_to() + 4 < start.len()) {
        return None;
    }
    let mut lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    // The first line that is not blank.
    let line = lines.find(|line| line.iter().any(|byte| !byte.is_ascii_control())).unwrap_or_default();
    if line.starts_with(b"{\"traceEvents\"") || line.starts_with(b"[{\"") || line.starts_with(b"{\"displayTimeUnit\"") {
        return doubtful("a JSON trace".into(), "it needs no conversion: open it at https://ui.perfetto.dev");
    }
    if is_dump_line(line) {
        let advice = "print its bytes, not numbers: `od -A x -v -t x1`, `xxd`, or plain hex digits (`xxd -p`)";
        return doubtful("a hex dump with addresses".into(), advice);
    }
    let shown: String = lossy(line).chars().filter(|c| !c.is_control()).take(40).collect();
    let advice = "text is read as a recording only if it is hex digits, decimal numbers, base64, a dump of memory, an array in C, or a log with \
                  bytes in hex or lines `SYS-T RAW DATA: …`";
    let start = if shown.is_empty() { "it starts with blank lines".into() } else { format!("it starts with {shown:?}") };
    doubtful(format!("a text file ({start})"), advice)
}

/// `00000000: 0301 0202 …` or `00000000  03 01 02 …`: an address, then bytes.
fn is_dump_line(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let Some(address) = words.next().map(|word| word.strip_suffix(b":").unwrap_or(word)) else { return false };
    let hex = |word: &[u8]| word.iter().all(u8::is_ascii_hexdigit);
    (6..=16).contains(&address.len())
        && hex(address)
        && words.next().is_some_and(|word| matches!(word.len(), 2 | 4 | 8) && hex(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(sample: &[u8]) -> String {
        Signature::of(sample, true).map_or_else(|| "nothing known".into(), |signature| signature.what)
    }

    #[test]
    fn common_mistakes_are_known() {
        assert_eq!(what(b"\xff\xd8\xff\xe0\x00\x10JFIF"), "a JPEG picture");
        assert_eq!(what(b"\x89PNG\r\n\x1a\n\0\0"), "a PNG picture");
        assert_eq!(what(b"%PDF-1.7\n"), "a PDF document");
        assert_eq!(what(b"\x7fELF\x02\x01"), "an ELF program");
        let core_file = [&b"\x7fELF\x01\x01\x01"[..], &[0; 9], &[4, 0]].concat();
        assert_eq!(what(&core_file), "an ELF core file");
        let core_file = [&b"\x7fELF\x01\x02\x01"[..], &[0; 9], &[0, 4]].concat();
        assert_eq!(what(&core_file), "an ELF core file");
        assert_eq!(what(b"PK\x03\x04\x14\0"), "a ZIP archive");
        assert_eq!(what(b"\xfd7zXZ\0\0\x04"), "xz data");
        assert_eq!(what(b"BZh91AY&SY"), "bzip2 data");
        assert_eq!(what(&[0xff; 100]), "0xFF in every byte, as erased or never written memory has it");
        assert_eq!(what(&[0; 100]), "0x00 in every byte, as erased or never written memory has it");
        assert_eq!(what(b"Dear reader,\nthis is text."), "a text file (it starts with \"Dear reader,\")");
        assert_eq!(what(b"\r\n \t\n\x1b\n  third line\n"), "a text file (it starts with \"third line\")");
        assert_eq!(what(b"\n \r\n\n"), "a text file (it starts with blank lines)");
        assert_eq!(what("Zeit in µs\n".as_bytes()), "a text file (it starts with \"Zeit in µs\")");
        assert_eq!(what(b"{\"traceEvents\":[]}"), "a JSON trace");
        assert_eq!(what(b"00000000: 0301 0202 0402 0500  ........\n"), "a hex dump with addresses");
        assert_eq!(what(b"00000000  03 01 02 02 04 02 05 00  |........|\n"), "a hex dump with addresses");
        assert_eq!(what(&[3, 1, 2, 2, 4, 2, 5, 0]), "nothing known");
        assert_eq!(what(b""), "nothing known");
    }

    #[test]
    fn a_perfetto_trace_is_known_by_its_packets() {
        // Two packets: { timestamp(8): 5, trusted_packet_sequence_id(10): 1 } and { timestamp(8): 300 }.
        let trace = [0x0a, 4, 0x40, 5, 0x50, 1, 0x0a, 3, 0x40, 0xac, 0x02];
        assert_eq!(what(&trace), "a Perfetto trace already");
        assert!(Signature::of(&trace, true).unwrap().certain);
        // Cut off, it is only known by enough packets.
        assert_eq!(Signature::of(&trace[..9], false), None);
        assert_eq!(Signature::of(&trace.repeat(3)[..30], false).unwrap().what, "a Perfetto trace already");
        // A COBS frame that starts with the same byte is not.
        assert_eq!(what(&[0x0a, 4, 0x40, 5, 0x57, 1, 0x0a, 3, 0x40, 0xac, 0x00]), "nothing known");
    }
}
