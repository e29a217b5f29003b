//! Images of a target's memory: a dump of its RAM, an ELF core file, or whatever else holds a recording among other things.
//!
//! A format declares the marks of its recordings in memory ([`Format::memory_marks`]) and reads the bytes after them;
//! here the marks are looked for, and the pieces of a recording are put together. An image may hold several recordings, one of
//! each processor's firmware for instance. Every byte of the image has its place in the account ([`Part`]).

use std::ops::Range;

use memchr::memmem::Finder;

use super::{Bytes, Damage, Input, InputError, ReadOptions};
use crate::format::{Format, MemoryMark, MemoryRecording, SAMPLE_BYTES};
use crate::model::losses;

/// More recordings than one image has. An image with more is no firmware's memory but an attack or a mistake.
pub const RECORDINGS_MAX: usize = 64;

/// How many marks are looked at. Most of an image's marks have a recording.
const MARKS_MAX: usize = 4 * RECORDINGS_MAX;

/// How much is searched before its memory is given back, in bytes.
const STEP_BYTES: usize = 1 << 20;

/// A recording that was found in an image.
#[derive(Clone)]
pub struct Recording {
    /// Whose it is.
    pub format: &'static dyn Format,
    /// Where it is.
    pub kept: MemoryRecording,
}

/// The content of an image.
#[derive(Clone, Default)]
pub struct Search {
    /// Recordings, by place.
    pub recordings: Vec<Recording>,
    /// Marks at which no recording can be read: the place, the expected recording, and the reason.
    pub refused: Vec<(usize, &'static str, String)>,
}

/// The place of a recording in the image that it was taken out of, in bytes. `header + recording + unused + outside` is the image.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Part {
    /// Its kind, for people.
    pub what: String,
    /// The length of the image.
    pub image_bytes: u64,
    /// Where it starts in the image.
    pub offset: u64,
    /// Its header.
    pub header_bytes: u64,
    /// The recording: the bytes for the decoder.
    pub recording_bytes: u64,
    /// Room in it that holds no recording (any more).
    pub unused_bytes: u64,
    /// The rest of the image.
    pub outside_bytes: u64,
}

/// How much of an image is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// As much as a format's probe is shown.
    Sample,
    /// Everything.
    Whole,
}

impl Input {
    /// Looks for recordings of these formats in the input, as an image of a target's memory.
    #[must_use]
    pub fn find_recordings(&self, formats: &[&'static dyn Format], reach: Reach) -> Search {
        let end = match reach {
            Reach::Sample => SAMPLE_BYTES.min(self.bytes.len()),
            Reach::Whole => self.bytes.len(),
        };
        let mut marks: Vec<(usize, &'static dyn Format, &MemoryMark)> = Vec::new();
        for &format in formats {
            for mark in format.memory_marks() {
                let found = find_all(&self.bytes, mark.bytes, end);
                marks.extend(found.into_iter().map(|at| (at, format, mark)));
            }
        }
        marks.sort_by_key(|mark| mark.0);
        let mut search = Search::default();
        for (index, &(at, format, mark)) in marks.iter().enumerate() {
            // A recording does not reach beyond the next one, whatever its header says.
            let next = marks.get(index + 1).map_or(self.bytes.len(), |next| next.0);
            let image = self.bytes.get(..next).unwrap_or_default();
            match format.read_memory(image, at) {
                Ok(kept) if search.recordings.len() < RECORDINGS_MAX => search.recordings.push(Recording { format, kept }),
                Ok(_) => search.refused.push((at, mark.what, format!("there are more than {RECORDINGS_MAX} of them"))),
                Err(why) => search.refused.push((at, mark.what, why)),
            }
        }
        search
    }

    /// The input that a recording in this one is.
    ///
    /// # Errors
    /// When it does not fit anywhere.
    pub fn take_out(&self, recording: &Recording, options: &ReadOptions) -> Result<Input, InputError> {
        let MemoryRecording { range, header_bytes, pieces, what, damages, .. } = &recording.kept;
        let mut input = self.of_pieces(pieces.iter().cloned(), options)?;
        let (image, whole) = (self.bytes.len() as u64, range.len() as u64);
        let (header_bytes, recording_bytes) = (*header_bytes as u64, input.bytes.len() as u64);
        input.part = Some(Part {
            what: what.clone(),
            image_bytes: image,
            offset: range.start as u64,
            header_bytes,
            recording_bytes,
            unused_bytes: whole.saturating_sub(header_bytes + recording_bytes),
            outside_bytes: image.saturating_sub(whole),
        });
        input.damages.extend(damages.iter().map(|damage| Damage {
            kind: losses::MEMORY_DAMAGED,
            offset: damage.offset as u64,
            count: 1,
            at_least_lost: 1,
            detail: format!("{} (at byte {} of the memory image)", damage.what, damage.image_offset),
        }));
        Ok(input)
    }

    /// Where in a memory image this recording was, if it was in one.
    #[must_use]
    pub fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }
}

/// Where a mark begins before `end`: a bounded number of places, in order. Searched memory is given back to the system.
fn find_all(bytes: &Bytes, mark: &[u8], end: usize) -> Vec<usize> {
    let finder = Finder::new(mark);
    let mut found = Vec::new();
    for start in (0..end).step_by(STEP_BYTES) {
        let step = start..end.min(start + STEP_BYTES);
        // A mark may extend past the step, but begins in it.
        let with_rest: Range<usize> = step.start..step.end.saturating_add(mark.len().saturating_sub(1)).min(bytes.len());
        let searched = bytes.get(with_rest).unwrap_or_default();
        let room = MARKS_MAX - found.len();
        found.extend(finder.find_iter(searched).map(|at| start + at).take(room));
        bytes.release(step);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ErasedRecording, FormatOptions, MemoryDamage, OptionError, Probe};

    /// Keeps `<mark><length of the rest><rest>`; the recording is the rest in two pieces, the second half first.
    struct Fake;

    const MARK: &[u8] = b"#mark#";

    impl Format for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn title(&self) -> &'static str {
            "Fake"
        }

        fn recorded_by(&self) -> &'static str {
            "nobody"
        }

        fn recognised_by(&self) -> &'static str {
            "nothing"
        }

        fn probe(&self, _sample: &[u8], _whole: bool) -> Option<Probe> {
            None
        }

        fn open(&self, _inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
            unreachable!("nothing is opened")
        }

        fn memory_marks(&self) -> &'static [MemoryMark] {
            &[MemoryMark { bytes: MARK, what: "a fake" }]
        }

        fn read_memory(&self, image: &[u8], at: usize) -> Result<MemoryRecording, String> {
            let data = at + MARK.len() + 1;
            let len = usize::from(*image.get(data - 1).ok_or("its header is cut off")?);
            let end = (data + len).min(image.len());
            let middle = (data + end) / 2;
            let damage = MemoryDamage { image_offset: end, offset: 0, what: "it is cut off".into() };
            let is_cut = end < data + len;
            Ok(MemoryRecording {
                range: at..end,
                header_bytes: MARK.len() + 1,
                pieces: vec![middle..end, data..middle],
                cores: 1,
                what: "a fake".into(),
                damages: if is_cut { vec![damage] } else { Vec::new() },
            })
        }

        fn generate(&self, _bytes: u64, _seed: u64, _out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
            Ok(FormatOptions::default())
        }
    }

    fn input(bytes: Vec<u8>) -> Input {
        Input::from_vec(bytes, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn recordings_are_found_wherever_they_begin_and_every_byte_has_its_place() {
        for at in [0, 1, STEP_BYTES - 7, STEP_BYTES - 6, STEP_BYTES - 1, STEP_BYTES, 3 * STEP_BYTES - 3] {
            let mut image = vec![0xEE; at];
            image.extend_from_slice(b"#mark#\x05abcde");
            image.extend_from_slice(&[0xEE; 100]);
            let image = input(image);
            let search = image.find_recordings(&[&Fake], Reach::Whole);
            assert_eq!(search.recordings.len(), 1, "at {at}");
            let found = image.take_out(&search.recordings[0], &ReadOptions::default()).unwrap();
            assert_eq!(found.bytes(), b"cdeab");
            let part = found.part().unwrap();
            assert_eq!((part.offset, part.recording_bytes, part.header_bytes, part.unused_bytes), (at as u64, 5, 7, 0));
            assert_eq!(part.header_bytes + part.recording_bytes + part.unused_bytes + part.outside_bytes, part.image_bytes);
            assert_eq!(part.image_bytes, image.bytes().len() as u64);
            assert_eq!(image.find_recordings(&[&Fake], Reach::Sample).recordings.len(), usize::from(at < SAMPLE_BYTES));
        }
    }

    #[test]
    fn a_recording_ends_where_the_next_one_begins() {
        let image = input(b"..#mark#\xFFab#mark#\x02cd..#mark#".to_vec());
        let search = image.find_recordings(&[&Fake], Reach::Whole);
        let taken: Vec<Input> =
            search.recordings.iter().map(|found| image.take_out(found, &ReadOptions::default()).unwrap()).collect();
        assert_eq!(taken.iter().map(Input::bytes).collect::<Vec<_>>(), [b"ba", b"dc"]);
        assert_eq!(taken[0].damages()[0].detail, "it is cut off (at byte 11 of the memory image)");
        assert_eq!(taken[1].damages(), []);
        assert_eq!(search.refused, [(22, "a fake", "its header is cut off".into())]);
    }

    #[test]
    fn an_image_of_nothing_but_marks_is_bounded() {
        let search = input(b"#mark#\0".repeat(100_000)).find_recordings(&[&Fake], Reach::Whole);
        assert_eq!((search.recordings.len(), search.refused.len()), (RECORDINGS_MAX, MARKS_MAX - RECORDINGS_MAX));
    }
}
