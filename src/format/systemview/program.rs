//! Whether the program that is given is the one that ran: ESP-IDF sends the begin of the SHA-256 of its ELF file.

use crate::format::program::{ElfFile, refusal, shortcomings};
use crate::format::{Detail, Facts};
use crate::symbols::sha256_digits;

/// The key of the SHA-256 in the description of the system.
pub const KEY: &str = "ELF_SHA256";

/// With fewer digits, a program may fit by chance.
const DIGITS: usize = 8;

/// Says whether the program is the one that ran.
pub fn describe(program: Option<&ElfFile>, recorded: Option<&str>, is_match_required: bool, facts: &mut Facts) {
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
    facts.hints.extend(shortcomings(path, &program.symbols));
    let mut detail = |value| facts.details.push(Detail { name: "program", value, source: path.clone() });
    let reason = match recorded {
        Some(digits) if sha256_digits(&program.bytes).starts_with(&digits) => {
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
        facts.refused = Some(refusal(path, &reason));
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
