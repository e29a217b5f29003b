//! The picture of a trace in README.md: drawn from the trace of the demo capture, as an independent reader sees it.
//!
//! `docs/trace.svg` must equal the output of this test. After a change of the traces' look, `TRACECONV_BLESS=1 cargo test --test
//! picture` draws it again.

mod reader;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use reader::{Trace, TrackKind};
use traceconv::format::FORMATS;
use traceconv::pipeline::{Options, Source, convert};

/// The part of the trace that is shown, in nanoseconds: a mutex goes from the task that held it to one that waits for it, then
/// samples are sent and received.
const FROM_NS: u64 = 11_310_000;
const TO_NS: u64 = 11_740_000;
const RULER_STEP_NS: u64 = 50_000;

/// The tracks of the firmware that are shown, by their paths.
const FIRMWARE: [(&str, &[&str]); 4] = [
    ("Interrupts", &["SysTick"]),
    ("Objects", &["samples", "spi_bus", "dma_done"]),
    ("Markers", &["critical", "bus access"]),
    ("Values", &["consumed"]),
];
/// The tasks that are shown.
const TASKS: [&str; 8] = ["supervisor", "reader", "sensor", "filter", "dma", "worker", "logger", "writer"];

const WIDTH: f64 = 1200.0;
const GUTTER: f64 = 130.0;
const ROW: f64 = 17.0;
const COUNTER_ROW: f64 = 26.0;
const TEXT_WIDTH: f64 = 6.0;

/// Colours of slices: each name gets the next one.
const COLOURS: [&str; 12] = [
    "#4c78a8", "#e45756", "#5f9e6e", "#b279a2", "#d9770a", "#3b8f8a", "#9d755d", "#7a6fc0", "#c2578f", "#6b7d2a", "#5b6b8c",
    "#a8483e",
];

#[test]
fn the_picture_in_the_readme_is_that_of_the_demo() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let capture = fs::read(root.join("testdata/demo/demo.bin")).unwrap();
    let picture = Picture::of(&Trace::parse(&converted(&capture)).unwrap());
    let path = root.join("docs/trace.svg");
    if std::env::var_os("TRACECONV_BLESS").is_some() {
        fs::write(&path, &picture).unwrap();
    }
    let present = fs::read_to_string(&path).unwrap_or_default();
    assert!(present == picture, "docs/trace.svg is out of date: `TRACECONV_BLESS=1 cargo test --test picture` draws it again");
}

fn converted(capture: &[u8]) -> Vec<u8> {
    let format = *FORMATS.iter().find(|format| format.name() == "tonbandgeraet").unwrap();
    let source = Source::new(capture, format);
    let options = Options::default().firmware_name("demo");
    let mut trace = Vec::new();
    convert(&[source], &options, &mut trace, &mut |_| true).unwrap();
    trace
}

/// A picture being drawn, from top to bottom.
struct Picture<'a> {
    trace: &'a Trace,
    svg: String,
    y: f64,
    /// Where tracks have been drawn: the middle of their rows.
    rows: Vec<(u64, f64)>,
    /// The names that have a colour.
    coloured: Vec<String>,
}

impl Picture<'_> {
    fn of(trace: &Trace) -> String {
        let mut picture = Picture { trace, svg: String::new(), y: 0.0, rows: Vec::new(), coloured: Vec::new() };
        picture.ruler();
        picture.heading("CPU 0");
        picture.cpu();
        for (group, tracks) in FIRMWARE {
            picture.heading(&format!("demo: {group}"));
            for track in tracks {
                picture.track(trace.track(&format!("demo/{group}/{track}")).unwrap(), track);
            }
        }
        picture.heading("Tasks: thread state, and what each waits for");
        for task in TASKS {
            picture.task(task);
        }
        picture.flows();
        picture.framed()
    }

    fn framed(self) -> String {
        let Picture { svg, y, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.0}\" font-family=\"Roboto, Arial, sans-serif\" \
             font-size=\"10\">\n<!-- Drawn from the trace of testdata/demo/demo.bin by tests/picture.rs. -->\n\
             <defs><clipPath id=\"time\"><rect x=\"{GUTTER}\" y=\"0\" width=\"{:.0}\" height=\"{y:.0}\"/></clipPath></defs>\n\
             <rect width=\"{WIDTH}\" height=\"{y:.0}\" fill=\"#ffffff\"/>\n{svg}</svg>\n",
            WIDTH - GUTTER
        )
    }

    fn ruler(&mut self) {
        self.y = 18.0;
        for at in (FROM_NS.div_ceil(RULER_STEP_NS)..=TO_NS / RULER_STEP_NS).map(|step| step * RULER_STEP_NS) {
            let (x, label) = (x_of(at), at as f64 / 1e6);
            let _ = writeln!(self.svg, "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"14\" y2=\"100%\" stroke=\"#dddddd\"/>");
            let _ =
                writeln!(self.svg, "<text x=\"{x:.1}\" y=\"11\" text-anchor=\"middle\" fill=\"#555555\">{label:.2} ms</text>");
        }
    }

    fn heading(&mut self, text: &str) {
        let y = self.y;
        let _ = writeln!(self.svg, "<rect x=\"0\" y=\"{y:.0}\" width=\"{WIDTH}\" height=\"14\" fill=\"#262f3c\"/>");
        let _ = writeln!(self.svg, "<text x=\"6\" y=\"{:.0}\" fill=\"#ffffff\">{}</text>", y + 10.5, escaped(text));
        self.y += 16.0;
    }

    fn label(&mut self, text: &str) {
        let _ = writeln!(self.svg, "<text x=\"12\" y=\"{:.0}\" fill=\"#222222\">{}</text>", self.y + 11.5, escaped(text));
    }

    /// A box from one time to another, with as much of its name as fits.
    fn slice(&mut self, from_ns: u64, to_ns: u64, y: f64, name: &str, colour: &str) {
        let (x, end) = (x_of(from_ns.max(FROM_NS)), x_of(to_ns.min(TO_NS)));
        let width = (end - x).max(0.8);
        let fits = ((width - 4.0) / TEXT_WIDTH).max(0.0) as usize;
        let _ = writeln!(
            self.svg,
            "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{colour}\"><title>{}</title></rect>",
            ROW - 3.0,
            escaped(name)
        );
        if fits >= name.chars().count().min(4) {
            let text: String = name.chars().take(fits).collect();
            let (x, y) = (x + 2.0, y + 10.5);
            let _ = writeln!(self.svg, "<text x=\"{x:.1}\" y=\"{y:.0}\" fill=\"#ffffff\">{}</text>", escaped(&text));
        }
    }

    /// A box in the colour of its name.
    fn named_slice(&mut self, from_ns: u64, to_ns: u64, y: f64, name: &str) {
        let known = self.coloured.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.coloured.push(name.to_owned());
            self.coloured.len() - 1
        });
        self.slice(from_ns, to_ns, y, name, COLOURS[index % COLOURS.len()]);
    }

    fn cpu(&mut self) {
        self.label("who runs");
        for run in self.trace.running().iter().filter(|run| run.cpu == 0 && run.tid != 0) {
            let end = run.ts + run.dur.unwrap_or(0);
            if !is_shown(run.ts, end) {
                continue;
            }
            self.named_slice(run.ts, end, self.y, &run.comm);
        }
        self.y += ROW;
    }

    /// A track of slices and instants, or a counter.
    fn track(&mut self, track: u64, name: &str) {
        self.label(name);
        if let TrackKind::Counter { .. } = self.trace.tracks[&track].kind {
            return self.counter(track);
        }
        self.rows.push((track, self.y + ROW / 2.0 - 1.5));
        let slices: Vec<_> = self.trace.slices_on(track).cloned().collect();
        let mut depth = 0;
        for slice in &slices {
            let end = slice.end().unwrap();
            if !is_shown(slice.ts, end) {
                continue;
            }
            depth = depth.max(slice.depth);
            self.named_slice(slice.ts, end, self.y + slice.depth as f64 * ROW, &slice.name);
        }
        for instant in self.trace.instants.iter().filter(|instant| instant.track == track) {
            if (FROM_NS..=TO_NS).contains(&instant.ts) {
                let (x, y) = (x_of(instant.ts), self.y);
                let _ = writeln!(
                    self.svg,
                    "<path d=\"M{x:.1} {y:.0}l3 7l-3 7l-3 -7z\" fill=\"#222222\"><title>{}</title></path>",
                    escaped(&instant.name)
                );
            }
        }
        self.y += ROW * (depth + 1) as f64;
    }

    /// Steps, filled down to the lowest value shown (or to 0).
    fn counter(&mut self, track: u64) {
        let values = &self.trace.counters[&track];
        let before = values.iter().rev().find(|(at, _)| *at < FROM_NS).map(|&(_, value)| (FROM_NS, value));
        let inside = values.iter().copied().filter(|(at, _)| (FROM_NS..=TO_NS).contains(at));
        let shown: Vec<(u64, i64)> = before.into_iter().chain(inside).collect();
        let low = shown.iter().map(|&(_, value)| value).min().unwrap_or(0).min(0);
        let high = shown.iter().map(|&(_, value)| value).max().unwrap_or(0).max(0);
        let (bottom, height) = (self.y + COUNTER_ROW - 3.0, COUNTER_ROW - 4.0);
        let y_of = |value: i64| bottom - height * (value - low) as f64 / (high - low).max(1) as f64;
        let first = shown.first().map_or(FROM_NS, |&(at, _)| at);
        let mut path = format!("M{:.1} {:.1}", x_of(first), y_of(0));
        for (index, &(at, value)) in shown.iter().enumerate() {
            let until = shown.get(index + 1).map_or(TO_NS, |&(next, _)| next);
            let _ = write!(path, "L{:.1} {1:.1}L{2:.1} {1:.1}", x_of(at), y_of(value), x_of(until));
        }
        let _ = writeln!(
            self.svg,
            "<path d=\"{path}L{:.1} {:.1}z\" fill=\"#9aa5e0\" stroke=\"#5a67b8\"/>\n\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#555555\">{low} … {high}</text>",
            x_of(TO_NS),
            y_of(0),
            GUTTER - 6.0,
            self.y + 11.5
        );
        self.y += COUNTER_ROW;
    }

    /// The states of a task's thread, and below them its track.
    fn task(&mut self, name: &str) {
        let is_it = |kind: &TrackKind| matches!(kind, TrackKind::Thread { .. });
        let mut threads = self.trace.tracks.iter().filter(|(_, info)| info.name == name && is_it(&info.kind));
        let (&track, info) = threads.next().unwrap();
        let TrackKind::Thread { tid, .. } = info.kind else { unreachable!("filtered above") };
        for (from_ns, to_ns, state) in states(self.trace, tid) {
            if !is_shown(from_ns, to_ns) {
                continue;
            }
            let colour = if state == "Running" { "#2e7d32" } else { "#9ab83c" };
            self.slice(from_ns, to_ns, self.y, state, colour);
        }
        self.y += ROW - 2.0;
        self.track(track, name);
        self.y += 2.0;
    }

    /// From each sender to its receiver, where both are shown.
    fn flows(&mut self) {
        let mut ends: Vec<(u64, bool, f64, f64)> = Vec::new();
        let row = |track: u64| self.rows.iter().find(|(this, _)| *this == track).map(|&(_, y)| y);
        for instant in &self.trace.instants {
            let Some(y) = row(instant.track) else { continue };
            ends.extend(instant.flows_out.iter().map(|&flow| (flow, true, x_of(instant.ts), y)));
            ends.extend(instant.flows_in.iter().map(|&flow| (flow, false, x_of(instant.ts), y)));
        }
        for slice in &self.trace.slices {
            let Some(y) = row(slice.track) else { continue };
            ends.extend(slice.flows_out.iter().map(|&flow| (flow, true, x_of(slice.end().unwrap()), y)));
            ends.extend(slice.flows_in.iter().map(|&flow| (flow, false, x_of(slice.ts), y)));
        }
        ends.retain(|end| (GUTTER..=WIDTH).contains(&end.2));
        for &(flow, _, from_x, from_y) in ends.iter().filter(|end| end.1) {
            if let Some(&(.., x, y)) = ends.iter().find(|end| end.0 == flow && !end.1) {
                let bend = ((x - from_x) / 2.0).max(12.0);
                let _ = writeln!(
                    self.svg,
                    "<path d=\"M{from_x:.1} {from_y:.1}C{:.1} {from_y:.1} {:.1} {y:.1} {x:.1} {y:.1}\" fill=\"none\" stroke=\"#d81b60\" \
                     clip-path=\"url(#time)\"/>",
                    from_x + bend,
                    x - bend
                );
            }
        }
    }
}

/// The times when a thread runs and when it is ready to, as the viewer derives them from switches and wakings.
fn states(trace: &Trace, tid: i64) -> Vec<(u64, u64, &'static str)> {
    let running: Vec<_> = trace.running().into_iter().filter(|run| i64::from(run.tid) == tid).collect();
    let mut wakings: Vec<u64> =
        trace.wakings.values().flatten().filter(|waking| i64::from(waking.tid) == tid).map(|waking| waking.ts).collect();
    wakings.sort_unstable();
    let mut states = Vec::new();
    let mut left: Option<(u64, bool)> = None;
    for run in &running {
        let woken = wakings.iter().copied().find(|&at| left.is_none_or(|(left_ns, _)| at >= left_ns) && at <= run.ts);
        let ready_since = match left {
            Some((left_ns, true)) => Some(left_ns),
            _ => woken,
        };
        states.extend(ready_since.map(|since| (since, run.ts, "Runnable")));
        let end = run.ts + run.dur.unwrap_or(0);
        states.push((run.ts, end, "Running"));
        left = Some((end, run.end_state == Some(0)));
    }
    states
}

fn is_shown(from_ns: u64, to_ns: u64) -> bool {
    from_ns < TO_NS && to_ns > FROM_NS
}

fn x_of(at_ns: u64) -> f64 {
    GUTTER + (at_ns as f64 - FROM_NS as f64) / (TO_NS - FROM_NS) as f64 * (WIDTH - GUTTER)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
