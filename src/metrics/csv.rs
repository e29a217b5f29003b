//! All figures of recordings as one long table: comma-separated values as RFC 4180 has them, but with line feeds alone.

use std::borrow::Cow;

use super::Figure;
use crate::stats::report::Number;

/// The heading line.
pub const HEADING: &str = "recording,section,name,metric,value,unit\n";

/// A line for each figure. `recording` is the name of the input.
#[must_use]
pub fn lines(recording: &str, figures: &[Figure]) -> String {
    let mut text = String::new();
    let recording = field(recording);
    for Figure { metric, name, value } in figures {
        let value = match value {
            // What is not a number has no place in a table of numbers.
            Number::Real(value) if !value.is_finite() => String::new(),
            value => value.to_string(),
        };
        text +=
            &format!("{recording},{},{},{},{value},{}\n", metric.section, field(name), metric.full_name(), metric.unit.symbol());
    }
    text
}

/// A field: in quotes if it has to be.
fn field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let fields = ["plain", "net rx", "a,b", "say \"x\"", "two\nlines", ""].map(field);
        assert_eq!(fields, ["plain", "net rx", "\"a,b\"", "\"say \"\"x\"\"\"", "\"two\nlines\"", ""]);
    }
}
