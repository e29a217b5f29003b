//! JUnit's XML, which CI systems show as test results: a conversion with a test case for each input, a check with one for each rule.
//!
//! There is no one schema. Only elements that those of Jenkins (`junit-10.xsd`) and GitLab have in common are written: attributes
//! and elements that both know, in the order that the older one wants.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::table::Row;
use super::{InputReport, InputStatus, LossReport, Report, visible};
use crate::model::{Certainty, counted};

/// The name of the whole, and the first part of the cases' classes.
const NAME: &str = "traceconv";

/// Test cases that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// How long all of them took, in seconds.
    pub seconds: f64,
    /// The cases, in their order.
    pub cases: Vec<Case>,
}

/// A test case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Its class; CI systems identify cases by this and the name.
    pub class: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Its result.
    pub outcome: CaseOutcome,
    /// Further text, if any.
    pub output: Option<String>,
}

/// The result of a test case.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseOutcome {
    /// It is as it should be.
    Passed,
    /// It was not looked at, for this reason.
    Skipped(String),
    /// It is not as it should be.
    Failed(Problem),
    /// It could not be found out.
    Error(Problem),
}

/// The failure of a test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind, in a word or two.
    pub kind: &'static str,
    /// The failure, in a line.
    pub message: String,
    /// The same at length.
    pub text: String,
}

/// The report as an XML document. An input that was not converted is an error, one that lost more than is allowed a failure; one
/// that is unchanged has passed: its losses were checked against the same limits.
///
/// # Errors
/// Never: it is written to memory. The writer's interface wants it.
pub fn junit(report: &Report) -> io::Result<String> {
    let cases = report.inputs.iter().map(Case::from).collect();
    junit_document(&[Suite { name: NAME.into(), seconds: report.wall_seconds, cases }])
}

/// Test cases as an XML document.
///
/// # Errors
/// Never: it is written to memory. The writer's interface wants it.
pub fn junit_document(suites: &[Suite]) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all: Vec<&Case> = suites.iter().flat_map(|suite| &suite.cases).collect();
    let counts = Counts::of(&all, suites.iter().map(|suite| suite.seconds).sum());
    writer.create_element("testsuites").with_attributes(counts.attributes(NAME)).write_inner_content(|writer| {
        for Suite { name, seconds, cases } in suites {
            let counts = Counts::of(&cases.iter().collect::<Vec<&Case>>(), *seconds);
            let name = allowed(name);
            let suite = writer.create_element("testsuite").with_attributes(counts.attributes(&name));
            let suite = suite.with_attribute(("skipped", counts.skipped.as_str()));
            suite.write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, case)))?;
        }
        Ok(())
    })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// How many cases there are of which kind, as written.
struct Counts {
    tests: String,
    failures: String,
    errors: String,
    skipped: String,
    time: String,
}

impl Counts {
    fn of(cases: &[&Case], seconds: f64) -> Counts {
        let count = |is: fn(&CaseOutcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count().to_string();
        Counts {
            tests: cases.len().to_string(),
            failures: count(|outcome| matches!(outcome, CaseOutcome::Failed(_))),
            errors: count(|outcome| matches!(outcome, CaseOutcome::Error(_))),
            skipped: count(|outcome| matches!(outcome, CaseOutcome::Skipped(_))),
            time: in_seconds(seconds),
        }
    }

    fn attributes<'a>(&'a self, name: &'a str) -> [(&'static str, &'a str); 5] {
        [("name", name), ("tests", &self.tests), ("failures", &self.failures), ("errors", &self.errors), ("time", &self.time)]
    }
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case) -> io::Result<()> {
    let [name, class] = [&case.name, &case.class].map(|text| allowed(text));
    let time = in_seconds(case.seconds);
    let element = writer.create_element("testcase");
    let element = element.with_attributes([("name", name.as_str()), ("classname", class.as_str()), ("time", time.as_str())]);
    if case.outcome == CaseOutcome::Passed && case.output.is_none() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        match &case.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Skipped(message) => {
                writer.create_element("skipped").with_attribute(("message", allowed(message).as_str())).write_empty()?;
            }
            CaseOutcome::Failed(problem) => write_problem(writer, "failure", problem)?,
            CaseOutcome::Error(problem) => write_problem(writer, "error", problem)?,
        }
        if let Some(output) = &case.output {
            writer.create_element("system-out").write_text_content(BytesText::new(&allowed(output)))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_problem(writer: &mut Writer<Vec<u8>>, element: &str, problem: &Problem) -> io::Result<()> {
    let [message, text] = [&problem.message, &problem.text].map(|text| allowed(text));
    let element = writer.create_element(element).with_attributes([("message", message.as_str()), ("type", problem.kind)]);
    element.write_text_content(BytesText::new(&text))?;
    Ok(())
}

impl From<&InputReport> for Case {
    fn from(input: &InputReport) -> Case {
        let Row { file, duration, lost, status, .. } = Row::from(input);
        let outcome = match status {
            InputStatus::Failed => {
                let error = input.error.clone().unwrap_or_else(|| "was not converted".into());
                CaseOutcome::Error(Problem { kind: "not converted", message: error.clone(), text: error })
            }
            InputStatus::TooMuchLost => {
                let message = format!("at least {} of {} events are lost", input.at_least_lost(), known_events(input));
                CaseOutcome::Failed(Problem { kind: "losses", message, text: losses(input) })
            }
            InputStatus::TooUncertain => {
                let findings = input.findings.iter().filter(|finding| finding.certainty >= Certainty::Assumed);
                let text: String = findings.map(|finding| format!("{}: {}\n", finding.of.text(), finding.because)).collect();
                let message = text.lines().next().unwrap_or_default().to_owned();
                CaseOutcome::Failed(Problem { kind: "uncertain", message, text })
            }
            InputStatus::Skipped => CaseOutcome::Skipped("it is in no known format".into()),
            InputStatus::Converted | InputStatus::Unchanged => CaseOutcome::Passed,
        };
        let trace = visible(input.output.as_deref().unwrap_or_default());
        let line = format!("{}: {} in {duration}, lost: {lost} -> {trace}", status.text(), counted(input.events, "event"));
        Case {
            name: file,
            class: format!("{NAME}.{}", input.format.unwrap_or("unknown")),
            seconds: input.wall_seconds,
            outcome,
            output: (!matches!(status, InputStatus::Failed | InputStatus::Skipped)).then_some(line),
        }
    }
}

fn known_events(input: &InputReport) -> u64 {
    input.events.saturating_add(input.at_least_lost())
}

/// The losses by kind, one in each line.
fn losses(input: &InputReport) -> String {
    let line = |LossReport { kind, text, count, first_offset, at_least_lost }: &LossReport| {
        let place = first_offset.map_or_else(String::new, |offset| format!(", first at byte {offset}"));
        format!("{count} x {text} [{kind}]{place}, at least {}\n", counted(*at_least_lost, "event"))
    };
    input.losses.iter().map(line).collect()
}

/// In seconds. Never with an exponent, which XML's decimal numbers do not have, nor as -0, which is the sum of none.
fn in_seconds(seconds: f64) -> String {
    format!("{:.3}", 0.0 + seconds)
}

/// A text without the characters that XML 1.0 cannot contain: most control characters, and two that are no characters.
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
      <failure message="at least 1 of 99 events are lost" type="losses">1 x frames or packets were lost between the target and the file, as their sequence numbers show [frames_lost], first at byte 40, at least 1 event
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

    #[test]
    fn suites_are_summed_up() {
        let case = |name: &str, outcome| Case { name: name.into(), class: "c".into(), seconds: 0.0, outcome, output: None };
        let problem = Problem { kind: "limit", message: "a < 1".into(), text: "a is 2".into() };
        let suites = [
            Suite { name: "one".into(), seconds: 0.5, cases: vec![case("a", CaseOutcome::Failed(problem))] },
            Suite {
                name: "t\u{1}wo".into(),
                seconds: 0.25,
                cases: vec![case("b", CaseOutcome::Passed), case("c", CaseOutcome::Skipped("no \"c\"".into()))],
            },
        ];
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="traceconv" tests="3" failures="1" errors="0" time="0.750">
  <testsuite name="one" tests="1" failures="1" errors="0" time="0.500" skipped="0">
    <testcase name="a" classname="c" time="0.000">
      <failure message="a &lt; 1" type="limit">a is 2</failure>
    </testcase>
  </testsuite>
  <testsuite name="t\u{1}wo" tests="2" failures="0" errors="0" time="0.250" skipped="1">
    <testcase name="b" classname="c" time="0.000"/>
    <testcase name="c" classname="c" time="0.000">
      <skipped message="no &quot;c&quot;"/>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(junit_document(&suites).unwrap(), expected);
    }
}
