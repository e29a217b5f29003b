//! A map for keys that come again soon.

use rustc_hash::FxHashMap;

/// A map from numbers to handles. Nearly all keys that are looked up were looked up shortly before: an index into a small table finds
/// these, and only the others are hashed.
///
/// The table has `PLACES` places, a power of two.
#[derive(Clone, Debug)]
pub struct RecentMap<V, const PLACES: usize = 64> {
    /// By slot.
    recent: Box<[(u64, Option<V>); PLACES]>,
    all: FxHashMap<u64, V>,
}

impl<V: Copy, const PLACES: usize> Default for RecentMap<V, PLACES> {
    fn default() -> Self {
        RecentMap { recent: Box::new([(0, None); PLACES]), all: FxHashMap::default() }
    }
}

impl<V: Copy, const PLACES: usize> RecentMap<V, PLACES> {
    #[inline]
    fn slot_of(key: u64) -> usize {
        // The product's upper bits depend on all bits of the key.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % PLACES
    }

    /// The value of a key.
    #[inline]
    pub fn get(&mut self, key: u64) -> Option<V> {
        match self.recent[Self::slot_of(key)] {
            (known, Some(value)) if known == key => Some(value),
            _ => self.find(key),
        }
    }

    #[cold]
    fn find(&mut self, key: u64) -> Option<V> {
        let found = self.all.get(&key).copied();
        if found.is_some() {
            self.recent[Self::slot_of(key)] = (key, found);
        }
        found
    }

    /// Adds a key, or gives it another value.
    pub fn insert(&mut self, key: u64, value: V) {
        self.all.insert(key, value);
        self.recent[Self::slot_of(key)] = (key, Some(value));
    }

    /// Forgets all keys and keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.recent.fill((0, None));
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_values() {
        let mut map: RecentMap<usize> = RecentMap::default();
        let mut keys: Vec<u64> = (0..2000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        keys.extend([1, u64::MAX]);
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(map.get(key), None);
            map.insert(key, number);
        }
        for _ in 0..2 {
            for (number, &key) in keys.iter().enumerate() {
                assert_eq!(map.get(key), Some(number));
            }
        }
        assert_eq!((map.get(2), map.len()), (None, keys.len()));
        map.insert(1, 7);
        assert_eq!((map.get(1), map.len()), (Some(7), keys.len()));
    }
}
