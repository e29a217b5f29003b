//! Arguments of records.

use crate::model::Tagged;

/// What an argument is called: one of the names below, or by its place among those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u16);

impl Key {
    /// The number of a catalog's format.
    pub const CATALOG_ID: Key = Key(0);
    /// Bytes, as hex.
    pub const DATA: Key = Key(1);
    /// How many bytes there are.
    pub const DATA_LENGTH: Key = Key(2);
    /// The number of a structured record.
    pub const ID: Key = Key(3);
    /// Its address.
    pub const ADDRESS: Key = Key(4);
    /// Its name.
    pub const NAME: Key = Key(5);
    /// Where the target's program was.
    pub const CODE_ADDRESS: Key = Key(6);
    /// The number of a file that the collateral does not have.
    pub const FILE_ID: Key = Key(7);
    /// The line in it.
    pub const LINE: Key = Key(8);
    /// The text of a build.
    pub const TEXT: Key = Key(9);

    /// The names, in the order of the numbers above.
    const NAMES: [&str; 10] =
        ["catalog_id", "data", "data_len", "id", "address", "name", "code_address", "file_id", "line", "build_text"];

    /// An argument, by its place among those of the format.
    #[inline]
    #[must_use]
    pub fn place(place: u16) -> Key {
        Key(place.saturating_add(Self::NAMES.len() as u16))
    }

    /// The number of the key: small.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Its name, or the argument's place.
    ///
    /// # Errors
    /// The place, if it is one.
    pub fn name(self) -> Result<&'static str, usize> {
        Self::NAMES.get(self.index()).copied().ok_or(self.index().saturating_sub(Self::NAMES.len()))
    }
}

/// An argument. Texts are in [`Records::texts`](super::Records::texts).
pub type Told = Tagged<Key>;
