//! Whether the program that is given is the one that ran: ESP-IDF sends the begin of the SHA-256 of its ELF file.

use std::collections::BTreeMap;

use crate::format::program::{ElfFile, other_build, refusal, shortcomings};
use crate::format::{Detail, Facts};
use crate::symbols::sha256_digits;

/// The key of the SHA-256 in the description of the system.
const KEY: &str = "ELF_SHA256";

/// With fewer digits, a program may fit by chance.
const DIGITS: usize = 8;

/// The keys of the device and its core in the description of the system.
const MACHINES: [&str; 2] = ["C", "D"];

/// Words in these, and the machines that they say.
const WORDS: [(&str, &str); 4] = [("xtensa", "Xtensa"), ("riscv", "RISC-V"), ("risc-v", "RISC-V"), ("cortex", "ARM")];

/// The recorded machine, if the program is for another one.
fn other_machine<'a>(program: &ElfFile, system: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let recorded = MACHINES.into_iter().filter_map(|key| system.get(key));
    recorded.map(String::as_str).find(|recorded| {
        let recorded = recorded.to_ascii_lowercase();
        let said = WORDS.iter().find(|(word, _)| recorded.contains(word));
        said.is_some_and(|(_, machine)| !program.symbols.machine().ends_with(machine))
    })
}

/// Says whether the program is the one that ran. `system`: the recorded description.
pub fn describe(program: Option<&ElfFile>, system: &BTreeMap<String, String>, is_match_required: bool, facts: &mut Facts) {
    let recorded = system
        .get(KEY)
        .map(|digits| digits.to_ascii_lowercase())
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
            facts.hints.push(other_build(path, &reason) + " Names may be wrong.");
            reason
        }
        None => match other_machine(program, system) {
            Some(recorded) => {
                let reason = format!("it is for {}, and the recording of {recorded}", program.symbols.machine());
                facts.hints.push(other_build(path, &reason) + " Names may be wrong.");
                reason
            }
            None => "the recording does not contain its SHA-256".to_owned(),
        },
    };
    if is_match_required {
        facts.refused = Some(refusal(path, &reason));
    }
}
