//! The layers around a recording, recognised by content: compression and text.

use std::fmt;
#[cfg(feature = "compress")]
use std::io::{self, BufRead, Read};

use super::spool::Spool;
use super::{Bytes, InputError, ReadOptions, c_array, decimal, dump, log_lines, text, text_mode};
use crate::model::LossKind;
#[cfg(feature = "compress")]
use crate::model::{counted, losses};

/// Something wrapped around a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// RFC 1952, one or more members.
    Gzip,
    /// RFC 8878, one or more frames.
    Zstd,
    /// Hex digits.
    Hex,
    /// Lines of an address and bytes in hex, as `xxd`, `hexdump -C` and debuggers print them.
    HexDump,
    /// Lines of an address and numbers of several bytes, whose first byte in memory is the lowest.
    HexDumpOfWords,
    /// Intel HEX.
    IntelHex,
    /// Motorola S-records.
    SRecords,
    /// An array of bytes in C, as `xxd -i` writes it.
    CArray,
    /// Decimal numbers, as JSON and languages print a list of bytes.
    Decimal,
    /// Lines of a log, of which some hold the recording in hex after their time and tag.
    LogLines,
    /// RFC 4648 section 4.
    Base64,
    /// The lines that a J-Link's server of RTT (port 19021) sends first.
    JLink,
    /// Text in UTF-16 with a byte order mark, as `>` in PowerShell writes it.
    Utf16,
    /// Binary data that were read as Latin-1 (or Windows-1252) and written as UTF-8.
    Latin1,
    /// Binary data in which a text mode has put a carriage return before each line feed.
    CrLf,
}

impl Layer {
    /// The name for people and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Gzip => "gzip",
            Layer::Zstd => "zstd",
            Layer::Hex => "hex text",
            Layer::HexDump => "hex dump",
            Layer::HexDumpOfWords => "hex dump of little-endian words",
            Layer::IntelHex => "Intel HEX",
            Layer::SRecords => "Motorola S-records",
            Layer::CArray => "C array",
            Layer::Decimal => "decimal numbers",
            Layer::LogLines => "log lines",
            Layer::Base64 => "base64 text",
            Layer::JLink => "J-Link RTT stream",
            Layer::Utf16 => "UTF-16 text",
            Layer::Latin1 => "UTF-8 text",
            Layer::CrLf => "CR LF text mode",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Damage of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The kind, for the ledger.
    pub kind: LossKind,
    /// Where in the decoded bytes; for a layer around another layer: their end.
    pub offset: u64,
    /// How often.
    pub count: u64,
    /// How many events are lost by it, at least.
    pub at_least_lost: u64,
    /// The description for people: a sentence without a final stop.
    pub detail: String,
}

/// The content of a layer.
pub(super) struct Unwrapped {
    pub(super) bytes: Bytes,
    pub(super) damages: Vec<Damage>,
}

impl Layer {
    /// The outermost layer of these bytes.
    pub(super) fn sniff(bytes: &[u8]) -> Option<Layer> {
        match bytes {
            // Magic, and deflate: the only method there is.
            [0x1f, 0x8b, 0x08, ..] => Some(Layer::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Layer::Zstd),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if text_mode::looks_like_utf16(bytes) => Some(Layer::Utf16),
            _ if !text::begins_as_text(bytes) => None,
            _ if text::greeting_bytes(bytes).is_some() => Some(Layer::JLink),
            _ if decimal::looks_like_decimal(bytes) => Some(Layer::Decimal),
            _ if text::looks_like_hex(bytes) => Some(Layer::Hex),
            _ if c_array::looks_like_array(bytes) => Some(Layer::CArray),
            _ => dump::sniff(bytes).or_else(|| text::looks_like_base64(bytes).then_some(Layer::Base64)),
        }
    }

    /// Removes the layer.
    pub(super) fn content(self, source: &Bytes, options: &ReadOptions) -> Result<Unwrapped, InputError> {
        let mut spool = Spool::of_layer(options, self.name());
        let single = Vec::from_iter::<Option<Damage>>;
        let damages = match self {
            Layer::Gzip => single(gunzip(source, &mut spool)?),
            Layer::Zstd => single(unzstd(source, &mut spool)?),
            Layer::Hex => single(text::decode_hex(source, &mut spool)?),
            Layer::HexDump | Layer::HexDumpOfWords | Layer::IntelHex | Layer::SRecords => dump::decode(source, &mut spool)?,
            Layer::CArray => c_array::decode(source, &mut spool)?,
            Layer::Decimal => single(decimal::decode(source, &mut spool)?),
            Layer::LogLines => log_lines::decode(source, &mut spool)?,
            Layer::Base64 => single(text::decode_base64(source, &mut spool)?),
            Layer::JLink => single(text::leave_greeting(source, &mut spool)?),
            Layer::Utf16 => single(text_mode::decode_utf16(source, &mut spool)?),
            Layer::Latin1 => single(text_mode::decode_latin1(source, &mut spool)?),
            Layer::CrLf => single(text_mode::decode_cr_lf(source, &mut spool)?),
        };
        let bytes = spool.finish()?;
        match damages.first() {
            Some(damage) if bytes.is_empty() => Err(InputError::Undecodable { layer: self, detail: damage.detail.clone() }),
            None if bytes.is_empty() => Err(InputError::NothingInside(self)),
            _ => Ok(Unwrapped { bytes, damages }),
        }
    }
}

/// Whether a file is compressed, by its first bytes.
#[cfg(feature = "compress")]
#[must_use]
pub fn is_compressed(head: &[u8]) -> bool {
    matches!(Layer::sniff(head), Some(Layer::Gzip | Layer::Zstd))
}

/// The number of a file's first bytes that show the beginning of its content: nothing of a block of zstd can be decompressed before its end,
/// and it has up to 128 KiB.
#[cfg(feature = "compress")]
pub const COMPRESSED_HEAD_BYTES: usize = 192 << 10;

/// The first bytes of the content of a file, from the file's first bytes: decompressed if they are compressed, and in UTF-8 if they are text in UTF-16.
#[cfg(feature = "compress")]
#[must_use]
pub fn beginning(head: &[u8]) -> Vec<u8> {
    const BYTES: u64 = 4096;
    let mut start = Vec::new();
    let begin = |reader: &mut dyn Read, start: &mut Vec<u8>| reader.take(BYTES).read_to_end(start);
    // That the head ends within a compressed block is no error here: the bytes before that are enough.
    let _ = match Layer::sniff(head) {
        Some(Layer::Gzip) => begin(&mut flate2::bufread::MultiGzDecoder::new(head), &mut start),
        Some(Layer::Zstd) => {
            zstd::stream::read::Decoder::with_buffer(head).and_then(|mut decoder| begin(&mut decoder, &mut start))
        }
        Some(Layer::Utf16) => return text_mode::beginning_of_utf16(head),
        _ => return head.to_vec(),
    };
    start
}

/// The content of a compressed file, of which `head` are the first bytes, as a stream.
#[cfg(feature = "archives")]
pub(super) fn decompressed<'a>(file: impl Read + 'a, head: &[u8]) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match Layer::sniff(head) {
        Some(Layer::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Some(Layer::Zstd) => Box::new(zstd::stream::read::Decoder::new(file)?),
        _ => Box::new(file),
    })
}

/// A compressed source, read once from its start; memory that was read is given back.
#[cfg(feature = "compress")]
struct Reader<'a> {
    source: &'a Bytes,
    at: usize,
    released: usize,
}

#[cfg(feature = "compress")]
impl<'a> Reader<'a> {
    const STEP_BYTES: usize = 1 << 20;

    fn new(source: &'a Bytes) -> Reader<'a> {
        Reader { source, at: 0, released: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }
}

#[cfg(feature = "compress")]
impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.rest().read(buffer)?;
        self.consume(len);
        Ok(len)
    }
}

#[cfg(feature = "compress")]
impl BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let rest = self.rest();
        Ok(rest.get(..Self::STEP_BYTES).unwrap_or(rest))
    }

    fn consume(&mut self, len: usize) {
        self.at = self.at.saturating_add(len).min(self.source.len());
        if self.at - self.released >= Self::STEP_BYTES {
            self.source.release(self.released..self.at);
            self.released = self.at;
        }
    }
}

/// Copies all that a decoder gives; the inner result is the decoder's failure, if any.
#[cfg(feature = "compress")]
fn copy(decoder: &mut dyn Read, buffer: &mut [u8], spool: &mut Spool<'_>) -> Result<io::Result<()>, InputError> {
    loop {
        match decoder.read(buffer) {
            Ok(0) => return Ok(Ok(())),
            Ok(len) => spool.push(buffer.get(..len).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok(Err(error)),
        }
    }
}

#[cfg(feature = "compress")]
fn broken(layer: Layer, at: usize, spool: &Spool<'_>, error: &io::Error) -> Damage {
    let detail = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the {layer} stream breaks off at byte {at} of the file"),
        _ => format!("the {layer} stream is corrupt near byte {at} of the file ({error})"),
    };
    Damage { kind: losses::COMPRESSED_STREAM_DAMAGED, offset: spool.len(), count: 1, at_least_lost: 1, detail }
}

#[cfg(feature = "compress")]
fn gunzip(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let mut reader = Reader::new(source);
    let mut buffer = vec![0; 256 << 10];
    loop {
        if let Err(error) = copy(&mut flate2::bufread::GzDecoder::new(&mut reader), &mut buffer, spool)? {
            return Ok(Some(broken(Layer::Gzip, reader.at, spool, &error)));
        }
        let rest = reader.rest();
        if rest.starts_with(&[0x1f, 0x8b]) {
            continue;
        }
        // Zeros after the last member are padding (tapes, flash pages).
        if rest.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let detail = format!(
            "the rest after the gzip stream (byte {} of the file) is not gzip: {}",
            reader.at,
            counted(rest.len(), "byte")
        );
        let kind = losses::COMPRESSED_STREAM_DAMAGED;
        return Ok(Some(Damage { kind, offset: spool.len(), count: 1, at_least_lost: 0, detail }));
    }
}

#[cfg(feature = "compress")]
fn unzstd(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let mut reader = Reader::new(source);
    let mut buffer = vec![0; 256 << 10];
    // The decoder refuses frames that want a window above 128 MiB, so a hostile one cannot take the machine's memory.
    let failed = match zstd::stream::read::Decoder::with_buffer(&mut reader) {
        Ok(mut decoder) => copy(&mut decoder, &mut buffer, spool)?,
        Err(error) => Err(error),
    };
    Ok(failed.err().map(|error| {
        let mut damage = broken(Layer::Zstd, reader.at, spool, &error);
        if spool.len() == 0 && error.kind() == io::ErrorKind::UnexpectedEof {
            let stated = zstd::zstd_safe::get_frame_content_size(source).ok().flatten();
            let of = stated.map_or_else(String::new, |bytes| format!(" of the {bytes} bytes that were compressed"));
            damage.detail += &format!(
                ", within its first block, and zstd gives only whole blocks (of up to 128 KiB): nothing{of} can be read"
            );
        }
        damage
    }))
}

#[cfg(not(feature = "compress"))]
fn gunzip(_source: &Bytes, _spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    Err(InputError::NotBuiltIn(Layer::Gzip))
}

#[cfg(not(feature = "compress"))]
fn unzstd(_source: &Bytes, _spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    Err(InputError::NotBuiltIn(Layer::Zstd))
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use std::io::Write;

    use super::super::Input;
    use super::*;

    /// Binary that hardly compresses, as recordings do.
    fn content(len: u32) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8 & 0x7f
        };
        (0..len).map(|_| next()).collect()
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn open(file: Vec<u8>) -> Result<Input, InputError> {
        Input::from_vec(file, &ReadOptions::default())
    }

    #[test]
    fn a_stream_of_zstd_that_ends_within_its_first_block_says_so() {
        // A block that is compressed: others give their bytes one by one.
        let data = data_encoding::HEXLOWER.encode(&content(150));
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_pledged_src_size(Some(300)).unwrap();
        encoder.include_contentsize(true).unwrap();
        encoder.write_all(data.as_bytes()).unwrap();
        let file = encoder.finish().unwrap();
        let said = open(file[..file.len() / 2].to_vec()).unwrap_err().to_string();
        let expected = "within its first block, and zstd gives only whole blocks (of up to 128 KiB): nothing of the 300 bytes that were compressed can be read";
        assert!(said.contains(expected), "{said}");
    }

    const GREETING: &[u8] =
        b"SEGGER J-Link V6.44 - Real time terminal output\r\nSEGGER J-Link ARM V10.1, SN=600111924\r\nProcess: JLinkExe\r\n";

    #[test]
    fn lines_that_are_no_greeting_stay() {
        for wrong in [&GREETING[7..], &GREETING[..80], b"SEGGER J-Link V6 - Real time terminal output\nSN\nProcess: x\n"] {
            assert_eq!(open([wrong, &content(300)].concat()).unwrap().layers(), []);
        }
    }

    #[test]
    fn each_layer_is_taken_off() {
        let data = content(300_000);
        for (file, layer) in [
            (gzip(&data), Layer::Gzip),
            (zstd(&data), Layer::Zstd),
            (data_encoding::HEXLOWER.encode(&data).into_bytes(), Layer::Hex),
            (data_encoding::BASE64.encode(&data).into_bytes(), Layer::Base64),
            ([GREETING, &data].concat(), Layer::JLink),
        ] {
            let len = file.len() as u64;
            let input = open(file).unwrap();
            assert_eq!(input.layers(), [layer]);
            assert_eq!((input.bytes(), input.damages(), input.file_bytes()), (&data[..], &[][..], len));
        }
        assert_eq!(open(data.clone()).unwrap().layers(), []);
    }

    #[test]
    fn layers_stack() {
        let data = content(1000);
        let file = data_encoding::BASE64.encode(&gzip(&zstd(data_encoding::HEXUPPER.encode(&data).as_bytes()))).into_bytes();
        let input = open(file).unwrap();
        assert_eq!(input.layers(), [Layer::Base64, Layer::Gzip, Layer::Zstd, Layer::Hex]);
        assert_eq!(input.bytes(), data);
        // A fifth layer stays on.
        let inner = gzip(&data);
        let input = open(gzip(&gzip(&gzip(&gzip(&inner))))).unwrap();
        assert_eq!((input.layers().len(), input.bytes()), (LAYERS, &inner[..]));
        const LAYERS: usize = super::super::LAYERS_MAX;
    }

    #[test]
    fn members_and_frames_follow_each_other() {
        let (one, two) = (content(70_000), content(99));
        let both = [&one[..], &two[..]].concat();
        assert_eq!(open([gzip(&one), gzip(&two)].concat()).unwrap().bytes(), both);
        assert_eq!(open([zstd(&one), zstd(&two)].concat()).unwrap().bytes(), both);
        let padded = open([gzip(&one), vec![0; 512]].concat()).unwrap();
        assert_eq!((padded.bytes(), padded.damages()), (&one[..], &[][..]));
    }

    #[test]
    fn a_cut_stream_gives_what_came_before_the_cut() {
        let data = content(1_000_000);
        for (file, name) in [(gzip(&data), "gzip"), (zstd(&data), "zstd")] {
            let half = file.len() / 2;
            let input = open(file[..half].to_vec()).unwrap();
            assert!(input.bytes().len() > 300_000 && data.starts_with(input.bytes()), "{}", input.bytes().len());
            let [damage] = input.damages() else { panic!("{:?}", input.damages()) };
            assert_eq!((damage.kind.code, damage.offset), ("compressed_stream_damaged", input.bytes().len() as u64));
            assert_eq!(damage.detail, format!("the {name} stream breaks off at byte {half} of the file"));
        }
    }

    #[test]
    fn a_corrupt_stream_never_fails_as_a_whole_unless_nothing_comes_out() {
        let data = content(200_000);
        for file in [gzip(&data), zstd(&data)] {
            for at in (20..file.len()).step_by(997) {
                let mut file = file.clone();
                file[at] ^= 0x55;
                match open(file) {
                    Ok(input) => assert!(input.bytes() == data || !input.damages().is_empty(), "byte {at}"),
                    Err(error) => assert!(matches!(error, InputError::Undecodable { .. }), "byte {at}: {error}"),
                }
            }
        }
    }

    #[test]
    fn what_follows_the_stream_is_reported() {
        let data = content(500);
        let mut file = gzip(&data);
        let end = file.len();
        file.extend_from_slice(b"tail");
        let input = open(file).unwrap();
        assert_eq!(input.bytes(), data);
        let expected = format!("the rest after the gzip stream (byte {end} of the file) is not gzip: 4 bytes");
        assert_eq!(input.damages()[0].detail, expected);
    }

    #[test]
    fn garbage_behind_a_magic_is_told_as_such() {
        for file in [vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff], vec![0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff]] {
            assert!(matches!(open(file).unwrap_err(), InputError::Undecodable { .. }));
        }
        assert!(matches!(open(gzip(b"")).unwrap_err(), InputError::NothingInside(Layer::Gzip)));
        assert!(matches!(open(zstd(b"")).unwrap_err(), InputError::NothingInside(Layer::Zstd)));
        assert!(matches!(open(Vec::new()).unwrap_err(), InputError::Empty));
    }

    #[test]
    fn a_frame_that_wants_gigabytes_of_window_is_refused() {
        // Magic, descriptor without single segment, window descriptor 2^41, an empty last raw block.
        let file = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
        let error = open(file).unwrap_err().to_string();
        assert!(error.contains("too much memory"), "{error}");
    }

    #[cfg(feature = "mmap")]
    #[test]
    fn a_bomb_goes_to_disk_not_to_memory() {
        let dir = tempfile::tempdir().unwrap();
        let options = ReadOptions { spool_dir: Some(dir.path().into()), spool_after_bytes: 1 << 20, ..ReadOptions::default() };
        let input = Input::from_vec(gzip(&vec![0xaa; 16 << 20]), &options).unwrap();
        assert!(input.bytes.is_mapped());
        assert!(input.bytes().len() == 16 << 20 && input.bytes().iter().all(|&byte| byte == 0xaa));
    }
}
