//! Inference of the sizes and the version from the lengths of records, if the target did not send them.
//!
//! For every combination of sizes, the records whose length fits are counted. In all real captures, exactly one combination fits all
//! records, except for sizes that no record contains.

use super::decode::verify;
use super::layout::{Config, FIXED_MAX, Layout, Length, Sizes};
use super::record::{IDS_END, SPECS, Spec};

/// How many lengths are told apart. Longer records contain texts.
pub const LENGTHS: usize = 48;
const _: () = assert!(FIXED_MAX < LENGTHS - 1);

/// The number of records of each id that are kept whole.
pub const SAMPLES: usize = 4;

/// The largest length of such a record, in bytes.
pub const SAMPLE_BYTES_MAX: usize = 256;

/// The lengths of records, by id.
#[derive(Clone, Debug)]
pub struct Evidence {
    ids: Vec<OfId>,
    /// The number of valid frames inspected.
    pub frames: u64,
}

/// The records of one id.
#[derive(Clone, Debug)]
struct OfId {
    /// By length of the data; the last one is that of all longer ones.
    counts: [u32; LENGTHS],
    /// Whole bodies: sequence number, id, data, checksum.
    samples: Vec<Box<[u8]>>,
}

impl Default for Evidence {
    fn default() -> Evidence {
        let none = OfId { counts: [0; LENGTHS], samples: Vec::new() };
        Evidence { ids: vec![none; usize::from(IDS_END)], frames: 0 }
    }
}

/// An inferred configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// Sizes, version and user base.
    pub config: Config,
    /// The letters of the sizes that no record contains.
    pub open: Vec<char>,
    /// The oldest and the newest version that the records fit as well as that one.
    pub versions: (u16, u16),
    /// The number of records that fit.
    pub fitting: u64,
    /// The number of all records.
    pub all: u64,
}

impl OfId {
    #[cold]
    fn add_sample(&mut self, body: &[u8]) {
        if body.len() <= SAMPLE_BYTES_MAX {
            self.samples.push(body.into());
        }
    }
}

impl Evidence {
    /// Adds the body of a valid frame.
    #[inline]
    pub fn add(&mut self, body: &[u8]) {
        let Some(of_id) = body.get(1).and_then(|&id| self.ids.get_mut(usize::from(id))) else { return };
        self.frames += 1;
        let count = &mut of_id.counts[body.len().saturating_sub(3).min(LENGTHS - 1)];
        *count = count.saturating_add(1);
        if of_id.samples.len() < SAMPLES {
            of_id.add_sample(body);
        }
    }

    /// Adds the evidence of a later part of the input.
    pub fn merge(&mut self, other: &Evidence) {
        self.frames += other.frames;
        for (of_id, more) in self.ids.iter_mut().zip(&other.ids).filter(|(_, more)| more.counts != [0; LENGTHS]) {
            of_id.counts.iter_mut().zip(&more.counts).for_each(|(count, &more)| *count = count.saturating_add(more));
            of_id.samples.extend(more.samples.iter().take(SAMPLES - of_id.samples.len().min(SAMPLES)).cloned());
        }
    }

    /// Whether all records have ids of the host's commands, and more of them than damage explains do not fit the target's records with these
    /// ids: those of state machines.
    #[must_use]
    pub fn is_from_host(&self) -> bool {
        let mut ids = self.ids.iter().enumerate().filter(|(_, of_id)| !of_id.samples.is_empty()).map(|(id, _)| id).peekable();
        let is_host = ids.peek().is_some() && ids.all(|id| id <= 16);
        is_host && self.infer(None, None).is_none_or(|inferred| inferred.fitting * 20 < inferred.all * 19)
    }

    /// The best configuration. `sizes` and `version` are used if given. `None` without any record.
    #[must_use]
    pub fn infer(&self, sizes: Option<Sizes>, version: Option<u16>) -> Option<Inferred> {
        // The most likely first: of those that fit equally well, the first is used.
        const VERSIONS: [u16; 10] = [740, 815, 719, 694, 650, 600, 583, 540, 450, 410];
        let versions = version.as_ref().map_or(&VERSIONS[..], std::slice::from_ref);
        let mut best: Option<Inferred> = None;
        for &version in versions {
            let Some(found) = self.of_version(version, sizes) else { continue };
            match &mut best {
                Some(best) if best.fitting > found.fitting => {}
                Some(best) if best.fitting == found.fitting => {
                    best.versions = (best.versions.0.min(version), best.versions.1.max(version));
                }
                _ => best = Some(found),
            }
        }
        best
    }

    fn of_version(&self, version: u16, sizes: Option<Sizes>) -> Option<Inferred> {
        let base = Config::new(Sizes::default(), version).user_base;
        let specs = SPECS.iter().filter(|spec| spec.is_sent_by(version) && spec.id < base);
        let fixed: Vec<Shape> =
            specs.filter_map(|spec| Shape::of(spec, version, &self.ids.get(usize::from(spec.id))?.counts)).collect();
        let sizes = match sizes {
            Some(sizes) => sizes,
            None => {
                combinations()
                    .max_by_key(|(sizes, likely)| (fixed.iter().map(|shape| shape.fitting(sizes)).sum::<u64>(), *likely))?
                    .0
            }
        };
        let has = |index: usize| fixed.iter().any(|shape| shape.letters[index] > 0);
        let letters = Sizes::LETTERS.into_iter().enumerate().filter(|&(index, letter)| letter != 'B' && !has(index));
        let open = letters.map(|(_, letter)| letter).collect();
        let config = Config::new(sizes, version);
        let layout = Layout::new(config);
        let mut fitting: u64 = fixed.iter().map(|shape| shape.fitting(&sizes)).sum();
        // Records of variable length: the share of the samples that is valid.
        for (id, OfId { samples, counts }) in self.ids.iter().enumerate() {
            let is_fixed = layout.of_id(id as u8).is_some_and(|record| matches!(record.length, Length::Exact(_)));
            if !is_fixed && !samples.is_empty() {
                let count: u64 = counts.iter().map(|&count| u64::from(count)).sum();
                let valid = samples.iter().filter(|body| verify(&layout, body).is_ok()).count() as u64;
                fitting += count * valid / samples.len() as u64;
            }
        }
        (self.frames > 0).then_some(Inferred { config, open, versions: (version, version), fitting, all: self.frames })
    }
}

/// A record of fixed fields: its types, and how often each length occurs.
struct Shape<'a> {
    /// The number of fields of each letter, in the order of [`Sizes::LETTERS`].
    letters: [u8; 9],
    /// Bytes of fixed size.
    bytes: usize,
    counts: &'a [u32; LENGTHS],
}

impl<'a> Shape<'a> {
    fn of(spec: &Spec, version: u16, counts: &'a [u32; LENGTHS]) -> Option<Shape<'a>> {
        if counts.iter().all(|&count| count == 0) {
            return None;
        }
        let mut shape = Shape { letters: [0; 9], bytes: 0, counts };
        for field in spec.fields_in(version) {
            let width = Sizes::default().width(field.code)?;
            match field.code.configured() {
                Some(index) => shape.letters[index] += 1,
                None => shape.bytes += usize::from(width),
            }
        }
        Some(shape)
    }

    fn fitting(&self, sizes: &Sizes) -> u64 {
        let variable: usize = self.letters.iter().zip(sizes.all()).map(|(&n, size)| usize::from(n) * usize::from(size)).sum();
        self.counts.get(self.bytes + variable).map_or(0, |&count| u64::from(count))
    }
}

/// All combinations of sizes, each with its prior likelihood.
fn combinations() -> impl Iterator<Item = (Sizes, u8)> {
    let numbers = [1u8, 2, 4];
    let addresses = [2u8, 4, 8];
    let usual = Sizes::default();
    (0..3u32.pow(8)).map(move |number| {
        let digit = |place: u32| (number / 3u32.pow(place) % 3) as usize;
        let sizes = Sizes {
            time: numbers[digit(0)],
            object: addresses[digit(1)],
            function: addresses[digit(2)],
            signal: numbers[digit(3)],
            event_size: numbers[digit(4)],
            queue: numbers[digit(5)],
            pool: numbers[digit(6)],
            block: usual.block,
            time_event: numbers[digit(7)],
        };
        let as_usual = sizes.all().iter().zip(usual.all()).filter(|(size, usual)| **size == *usual).count() as u8;
        (sizes, as_usual + u8::from(sizes.object == sizes.function))
    })
}
