//! Errors of ELF files: those that make a file useless, and those that leave some use.

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
        /// Its machine.
        machine: &'static str,
        /// The width of its addresses in bits.
        found: u32,
        /// The width that the recording's addresses have, in bits.
        expected: u32,
    },
    /// It has neither a symbol table nor debug information.
    #[error("an ELF file without symbols (stripped)")]
    Stripped,
    /// This build cannot read ELF files.
    #[error("not readable: this build has no support for ELF files (feature `symbols`)")]
    NotBuiltIn,
}

impl SymbolsError {
    /// The expected file, or advice: a clause to go with the message.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        match self {
            SymbolsError::NotElf(_) => "the linker's output is expected, the one that the flashed image was made from",
            SymbolsError::Damaged(_) => "copy or build it again",
            SymbolsError::NotLinked | SymbolsError::Core => "the linked program is expected",
            SymbolsError::WrongMachine { .. } => "the program that ran on the target is expected, not a build for the host",
            SymbolsError::NotBuiltIn => "use a build with that feature",
            SymbolsError::Stripped => "the one that the linker wrote is expected, before strip or objcopy",
        }
    }
}

fn looks_like(other: &Option<&'static str>) -> String {
    other.map(|other| format!(" but {other}")).unwrap_or_default()
}

/// The missing parts of a file whose names can be read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortcoming {
    /// There is no debug information: names, but no files and lines, and no inlined functions.
    NoDebugInfo,
    /// Part of the debug information could not be read. Why.
    BadDebugInfo(String),
    /// Part of the debug information is in files beside the program.
    SplitDebugInfo,
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
            Shortcoming::SplitDebugInfo => f.write_str(
                "part of its debug information is in .dwo files, which are not read: inlined functions are not named \
                 (build without -gsplit-dwarf)",
            ),
            Shortcoming::NoSymbolTable => f.write_str("it has no symbol table: names are those of its debug information"),
        }
    }
}
