//! All figures of recordings as one long table: comma-separated values as RFC 4180 has them, but with line feeds alone.

use std::borrow::Cow;

use super::Figure;
use super::list::Unit;
use crate::stats::report::Number;
use crate::stats::text::visible;

/// The heading line.
pub const HEADING: &str = "recording,section,name,metric,value,unit\n";

/// A line for each figure. `recording` is the name of the input.
#[must_use]
pub fn lines(recording: &str, figures: &[Figure]) -> String {
    let mut text = String::new();
    let recording = field(recording);
    for Figure { metric, name, value, .. } in figures {
        let value = match value {
            // Only numbers have a place in a table of numbers.
            Number::Real(value) if !value.is_finite() => String::new(),
            Number::Real(value) if metric.unit != Unit::Unknown => Number::Real((value * 1000.0).round() / 1000.0).to_string(),
            value => value.to_string(),
        };
        text +=
            &format!("{recording},{},{},{},{value},{}\n", metric.section, field(name), metric.full_name(), metric.unit.symbol());
    }
    text
}

/// A field: in quotes if it has to be. A name that a spreadsheet would take for a formula begins with an apostrophe.
fn field(text: &str) -> Cow<'_, str> {
    let mut text = visible(text);
    if text.starts_with(['=', '+', '-', '@']) {
        text.to_mut().insert(0, '\'');
    }
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let fields = ["plain", "net rx", "a,b", "say \"x\"", "two\nlines", "", "=1+1", "-5,x"].map(field);
        assert_eq!(fields, ["plain", "net rx", "\"a,b\"", "\"say \"\"x\"\"\"", "two\\nlines", "", "'=1+1", "\"'-5,x\""]);
    }
}
