//! The program given by an option, and whether it is the one that ran: ESP-IDF sends the begin of the SHA-256 of its ELF file.

use std::sync::Arc;

use crate::format::{Detail, Facts, FormatOptions, OptionError, OptionKind, OptionSpec};
use crate::symbols::{Symbols, sha256_digits};

/// The key of the SHA-256 in the description of the system.
pub const KEY: &str = "ELF_SHA256";

/// With fewer digits, a program may fit by chance.
const DIGITS: usize = 8;

pub const ELF: OptionSpec = OptionSpec {
    name: "elf",
    kind: OptionKind::File("FILE"),
    repeatable: false,
    help: "The program that ran on the target: names of functions, files and lines",
};

pub const REQUIRE_MATCH: OptionSpec = OptionSpec {
    name: "require-elf-match",
    kind: OptionKind::Flag,
    repeatable: false,
    help: "Refuse a program whose checksum is not the one in the capture",
};

/// The program.
#[derive(Clone)]
pub struct Program {
    path: String,
    file: Arc<[u8]>,
    pub symbols: Arc<Symbols>,
}

impl Program {
    pub fn read(options: &FormatOptions) -> Result<Option<Program>, OptionError> {
        let Some((path, file)) = options.files(ELF.name).last() else {
            // The user relies on this check.
            return match options.flag(REQUIRE_MATCH.name) {
                true => Err(OptionError {
                    option: REQUIRE_MATCH.name,
                    found: "no program is given".into(),
                    expected: "name it with --elf FILE".into(),
                }),
                false => Ok(None),
            };
        };
        let symbols = Symbols::parse(file, Some(32)).map_err(|error| OptionError {
            option: ELF.name,
            found: format!("`{path}` is {error}"),
            expected: error.expected().into(),
        })?;
        Ok(Some(Program { path: path.to_owned(), file: file.clone(), symbols: Arc::new(symbols) }))
    }
}

/// Says whether the program is the one that ran.
pub fn describe(program: Option<&Program>, recorded: Option<&str>, is_match_required: bool, facts: &mut Facts) {
    let recorded = recorded
        .map(str::to_ascii_lowercase)
        .filter(|digits| digits.len() >= DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let Some(program) = program else {
        facts.details.extend(recorded.map(|digits| Detail {
            name: "program",
            value: format!("its SHA-256 begins with {digits}"),
            source: "recorded in the capture".to_owned(),
        }));
        return;
    };
    let path = &program.path;
    let mut detail = |value| facts.details.push(Detail { name: "program", value, source: path.clone() });
    let reason = match recorded {
        Some(digits) if sha256_digits(&program.file).starts_with(&digits) => {
            detail(format!("the one that ran: its SHA-256 begins with {digits}"));
            return;
        }
        Some(digits) => {
            let reason = format!("its SHA-256 does not begin with {digits}");
            detail(format!("another build: {reason}"));
            facts.hints.push(format!("{path} is another build than the one that ran: {reason}. Names may be wrong."));
            reason
        }
        None => "the recording does not contain its SHA-256".to_owned(),
    };
    if is_match_required {
        facts.refused = Some(format!(
            "{path} is not known to be the program that ran: {reason}; give the right file, or leave out --require-elf-match"
        ));
    }
}
