//! Several recordings on one time axis: by offsets that the user gives, or by a marker that occurs in all of them.
//!
//! The first recording keeps its times; the others move. Only if an event would come before time 0, which a trace cannot have,
//! all move later together.

use serde::Serialize;

use super::ConvertError;
use super::clock::ClockMap;
use super::markers::Occurrences;
use crate::model::{Nanos, times};

/// The alignment of a recording in a trace with several recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockOffset {
    /// The number of nanoseconds added to its own times. If its drift was corrected: added to those of the first sync marker.
    pub ns: i64,
    /// The source of the offset.
    pub because: String,
    /// The drift of its clock against that of the first recording, if it could be measured.
    pub drift: Option<Drift>,
}

/// The drift of a clock against that of the first recording, measured between the first sync marker and the last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The clock's deviation in parts per million, against the clock of the first recording. Positive: it is too fast.
    pub ppm: f64,
    /// The number of marker pairs that the drift is measured from.
    pub markers: u64,
    /// The largest deviation of a marker between them from its place under a constant drift, in nanoseconds; `None` of two markers, which
    /// say nothing about it.
    pub largest_deviation_ns: Option<u64>,
    /// Whether that is more than half the time between two markers, so that pairs may not be of one moment.
    pub is_doubtful: bool,
    /// Whether the times of the recording were stretched accordingly.
    pub is_corrected: bool,
}

/// The requested alignment.
pub struct Wanted<'a> {
    /// By recording: its name, and the offset that the user gave for it.
    pub recordings: Vec<(&'a str, Option<i64>)>,
    pub marker: Option<&'a str>,
    pub correct_drift: bool,
}

/// The alignment of one recording.
pub struct Placed {
    pub clock: ClockMap,
    pub offset: ClockOffset,
}

/// Aligns the recordings. `found` has one for each recording, or none if no knowledge about them is needed.
pub fn align(wanted: &Wanted<'_>, found: &[Occurrences]) -> Result<Vec<Placed>, ConvertError> {
    let mut placed = Vec::with_capacity(wanted.recordings.len());
    for (index, &(name, given)) in wanted.recordings.iter().enumerate() {
        placed.push(match wanted.marker {
            Some(marker) => by_marker(wanted, marker, found, index, name)?,
            None => {
                let because = if given.is_some() { "given by --offset" } else { "not moved" }.to_owned();
                let ns = given.unwrap_or(0);
                Placed { clock: ClockMap::offset(ns.into()), offset: ClockOffset { ns, because, drift: None } }
            }
        });
    }
    let earliest = found.iter().zip(&placed).filter_map(|(markers, placed)| Some(placed.clock.exact(markers.earliest?))).min();
    if let Some(earliest) = earliest.filter(|&earliest| earliest < 0) {
        let by = Nanos(u64::try_from(-earliest).unwrap_or(u64::MAX));
        for one in &mut placed {
            one.clock = one.clock.moved(-earliest);
            one.offset.ns = one.offset.ns.saturating_add(i64::try_from(by.0).unwrap_or(i64::MAX));
            one.offset.because += &format!("; all moved by {by} so that none begins before 0");
        }
    }
    Ok(placed)
}

/// Aligns a recording with the first one by their first markers.
fn by_marker(wanted: &Wanted<'_>, marker: &str, found: &[Occurrences], index: usize, name: &str) -> Result<Placed, ConvertError> {
    let missing = |name: &str| {
        ConvertError::Alignment(format!(
            "`{marker}` does not occur in {name}: no marker, span, log message, value, interrupt or function of it has this \
             name; `traceconv info` lists the names. If the offset of its clock is known, give --offset instead"
        ))
    };
    let of = |index: usize| found.get(index).and_then(|markers| Some((markers, *markers.times.first()?)));
    let first_name = wanted.recordings.first().map_or("", |&(name, _)| name);
    let (reference, reference_time) = of(0).ok_or_else(|| missing(first_name))?;
    let (markers, time) = of(index).ok_or_else(|| missing(name))?;
    if index == 0 {
        let because = format!("`{marker}` occurs at {time}");
        return Ok(Placed { clock: ClockMap::default(), offset: ClockOffset { ns: 0, because, drift: None } });
    }
    let offset = i128::from(reference_time.0) - i128::from(time.0);
    let mut clock = ClockMap::offset(offset);
    let mut drift = drift(reference, markers);
    match (&mut drift, wanted.correct_drift) {
        (Some((drift, ..)), true) if drift.is_doubtful => {
            return Err(ConvertError::Alignment(format!(
                "--correct-drift needs markers that are of one moment in all recordings, but of the {} of `{marker}` in {name} and in \
                 {first_name}, a pair deviates by {}, more than half the time between two of them; name another marker, or leave \
                 --correct-drift out",
                drift.markers,
                Nanos(drift.largest_deviation_ns.unwrap_or(0)),
            )));
        }
        (Some((drift, own_ns, true_ns)), true) => {
            clock = clock.stretched(time, *own_ns, *true_ns);
            drift.is_corrected = true;
        }
        (None, true) => {
            return Err(ConvertError::Alignment(format!(
                "--correct-drift needs a marker that occurs as often in all recordings, at least twice: `{marker}` occurs {} in \
                 {first_name} and {} in {name}",
                times(reference.count),
                times(markers.count),
            )));
        }
        _ => {}
    }
    let mut because = format!("`{marker}` occurs at {time} in it, and at {reference_time} in {first_name}");
    if markers.count != reference.count {
        because += &format!(
            "; it occurs {} here and {} there, so that the first ones may not be of one moment",
            times(markers.count),
            times(reference.count)
        );
    }
    if drift.as_ref().is_some_and(|(drift, ..)| drift.is_doubtful) {
        because += "; some deviate by more than half the time between two of them, so that pairs may not be of one moment";
    }
    let ns = i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX });
    Ok(Placed { clock, offset: ClockOffset { ns, because, drift: drift.map(|(drift, ..)| drift) } })
}

/// The drift of a clock against another one, with the time from the first to the last marker by each of them. Known only if
/// markers can be paired: if they occur equally often in both.
fn drift(reference: &Occurrences, markers: &Occurrences) -> Option<(Drift, u64, u64)> {
    if reference.count != markers.count {
        return None;
    }
    let pairs = || markers.times.iter().zip(&reference.times);
    let (&own_first, &true_first) = pairs().next()?;
    let (&own_last, &true_last) = pairs().next_back()?;
    let (own_ns, true_ns) = (own_last.since(own_first), true_last.since(true_first));
    if own_ns == 0 || true_ns == 0 {
        return None;
    }
    let map = ClockMap::default().stretched(own_first, own_ns, true_ns);
    let shift = i128::from(true_first.0) - i128::from(own_first.0);
    let deviation = pairs().map(|(&own, expected)| (map.exact(own) + shift).abs_diff(i128::from(expected.0))).max()?;
    let ppm = (own_ns as f64 - true_ns as f64) / true_ns as f64 * 1e6;
    let largest_deviation_ns = (markers.times.len() > 2).then(|| u64::try_from(deviation).unwrap_or(u64::MAX));
    let markers = markers.times.len() as u64;
    // Pairs that are of one moment each deviate by less than the time between two of them.
    let is_doubtful = largest_deviation_ns.is_some_and(|deviation| deviation > true_ns / (2 * (markers - 1)));
    Some((Drift { ppm, markers, largest_deviation_ns, is_doubtful, is_corrected: false }, own_ns, true_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markers(times: &[u64]) -> Occurrences {
        let times: Vec<Nanos> = times.iter().copied().map(Nanos).collect();
        let first = Some(Nanos(1_000));
        Occurrences { first, earliest: first, count: times.len() as u64, times }
    }

    fn aligned(correct_drift: bool, found: &[Occurrences]) -> Result<Vec<Placed>, String> {
        let recordings = ["a", "b", "c"].map(|name| (name, None))[..found.len()].to_vec();
        align(&Wanted { recordings, marker: Some("sync"), correct_drift }, found).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_markers_come_to_lie_on_that_of_the_first_recording() {
        let placed = aligned(false, &[markers(&[5_000]), markers(&[2_000, 3_000]), markers(&[5_500])]).unwrap();
        let offsets: Vec<i64> = placed.iter().map(|one| one.offset.ns).collect();
        assert_eq!(offsets, [0, 3_000, -500]);
        assert_eq!(placed[1].clock.time(Nanos(2_000)), Nanos(5_000));
        assert_eq!(placed[2].offset.because, "`sync` occurs at 0.000005500 s in it, and at 0.000005000 s in a");
        assert_eq!(
            placed[1].offset.because,
            "`sync` occurs at 0.000002000 s in it, and at 0.000005000 s in a; it occurs 2 times here and once there, so that the \
             first ones may not be of one moment"
        );
        assert_eq!(placed[1].offset.drift, None);
    }

    #[test]
    fn all_move_if_one_would_begin_before_zero() {
        let placed = aligned(false, &[markers(&[5_000]), markers(&[9_000])]).unwrap();
        assert_eq!((placed[0].offset.ns, placed[1].offset.ns), (3_000, -1_000));
        assert_eq!(placed[1].clock.time(Nanos(1_000)), Nanos(0));
        assert!(placed[0].offset.because.ends_with("all moved by 0.000003000 s so that none begins before 0"));
    }

    #[test]
    fn a_drift_is_measured_and_taken_out_if_asked() {
        // The second clock is 100 ppm too fast, and its second marker 7 ns late.
        let found = [markers(&[30_000, 1_030_000, 2_030_000]), markers(&[20_000, 1_020_107, 2_020_200])];
        let placed = aligned(false, &found).unwrap();
        let drift = placed[1].offset.drift.clone().unwrap();
        assert!((drift.ppm - 100.0).abs() < 1e-6, "{drift:?}");
        assert_eq!((drift.markers, drift.largest_deviation_ns, drift.is_corrected), (3, Some(6), false));
        assert_eq!(placed[1].clock.time(Nanos(2_020_200)), Nanos(2_030_200));
        let placed = aligned(true, &found).unwrap();
        assert_eq!(placed[1].clock.time(Nanos(2_020_200)), Nanos(2_030_000));
        assert!(placed[1].offset.drift.as_ref().unwrap().is_corrected);
    }

    #[test]
    fn what_markers_cannot_say_is_not_said() {
        // Two markers are on any straight line.
        let placed = aligned(false, &[markers(&[1_000, 9_000]), markers(&[1_000, 9_700])]).unwrap();
        assert_eq!(placed[1].offset.drift.as_ref().unwrap().largest_deviation_ns, None);
        // As many in both, but the second recording began one later.
        let found = [markers(&[1_000, 2_000, 4_000, 7_000]), markers(&[2_000, 4_000, 7_000, 7_500])];
        let placed = aligned(false, &found).unwrap();
        assert!(
            placed[1].offset.because.contains("; some deviate by more than half the time between two of them"),
            "{:?}",
            placed[1].offset
        );
        assert!(placed[1].offset.drift.as_ref().unwrap().is_doubtful);
        // Its drift is that of other pairs, so it is not removed.
        let error = aligned(true, &found).err().unwrap();
        assert!(error.contains("of the 4 of `sync` in b and in a, a pair deviates by 0.000002454 s, more than half"), "{error}");
        let placed = aligned(true, &[markers(&[1_000, 2_000, 4_000]), markers(&[1_010, 2_020, 4_001])]).unwrap();
        assert!(!placed[1].offset.because.contains("deviate"), "{:?}", placed[1].offset);
    }

    #[test]
    fn recordings_that_cannot_be_aligned_are_errors_with_a_reason() {
        let error = |result: Result<Vec<Placed>, String>| result.err().unwrap();
        assert!(error(aligned(false, &[markers(&[1_000]), markers(&[])])).contains("`sync` does not occur in b"));
        assert!(error(aligned(false, &[markers(&[]), markers(&[1_000])])).contains("`sync` does not occur in a"));
        let error = error(aligned(true, &[markers(&[1_000, 2_000]), markers(&[1_000])]));
        assert!(error.contains("occurs 2 times in a and once in b"), "{error}");
    }
}
