//! Numbers with their noun, for people: `1 event`, `2 events`.

use std::fmt::Display;

/// A number and a noun, which is given in the singular.
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = match noun.as_bytes().last() {
        _ if number == N::from(1) => "",
        Some(b'x' | b's') => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

/// How often something happened, as an adverb.
#[must_use]
pub fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::{counted, times};

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0, 1, 2].map(|number: u64| counted(number, "event")), ["0 events", "1 event", "2 events"]);
        assert_eq!([1, 2].map(times), ["once", "2 times"]);
        assert_eq!([1, 2].map(|number: usize| counted(number, "mutex")), ["1 mutex", "2 mutexes"]);
        assert_eq!([1.0, 1.5].map(|number: f64| counted(number, "loss")), ["1 loss", "1.5 losses"]);
    }
}
