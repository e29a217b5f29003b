//! The blocks of the firmware's heaps.

use rustc_hash::FxHashMap;

use super::{HeapOp, UNKNOWN_ADDRESS};

/// Limit of blocks whose sizes are known at a time.
const KNOWN_BLOCKS: usize = 1 << 16;

/// The sizes of the blocks that are taken. A block is given back with the size that it was taken with: allocators may report another one,
/// for instance that of all of the memory that the block occupied, or none.
#[derive(Clone, Debug, Default)]
pub struct HeapBlocks {
    sizes: FxHashMap<u64, u32>,
}

impl HeapBlocks {
    /// The size of the block that an operation, which reports `bytes`, is about.
    pub fn size(&mut self, op: HeapOp, address: u64, bytes: u32) -> u32 {
        match op {
            _ if address == 0 || address == UNKNOWN_ADDRESS => bytes,
            HeapOp::Allocate => {
                if self.sizes.len() < KNOWN_BLOCKS || self.sizes.contains_key(&address) {
                    self.sizes.insert(address, bytes);
                }
                bytes
            }
            HeapOp::Free => self.sizes.remove(&address).unwrap_or(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_given_back_with_the_size_that_it_was_taken_with() {
        let mut blocks = HeapBlocks::default();
        assert_eq!(blocks.size(HeapOp::Allocate, 8, 40), 40);
        assert_eq!(blocks.size(HeapOp::Free, 8, 48), 40);
        assert_eq!(blocks.size(HeapOp::Free, 8, 48), 48, "another block, taken before the recording");
        for address in [0, UNKNOWN_ADDRESS] {
            assert_eq!(blocks.size(HeapOp::Allocate, address, 40), 40);
            assert_eq!(blocks.size(HeapOp::Free, address, 48), 48);
        }
    }

    #[test]
    fn blocks_do_not_pile_up() {
        let mut blocks = HeapBlocks::default();
        for address in 1..=2 * KNOWN_BLOCKS as u64 {
            blocks.size(HeapOp::Allocate, address, 40);
        }
        assert_eq!(blocks.sizes.len(), KNOWN_BLOCKS);
        blocks.size(HeapOp::Allocate, 1, 16);
        assert_eq!(blocks.size(HeapOp::Free, 1, 0), 16);
    }
}
