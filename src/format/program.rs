//! The option for the program that ran on the target, which several formats share.

use std::iter::Sum;
use std::sync::Arc;

use super::{FormatOptions, OptionError, OptionKind, OptionSpec};
use crate::symbols::{Function, Symbols};

/// The program.
pub const ELF: OptionSpec =
    OptionSpec::once("elf", OptionKind::File("FILE"), "The program that ran on the target: names of functions, files and lines");

/// Of formats that record a checksum of the program, or names of its functions: no other program is taken.
pub const REQUIRE_MATCH: OptionSpec = OptionSpec::once(
    "require-elf-match",
    OptionKind::Flag,
    "Refuse a program that is not known from the capture to be the one that ran",
);

/// The program, as given.
#[derive(Clone, Debug)]
pub struct ElfFile {
    /// The name of its file.
    pub path: String,
    /// The file.
    pub bytes: Arc<[u8]>,
    /// What it tells.
    pub symbols: Arc<Symbols>,
}

impl ElfFile {
    /// Reads the program, if one is given. `address_bits`: how long the addresses in the recording are, if that is known.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(options: &FormatOptions, address_bits: Option<u32>) -> Result<Option<ElfFile>, OptionError> {
        let Some((path, bytes)) = options.files(ELF.name).last() else { return Ok(None) };
        let symbols = Symbols::parse(bytes, address_bits).map_err(|error| OptionError {
            option: ELF.name,
            found: format!("`{path}` is {error}"),
            expected: error.expected().into(),
        })?;
        Ok(Some(ElfFile { path: path.to_owned(), bytes: bytes.clone(), symbols: Arc::new(symbols) }))
    }
}

/// The addresses of functions, calls and texts that were looked up in the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups {
    found: u64,
    all: u64,
}

impl Lookups {
    /// Notes whether the program has an address.
    pub fn note(&mut self, is_found: bool) {
        self.found += u64::from(is_found);
        self.all += 1;
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.all == 0
    }

    /// Says that the program lacks most of the addresses.
    #[must_use]
    pub fn hint(self) -> Option<String> {
        let Lookups { found, all } = self;
        let is_lacking = found * 2 < all;
        is_lacking.then(|| {
            format!(
                "The program has only {found} of {all} addresses in the recording: it may be another one than the one that ran."
            )
        })
    }
}

impl Sum for Lookups {
    fn sum<I: Iterator<Item = Lookups>>(all: I) -> Lookups {
        all.fold(Lookups::default(), |sum, one| Lookups { found: sum.found + one.found, all: sum.all + one.all })
    }
}

/// The functions that a recording names, looked up in the program. That is another one if it has no function of that name there.
#[derive(Clone, Debug, Default)]
pub struct NamedFunctions {
    all: u64,
    absent: u64,
    /// The first absent one.
    example: Option<String>,
}

impl NamedFunctions {
    /// Looks up a function.
    pub fn note(&mut self, symbols: &Symbols, address: u64, name: &str) {
        // It is recorded as an expression, perhaps without the namespace, and the program's has parameters and what the compiler appends.
        let word = words(name).rfind(|word| !word.is_empty()).unwrap_or(name);
        let is_there = function_from(symbols, address).is_some_and(|function| words(function.name).any(|one| one == word));
        self.all += 1;
        self.absent += u64::from(!is_there);
        if !is_there && self.example.is_none() {
            self.example = Some(name.to_owned());
        }
    }

    /// Adds those of another session.
    pub fn append(&mut self, other: &NamedFunctions) {
        self.all += other.all;
        self.absent += other.absent;
        self.example = self.example.take().or_else(|| other.example.clone());
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// Why the program is another one, if it is.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let NamedFunctions { all, absent, example } = self;
        let example = example.as_ref()?;
        Some(format!("{absent} of {all} named functions are not at these addresses in it, such as {example}"))
    }
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// The function that begins at an address. The lowest bit of a function pointer may say "Thumb".
#[must_use]
pub fn function_from(symbols: &Symbols, address: u64) -> Option<Function<'_>> {
    symbols.function_at(address).filter(|function| address - function.start <= 1)
}

/// What a program lacks, as hints.
pub fn shortcomings(path: &str, symbols: &Symbols) -> impl Iterator<Item = String> {
    symbols.shortcomings().iter().map(move |shortcoming| format!("About {path}: {shortcoming}."))
}

/// Whether the program must be the one that ran.
///
/// # Errors
/// When none is given: the user relies on this check.
pub fn is_match_required(options: &FormatOptions, is_given: bool) -> Result<bool, OptionError> {
    match options.flag(REQUIRE_MATCH.name) {
        true if !is_given => Err(OptionError {
            option: REQUIRE_MATCH.name,
            found: "no program is given".into(),
            expected: "name it with --elf FILE".into(),
        }),
        is_required => Ok(is_required),
    }
}

/// Says that a program is another one.
#[must_use]
pub fn other_build(path: &str, reason: &str) -> String {
    format!("{path} is another program or another build than the one that ran: {reason}.")
}

/// Why a program is refused.
#[must_use]
pub fn refusal(path: &str, reason: &str) -> String {
    format!("{path} is not known to be the program that ran: {reason}; give the right file, or leave out --require-elf-match")
}
