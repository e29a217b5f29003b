//! The report for people: a few lines per input.

use std::borrow::Cow;
use std::fmt::Write;

use super::{ClockReport, DetailReport, InputReport, LossReport, visible, visible_lines};
use crate::format::SHARED_LOSSES;
use crate::input::Input;
use crate::input::detect::{self, Detected};
use crate::input::memory::Part;
use crate::model::{Certainty, Finding, counted, frequency_text};
use crate::pipeline::{ClockOffset, Drift};
use crate::stats::text;

/// The result of one input, as lines with a final line break. `verbose` adds the repairs and the bytes.
#[must_use]
pub fn summary(input: &InputReport, verbose: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_summary(&mut text, input, verbose);
    text
}

/// An input in a sentence.
#[must_use]
pub fn name_in_sentence(input: &InputReport) -> String {
    if input.path == "-" { "standard input".into() } else { visible(&input.path).into_owned() }
}

/// Of a format that was named and does not recognise the bytes: the name for people of the format that does.
fn recognised_otherwise(input: &Input, detected: &Detected) -> Option<&'static str> {
    let otherwise = detected.is_doubtful.then(|| detect::detect(input.bytes(), input.layers()))?;
    otherwise.ok().map(|other| other.format.title()).filter(|&title| title != detected.format.title())
}

/// A warning if a format was named that does not recognise the bytes.
#[must_use]
pub fn warning_of_format(report: &InputReport, input: &Input, detected: &Detected) -> Option<String> {
    detected.is_doubtful.then(|| {
        let title = detected.format.title();
        let otherwise = recognised_otherwise(input, detected);
        let otherwise = otherwise.map_or_else(String::new, |title| format!("; without --format it is read as {title}"));
        match 100 * report.decoded_bytes / report.input_bytes.max(1) {
            100.. => format!("that this is {title} is known from --format only: the bytes fit, but others would too{otherwise}"),
            percent => {
                format!("the bytes do not look like {title}, which --format names: {percent} % of them fit{otherwise}")
            }
        }
    })
}

/// Why nothing is known of an input that was read: it gives not one event.
#[must_use]
pub fn without_events(report: &InputReport, input: &Input, detected: &Detected) -> String {
    let InputReport { input_bytes, frames_ok, frames_bad, losses, hints, .. } = report;
    let title = detected.format.title();
    let good = match frames_ok {
        0 => format!("no valid {title} frame"),
        _ => format!("{}, but none that is an event", counted(*frames_ok, &format!("valid {title} frame"))),
    };
    let first = losses.iter().find_map(|loss| Some(format!("; first at byte {}: {}", loss.first_offset?, loss.text)));
    let advice = match recognised_otherwise(input, detected) {
        Some(title) => format!("Without --format it is read as {title}"),
        None => {
            let hints = hints.iter().map(|hint| format!(". {}", hint.trim_end_matches('.')));
            format!("Check the format (--format) and that the recording is complete{}", hints.collect::<String>())
        }
    };
    format!(
        "{} gives no event: its {} {} {good}; bad frames: {frames_bad}{}. {advice}",
        name_in_sentence(report),
        counted(*input_bytes, "byte"),
        if *input_bytes == 1 { "has" } else { "have" },
        first.unwrap_or_default(),
    )
}

fn write_summary(text: &mut String, input: &InputReport, verbose: bool) -> std::fmt::Result {
    if let Some(error) = &input.error {
        return writeln!(text, "error: {}", visible_lines(error));
    }
    write!(text, "{}: ", input.title())?;
    if let Some(title) = input.format_title() {
        write!(text, "{title}")?;
        if !input.layers.is_empty() {
            write!(text, " in {}", input.layers.join(" around "))?;
        }
        let because = input.detected_because.as_deref().unwrap_or_default();
        writeln!(text, ", because {}", visible(because))?;
    }

    write_content(text, input, verbose)?;
    write_offset(text, input)?;
    for DetailReport { name, value, source } in &input.details {
        let value = if verbose { value.into() } else { brief(value) };
        writeln!(text, "  {name}: {} ({})", visible(&value), visible(source))?;
    }
    write_account(text, input, verbose)?;
    for hint in &input.hints {
        writeln!(text, "  hint: {}", visible(hint))?;
    }
    for warning in &input.warnings {
        writeln!(text, "  warning: {}", visible(warning))?;
    }
    Ok(())
}

/// Where the recording is in an image of memory, and what it holds.
fn write_content(text: &mut String, input: &InputReport, verbose: bool) -> std::fmt::Result {
    if let Some(part) = &input.memory {
        write!(text, "  found at byte {} of a memory image of {} bytes", part.offset, part.image_bytes)?;
        if verbose {
            let Part { header_bytes, recording_bytes, unused_bytes, outside_bytes, .. } = part;
            write!(
                text,
                ": {recording_bytes} of recording, {header_bytes} of header, {unused_bytes} unused, {outside_bytes} outside"
            )?;
        }
        text.push('\n');
    }
    write!(text, "  {}", counted(input.events, "event"))?;
    if let Some(duration_ns) = input.duration_ns() {
        write!(text, " in {}", duration(duration_ns))?;
    }
    if let Some(system) = &input.system {
        write!(text, ", {system}")?;
    }
    if input.cores > 1 {
        write!(text, ", {} cores", input.cores)?;
    }
    if input.sessions > 1 {
        write!(text, ", {} sessions (the target was reset)", input.sessions)?;
    }
    if let Some(ClockReport { hz, because, .. }) = &input.clock {
        write!(text, ", clock {} ({because})", frequency_text(*hz))?;
    }
    text.push('\n');
    Ok(())
}

/// How the recording's times were moved in a trace of several.
fn write_offset(text: &mut String, input: &InputReport) -> std::fmt::Result {
    if let Some(ClockOffset { ns, because, drift }) = &input.offset {
        writeln!(text, "  offset: {} ({because})", signed_duration(*ns))?;
        if let Some(Drift { ppm, markers, largest_deviation_ns, is_doubtful, is_corrected }) = drift {
            let corrected = match (is_corrected, is_doubtful) {
                (true, _) => "corrected",
                (false, true) => "not corrected",
                (false, false) => "not corrected; --correct-drift does it",
            };
            let deviation = match largest_deviation_ns {
                Some(ns) => format!("which deviate by {} at most", duration(*ns)),
                None => "too few to say how constant it is".into(),
            };
            writeln!(text, "  drift: {ppm:+.3} ppm over {markers} markers, {deviation} ({corrected})")?;
        }
    }
    Ok(())
}

/// The account of the bytes, losses and repairs.
fn write_account(text: &mut String, input: &InputReport, verbose: bool) -> std::fmt::Result {
    if verbose {
        let InputReport { input_bytes, decoded_bytes, skipped_bytes, frames_ok, frames_bad, .. } = input;
        writeln!(
            text,
            "  {}: {decoded_bytes} decoded, {skipped_bytes} skipped; {}, {frames_bad} bad",
            counted(*input_bytes, "byte"),
            counted(*frames_ok, "good frame")
        )?;
    }
    for loss in &input.losses {
        write_case(text, "lost", loss)?;
    }
    if verbose {
        input.repairs.iter().try_for_each(|repair| write_case(text, "repaired", repair))?;
    } else if !input.repairs.is_empty() {
        let cases = input.repairs.iter().fold(0u64, |sum, repair| sum.saturating_add(repair.count));
        writeln!(text, "  repaired: {} (-v lists them)", counted(cases, "case"))?;
    }
    if input.losses.is_empty() {
        let is_assumed = |finding: &&Finding| finding.certainty == Certainty::Assumed && !finding.is_recordable;
        let assumed = input.findings.iter().filter(is_assumed).map(|finding| format!("; {} assumed", finding.of.text()));
        let is_shared = input.details.iter().any(|detail| detail.name == SHARED_LOSSES);
        let nothing = if is_shared { "nothing else lost" } else { "nothing lost" };
        writeln!(text, "  {nothing}{}", assumed.collect::<String>())?;
    }
    Ok(())
}

/// Details with more characters are cut without `-v`.
const DETAIL_CHARS: usize = 200;

/// A detail in a line that is read: of a long list the first items.
fn brief(value: &str) -> Cow<'_, str> {
    let Some(begin) = value.char_indices().nth(DETAIL_CHARS).and_then(|(end, _)| value.get(..end)) else { return value.into() };
    let begin = begin.rsplit_once(", ").map_or(begin, |(begin, _)| begin);
    format!("{begin}, … (-v has all)").into()
}

fn write_case(text: &mut String, verb: &str, case: &LossReport) -> std::fmt::Result {
    let LossReport { kind, text: name, count, first_offset, at_least_lost } = case;
    let place = if *count == 1 { "at" } else { "first at" };
    write!(text, "  {verb}: {count} x {name} [{kind}]")?;
    if let Some(offset) = first_offset {
        write!(text, ", {place} byte {offset}")?;
    }
    if *at_least_lost > 0 {
        write!(text, ", at least {}", counted(*at_least_lost, "event"))?;
    }
    text.push('\n');
    Ok(())
}

fn signed_duration(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "+" }, duration(ns.unsigned_abs()))
}

/// A duration with the unit that suits it.
pub(super) fn duration(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match seconds {
        0..600 => text::duration(ns),
        600..3600 => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {minutes:02} min {:02} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn losses_are_told_and_repairs_are_counted() {
        let expected = "\
a.bin (core 1): Tonbandgerät, because it looks so
  98 events in 2.500 s, FreeRTOS, 2 cores, clock 168 MHz (given by --clock-hz)
  timer period: 1 ms (inferred)
  lost: 1 x frames or packets were lost between the target and the file, as their sequence numbers show [frames_lost], at byte 40, at least 1 event
  repaired: 1 case (-v lists them)
  hint: Try --elf.
  warning: nothing is in the time range
";
        assert_eq!(summary(&example(), false), expected);
    }

    #[test]
    fn verbose_lists_repairs_and_bytes() {
        let input = InputReport { core: None, layers: vec!["base64 text", "gzip"], sessions: 3, ..example() };
        let expected = "\
a.bin: Tonbandgerät in base64 text around gzip, because it looks so
  98 events in 2.500 s, FreeRTOS, 2 cores, 3 sessions (the target was reset), clock 168 MHz (given by --clock-hz)
  timer period: 1 ms (inferred)
  1000 bytes: 990 decoded, 10 skipped; 100 good frames, 1 bad
  lost: 1 x frames or packets were lost between the target and the file, as their sequence numbers show [frames_lost], at byte 40, at least 1 event
  repaired: 1 x a time stamp is earlier than the one before it; the earlier time was held [time_held], at byte 90
  hint: Try --elf.
  warning: nothing is in the time range
";
        assert_eq!(summary(&input, true), expected);
    }

    #[test]
    fn the_place_in_a_memory_image_is_told() {
        let input = InputReport { memory: Some(super::super::tests::in_memory()), ..example() };
        let place = "  found at byte 400 of a memory image of 4000 bytes";
        assert!(summary(&input, false).contains(&format!("{place}\n  98 events")));
        let parts = "1000 of recording, 60 of header, 40 unused, 2900 outside";
        assert!(summary(&input, true).contains(&format!("{place}: {parts}\n  98 events")));
    }

    #[test]
    fn long_details_are_cut_without_verbose() {
        let value = ["QUEUE_SEND 1"; 40].join(", ");
        let detail = DetailReport { name: "packets".into(), value: value.clone(), source: "counted".into() };
        let input = InputReport { details: vec![detail], ..InputReport::default() };
        let cut = format!("\n  packets: {}, … (-v has all) (counted)\n", ["QUEUE_SEND 1"; 14].join(", "));
        assert!(summary(&input, false).contains(&cut), "{}", summary(&input, false));
        assert!(summary(&input, true).contains(&format!("\n  packets: {value} (counted)\n")));
        assert_eq!(brief(&"µ".repeat(201)), format!("{}, … (-v has all)", "µ".repeat(200)));
    }

    #[test]
    fn a_failure_is_one_line() {
        let failed = InputReport { path: "b".into(), error: Some("b is empty".into()), ..InputReport::default() };
        assert_eq!(summary(&failed, false), "error: b is empty\n");
    }

    #[test]
    fn quantities_read_well() {
        assert_eq!(
            [7, 1_500, 2_000_000, 3_250_000_000, 3_725_000_000_000].map(duration),
            ["7 ns", "1.500 µs", "2.000 ms", "3.250 s", "1 h 02 min 05 s"]
        );
    }
}
