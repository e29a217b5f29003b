//! Data of unknown length on their way to being addressable: in memory while they are small, then in a temporary file that is
//! mapped.

use super::{Bytes, InputError, ReadOptions};

/// Collects data.
pub(super) struct Spool<'a> {
    #[cfg_attr(not(feature = "mmap"), expect(dead_code, reason = "without mappings everything stays in memory"))]
    options: &'a ReadOptions,
    memory: Vec<u8>,
    #[cfg(feature = "mmap")]
    file: Option<std::fs::File>,
    len: u64,
    /// The content of a layer: which one, and how long it may be.
    limit: Option<(&'static str, u64)>,
}

impl<'a> Spool<'a> {
    pub(super) fn new(options: &'a ReadOptions) -> Spool<'a> {
        Spool {
            options,
            memory: Vec::new(),
            #[cfg(feature = "mmap")]
            file: None,
            len: 0,
            limit: None,
        }
    }

    /// For the content of a layer of this name.
    pub(super) fn of_layer(options: &'a ReadOptions, layer: &'static str) -> Spool<'a> {
        Spool { limit: Some((layer, options.max_decompressed_bytes)), ..Spool::new(options) }
    }

    /// How many bytes were collected.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn push(&mut self, data: &[u8]) -> Result<(), InputError> {
        if let Some((what, limit_bytes)) = self.limit
            && self.len.saturating_add(data.len() as u64) > limit_bytes
        {
            return Err(InputError::TooLarge { what, limit_bytes });
        }
        #[cfg(feature = "mmap")]
        if self.options.mmap
            && let Some(dir) = &self.options.spool_dir
            && self.memory.len().saturating_add(data.len()) > self.options.spool_after_bytes
        {
            use std::io::Write;

            // The memory is used as the buffer of the file, so the file sees few and large writes.
            let failed = |source| InputError::Spool { dir: dir.clone(), source };
            if self.file.is_none() {
                self.file = Some(tempfile::tempfile_in(dir).map_err(failed)?);
            }
            self.file.iter_mut().try_for_each(|file| file.write_all(&self.memory)).map_err(failed)?;
            self.memory.clear();
        }
        self.memory.try_reserve(data.len()).map_err(|_| InputError::Memory(self.len))?;
        self.memory.extend_from_slice(data);
        self.len += data.len() as u64;
        Ok(())
    }

    /// The whole of it.
    pub(super) fn finish(self) -> Result<Bytes, InputError> {
        #[cfg(feature = "mmap")]
        if let (Some(mut file), Some(dir)) = (self.file, &self.options.spool_dir) {
            use std::io::{Error, Write};

            let failed = |source| InputError::Spool { dir: dir.clone(), source };
            file.write_all(&self.memory).map_err(failed)?;
            return Bytes::map(&file).ok_or_else(|| failed(Error::other("it cannot be mapped")));
        }
        Ok(Bytes::from(self.memory))
    }
}

#[cfg(all(test, feature = "mmap"))]
mod tests {
    use super::*;

    fn spooled(options: &ReadOptions, content: &[u8], step: usize) -> Bytes {
        let mut spool = Spool::new(options);
        content.chunks(step).for_each(|chunk| spool.push(chunk).unwrap());
        assert_eq!(spool.len(), content.len() as u64);
        spool.finish().unwrap()
    }

    #[test]
    fn small_data_stay_in_memory_and_large_data_are_mapped() {
        let dir = tempfile::tempdir().unwrap();
        let options = ReadOptions { spool_dir: Some(dir.path().into()), spool_after_bytes: 1000, ..ReadOptions::default() };
        let content: Vec<u8> = (0..2501u32).map(|i| i as u8).collect();
        for step in [1, 7, 1000, 1001, 2501] {
            let large = spooled(&options, &content, step);
            assert!(large.is_mapped());
            assert_eq!(*large, *content);
        }
        assert!(!spooled(&options, &content[..1000], 100).is_mapped());
        assert!(!spooled(&ReadOptions { mmap: false, ..options.clone() }, &content, 100).is_mapped());
        // The file has no name: nothing remains when this process ends.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let options = ReadOptions { spool_dir: Some("/not/there".into()), spool_after_bytes: 1, ..ReadOptions::default() };
        let error = Spool::new(&options).push(b"ab").unwrap_err();
        assert!(error.to_string().contains("temporary file in /not/there"), "{error}");
    }
}
