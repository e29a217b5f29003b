//! Generic framings, and the split contract.
//!
//! # The split contract
//!
//! For any cut points that a format chooses, the records of the whole input equal the records of the parts, one after the other.
//! A cut for position `at` is the first safe position at or after `at`; it depends only on the input and `at`. Formats with a
//! delimiter can be cut after any delimiter ([`split`]). Streams of packets with sync words are cut where all ways of reading
//! meet ([`sync`]).

pub mod cobs;
pub mod rtt;
pub mod sequence;
pub mod split;
pub mod swo;
pub mod sync;
pub mod tpiu;
pub mod transfer;

pub use split::MAX_FRAME_BYTES;
