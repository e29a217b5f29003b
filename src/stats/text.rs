//! Statistics for people: a table for each kind of thing.

use std::fmt::Write;

use super::report::{FunctionReport, StatisticsReport, TaskReport};
use super::spread::SpreadReport;

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
        spans(report),
        values(report),
        functions(report),
    ];
    let mut text = tables.iter().filter_map(|table| table.render(rows)).collect::<Vec<_>>().join("\n");
    // Writing to a string cannot fail.
    let _ = write_rest(&mut text, report);
    text
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
        let (number, noun) = (report.gaps, if report.gaps == 1 { "gap" } else { "gaps" });
        writeln!(
            text,
            "\n{number} {noun}: what runs from a loss to the next switch is unknown, and nothing is measured across one"
        )?;
    }
    Ok(())
}

/// A table. The first column is aligned to the left, as are those named in `left`; the others to the right.
struct Table {
    heading: Vec<&'static str>,
    left: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    fn render(&self, limit: usize) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let heading: Vec<String> = self.heading.iter().map(ToString::to_string).collect();
        let shown: Vec<&Vec<String>> = std::iter::once(&heading).chain(self.rows.iter().take(limit)).collect();
        let width = |column: usize| shown.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..heading.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in shown {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let is_left = column == 0 || self.left.contains(&self.heading[column]);
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
            text += &format!("... and {more} more (--json has all)\n");
        }
        Some(text)
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
            task.preemptions.to_string(),
            if task.is_idle { "-".into() } else { duration(task.ready_ns) },
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
    let mut tasks: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.latency.spread.count > 0 && !task.is_idle).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.latency.spread.max_ns));
    let row = |task: &&TaskReport| {
        let latency = task.latency;
        vec![
            with_session(&task.name, task.session),
            latency.spread.count.to_string(),
            optional(latency.spread.min_ns),
            optional(latency.spread.mean_ns),
            optional(latency.p50_ns),
            optional(latency.p99_ns),
            optional(latency.spread.max_ns),
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
            object.kind.into(),
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
        let owner = lane.owner.as_ref().map_or_else(String::new, |owner| format!("{owner}: "));
        let name = with_session(&format!("{owner}{}", lane.name), lane.session);
        let line = |name: String, spans: &SpreadReport| std::iter::once(name).chain(spread(spans)).collect::<Vec<_>>();
        rows.push(line(name, &lane.spans));
        rows.extend(lane.named.iter().map(|named| line(format!("  {}", named.name), &named.spans)));
    }
    Table { heading: vec!["SPAN OR STATE", "COUNT", "TOTAL", "MIN", "MEAN", "MAX"], left: &[], rows }
}

fn values(report: &StatisticsReport) -> Table {
    let rows = report.lanes.iter().filter(|lane| lane.values > 0).map(|lane| {
        let owner = lane.owner.as_ref().map_or_else(String::new, |owner| format!("{owner}: "));
        let number = |value: Option<i64>| value.map_or_else(|| "-".into(), |value| value.to_string());
        let name = with_session(&format!("{owner}{}", lane.name), lane.session);
        vec![name, lane.values.to_string(), number(lane.least), number(lane.greatest)]
    });
    Table { heading: vec!["VALUE", "COUNT", "LEAST", "GREATEST"], left: &[], rows: rows.collect() }
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
        rows: report.functions.iter().map(row).collect(),
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
fn duration(ns: u64) -> String {
    let (unit, divisor) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => ("us", 1),
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
        assert_eq!(shown, ["0 ns", "999 ns", "1.000 us", "1.234 ms", "999.999 ms", "61.000 s"]);
        let rows = vec![vec!["ä".to_owned(), "1".into()], vec!["long".into(), "22".into()], vec!["x".into(), "3".into()]];
        let table = Table { heading: vec!["NAME", "N"], left: &[], rows };
        assert_eq!(table.render(2).unwrap(), "NAME   N\nä      1\nlong  22\n... and 1 more (--json has all)\n");
        assert_eq!(Table { heading: vec!["A"], left: &[], rows: vec![] }.render(9), None);
    }
}
