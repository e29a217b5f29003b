//! The nearest of some words to one that is mistyped.

/// The word that takes the fewest changes (a letter added, removed or replaced, or two swapped), if these are at most a third of its
/// letters.
#[must_use]
pub fn nearest<'a>(mistyped: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = words.into_iter().map(|word| (strsim::osa_distance(mistyped, word), word));
    let (changes, word) = distances.min_by_key(|(changes, _)| *changes)?;
    (changes > 0 && changes * 3 <= word.chars().count().max(3)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_found() {
        let words = ["cpu_percent", "longest_run_us", "runs", "p99_us"];
        assert_eq!(nearest("cpu_precent", words), Some("cpu_percent"));
        assert_eq!(nearest("p9_us", words), Some("p99_us"));
        assert_eq!(nearest("run", words), Some("runs"));
        assert_eq!(nearest("dmup", ["dump", "stats"]), Some("dump"));
        assert_eq!(nearest("temperature", words), None);
        assert_eq!(nearest("x", []), None);
    }
}
