//! Structured binary data.

use super::Reader;

/// The fixed part of the payload of SBD, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sbd<'a> {
    /// The id.
    pub id: u64,
    /// The address, if there is one.
    pub address: Option<u64>,
    /// The name, if there is one.
    pub name: Option<&'a [u8]>,
    /// The data.
    pub blob: &'a [u8],
}

impl<'a> Sbd<'a> {
    /// Reads the payload of a message of this subtype; `None` if it is too short.
    #[must_use]
    pub fn read(subtype: u8, payload: &'a [u8]) -> Option<Sbd<'a>> {
        let mut reader = Reader(payload);
        let id = if subtype & 1 == 0 { reader.u32()?.into() } else { reader.u64()? };
        let address = match subtype >> 2 & 3 {
            0 => None,
            1 => Some(reader.u16()?.into()),
            2 => Some(reader.u32()?.into()),
            _ => Some(reader.u64()?),
        };
        let name = (subtype & 2 != 0).then(|| reader.text().0);
        Some(Sbd { id, address, name, blob: reader.0 })
    }

    /// The number of the ftrace event that Linux sends so, if this looks like one: the id is then what all its events begin with, the
    /// number, flags, the depth of preemption, and the process. A number or a hash that someone made up does not look like that.
    #[must_use]
    pub fn ftrace_event(&self) -> Option<u16> {
        /// The largest number of a process on Linux.
        const PID_LIMIT: u64 = 1 << 22;
        let (number, process) = (self.id as u16, self.id >> 32);
        let is_bare = self.address.is_none() && self.name.is_none();
        (is_bare && number > 0 && self.id >> 16 != 0 && process <= PID_LIMIT).then_some(number)
    }
}
