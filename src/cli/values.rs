//! Values of options: times, limits. Parsed exactly, without floating point where a rounding would show.

use crate::model::whole_number;
use crate::pipeline::{TimeBound, TimeBoundError};

/// The limit of `--max-lost`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MaxLost {
    /// A number of events.
    Events(u64),
    /// A percentage of all events, lost ones included.
    Percent(f64),
}

impl MaxLost {
    /// Whether `lost` events beside `events` good ones are too many.
    pub(super) fn is_exceeded(self, lost: u64, events: u64) -> bool {
        match self {
            MaxLost::Events(limit) => lost > limit,
            MaxLost::Percent(limit) => lost as f64 * 100.0 > limit * (events as f64 + lost as f64),
        }
    }
}

/// `10` or `0.5%`.
pub(super) fn parse_max_lost(text: &str) -> Result<MaxLost, String> {
    let expected = || "a number of events (10) or a share of them (0.5%) is expected".to_string();
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent = percent.trim_end().parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
            percent.map(MaxLost::Percent).ok_or_else(|| "a share from 0% to 100% is expected".into())
        }
        None => text.parse().map(MaxLost::Events).map_err(|_| expected()),
    }
}

/// A number of rows.
pub(super) fn parse_rows(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number is expected, e.g. 20".to_owned())
}

/// `200M`: a number of bytes.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    whole_number(text).map_err(|_| format!("`{text}` is not a number of bytes (k, M and G may follow), e.g. 200M"))
}

/// `5%` or `5`.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let percent = percent.ok().filter(|percent| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "per cent are expected, e.g. 5%".into())
}

/// `1.5ms`, `+2s`, `0`.
pub(super) fn parse_time(text: &str) -> Result<TimeBound, String> {
    if text.starts_with('-') {
        return Err("times are not negative: `2s` is on the trace's own time axis, `+2s` is after its first event".into());
    }
    text.parse().map_err(|error: TimeBoundError| error.to_string())
}

/// `1.5ms`, `-2s`, `+2s`, `0`: a difference of times, in nanoseconds.
pub(super) fn parse_signed_time(text: &str) -> Result<i64, String> {
    let (is_negative, amount) = match text.strip_prefix('-') {
        Some(amount) => (true, amount),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if amount.starts_with(['+', '-']) {
        return Err("a number with a unit is expected, e.g. 1.5ms or -2s".into());
    }
    let (TimeBound::Absolute(time) | TimeBound::AfterStart(time)) = parse_time(amount)?;
    // Never above `i64::MAX`.
    let ns = time.0.cast_signed();
    Ok(if is_negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nanos;

    #[test]
    fn times_are_exact() {
        let absolute = |text| match parse_time(text) {
            Ok(TimeBound::Absolute(time)) => time.0,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(absolute("0"), 0);
        assert_eq!(absolute("17ns"), 17);
        assert_eq!(absolute("1.5ms"), 1_500_000);
        assert_eq!(absolute("2 s"), 2_000_000_000);
        assert_eq!(absolute(".5us"), 500);
        assert_eq!(absolute("3.µs"), 3_000);
        assert_eq!(absolute("0.100000001s"), 100_000_001);
        assert_eq!(absolute("1.50000000000s"), 1_500_000_000);
        assert_eq!(absolute("9223372036854775807ns"), Nanos::MAX.0);
        assert_eq!(parse_time("+2s"), Ok(TimeBound::AfterStart(Nanos(2_000_000_000))));
        assert_eq!(parse_time("+0"), Ok(TimeBound::AfterStart(Nanos(0))));
    }

    #[test]
    fn invalid_times_say_why() {
        let error = |text| parse_time(text).unwrap_err();
        assert_eq!(error("5"), "the unit is missing: `5ns`, `5us`, `5ms` or `5s`?");
        assert_eq!(error("5h"), "`h` is no unit; ns, us, ms or s is expected");
        assert_eq!(error("1.5ns"), "times are whole nanoseconds; this is finer");
        assert_eq!(error("9223372036854775808ns"), "this is beyond the 292 years that a trace can hold");
        assert_eq!(error("99999999999999999999s"), "this is beyond the 292 years that a trace can hold");
        for text in ["s", ".s", "1.2.3s", "+ms"] {
            assert_eq!(error(text), "a number with a unit is expected, e.g. 1.5ms or +2s", "{text}");
        }
        assert!(parse_time("-5ms").is_err() && parse_time("").is_err() && parse_time("++1s").is_err());
    }

    #[test]
    fn differences_have_signs() {
        assert_eq!(parse_signed_time("-1.5ms"), Ok(-1_500_000));
        assert_eq!(parse_signed_time("+2s"), Ok(2_000_000_000));
        assert_eq!(parse_signed_time("3ns"), Ok(3));
        assert_eq!(parse_signed_time("-9223372036854775807ns"), Ok(-i64::MAX));
        for text in ["", "-", "--1s", "-+1s", "1", "1.2.3s"] {
            assert!(parse_signed_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loss_limits() {
        let events = parse_max_lost("3").unwrap();
        assert!(!events.is_exceeded(3, 0) && events.is_exceeded(4, 1_000_000));
        let percent = parse_max_lost("0.5%").unwrap();
        assert!(!percent.is_exceeded(5, 995) && percent.is_exceeded(6, 994) && !percent.is_exceeded(0, 0));
        let none = parse_max_lost("0%").unwrap();
        assert!(none.is_exceeded(1, u64::MAX) && !none.is_exceeded(0, 5));
        for text in ["", "%", "-1", "101%", "NaN%", "1.5", "ten"] {
            assert!(parse_max_lost(text).is_err(), "{text}");
        }
    }
}
