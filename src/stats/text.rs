//! Statistics for people: a table for each kind of thing.

use std::fmt::Write;

use super::report::{FunctionReport, LaneReport, MachineReport, Number, StatisticsReport, TaskReport};
use super::spread::SpreadReport;
pub(crate) use crate::model::counted;

/// The tables, each with its heading; those without rows are left out. Lists end after `rows` rows, the rest is counted.
#[must_use]
pub fn tables(report: &StatisticsReport, rows: usize) -> String {
    let tables = [
        cores(report),
        tasks(report),
        latencies(report),
        interrupts(report),
        queues(report),
        mutexes(report),
        machines(report),
        responses(report),
        signals(report),
        spans(report),
        values(report),
        logs(report),
        instants(report),
        functions(report),
        samples(report),
    ];
    let mut text = rendered(&tables, rows, "--json has all");
    // Writing to a string cannot fail.
    let _ = write_rest(&mut text, report);
    text
}

/// Who took the time: the tables of cores, tasks, interrupts and functions alone.
#[must_use]
pub fn overview(report: &StatisticsReport, rows: usize) -> String {
    rendered(&[cores(report), tasks(report), interrupts(report), functions(report), samples(report)], rows, "stats has all")
}

fn rendered(tables: &[Table], rows: usize, advice: &str) -> String {
    tables.iter().filter_map(|table| table.render(rows, advice)).collect::<Vec<_>>().join("\n")
}

fn write_rest(text: &mut String, report: &StatisticsReport) -> std::fmt::Result {
    if let Some(heap) = report.heap {
        let (most, now) = (heap.high_water_bytes, heap.used_bytes);
        write!(text, "\nHeap: {} taken, {} given back, ", heap.allocations, heap.frees)?;
        writeln!(text, "{} refused; at most {most:+} bytes, at the end {now:+}, since the beginning", heap.failures)?;
    }
    if !report.logs.is_empty() {
        let counts: Vec<String> = report.logs.iter().map(|log| format!("{} {}", log.count, log.severity)).collect();
        writeln!(text, "\nLog messages: {}", counts.join(", "))?;
    }
    if report.gaps > 0 {
        writeln!(
            text,
            "\n{}: from a loss to the next switch it is unknown who runs, and nothing is measured across one",
            counted(report.gaps, "gap")
        )?;
    }
    Ok(())
}

/// A table. The first column is aligned to the left, as are those named in `left`; the others to the right.
pub(crate) struct Table {
    pub(crate) heading: Vec<&'static str>,
    pub(crate) left: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// `None` without rows. Further rows than `limit` are counted; `advice` says who has them.
    pub(crate) fn render(&self, limit: usize, advice: &str) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let heading: Vec<String> = self.heading.iter().map(ToString::to_string).collect();
        let cells = |row: &Vec<String>| row.iter().map(|cell| visible(cell).into_owned()).collect::<Vec<String>>();
        let shown: Vec<Vec<String>> = std::iter::once(heading.clone()).chain(self.rows.iter().take(limit).map(cells)).collect();
        let width = |column: usize| shown.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let mut widths: Vec<usize> = (0..heading.len()).map(|column| width(column).unwrap_or(0)).collect();
        let is_left = |column: usize| column == 0 || self.left.contains(&self.heading[column]);
        // The widest texts are cut, never figures.
        let mut excess = (widths.iter().sum::<usize>() + 2 * widths.len()).saturating_sub(LINE_WIDTH + 2);
        while excess > 0 {
            let texts = (0..widths.len()).filter(|&column| is_left(column) && widths[column] > LEAST_TEXT_WIDTH);
            let Some(widest) = texts.max_by_key(|&column| widths[column]) else { break };
            widths[widest] -= 1;
            excess -= 1;
        }
        let mut text = String::new();
        for row in &shown {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let is_left = is_left(column);
                let cell = &shortened(cell, width);
                let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
                let separator = if column == 0 { "" } else { "  " };
                line += separator;
                line += &if is_left { format!("{cell}{gap}") } else { format!("{gap}{cell}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        let more = self.rows.len().saturating_sub(limit);
        if more > 0 {
            text += &format!("... and {more} more ({advice})\n");
        }
        Some(text)
    }
}

/// A text from outside within a line: control and bidirectional characters are escaped, so that a name in a recording, or of a file,
/// can neither end the line nor send commands to the terminal nor reorder the text.
#[must_use]
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    escaped_if(text, is_hidden)
}

/// The same for whole texts: line feeds stay.
#[must_use]
pub fn visible_lines(text: &str) -> std::borrow::Cow<'_, str> {
    escaped_if(text, |c| c != '\n' && is_hidden(c))
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn escaped_if(text: &str, is_escaped: impl Fn(char) -> bool + Copy) -> std::borrow::Cow<'_, str> {
    if !text.contains(is_escaped) {
        return text.into();
    }
    let escape = |c: char| if is_escaped(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// A text that means nothing but itself in a line or cell of Markdown, where any punctuation of ASCII may be escaped.
#[must_use]
pub fn markdown_escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if c.is_ascii_punctuation() && !".,-/%():+=;'\"".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// How wide a line is at most, if that can be done.
const LINE_WIDTH: usize = 100;

/// The least width to which texts are cut.
const LEAST_TEXT_WIDTH: usize = 20;

/// A text that fits: of paths the end, of others beginning and end.
fn shortened(cell: &str, width: usize) -> std::borrow::Cow<'_, str> {
    let length = cell.chars().count();
    if length <= width || width == 0 {
        return cell.into();
    }
    match cell.contains('/') && cell.contains(':') && !cell.contains(' ') {
        true => std::iter::once('…').chain(cell.chars().skip(length - width + 1)).collect::<String>().into(),
        false => {
            let begin = cell.chars().take(width / 2);
            let end = cell.chars().skip(length - (width - 1 - width / 2));
            begin.chain(std::iter::once('…')).chain(end).collect::<String>().into()
        }
    }
}

fn cores(report: &StatisticsReport) -> Table {
    let row = |core: &super::report::CoreReport| {
        vec![
            format!("CPU {}", core.core),
            percent(core.load_percent),
            duration(core.busy_ns),
            duration(core.interrupts_ns),
            duration(core.idle_ns),
            duration(core.unknown_ns),
            core.switches.to_string(),
        ]
    };
    // Without tasks and interrupts there is nothing to say about cores.
    let rows = report.cores.iter().filter(|core| core.known_ns() > 0).map(row).collect();
    Table { heading: vec!["CORE", "LOAD", "TASKS", "INTERRUPTS", "IDLE", "UNKNOWN", "SWITCHES"], left: &[], rows }
}

fn tasks(report: &StatisticsReport) -> Table {
    let mut tasks: Vec<&TaskReport> = report.tasks.iter().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.run_ns));
    let several = report.cores.len() > 1;
    let row = |task: &&TaskReport| {
        let mut row = vec![with_session(&task.name, task.session)];
        if several {
            let cores: Vec<String> = task.cores.iter().map(|on| on.core.to_string()).collect();
            row.push(cores.join(","));
        }
        row.extend([
            task.priority.map_or_else(|| "-".into(), |priority| priority.to_string()),
            percent(task.cpu_percent),
            duration(task.run_ns),
            task.runs.count.to_string(),
            optional(task.runs.max_ns),
            task.preemptions.map_or_else(|| "-".into(), |preemptions| preemptions.to_string()),
            optional(task.ready_ns.filter(|_| !task.is_idle)),
            optional(task.waits.max_ns),
            task.longest_wait.as_ref().map_or_else(String::new, |wait| wait.what.clone().unwrap_or_else(|| "unknown".into())),
        ]);
        row
    };
    let mut heading = vec!["TASK", "PRIO", "CPU", "RAN", "RUNS", "LONGEST", "PRE-EMPTED", "READY", "LONGEST WAIT", "FOR"];
    if several {
        heading.insert(1, "CORE");
    }
    Table { heading, left: &["FOR"], rows: tasks.iter().map(row).collect() }
}

fn latencies(report: &StatisticsReport) -> Table {
    let mut tasks: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.latency.count > 0 && !task.is_idle).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.latency.max_ns));
    let row = |task: &&TaskReport| {
        let latency = task.latency;
        vec![
            with_session(&task.name, task.session),
            latency.count.to_string(),
            optional(latency.min_ns),
            optional(latency.mean_ns),
            optional(latency.p50_ns),
            optional(latency.p99_ns),
            optional(latency.max_ns),
        ]
    };
    Table {
        heading: vec!["READY TO RUN", "WAKINGS", "MIN", "MEAN", "P50", "P99", "MAX"],
        left: &[],
        rows: tasks.iter().map(row).collect(),
    }
}

fn interrupts(report: &StatisticsReport) -> Table {
    let several = report.cores.len() > 1;
    let row = |isr: &super::report::InterruptReport| {
        let core = if several { format!(" (core {})", isr.core) } else { String::new() };
        let mut row = vec![with_session(&isr.name, isr.session) + &core];
        row.extend(spread(&isr.durations));
        row.push(duration(isr.self_ns));
        row
    };
    let rows = report.interrupts.iter().map(row).collect();
    Table { heading: vec!["INTERRUPT", "COUNT", "TOTAL", "MIN", "MEAN", "MAX", "SELF"], left: &[], rows }
}

fn queues(report: &StatisticsReport) -> Table {
    let row = |object: &super::report::ObjectReport| {
        vec![
            with_session(&object.name, object.session),
            object.kind.to_string(),
            object.sends.to_string(),
            object.receives.to_string(),
            object.high_water.map_or_else(|| "-".into(), |level| level.to_string()),
            object.capacity.map_or_else(|| "-".into(), |items| items.to_string()),
            object.waits.count.to_string(),
            optional(object.waits.max_ns),
            object.longest_waiter.clone().unwrap_or_default(),
        ]
    };
    let rows = report.objects.iter().filter(|object| object.holds.is_none()).map(row).collect();
    Table {
        heading: vec!["OBJECT", "KIND", "IN", "OUT", "HIGHEST", "OF", "WAITS", "LONGEST WAIT", "BY"],
        left: &["KIND", "BY"],
        rows,
    }
}

fn mutexes(report: &StatisticsReport) -> Table {
    let rows = report.objects.iter().filter_map(|object| {
        let mut row = vec![with_session(&object.name, object.session)];
        row.extend(spread(object.holds.as_ref()?));
        row.push(object.waits.count.to_string());
        row.push(optional(object.waits.max_ns));
        row.push(object.longest_waiter.clone().unwrap_or_default());
        Some(row)
    });
    Table {
        heading: vec!["MUTEX", "HELD", "TOTAL", "MIN", "MEAN", "MAX", "WAITS", "LONGEST WAIT", "BY"],
        left: &["BY"],
        rows: rows.collect(),
    }
}

fn spans(report: &StatisticsReport) -> Table {
    let mut rows = Vec::new();
    for lane in report.lanes.iter().filter(|lane| lane.spans.count > 0) {
        let name = full_name(lane);
        let line = |name: String, spans: &SpreadReport| std::iter::once(name).chain(spread(spans)).collect::<Vec<_>>();
        rows.push(line(name, &lane.spans));
        rows.extend(lane.named.iter().map(|named| line(format!("  {}", named.name), &named.spans)));
    }
    Table { heading: vec!["SPAN OR STATE", "COUNT", "TOTAL", "MIN", "MEAN", "MAX"], left: &[], rows }
}

fn values(report: &StatisticsReport) -> Table {
    let rows = report.lanes.iter().filter(|lane| lane.values > 0).map(|lane| {
        let number = |value: Option<Number>| value.map_or_else(|| "-".into(), |value| value.to_string());
        vec![full_name(lane), lane.values.to_string(), number(lane.least), number(lane.greatest), number(lane.last)]
    });
    Table { heading: vec!["VALUE", "COUNT", "LEAST", "GREATEST", "LAST"], left: &[], rows: rows.collect() }
}

fn machines(report: &StatisticsReport) -> Table {
    let mut machines: Vec<&MachineReport> = report.machines.iter().collect();
    machines.sort_by_key(|machine| std::cmp::Reverse(machine.busy_ns));
    let row = |machine: &&MachineReport| {
        vec![
            with_session(&machine.name, machine.session),
            machine.priority.map_or_else(|| "-".into(), |priority| priority.to_string()),
            percent(machine.busy_percent),
            machine.steps.count.to_string(),
            duration(machine.steps.total_ns),
            optional(machine.steps.p99_ns),
            optional(machine.steps.max_ns),
            machine.posts.to_string(),
            machine.not_posted.to_string(),
            machine.high_water.map_or_else(|| "-".into(), |fill| fill.to_string()),
        ]
    };
    Table {
        heading: vec!["STATE MACHINE", "PRIO", "BUSY", "STEPS", "TOTAL", "P99", "MAX", "POSTED", "REFUSED", "HIGHEST"],
        left: &[],
        rows: machines.iter().map(row).collect(),
    }
}

fn responses(report: &StatisticsReport) -> Table {
    let rows = report.machines.iter().filter(|machine| machine.queued.count > 0).flat_map(|machine| {
        let row = |name: String, spread: &SpreadReport| {
            let SpreadReport { count, min_ns, mean_ns, p50_ns, p99_ns, max_ns, .. } = *spread;
            let durations = [min_ns, mean_ns, p50_ns, p99_ns, max_ns].map(optional);
            [name, count.to_string()].into_iter().chain(durations).collect()
        };
        let name = with_session(&machine.name, machine.session);
        [row(format!("{name}: queued"), &machine.queued), row(format!("{name}: answered"), &machine.responses)]
    });
    let heading = vec!["FROM POST TO", "EVENTS", "MIN", "MEAN", "P50", "P99", "MAX"];
    Table { heading, left: &[], rows: rows.collect() }
}

fn signals(report: &StatisticsReport) -> Table {
    let rows = report.machines.iter().flat_map(|machine| {
        let name = with_session(&machine.name, machine.session);
        let row = move |signal: &super::report::NamedSpans| {
            std::iter::once(format!("{name}/{}", signal.name)).chain(spread(&signal.spans)).collect()
        };
        machine.signals.iter().map(row)
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.sort();
    Table { heading: vec!["STEP FOR", "COUNT", "TOTAL", "MIN", "MEAN", "MAX"], left: &[], rows }
}

fn logs(report: &StatisticsReport) -> Table {
    const SEVERITIES: [&str; 8] = ["fatal", "error", "warning", "info", "user", "debug", "verbose", "unspecified"];
    let rows = report.lanes.iter().filter(|lane| !lane.logs.is_empty()).map(|lane| {
        let count = |severity| lane.logs.iter().filter(|log| log.severity == severity).map(|log| log.count).sum::<u64>();
        let all = lane.logs.iter().map(|log| log.count).sum();
        let counts = SEVERITIES.iter().map(|severity| count(*severity).to_string());
        [full_name(lane), rate(all, report)].into_iter().chain(counts).collect()
    });
    Table {
        heading: vec!["LOG MESSAGES OF", "RATE", "FATAL", "ERROR", "WARNING", "INFO", "USER", "DEBUG", "VERBOSE", "OTHER"],
        left: &[],
        rows: rows.collect(),
    }
}

fn instants(report: &StatisticsReport) -> Table {
    let mut named: Vec<(u64, String)> = Vec::new();
    for lane in &report.lanes {
        named.extend(lane.named_instants.iter().map(|named| (named.count, format!("{}/{}", full_name(lane), named.name))));
    }
    named.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
    let rows = named.into_iter().map(|(count, name)| vec![name, count.to_string(), rate(count, report)]).collect();
    Table { heading: vec!["MESSAGE OR INSTANT", "COUNT", "RATE"], left: &[], rows }
}

fn full_name(lane: &LaneReport) -> String {
    let owner = lane.owner.as_ref().map_or_else(String::new, |owner| format!("{owner}/"));
    with_session(&format!("{owner}{}", lane.name), lane.session)
}

/// How often in a second of the recording.
fn rate(count: u64, report: &StatisticsReport) -> String {
    match report.rate_hz(count) {
        Some(rate_hz) if rate_hz >= 100_000.0 => format!("{:.1} k/s", rate_hz / 1000.0),
        Some(rate_hz) => format!("{rate_hz:.1} /s"),
        None => "-".into(),
    }
}

fn functions(report: &StatisticsReport) -> Table {
    let row = |function: &FunctionReport| {
        let mut row = vec![function.name.clone(), function.calls.count.to_string(), duration(function.self_ns)];
        row.push(duration(function.calls.total_ns));
        row.extend([function.calls.min_ns, function.calls.mean_ns, function.calls.max_ns].map(optional));
        row.push(match (&function.file, function.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => String::new(),
        });
        row
    };
    Table {
        heading: vec!["FUNCTION", "CALLS", "SELF", "TOTAL", "MIN", "MEAN", "MAX", "DECLARED"],
        left: &["DECLARED"],
        rows: report.functions.iter().filter(|function| function.calls.count > 0).map(row).collect(),
    }
}

fn samples(report: &StatisticsReport) -> Table {
    let all: u64 = report.functions.iter().map(|function| function.samples).sum();
    let row = |function: &FunctionReport| {
        let share = function.samples as f64 * 100.0 / all.max(1) as f64;
        let declared = function.file.as_ref().map_or_else(String::new, |file| match function.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        });
        vec![function.name.clone(), function.samples.to_string(), format!("{share:.2} %"), duration(function.self_ns), declared]
    };
    Table {
        heading: vec!["SAMPLED FUNCTION", "SAMPLES", "SHARE", "TIME", "DECLARED"],
        left: &["DECLARED"],
        rows: report.functions.iter().filter(|function| function.samples > 0).map(row).collect(),
    }
}

fn spread(spread: &SpreadReport) -> [String; 5] {
    [
        spread.count.to_string(),
        duration(spread.total_ns),
        optional(spread.min_ns),
        optional(spread.mean_ns),
        optional(spread.max_ns),
    ]
}

fn with_session(name: &str, session: u32) -> String {
    if session > 1 { format!("{name} (session {session})") } else { name.to_owned() }
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".into(), |percent| format!("{percent:.2} %"))
}

fn optional(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), duration)
}

/// With three decimals of the largest unit that fits, rounded down.
pub(crate) fn duration(ns: u64) -> String {
    let (unit, divisor) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => ("µs", 1),
        1_000_000..1_000_000_000 => ("ms", 1_000),
        _ => ("s", 1_000_000),
    };
    let thousandths = ns / divisor;
    format!("{}.{:03} {unit}", thousandths / 1000, thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_tables() {
        let shown = [0, 999, 1_000, 1_234_567, 999_999_999, 61_000_000_001].map(duration);
        assert_eq!(shown, ["0 ns", "999 ns", "1.000 µs", "1.234 ms", "999.999 ms", "61.000 s"]);
        let rows = vec![vec!["ä".to_owned(), "1".into()], vec!["long".into(), "22".into()], vec!["x".into(), "3".into()]];
        let table = Table { heading: vec!["NAME", "N"], left: &[], rows };
        assert_eq!(table.render(2, "--json has all").unwrap(), "NAME   N\nä      1\nlong  22\n... and 1 more (--json has all)\n");
        assert_eq!(Table { heading: vec!["A"], left: &[], rows: vec![] }.render(9, ""), None);
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(visible("plain ä"), "plain ä");
        assert_eq!(visible("\x1b]0;PWN\x07\n\u{9b}2J\u{202e}x"), "\\u{1b}]0;PWN\\u{7}\\n\\u{9b}2J\\u{202e}x");
        let table = Table { heading: vec!["NAME"], left: &[], rows: vec![vec!["a\nb\x1b".into()]] };
        assert_eq!(table.render(9, "").unwrap(), "NAME\na\\nb\\u{1b}\n");
        assert_eq!(markdown_escaped("a|b`c`\n<b>*@x*_ +3.5 %"), "a\\|b\\`c\\`\\\\n\\<b\\>\\*\\@x\\*\\_ +3.5 %");
    }
}
