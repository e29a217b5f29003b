//! [`Symbols`] of a build without the feature `symbols`: there are none, and reading a file says so.

use super::{BuildIdVerdict, Frame, Function, Shortcoming, SymbolsError, Vector};

/// No value of it exists.
#[derive(Debug)]
pub enum Symbols {}

impl Symbols {
    /// Never succeeds.
    ///
    /// # Errors
    /// Always [`SymbolsError::NotBuiltIn`].
    pub fn parse(_bytes: &[u8], _address_bits: Option<u32>) -> Result<Symbols, SymbolsError> {
        Err(SymbolsError::NotBuiltIn)
    }
}

/// None.
#[must_use]
pub fn sections_named(_bytes: &[u8], _name: &str) -> Vec<(u64, Box<[u8]>)> {
    Vec::new()
}

/// None.
#[must_use]
pub fn sha256_digits(_bytes: &[u8]) -> String {
    String::new()
}

/// The methods that formats call, with the signatures of the real ones.
macro_rules! never {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Symbols {
            $(
                /// Never called.
                #[must_use]
                pub fn $name(&self, $($argument: $type),*) -> $result {
                    match *self {}
                }
            )*
        }
    };
}

never! {
    machine() -> &'static str;
    is_64_bit() -> bool;
    shortcomings() -> &[Shortcoming];
    functions() -> std::vec::IntoIter<Function<'_>>;
    function_at(_address: u64) -> Option<Function<'_>>;
    frames_at(_address: u64) -> Vec<Frame<'_>>;
    frames_before(_return_address: u64) -> Vec<Frame<'_>>;
    hooked_function(_address: u64) -> Option<Function<'_>>;
    text_at(_address: u64) -> Option<&str>;
    memory_from(_address: u64) -> Option<&[u8]>;
    data_at(_address: u64) -> Option<(Box<str>, u64)>;
    data_at_low(_low: u16, _is_written: bool) -> Option<Box<str>>;
    judge_build_id(_build_id: u32) -> BuildIdVerdict;
    vectors() -> &[Vector];
    is_interrupt_handler(_address: u64) -> bool;
}
