//! Bytes that can be addressed: in memory, or mapped from a file.

use std::fs::File;
use std::ops::{Deref, Range};

/// Ranges are given back in multiples of this, in bytes: a multiple of every page size in use (4, 16 and 64 KiB), so that pages
/// which are only partly in a range are kept.
#[cfg(all(feature = "mmap", target_os = "linux"))]
const RELEASE_ALIGN: usize = 64 << 10;

/// A mapping of at most this number of bytes is not worth the call.
#[cfg(all(feature = "mmap", target_os = "linux"))]
const KEPT_BYTES: usize = 1 << 20;

/// Bytes in memory or mapped from a file.
#[derive(Debug)]
pub struct Bytes {
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    #[cfg(feature = "mmap")]
    Mapped(Mapped),
}

/// A mapped file.
#[cfg(feature = "mmap")]
#[derive(Debug)]
struct Mapped {
    // Before the map, so that it leaves the table before the file is unmapped.
    entry: super::mapped::Mapping,
    map: memmap2::Mmap,
    /// To see whether it became shorter.
    file: Option<File>,
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes { storage: Storage::Memory(bytes) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.storage {
            Storage::Memory(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Storage::Mapped(mapped) => &mapped.map,
        }
    }
}

impl Bytes {
    /// Maps a file; `None` where that cannot be done (then it has to be read).
    ///
    /// The file should not be cut short while it is mapped: reading beyond its new end is fatal (SIGBUS), unless the program has a
    /// handler (see [`super::mapped`]). That is the price of every mapping, and why there is a way without (`--no-mmap`). A file that
    /// grows is seen at its length of now.
    #[cfg(feature = "mmap")]
    #[must_use]
    pub fn map(file: &File) -> Option<Bytes> {
        // SAFETY: The mapping is read-only and nobody in this process writes to the file. Another process could; then the bytes
        // change under us, which no decoder relies on not happening: they are read through bounds-checked slices, and no value
        // read from them is trusted without a check of that very value.
        let map = unsafe { memmap2::Mmap::map(file) }.ok()?;
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        let entry = super::mapped::Mapping::enter(&map);
        Some(Bytes { storage: Storage::Mapped(Mapped { entry, map, file: file.try_clone().ok() }) })
    }

    /// Without the feature `mmap` nothing can be mapped.
    #[cfg(not(feature = "mmap"))]
    #[must_use]
    pub fn map(_file: &File) -> Option<Bytes> {
        None
    }

    /// Whether they are mapped from a file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        !matches!(self.storage, Storage::Memory(_))
    }

    /// Whether the file became shorter since it was mapped: then the bytes read are not those of the file.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        match &self.storage {
            Storage::Memory(_) => false,
            #[cfg(feature = "mmap")]
            Storage::Mapped(Mapped { entry, map, file }) => {
                let length = file.as_ref().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
                entry.was_hit() || length.is_some_and(|length| length < map.len() as u64)
            }
        }
    }

    /// Gives back the memory of a range that will not be read again soon; reading it again is correct, only slower. A hint:
    /// only mapped bytes have memory to give back, and only on Linux.
    pub fn release(&self, range: Range<usize>) {
        #[cfg(all(feature = "mmap", target_os = "linux"))]
        if let Storage::Mapped(Mapped { map, .. }) = &self.storage
            && map.len() > KEPT_BYTES
        {
            let end = range.end.min(map.len());
            // The last, partial page of the file belongs to the range when the range reaches the end.
            let end = if end == map.len() { end } else { end / RELEASE_ALIGN * RELEASE_ALIGN };
            let start = range.start.div_ceil(RELEASE_ALIGN).saturating_mul(RELEASE_ALIGN);
            if start < end {
                // SAFETY: `MADV_DONTNEED` on a shared, read-only file mapping only drops page table entries. Nothing was ever
                // written through the mapping, so there is no content to lose: the next read of such a page, by whichever thread
                // and through whichever slice, brings the same bytes from the file. The range lies within the mapping.
                let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
            }
        }
        let _ = range;
    }
}

#[cfg(all(test, feature = "mmap"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn released_bytes_can_be_read_again() {
        let content: Vec<u8> = (0..1_300_000u32).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let bytes = Bytes::map(&file).unwrap();
        assert!(bytes.is_mapped());
        assert_eq!(*bytes, *content);
        for range in [0..content.len(), 1..content.len() - 1, 70_000..200_000, 0..usize::MAX, usize::MAX - 1..usize::MAX, 5..5] {
            bytes.release(range);
            assert_eq!(*bytes, *content);
        }
    }

    /// Resident pages of the whole mapping, from the kernel.
    #[cfg(target_os = "linux")]
    fn resident_kib(bytes: &Bytes) -> u64 {
        let start = format!("{:x}-", bytes.as_ptr() as usize);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mapping = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let rss = mapping.into_iter().find(|line| line.starts_with("Rss:")).unwrap();
        rss.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn releasing_gives_memory_back() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        let bytes = Bytes::map(&file).unwrap();
        assert_eq!(bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 7 * (4 << 20));
        assert!(resident_kib(&bytes) >= 4096);
        bytes.release(0..2 << 20);
        assert!(resident_kib(&bytes) <= 2048);
        bytes.release(2 << 20..4 << 20);
        assert_eq!(resident_kib(&bytes), 0);
    }
}
