//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;
use traceconv::format::tracex::encode::{Buffer, Object};

/// A trace buffer whose events are made of the bytes: few threads, objects and ids, so that they belong together.
fn buffer(choice: u8, input: &[u8]) -> Vec<u8> {
    const IDS: [u32; 32] = [
        1, 1, 2, 2, 3, 4, 5, 10, 17, 20, 27, 32, 36, 52, 57, 60, 62, 63, 68, 69, 80, 83, 88, 100, 101, 107, 108, 112, 124, 309,
        4096, 0,
    ];
    let mut now = 0u32;
    let events = input.chunks_exact(8).map(|bytes| {
        let [caller, id, step, one, two, three, four, priority] = *bytes else { return [0; 8] };
        let thread = match caller % 8 {
            0..4 => u32::from(caller % 8) + 1,
            4 | 5 => u32::MAX,
            6 => 0xF0F0_F0F0,
            _ => 0,
        };
        now = now.wrapping_add(u32::from(step) << (step % 8));
        let id = IDS[usize::from(id % 32)] | u32::from(id >> 6) << 24;
        [thread, 0x8000_0000 | u32::from(priority), id, now, u32::from(one), u32::from(two), u32::from(three), u32::from(four)]
    });
    let thread = |pointer| Object { kind: 1, pointer, parameters: [0, 200], priority: Some(pointer), name: "thread" };
    Buffer {
        is_big: choice & 2 != 0,
        is_wide: choice & 8 != 0,
        time_mask: if choice & 4 != 0 { 0xFFFF } else { u32::MAX },
        objects: (1..4).map(thread).collect(),
        slots: 1 + usize::from(choice >> 3) * 8,
        events: events.collect(),
    }
    .bytes()
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how to make a recording of the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let bytes = if choice & 1 != 0 { buffer(choice, input) } else { input.to_vec() };
    conversion::check("tracex", &[], &bytes, conversion::detail(choice >> 6), 16 + usize::from(choice >> 3));
});
