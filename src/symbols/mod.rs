//! The symbols of the program that a target runs, from its ELF file: bytes in, names and source lines out.
//!
//! [`Symbols::parse`] makes tables of all that is asked for later, so that a look-up is a binary search and the file's bytes need
//! not be kept. Names come from the symbol table, as the linker knows them; lines, inlined functions and functions without a symbol come
//! from the debug information, if there is any. An honest file of any linker is read; a damaged or hostile one costs no more
//! than its size ([`SymbolsError::Damaged`], or a [`Shortcoming`] if names remain).
//!
//! On ARM the lowest bit of a code address says "Thumb" and belongs to no address: it is removed from symbols and questions alike.
//!
//! Without the feature `symbols` no file can be read: [`SymbolsError::NotBuiltIn`].

#[cfg(not(feature = "symbols"))]
mod absent;
#[cfg(feature = "symbols")]
mod budget;
mod build_id;
#[cfg(feature = "symbols")]
mod debug;
#[cfg(feature = "symbols")]
mod elf;
mod error;
#[cfg(feature = "symbols")]
mod flat;
#[cfg(feature = "symbols")]
mod name;
#[cfg(feature = "symbols")]
mod program;
#[cfg(all(test, feature = "symbols"))]
mod tests;
mod vectors;

#[cfg(not(feature = "symbols"))]
pub use absent::{Symbols, sections_named, sha256_digits};
pub use build_id::{BuildIdVerdict, Checksum, judge_build_id};
#[cfg(feature = "symbols")]
pub use elf::sections_named;
pub use error::{Shortcoming, SymbolsError};
#[cfg(feature = "symbols")]
pub use program::{Symbols, sha256_digits};
pub use vectors::{Vector, exception_name};

/// A line of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file's path, as the compiler was given it.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
}

/// A function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name, demangled.
    pub name: &'a str,
    /// Where its code begins.
    pub start: u64,
    /// How long its code is, in bytes.
    pub size_bytes: u64,
    /// Where the source declares it, if that is known; else the line that its code begins with.
    pub declared: Option<Place<'a>>,
}

/// One of the functions that an address is of: where functions are inlined, several are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its name, demangled.
    pub function: &'a str,
    /// The line that runs there: in the innermost function that of the address, in the others that of the call.
    pub place: Option<Place<'a>>,
    /// Where the source declares the function.
    pub declared: Option<Place<'a>>,
    /// Whether its code lies within the function of the next frame.
    pub is_inlined: bool,
}
