//! Packets, commands and profile records of the wire as types.
//!
//! A device sends *packets*: header (2) | type (1) | length N (u16) | payload (N) | CRC-16 (2) | `0A`. The host sends *commands* of 12
//! bytes; a capture of both lines contains them too. All numbers are little-endian.
//!
//! The protocol's document does not define the order of the header's bytes and the start of the CRC, and its author's host differs from
//! the examples; a [`Reading`] is one interpretation.

use super::crc;

/// Bytes of a packet around its payload.
pub const PACKET_OVERHEAD: usize = 8;
/// Bytes before the payload.
pub const PACKET_HEAD: usize = 5;
/// The longest packet.
pub const MAX_PACKET_BYTES: usize = PACKET_OVERHEAD + u16::MAX as usize;
/// The last byte of a packet.
pub const PACKET_END: u8 = 0x0A;
/// Bytes of a command.
pub const COMMAND_BYTES: usize = 12;
/// The first byte of a command.
pub const COMMAND_HEAD: u8 = 0x55;
/// Bytes of a profile record.
pub const RECORD_BYTES: usize = 14;
/// Bytes before the records of a profile packet: version and count.
pub const PROFILE_HEAD: usize = 3;
/// The only version of profile packets that is defined.
pub const PROFILE_VERSION: u8 = 1;
/// The default unit of times: a microsecond.
pub const TIMER_HZ: u32 = 1_000_000;

/// The type of a packet.
pub mod packet_type {
    /// A command was carried out.
    pub const ACK: u8 = 1;
    /// A command failed.
    pub const NACK: u8 = 2;
    /// [`Metadata`](super::Metadata).
    pub const METADATA: u8 = 3;
    /// [`Status`](super::Status).
    pub const STATUS: u8 = 4;
    /// Profile records.
    pub const PROFILE_DATA: u8 = 5;
}

/// An interpretation of the protocol, the same for a whole input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The header's bytes, in the order in which they are sent.
    pub header: [u8; 2],
    /// The start of the CRC over type, length and payload. It includes the header if the CRC covers the header.
    pub crc_start: u16,
    /// Whether the CRC's high byte comes first.
    pub big_endian: bool,
    /// Whether the CRC covers the payload alone, without type and length.
    pub payload_only: bool,
}

impl Reading {
    /// The dump in the protocol's document: `AA 55`, CRC from FFFF.
    pub const DOCUMENT_DUMP: Reading = Reading::of([0xAA, 0x55], 0xFFFF);
    /// The author's host: `55 AA`, CRC from 0.
    pub const HOST: Reading = Reading::of([0x55, 0xAA], 0);
    /// The document's text literally: 0xAA55 little-endian, CRC from FFFF.
    pub const DOCUMENT_TEXT: Reading = Reading::of([0x55, 0xAA], 0xFFFF);
    /// The fourth of these.
    pub const FOURTH: Reading = Reading::of([0xAA, 0x55], 0);

    /// All readings, the most likely first: both orders of the header, the CRC with or without the header, or of the payload alone, from
    /// FFFF or 0, in both byte orders.
    pub const ALL: [Reading; 24] = {
        let mut all = [Reading::HOST; 24];
        let mut n = 0;
        while n < all.len() {
            let header = [[0xAA, 0x55], [0x55, 0xAA]][n % 2];
            let crc_start = [0xE5EA, 0xF8E5, 0xFFFF, 0x0000, 0xFFFF, 0x0000][n / 2 % 4 + if n >= 16 { 2 } else { 0 }];
            let big_endian = n >= 8 && n < 16 || n >= 20;
            all[n] = Reading { header, crc_start, big_endian, payload_only: n >= 16 };
            n += 1;
        }
        all
    };

    /// How many records packets with a wrong CRC contain, as their lengths say. `None`: these lengths do not add up.
    #[must_use]
    pub fn records_in_damaged(&self, mut packets: &[u8]) -> Option<u64> {
        let mut records = 0;
        while !packets.is_empty() {
            let &[one, two, kind, low, high, ..] = packets else { return None };
            let length = usize::from(u16::from_le_bytes([low, high]));
            packets = packets.get(length + PACKET_OVERHEAD..).filter(|_| [one, two] == self.header)?;
            if kind == packet_type::PROFILE_DATA {
                records += (length.saturating_sub(PROFILE_HEAD) / RECORD_BYTES) as u64;
            }
        }
        Some(records)
    }

    /// With a CRC over the header too, from `init`, low byte first.
    const fn of(header: [u8; 2], init: u16) -> Reading {
        // [`crc::update`] is not a constant function; both values are known, and a test compares them.
        let is_document = (init == 0xFFFF) == (header[0] == 0xAA);
        Reading { header, crc_start: if is_document { 0xE5EA } else { 0xF8E5 }, big_endian: false, payload_only: false }
    }

    /// The CRC from its bytes in a packet.
    #[must_use]
    pub fn crc_in(self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// Where the bytes that the CRC covers start in a packet, after its header if that is covered too.
    #[inline]
    #[must_use]
    pub fn covered_from(self) -> usize {
        if self.payload_only { PACKET_HEAD } else { 2 }
    }

    /// The bytes of the CRC of a packet of this type, length and payload.
    #[must_use]
    pub fn crc_bytes(self, body: &[u8]) -> [u8; 2] {
        let crc = crc::update(self.crc_start, body.get(self.covered_from() - 2..).unwrap_or(&[]));
        if self.big_endian { crc.to_be_bytes() } else { crc.to_le_bytes() }
    }

    /// A description for people: `header 55 AA, CRC-16/CCITT from 0000 …`.
    #[must_use]
    pub fn description(self) -> String {
        let [one, two] = self.header;
        let covers = match self.crc_start {
            0xE5EA | 0xF8E5 => "over header, type, length and payload",
            _ if self.payload_only => "over the payload",
            _ => "over type, length and payload",
        };
        let init = match (self.crc_start, self.header) {
            (0xE5EA, [0xAA, _]) | (0xF8E5, [0x55, _]) | (0xFFFF, _) => "FFFF",
            _ => "0000",
        };
        let order = if self.big_endian { ", high byte first" } else { "" };
        format!("header {one:02X} {two:02X}, CRC-16/CCITT from {init} {covers}{order}")
    }
}

/// The payload of a METADATA packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The processor's clock in Hz.
    pub mcu_clock_hz: u32,
    /// The profiling timer's rate in Hz. Times are microseconds regardless of it.
    pub timer_hz: u32,
    /// A CRC-32 of the firmware's code.
    pub build_id: u32,
    /// The firmware's version, ended by 0 if it is shorter than 16 bytes.
    pub fw_version: [u8; 16],
}

impl Metadata {
    /// Its length on the wire.
    pub const BYTES: usize = 28;

    /// Reads a payload. `None` if its length is wrong.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Metadata> {
        let payload: &[u8; Self::BYTES] = payload.try_into().ok()?;
        let (numbers, version) = payload.split_at(12);
        Some(Metadata {
            mcu_clock_hz: word(numbers, 0),
            timer_hz: word(numbers, 4),
            build_id: word(numbers, 8),
            fw_version: version.try_into().ok()?,
        })
    }

    /// Its payload.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let numbers = [self.mcu_clock_hz, self.timer_hz, self.build_id];
        let mut payload: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        payload.extend(self.fw_version);
        payload
    }

    /// The version as text; bytes that are not UTF-8 replaced.
    #[must_use]
    pub fn version(&self) -> String {
        let end = self.fw_version.iter().position(|&byte| byte == 0).unwrap_or(self.fw_version.len());
        String::from_utf8_lossy(&self.fw_version[..end]).into_owned()
    }
}

/// The payload of a STATUS packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether profiling is on: any number except 0.
    pub is_profiling: u8,
    /// The number of overflows of the device's buffer.
    pub buffer_overflows: u32,
    /// The number of records captured by the device.
    pub records_captured: u32,
    /// The fill of the device's buffer, in percent.
    pub usage_percent: u8,
}

impl Status {
    /// Its length on the wire.
    pub const BYTES: usize = 10;

    /// Reads a payload. `None` if its length is wrong.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Status> {
        let payload: &[u8; Self::BYTES] = payload.try_into().ok()?;
        Some(Status {
            is_profiling: payload[0],
            buffer_overflows: word(payload, 1),
            records_captured: word(payload, 5),
            usage_percent: payload[9],
        })
    }

    /// Its payload.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = vec![self.is_profiling];
        payload.extend(self.buffer_overflows.to_le_bytes());
        payload.extend(self.records_captured.to_le_bytes());
        payload.push(self.usage_percent);
        payload
    }
}

/// A completed call of a function, in a profile packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileRecord {
    /// The function, or an address within it.
    pub func_addr: u32,
    /// The time of its entry, in microseconds; wraps.
    pub entry_us: u32,
    /// Its duration, including the functions that it called, in microseconds.
    pub duration_us: u32,
    /// The number of functions open around it. It wraps below 0 to 65535 when profiling starts within a function.
    pub depth: u16,
}

impl ProfileRecord {
    /// Reads a record.
    #[inline]
    #[must_use]
    pub fn read(bytes: &[u8; RECORD_BYTES]) -> ProfileRecord {
        ProfileRecord {
            func_addr: word(bytes, 0),
            entry_us: word(bytes, 4),
            duration_us: word(bytes, 8),
            depth: u16::from_le_bytes([bytes[12], bytes[13]]),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.func_addr.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.entry_us.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.duration_us.to_le_bytes());
        bytes[12..].copy_from_slice(&self.depth.to_le_bytes());
        bytes
    }
}

/// A command of the host to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Start profiling.
    Start,
    /// Stop it.
    Stop,
    /// Send a STATUS packet.
    GetStatus,
    /// Discard the captured records.
    ResetBuffers,
    /// Send a METADATA packet.
    GetMetadata,
    /// Change the configuration.
    SetConfig,
}

impl Command {
    /// All, by their code, from 1.
    pub const ALL: [Command; 6] =
        [Command::Start, Command::Stop, Command::GetStatus, Command::ResetBuffers, Command::GetMetadata, Command::SetConfig];

    /// Its code on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Its name in the protocol's document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Command::Start => "START_PROFILING",
            Command::Stop => "STOP_PROFILING",
            Command::GetStatus => "GET_STATUS",
            Command::ResetBuffers => "RESET_BUFFERS",
            Command::GetMetadata => "GET_METADATA",
            Command::SetConfig => "SET_CONFIG",
        }
    }

    /// The command of a frame of 12 bytes: known code, payload of at most 8 bytes, zeros after it, and the sum of all.
    #[must_use]
    pub fn read(frame: &[u8; COMMAND_BYTES]) -> Option<Command> {
        let [head, code, len, payload @ .., sum] = frame;
        let command = *Command::ALL.get(usize::from(code.checked_sub(1)?))?;
        let padding = payload.get(usize::from(*len)..)?;
        let is_valid = *head == COMMAND_HEAD && padding.iter().all(|&byte| byte == 0) && *sum == sum_of(&frame[..11]);
        is_valid.then_some(command)
    }

    /// Its frame. A payload of more than 8 bytes is truncated.
    #[must_use]
    pub fn frame(self, payload: &[u8]) -> [u8; COMMAND_BYTES] {
        let payload = payload.get(..8).unwrap_or(payload);
        let mut frame = [0; COMMAND_BYTES];
        frame[0] = COMMAND_HEAD;
        frame[1] = self.code();
        frame[2] = payload.len() as u8;
        frame[3..3 + payload.len()].copy_from_slice(payload);
        frame[11] = sum_of(&frame[..11]);
        frame
    }
}

fn sum_of(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, &byte| sum.wrapping_add(byte))
}

/// The word at `at`; 0 beyond the end.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}
