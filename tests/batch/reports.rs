//! The reports, read by others than who wrote them: JSON, JUnit's XML, Markdown; and the exit status that goes with them.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use roxmltree::{Document, Node};

use super::captures::{damaged, small};
use super::{Desk, inputs};

/// The attributes that Jenkins' schema (`junit-10.xsd`) and GitLab know, by element, the required ones first.
const ATTRIBUTES: [(&str, &[&str]); 7] = [
    ("testsuites", &["name", "time", "tests", "failures", "errors"]),
    ("testsuite", &["name", "tests", "failures", "errors", "time", "skipped"]),
    ("testcase", &["name", "classname", "time"]),
    ("error", &["message", "type"]),
    ("failure", &["message", "type"]),
    ("skipped", &["message"]),
    ("system-out", &[]),
];

/// The elements that may be in each.
const CHILDREN: [(&str, &[&str]); 7] = [
    ("testsuites", &["testsuite"]),
    ("testsuite", &["testcase"]),
    ("testcase", &["skipped", "error", "failure", "system-out"]),
    ("error", &[]),
    ("failure", &[]),
    ("skipped", &[]),
    ("system-out", &[]),
];

fn listed<'a>(table: &'a [(&str, &'a [&'a str])], name: &str) -> &'a [&'a str] {
    table.iter().find(|(element, _)| *element == name).unwrap_or_else(|| panic!("<{name}> is not in the schema")).1
}

/// Checks a JUnit file against the schema, and its numbers against its content.
#[track_caller]
pub fn check_junit(text: &str, tests: usize, failures: usize, errors: usize) {
    let document = Document::parse(text).unwrap();
    assert!(document.root_element().has_tag_name("testsuites"));
    for element in document.descendants().filter(Node::is_element) {
        let name = element.tag_name().name();
        for attribute in element.attributes() {
            assert!(listed(&ATTRIBUTES, name).contains(&attribute.name()), "{} of <{name}>", attribute.name());
        }
        for child in element.children().filter(Node::is_element) {
            assert!(listed(&CHILDREN, name).contains(&child.tag_name().name()), "{child:?} in <{name}>");
        }
    }
    let counts =
        |of: Node| ["testcase", "failure", "error"].map(|name| of.descendants().filter(|node| node.has_tag_name(name)).count());
    assert_eq!(counts(document.root()), [tests, failures, errors]);
    for suite in document.descendants().filter(|node| node.has_tag_name("testsuites") || node.has_tag_name("testsuite")) {
        let number = |attribute: &str| suite.attribute(attribute).unwrap().parse::<f64>().unwrap();
        assert_eq!(["tests", "failures", "errors"].map(number), counts(suite).map(|count| count as f64));
        assert!(number("time") >= 0.0);
    }
}

/// Reads the rows of the one table in a Markdown file.
#[track_caller]
pub fn check_markdown(text: &str, rows: usize) -> Vec<Vec<String>> {
    let mut table: Vec<Vec<String>> = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => table.push(Vec::new()),
            Event::Start(Tag::TableCell) => table.last_mut().unwrap().push(String::new()),
            Event::Text(text) => {
                if let Some(cell) = table.last_mut().and_then(|row| row.last_mut()) {
                    cell.push_str(&text);
                }
            }
            Event::Start(Tag::Heading { .. } | Tag::Table(_) | Tag::Strong) => {}
            Event::End(TagEnd::Paragraph) | Event::Start(Tag::Paragraph) | Event::End(_) => {}
            other => panic!("{other:?} in\n{text}"),
        }
    }
    assert_eq!(table.len(), rows + 1, "{text}");
    assert!(table.iter().all(|row| row.len() == table[0].len()), "{table:?}");
    table
}

#[test]
fn every_report_says_the_same() {
    let desk = Desk::new();
    desk.put("good.bin", &small(1));
    desk.put("lossy.bin", &damaged(2));
    let odd = "a|b`c`<i>&\"x\"*_.bin";
    desk.put(odd, b"");
    let mut command = desk.command("--strict --report r.json --junit j.xml --report-md r.md -o out/ good.bin lossy.bin");
    let ran: super::Ran = command.arg(odd).output().unwrap().into();
    let ran = ran.ends(1);
    assert!(ran.stderr.contains("3 inputs: 1 converted, 1 too much lost, 1 failed"), "{}", ran.stderr);

    let report = desk.json("r.json");
    let statuses: Vec<_> = inputs(&report).iter().map(|input| input["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["converted", "too_much_lost", "failed"]);

    let junit = desk.text("j.xml");
    check_junit(&junit, 3, 1, 1);
    let document = Document::parse(&junit).unwrap();
    let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    let names: Vec<_> = cases.iter().map(|case| case.attribute("name").unwrap()).collect();
    assert_eq!(names, ["good.bin", "lossy.bin", odd]);
    assert_eq!(cases[0].attribute("classname"), Some("traceconv.tonbandgeraet"));
    let child = |case: usize, name: &str| cases[case].children().find(|node| node.has_tag_name(name)).unwrap();
    assert!(child(1, "failure").attribute("message").unwrap().starts_with("at least "));
    assert!(child(1, "failure").text().unwrap().contains(inputs(&report)[1]["losses"][0]["kind"].as_str().unwrap()));
    assert_eq!(child(2, "error").text(), inputs(&report)[2]["error"].as_str());

    let table = check_markdown(&desk.text("r.md"), 3);
    assert_eq!(table[0], ["File", "Format", "Duration", "Time", "Events", "Lost", "Status"]);
    assert_eq!([&table[1][0], &table[2][0], &table[3][0]], ["good.bin", "lossy.bin", odd]);
    assert_eq!(table[1][4], inputs(&report)[0]["events"].to_string());
    assert_eq!([&table[1][6], &table[2][6]], ["converted", "too much lost"]);
    assert_eq!(table[3][6], format!("failed: {}", inputs(&report)[2]["error"].as_str().unwrap()));
}

/// The budget, and a recording that keeps it, one that does not, and none.
fn checked() -> Desk {
    let desk = Desk::new();
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
    for name in ["budget.toml", "before.bin", "after.bin"] {
        desk.put(name, &std::fs::read(demo.join(name)).unwrap());
    }
    desk.put("a|b\n*.bin", b"");
    desk
}

fn check(desk: &Desk, options: &str) -> super::Ran {
    let mut command = desk.command(&format!("check -q --budget budget.toml {options} before.bin after.bin"));
    command.arg("a|b\n*.bin").output().unwrap().into()
}

#[test]
fn each_rule_of_a_budget_is_a_test_case() {
    let desk = checked();
    let table = check(&desk, "--junit j.xml").ends(1);
    assert!(table.stdout.starts_with(b"before.bin: 9 rules: "), "the verdicts are printed all the same");
    let junit = desk.text("j.xml");
    check_junit(&junit, 19, 1, 1);
    let document = Document::parse(&junit).unwrap();
    let suites: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let names: Vec<_> = suites.iter().map(|suite| suite.attribute("name").unwrap()).collect();
    assert_eq!(names, ["before.bin", "after.bin", "a|b\\n*.bin"]);
    assert_eq!(suites.iter().map(|suite| suite.attribute("skipped").unwrap()).collect::<Vec<_>>(), ["1", "1", "0"]);
    let with = |name: &str| document.descendants().find(|node| node.has_tag_name(name)).unwrap();
    let broken = with("failure");
    let message = broken.attribute("message").unwrap();
    assert!(
        message.starts_with("task.filter.cpu_percent is 5.") && message.ends_with(" %, which breaks task.filter.cpu_percent < 4"),
        "{message}"
    );
    assert_eq!(broken.text().unwrap(), format!("{message}\nreason: was measured on the slowest board"));
    let case = broken.parent().unwrap();
    assert_eq!(case.attribute("name"), Some("filter (task.filter.cpu_percent < 4)"));
    assert_eq!(case.attribute("classname"), Some("traceconv.after.bin"));
    assert!(with("skipped").attribute("message").unwrap().starts_with("no task job in the recording"));
    assert!(with("error").text().unwrap().starts_with("a|b\\n*.bin is empty (0 bytes)"));

    // A rule about a missing thing is a failure of another kind.
    desk.put("missing.toml", b"rules = ['task.job.runs > 0']");
    desk.run("check -q -b missing.toml before.bin --junit m.xml -o out.txt").ends(3);
    check_junit(&desk.text("m.xml"), 1, 1, 0);
    assert!(desk.text("m.xml").contains("type=\"missing\""));
    desk.run("check -b budget.toml before.bin --junit -").ends(2).says(&["--junit - cannot share standard output"]);
    desk.run("check -b budget.toml before.bin --junit x -o x").ends(2).says(&["cannot both be written to one file"]);
    assert!(!desk.path("x").exists());
}

#[test]
fn verdicts_are_told_as_markdown() {
    let desk = checked();
    let ran = check(&desk, "--md").ends(1).says(&["error: after.bin: task.filter.cpu_percent is 5."]);
    let text = String::from_utf8(ran.stdout).unwrap();
    let parts: Vec<&str> = text.split("### ").collect();
    let [before, after, none] = parts.as_slice() else { panic!("{text}") };
    assert_eq!(*before, "- before.bin: 9 rules: 8 kept, 0 broken, 1 skipped\n\n");
    let (after, reason) = after.split_once("\n\nreason: ").unwrap();
    let table = check_markdown(&format!("### {after}\n"), 9);
    assert_eq!(table[0], ["Verdict", "Rule", "Of", "Measured", "Margin"]);
    assert_eq!(table[6][..2], ["BROKEN", "task.filter.cpu_percent < 4"]);
    assert!(
        after.contains("**BROKEN**") && reason.starts_with("filter (task.filter.cpu\\_percent \\< 4): was measured"),
        "{reason}"
    );
    assert!(none.contains("not checked\n\n**a\\|b\\\\n\\*.bin is empty"), "{none}");
    assert!(none.ends_with("\n\n3 recordings: 1 within the budget, 1 not, 1 could not be read\n"), "{none}");
    desk.run("check -b budget.toml before.bin --md --json").ends(2);
}

#[test]
fn the_worst_status_counts() {
    let desk = Desk::new();
    desk.put("good.bin", &small(1));
    desk.put("lossy.bin", &damaged(2));
    desk.put("empty.bin", b"");
    desk.run("good.bin lossy.bin -o out/").ends(0);
    desk.run("good.bin lossy.bin -o out/ --max-lost 0").ends(3).says(&["too much lost", "beyond the limit set by --max-lost"]);
    desk.run("good.bin lossy.bin empty.bin -o out/ --strict").ends(1);
    // A report's directories are made; a place that cannot be one is an error.
    desk.run("good.bin empty.bin -o out/ --junit new/j.xml").ends(1);
    check_junit(std::str::from_utf8(&desk.get("new/j.xml")).unwrap(), 2, 0, 1);
    desk.run("good.bin empty.bin -o out/ --junit good.bin/j.xml").ends(1).says(&["error: cannot write good.bin/j.xml"]);
    assert_eq!(desk.files("out"), ["good.perfetto-trace", "lossy.perfetto-trace"]);
    // A single input has its reports as well, and one of them may be printed.
    let ran = desk.run("-q good.bin -o out/ --junit -").ends(0);
    check_junit(std::str::from_utf8(&ran.stdout).unwrap(), 1, 0, 0);
    let ran = desk.run("-q empty.bin -o out/ --report-md -").ends(1);
    check_markdown(std::str::from_utf8(&ran.stdout).unwrap(), 1);
    desk.run("good.bin --junit - --report -").ends(2).says(&["--report - and --junit - cannot share standard output"]);
}

#[test]
fn a_quiet_batch_tells_errors_only() {
    let desk = Desk::new();
    desk.put("good.bin", &small(1));
    desk.put("empty.bin", b"");
    let ran = desk.run("-q good.bin empty.bin -o out/").ends(1);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    // With -v each input has its summary, too.
    desk.run("-v good.bin empty.bin -o out/").ends(1).says(&[
        "good frames",
        "  -> out/good.perfetto-trace (",
        "  -> out/ (1 trace, ",
    ]);
    let ran = desk.run("good.bin empty.bin -o out/ --from 5000s").ends(1);
    assert!(ran.stderr.contains("warning: good.bin: nothing is in the time range"), "{}", ran.stderr);
}

/// In a fresh checkout: the directory of traces and reports does not exist, and nothing can be converted.
#[test]
fn reports_are_written_even_if_everything_fails() {
    let desk = Desk::with("in/broken.bin", b"not a recording");
    for (line, directory) in [
        ("in/broken.bin -o one/ --junit one/junit.xml --report one/deep/report.json", "one"),
        ("-r in --glob *.none -o two/ --junit two/junit.xml --report two/deep/report.json", "two"),
        ("missing/x.bin -o three/ --junit three/junit.xml --report three/deep/report.json", "three"),
    ] {
        desk.run(line).ends(1);
        let junit = desk.text(&format!("{directory}/junit.xml"));
        assert!(junit.contains("errors=\"1\""), "{line}: {junit}");
        assert!(desk.json(&format!("{directory}/deep/report.json"))["inputs"][0]["error"].is_string(), "{line}");
    }
}
