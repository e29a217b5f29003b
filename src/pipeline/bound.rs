//! Points in time as people write them: `1.5ms`, `+2s`. Parsed exactly, without floating point.

use std::str::FromStr;

use super::TimeBound;
use crate::model::Nanos;

/// Why a text is not a point in time, as a clause that says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeBoundError(String);

/// A number with a unit (ns, us, ms, s): the trace's own time. With a plus sign: after the first event.
impl FromStr for TimeBound {
    type Err = TimeBoundError;

    fn from_str(text: &str) -> Result<TimeBound, TimeBoundError> {
        let (relative, amount) = match text.strip_prefix('+') {
            Some(amount) => (true, amount),
            None => (false, text),
        };
        let unit_start = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
        let (number, unit) = amount.split_at(unit_start);
        let decimals = match unit.trim_start() {
            "ns" => 0,
            "us" | "µs" | "μs" => 3,
            "ms" => 6,
            "s" => 9,
            "" if number == "0" => 0,
            "" => {
                let message = format!("the unit is missing: `{text}ns`, `{text}us`, `{text}ms` or `{text}s`?");
                return Err(TimeBoundError(message));
            }
            unit => return Err(TimeBoundError(format!("`{unit}` is no unit; ns, us, ms or s is expected"))),
        };
        let time = decimal(number, decimals).map_err(|message| TimeBoundError(message.into()))?;
        Ok(if relative { TimeBound::AfterStart(time) } else { TimeBound::Absolute(time) })
    }
}

/// A decimal number times 10 to the power of `decimals`, in nanoseconds.
fn decimal(number: &str, decimals: usize) -> Result<Nanos, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err("a number with a unit is expected, e.g. 1.5ms or +2s");
    }
    if fraction.trim_end_matches('0').len() > decimals {
        return Err("times are whole nanoseconds; this is finer");
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let scaled = || {
        let scale = 10u64.checked_pow(u32::try_from(decimals).ok()?)?;
        let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(decimals).collect();
        digits(whole)?.checked_mul(scale)?.checked_add(digits(&fraction)?).filter(|&ns| ns <= Nanos::MAX.0)
    };
    scaled().map(Nanos).ok_or("this is beyond the 292 years that a trace can hold")
}
