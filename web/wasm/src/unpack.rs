//! The files in an archive: those that are compressed in it are handed to the page one after the other, the others are parts of it.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use traceconv::input::archive;

use super::Problem;
use super::host::{File, Output};

/// The size that all files of an archive may have when they are unpacked. One recording of this page has up to 4 GB.
const UNPACKED_MAX_BYTES: u64 = 16_000_000_000;

#[derive(Deserialize)]
pub struct Unpack {
    file: File,
}

/// The files.
#[derive(Serialize)]
pub struct Unpacked {
    members: Vec<UnpackedMember>,
}

#[derive(Serialize)]
struct UnpackedMember {
    name: String,
    /// Why it is not used.
    problem: Option<String>,
    start: u64,
    bytes: u64,
    /// Whether its place is one in the archive.
    stored: bool,
}

impl Unpack {
    /// The place of each file: in the archive (`stored`), or in what was handed out.
    pub fn answer(&self) -> Result<Unpacked, Problem> {
        let mut unpacked = 0;
        let mut members = Vec::new();
        archive::for_each(self.file.reader(), &mut |member, position, content| {
            if member.is_hidden() {
                return Ok(());
            }
            let start = position.unwrap_or(unpacked);
            let mut bytes = member.bytes;
            if position.is_none() {
                bytes = io::copy(&mut content.take(UNPACKED_MAX_BYTES - unpacked + 1), &mut Output)?;
                unpacked += bytes;
            }
            if unpacked > UNPACKED_MAX_BYTES {
                let limit = UNPACKED_MAX_BYTES / 1_000_000_000;
                return Err(io::Error::other(format!("its files have more than {limit} GB; use the program traceconv for it")));
            }
            let stored = position.is_some();
            members.push(UnpackedMember { name: member.name.clone(), problem: member.problem.clone(), start, bytes, stored });
            Ok(())
        })
        .map_err(|error| format!("is an archive that cannot be read: {error}"))?;
        Ok(Unpacked { members })
    }
}
