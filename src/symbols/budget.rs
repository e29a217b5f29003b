//! Guards of the readers: signatures of other files, and how much work a hostile file may cause.

/// The kind of another file, by its first bytes.
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

/// How much work a file may cause: a hostile one can describe endless tables in few bytes. An honest file needs less than
/// the size of the file, counted in bytes, entries and attributes.
pub(super) struct Budget {
    left: u64,
}

/// The budget is used up.
pub(super) struct Exhausted;

impl Budget {
    /// For a file (or section) of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Budget {
        Budget { left: (bytes as u64).saturating_mul(8).saturating_add(1 << 16) }
    }

    /// Takes `amount` from the rest.
    pub(super) fn spend(&mut self, amount: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(amount as u64).ok_or(Exhausted)?;
        Ok(())
    }
}
