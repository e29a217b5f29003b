//! Names as people know them: C++ and Rust names demangled.

use std::fmt;

/// A demangled name longer than this helps nobody; the mangled one, cut off, is shown instead. In bytes.
const MAX_NAME_BYTES: usize = 4096;

/// The name for people. Names that are not mangled, or not in a known way, stay as they are.
pub(super) fn demangle(raw: &[u8]) -> Box<str> {
    let raw = String::from_utf8_lossy(raw);
    let demangled = (raw.len() <= MAX_NAME_BYTES).then(|| rust(&raw).or_else(|| cpp(&raw))).flatten();
    match demangled {
        Some(name) => name.into(),
        None => raw.get(..floor(&raw, MAX_NAME_BYTES)).unwrap_or_default().into(),
    }
}

/// The last place to cut a text at, so that at most `max` bytes stay.
fn floor(text: &str, max: usize) -> usize {
    (0..=max.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Rust's old scheme looks like C++'s; the hash at its end identifies it.
fn rust(raw: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(raw).ok()?;
    if raw.starts_with("_ZN") {
        let hash = raw.rfind("17h").and_then(|at| raw.get(at + 3..at + 20))?;
        let (digits, end) = (hash.get(..16)?, hash.get(16..)?);
        if end != "E" || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
    }
    let mut name = Bounded::default();
    // The alternative form leaves out the hash.
    fmt::write(&mut name, format_args!("{demangled:#}")).ok()?;
    Some(name.text)
}

fn cpp(raw: &str) -> Option<String> {
    if !raw.starts_with("_Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(raw.as_bytes()).ok()?;
    let mut name = Bounded::default();
    symbol.structured_demangle(&mut name, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(name.text)
}

/// A text that refuses to become too long: a short mangled name can expand to an endless one.
#[derive(Default)]
struct Bounded {
    text: String,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > MAX_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_three_languages() {
        for (raw, name) in [
            ("main", "main"),
            ("_Z3fooi", "foo(int)"),
            ("_ZN5motor12_GLOBAL__N_15limitEiii", "motor::(anonymous namespace)::limit(int, int, int)"),
            ("_ZZ12control_stepENKUliE_clEi", "control_step::{lambda(int)#1}::operator()(int) const"),
            ("_ZN5motor6DriverD0Ev", "motor::Driver::~Driver()"),
            ("_ZdlPvj", "operator delete(void*, unsigned int)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_GLOBAL__sub_I__ZN5motor6Driver3setEi", "_GLOBAL__sub_I__ZN5motor6Driver3setEi"),
            ("memcpy.constprop.0", "memcpy.constprop.0"),
            ("_Znot a name", "_Znot a name"),
        ] {
            assert_eq!(&*demangle(raw.as_bytes()), name, "{raw}");
        }
        assert_eq!(&*demangle(b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn endless_names_are_cut() {
        // Each letter pair names two substitutions before it: the text doubles with every step.
        let doubling = (0..40).fold("_Z1fI".to_owned(), |name, _| name + "1AIS_S_E");
        for raw in [doubling.as_str(), &"x".repeat(100_000), &"é".repeat(5000), &format!("_Z{}", "P".repeat(3000))] {
            assert!(demangle(raw.as_bytes()).len() <= MAX_NAME_BYTES);
        }
    }
}
