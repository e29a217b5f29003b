//! The nearest of some words to one that is mistyped.

/// The word that takes the fewest changes of a letter to get to, if that is at most a third of them.
#[must_use]
pub fn nearest<'a>(mistyped: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = words.into_iter().map(|word| (distance(mistyped, word), word));
    let (changes, word) = distances.min_by_key(|(changes, _)| *changes)?;
    (changes > 0 && changes * 3 <= word.chars().count().max(3)).then_some(word)
}

/// How many letters must be added, taken away or changed (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, other) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
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
        assert_eq!(nearest("temperature", words), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!((distance("", "abc"), distance("abc", ""), distance("kitten", "sitting")), (3, 3, 3));
    }
}
