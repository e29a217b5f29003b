//! The report as Markdown, for the summary of a CI job: one table, in which nothing of a file's name is taken for markup.

use super::table::Row;
use super::{InputReport, InputStatus, Report};
use crate::model::counted;
use crate::stats::text::markdown_escaped;

/// GitHub takes no more than 1 MiB for the summary of a step, and drops larger ones. The action writes two texts into one.
const BYTES_MAX: usize = 450 << 10;

/// The report as a Markdown document. Of very many inputs, those that are as they should be are left out, and counted.
#[must_use]
pub fn markdown(report: &Report) -> String {
    limited(report, BYTES_MAX)
}

fn limited(report: &Report, bytes_max: usize) -> String {
    let inputs = &report.inputs;
    let text = format!("### traceconv: {}\n\n", totals(inputs));
    if inputs.is_empty() {
        return text;
    }
    let heading = "| File | Format | Duration | Time | Events | Lost | Status |\n|:--|:--|--:|:--|--:|--:|:--|\n";
    let lines: Vec<(String, bool)> = inputs.iter().map(|input| (line(input), is_notable(input))).collect();
    text + heading + &fitting(&lines, bytes_max)
}

/// The parts of a summary, one after the other, each with whether it is notable.
#[must_use]
pub fn joined(parts: &[(String, bool)]) -> String {
    fitting(parts, BYTES_MAX)
}

/// All parts, or the notable ones that there is room for.
fn fitting(parts: &[(String, bool)], bytes_max: usize) -> String {
    let is_short = parts.iter().map(|(part, _)| part.len()).sum::<usize>() <= bytes_max;
    let (mut text, mut left_out) = (String::new(), 0);
    for (part, is_notable) in parts {
        if is_short || (*is_notable && text.len() + part.len() <= bytes_max) {
            text += part;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        text += &format!("\n... and {left_out} more, left out because the text would be too long.\n");
    }
    text
}

/// How many of which status, e.g. `200 inputs: 190 converted, 10 failed`.
#[must_use]
pub fn totals(inputs: &[InputReport]) -> String {
    let rows: Vec<Row> = inputs.iter().map(Row::from).collect();
    let all = [
        InputStatus::Converted,
        InputStatus::Unchanged,
        InputStatus::TooMuchLost,
        InputStatus::TooUncertain,
        InputStatus::Failed,
        InputStatus::Skipped,
    ];
    let parts: Vec<String> = all
        .into_iter()
        .map(|status| (rows.iter().filter(|row| row.status == status).count(), status.text()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
        .collect();
    if parts.is_empty() { "no input".into() } else { format!("{}: {}", counted(rows.len(), "input"), parts.join(", ")) }
}

fn is_notable(input: &InputReport) -> bool {
    !input.losses.is_empty()
        || input.is_ambiguous()
        || !matches!(input.status, Some(InputStatus::Converted | InputStatus::Unchanged))
}

fn line(input: &InputReport) -> String {
    let Row { file, format, duration, time, events, lost, status } = Row::from(input);
    let status = match (status, &input.error) {
        (InputStatus::Failed, Some(error)) => format!("**failed**: {}", markdown_escaped(error)),
        (InputStatus::Failed | InputStatus::TooMuchLost | InputStatus::TooUncertain, _) => format!("**{}**", status.text()),
        _ => status.text().to_owned(),
    };
    let cells = [file, format, duration, time, events, lost].map(|cell| markdown_escaped(&cell));
    format!("| {} | {status} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::super::TraceReport;
    use super::super::tests::example;
    use super::*;

    fn report() -> Report {
        let mut odd = InputReport::named("a|b`c`\n<b>*@x*_\\.bin".into(), None);
        odd.error = Some("a|b is empty\n(0 bytes)".into());
        odd.status = Some(InputStatus::Failed);
        let lossy = InputReport { status: Some(InputStatus::TooMuchLost), ..example() };
        let fine = InputReport { losses: Vec::new(), core: None, ..example() };
        Report::new(vec![(TraceReport::default(), vec![odd, lossy, fine])], 0.25)
    }

    #[test]
    fn names_are_no_markup() {
        let expected = r"### traceconv: 3 inputs: 1 converted, 1 too much lost, 1 failed

| File | Format | Duration | Time | Events | Lost | Status |
|:--|:--|--:|:--|--:|--:|:--|
| a\|b\`c\`\\n\<b\>\*\@x\*\_\\.bin | - | - | - | - | - | **failed**: a\|b is empty\\n(0 bytes) |
| a.bin (core 1) | Tonbandgerät | 2.500 s | known | 98 | \>= 1 | **too much lost** |
| a.bin | Tonbandgerät | 2.500 s | known | 98 | 0 | converted |
";
        assert_eq!(markdown(&report()), expected);
        assert_eq!(markdown(&Report::new(Vec::new(), 0.0)), "### traceconv: no input\n\n");
    }

    #[test]
    fn of_too_many_only_the_notable_are_listed() {
        let mut report = report();
        report.inputs.splice(2..2, (0..500).map(|_| InputReport { losses: Vec::new(), ..example() }));
        let text = limited(&report, 10_000);
        assert!(text.contains("**too much lost**") && text.contains("**failed**"));
        assert!(text.ends_with("\n... and 501 more, left out because the text would be too long.\n"), "{text}");
        report.inputs.iter_mut().for_each(|input| input.status = Some(InputStatus::Failed));
        assert!(limited(&report, 10_000).len() < 10_200);
    }
}
