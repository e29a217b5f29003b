//! Messages → STPv2 packets: for tests, fuzzing and generated captures.

use super::packets::NibbleOrder;

/// How time stamps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeScheme {
    /// Differences.
    Delta,
    /// The low digits that changed.
    Natural,
    /// The low digits of the Gray code that changed.
    Gray,
}

/// How a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a flag.
    Flag,
    /// With a flag that has a time stamp.
    FlagWithTime,
    /// With a marked data packet.
    Marked,
}

/// Writes a stream.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The stream so far; a half byte more if `half` is.
    bytes: Vec<u8>,
    half: bool,
    order: NibbleOrder,
    scheme: TimeScheme,
    /// State the order in the version packet, as STPv2.2 does.
    states_order: bool,
    time: u64,
    /// The next time stamp has all digits.
    is_whole_due: bool,
    master: u16,
    channel: u16,
}

impl Writer {
    /// A writer. `states_order`: the version packet states the order of nibbles.
    #[must_use]
    pub fn new(order: NibbleOrder, scheme: TimeScheme, states_order: bool) -> Writer {
        Writer {
            bytes: Vec::new(),
            half: false,
            order,
            scheme,
            states_order,
            time: 0,
            is_whole_due: false,
            master: 0,
            channel: 0,
        }
    }

    /// The most usual writer, after its first ASYNC.
    #[must_use]
    pub fn begun() -> Writer {
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        writer.sync();
        writer
    }

    /// The stream, with a NULL to fill the last byte.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.pad();
        self.bytes
    }

    /// Fills a half byte.
    pub fn pad(&mut self) {
        if self.half {
            self.nibble(0);
        }
    }

    /// Removes and returns the bytes written so far, except a half byte.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let keep = if self.half { self.bytes.pop() } else { None };
        std::mem::replace(&mut self.bytes, keep.into_iter().collect())
    }

    /// A nibble as it is.
    pub fn nibble(&mut self, nibble: u8) {
        match self.bytes.last_mut().filter(|_| self.half) {
            Some(last) => *last |= nibble << 4,
            None => self.bytes.push(nibble & 0xF),
        }
        self.half = !self.half;
    }

    fn op(&mut self, op: &[u8]) {
        op.iter().for_each(|&nibble| self.nibble(nibble));
    }

    fn value(&mut self, value: u64, count: usize) {
        for index in 0..count {
            let place = if self.order == NibbleOrder::Lsb { index } else { count - 1 - index };
            self.nibble((value >> (4 * place)) as u8 & 0xF);
        }
    }

    /// ASYNC and VERSION.
    pub fn sync(&mut self) {
        self.op(&[0xF; 21]);
        self.nibble(0);
        self.op(&[0xF, 0, 0]);
        let scheme = match self.scheme {
            TimeScheme::Delta => 2,
            TimeScheme::Natural => 3,
            TimeScheme::Gray => 4,
        };
        if self.states_order {
            self.op(&[scheme | 8, if self.order == NibbleOrder::Lsb { 8 } else { 0 }, 1]);
        } else {
            self.nibble(scheme);
        }
        (self.master, self.channel) = (0, 0);
    }

    /// The next time stamp has all digits, as hardware sends after an ASYNC. Differences are sent as they are.
    pub fn send_whole_time(&mut self) {
        self.is_whole_due = self.scheme != TimeScheme::Delta;
    }

    /// FREQ.
    pub fn frequency(&mut self, hz: u32) {
        self.op(&[0xF, 0, 8]);
        self.value(hz.into(), 8);
    }

    /// MERR.
    pub fn master_error(&mut self, value: u8) {
        self.nibble(2);
        self.value(value.into(), 2);
        self.channel = 0;
    }

    /// GERR.
    pub fn global_error(&mut self, value: u8) {
        self.op(&[0xF, 2]);
        self.value(value.into(), 2);
        (self.master, self.channel) = (0, 0);
    }

    /// TRIG_TS.
    pub fn trigger(&mut self, value: u8, time: u64) {
        self.op(&[0xF, 0, 7]);
        self.value(value.into(), 2);
        self.timestamp(time);
    }

    /// Goes to a master and channel, by the shortest packets.
    pub fn go_to(&mut self, master: u16, channel: u16) {
        if master != self.master {
            self.go(1, self.master, master);
            (self.master, self.channel) = (master, 0);
        }
        if channel != self.channel {
            self.go(3, self.channel, channel);
            self.channel = channel;
        }
    }

    fn go(&mut self, op: u8, from: u16, to: u16) {
        if to & 0xFF00 == from & 0xFF00 {
            self.nibble(op);
            self.value((to & 0xFF).into(), 2);
        } else {
            self.op(&[0xF, op]);
            self.value(to.into(), 4);
        }
    }

    /// A time stamp: the digits that changed, or all.
    fn timestamp(&mut self, time: u64) {
        let gray = |time: u64| time ^ time >> 1;
        let (value, changed) = match self.scheme {
            TimeScheme::Delta => (time.wrapping_sub(self.time), time.wrapping_sub(self.time)),
            TimeScheme::Natural => (time, time ^ self.time),
            TimeScheme::Gray => (gray(time), gray(time) ^ gray(self.time)),
        };
        let changed = if std::mem::take(&mut self.is_whole_due) { u64::MAX } else { changed };
        let digits = (64 - changed.leading_zeros()).div_ceil(4) as usize;
        let (size, count) = match digits {
            0..=12 => (digits as u8, digits),
            13 | 14 => (0xD, 14),
            _ => (0xE, 16),
        };
        self.nibble(size);
        self.value(value, count);
        self.time = time;
    }

    /// A data packet of 1, 2, 4 or 8 bytes.
    pub fn data(&mut self, bytes: &[u8], time: Option<u64>, marked: bool) {
        let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let size = bytes.len().ilog2() as u8;
        self.packet((4 + size, 8 + size), (value, 2 * bytes.len()), time, marked);
    }

    /// A data packet of four bits.
    pub fn data4(&mut self, nibble: u8, time: Option<u64>, marked: bool) {
        self.packet((0xC, 0xD), (nibble.into(), 1), time, marked);
    }

    /// A data packet of a value and its number of nibbles. The first op is that of plain packets, the second that of marked ones.
    fn packet(&mut self, (plain, marked): (u8, u8), (value, count): (u64, usize), time: Option<u64>, is_marked: bool) {
        match (time.is_some(), is_marked) {
            (false, false) => self.nibble(plain),
            (true, true) => self.nibble(marked),
            (true, false) => self.op(&[0xF, plain]),
            (false, true) => self.op(&[0xF, marked]),
        }
        self.value(value, count);
        if let Some(time) = time {
            self.timestamp(time);
        }
    }

    /// A flag.
    pub fn flag(&mut self, time: Option<u64>) {
        match time {
            None => self.op(&[0xF, 0xE]),
            Some(time) => {
                self.nibble(0xE);
                self.timestamp(time);
            }
        }
    }

    /// A message (of at least a byte) on the present master and channel.
    pub fn message(&mut self, bytes: &[u8], time: u64, ending: Ending) {
        let mut pieces = pieces(bytes).peekable();
        let mut start = Some(time);
        while let Some(piece) = pieces.next() {
            let marked = ending == Ending::Marked && pieces.peek().is_none();
            self.data(piece, start.take(), marked);
        }
        match ending {
            Ending::Flag => self.flag(None),
            Ending::FlagWithTime => self.flag(Some(time)),
            Ending::Marked => {}
        }
    }
}

/// A message in pieces for data packets: first the header word, then the largest pieces that fit.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    let mut is_first = true;
    std::iter::from_fn(move || {
        let size = match rest.len() {
            0 => return None,
            1 => 1,
            2 | 3 => 2,
            4..=7 => 4,
            _ if is_first => 4,
            _ => 8,
        };
        is_first = false;
        let (piece, next) = rest.split_at(size);
        rest = next;
        Some(piece)
    })
}
