//! Format and arguments → text, as the C library of a target would print it.
//!
//! Exact in every digit: floating-point numbers are rounded half to even from their exact value at any precision.

use std::fmt::Write as _;

use super::escape::PendingText;
use super::{
    ALTERNATE, Class, Conversion, Format, LEFT, Length, PAD_BYTES, PLUS, Packing, Reader, SPACE, Size, Step, WIDTH_LIMIT, ZERO,
};

/// An argument as it was packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// `d`, `i`, as wide as the format says.
    Int(i64),
    /// `u`, as wide as the format says.
    Uint(u64),
    /// `o`, `x`, `X` and `p`.
    Hex(u64),
    /// A floating-point number.
    Float(f64),
    /// A character.
    Char(u32),
    /// A text.
    Text(&'a [u8]),
}

/// Oddities of a format and its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities(u8);

impl Oddities {
    /// Arguments of the format are missing.
    pub const MISSING_ARGUMENTS: Oddities = Oddities(1);
    /// The format has an invalid conversion.
    pub const BAD_FORMAT: Oddities = Oddities(2);
    /// A width or precision was limited.
    pub const CLAMPED: Oddities = Oddities(4);

    fn add(&mut self, oddities: Oddities) {
        self.0 |= oddities.0;
    }

    /// Whether one of them is set.
    #[inline]
    #[must_use]
    pub fn has(self, oddities: Oddities) -> bool {
        self.0 & oddities.0 != 0
    }
}

/// Writes texts; keeps its memory from one to the next.
#[derive(Debug, Default)]
pub struct Writer {
    /// Digits of a number.
    digits: String,
    mantissa: String,
}

impl Writer {
    /// Appends the text of `format` with `arguments` to `out`, and passes each argument's value, except those of `*` and `%n`, to
    /// `each`. Returns oddities.
    pub fn write<'a>(
        &mut self,
        format: &Format,
        packing: Packing,
        arguments: &'a [u8],
        out: &mut PendingText,
        mut each: impl FnMut(Value<'a>),
    ) -> Oddities {
        let mut oddities = Oddities::default();
        let mut reader = Reader(arguments);
        for piece in &*format.pieces {
            push_piece(out, &format.padded, piece.from, piece.to);
            let start = out.len();
            let taken = match &piece.step {
                Step::None => Some(()),
                Step::Bad => {
                    push_piece(out, &format.padded, piece.to, piece.end);
                    oddities.add(Oddities::BAD_FORMAT);
                    // The types of the arguments that are left are unknown.
                    let mut word = || match packing {
                        Packing::Slots64 => reader.u64(),
                        _ => reader.u32().map(u64::from),
                    };
                    while let Some(word) = word() {
                        each(Value::Hex(word));
                    }
                    Some(())
                }
                // After a missing argument, the conversions themselves are shown.
                _ if oddities.has(Oddities::MISSING_ARGUMENTS) => None,
                Step::Decimal(conversion) => decimal_argument(conversion, packing, &mut reader, out, &mut each),
                Step::Padded(conversion) => padded_argument(conversion, packing, &mut reader, out, &mut each),
                Step::Other(conversion) => self.convert(*conversion, packing, &mut reader, out, &mut each, &mut oddities),
            };
            if taken.is_none() {
                oddities.add(Oddities::MISSING_ARGUMENTS);
                if out.len() == start {
                    push_piece(out, &format.padded, piece.to, piece.end);
                }
            }
        }
        oddities
    }

    /// Adds the text of `format` with `arguments` to `out`, as [`Writer::write`] does, and escapes it. Returns also whether it was UTF-8.
    #[inline]
    pub fn write_text<'a>(
        &mut self,
        format: &Format,
        packing: Packing,
        arguments: &'a [u8],
        out: &mut PendingText,
        each: impl FnMut(Value<'a>),
    ) -> (Oddities, bool) {
        let oddities = self.write(format, packing, arguments, out, each);
        (oddities, if format.prints_plain { out.commit_plain() } else { out.commit() })
    }

    /// `None` if an argument is missing. A separate function, so that the loop over pieces can use all registers.
    #[inline(never)]
    fn convert<'a>(
        &mut self,
        mut conversion: Conversion,
        packing: Packing,
        reader: &mut Reader<'a>,
        out: &mut PendingText,
        each: &mut impl FnMut(Value<'a>),
        oddities: &mut Oddities,
    ) -> Option<()> {
        let star = |reader: &mut Reader<'a>| {
            if packing == Packing::Slots64 { reader.u64().map(|value| value as i32) } else { reader.u32().map(u32::cast_signed) }
        };
        let mut width = match conversion.width {
            Size::NONE => 0,
            Size::ARGUMENT => {
                let width = star(reader)?;
                if width < 0 {
                    conversion.flags |= LEFT;
                }
                width.unsigned_abs()
            }
            Size(width) => width,
        };
        let mut precision = match conversion.precision {
            Size::NONE => None,
            Size::ARGUMENT => u32::try_from(star(reader)?).ok(),
            Size(precision) => Some(precision),
        };
        let limit_of_precision = if conversion.class() == Class::Text { u32::MAX } else { WIDTH_LIMIT };
        if width > WIDTH_LIMIT || precision.is_some_and(|precision| precision > limit_of_precision) {
            oddities.add(Oddities::CLAMPED);
            width = width.min(WIDTH_LIMIT);
            precision = precision.map(|precision| precision.min(limit_of_precision));
        }
        let field = Field { conversion: &conversion, width: width as usize };
        let precision = precision.map(|precision| precision as usize);
        let Some(bytes) = conversion.argument_bytes(packing) else {
            let (text, is_ended) = reader.text();
            let shown = text.get(..precision.unwrap_or(usize::MAX)).unwrap_or(text);
            field.pad(out, shown.len(), |out| out.extend(shown));
            each(Value::Text(text));
            return is_ended.then_some(());
        };
        let raw = if bytes == 4 { u64::from(reader.u32()?) } else { reader.u64()? };
        match conversion.class() {
            Class::Signed => {
                let value = signed(raw, bytes, conversion.length);
                let (digits, len) = decimal(value.unsigned_abs());
                let sign = field.sign(value < 0);
                let fills = conversion.has(ZERO) && precision.is_none();
                field.digits(out, sign, digits.get(..len).unwrap_or(&[]), precision, value == 0, fills);
                each(Value::Int(value));
            }
            Class::Unsigned => {
                let value = truncated(raw, bytes, conversion.length);
                self.unsigned(&field, out, value, precision);
                each(if conversion.letter == b'u' { Value::Uint(value) } else { Value::Hex(value) });
            }
            Class::Char => {
                let value = raw as u32;
                if conversion.length == Length::Long {
                    let mut utf8 = [0; 4];
                    let shown = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8).as_bytes();
                    field.pad(out, shown.len(), |out| out.extend(shown));
                } else {
                    field.pad(out, 1, |out| out.push(value as u8));
                }
                each(Value::Char(if conversion.length == Length::Long { value } else { value & 0xFF }));
            }
            Class::Pointer => {
                let value = truncated(raw, bytes, Length::Pointer);
                self.digits.clear();
                if value == 0 {
                    self.digits.push_str("(nil)");
                } else {
                    let _ = write!(self.digits, "{value:#x}");
                }
                field.pad(out, self.digits.len(), |out| out.extend(self.digits.as_bytes()));
                each(Value::Hex(value));
            }
            Class::Float => {
                let value = if bytes == 4 { f64::from(f32::from_bits(raw as u32)) } else { f64::from_bits(raw) };
                self.float(&field, out, value, precision);
                each(Value::Float(value));
            }
            Class::Count | Class::Text => {}
        }
        Some(())
    }

    fn unsigned(&mut self, field: &Field<'_>, out: &mut PendingText, value: u64, mut precision: Option<usize>) {
        let letter = field.conversion.letter;
        let (decimal_digits, hexadecimal_digits, len);
        let digits = match letter {
            b'x' | b'X' => {
                (hexadecimal_digits, len) = hexadecimal_integer(value, letter == b'X');
                hexadecimal_digits.get(..len).unwrap_or(&[])
            }
            b'o' | b'b' | b'B' => {
                self.digits.clear();
                let _ = if letter == b'o' { write!(self.digits, "{value:o}") } else { write!(self.digits, "{value:b}") };
                self.digits.as_bytes()
            }
            _ => {
                (decimal_digits, len) = decimal(value);
                decimal_digits.get(..len).unwrap_or(&[])
            }
        };
        let mut prefix = "";
        let fills = field.conversion.has(ZERO) && precision.is_none();
        if field.conversion.has(ALTERNATE) {
            match letter {
                // The first digit is 0, and no more than that is added.
                b'o' if value != 0 => precision = Some(precision.unwrap_or(0).max(digits.len() + 1)),
                b'o' => precision = precision.map(|precision| precision.max(1)),
                b'x' if value != 0 => prefix = "0x",
                b'X' if value != 0 => prefix = "0X",
                b'b' if value != 0 => prefix = "0b",
                b'B' if value != 0 => prefix = "0B",
                _ => {}
            }
        }
        field.digits(out, prefix, digits, precision, value == 0, fills);
    }

    fn float(&mut self, field: &Field<'_>, out: &mut PendingText, value: f64, precision: Option<usize>) {
        let letter = field.conversion.letter;
        let upper = letter.is_ascii_uppercase();
        let sign = field.sign(value.is_sign_negative());
        let magnitude = value.abs();
        self.digits.clear();
        if !value.is_finite() {
            let shown = match (value.is_nan(), upper) {
                (true, false) => "nan",
                (true, true) => "NAN",
                (false, false) => "inf",
                (false, true) => "INF",
            };
            return field.pad(out, sign.len() + shown.len(), |out| {
                out.extend(sign.as_bytes());
                out.extend(shown.as_bytes());
            });
        }
        let alternate = field.conversion.has(ALTERNATE);
        let mut prefix = "";
        match letter {
            b'f' | b'F' => {
                let precision = precision.unwrap_or(6);
                if let Some((digits, len)) = fixed(magnitude, precision).filter(|_| !alternate) {
                    let digits = digits.get(..len).unwrap_or(&[]);
                    return field.number(out, sign, "", 0, digits, field.conversion.has(ZERO));
                }
                let _ = write!(self.digits, "{magnitude:.precision$}");
                if alternate && precision == 0 {
                    self.digits.push('.');
                }
            }
            b'e' | b'E' => self.exponential(magnitude, precision.unwrap_or(6), alternate, false),
            b'a' | b'A' => {
                prefix = "0x";
                hexadecimal(&mut self.digits, magnitude, precision, alternate);
            }
            _ => self.general(magnitude, precision.unwrap_or(6).max(1), alternate),
        }
        if upper {
            self.digits.make_ascii_uppercase();
            prefix = if prefix.is_empty() { "" } else { "0X" };
        }
        field.number(out, sign, prefix, 0, self.digits.as_bytes(), field.conversion.has(ZERO));
    }

    /// `d.ddde±dd`.
    fn exponential(&mut self, magnitude: f64, precision: usize, alternate: bool, trim: bool) {
        self.mantissa.clear();
        let _ = write!(self.mantissa, "{magnitude:.precision$e}");
        let (mantissa, exponent) = self.mantissa.split_once('e').unwrap_or((&self.mantissa, "0"));
        let mantissa =
            if trim && mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
        self.digits.push_str(mantissa);
        if alternate && !mantissa.contains('.') {
            self.digits.push('.');
        }
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        let _ = write!(self.digits, "e{sign}{exponent:0>2}");
    }

    /// `%g`: the shorter of both forms, without zeros at the end.
    fn general(&mut self, magnitude: f64, precision: usize, alternate: bool) {
        let digits = precision - 1;
        self.mantissa.clear();
        let _ = write!(self.mantissa, "{magnitude:.digits$e}");
        let exponent: i32 = self.mantissa.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
        let precision = i32::try_from(precision).unwrap_or(i32::MAX);
        if exponent < -4 || exponent >= precision {
            return self.exponential(magnitude, digits, alternate, !alternate);
        }
        let decimals = usize::try_from(precision - 1 - exponent).unwrap_or(0);
        let _ = write!(self.digits, "{magnitude:.decimals$}");
        if alternate {
            if decimals == 0 {
                self.digits.push('.');
            }
        } else if self.digits.contains('.') {
            let len = self.digits.trim_end_matches('0').trim_end_matches('.').len();
            self.digits.truncate(len);
        }
    }
}

/// [`Step::Decimal`].
#[inline]
fn decimal_argument<'a>(
    conversion: &Conversion,
    packing: Packing,
    reader: &mut Reader<'a>,
    out: &mut PendingText,
    each: &mut impl FnMut(Value<'a>),
) -> Option<()> {
    let (is_negative, magnitude) = integer_argument(conversion, packing, reader, each)?;
    if is_negative {
        out.push(b'-');
    }
    if magnitude < EIGHT_DIGITS_END {
        let (digits, len) = short_decimal(magnitude);
        out.extend_head(&digits, len);
    } else {
        let (digits, len) = decimal(magnitude);
        out.extend_head(&digits, len);
    }
    Some(())
}

/// An integer of `%d`, `%i`, `%u`, `%x` or `%X`: whether it is below 0, and its magnitude.
#[inline(always)]
fn integer_argument<'a>(
    conversion: &Conversion,
    packing: Packing,
    reader: &mut Reader<'a>,
    each: &mut impl FnMut(Value<'a>),
) -> Option<(bool, u64)> {
    let bytes = conversion.fixed_bytes(packing);
    let raw = if bytes == 4 { u64::from(reader.u32()?) } else { reader.u64()? };
    if let b'd' | b'i' = conversion.letter {
        let value = signed(raw, bytes, conversion.length);
        each(Value::Int(value));
        return Some((value < 0, value.unsigned_abs()));
    }
    let value = truncated(raw, bytes, conversion.length);
    each(if conversion.letter == b'u' { Value::Uint(value) } else { Value::Hex(value) });
    Some((false, value))
}

/// [`Step::Padded`].
#[inline]
fn padded_argument<'a>(
    conversion: &Conversion,
    packing: Packing,
    reader: &mut Reader<'a>,
    out: &mut PendingText,
    each: &mut impl FnMut(Value<'a>),
) -> Option<()> {
    let (is_negative, magnitude) = integer_argument(conversion, packing, reader, each)?;
    let (digits, len) = match conversion.letter {
        b'x' | b'X' => hexadecimal_integer(magnitude, conversion.letter == b'X'),
        _ => decimal(magnitude),
    };
    let width = if conversion.width == Size::NONE { 0 } else { conversion.width.0 as usize };
    let missing = width.saturating_sub(len + usize::from(is_negative));
    let (spaces, zeros) = if conversion.has(ZERO) { (0, missing) } else { (missing, 0) };
    let (before, zeros, after) = if conversion.has(LEFT) { (0, 0, missing) } else { (spaces, zeros, 0) };
    out.extend_head(&[b' '; PAD_BYTES], before);
    out.extend_head(b"-", usize::from(is_negative));
    out.extend_head(&[b'0'; PAD_BYTES], zeros);
    out.extend_head(&digits, len);
    out.extend_head(&[b' '; PAD_BYTES], after);
    Some(())
}

/// The digits and exponent of `%a`, after `0x`.
fn hexadecimal(out: &mut String, magnitude: f64, precision: Option<usize>, alternate: bool) {
    let bits = magnitude.to_bits();
    let mut mantissa = bits & ((1 << 52) - 1);
    let biased = (bits >> 52 & 0x7FF) as i32;
    let mut lead = u64::from(biased != 0);
    let exponent = match (biased, mantissa) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased - 1023,
    };
    let digits = match precision {
        Some(precision) if precision < 13 => {
            let cut = 4 * (13 - precision as u32);
            let whole = lead << 52 | mantissa;
            let rest = whole & ((1u64 << cut) - 1);
            let half = 1u64 << (cut - 1);
            let mut kept = whole >> cut;
            if rest > half || (rest == half && kept & 1 == 1) {
                kept += 1;
            }
            lead = kept >> (4 * precision);
            mantissa = (kept & ((1u64 << (4 * precision)) - 1)) << cut;
            precision
        }
        Some(precision) => precision,
        None => 13 - (mantissa.trailing_zeros().min(52) / 4) as usize,
    };
    let _ = write!(out, "{lead:x}");
    if digits > 0 || alternate {
        out.push('.');
    }
    let all = format!("{mantissa:013x}");
    out.push_str(all.get(..digits.min(13)).unwrap_or(""));
    out.extend(std::iter::repeat_n('0', digits.saturating_sub(13)));
    let _ = write!(out, "p{exponent:+}");
}

/// How many bits of a packed integer the format does not use, from the highest one on.
#[inline]
fn unused_bits(bytes: usize, length: Length) -> u32 {
    /// By [`Length`], of 8 bytes.
    const UNUSED: [u8; 7] = {
        let mut unused = [0; 7];
        unused[Length::Char as usize] = 56;
        unused[Length::Short as usize] = 48;
        unused[Length::Int as usize] = 32;
        unused[Length::LongDouble as usize] = 32;
        unused
    };
    u32::from(UNUSED[length as usize]).max(if bytes == 4 { 32 } else { 0 })
}

/// A packed integer, as wide as the format says, sign extended.
#[inline]
fn signed(raw: u64, bytes: usize, length: Length) -> i64 {
    let unused = unused_bits(bytes, length);
    (raw << unused).cast_signed() >> unused
}

#[inline]
fn truncated(raw: u64, bytes: usize, length: Length) -> u64 {
    let unused = unused_bits(bytes, length);
    raw << unused >> unused
}

/// Appends a piece of a format. Pieces are short as a rule, and the format is padded, so that a whole block can be copied.
#[inline]
fn push_piece(out: &mut PendingText, padded: &[u8], from: u32, to: u32) {
    let (from, to) = (from as usize, to as usize);
    let len = to.saturating_sub(from);
    match padded.get(from..).and_then(|rest| rest.first_chunk::<PAD_BYTES>()) {
        Some(block) if len <= PAD_BYTES => out.extend_head(block, len),
        _ => out.extend(padded.get(from..to).unwrap_or(&[])),
    }
}

/// The eight digits of a number below 10^8, the first one lowest, without the ASCII code. All lanes of a word are divided at once: 2 of
/// four digits, then 4 of two, then 8 of one.
#[inline]
fn eight_digits(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | (twos - 10 * tens) << 8
}

/// The end of numbers that [`eight_digits`] takes.
const EIGHT_DIGITS_END: u64 = 100_000_000;

/// The zeros of eight digits in ASCII.
const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// The decimal form of a number below 10^8, and its length.
#[inline]
fn short_decimal(value: u64) -> ([u8; 8], usize) {
    let digits = eight_digits(value);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    (((digits | ASCII_ZEROS) >> (8 * zeros)).to_le_bytes(), 8 - zeros as usize)
}

/// The digits of a number, from the first byte on, and their number. Several times as fast as the standard library, and most arguments
/// are numbers.
fn decimal(value: u64) -> ([u8; 24], usize) {
    let (before, last) = (value / EIGHT_DIGITS_END, value % EIGHT_DIGITS_END);
    if before == 0 {
        let mut digits = [0; 24];
        let (short, len) = short_decimal(last);
        digits[..8].copy_from_slice(&short);
        return (digits, len);
    }
    let (mut digits, len) = decimal(before);
    if let Some(place) = digits.get_mut(len..len + 8) {
        place.copy_from_slice(&(eight_digits(last) | ASCII_ZEROS).to_le_bytes());
    }
    (digits, len + 8)
}

/// The eight hexadecimal digits of a number, the first one lowest.
#[inline]
fn eight_hexadecimal_digits(value: u32, upper: bool) -> u64 {
    let value = u64::from(value);
    let words = (value | value << 16) & 0x0000_FFFF_0000_FFFF;
    let bytes = (words | words << 8) & 0x00FF_00FF_00FF_00FF;
    let digits = (bytes | bytes << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    // 16 is reached from 10 on.
    let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    let to_letter = u64::from(if upper { b'A' } else { b'a' } - b'0' - 10);
    (digits + ASCII_ZEROS + letters * to_letter).swap_bytes()
}

/// The hexadecimal digits of a number, from the first byte on, and their number.
#[inline]
fn hexadecimal_integer(value: u64, upper: bool) -> ([u8; 24], usize) {
    let (high, low) = ((value >> 32) as u32, value as u32);
    let len = (value | 1).ilog2() as usize / 4 + 1;
    let mut digits = [0; 24];
    if high == 0 {
        digits[..8].copy_from_slice(&(eight_hexadecimal_digits(low, upper) >> (8 * (8 - len))).to_le_bytes());
    } else {
        let first = len - 8;
        digits[..8].copy_from_slice(&(eight_hexadecimal_digits(high, upper) >> (8 * (8 - first))).to_le_bytes());
        digits[first..first + 8].copy_from_slice(&eight_hexadecimal_digits(low, upper).to_le_bytes());
    }
    (digits, len)
}

/// The largest number of decimals for which [`fixed`] is tried.
const FIXED_DECIMALS: usize = 8;

/// The most digits of [`fixed`]: those of 64 bits, a point and the decimals; and room for whole blocks.
const FIXED_BYTES: usize = 40;

/// The decimal form of a number, rounded half to even, and its length, if integers of 128 bits can hold its exact value, as for nearly
/// all numbers. It takes a small part of the time of the general way.
fn fixed(magnitude: f64, decimals: usize) -> Option<([u8; FIXED_BYTES], usize)> {
    if decimals > FIXED_DECIMALS {
        return None;
    }
    let bits = magnitude.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    // Less than 2^53 * 2^30.
    let scale = SCALES[decimals];
    let scaled = u128::from(mantissa) * u128::from(scale);
    let rounded = match exponent {
        0..=10 => scaled << exponent,
        -120..0 => {
            let shift = exponent.unsigned_abs();
            let (whole, rest, half) = (scaled >> shift, scaled & ((1 << shift) - 1), 1u128 << (shift - 1));
            whole + u128::from(rest > half || (rest == half && whole & 1 == 1))
        }
        _ => return None,
    };
    let rounded = u64::try_from(rounded).ok()?;
    let mut digits = [0; FIXED_BYTES];
    let (whole, mut len) = decimal(rounded / scale);
    digits[..24].copy_from_slice(&whole);
    if decimals > 0 {
        // The point goes before the decimals, which are the last of eight digits.
        let last = (eight_digits(rounded % scale) | ASCII_ZEROS) >> (8 * (8 - decimals));
        let place = digits.get_mut(len..len + 9)?;
        place[0] = b'.';
        place[1..].copy_from_slice(&last.to_le_bytes());
        len += 1 + decimals;
    }
    Some((digits, len))
}

/// The powers of ten, by number of decimals.
const SCALES: [u64; FIXED_DECIMALS + 1] = {
    let mut scales = [1; FIXED_DECIMALS + 1];
    let mut decimals = 1;
    while decimals <= FIXED_DECIMALS {
        scales[decimals] = 10 * scales[decimals - 1];
        decimals += 1;
    }
    scales
};

/// Where a conversion's text goes.
struct Field<'a> {
    conversion: &'a Conversion,
    width: usize,
}

impl Field<'_> {
    fn sign(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.conversion.has(PLUS), self.conversion.has(SPACE)) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    /// Writes `len` bytes, and spaces before or after them.
    fn pad(&self, out: &mut PendingText, len: usize, write: impl FnOnce(&mut PendingText)) {
        let spaces = self.width.saturating_sub(len);
        if spaces > 0 && !self.conversion.has(LEFT) {
            out.fill(spaces, b' ');
        }
        write(out);
        if spaces > 0 && self.conversion.has(LEFT) {
            out.fill(spaces, b' ');
        }
    }

    /// Writes an integer. The precision is the least number of digits; 0 at precision 0 has no digits. `fills`: zeros fill the width.
    fn digits(&self, out: &mut PendingText, prefix: &str, digits: &[u8], precision: Option<usize>, is_zero: bool, fills: bool) {
        let digits = if is_zero && precision == Some(0) { &[] } else { digits };
        let zeros = precision.unwrap_or(0).saturating_sub(digits.len());
        self.number(out, prefix, "", zeros, digits, fills);
    }

    /// A number of several parts. `fills`: zeros, not spaces, fill the width.
    #[inline]
    fn number(&self, out: &mut PendingText, sign: &str, prefix: &str, zeros: usize, digits: &[u8], fills: bool) {
        // The usual case.
        if self.width + zeros + sign.len() + prefix.len() == 0 {
            return out.extend(digits);
        }
        self.wide_number(out, sign, prefix, zeros, digits, fills);
    }

    #[inline(never)]
    fn wide_number(&self, out: &mut PendingText, sign: &str, prefix: &str, mut zeros: usize, digits: &[u8], fills: bool) {
        let mut spaces = self.width.saturating_sub(sign.len() + prefix.len() + zeros + digits.len());
        let is_left = self.conversion.has(LEFT);
        if fills && !is_left {
            zeros += std::mem::take(&mut spaces);
        }
        let before = if is_left { 0 } else { spaces };
        out.fill(before, b' ');
        for part in [sign, prefix] {
            if !part.is_empty() {
                out.extend(part.as_bytes());
            }
        }
        out.fill(zeros, b'0');
        out.extend(digits);
        out.fill(spaces - before, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: &str, packing: Packing, arguments: &[u8]) -> (String, Oddities) {
        let mut out = PendingText::default();
        let oddities = Writer::default().write(&Format::new(format.as_bytes()), packing, arguments, &mut out, |_| {});
        (str::from_utf8(out.bytes()).unwrap().to_owned(), oddities)
    }

    fn hex(text: &str) -> Vec<u8> {
        data_encoding::HEXUPPER.decode(text.replace(' ', "").as_bytes()).unwrap()
    }

    #[test]
    fn vectors_of_the_reference_library() {
        let stars = hex("06000000 2A000000 02000000 6E861BF0F9210940 05000000 616200");
        assert_eq!(written("[%*d|%.*f|%-*s|%%]", Packing::Typed64, &stars).0, "[    42|3.14|ab   |%]");
        let wide = hex("FBFFFFFFFFFFFFFF 09000000");
        assert_eq!(written("td=%td d=%d", Packing::Typed64, &wide).0, "td=-5 d=9");
        assert_eq!(written("td=%td d=%d", Packing::Typed32, &hex("FBFFFFFF 09000000")).0, "td=-5 d=9");
        let numbered = hex("0700000000000000 0900000000000000");
        assert_eq!(written("x=%d y=%d", Packing::Slots64, &numbered).0, "x=7 y=9");
        assert_eq!(written("%f", Packing::Floats32, &hex("0000C03F")).0, "1.500000");
    }

    proptest::proptest! {
        #[test]
        fn integers_make_the_same_decimals(bits: u64, near in -1e6f64..1e6, decimals in 0usize..12, quarters in 0u32..100_000) {
            for value in [f64::from_bits(bits), near, f64::from(quarters) / 8.0, f64::from(quarters) / 100.0] {
                let magnitude = value.abs();
                if magnitude.is_finite() && let Some((digits, len)) = fixed(magnitude, decimals) {
                    proptest::prop_assert_eq!(std::str::from_utf8(&digits[..len]).unwrap(), format!("{magnitude:.decimals$}"));
                }
            }
        }

        #[test]
        fn digits_are_those_of_the_standard_library(bits: u64, shift in 0u32..64) {
            let value = bits >> shift;
            let (digits, len) = decimal(value);
            proptest::prop_assert_eq!(std::str::from_utf8(&digits[..len]).unwrap(), value.to_string());
            let (digits, len) = hexadecimal_integer(value, shift % 2 == 0);
            let expected = if shift % 2 == 0 { format!("{value:X}") } else { format!("{value:x}") };
            proptest::prop_assert_eq!(std::str::from_utf8(&digits[..len]).unwrap(), expected);
        }
    }

    #[test]
    fn values_are_given_as_they_were_packed() {
        let arguments = hex("FF000000 FFFFFFFF 78797A00 000000000000D03F 41000000");
        let mut values = Vec::new();
        let format = Format::new(b"%hhd %x %s %f %c");
        let oddities = Writer::default()
            .write(&format, Packing::Typed32, &arguments, &mut PendingText::default(), |value| values.push(value));
        assert_eq!(oddities, Oddities::default());
        let expected = [Value::Int(-1), Value::Hex(0xFFFF_FFFF), Value::Text(b"xyz"), Value::Float(0.25), Value::Char(65)];
        assert_eq!(values, expected);
    }

    #[test]
    fn missing_and_hostile_arguments() {
        assert_eq!(written("a=%d b=%d", Packing::Typed32, &hex("07000000 01")), ("a=7 b=%d".into(), Oddities::MISSING_ARGUMENTS));
        assert_eq!(written("%s|%d", Packing::Typed32, b"ab"), ("ab|%d".into(), Oddities::MISSING_ARGUMENTS));
        assert_eq!(written("%d %y %d", Packing::Typed32, &hex("07000000 01000000")), ("7 %y %d".into(), Oddities::BAD_FORMAT));
        let (text, oddities) = written("%*d", Packing::Typed32, &hex("FFFFFF7F 01000000"));
        assert_eq!((text.len(), oddities), (WIDTH_LIMIT as usize, Oddities::CLAMPED));
        let (text, oddities) = written("%.*f", Packing::Typed32, &hex("FFFFFF7F 000000000000F03F"));
        assert_eq!((text.len(), oddities), (WIDTH_LIMIT as usize + 2, Oddities::CLAMPED));
        assert_eq!(written("%*d|", Packing::Typed32, &hex("00000080 01000000")).0.len(), WIDTH_LIMIT as usize + 1);
        assert_eq!(written("a%nb", Packing::Typed32, &hex("00000000")), ("ab".into(), Oddities::default()));
    }
}
