//! The buffers of SEGGER RTT in an image of the target's memory: SystemView's packets that no host has fetched yet, or, in post-mortem
//! mode, the last ones before a crash.
//!
//! A control block begins with 16 bytes that identify it. Then come the numbers of buffers to the host and to the target, and for each a
//! descriptor of six words: the addresses of its name and of its bytes, its size, the offsets of the next byte to write and to read, and
//! flags. The addresses are those of the target, and the image does not say at which one it begins.

use std::ops::Range;

use crate::format::{MemoryMark, MemoryRecording};

use super::packet;

/// The bytes that identify a control block.
const MARK: &[u8; 16] = b"SEGGER RTT\0\0\0\0\0\0";

/// The name of SystemView's buffer.
const NAME: &[u8] = b"SysView\0";

pub(super) const MARKS: &[MemoryMark] = &[MemoryMark { bytes: MARK, what: "an RTT control block" }];

/// More buffers than any target has.
const BUFFERS_LIMIT: usize = 64;

/// More starts in an image are not inspected.
const STARTS_LIMIT: usize = 64;

/// The address of an image's first byte has from this to this number of zero bits at its end.
const ALIGNMENTS: std::ops::RangeInclusive<u32> = 8..=28;

/// The length of the control block before the descriptors, and of a descriptor.
const HEAD_BYTES: usize = 24;
const DESCRIPTOR_BYTES: usize = 24;

/// The descriptor of a buffer to the host.
#[derive(Clone, Copy)]
struct Descriptor {
    name: u32,
    bytes: u32,
    size: usize,
    write: usize,
}

/// SystemView's buffer of the control block at `at`.
///
/// # Errors
/// Why there is none, as the end of a sentence.
pub(super) fn read(image: &[u8], at: usize) -> Result<MemoryRecording, String> {
    let word = |offset: usize| -> Option<u32> { Some(u32::from_le_bytes(*image.get(at.checked_add(offset)?..)?.first_chunk()?)) };
    let counts = word(MARK.len()).zip(word(MARK.len() + 4)).map(|(up, down)| (up as usize, down as usize));
    let Some((up, down)) = counts else { return Err("the image ends within its control block".into()) };
    if up == 0 || up > BUFFERS_LIMIT || down > BUFFERS_LIMIT {
        return Err(format!("it states {up} buffers to the host and {down} to the target"));
    }
    let descriptors = (0..up).filter_map(|index| {
        let field = |number: usize| word(HEAD_BYTES + index * DESCRIPTOR_BYTES + number * 4);
        let size = |number| field(number).map(|value| value as usize);
        Some(Descriptor { name: field(0)?, bytes: field(1)?, size: size(2)?, write: size(3)? })
    });
    let used: Vec<Descriptor> = descriptors.filter(|one| one.size > 0 && one.write < one.size).collect();
    let Some((buffer, start)) = by_name(image, &used).or_else(|| by_content(image, &used)) else {
        return Err("the image has no buffer of SystemView for it".into());
    };
    // The target writes around: the byte after the newest one is the oldest one, unless the buffer was never full.
    let older = start + buffer.write..start + buffer.size;
    let newer = start..start + buffer.write;
    let was_full = image.get(older.clone()).is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
    let pieces: Vec<Range<usize>> =
        [older, newer].into_iter().skip(usize::from(!was_full)).filter(|piece| !piece.is_empty()).collect();
    let Some(recorded) = pieces.iter().map(Range::len).reduce(|one, other| one + other) else {
        return Err("its buffer of SystemView is empty".into());
    };
    let header_bytes = HEAD_BYTES + (up + down) * DESCRIPTOR_BYTES;
    Ok(MemoryRecording {
        range: start..start + buffer.size,
        header_bytes: 0,
        cores: 1,
        what: format!(
            "an RTT buffer with SystemView's packets ({} bytes, {recorded} of them used; control block of {header_bytes} bytes at {at:#x})",
            buffer.size
        ),
        pieces,
        damages: Vec::new(),
    })
}

/// The buffer whose name is in the image, and where its bytes are. The distance between the two is that of their addresses.
fn by_name(image: &[u8], buffers: &[Descriptor]) -> Option<(Descriptor, usize)> {
    memchr::memmem::find_iter(image, NAME).find_map(|name| {
        buffers.iter().find_map(|one| {
            let origin = one.name.checked_sub(u32::try_from(name).ok()?)?;
            place(image, one, origin)
        })
    })
}

/// Names are often in flash, and the image is one of the RAM. Then the buffer is one that would have a start packet in it if the image
/// began at a round address.
fn by_content(image: &[u8], buffers: &[Descriptor]) -> Option<(Descriptor, usize)> {
    let starts: Vec<usize> = packet::starts(image).take(STARTS_LIMIT).collect();
    ALIGNMENTS.rev().find_map(|bits| {
        starts.iter().find_map(|&start| {
            buffers.iter().find_map(|one| {
                let least = one.bytes.checked_sub(u32::try_from(start).ok()?)?;
                let origin = least.checked_next_multiple_of(1 << bits)?;
                (origin - least < u32::try_from(one.size).ok()?).then(|| place(image, one, origin)).flatten()
            })
        })
    })
}

/// Where a buffer is, in an image that begins at the address `origin`.
fn place(image: &[u8], buffer: &Descriptor, origin: u32) -> Option<(Descriptor, usize)> {
    let start = usize::try_from(buffer.bytes.checked_sub(origin)?).ok()?;
    (start.checked_add(buffer.size)? <= image.len()).then_some((*buffer, start))
}
