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
