//! Samples of code: `PerfSample` packets, and the interned functions, frames and call stacks that they need.

use super::event::{CLOCK_ABSOLUTE, store};
use super::wire::{put_bytes, put_varint, varint, varint49};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::track::{Block, SampleRow, SampledStack};

/// Fields of `InternedData`.
const FUNCTION_NAMES: u32 = 5;
const FRAMES: u32 = 6;
const CALLSTACKS: u32 = 7;
const MAPPINGS: u32 = 19;

/// Fields of `TracePacket`.
const TIMESTAMP: u32 = 8;
const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
const SEQUENCE_FLAGS: u32 = 13;
const TIMESTAMP_CLOCK_ID: u32 = 58;
const PERF_SAMPLE: u32 = 66;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// Memory for the encoding.
#[derive(Default)]
pub(super) struct SampleEncoder {
    message: Vec<u8>,
    /// By name of the block: whether it is interned as a function.
    is_interned: Vec<bool>,
}

impl SampleEncoder {
    /// Appends the interned data of a block's samples.
    pub(super) fn intern(&mut self, block: &Block, interned_data: &mut Vec<u8>) {
        if block.stacks.is_empty() {
            return;
        }
        self.is_interned.clear();
        self.is_interned.resize(block.names.len(), false);
        // All code is of one program.
        self.message.clear();
        put_varint(&mut self.message, 1, 1);
        put_bytes(interned_data, MAPPINGS, &self.message);
        let mut frame = 0u64;
        for (index, SampledStack { address, names }) in (1..).zip(&block.stacks) {
            let first = frame + 1;
            for &name in names {
                if let Some(is_interned @ false) = self.is_interned.get_mut(name as usize) {
                    *is_interned = true;
                    self.message.clear();
                    put_varint(&mut self.message, 1, u64::from(name) + 1);
                    put_bytes(&mut self.message, 2, block.names.get(name as usize).unwrap_or("").as_bytes());
                    put_bytes(interned_data, FUNCTION_NAMES, &self.message);
                }
                frame += 1;
                self.message.clear();
                put_varint(&mut self.message, 1, frame);
                put_varint(&mut self.message, 2, u64::from(name) + 1);
                put_varint(&mut self.message, 3, 1);
                put_varint(&mut self.message, 4, *address);
                put_bytes(interned_data, FRAMES, &self.message);
            }
            self.message.clear();
            put_varint(&mut self.message, 1, index);
            (first..=frame).for_each(|frame| put_varint(&mut self.message, 2, frame));
            put_bytes(interned_data, CALLSTACKS, &self.message);
        }
    }

    /// Appends a packet for each sample.
    pub(super) fn append(&mut self, block: &Block, out: &mut Vec<u8>) {
        // Most samples are of the same thread as the one before.
        let mut known = None;
        let mut thread = Thread::default();
        for row in &block.samples {
            let key = Some((row.cpu, row.pid, row.tid));
            if known != key {
                (known, thread) = (key, self.thread(row));
            }
            thread.append(row, out);
        }
    }

    /// The fields that the samples of a row's thread share.
    fn thread(&mut self, row: &SampleRow) -> Thread {
        let number = |value: i32| i64::from(value).cast_unsigned();
        self.message.clear();
        put_varint(&mut self.message, 1, u64::from(row.cpu));
        put_varint(&mut self.message, 2, number(row.pid));
        put_varint(&mut self.message, 3, number(row.tid));
        let mut thread = Thread::default();
        for (place, byte) in thread.fields.as_flattened_mut().iter_mut().zip(&self.message) {
            (*place, thread.len) = (*byte, thread.len + 1);
        }
        thread
    }
}

/// The fields of `PerfSample` before the call stack: at most 28 bytes.
#[derive(Default)]
struct Thread {
    fields: [[u8; 8]; 4],
    len: usize,
}

/// The bytes between the time of a packet and the length of its sample.
const MIDDLE: [u8; 9] = [
    (TRUSTED_PACKET_SEQUENCE_ID << 3) as u8,
    SEQUENCE_ID as u8,
    (SEQUENCE_FLAGS << 3) as u8,
    NEEDS_INCREMENTAL_STATE as u8,
    (TIMESTAMP_CLOCK_ID << 3) as u8 | 0x80,
    (TIMESTAMP_CLOCK_ID >> 4) as u8,
    CLOCK_ABSOLUTE as u8,
    (PERF_SAMPLE << 3) as u8 | 2 | 0x80,
    (PERF_SAMPLE >> 4) as u8,
];

impl Thread {
    /// Appends the packet of a sample. It has less than 128 bytes.
    fn append(&self, row: &SampleRow, out: &mut Vec<u8>) {
        let (time, time_rest, time_len) = varint(row.time_ns);
        let (stack, stack_len) = varint49(u64::from(row.stack) + 1);
        let middle_at = 3 + time_len as usize;
        let thread_at = middle_at + MIDDLE.len() + 1;
        let stack_at = thread_at + self.len;
        let end = stack_at + 1 + stack_len as usize;
        let mut room = [0; 80];
        let [packet_len, sample_len] = [end - 2, end - thread_at].map(|len| len as u64);
        // Each store may write beyond its bytes; the next store overwrites that.
        store(&mut room, 0, u64::from(TRACE_PACKET << 3 | 2) | packet_len << 8 | u64::from(TIMESTAMP << 3) << 16);
        store(&mut room, 3, time);
        store(&mut room, 11, u64::from(time_rest));
        let [middle @ .., last] = MIDDLE;
        store(&mut room, middle_at, u64::from_le_bytes(middle));
        store(&mut room, middle_at + 8, u64::from(last) | sample_len << 8);
        for (index, fields) in self.fields.iter().enumerate() {
            store(&mut room, thread_at + 8 * index, u64::from_le_bytes(*fields));
        }
        store(&mut room, stack_at, 4 << 3 | stack << 8);
        out.extend_from_slice(room.get(..end).unwrap_or(&[]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_interned_once() {
        let mut block = Block { names: ["a", "b"].into_iter().collect(), ..Block::default() };
        block.stacks = vec![SampledStack { address: 5, names: vec![1, 0] }, SampledStack { address: 6, names: vec![1] }];
        block.samples = vec![SampleRow { time_ns: 9, cpu: 0, pid: 2, tid: 3, stack: 1 }];
        let (mut encoder, mut interned, mut out) = (SampleEncoder::default(), Vec::new(), Vec::new());
        encoder.intern(&block, &mut interned);
        encoder.append(&block, &mut out);
        let expected = [
            &b"\x9a\x01\x02\x08\x01"[..],
            b"\x2a\x05\x08\x02\x12\x01b\x32\x08\x08\x01\x10\x02\x18\x01\x20\x05",
            b"\x2a\x05\x08\x01\x12\x01a\x32\x08\x08\x02\x10\x01\x18\x01\x20\x05",
            b"\x3a\x06\x08\x01\x10\x01\x10\x02",
            b"\x32\x08\x08\x03\x10\x02\x18\x01\x20\x06\x3a\x04\x08\x02\x10\x03",
        ];
        assert_eq!(interned, expected.concat());
        assert_eq!(out, b"\x0a\x14\x40\x09\x50\x01\x68\x02\xd0\x03\x06\x92\x04\x08\x08\x00\x10\x02\x18\x03\x20\x02");
    }
}
