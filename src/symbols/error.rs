//! Why an ELF file is of no use, and what is wrong with one that is of some use.

/// Why no symbols can be read from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    /// It is no ELF file.
    #[error("not an ELF file{}", looks_like(.0))]
    NotElf(Option<&'static str>),
    /// Its headers do not hold together.
    #[error("a damaged or truncated ELF file ({0})")]
    Damaged(String),
    /// Its functions have no addresses yet.
    #[error("an ELF file that is not linked yet (an object file)")]
    NotLinked,
    /// It is a dump of memory, not a program.
    #[error("an ELF core dump")]
    Core,
    /// It is for a computer whose addresses are wider than those of the recording.
    #[error("an ELF file for {machine}, whose addresses have {found} bits, while the recording's have {expected}")]
    WrongMachine {
        /// What it is for.
        machine: &'static str,
        /// The width of its addresses in bits.
        found: u32,
        /// The width that the recording's addresses have, in bits.
        expected: u32,
    },
    /// It has neither a symbol table nor debug information.
    #[error("an ELF file without symbols (stripped)")]
    Stripped,
}

impl SymbolsError {
    /// What is expected instead, or what to try: a clause to go with the message.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        match self {
            SymbolsError::NotElf(_) => "the linker's output is expected, the one that the flashed image was made from",
            SymbolsError::Damaged(_) => "copy or build it again",
            SymbolsError::NotLinked | SymbolsError::Core => "the linked program is expected",
            SymbolsError::WrongMachine { .. } => "the program that ran on the target is expected, not a build for the host",
            SymbolsError::Stripped => "the one that the linker wrote is expected, before strip or objcopy",
        }
    }
}

fn looks_like(other: &Option<&'static str>) -> String {
    other.map(|other| format!(" but {other}")).unwrap_or_default()
}

/// What a file lacks whose names can be read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortcoming {
    /// There is no debug information: names, but no files and lines, and no inlined functions.
    NoDebugInfo,
    /// Part of the debug information could not be read. Why.
    BadDebugInfo(String),
    /// There is no symbol table: names are those of the debug information.
    NoSymbolTable,
}

impl std::fmt::Display for Shortcoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shortcoming::NoDebugInfo => {
                f.write_str("it has no debug information: no files, lines and inlined functions (build with -g)")
            }
            Shortcoming::BadDebugInfo(why) => write!(f, "part of its debug information could not be read: {why}"),
            Shortcoming::NoSymbolTable => f.write_str("it has no symbol table: names are those of its debug information"),
        }
    }
}

/// What other file this is, by its first bytes.
pub(super) fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 12] = [
        (b"MZ", "a Windows program"),
        (b"!<arch>\n", "a static library"),
        (b"\xCE\xFA\xED\xFE", "a Mach-O file"),
        (b"\xCF\xFA\xED\xFE", "a Mach-O file"),
        (b"\xCA\xFE\xBA\xBE", "a Mach-O file"),
        (b"UF2\n", "a UF2 image"),
        (b"S0", "a file of S-records"),
        (b":", "an Intel HEX file"),
        (b"\x1F\x8B", "a gzip archive"),
        (b"\x28\xB5\x2F\xFD", "a zstd archive"),
        (b"PK\x03\x04", "a zip archive"),
        (b"DfuSe", "a DfuSe image"),
    ];
    if bytes.is_empty() {
        return Some("an empty file");
    }
    kinds.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, name)| name)
}

/// How much work a file may cause: a hostile one can make few bytes stand for endless tables. What is honest needs less than
/// the size of the file, counted in bytes, entries and attributes.
pub(super) struct Budget {
    left: u64,
}

/// The budget is used up.
pub(super) struct Exhausted;

impl Budget {
    /// For a file (or section) of so many bytes.
    pub(super) fn new(bytes: usize) -> Budget {
        Budget { left: (bytes as u64).saturating_mul(8).saturating_add(1 << 16) }
    }

    /// Takes `amount` from what is left.
    pub(super) fn spend(&mut self, amount: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(amount as u64).ok_or(Exhausted)?;
        Ok(())
    }
}
