//! Fields at the front of bytes, in the byte order of nearly all targets.

/// Reads fields from the front of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// A u8.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A u16.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A u32.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A u64.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes up to a NUL, which is consumed, or to the end; and whether there was a NUL.
    #[inline]
    pub fn text(&mut self) -> (&'a [u8], bool) {
        match memchr::memchr(0, self.0) {
            Some(end) => {
                let (text, rest) = self.0.split_at(end);
                self.0 = rest.get(1..).unwrap_or(&[]);
                (text, true)
            }
            None => (std::mem::take(&mut self.0), false),
        }
    }
}
