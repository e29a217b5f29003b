//! printf formats, compiled, and the arguments that targets pack after them.
//!
//! Arguments follow in the order of the format, without padding; each `*` takes an `int` first. Their sizes depend on the target's
//! pointers ([`Packing`]). [`mod@write`] writes the text that the target's own `printf` would have written.

pub mod escape;
mod reader;
pub mod write;

pub use reader::Reader;

/// The largest width and precision, so that the text of a damaged message cannot fill the memory.
pub const WIDTH_LIMIT: u32 = 4096;

/// The size of a pointer, and with it of `long`, on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointers {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    Bits64,
}

/// How arguments are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// By type, of a target with 32-bit pointers.
    Typed32,
    /// By type, of a target with 64-bit pointers.
    Typed64,
    /// Every argument in 8 bytes: the library's numbered catalog macros on 64-bit targets.
    Slots64,
    /// As [`Packing::Typed32`], with floating-point numbers in 4 bytes: some C++ logging libraries.
    Floats32,
}

impl Packing {
    /// Packing by type on a target of these pointers.
    #[must_use]
    pub fn typed(pointers: Pointers) -> Packing {
        match pointers {
            Pointers::Bits32 => Packing::Typed32,
            Pointers::Bits64 => Packing::Typed64,
        }
    }
}

/// A width or a precision. In one word: formats are many, and their pieces should be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(u32);

impl Size {
    /// Not given.
    pub const NONE: Size = Size(u32::MAX);
    /// Given by an argument.
    pub const ARGUMENT: Size = Size(u32::MAX - 1);

    /// Given by the format; limited to a value larger than any text.
    #[must_use]
    pub fn fixed(size: u32) -> Size {
        Size(size.min(u32::MAX - 2))
    }
}

/// The length modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// No modifier.
    Int,
    /// `hh`.
    Char,
    /// `h`.
    Short,
    /// `l`.
    Long,
    /// `ll`, `j`, `q`.
    LongLong,
    /// `z`, `t`: as wide as a pointer.
    Pointer,
    /// `L`.
    LongDouble,
}

/// One conversion of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    flags: u8,
    /// The letter.
    pub letter: u8,
    /// The length modifier.
    pub length: Length,
    /// The size of its argument in words of 4 bytes: two bits for each [`Packing`], in their order. 0 for a text.
    sizes: u8,
    /// The least number of columns.
    pub width: Size,
    /// Digits, or the most bytes of a text.
    pub precision: Size,
}

/// `-`
const LEFT: u8 = 1;
/// `+`
const PLUS: u8 = 2;
/// A space.
const SPACE: u8 = 4;
/// `#`
const ALTERNATE: u8 = 8;
/// `0`
const ZERO: u8 = 16;

/// The class of a conversion's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `d`, `i`
    Signed,
    /// `u o x X b B`
    Unsigned,
    /// `c`
    Char,
    /// `f F e E g G a A`
    Float,
    /// `s`
    Text,
    /// `p`
    Pointer,
    /// `n`: no text.
    Count,
}

impl Conversion {
    /// The class of its argument.
    #[inline]
    #[must_use]
    pub fn class(&self) -> Class {
        match self.letter {
            b'd' | b'i' => Class::Signed,
            b'u' | b'o' | b'x' | b'X' | b'b' | b'B' => Class::Unsigned,
            b'c' => Class::Char,
            b's' => Class::Text,
            b'p' => Class::Pointer,
            b'n' => Class::Count,
            _ => Class::Float,
        }
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The bytes that its argument takes; `None` for a text.
    #[inline]
    #[must_use]
    pub fn argument_bytes(&self, packing: Packing) -> Option<usize> {
        (self.sizes > 0).then_some(self.fixed_bytes(packing))
    }

    /// The same if it is not a text.
    #[inline]
    fn fixed_bytes(&self, packing: Packing) -> usize {
        4 * usize::from(self.sizes >> (2 * packing as u32) & 3)
    }

    /// See [`Conversion::sizes`].
    fn sizes(&self) -> u8 {
        let [typed32, typed64, floats32] = match (self.class(), self.length) {
            (Class::Text, _) => return 0,
            (Class::Float, _) => [2, 2, 1],
            (Class::Signed | Class::Unsigned, Length::LongLong) => [2, 2, 2],
            (Class::Pointer | Class::Count, _) | (Class::Signed | Class::Unsigned, Length::Long | Length::Pointer) => [1, 2, 1],
            _ => [1, 1, 1],
        };
        let words =
            [(Packing::Typed32, typed32), (Packing::Typed64, typed64), (Packing::Slots64, 2), (Packing::Floats32, floats32)];
        words.iter().map(|&(packing, words)| words << (2 * packing as u32)).sum()
    }

    /// Whether it is a decimal or hexadecimal integer of fixed width, at most [`PAD_BYTES`], and without sign, prefix and precision.
    fn is_padded_integer(&self) -> bool {
        let is_narrow = self.width == Size::NONE || self.width.0 as usize <= PAD_BYTES;
        let is_bare = self.flags & !(LEFT | ZERO) == 0 && self.precision == Size::NONE;
        is_narrow && is_bare && matches!(self.letter, b'd' | b'i' | b'u' | b'x' | b'X')
    }

    /// How many arguments `*` takes before its own.
    fn stars(&self) -> usize {
        usize::from(self.width == Size::ARGUMENT) + usize::from(self.precision == Size::ARGUMENT)
    }
}

/// The content of a piece after its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing.
    None,
    /// A decimal integer without flags, width and precision, as most are.
    Decimal(Conversion),
    /// Another integer that needs no more than digits and a small width filled up. See [`Conversion::is_padded_integer`].
    Padded(Conversion),
    /// Another conversion.
    Other(Conversion),
    /// To the end of the format: an invalid conversion, after which arguments cannot be assigned. They are listed as words.
    Bad,
}

/// A piece of a format: a text, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// The text: these bytes of the format.
    from: u32,
    to: u32,
    /// Where the conversion ends that begins after it.
    end: u32,
    step: Step,
}

/// Thousands of formats are in use at once, and should fit into the processor's caches.
const _: () = assert!(std::mem::size_of::<Piece>() <= 28);

/// A compiled format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Followed by [`PAD_BYTES`].
    padded: Box<[u8]>,
    pieces: Box<[Piece]>,
    counts: Counts,
    is_bad: bool,
    /// Whether it prints nothing but printable ASCII, whatever its arguments are.
    prints_plain: bool,
}

/// Sizes of a format's arguments. They saturate at values that no message can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Conversions that take an argument, and `*`s.
    arguments: u32,
    /// Of those, floating-point ones.
    floats: u32,
    texts: u32,
    /// Bytes of all arguments but texts, by type.
    bytes32: u32,
    bytes64: u32,
}

/// The padding after a format, in bytes, so that any short piece of it can be copied as one block of this size.
const PAD_BYTES: usize = 32;

impl Format {
    /// Compiles a format.
    #[must_use]
    pub fn new(text: &[u8]) -> Format {
        // All is read from the copy: bytes of a file may change.
        let padded: Box<[u8]> = text.iter().copied().chain([0; PAD_BYTES]).collect();
        let text = padded.get(..text.len()).unwrap_or(&[]);
        let mut counts = Counts::default();
        let mut pieces = Vec::new();
        let mut is_bad = false;
        // A text or character of the target's.
        let mut copies_argument = false;
        let at = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let mut from = 0;
        let mut push =
            |from: usize, to: usize, end: usize, step| pieces.push(Piece { from: at(from), to: at(to), end: at(end), step });
        while let Some(percent) = text.get(from..).and_then(|rest| memchr::memchr(b'%', rest)).map(|index| from + index) {
            let Some((conversion, len)) = read_conversion(text.get(percent + 1..).unwrap_or(&[])) else {
                push(from, percent, text.len(), Step::Bad);
                is_bad = true;
                from = text.len();
                break;
            };
            let end = percent + 1 + len;
            if conversion.letter == b'%' {
                // It prints a percent sign, as does `%-5%`. The text goes on with that.
                push(from, percent, percent, Step::None);
                push(end - 1, end, end, Step::None);
            } else {
                counts.add(&conversion);
                let is_bare = conversion.flags == 0 && (conversion.width, conversion.precision) == (Size::NONE, Size::NONE);
                let step = match conversion.letter {
                    b'd' | b'i' | b'u' if is_bare => Step::Decimal(conversion),
                    _ if conversion.is_padded_integer() => Step::Padded(conversion),
                    _ => Step::Other(conversion),
                };
                copies_argument |= matches!(conversion.class(), Class::Text | Class::Char);
                push(from, percent, end, step);
            }
            from = end;
        }
        if from < text.len() {
            push(from, text.len(), text.len(), Step::None);
        }
        let prints_plain = !copies_argument && escape::is_plain(text);
        Format { padded, pieces: pieces.into(), counts, is_bad, prints_plain }
    }

    /// The format itself.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.padded.get(..self.padded.len().saturating_sub(PAD_BYTES)).unwrap_or(&[])
    }

    /// Whether it has an invalid conversion.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.is_bad
    }

    /// Whether it takes no argument.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.counts.arguments == 0 && !self.is_bad
    }

    /// Whether floating-point numbers are among its arguments.
    #[must_use]
    pub fn has_floats(&self) -> bool {
        self.counts.floats > 0
    }

    /// Its conversions.
    pub fn conversions(&self) -> impl Iterator<Item = &Conversion> {
        self.pieces.iter().filter_map(|piece| match &piece.step {
            Step::Decimal(conversion) | Step::Padded(conversion) | Step::Other(conversion) => Some(conversion),
            Step::None | Step::Bad => None,
        })
    }

    /// Reads a byte at the start and at the end of each of its places in memory, so that the processor fetches them. The value means
    /// nothing.
    #[inline]
    #[must_use]
    pub fn touch(&self) -> u32 {
        let piece = |piece: Option<&Piece>| piece.map_or(0, |piece| piece.from);
        let byte = |byte: Option<&u8>| byte.map_or(0, |&byte| u32::from(byte));
        piece(self.pieces.first()) ^ piece(self.pieces.last()) ^ byte(self.padded.first()) ^ byte(self.text().last())
    }

    /// The bytes of `arguments` that this packing takes; `None` if there are too few.
    #[must_use]
    pub fn measure(&self, packing: Packing, arguments: &[u8]) -> Option<usize> {
        if self.counts.texts == 0 {
            let bytes = self.counts.bytes(packing);
            return (bytes <= arguments.len()).then_some(bytes);
        }
        let mut reader = Reader(arguments);
        for conversion in self.conversions() {
            let star_bytes = if packing == Packing::Slots64 { 8 } else { 4 };
            reader.0 = reader.0.get(conversion.stars() * star_bytes..)?;
            match conversion.argument_bytes(packing) {
                Some(bytes) => reader.0 = reader.0.get(bytes..)?,
                None => {
                    if !reader.text().1 {
                        return None;
                    }
                }
            }
        }
        Some(arguments.len() - reader.0.len())
    }

    /// The packing of a catalog message's arguments. No field states it, but their length shows it.
    ///
    /// By type, unless that leaves or lacks bytes and another packing fits exactly.
    #[inline]
    #[must_use]
    pub fn catalog_packing(&self, pointers: Pointers, arguments: &[u8]) -> Packing {
        let typed = Packing::typed(pointers);
        // The usual case.
        if self.counts.texts == 0 && self.counts.bytes(typed) == arguments.len() {
            return typed;
        }
        self.other_packing(pointers, arguments)
    }

    /// Whether there are more bytes than the arguments take, none of which is a text.
    #[inline]
    #[must_use]
    pub fn leaves_bytes(&self, packing: Packing, arguments: &[u8]) -> bool {
        self.counts.bytes(packing) < arguments.len() && self.counts.texts == 0
    }

    /// The arguments without padding, if that explains why they are more than there are by type: some targets send them as they are in
    /// memory, with numbers of 8 bytes at multiples of 8. `None` if they do not fit exactly then.
    #[must_use]
    pub fn without_padding(&self, pointers: Pointers, arguments: &[u8]) -> Option<Vec<u8>> {
        let (mut at, mut packed) = (0usize, Vec::with_capacity(arguments.len()));
        for conversion in self.conversions() {
            let stars = std::iter::repeat_n(4, conversion.stars());
            for bytes in stars.chain(conversion.argument_bytes(Packing::typed(pointers))) {
                let start = at.next_multiple_of(bytes.max(4));
                at = start + bytes;
                packed.extend_from_slice(arguments.get(start..at)?);
            }
        }
        (at == arguments.len()).then_some(packed)
    }

    #[inline(never)]
    fn other_packing(&self, pointers: Pointers, arguments: &[u8]) -> Packing {
        let typed = Packing::typed(pointers);
        if self.measure(typed, arguments) == Some(arguments.len()) {
            return typed;
        }
        match pointers {
            Pointers::Bits64
                if self.counts.texts == 0
                    && self.counts.floats == 0
                    && arguments.len() == self.counts.bytes(Packing::Slots64) =>
            {
                Packing::Slots64
            }
            Pointers::Bits32 if self.counts.floats > 0 && self.measure(Packing::Floats32, arguments) == Some(arguments.len()) => {
                Packing::Floats32
            }
            _ => typed,
        }
    }
}

impl Counts {
    fn add(&mut self, conversion: &Conversion) {
        let stars = conversion.stars() as u32;
        let bytes = |packing| {
            let bytes = conversion.argument_bytes(packing).and_then(|bytes| u32::try_from(bytes).ok());
            4 * stars + bytes.unwrap_or(0)
        };
        self.arguments = self.arguments.saturating_add(1 + stars);
        self.floats = self.floats.saturating_add(u32::from(conversion.class() == Class::Float));
        self.texts = self.texts.saturating_add(u32::from(conversion.class() == Class::Text));
        self.bytes32 = self.bytes32.saturating_add(bytes(Packing::Typed32));
        self.bytes64 = self.bytes64.saturating_add(bytes(Packing::Typed64));
    }

    /// The bytes of all arguments but texts.
    #[inline]
    fn bytes(&self, packing: Packing) -> usize {
        match packing {
            Packing::Typed32 => self.bytes32 as usize,
            Packing::Typed64 => self.bytes64 as usize,
            Packing::Slots64 => 8 * self.arguments as usize,
            Packing::Floats32 => self.bytes32.saturating_sub(4 * self.floats) as usize,
        }
    }
}

/// Reads the conversion after a percent sign. Returns its length, too; `None` if it is not valid.
fn read_conversion(text: &[u8]) -> Option<(Conversion, usize)> {
    let mut conversion =
        Conversion { flags: 0, letter: 0, length: Length::Int, sizes: 0, width: Size::NONE, precision: Size::NONE };
    let mut at = 0;
    let peek = |at: usize| text.get(at).copied().unwrap_or(0);
    loop {
        match peek(at) {
            b'-' => conversion.flags |= LEFT,
            b'+' => conversion.flags |= PLUS,
            b' ' => conversion.flags |= SPACE,
            b'#' => conversion.flags |= ALTERNATE,
            b'0' => conversion.flags |= ZERO,
            // Groups of thousands, which the C locale does not have.
            b'\'' => {}
            _ => break,
        }
        at += 1;
    }
    conversion.width = read_size(text, &mut at);
    if peek(at) == b'.' {
        at += 1;
        conversion.precision = match read_size(text, &mut at) {
            Size::NONE => Size::fixed(0),
            size => size,
        };
    }
    conversion.length = match (peek(at), peek(at + 1)) {
        (b'h', b'h') => Length::Char,
        (b'h', _) => Length::Short,
        (b'l', b'l') => Length::LongLong,
        (b'l', _) => Length::Long,
        (b'j' | b'q', _) => Length::LongLong,
        (b'z' | b't', _) => Length::Pointer,
        (b'L', _) => Length::LongDouble,
        _ => Length::Int,
    };
    at += match conversion.length {
        Length::Int => 0,
        Length::Char => 2,
        Length::LongLong if peek(at) == b'l' => 2,
        _ => 1,
    };
    conversion.letter = peek(at);
    conversion.sizes = conversion.sizes();
    let is_known = memchr::memchr(conversion.letter, b"diuoxXcsfFeEgGaApnbB%").is_some();
    is_known.then_some((conversion, at + 1))
}

fn read_size(text: &[u8], at: &mut usize) -> Size {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return Size::ARGUMENT;
    }
    let start = *at;
    let mut size = 0u32;
    while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
        size = size.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        *at += 1;
    }
    if *at == start { Size::NONE } else { Size::fixed(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(format: &str, packing: Packing) -> Option<usize> {
        Format::new(format.as_bytes()).measure(packing, &[0; 64])
    }

    #[test]
    fn sizes_of_arguments() {
        for (format, bytes32, bytes64) in [
            ("%d %i %u %o %x %X %c", 28, 28),
            ("%hhd %hd %lc", 12, 12),
            ("%ld", 4, 8),
            ("%lu %lx", 8, 16),
            ("%lld", 8, 8),
            ("%jx", 8, 8),
            ("%zu", 4, 8),
            ("%ti", 4, 8),
            ("%f %Lf %a", 24, 24),
            ("%p", 4, 8),
            ("%n", 4, 8),
            ("%*.*f", 16, 16),
            ("%% %-5%", 0, 0),
            ("plain", 0, 0),
        ] {
            assert_eq!(measured(format, Packing::Typed32), Some(bytes32), "{format}");
            assert_eq!(measured(format, Packing::Typed64), Some(bytes64), "{format}");
        }
        assert_eq!(measured("%d %*ld", Packing::Slots64), Some(24));
        assert_eq!(measured("%d %f", Packing::Floats32), Some(8));
        let with_text = Format::new(b"%d %s %ld");
        assert_eq!(with_text.measure(Packing::Typed64, b"\x01\0\0\0ab\0\x02\0\0\0\0\0\0\0more"), Some(15));
        assert_eq!(with_text.measure(Packing::Typed64, b"\x01\0\0\0ab"), None);
    }

    #[test]
    fn the_length_shows_the_packing() {
        let packing =
            |format: &str, pointers, len: usize| Format::new(format.as_bytes()).catalog_packing(pointers, &vec![0; len]);
        assert_eq!(packing("x=%d y=%d", Pointers::Bits64, 8), Packing::Typed64);
        assert_eq!(packing("x=%d y=%d", Pointers::Bits64, 16), Packing::Slots64);
        assert_eq!(packing("x=%d y=%s", Pointers::Bits64, 16), Packing::Typed64);
        assert_eq!(packing("%d %f", Pointers::Bits32, 12), Packing::Typed32);
        assert_eq!(packing("%d %f", Pointers::Bits32, 8), Packing::Floats32);
        assert_eq!(packing("%d", Pointers::Bits32, 9), Packing::Typed32, "more than is needed");
        let packed = |format: &str, pointers, len: u8| {
            let arguments: Vec<u8> = (0..len).collect();
            Format::new(format.as_bytes()).without_padding(pointers, &arguments)
        };
        let without =
            |padding: std::ops::Range<u8>, len| Some((0..len).filter(|byte| !padding.contains(byte)).collect::<Vec<u8>>());
        assert_eq!(packed("%d %f", Pointers::Bits32, 16), without(4..8, 16));
        assert_eq!(packed("%*.1f %d", Pointers::Bits32, 20), without(4..8, 20));
        assert_eq!(packed("%d %ld", Pointers::Bits64, 16), without(4..8, 16));
        for (format, len) in [("%d %f", 12), ("%d %f", 20), ("%f %d", 16), ("%d", 8)] {
            assert_eq!(packed(format, Pointers::Bits32, len), None, "{format} {len}");
        }
    }

    #[test]
    fn an_invalid_conversion_ends_the_format() {
        let format = Format::new(b"a %d %y %d");
        assert!(format.is_bad());
        assert_eq!(format.pieces.last().map(|piece| (piece.to, piece.step)), Some((5, Step::Bad)));
        assert!(Format::new(b"100%").is_bad());
        assert!(!Format::new(b"100%%").is_bad());
    }
}
