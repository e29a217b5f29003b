//! Which format an input is in, recognised by content, with the reason.

use std::fmt::{self, Write};

use super::{Layer, Signature};
use crate::format::{FORMATS, Format, SAMPLE_BYTES};

/// From this score on an input is taken for a format.
pub(super) const SCORE_MIN: u8 = 50;

/// From this score on a format's claim outweighs the signature of something else.
const SCORE_CERTAIN: u8 = 90;

/// A second format whose score is nearer than this to the best one makes the choice a guess.
const SCORE_MARGIN: u8 = 10;

/// How much of a sample is inspected first, in bytes. If it is certainly in one format and shows nothing of another one, …
const FIRST_BYTES: usize = 4 << 10;

/// … which is a score below this, then only that format inspects more, …
const SCORE_NOTHING: u8 = 25;

/// … this many bytes.
const ENOUGH_BYTES: usize = 64 << 10;

/// The format of an input.
#[derive(Clone)]
#[non_exhaustive]
pub struct Detected {
    /// The format.
    pub format: &'static dyn Format,
    /// The evidence for it, as a sentence without a final stop.
    pub because: String,
    /// Whether it outweighs everything else that the input might be.
    pub certain: bool,
    /// Whether the user named the format, although it does not recognise the bytes.
    pub is_doubtful: bool,
}

impl fmt::Debug for Detected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detected").field("format", &self.format.name()).field("because", &self.because).finish()
    }
}

/// The judgement of a format on an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The name for `--format`.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// From 0 to 100.
    pub score: u8,
    /// The evidence for it.
    pub reason: String,
}

/// Why no format could be chosen. Each message is the end of a sentence that begins with the input's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DetectError {
    /// It is something else.
    #[error("{}", describe_known(.signature, .layers))]
    Known {
        /// Its kind.
        signature: Signature,
        /// The layers around it.
        layers: Vec<Layer>,
    },
    /// No format recognises it.
    #[error("{}", describe_unknown(.start, .candidates, .layers))]
    Unknown {
        /// Its first bytes.
        start: Vec<u8>,
        /// The judgements of the formats, best first; may be empty.
        candidates: Vec<Candidate>,
        /// The layers around it.
        layers: Vec<Layer>,
    },
    /// Several formats recognise it about equally.
    #[error("could be in more than one format; choose one with --format NAME{}", list(.0))]
    Ambiguous(Vec<Candidate>),
}

impl DetectError {
    /// Whether the input may be an image of a target's memory.
    #[must_use]
    pub fn may_be_memory(&self) -> bool {
        match self {
            DetectError::Known { signature, .. } => signature.holds_memory,
            DetectError::Unknown { .. } => true,
            DetectError::Ambiguous(_) => false,
        }
    }
}

fn inside(layers: &[Layer]) -> String {
    let names: Vec<_> = layers.iter().map(|layer| layer.name()).collect();
    if names.is_empty() { String::new() } else { format!(" (once decoded from {})", names.join(", then ")) }
}

fn describe_known(signature: &Signature, layers: &[Layer]) -> String {
    format!(
        "is {}{}, not a recording in a format known here; {}. If it is a recording all the same, name its format with --format",
        signature.what,
        inside(layers),
        signature.advice,
    )
}

fn describe_unknown(start: &[u8], candidates: &[Candidate], layers: &[Layer]) -> String {
    let hex: Vec<_> = start.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "is in no format known here{}: its first bytes are {}. Check that it is the recording itself; if it is, name its format \
         with --format NAME ({}){}",
        inside(layers),
        hex.join(" "),
        names(),
        list(candidates)
    )
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

fn list(candidates: &[Candidate]) -> String {
    candidates.iter().fold(String::new(), |mut text, candidate| {
        let Candidate { name, title, score, reason } = candidate;
        let _ = write!(text, "\n  --format {name}: {title}, {score} of 100: {reason}");
        text
    })
}

/// The format with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// A format that the user named.
#[must_use]
pub fn named(format: &'static dyn Format, bytes: &[u8]) -> Detected {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let recognises =
        |sample: &[u8]| format.probe(sample, sample.len() == bytes.len()).is_some_and(|probe| probe.score >= SCORE_MIN);
    let is_doubtful = !sample.get(..ENOUGH_BYTES).is_some_and(recognises) && !recognises(sample);
    Detected { format, because: "given by --format".into(), certain: true, is_doubtful }
}

/// Finds the format of `bytes`, which were inside `layers`.
///
/// # Errors
/// When no format or more than one recognises them, or when they are plainly something else.
pub fn detect(bytes: &[u8], layers: &[Layer]) -> Result<Detected, DetectError> {
    detect_among(FORMATS, bytes, layers)
}

fn detect_among(formats: &[&'static dyn Format], bytes: &[u8], layers: &[Layer]) -> Result<Detected, DetectError> {
    let whole = bytes.len() <= SAMPLE_BYTES;
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let probed = |format: &'static dyn Format, sample, whole| {
        format.probe(sample, whole).filter(|probe| probe.score > 0).map(|probe| (format, probe))
    };
    let only = sample.get(..FIRST_BYTES).filter(|first| first.len() < sample.len()).and_then(|first| only(formats, first));
    let enough = sample.get(..ENOUGH_BYTES).unwrap_or(sample);
    let only = only
        .and_then(|format| probed(format, enough, whole && enough.len() == sample.len()))
        .filter(|(_, probe)| probe.score >= SCORE_CERTAIN);
    let mut claims: Vec<_> = match only {
        Some(claim) => vec![claim],
        None => formats.iter().filter_map(|&format| probed(format, sample, whole)).collect(),
    };
    // Stable: formats with equal scores stay in the order of the registry.
    claims.sort_by_key(|(_, probe)| std::cmp::Reverse(probe.score));
    let best = claims.first().map_or(0, |(_, probe)| probe.score);
    let candidates = || {
        claims.iter().map(|(format, probe)| Candidate {
            name: format.name(),
            title: format.title(),
            score: probe.score,
            reason: probe.reason.clone(),
        })
    };

    let signature = if best < SCORE_CERTAIN { Signature::of(sample, whole) } else { None };
    if let Some(signature) = signature.filter(|signature| best < SCORE_MIN || signature.certain) {
        return Err(DetectError::Known { signature, layers: layers.to_vec() });
    }
    if best < SCORE_MIN {
        let start = sample.get(..16).unwrap_or(sample).to_vec();
        return Err(DetectError::Unknown { start, candidates: candidates().collect(), layers: layers.to_vec() });
    }
    let near = |candidate: &Candidate| candidate.score >= SCORE_MIN && best - candidate.score < SCORE_MARGIN;
    let rivals: Vec<_> = candidates().filter(near).collect();
    match claims.into_iter().next() {
        Some((format, probe)) if rivals.len() < 2 => {
            Ok(Detected { format, because: probe.reason, certain: best >= SCORE_CERTAIN, is_doubtful: false })
        }
        _ => Err(DetectError::Ambiguous(rivals)),
    }
}

/// The format that the first bytes are certainly in, if they show nothing of another one.
fn only(formats: &[&'static dyn Format], first: &[u8]) -> Option<&'static dyn Format> {
    let mut certain = None;
    for &format in formats {
        match format.probe(first, false).map_or(0, |probe| probe.score) {
            SCORE_CERTAIN.. if certain.is_none() => certain = Some(format),
            SCORE_NOTHING.. => return None,
            _ => {}
        }
    }
    certain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ErasedRecording, FormatOptions, OptionError, Probe};

    /// Recognises whatever contains its name.
    struct Fake {
        name: &'static str,
        score: u8,
    }

    impl Format for Fake {
        fn name(&self) -> &'static str {
            self.name
        }

        fn title(&self) -> &'static str {
            "A Fake"
        }

        fn recorded_by(&self) -> &'static str {
            "nobody"
        }

        fn recognised_by(&self) -> &'static str {
            "nothing"
        }

        fn probe(&self, sample: &[u8], _whole: bool) -> Option<Probe> {
            let found = sample.windows(self.name.len()).any(|window| window == self.name.as_bytes());
            found.then(|| Probe { score: self.score, reason: format!("says {}", self.name) })
        }

        fn open(&self, _inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
            unreachable!("detection opens nothing")
        }

        fn generate(&self, _bytes: u64, _seed: u64, _out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
            Ok(FormatOptions::default())
        }
    }

    const FAKES: &[&dyn Format] = &[
        &Fake { name: "weak", score: 30 },
        &Fake { name: "strong", score: 95 },
        &Fake { name: "good", score: 80 },
        &Fake { name: "rival", score: 88 },
    ];

    fn found(bytes: &[u8]) -> Result<(&'static str, String), String> {
        match detect_among(FAKES, bytes, &[Layer::Gzip]) {
            Ok(detected) => Ok((detected.format.name(), detected.because)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_best_claim_wins_and_says_why() {
        assert_eq!(found(b"\x01good"), Ok(("good", "says good".into())));
        assert_eq!(found(b"\x01good and weak"), Ok(("good", "says good".into())));
        assert_eq!(found(b"\x01good and strong"), Ok(("strong", "says strong".into())));
    }

    #[test]
    fn near_scores_are_left_to_the_user() {
        let expected = "could be in more than one format; choose one with --format NAME\
                        \n  --format rival: A Fake, 88 of 100: says rival\
                        \n  --format good: A Fake, 80 of 100: says good";
        assert_eq!(found(b"\x01good rival weak"), Err(expected.into()));
    }

    #[test]
    fn nothing_recognised_shows_what_was_found() {
        let error = found(b"\x01\x02weak").unwrap_err();
        let (start, end) =
            ("is in no format known here (once decoded from gzip): its first bytes are 01 02 77 65 61 6b.", "weak");
        assert!(error.starts_with(start) && error.ends_with(end), "{error}");
        assert!(error.contains("\n  --format weak: A Fake, 30 of 100: says weak"), "{error}");
    }

    #[test]
    fn a_certain_signature_outweighs_a_doubtful_claim() {
        assert!(found(b"\x7fELF good").unwrap_err().starts_with("is an ELF program (once decoded from gzip), not"));
        assert_eq!(found(b"\x7fELF strong").unwrap().0, "strong");
        // That something is text does not.
        assert_eq!(found(b"this is good").unwrap().0, "good");
        assert!(found(b"this is bad").unwrap_err().starts_with("is a text file"));
    }

    #[test]
    fn formats_are_found_by_name() {
        assert_eq!(by_name("tonbandgeraet").unwrap().name(), "tonbandgeraet");
        assert!(by_name("Tonband").is_none());
    }
}
