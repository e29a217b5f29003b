//! The buffers of SEGGER RTT in an image of a target's memory: what no host has fetched yet, or, if the target overwrites the oldest bytes,
//! the last ones before a crash.
//!
//! A control block begins with 16 bytes that identify it. Then come the numbers of buffers to the host and to the target, and for each a
//! descriptor of six words: the addresses of its name and of its bytes, its size, the offsets of the next byte to write and to read, and
//! flags. The addresses are those of the target, and the image does not say at which one it begins.

use std::ops::Range;

/// The bytes that identify a control block.
pub const ID: [u8; 16] = *b"SEGGER RTT\0\0\0\0\0\0";

/// More buffers than any target has.
const BUFFERS_LIMIT: usize = 64;

/// The address of an image's first byte has from this to this number of zero bits at its end.
const ALIGNMENTS: std::ops::RangeInclusive<u32> = 8..=28;

/// The length of the control block before the descriptors, and of a descriptor.
const HEAD_BYTES: usize = 24;
const DESCRIPTOR_BYTES: usize = 24;

/// A buffer to the host in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where it is.
    pub range: Range<usize>,
    /// Where the next byte would be written, in bytes from its start.
    pub write: usize,
    /// The length of its control block.
    pub control_block_bytes: usize,
}

impl Buffer {
    /// What was written into the buffer, the oldest first; nothing if it is empty.
    #[must_use]
    pub fn pieces(&self, image: &[u8]) -> Vec<Range<usize>> {
        // The target writes around: the byte after the newest one is the oldest one, unless the buffer was never full.
        let (older, newer) = (self.range.start + self.write..self.range.end, self.range.start..self.range.start + self.write);
        let was_full = image.get(older.clone()).is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
        [older, newer].into_iter().skip(usize::from(!was_full)).filter(|piece| !piece.is_empty()).collect()
    }
}

/// The descriptor of a buffer to the host.
#[derive(Clone, Copy)]
struct Descriptor {
    name: u32,
    bytes: u32,
    size: usize,
    write: usize,
}

/// The buffer called `name` (with its final 0) of the control block at `at`. Names are often in flash, and the image is one of the RAM:
/// then it is the buffer that would have one of the places `within` in it, if the image began at a round address.
///
/// # Errors
/// What is wrong with the control block, as the end of a sentence. `Ok(None)` if there is no such buffer.
pub fn buffer(image: &[u8], at: usize, name: &[u8], within: impl FnOnce() -> Vec<usize>) -> Result<Option<Buffer>, String> {
    let word = |offset: usize| -> Option<u32> { Some(u32::from_le_bytes(*image.get(at.checked_add(offset)?..)?.first_chunk()?)) };
    let counts = word(ID.len()).zip(word(ID.len() + 4)).map(|(up, down)| (up as usize, down as usize));
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
    let found = match by_name(image, &used, name).as_slice() {
        &[(only, start, _)] => Some((only, start)),
        named => {
            let within = within();
            best_of(named, &within).or_else(|| by_content(image, &used, &within))
        }
    };
    let control_block_bytes = HEAD_BYTES + (up + down) * DESCRIPTOR_BYTES;
    Ok(found.map(|(one, start)| Buffer { range: start..start + one.size, write: one.write, control_block_bytes }))
}

/// A buffer, where its bytes are, and the address of the image's first byte for it to be there.
type Candidate = (Descriptor, usize, u32);

/// The buffers that may have the name that is in the image, and where their bytes are. The distance between the two is that of their addresses.
fn by_name(image: &[u8], buffers: &[Descriptor], name: &[u8]) -> Vec<Candidate> {
    let places = memchr::memmem::find_iter(image, name).take(BUFFERS_LIMIT);
    let candidates = places.flat_map(|place| {
        buffers.iter().filter_map(move |one| {
            let origin = one.name.checked_sub(u32::try_from(place).ok()?)?;
            start(image, one, origin).map(|(one, start)| (one, start, origin))
        })
    });
    candidates.collect()
}

/// The one of several buffers that has one of the places `within` in it. Names of other buffers are near, and then the image would begin at
/// an address that is less round.
fn best_of(named: &[Candidate], within: &[usize]) -> Option<(Descriptor, usize)> {
    let has_content = |(one, start, _): &&Candidate| within.iter().any(|place| (*start..start + one.size).contains(place));
    let roundness = |(_, _, origin): &&Candidate| origin.trailing_zeros();
    let best = named.iter().rev().max_by_key(|one| (roundness(one) >= *ALIGNMENTS.start(), has_content(one), roundness(one)));
    best.map(|&(one, start, _)| (one, start))
}

fn by_content(image: &[u8], buffers: &[Descriptor], within: &[usize]) -> Option<(Descriptor, usize)> {
    ALIGNMENTS.rev().find_map(|bits| {
        within.iter().find_map(|&place| {
            buffers.iter().find_map(|one| {
                let least = one.bytes.checked_sub(u32::try_from(place).ok()?)?;
                let origin = least.checked_next_multiple_of(1 << bits)?;
                (origin - least < u32::try_from(one.size).ok()?).then(|| start(image, one, origin)).flatten()
            })
        })
    })
}

/// Where a buffer is, in an image that begins at the address `origin`.
fn start(image: &[u8], buffer: &Descriptor, origin: u32) -> Option<(Descriptor, usize)> {
    let start = usize::try_from(buffer.bytes.checked_sub(origin)?).ok()?;
    (start.checked_add(buffer.size)? <= image.len()).then_some((*buffer, start))
}
