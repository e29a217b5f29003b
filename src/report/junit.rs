//! The report as JUnit's XML, which CI systems show as test results: a test case for each input.
//!
//! There is no one schema. What is written here is what those of Jenkins (`junit-10.xsd`) and GitLab have in common: attributes
//! and elements that both know, in the order that the older one wants.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::table::Row;
use super::{InputReport, InputStatus, LossReport, Report};

/// The name of the suite, and the first part of the cases' classes.
const SUITE: &str = "traceconv";

/// The report as an XML document. An input that was not converted is an error, one that lost more than is allowed a failure; one
/// that is unchanged has passed: what is known of it was held against the same limits.
///
/// # Errors
/// Never: it is written to memory. The writer's interface wants it.
pub fn junit(report: &Report) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let of = |status| report.inputs.iter().filter(|input| Row::from(*input).status == status).count().to_string();
    let (tests, time) = (report.inputs.len().to_string(), seconds(report.wall_seconds));
    let (failures, errors) = (of(InputStatus::TooMuchLost), of(InputStatus::Failed));
    let counts = [
        ("name", SUITE),
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", errors.as_str()),
        ("time", time.as_str()),
    ];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").with_attributes(counts).write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attributes(counts).with_attribute(("skipped", "0"));
        suite.write_inner_content(|writer| report.inputs.iter().try_for_each(|input| write_case(writer, input)))?;
        Ok(())
    })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

fn write_case(writer: &mut Writer<Vec<u8>>, input: &InputReport) -> io::Result<()> {
    let Row { file, duration, events, lost, status, .. } = Row::from(input);
    let name = allowed(&file);
    let class = format!("{SUITE}.{}", input.format.unwrap_or("unknown"));
    let time = seconds(input.wall_seconds);
    let case = writer.create_element("testcase").with_attributes([
        ("name", name.as_str()),
        ("classname", class.as_str()),
        ("time", time.as_str()),
    ]);
    case.write_inner_content(|writer| {
        match status {
            InputStatus::Failed => {
                let error = allowed(input.error.as_deref().unwrap_or("was not converted"));
                problem(writer, "error", "not converted", &error, &error)?;
            }
            InputStatus::TooMuchLost => {
                let message = format!("at least {} of {} events are lost", input.at_least_lost(), known_events(input));
                problem(writer, "failure", "losses", &message, &losses(input))?;
            }
            InputStatus::Converted | InputStatus::Unchanged => {}
        }
        if status != InputStatus::Failed {
            let output = input.output.as_deref().unwrap_or_default();
            let out = format!("{}: {events} events in {duration}, lost: {lost} -> {output}", status.text());
            let out = allowed(&out);
            writer.create_element("system-out").write_text_content(BytesText::new(&out))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn problem(writer: &mut Writer<Vec<u8>>, element: &str, kind: &str, message: &str, text: &str) -> io::Result<()> {
    let element = writer.create_element(element).with_attributes([("message", message), ("type", kind)]);
    element.write_text_content(BytesText::new(text))?;
    Ok(())
}

fn known_events(input: &InputReport) -> u64 {
    input.events.saturating_add(input.at_least_lost())
}

/// The losses by kind, one in each line.
fn losses(input: &InputReport) -> String {
    let line = |LossReport { kind, text, count, first_offset, at_least_lost }: &LossReport| {
        let place = first_offset.map_or_else(String::new, |offset| format!(", first at byte {offset}"));
        format!("{count} x {text} [{kind}]{place}, at least {at_least_lost} events\n")
    };
    allowed(&input.losses.iter().map(line).collect::<String>())
}

/// In seconds. Never with an exponent, which XML's decimal numbers do not have.
fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// A text without what XML 1.0 has no way to write: most control characters, and two that are no characters.
fn allowed(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::super::TraceReport;
    use super::super::tests::example;
    use super::*;

    #[test]
    fn an_input_is_a_test_case() {
        let mut odd = InputReport::named("a&b\"<c>'\u{1}\n\u{ffff}.bin".into(), None);
        odd.error = Some("a&b]]> is empty \u{1b}[31m".into());
        odd.status = Some(InputStatus::Failed);
        let lossy = InputReport { status: Some(InputStatus::TooMuchLost), ..example() };
        let fine = InputReport { losses: Vec::new(), core: None, status: Some(InputStatus::Unchanged), ..example() };
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="traceconv" tests="3" failures="1" errors="1" time="0.250">
  <testsuite name="traceconv" tests="3" failures="1" errors="1" time="0.250" skipped="0">
    <testcase name="a&amp;b&quot;&lt;c&gt;&apos;\u{1}\n\u{ffff}.bin" classname="traceconv.unknown" time="0.000">
      <error message="a&amp;b]]&gt; is empty \u{1b}[31m" type="not converted">a&amp;b]]&gt; is empty \u{1b}[31m</error>
    </testcase>
    <testcase name="a.bin (core 1)" classname="traceconv.tonbandgeraet" time="0.125">
      <failure message="at least 1 of 99 events are lost" type="losses">1 x a gap [gap], first at byte 40, at least 1 events
</failure>
      <system-out>too much lost: 98 events in 2.500 s, lost: &gt;= 1 -&gt; a.perfetto-trace</system-out>
    </testcase>
    <testcase name="a.bin" classname="traceconv.tonbandgeraet" time="0.125">
      <system-out>unchanged: 98 events in 2.500 s, lost: 0 -&gt; a.perfetto-trace</system-out>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(junit(&Report::new(vec![(TraceReport::default(), vec![odd, lossy, fine])], 0.25)).unwrap(), expected);
    }
}
