//! Formats in the program's own memory: where a catalog's number is the address of the format.
//!
//! Zephyr numbers its catalog so. A number that is a hash, or counted, hardly is the address of a text's first byte; and if a collateral
//! file has the number, the program is not asked.

use crate::symbols::Symbols;

/// The format at an address of the program's constant memory: a text, from its first byte on.
pub fn format_at(symbols: &Symbols, address: u64) -> Option<&[u8]> {
    let text = symbols.text_at(address).filter(|text| !text.is_empty())?;
    let is_readable = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t' | '\x1B');
    if !text.chars().all(is_readable) {
        return None;
    }
    // In the middle of another text nothing begins.
    let before = address.checked_sub(1).and_then(|before| symbols.memory_from(before)?.first().copied());
    before.is_none_or(|byte| byte == 0 || !(byte.is_ascii_graphic() || byte == b' ' || byte >= 0x80)).then_some(text.as_bytes())
}
