//! There are no random bytes here.

use std::fmt;

/// The answer to every request for random bytes.
#[derive(Debug)]
pub struct Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the page has no random bytes")
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        std::io::Error::other(error)
    }
}

/// Never fills anything.
///
/// # Errors
/// Always.
pub fn fill(_bytes: &mut [u8]) -> Result<(), Error> {
    Err(Error)
}

/// Never gives a number.
///
/// # Errors
/// Always.
pub fn u64() -> Result<u64, Error> {
    Err(Error)
}
