//! Time: ticks on the wire, nanoseconds on the model, and the rate between them.

use std::fmt;

/// A reading of the target's time-stamp counter, already unwrapped to 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u64);

/// A point on the trace's time axis, in nanoseconds. Never above [`Nanos::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The largest time the viewer can hold: it keeps times as signed 64-bit nanoseconds.
    pub const MAX: Nanos = Nanos(i64::MAX as u64);

    /// The nanoseconds from `earlier` to `self`, 0 if `earlier` is the later one.
    #[must_use]
    pub fn since(self, earlier: Nanos) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `self` moved by `delta_ns`, held within 0 ..= [`Nanos::MAX`].
    #[must_use]
    pub fn saturating_add(self, delta_ns: u64) -> Nanos {
        Nanos(self.0.saturating_add(delta_ns)).min(Nanos::MAX)
    }
}

impl fmt::Display for Nanos {
    /// Seconds with nine decimals, e.g. `0.001393525 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The duration of one tick in nanoseconds, as an exact fraction.
///
/// Times are always computed from the absolute tick (`tick * numerator / denominator` in 128-bit maths), never by adding
/// rounded steps, so that a 168 MHz or 32768 Hz clock does not drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    numerator: u64,
    denominator: u64,
}

impl Rate {
    /// One tick per nanosecond.
    pub const NANOSECOND: Rate = Rate { numerator: 1, denominator: 1 };

    /// A tick of `ns` whole nanoseconds. `None` for 0.
    #[must_use]
    pub fn from_ns_per_tick(ns: u64) -> Option<Rate> {
        (ns != 0).then_some(Rate { numerator: ns, denominator: 1 })
    }

    /// A tick of `numerator / denominator` nanoseconds, in lowest terms. `None` if either is 0.
    #[must_use]
    pub fn from_ns_fraction(numerator: u64, denominator: u64) -> Option<Rate> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let divisor = u64::try_from(gcd(u128::from(numerator), u128::from(denominator))).ok()?;
        Some(Rate { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// A clock of `numerator / denominator` ticks per second. `None` if either is 0.
    #[must_use]
    pub fn from_hz(numerator: u64, denominator: u64) -> Option<Rate> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let ns = 1_000_000_000u128 * u128::from(denominator);
        let divisor = gcd(ns, u128::from(numerator));
        let (ns, ticks) = (ns / divisor, u128::from(numerator) / divisor);
        Some(Rate { numerator: u64::try_from(ns).ok()?, denominator: u64::try_from(ticks).ok()? })
    }

    /// Nanoseconds per tick as numerator and denominator, in lowest terms when made by [`Rate::from_hz`].
    #[must_use]
    pub fn ns_per_tick(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// Ticks per second, for people.
    #[must_use]
    pub fn hz(self) -> f64 {
        1e9 * self.denominator as f64 / self.numerator as f64
    }

    /// The time of `ticks` after tick 0, rounded down. `None` when it lies beyond [`Nanos::MAX`].
    #[inline]
    #[must_use]
    pub fn to_nanos(self, ticks: Ticks) -> Option<Nanos> {
        let ns = if self.denominator == 1 {
            ticks.0.checked_mul(self.numerator)?
        } else if let Some(product) = ticks.0.checked_mul(self.numerator) {
            product / self.denominator
        } else {
            self.wide_nanos(ticks)?
        };
        (ns <= Nanos::MAX.0).then_some(Nanos(ns))
    }

    /// A separate function, so that [`Rate::to_nanos`] is small.
    #[cold]
    #[inline(never)]
    fn wide_nanos(self, ticks: Ticks) -> Option<u64> {
        let wide = u128::from(ticks.0) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(wide).ok()
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_clocks_do_not_drift() {
        let stm32 = Rate::from_hz(168_000_000, 1).unwrap();
        assert_eq!(stm32.ns_per_tick(), (125, 21));
        assert_eq!(stm32.to_nanos(Ticks(168_000_000 * 86_400)), Some(Nanos(86_400_000_000_000)));
        let watch = Rate::from_hz(32_768, 1).unwrap();
        assert_eq!(watch.to_nanos(Ticks(1)), Some(Nanos(30_517)));
        assert_eq!(watch.to_nanos(Ticks(32_768)), Some(Nanos(1_000_000_000)));
        let thirds = Rate::from_hz(1, 3).unwrap();
        assert_eq!(thirds.to_nanos(Ticks(2)), Some(Nanos(6_000_000_000)));
    }

    #[test]
    fn times_beyond_the_viewer_are_refused_not_wrapped() {
        let second = Rate::from_ns_per_tick(1_000_000_000).unwrap();
        assert_eq!(second.to_nanos(Ticks(9_223_372_036)), Some(Nanos(9_223_372_036_000_000_000)));
        assert_eq!(second.to_nanos(Ticks(9_223_372_037)), None);
        assert_eq!(second.to_nanos(Ticks(20_000_000_000)), None);
        assert_eq!(Rate::NANOSECOND.to_nanos(Ticks(u64::MAX)), None);
        assert_eq!(Rate::from_hz(168_000_000, 1).unwrap().to_nanos(Ticks(u64::MAX)), None);
    }

    #[test]
    fn zero_is_no_rate() {
        assert_eq!(Rate::from_ns_per_tick(0), None);
        assert_eq!(Rate::from_ns_fraction(0, 1), None);
        assert_eq!(Rate::from_ns_fraction(1, 0), None);
        assert_eq!(Rate::from_ns_fraction(1000, 168).map(Rate::ns_per_tick), Some((125, 21)));
        assert_eq!(Rate::from_hz(0, 1), None);
        assert_eq!(Rate::from_hz(1, 0), None);
    }

    #[test]
    fn nanos_read_as_seconds() {
        assert_eq!(Nanos(1_393_525).to_string(), "0.001393525 s");
    }
}
