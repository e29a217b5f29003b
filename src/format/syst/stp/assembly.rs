//! Packets → messages: the data of each place is put together, and messages are passed on in the order in which they began.
//!
//! A message lasts from a data packet with a time stamp to a flag or a marked data packet of the same place. Packets of other places
//! may lie between. Notices wait for the messages that began before them, so that records are in the order of their times.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::packets::{Data, PacketSpan, PacketVisitor, append_bytes};
use crate::format::syst::decode::Context;
use crate::format::syst::decoded::Notice;

/// Receives messages and notices.
pub trait MessageSink {
    /// The bytes of a message. `is_whole`: its end was seen.
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool);
    /// Any other observation.
    fn notice(&mut self, notice: Notice, value: u64, context: Context);
    /// A record of the part decoded ahead that is being joined.
    fn predecoded(&mut self, _record: u32) {}
}

/// The longest message, in bytes. All fields and the largest payload are shorter.
pub(super) const MESSAGE_LIMIT_BYTES: usize = 72 << 10;

/// How many messages and notices may wait for an earlier message that is open.
pub(super) const OPEN_LIMIT: usize = 1 << 12;

/// The number of places.
pub(super) const PLACES_LIMIT: usize = 1 << 16;

/// The bytes of an open message.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    pub whole: Vec<u8>,
    /// The lower half of the next one: D4 packets carry four bits. No sender of SyS-T is known to use them.
    half: Option<u8>,
}

impl Bytes {
    #[inline]
    pub(super) fn append(&mut self, data: Data) {
        if self.half.is_some() || data.nibbles % 2 == 1 {
            return self.append_halves(data);
        }
        append_bytes(&mut self.whole, data.value, data.nibbles / 2);
    }

    #[cold]
    fn append_halves(&mut self, data: Data) {
        for index in 0..data.nibbles {
            let nibble = (data.value >> (4 * index)) as u8 & 0xF;
            match self.half.take() {
                Some(low) => self.whole.push(nibble << 4 | low),
                None => self.half = Some(nibble),
            }
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.whole.clear();
        self.half = None;
    }

    /// The bytes, if the next ones can be appended to them.
    #[inline]
    pub(super) fn of_whole(&mut self) -> Option<&mut Vec<u8>> {
        if self.half.is_none() { Some(&mut self.whole) } else { None }
    }

    /// Whether there is no half of a byte left.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        self.half.is_none()
    }
}

/// The state of a place.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub bytes: Bytes,
    /// The number of the open message in the order of starts; `None` if no message is open.
    pub number: Option<u64>,
    pub context: Context,
    /// Data without a start is being dropped.
    pub is_beginless: bool,
}

/// A message that has begun, or a notice after such.
#[derive(Debug)]
pub(super) enum Slot {
    /// It is open, on this place.
    Waiting(u32),
    /// It has ended, but one that began earlier has not.
    Done(Vec<u8>, Context, bool),
    /// A notice and its value.
    Notice(Notice, u64, Context),
    /// As [`Slot::Done`] or [`Slot::Notice`], but decoded ahead, as this record of the part that is being joined.
    Predecoded(u32),
}

/// All places, and the messages that have begun.
#[derive(Debug)]
pub(super) struct Assembly {
    place_of: FxHashMap<(u16, u16), u32>,
    pub open: Vec<Open>,
    /// Messages in the order in which they began, and notices between them, from `first_slot` on. The first one is an open message.
    pub slots: VecDeque<Slot>,
    first_slot: u64,
    spare: Vec<Vec<u8>>,
}

impl Assembly {
    pub(super) fn new() -> Assembly {
        Assembly {
            place_of: FxHashMap::from_iter([((0, 0), 0)]),
            open: vec![Open::default()],
            slots: VecDeque::new(),
            first_slot: 0,
            spare: Vec::new(),
        }
    }

    /// The number of a master and channel.
    pub(super) fn place(&mut self, master: u16, channel: u16) -> u32 {
        match self.place_of.get(&(master, channel)) {
            Some(&place) => place,
            // No healthy stream has as many. The rest shares a place.
            None if self.open.len() >= PLACES_LIMIT => 0,
            None => {
                let place = u32::try_from(self.open.len()).unwrap_or(0);
                self.open.push(Open::default());
                self.place_of.insert((master, channel), place);
                place
            }
        }
    }

    /// Starts a message on a place: it gets the next number in the order of starts.
    #[inline]
    pub(super) fn number(&mut self, place: u32) {
        let open = &mut self.open[place as usize];
        open.is_beginless = false;
        open.number = Some(self.first_slot + self.slots.len() as u64);
        self.slots.push_back(Slot::Waiting(place));
    }

    #[inline]
    pub(super) fn begin(&mut self, place: u32, context: Context, here: u64, sink: &mut (impl MessageSink + ?Sized)) {
        self.break_off(place, here, sink);
        self.number(place);
        let open = &mut self.open[place as usize];
        open.bytes.clear();
        open.context = context;
        if self.slots.len() > OPEN_LIMIT {
            self.close_first(here, sink);
        }
    }

    #[inline]
    pub(super) fn data(
        &mut self,
        place: u32,
        data: Data,
        is_marked: bool,
        packet: impl Fn() -> (Context, u64),
        sink: &mut (impl MessageSink + ?Sized),
    ) {
        let open = &mut self.open[place as usize];
        if open.number.is_some() {
            open.bytes.append(data);
            if is_marked {
                self.end(place, packet().1, true, sink);
            } else if open.bytes.whole.len() > MESSAGE_LIMIT_BYTES {
                self.end(place, packet().1, false, sink);
            }
        } else if !open.is_beginless {
            open.is_beginless = !is_marked;
            let (context, here) = packet();
            self.notice(Notice::Beginless, 0, context, here, sink);
        }
    }

    pub(super) fn flag(&mut self, place: u32, end: u64, sink: &mut (impl MessageSink + ?Sized)) {
        let open = &mut self.open[place as usize];
        open.is_beginless = false;
        if open.number.is_some() {
            self.end(place, end, true, sink);
        }
    }

    /// A notice. It waits for the messages that are open.
    pub(super) fn notice(
        &mut self,
        notice: Notice,
        value: u64,
        context: Context,
        here: u64,
        sink: &mut (impl MessageSink + ?Sized),
    ) {
        if self.slots.is_empty() {
            return sink.notice(notice, value, context);
        }
        self.slots.push_back(Slot::Notice(notice, value, context));
        if self.slots.len() > OPEN_LIMIT {
            self.close_first(here, sink);
        }
    }

    /// The same for a notice that was decoded ahead.
    pub(super) fn predecoded_notice(&mut self, record: u32, sink: &mut (impl MessageSink + ?Sized)) {
        if self.slots.is_empty() {
            return sink.predecoded(record);
        }
        self.slots.push_back(Slot::Predecoded(record));
    }

    /// Whether messages that began before this open one are passed on after a notice about it.
    #[inline]
    pub(super) fn is_early(&self, own: Option<u64>) -> bool {
        own != Some(self.first_slot)
    }

    /// The number of the open message of a place.
    pub(super) fn open_number(&self, place: u32) -> Option<u64> {
        self.open.get(place as usize).and_then(|open| open.number)
    }

    /// Ends the oldest open message without its end.
    #[cold]
    fn close_first(&mut self, here: u64, sink: &mut (impl MessageSink + ?Sized)) {
        if let Some(&Slot::Waiting(place)) = self.slots.front() {
            self.break_off(place, here, sink);
        }
    }

    /// Ends the open message of a place, if there is one, without its end.
    #[inline]
    pub(super) fn break_off(&mut self, place: u32, here: u64, sink: &mut (impl MessageSink + ?Sized)) {
        let open = &self.open[place as usize];
        if open.number.is_some() {
            let is_early = self.is_early(open.number);
            sink.notice(Notice::Unfinished, 0, Context { len: 0, is_early, ..open.context });
            self.end(place, here, false, sink);
        }
    }

    /// Ends all open messages that began before this number without their ends.
    #[cold]
    pub(super) fn break_off_before(&mut self, number: u64, here: u64, sink: &mut (impl MessageSink + ?Sized)) {
        let count = usize::try_from(number.saturating_sub(self.first_slot)).unwrap_or(usize::MAX);
        let waiting =
            self.slots.iter().take(count).filter_map(|slot| if let &Slot::Waiting(place) = slot { Some(place) } else { None });
        for place in waiting.collect::<Vec<u32>>() {
            self.break_off(place, here, sink);
        }
    }

    /// The number of the next message.
    pub(super) fn next_number(&self) -> u64 {
        self.first_slot + self.slots.len() as u64
    }

    /// Ends the message of a place.
    #[inline]
    fn end(&mut self, place: u32, end: u64, is_whole: bool, sink: &mut (impl MessageSink + ?Sized)) {
        let open = &mut self.open[place as usize];
        let Some(number) = open.number.take() else { return };
        let mut context = open.context;
        context.len = usize::try_from(end.saturating_sub(context.offset)).unwrap_or(usize::MAX);
        let is_whole = is_whole && open.bytes.is_whole();
        if number == self.first_slot {
            sink.frame(&open.bytes.whole, context, is_whole);
            return self.pass_first(sink);
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(&open.bytes.whole);
        self.fill_slot(number, Slot::Done(kept, context, is_whole));
    }

    /// Ends the message of a place, which was decoded ahead.
    #[inline]
    pub(super) fn end_predecoded(&mut self, place: u32, record: u32, sink: &mut (impl MessageSink + ?Sized)) {
        let Some(number) = self.open[place as usize].number.take() else { return };
        if number == self.first_slot {
            sink.predecoded(record);
            return self.pass_first(sink);
        }
        self.fill_slot(number, Slot::Predecoded(record));
    }

    /// A message of a place that began and ended, and was decoded ahead.
    #[inline]
    pub(super) fn pass_predecoded(&mut self, place: u32, record: u32, sink: &mut (impl MessageSink + ?Sized)) {
        if self.slots.is_empty() {
            self.open[place as usize].is_beginless = false;
            self.first_slot += 1;
            return sink.predecoded(record);
        }
        self.number(place);
        self.end_predecoded(place, record, sink);
    }

    fn fill_slot(&mut self, number: u64, done: Slot) {
        let index = usize::try_from(number - self.first_slot).unwrap_or(usize::MAX);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = done;
        }
    }

    /// After the oldest message was passed on: passes on those after it, up to the next open one.
    #[inline]
    fn pass_first(&mut self, sink: &mut (impl MessageSink + ?Sized)) {
        self.slots.pop_front();
        self.first_slot += 1;
        while let Some(Slot::Done(..) | Slot::Notice(..) | Slot::Predecoded(_)) = self.slots.front() {
            self.first_slot += 1;
            match self.slots.pop_front() {
                Some(Slot::Notice(notice, value, context)) => sink.notice(notice, value, context),
                Some(Slot::Done(bytes, context, is_whole)) => {
                    sink.frame(&bytes, context, is_whole);
                    self.spare.push(bytes);
                }
                Some(Slot::Predecoded(record)) => sink.predecoded(record),
                _ => {}
            }
        }
    }

    /// The stream has ended: ends all open messages.
    pub(super) fn finish(&mut self, here: u64, sink: &mut (impl MessageSink + ?Sized)) {
        while !self.slots.is_empty() {
            self.close_first(here, sink);
        }
    }
}

/// Puts the messages of packets together and passes them to a sink.
pub(super) struct Assembler<'a, S: MessageSink + ?Sized> {
    pub assembly: &'a mut Assembly,
    pub sink: &'a mut S,
}

impl<S: MessageSink + ?Sized> PacketVisitor for Assembler<'_, S> {
    fn place(&mut self, master: u16, channel: u16) -> u32 {
        self.assembly.place(master, channel)
    }

    #[inline]
    fn begin(&mut self, place: u32, context: Context, here: u64) {
        self.assembly.begin(place, context, here, self.sink);
    }

    #[inline]
    fn data(&mut self, place: u32, data: Data, is_marked: bool, packet: PacketSpan<'_>) {
        self.assembly.data(place, data, is_marked, || (packet.context(), packet.end()), self.sink);
    }

    #[inline]
    fn open_bytes(&mut self, place: u32) -> Option<&mut Vec<u8>> {
        self.assembly.open.get_mut(place as usize).filter(|open| open.number.is_some())?.bytes.of_whole()
    }

    fn flag(&mut self, place: u32, end: u64) {
        self.assembly.flag(place, end, self.sink);
    }

    fn break_off(&mut self, place: u32, here: u64) {
        self.assembly.break_off(place, here, self.sink);
    }

    fn break_off_all(&mut self, here: u64) {
        self.assembly.break_off_before(self.assembly.next_number(), here, self.sink);
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.assembly.notice(notice, value, context, context.offset, self.sink);
    }

    fn time_digits(&mut self, _known: u64) {}
}
