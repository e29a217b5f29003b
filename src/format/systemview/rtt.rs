//! SystemView's buffer in an image of the target's memory: packets that no host has fetched yet, or, in post-mortem mode, the last ones
//! before a crash.

use std::ops::Range;

use crate::format::{MemoryMark, MemoryRecording};
use crate::frame::rtt::{self, ID};

use super::packet;

/// The name of the buffer.
const NAME: &[u8] = b"SysView\0";

pub(super) const MARKS: &[MemoryMark] = &[MemoryMark { bytes: &ID, what: "an RTT control block" }];

/// More starts in an image are not inspected.
const STARTS_LIMIT: usize = 64;

/// SystemView's buffer of the control block at `at`.
///
/// # Errors
/// Why there is none, as the end of a sentence.
pub(super) fn read(image: &[u8], at: usize) -> Result<MemoryRecording, String> {
    let found = rtt::buffer(image, at, NAME, || packet::starts(image).take(STARTS_LIMIT).collect())?;
    let buffer = found.ok_or("the image has no buffer of SystemView for it")?;
    let pieces = buffer.pieces(image);
    let used: usize = pieces.iter().map(Range::len).sum();
    if used == 0 {
        return Err("its buffer of SystemView is empty".into());
    }
    let what = format!(
        "an RTT buffer with SystemView's packets ({} bytes, {used} of them used; control block of {} bytes at {at:#x})",
        buffer.range.len(),
        buffer.control_block_bytes
    );
    Ok(MemoryRecording { range: buffer.range, header_bytes: 0, cores: 1, what, pieces, damages: Vec::new() })
}
