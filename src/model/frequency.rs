//! Frequencies as people write them: `168M`, `32768`, `72M/7`. Read exactly, without floating point.

use super::Rate;

/// The reason why a text is not a frequency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrequencyError {
    /// It has a decimal point.
    #[error("whole numbers are expected; write 32.768k as 32768, and a third as 1/3")]
    Decimal,
    /// A part of it is not a whole number.
    #[error("`{0}` is not a whole number (k, M and G may follow), e.g. 168M, 32768 or 72M/7")]
    NoNumber(String),
    /// It is 0, or divided by 0.
    #[error("a clock does not have 0 Hz")]
    Zero,
    /// Its tick is not a fraction of nanoseconds in 64 bits.
    #[error("this frequency cannot be counted in 64 bits")]
    TooLarge,
}

impl Rate {
    /// Reads a frequency in Hz: a whole number, also as a fraction, with `k`, `M` or `G`.
    ///
    /// # Errors
    /// For anything else, and for frequencies that a clock cannot have.
    pub fn parse_hz(text: &str) -> Result<Rate, FrequencyError> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        if text.contains('.') {
            return Err(FrequencyError::Decimal);
        }
        let (numerator, denominator) = (whole_number(numerator)?, whole_number(denominator)?);
        if numerator == 0 || denominator == 0 {
            return Err(FrequencyError::Zero);
        }
        Rate::from_hz(numerator, denominator).ok_or(FrequencyError::TooLarge)
    }
}

/// A whole number, with `k`, `M` or `G`.
///
/// # Errors
/// For anything else.
pub fn whole_number(text: &str) -> Result<u64, FrequencyError> {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (text.get(..text.len() - 1), 1_000),
        Some(b'M') => (text.get(..text.len() - 1), 1_000_000),
        Some(b'G') => (text.get(..text.len() - 1), 1_000_000_000),
        _ => (Some(text), 1),
    };
    let digits = digits.filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse::<u64>().ok()?.checked_mul(scale));
    number.ok_or_else(|| FrequencyError::NoNumber(text.to_owned()))
}

/// A frequency for people, without zeros at the end: `168 MHz`, `32768 Hz`, `0.333333 Hz`.
#[must_use]
pub fn frequency_text(hz: f64) -> String {
    let (value, unit) = match hz {
        1e9.. => (hz / 1e9, "GHz"),
        1e6.. => (hz / 1e6, "MHz"),
        1e5.. => (hz / 1e3, "kHz"),
        _ => (hz, "Hz"),
    };
    let digits = format!("{value:.6}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_have_the_unit_that_fits() {
        let texts = [32_768.0, 168e6, 1e9, 1.0 / 3.0].map(frequency_text);
        assert_eq!(texts, ["32768 Hz", "168 MHz", "1 GHz", "0.333333 Hz"]);
    }

    #[test]
    fn clocks_are_fractions() {
        let hz = Rate::parse_hz;
        assert_eq!(hz("168M"), Ok(Rate::from_hz(168_000_000, 1).unwrap()));
        assert_eq!(hz("168000000"), hz("168000k"));
        assert_eq!(hz("32768"), Ok(Rate::from_hz(32_768, 1).unwrap()));
        assert_eq!(hz("72M/7"), Ok(Rate::from_hz(72_000_000, 7).unwrap()));
        assert_eq!(hz("1G"), Ok(Rate::NANOSECOND));
        assert_eq!((hz("0"), hz("1/0")), (Err(FrequencyError::Zero), Err(FrequencyError::Zero)));
        assert!(hz("32.768k").unwrap_err().to_string().contains("32768"));
        for text in ["", "M", "-1", "1/", "/1", "1/2/3", "10Hz", "99999999999G", "µ"] {
            assert!(hz(text).is_err(), "{text}");
        }
    }
}
