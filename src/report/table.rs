//! One line per input: file, format, duration, events, losses, status. For terminals as text; [`super::markdown()`] uses it too.

use super::text::duration;
use super::{InputReport, InputStatus};

/// The titles of the columns.
const TITLES: [&str; 7] = ["FILE", "FORMAT", "DURATION", "TIME", "EVENTS", "LOST", "STATUS"];

/// An input in a table. Unknown values are `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name, with its core if it has one. Without control characters.
    pub file: String,
    /// The format's title.
    pub format: String,
    /// From the first event to the last.
    pub duration: String,
    /// How sure the times are: `known`, `inferred`, `assumed` or `ambiguous`.
    pub time: String,
    /// The number of events.
    pub events: String,
    /// How many are lost: `0`, `>= 3`; or `some`, where nobody knows how many.
    pub lost: String,
    /// Its result.
    pub status: InputStatus,
}

impl From<&InputReport> for Row {
    fn from(input: &InputReport) -> Row {
        let dash = || "-".to_owned();
        let status = input.status.unwrap_or(if input.error.is_some() { InputStatus::Failed } else { InputStatus::Converted });
        let is_known = !matches!(status, InputStatus::Failed | InputStatus::Skipped);
        Row {
            file: input.title(),
            format: input.format_title().map_or_else(dash, str::to_owned),
            duration: input.duration_ns().filter(|_| is_known).map_or_else(dash, duration),
            time: input.time_certainty().filter(|_| is_known).map_or_else(dash, |certainty| certainty.text().to_owned()),
            events: if is_known { input.events.to_string() } else { dash() },
            lost: match input.at_least_lost() {
                _ if !is_known => dash(),
                0 if input.losses.is_empty() => "0".into(),
                0 => "some".into(),
                lost => format!(">= {lost}"),
            },
            status,
        }
    }
}

impl Row {
    fn cells(&self) -> [&str; 6] {
        [&self.file, &self.format, &self.duration, &self.time, &self.events, &self.lost]
    }
}

/// The inputs as lines of a table with a final line break. `paint` may put colour around a status.
#[must_use]
pub fn table(inputs: &[InputReport], paint: impl Fn(InputStatus, &str) -> String) -> String {
    let mut rows: Vec<Row> = inputs.iter().map(Row::from).collect();
    // One long path does not make all lines long.
    rows.iter_mut().for_each(|row| row.file = path_end(&row.file));
    let mut widths = TITLES.map(|title| title.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row.cells()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; 6], status: &str| {
        let mut line = String::new();
        for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            // Names to the left, numbers to the right.
            line += &if column < 2 || column == 3 { format!("{cell:width$}  ") } else { format!("{cell:>width$}  ") };
        }
        line + status + "\n"
    };
    let [file, format, duration, time, events, lost, status] = TITLES;
    let mut text = line([file, format, duration, time, events, lost], status);
    for row in &rows {
        text += &line(row.cells(), &paint(row.status, row.status.text()));
    }
    text
}

/// How wide names are at most, in characters.
const FILE_WIDTH: usize = 60;

/// The end of a path that is too long for a table.
fn path_end(path: &str) -> String {
    let length = path.chars().count();
    match length > FILE_WIDTH {
        true => std::iter::once('…').chain(path.chars().skip(length - FILE_WIDTH + 1)).collect(),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_line_says_what_became_of_an_input() {
        let fine =
            InputReport { core: None, losses: Vec::new(), unchanged: true, status: Some(InputStatus::Unchanged), ..example() };
        let mut some = InputReport { status: Some(InputStatus::TooMuchLost), ..example() };
        some.losses[0].at_least_lost = 0;
        let failed = InputReport { path: "a\nb".into(), status: Some(InputStatus::Failed), ..InputReport::default() };
        let expected = "\
FILE            FORMAT        DURATION  TIME   EVENTS  LOST  STATUS
a.bin (core 1)  Tonbandgerät   2.500 s  known      98  >= 1  <converted>
a.bin           Tonbandgerät   2.500 s  known      98     0  <unchanged>
a.bin (core 1)  Tonbandgerät   2.500 s  known      98  some  <too much lost>
a\\nb            -                    -  -           -     -  <failed>
";
        assert_eq!(table(&[example(), fine, some, failed], |_, text| format!("<{text}>")), expected);
    }
}
