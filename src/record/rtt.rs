//! SEGGER RTT, the host's side: rings in a target's memory that a debug probe reads while the target runs.
//!
//! The target has a control block in RAM: 16 bytes of a name, the numbers of up and of down channels, and a descriptor of six words for
//! each: name, buffer, size, write position, read position, flags. The writer of a ring owns `write`, its reader owns `read`; a ring
//! whose positions are equal is empty. Layout: SEGGER's UM08001, section 16.

use std::io;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::port::{Got, Port, WAIT};

/// The name at the start of a control block.
pub const ID: [u8; 16] = *b"SEGGER RTT\0\0\0\0\0\0";
/// The name, and two numbers.
const HEAD_BYTES: u64 = 24;
const DESCRIPTOR_BYTES: u64 = 24;
/// The places of the positions in a descriptor.
const WRITE_AT: u64 = 12;
const READ_AT: u64 = 16;
/// More channels than this are not a control block.
const CHANNELS_MAX: u32 = 64;
/// RAM is searched in pieces: one that cannot be read is the end of it.
const PIECE_BYTES: u64 = 1 << 10;

/// How long the ring is left alone after it was empty.
const PAUSE: Duration = Duration::from_millis(1);

/// A way to a target.
pub trait Reach: Send {
    /// Its memory.
    ///
    /// # Errors
    /// When the target does not answer.
    fn memory(&mut self) -> io::Result<Box<dyn Memory + '_>>;
}

/// The memory of a target that runs. Addresses are those of the target; words are little-endian.
pub trait Memory {
    /// Reads bytes.
    ///
    /// # Errors
    /// When there is no memory, or the target does not answer.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes bytes; four at a multiple of four as one word.
    ///
    /// # Errors
    /// As for [`Memory::read`].
    fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()>;
}

/// The place of the control block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Somewhere in these addresses.
    Within(Range<u64>),
    /// At this one.
    At(u64),
}

/// The state of a ring.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    buffer: u64,
    size: u32,
    write: u32,
    read: u32,
    flags: u32,
}

impl Descriptor {
    fn at(memory: &mut dyn Memory, address: u64) -> io::Result<Descriptor> {
        let [_, buffer, size, write, read, flags] = words(memory, address)?;
        Ok(Descriptor { buffer: buffer.into(), size, write, read, flags })
    }

    /// Whether its positions are within its buffer.
    fn is_sound(&self) -> bool {
        self.size > 1 && self.write < self.size && self.read < self.size
    }
}

fn words<const N: usize>(memory: &mut dyn Memory, address: u64) -> io::Result<[u32; N]> {
    let mut bytes = vec![0; 4 * N];
    memory.read(address, &mut bytes)?;
    let mut words = [0; N];
    for (word, four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*four);
    }
    Ok(words)
}

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// This number of bytes; 0: there are none.
    Bytes(usize),
    /// Another one than this reader moved the position: the target began again, or another program reads the channel.
    Restarted,
}

/// A channel to the host, and the one of the same number to the target.
#[derive(Clone, Debug)]
pub struct Channel {
    up: u64,
    down: Option<u64>,
    /// The position that was written last.
    read: u32,
    /// What it is, for people.
    pub description: String,
}

impl Channel {
    /// Finds a channel.
    ///
    /// # Errors
    /// When the memory cannot be read, or does not have it.
    pub fn open(memory: &mut dyn Memory, place: &Place, number: u32) -> io::Result<Channel> {
        let not_found = |message: String| io::Error::new(io::ErrorKind::NotFound, message);
        let blocks = match place {
            Place::At(address) => vec![*address],
            Place::Within(range) => find(memory, range)?,
        };
        let mut most = 0;
        for block in &blocks {
            let [up, down] = words(memory, block + 16)?;
            let mut id = [0; 16];
            memory.read(*block, &mut id)?;
            if id != ID || up > CHANNELS_MAX || down > CHANNELS_MAX {
                continue;
            }
            most = most.max(up);
            if number >= up {
                continue;
            }
            let of = |index: u32| block + HEAD_BYTES + u64::from(index) * DESCRIPTOR_BYTES;
            let ring = Descriptor::at(memory, of(number))?;
            if ring.is_sound() {
                let when_full = ["drops a write", "cuts a write", "waits", "drops a write"][(ring.flags & 3) as usize];
                let description = format!(
                    "RTT channel {number} of {up}, {} bytes at 0x{:08x}; when it is full the target {when_full}",
                    ring.size, ring.buffer
                );
                let down = (number < down).then(|| of(up + number));
                return Ok(Channel { up: of(number), down, read: ring.read, description });
            }
        }
        Err(not_found(match (place, most) {
            (Place::Within(range), 0) => format!(
                "there is no RTT control block from 0x{:08x} to 0x{:08x}; the target has not started yet, or its RAM is elsewhere \
                 (ram=ADDRESS+LENGTH, or at=ADDRESS)",
                range.start, range.end
            ),
            (Place::At(address), 0) => format!("there is no RTT control block at 0x{address:08x}"),
            (_, most) => format!("RTT channel {number} of {most} has no buffer"),
        }))
    }

    /// Takes bytes that the target sent.
    ///
    /// # Errors
    /// When the target does not answer.
    pub fn read(&mut self, memory: &mut dyn Memory, bytes: &mut [u8]) -> io::Result<Taken> {
        let ring = Descriptor::at(memory, self.up)?;
        // The target is about to begin again.
        if !ring.is_sound() {
            return Ok(Taken::Bytes(0));
        }
        if ring.read != self.read {
            self.read = ring.read;
            return Ok(Taken::Restarted);
        }
        let end = if ring.write >= ring.read { ring.write } else { ring.size };
        let len = usize::try_from(end - ring.read).unwrap_or(usize::MAX).min(bytes.len());
        let Some(bytes) = bytes.get_mut(..len).filter(|bytes| !bytes.is_empty()) else { return Ok(Taken::Bytes(0)) };
        memory.read(ring.buffer + u64::from(ring.read), bytes)?;
        // No more than `size`.
        let next = ring.read + u32::try_from(len).unwrap_or(0);
        let next = if next == ring.size { 0 } else { next };
        memory.write(self.up + READ_AT, &next.to_le_bytes())?;
        self.read = next;
        Ok(Taken::Bytes(len))
    }

    /// Sends bytes to the target.
    ///
    /// # Errors
    /// When there is no channel to the target, or it has no room for all of them.
    pub fn send(&mut self, memory: &mut dyn Memory, bytes: &[u8]) -> io::Result<()> {
        let unsupported =
            || io::Error::new(io::ErrorKind::Unsupported, "the target has no RTT channel of this number to send to");
        let down = self.down.ok_or_else(unsupported)?;
        let ring = Descriptor::at(memory, down)?;
        if !ring.is_sound() {
            return Err(unsupported());
        }
        let (size, write) = (ring.size as usize, ring.write as usize);
        let used = (write + size - ring.read as usize) % size;
        if bytes.len() > size - 1 - used {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "the target has not read the commands before"));
        }
        let (first, second) = bytes.split_at(bytes.len().min(size - write));
        for (at, part) in [(write, first), (0, second)] {
            if !part.is_empty() {
                memory.write(ring.buffer + at as u64, part)?;
            }
        }
        let next = u32::try_from((write + bytes.len()) % size).unwrap_or(0);
        memory.write(down + WRITE_AT, &next.to_le_bytes())
    }
}

/// An open channel as a port.
pub struct RttPort<R> {
    target: R,
    channel: Channel,
    has_restarted: bool,
}

impl<R: Reach> RttPort<R> {
    /// Finds a channel.
    ///
    /// # Errors
    /// As for [`Channel::open`].
    pub fn open(mut target: R, place: &Place, number: u32) -> io::Result<RttPort<R>> {
        let channel = Channel::open(target.memory()?.as_mut(), place, number)?;
        Ok(RttPort { target, channel, has_restarted: false })
    }

    /// What it is, for people.
    pub fn description(&self) -> &str {
        &self.channel.description
    }
}

impl<R: Reach> Port for RttPort<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        if std::mem::take(&mut self.has_restarted) {
            return Ok(Got::Restarted);
        }
        let until = Instant::now() + WAIT;
        let mut memory = self.target.memory()?;
        let mut len = 0;
        while len < buffer.len() {
            match self.channel.read(memory.as_mut(), buffer.get_mut(len..).unwrap_or_default()) {
                // The target has let go of what came. The error comes again.
                Err(_) if len > 0 => break,
                Err(error) => return Err(error),
                // What came is not kept waiting for more.
                Ok(Taken::Bytes(0)) if len > 0 || Instant::now() >= until => break,
                Ok(Taken::Bytes(0)) => thread::sleep(PAUSE),
                Ok(Taken::Bytes(more)) => len += more,
                Ok(Taken::Restarted) if len == 0 => return Ok(Got::Restarted),
                Ok(Taken::Restarted) => {
                    self.has_restarted = true;
                    break;
                }
            }
        }
        Ok(if len > 0 { Got::Bytes(len) } else { Got::Nothing })
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.channel.send(self.target.memory()?.as_mut(), bytes)
    }
}

/// The places in RAM that have the name of a control block.
fn find(memory: &mut dyn Memory, range: &Range<u64>) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    // The end of the piece before, in which the name may begin.
    let mut seen: Vec<u8> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let len = PIECE_BYTES.min(range.end - at);
        let mut piece = vec![0; usize::try_from(len).unwrap_or(0)];
        match memory.read(at, &mut piece) {
            Ok(()) => {}
            Err(error) if at == range.start => return Err(error),
            Err(_) => break,
        }
        let begin = at - seen.len() as u64;
        seen.extend_from_slice(&piece);
        let names = seen.windows(ID.len()).enumerate().filter(|(_, window)| *window == ID);
        found.extend(names.map(|(index, _)| begin + index as u64));
        seen.drain(..seen.len().saturating_sub(ID.len() - 1));
        at += len;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It lies across the pieces in which RAM is searched.
    const BLOCK: u64 = 0x3f8;
    /// The descriptors of channel 1.
    const UP: u64 = BLOCK + 48;
    const DOWN: u64 = BLOCK + 96;

    /// A control block with two channels up and two down. Those of number 1 have buffers, one after the other; that to the target has 8 bytes.
    fn control_block(buffer: u32, size: u32) -> Vec<u8> {
        let mut words = vec![2, 2];
        words.extend([0; 6]);
        words.extend([0, buffer, size, 0, 0, 2]);
        words.extend([0; 6]);
        words.extend([0, buffer + size, 8, 0, 0, 0]);
        let words = words.into_iter().flat_map(u32::to_le_bytes);
        ID.into_iter().chain(words).collect()
    }

    /// RAM from an address on, and the firmware that uses it.
    struct Target {
        start: u64,
        ram: Vec<u8>,
        /// Reading at this address fails.
        broken: Option<u64>,
    }

    impl Target {
        fn new() -> Target {
            let mut target = Target { start: 0x2000_0000, ram: vec![0xa5; 4096], broken: None };
            // What an uninitialised stack may have: the name without a block.
            target.write(0x2000_0100, &ID).unwrap();
            target.write(0x2000_0000 + BLOCK, &control_block(0x2000_0800, 64)).unwrap();
            target
        }

        fn word(&mut self, address: u64) -> u32 {
            let start = self.start;
            words::<1>(self, start + address).unwrap()[0]
        }

        /// The firmware writes to channel 1 as far as there is room.
        fn produces(&mut self, bytes: &[u8]) -> usize {
            let (mut write, read) = (self.word(UP + WRITE_AT), self.word(UP + READ_AT));
            let mut taken = 0;
            for &byte in bytes {
                if (write + 1) % 64 == read {
                    break;
                }
                self.write(0x2000_0800 + u64::from(write), &[byte]).unwrap();
                write = (write + 1) % 64;
                taken += 1;
            }
            self.write(self.start + UP + WRITE_AT, &write.to_le_bytes()).unwrap();
            taken
        }

        fn consumes(&mut self) -> Vec<u8> {
            let (write, mut read) = (self.word(DOWN + WRITE_AT), self.word(DOWN + READ_AT));
            let mut all = Vec::new();
            while read != write {
                let mut byte = [0];
                self.read(0x2000_0840 + u64::from(read), &mut byte).unwrap();
                all.push(byte[0]);
                read = (read + 1) % 8;
            }
            self.write(self.start + DOWN + READ_AT, &read.to_le_bytes()).unwrap();
            all
        }
    }

    impl Memory for Target {
        fn read(&mut self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
            let at = usize::try_from(address.wrapping_sub(self.start)).unwrap_or(usize::MAX);
            let there = at.checked_add(bytes.len()).and_then(|end| self.ram.get(at..end));
            let there = there.filter(|_| self.broken != Some(address));
            bytes.copy_from_slice(there.ok_or(io::ErrorKind::AddrNotAvailable)?);
            Ok(())
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
            let at = usize::try_from(address - self.start).unwrap();
            self.ram.get_mut(at..at + bytes.len()).ok_or(io::ErrorKind::AddrNotAvailable)?.copy_from_slice(bytes);
            Ok(())
        }
    }

    impl Memory for &mut Target {
        fn read(&mut self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
            (**self).read(address, bytes)
        }

        fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
            (**self).write(address, bytes)
        }
    }

    impl Reach for Target {
        fn memory(&mut self) -> io::Result<Box<dyn Memory + '_>> {
            Ok(Box::new(self))
        }
    }

    const RAM: Place = Place::Within(0x2000_0000..0x2010_0000);

    #[test]
    fn all_bytes_arrive_whatever_the_sizes() {
        let mut target = Target::new();
        let mut channel = Channel::open(&mut target, &RAM, 1).unwrap();
        assert_eq!(channel.description, "RTT channel 1 of 2, 64 bytes at 0x20000800; when it is full the target waits");
        let sent: Vec<u8> = (0..20_000u32).map(|number| (number * 7 + number / 256) as u8).collect();
        let (mut done, mut received) = (0, Vec::new());
        for step in 0.. {
            let most = (step * 13 % 90).min(sent.len() - done);
            done += target.produces(&sent[done..done + most]);
            let mut bytes = vec![0; 1 + step * 5 % 70];
            match channel.read(&mut target, &mut bytes).unwrap() {
                Taken::Bytes(0) if done == sent.len() => break,
                Taken::Bytes(len) => received.extend_from_slice(&bytes[..len]),
                Taken::Restarted => panic!("it did not restart"),
            }
        }
        assert!(received == sent);
    }

    #[test]
    fn a_target_that_begins_again_is_noticed() {
        let mut target = Target::new();
        let mut channel = Channel::open(&mut target, &Place::At(0x2000_0000 + BLOCK), 1).unwrap();
        let mut bytes = [0; 100];
        target.produces(b"before");
        assert_eq!(channel.read(&mut target, &mut bytes).unwrap(), Taken::Bytes(6));
        // Its memory is empty at first.
        target.write(0x2000_0000 + BLOCK, &[0; 120]).unwrap();
        assert_eq!(channel.read(&mut target, &mut bytes).unwrap(), Taken::Bytes(0));
        target.write(0x2000_0000 + BLOCK, &control_block(0x2000_0800, 64)).unwrap();
        target.produces(b"after");
        assert_eq!(channel.read(&mut target, &mut bytes).unwrap(), Taken::Restarted);
        assert_eq!(channel.read(&mut target, &mut bytes).unwrap(), Taken::Bytes(5));
        assert!(bytes.starts_with(b"after"));
    }

    #[test]
    fn a_port_gives_what_is_there_and_takes_commands() {
        let mut port = RttPort::open(Target::new(), &RAM, 1).unwrap();
        assert!(port.description().starts_with("RTT channel 1 of 2"));
        let mut buffer = [0; 100];
        // The end of the ring is within the second.
        for sent in [[1; 40], [2; 40], [3; 40]] {
            assert_eq!(port.target.produces(&sent), 40);
            assert!(matches!(port.read(&mut buffer).unwrap(), Got::Bytes(40)));
            assert_eq!(buffer[..40], sent);
        }
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Nothing));
        port.target.write(0x2000_0000 + BLOCK, &control_block(0x2000_0800, 64)).unwrap();
        port.target.produces(b"after");
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Restarted));
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Bytes(5)));
        port.send(b"command").unwrap();
        assert_eq!(port.target.consumes(), b"command");
    }

    #[test]
    fn bytes_that_were_taken_before_an_error_are_given() {
        let mut port = RttPort::open(Target::new(), &RAM, 1).unwrap();
        let mut buffer = [0; 100];
        assert_eq!(port.target.produces(&[1; 40]), 40);
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Bytes(40)));
        // The rest of the ring is 24 bytes; what follows at its begin cannot be read.
        assert_eq!(port.target.produces(&[2; 40]), 40);
        port.target.broken = Some(0x2000_0800);
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Bytes(24)));
        assert!(port.read(&mut buffer).is_err());
        port.target.broken = None;
        assert!(matches!(port.read(&mut buffer).unwrap(), Got::Bytes(16)));
        assert_eq!(buffer[..16], [2; 16]);
    }

    #[test]
    fn commands_reach_the_target_if_there_is_room() {
        let mut target = Target::new();
        let mut channel = Channel::open(&mut target, &RAM, 1).unwrap();
        for command in [&b"12345"[..], b"6789ab", b"c", b""] {
            channel.send(&mut target, command).unwrap();
            assert_eq!(target.consumes(), command);
        }
        channel.send(&mut target, b"1234567").unwrap();
        assert_eq!(channel.send(&mut target, b"8").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        channel.down = None;
        assert_eq!(channel.send(&mut target, b"8").unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn wrong_places_say_why() {
        let mut target = Target::new();
        let mut error = |place: &Place, number| Channel::open(&mut target, place, number).unwrap_err().to_string();
        assert!(
            error(&Place::Within(0x2000_0000..0x2000_0200), 1).contains("no RTT control block from 0x20000000 to 0x20000200")
        );
        assert_eq!(error(&Place::At(0x2000_0400), 1), "there is no RTT control block at 0x20000400");
        assert_eq!(error(&RAM, 0), "RTT channel 0 of 2 has no buffer");
        assert_eq!(error(&RAM, 7), "RTT channel 7 of 2 has no buffer");
        assert!(Channel::open(&mut target, &Place::Within(0..100), 1).is_err());
    }

    #[test]
    fn no_memory_makes_it_panic() {
        let mut target = Target::new();
        let mut state = 1u32;
        for _ in 0..3000 {
            for byte in &mut target.ram[BLOCK as usize + 16..BLOCK as usize + 120] {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = if state >> 31 == 0 { (state >> 24) as u8 & 3 } else { (state >> 24) as u8 };
            }
            if let Ok(mut channel) = Channel::open(&mut target, &RAM, 0) {
                let _ = channel.read(&mut target, &mut [0; 70]);
                let _ = channel.send(&mut target, b"abc");
            }
        }
    }
}
