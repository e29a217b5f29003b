//! Recognising a capture, and which of the transports it came by.

use super::part;
use super::stp::{Evidence, tpiu};
use super::text::MARKER;
use crate::format::Probe;
use crate::format::syst::collateral::Collateral;
use crate::format::syst::raw::Stream;

/// Where the marker of the text form is looked for, in bytes; all of a sample that is the whole input.
const TEXT_SAMPLE_BYTES: usize = 64 << 10;

/// How much is looked at of binary inputs.
const BINARY_SAMPLE_BYTES: usize = 64 << 10;

/// Text lines.
pub(super) fn text(sample: &[u8], whole: bool) -> Option<Probe> {
    let head = if whole { sample } else { sample.get(..TEXT_SAMPLE_BYTES).unwrap_or(sample) };
    // A text that only speaks of the marker has no digits behind it.
    let has_digits = |at: &usize| {
        head.get(at + MARKER.len()..)
            .and_then(|rest| rest.get(..8))
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut with_digits = memchr::memmem::find_iter(head, MARKER).filter(has_digits);
    let first = with_digits.next()?;
    let markers = 1 + with_digits.count();
    let score = 98;
    let lines = if markers == 1 { "1 message".to_owned() } else { format!("{markers} messages") };
    Some(Probe { score, reason: format!("{lines} behind \"SYS-T RAW DATA: \"; the first at byte {first}") })
}

/// STPv2, as it is or in CoreSight frames.
pub(super) fn stp(sample: &[u8]) -> Option<Probe> {
    let sample = sample.get(..BINARY_SAMPLE_BYTES).unwrap_or(sample);
    // An ASYNC has at least this many bytes of ones.
    if let Some(at) = memchr::memmem::find(sample, &[0xFF; 10]) {
        let evidence = Evidence::of(sample.get(at.saturating_sub(1)..).unwrap_or(&[]));
        if let Some(probe) = judge(&evidence, &format!("ASYNC at byte {at}")) {
            return Some(probe);
        }
    }
    let (source, evidence) = tpiu_source(sample)?;
    judge(&evidence, &format!("ASYNC in source {source} of CoreSight frames"))
}

/// The source in CoreSight frames whose stream has messages.
pub(super) fn tpiu_source(sample: &[u8]) -> Option<(u8, Evidence)> {
    let sample = sample.get(..BINARY_SAMPLE_BYTES).unwrap_or(sample);
    tpiu::sources(sample).into_iter().find_map(|(source, bytes)| {
        let evidence = memchr::memmem::find(&bytes, &[0xFF; 10]).map(|_| Evidence::of(&bytes))?;
        (evidence.reading(evidence.order()).legal > 0).then_some((source, evidence))
    })
}

fn judge(evidence: &Evidence, place: &str) -> Option<Probe> {
    let reading = evidence.reading(evidence.order());
    if reading.messages == 0 {
        // The synchronisation alone: something else may be in the stream.
        return (reading.hz.is_some() && reading.unsynced == 0)
            .then(|| Probe { score: 60, reason: format!("{place} and the frequency of an STP clock") });
    }
    let share = reading.legal as f64 / reading.messages as f64;
    if share < 0.5 {
        return None;
    }
    let score = (55.0 + 43.0 * share) as u8;
    Some(Probe {
        score,
        reason: format!("{place}; {} of {} messages behind it have a legal header", reading.legal, reading.messages),
    })
}

/// Raw bytes.
pub(super) fn raw(sample: &[u8], whole: bool) -> Option<Probe> {
    let head = sample.get(..BINARY_SAMPLE_BYTES).unwrap_or(sample);
    let whole = whole && head.len() == sample.len();
    let collateral = Collateral::default();
    let counts = part::count(&Stream::new(head, 0, &collateral, None), whole);
    if counts.full == 0 || counts.full + counts.proven < 2 {
        return None;
    }
    let share = counts.bytes as f64 / head.len().max(1) as f64;
    let likely = share * if counts.proven > 0 || counts.with_length >= 2 { 1.0 } else { 0.7 };
    if likely < 0.5 {
        return None;
    }
    let score = if share >= 0.95 { 55.0 + 40.0 * likely } else { 20.0 + 60.0 * likely } as u8;
    let reason = format!(
        "{} messages follow each other, {} with a fitting checksum; {:.0} % of the bytes belong to them",
        counts.full,
        counts.proven,
        100.0 * share
    );
    Some(Probe { score, reason })
}
