//! Stream and message buffers: their level in bytes, and the flow of the bytes from the sender to the receiver.

use std::collections::VecDeque;

use super::writer::{Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{CoreId, ObjectId, StreamOp};
use crate::track::Flow;

/// Limit of sends of one stream that are followed.
const FOLLOWED_SENDS: usize = 1024;

/// Bytes put in or taken out.
#[derive(Clone, Copy)]
pub struct Moved {
    pub object: ObjectId,
    pub op: StreamOp,
    pub bytes: u32,
    /// The level after it, in bytes.
    pub level: u32,
}

/// The content of a stream: the sends that were not received in full, oldest first, each with its flow and its remaining bytes.
#[derive(Default)]
pub struct StreamState {
    sends: VecDeque<(u64, u32)>,
    /// Bytes from before the capture began. They come out first.
    unknown_bytes: u32,
}

impl StreamState {
    /// Drops the content.
    pub fn forget(&mut self) {
        self.sends.clear();
        self.unknown_bytes = 0;
    }

    /// Bytes from an unknown sender are inside.
    pub fn holds_unknown(&mut self, bytes: u32) {
        self.unknown_bytes = bytes;
    }

    fn push_send(&mut self, flow: u64, bytes: u32) {
        if self.sends.len() >= FOLLOWED_SENDS
            && let Some((_, bytes)) = self.sends.pop_front()
        {
            self.unknown_bytes = self.unknown_bytes.saturating_add(bytes);
        }
        self.sends.push_back((flow, bytes));
    }

    /// Takes out bytes: the flow of the oldest of them, if it has not ended yet.
    fn pop_bytes(&mut self, bytes: u32) -> Option<u64> {
        let mut rest = bytes;
        let unknown = rest.min(self.unknown_bytes);
        self.unknown_bytes -= unknown;
        rest -= unknown;
        let mut first = None;
        while rest > 0
            && let Some((flow, left)) = self.sends.front_mut()
        {
            // A flow ends once, with the first of its bytes.
            let flow = std::mem::take(flow);
            first = first.or(Some(flow).filter(|&flow| flow != 0));
            let taken = rest.min(*left);
            *left -= taken;
            rest -= taken;
            if *left == 0 {
                self.sends.pop_front();
            }
        }
        first
    }
}

impl Timeline {
    pub(super) fn stream_op(&mut self, moved: Moved, from_isr: bool, at: &At<'_>) {
        let Moved { object, op, bytes, level } = moved;
        self.note_isr(from_isr, at.core);
        self.touch_object(object);
        if self.settings.operations
            && let Some(track) = self.context(from_isr, at)
        {
            let verbs = self.verbs(object, at);
            let (verb, flow) = match op {
                StreamOp::Send => {
                    let flow = self.writer.flow();
                    self.objects[object.index()].stream.push_send(flow, bytes);
                    (verbs.send, Some((flow, Flow::Out)))
                }
                StreamOp::Receive => {
                    let flow = self.objects[object.index()].stream.pop_bytes(bytes);
                    (verbs.receive, flow.map(|flow| (flow, Flow::In)))
                }
            };
            let note = Note { name: self.words.bytes, value: NoteValue::Uint(u64::from(bytes)) };
            self.writer.instant(track, at.time_ns, SliceName::Name(verb), &[note], flow);
        } else {
            match op {
                StreamOp::Send => self.objects[object.index()].stream.push_send(0, bytes),
                StreamOp::Receive => _ = self.objects[object.index()].stream.pop_bytes(bytes),
            }
        }
        self.set_level(object, level, at);
    }

    /// An interrupt that is not traced itself may have done something.
    pub(super) fn note_isr(&mut self, from_isr: bool, core: CoreId) {
        let state = self.core(core);
        state.untraced_isr = from_isr && state.isr_stack.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_ends_with_its_first_byte() {
        let mut stream = StreamState::default();
        stream.holds_unknown(3);
        stream.push_send(7, 10);
        stream.push_send(8, 5);
        assert_eq!(stream.pop_bytes(2), None);
        assert_eq!(stream.pop_bytes(2), Some(7), "one of before, one of the first send");
        assert_eq!(stream.pop_bytes(9), None, "the rest of the first send");
        assert_eq!(stream.pop_bytes(5), Some(8));
        assert_eq!(stream.pop_bytes(1), None);
        stream.push_send(9, 1);
        stream.push_send(10, 1);
        assert_eq!(stream.pop_bytes(2), Some(9));
    }

    #[test]
    fn only_a_limited_number_of_sends_is_followed() {
        let mut stream = StreamState::default();
        (1..=FOLLOWED_SENDS as u64 + 2).for_each(|flow| stream.push_send(flow, 2));
        assert_eq!(stream.pop_bytes(4), None);
        assert_eq!(stream.pop_bytes(2), Some(3));
    }
}
