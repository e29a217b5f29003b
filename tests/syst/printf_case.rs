//! Formats with their arguments, made of any bytes, and the text that the C library's own `snprintf` prints for them.
//!
//! The property test beside this file and the fuzz target `syst_printf` share it: one makes random bytes, the other chooses them.

use std::ffi::CString;

use traceconv::printf::escape::PendingText;
use traceconv::printf::write::Writer;
use traceconv::printf::{Format, Packing};

/// The most conversions of a case.
const CONVERSIONS: u64 = 4;

/// The largest width and precision of the decoder.
const SIZE_LIMIT: i32 = 4096;

/// Room for a conversion: 309 digits before the point, `SIZE_LIMIT` after it, or as many columns.
const BUFFER_BYTES: usize = 9000;

/// The arguments for `snprintf`.
#[derive(Clone, Debug)]
enum Argument {
    Int(i32),
    Long(i64),
    Float(f64),
    Text(CString),
    Pointer(usize),
}

/// One conversion, and its arguments.
#[derive(Clone, Debug)]
struct Conversion {
    /// As the target writes it.
    format: String,
    /// As the C library gets it: without what Rust cannot pass to it.
    c_format: CString,
    /// The arguments of `*`.
    stars: Vec<i32>,
    argument: Argument,
    /// The text before it. Has no percent sign.
    before: String,
}

/// A format with its arguments.
#[derive(Clone, Debug)]
pub struct Case {
    conversions: Vec<Conversion>,
}

/// Bytes, used up as choices. Zeros follow the last one.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, end: u64) -> u64 {
        u64::from(self.byte()) % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// Small numbers and the ends of ranges are where formatting is decided.
    fn integer(&mut self) -> i64 {
        match self.below(6) {
            0 => self.word() as i64,
            1 => i64::from(self.byte() as i8),
            2 => self.of(&[0, i64::MIN, i64::MAX, i32::MAX.into(), i32::MIN.into(), u32::MAX.into(), -1]),
            3 => self.word() as i32 as i64,
            _ => (self.word() >> self.below(64)) as i64,
        }
    }

    fn float(&mut self) -> f64 {
        match self.below(6) {
            0 | 1 => f64::from_bits(self.word()),
            2 => (self.word() as i32 as f64) * 10f64.powi(self.below(24) as i32 - 12),
            // Halves and their neighbours: where rounding is decided.
            3 => f64::from(self.word() as u16) / f64::from(1u32 << self.below(16)),
            4 => f64::from(self.word() as i32) / 1e6,
            _ => {
                self.of(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, f64::MAX, 9.5, 99.95])
            }
        }
    }

    /// A width or a precision, written out or as a `*`; `negative` values are those of arguments only.
    fn size(&mut self, stars: &mut Vec<i32>) -> String {
        let (kind, value) = (self.below(16), i32::from(self.byte()));
        match kind {
            0..=6 => String::new(),
            7..=11 => (value % 40).to_string(),
            12 => (16 * value + 1).min(SIZE_LIMIT).to_string(),
            13 => {
                stars.push((16 * value + 1).min(SIZE_LIMIT));
                "*".into()
            }
            _ => {
                stars.push(value % 80 - 40);
                "*".into()
            }
        }
    }

    fn conversion(&mut self) -> Conversion {
        let letter = self.of(b"diuoxXbdiuxXbfFeEgGaAfFeEgGaAscpn%");
        // Cases that C leaves undefined are left out.
        let flags: &[u8] = match letter {
            b's' | b'c' | b'p' => b"-",
            b'n' | b'%' => b"",
            _ => b"-+ #0",
        };
        let chosen = self.byte();
        let mut decoration: String =
            flags.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, &flag)| char::from(flag)).collect();
        let mut stars = Vec::new();
        if !matches!(letter, b'n' | b'%') {
            let width = self.size(&mut stars);
            // A width does not begin with 0: that is a flag.
            decoration += width.trim_start_matches('0');
            if !matches!(letter, b'c' | b'p') && self.below(2) == 1 {
                decoration += ".";
                decoration += &self.size(&mut stars);
            }
        }
        let integers = ["", "hh", "h", "l", "ll", "z", "t", "j"];
        let (length, c_length, argument) = match letter {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' => {
                let (length, value) = (self.of(&integers), self.integer());
                let is_int = matches!(length, "" | "hh" | "h");
                (length, length, if is_int { Argument::Int(value as i32) } else { Argument::Long(value) })
            }
            b's' => {
                let len = self.below(50);
                let text: Vec<u8> = (0..len).map(|_| b' ' + self.byte() % 95).collect();
                ("", "", Argument::Text(CString::new(text).expect("it is printable")))
            }
            // A wide character is one of ASCII here: others depend on the locale.
            b'c' => (self.of(&["", "l"]), "", Argument::Int(1 + i32::from(self.byte() % 127))),
            b'p' => ("", "", Argument::Pointer(if self.below(4) == 0 { 0 } else { self.word() as usize })),
            b'n' => (self.of(&integers), "", Argument::Pointer(self.word() as usize)),
            b'%' => ("", "", Argument::Int(0)),
            // Targets pack a `long double` as a `double`; Rust cannot pass one to C.
            _ => (self.of(&["", "l", "L"]), "", Argument::Float(self.float())),
        };
        let before: String = (0..self.below(4)).map(|_| char::from(self.of(b"<a1.-* 0"))).collect();
        let letter = char::from(letter);
        Conversion {
            format: format!("%{decoration}{length}{letter}"),
            c_format: CString::new(format!("%{decoration}{c_length}{letter}")).expect("it has no NUL"),
            stars,
            argument,
            before,
        }
    }
}

impl Conversion {
    fn is(&self, letter: char) -> bool {
        self.format.ends_with(letter)
    }

    /// The text that the C library prints.
    fn printed_by_c(&self) -> String {
        if self.is('n') {
            // `%n` is left out: a decoder has no memory of the target to write to.
            return String::new();
        }
        let mut buffer = vec![0u8; BUFFER_BYTES];
        let (out, size, format) = (buffer.as_mut_ptr().cast::<libc::c_char>(), buffer.len(), self.c_format.as_ptr());
        macro_rules! print {
            ($value:expr) => {
                match *self.stars {
                    // SAFETY: `out` has `size` bytes, the format is NUL-terminated, and the arguments are those it names:
                    // `Choices::conversion` makes the format together with its arguments.
                    [] => unsafe { libc::snprintf(out, size, format, $value) },
                    // SAFETY: as above, with one `int` for a `*`.
                    [one] => unsafe { libc::snprintf(out, size, format, one, $value) },
                    // SAFETY: as above, with two.
                    [one, two, ..] => unsafe { libc::snprintf(out, size, format, one, two, $value) },
                }
            };
        }
        let len = match &self.argument {
            Argument::Int(value) => print!(*value),
            Argument::Long(value) => print!(*value),
            Argument::Float(value) => print!(*value),
            Argument::Text(value) => print!(value.as_ptr()),
            Argument::Pointer(value) => print!(*value as *const libc::c_void),
        };
        buffer.truncate(usize::try_from(len).expect("snprintf takes the format"));
        String::from_utf8_lossy(&buffer).into_owned()
    }

    fn pack(&self, packed: &mut Vec<u8>) {
        if self.is('%') {
            return;
        }
        self.stars.iter().for_each(|star| packed.extend(star.to_le_bytes()));
        match &self.argument {
            Argument::Int(value) => packed.extend(value.to_le_bytes()),
            Argument::Long(value) => packed.extend(value.to_le_bytes()),
            Argument::Float(value) => packed.extend(value.to_le_bytes()),
            Argument::Text(value) => packed.extend(value.as_bytes_with_nul()),
            Argument::Pointer(value) => packed.extend((*value as u64).to_le_bytes()),
        }
    }

    /// glibc prints `%#.2g` of 99.95 as `1.e+02`, where C11 7.21.6.1 asks for `1.0e+02`: with `#` no zero is taken away. That happens
    /// where rounding makes one digit more, so that the exponent decides for the form with an exponent.
    fn glibc_drops_zeros(&self, ours: &str) -> bool {
        let Some((mantissa, _)) = ours.split_once(['e', 'E']) else { return false };
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        self.format.contains('#') && (self.is('g') || self.is('G')) && digits.trim_matches('0') == "1"
    }
}

fn printed(format: &str, packed: &[u8]) -> String {
    let format = Format::new(format.as_bytes());
    assert_eq!(format.measure(Packing::Typed64, packed), Some(packed.len()));
    let mut out = PendingText::default();
    Writer::default().write(&format, Packing::Typed64, packed, &mut out, |_| {});
    String::from_utf8_lossy(out.bytes()).into_owned()
}

impl Case {
    /// Any bytes are a case.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Case {
        let mut choices = Choices(bytes);
        let count = 1 + choices.below(CONVERSIONS);
        Case { conversions: (0..count).map(|_| choices.conversion()).collect() }
    }

    /// Panics if the decoder prints anything else than the C library does.
    pub fn check(&self) {
        let (mut format, mut expected, mut packed) = (String::new(), String::new(), Vec::new());
        for conversion in &self.conversions {
            let mut alone = Vec::new();
            conversion.pack(&mut alone);
            let ours = printed(&conversion.format, &alone);
            let theirs = conversion.printed_by_c();
            let agreed = if ours != theirs && conversion.glibc_drops_zeros(&ours) { ours } else { theirs };
            format = format + &conversion.before + &conversion.format;
            expected = expected + &conversion.before + &agreed;
            packed.extend(alone);
        }
        assert_eq!(printed(&format, &packed), expected, "{format} {self:?}");
    }
}
