//! The pictures of the book: a part of a trace of each format, drawn as an independent reader sees it.
//!
//! `docs/pictures/*.svg` must be as this test draws them. After a change of the look of traces, `TRACECONV_BLESS=1 cargo test --test picture`
//! draws them again.

mod reader;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use reader::{Slice, Trace, TrackKind};
use traceconv::format::syst::generate::{self, Carrier, GenerateOptions};
use traceconv::format::syst::stp::NibbleOrder;
use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::model::Rate;
use traceconv::pipeline::{Options, Source, convert};

/// A part of the trace of a recording in `testdata`, and the tracks of it that are shown.
struct Scene {
    /// The name of the picture, and of the chapter that shows it.
    name: &'static str,
    format: &'static str,
    capture: fn() -> Vec<u8>,
    options: fn() -> FormatOptions,
    /// The name of the firmware.
    firmware: &'static str,
    from_ns: u64,
    to_ns: u64,
    ruler_step_ns: u64,
    parts: &'static [Part],
}

/// Some rows under a heading.
enum Part {
    /// Who runs on core 0.
    Cpu(&'static str),
    /// Tracks by their paths.
    Tracks(&'static str, &'static [(&'static str, &'static str)]),
    /// Tracks of threads by their names.
    Threads(&'static str, &'static [&'static str]),
    /// Tasks: their states and tracks.
    Tasks(&'static str, &'static [&'static str]),
}
use Part::{Cpu, Tasks, Threads, Tracks};

const SCENES: [Scene; 8] = [
    // A mutex goes from the task that held it to one that waits for it, then samples are sent and received.
    Scene {
        name: "tonbandgeraet",
        format: "tonbandgeraet",
        capture: || demo("demo.bin"),
        options: FormatOptions::default,
        firmware: "demo",
        from_ns: 11_310_000,
        to_ns: 11_740_000,
        ruler_step_ns: 50_000,
        parts: &[
            Cpu("CPU 0"),
            Tracks("demo: Interrupts", &[("demo/Interrupts/SysTick", "SysTick")]),
            Tracks(
                "demo: Objects",
                &[
                    ("demo/Objects/samples", "samples"),
                    ("demo/Objects/spi_bus", "spi_bus"),
                    ("demo/Objects/dma_done", "dma_done"),
                ],
            ),
            Tracks("demo: Markers", &[("demo/Markers/critical", "critical"), ("demo/Markers/bus access", "bus access")]),
            Tracks("demo: Values", &[("demo/Values/consumed", "consumed")]),
            Tasks(
                "Tasks: thread state, and what each waits for",
                &["supervisor", "reader", "sensor", "filter", "dma", "worker", "logger", "writer"],
            ),
        ],
    },
    // A philosopher gets hungry; the table, which has a higher priority, answers before his step has ended, and he eats.
    Scene {
        name: "qs",
        format: "qs",
        capture: || demo("dpp.bin"),
        options: || own("qs-tick-hz", OptionValue::Text("100".into())),
        firmware: "dpp",
        from_ns: 112_800_000,
        to_ns: 121_400_000,
        ruler_step_ns: 1_000_000,
        parts: &[
            Tracks(
                "dpp: Scheduler",
                &[
                    ("dpp: QP/C 8.1.2/Scheduler/running", "running"),
                    ("dpp: QP/C 8.1.2/Scheduler/scheduler lock", "scheduler lock"),
                ],
            ),
            Tracks(
                "Table_inst",
                &[
                    ("dpp: QP/C 8.1.2/Active objects/Table_inst/steps", "steps"),
                    ("dpp: QP/C 8.1.2/Active objects/Table_inst/state", "state"),
                    ("dpp: QP/C 8.1.2/Active objects/Table_inst/queue", "queue"),
                ],
            ),
            Tracks(
                "Philo_inst[4]",
                &[
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[4]/steps", "steps"),
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[4]/state", "state"),
                ],
            ),
            Tracks(
                "Philo_inst[3]",
                &[
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[3]/steps", "steps"),
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[3]/state", "state"),
                ],
            ),
            Tracks(
                "Philo_inst[2], [1], [0]",
                &[
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[2]/steps", "[2] steps"),
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[1]/steps", "[1] steps"),
                    ("dpp: QP/C 8.1.2/Active objects/Philo_inst[0]/steps", "[0] steps"),
                ],
            ),
        ],
    },
    // A sample goes from task to task through two queues.
    Scene {
        name: "tsp",
        format: "tsp",
        capture: || demo("sniffer.bin"),
        options: FormatOptions::default,
        firmware: "sniffer",
        from_ns: 4_960_000,
        to_ns: 6_120_000,
        ruler_step_ns: 100_000,
        parts: &[
            Cpu("CPU 0"),
            Tracks(
                "sniffer: Objects",
                &[
                    ("sniffer/Objects/queue #1", "queue #1"),
                    ("sniffer/Objects/queue #2", "queue #2"),
                    ("sniffer/Objects/mutex #1", "mutex #1"),
                ],
            ),
            Tracks(
                "sniffer: Markers",
                &[("sniffer/Markers/custom marker 1", "marker 1"), ("sniffer/Markers/custom marker 3", "marker 3")],
            ),
            Tasks("Tasks: thread state, and what each waits for", &["sampler", "filter", "logger", "display"]),
        ],
    },
    Scene {
        name: "miniprofiler",
        format: "miniprofiler",
        capture: || demo("pump.bin"),
        options: || own("elf", OptionValue::File { path: "pump.elf".into(), bytes: demo("pump.elf").into() }),
        firmware: "pump",
        from_ns: 1_270_000,
        to_ns: 1_640_000,
        ruler_step_ns: 50_000,
        parts: &[
            Tracks("pump: functions", &[("pump: pump 1.4/CPU", "CPU")]),
            Tracks(
                "pump: Interrupts",
                &[
                    ("pump: pump 1.4/Interrupts/Pump_IRQHandler", "Pump_IRQHandler"),
                    ("pump: pump 1.4/Interrupts/SysTick_Handler", "SysTick_Handler"),
                ],
            ),
        ],
    },
    // The tick makes two tasks ready; an interrupt sends to the queue, too.
    Scene {
        name: "systemview",
        format: "systemview",
        capture: || testdata("systemview/generated.SVDat"),
        options: FormatOptions::default,
        firmware: "demo",
        from_ns: 15_498_000,
        to_ns: 15_562_000,
        ruler_step_ns: 10_000,
        parts: &[
            Cpu("CPU 0"),
            Tracks(
                "demo: Interrupts",
                &[("demo: FreeRTOS/Interrupts/SysTick", "SysTick"), ("demo: FreeRTOS/Interrupts/UART", "UART")],
            ),
            Tracks(
                "demo: Markers",
                &[
                    ("demo: FreeRTOS/Markers/calls outside of tasks, core 0", "calls, no task"),
                    ("demo: FreeRTOS/Markers/timer blink", "timer blink"),
                ],
            ),
            Tracks("demo: Values", &[("demo: FreeRTOS/Values/speed", "speed")]),
            Tasks("Tasks: thread state, calls and waits", &["sensor", "log"]),
            Threads("demo: messages", &["messages"]),
        ],
    },
    // An interrupt wakes a thread, which sends to a queue and wakes two more.
    Scene {
        name: "tracex",
        format: "tracex",
        capture: || demo("gateway.trx"),
        options: || FormatOptions { clock: Rate::from_hz(1_000_000, 1), ..FormatOptions::default() },
        firmware: "gateway",
        from_ns: 4_295_034_500_000,
        to_ns: 4_295_035_500_000,
        ruler_step_ns: 100_000,
        parts: &[
            Cpu("CPU 0"),
            Tracks("gateway: Interrupts", &[("gateway/Interrupts/ISR #15", "ISR #15")]),
            Tracks(
                "gateway: Objects",
                &[("gateway/Objects/frames", "frames"), ("gateway/Objects/packets", "packets"), ("gateway/Objects/bus", "bus")],
            ),
            Tasks("Threads: thread state, calls and waits", &["control", "network", "logger"]),
        ],
    },
    // The tick and another interrupt; a variable is written, and its value goes to a port.
    Scene {
        name: "itm",
        format: "itm",
        capture: || testdata("itm/generated.swo"),
        options: || FormatOptions { clock: Rate::from_hz(72_000_000, 1), ..FormatOptions::default() },
        firmware: "board",
        from_ns: 6_980_000,
        to_ns: 7_160_000,
        ruler_step_ns: 50_000,
        parts: &[
            Tracks("board: Interrupts", &[("board/Interrupts/SysTick", "SysTick"), ("board/Interrupts/IRQ 37", "IRQ 37")]),
            Tracks("board: Markers", &[("board/Markers/watch 0", "watch 0")]),
            Tracks("board: Values", &[("board/Values/watch 0: written", "watch 0")]),
            Threads("board: stimulus port", &["ITM port 1"]),
        ],
    },
    Scene {
        name: "syst",
        format: "syst-stp",
        capture: syst,
        options: || {
            let bytes = generate::collateral(SYST_FORMATS).into_bytes().into();
            own("collateral", OptionValue::File { path: "collateral.xml".into(), bytes })
        },
        firmware: "phone",
        from_ns: 1_001_000_000,
        to_ns: 1_001_560_000,
        ruler_step_ns: 100_000,
        parts: &[
            Threads("radio {5B1F6D02-914C-4A77-9E10-2C44D08A3107}", &["unit 1 m128:c1", "unit 2 m128:c1", "unit 3 m128:c1"]),
            Threads("motor {C3207E9A-04B8-4F1D-A65F-71EE12956B40}", &["unit 1 m128:c2", "unit 2 m128:c2", "unit 3 m128:c2"]),
            Threads("boot m128", &["boot:unit2 m128:c2"]),
        ],
    },
];

fn own(name: &'static str, value: OptionValue) -> FormatOptions {
    FormatOptions { own: vec![(name, value)], ..FormatOptions::default() }
}

/// How many formats the catalog of the SyS-T firmware has.
const SYST_FORMATS: u32 = 40;

fn testdata(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)).unwrap()
}

fn demo(name: &str) -> Vec<u8> {
    testdata(&format!("demo/{name}"))
}

fn syst() -> Vec<u8> {
    let carrier = Carrier::Stp(NibbleOrder::Msb);
    let options = GenerateOptions { bytes: 20_000, seed: 3, carrier, formats: SYST_FORMATS, ..GenerateOptions::default() };
    let mut capture = Vec::new();
    generate::generate(&options, &mut capture).unwrap();
    capture
}

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
fn the_pictures_are_those_of_the_traces() {
    for scene in SCENES {
        let format = *FORMATS.iter().find(|format| format.name() == scene.format).unwrap();
        let capture = (scene.capture)();
        let source = Source::new(&capture, format).options((scene.options)());
        let options = Options::default().firmware_name(scene.firmware);
        let mut bytes = Vec::new();
        convert(&[source], &options, &mut bytes, &mut |_| true).unwrap();
        let picture = Picture::of(&scene, &Trace::parse(&bytes).unwrap());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/pictures/{}.svg", scene.name));
        if std::env::var_os("TRACECONV_BLESS").is_some() {
            fs::write(&path, &picture).unwrap();
        }
        let present = fs::read_to_string(&path).unwrap_or_default();
        assert!(present == picture, "{} is out of date: `TRACECONV_BLESS=1 cargo test --test picture` draws it", path.display());
    }
}

impl Scene {
    fn is_shown(&self, from_ns: u64, to_ns: u64) -> bool {
        from_ns < self.to_ns && to_ns > self.from_ns
    }

    fn x_of(&self, at_ns: u64) -> f64 {
        let (from_ns, to_ns) = (self.from_ns, self.to_ns);
        GUTTER + (at_ns as f64 - from_ns as f64) / (to_ns - from_ns) as f64 * (WIDTH - GUTTER)
    }
}

/// A picture being drawn, from top to bottom.
struct Picture<'a> {
    scene: &'a Scene,
    trace: &'a Trace,
    svg: String,
    y: f64,
    /// Where tracks have been drawn: the middle of their rows.
    rows: Vec<(u64, f64)>,
    /// The names that have a colour.
    coloured: Vec<String>,
}

impl Picture<'_> {
    fn of(scene: &Scene, trace: &Trace) -> String {
        let mut picture = Picture { scene, trace, svg: String::new(), y: 0.0, rows: Vec::new(), coloured: Vec::new() };
        picture.ruler();
        for part in scene.parts {
            match part {
                Cpu(heading) => {
                    picture.heading(heading);
                    picture.cpu();
                }
                Tracks(heading, tracks) => {
                    picture.heading(heading);
                    tracks.iter().for_each(|(path, label)| picture.track(picture.found(path), label));
                }
                Threads(heading, threads) => {
                    picture.heading(heading);
                    threads.iter().for_each(|thread| picture.track(picture.thread(thread).0, thread));
                }
                Tasks(heading, tasks) => {
                    picture.heading(heading);
                    tasks.iter().for_each(|task| picture.task(task));
                }
            }
        }
        picture.flows();
        picture.framed()
    }

    /// A track by its path.
    fn found(&self, path: &str) -> u64 {
        self.trace.track(path).unwrap_or_else(|| {
            let paths: Vec<String> = self.trace.tracks.keys().map(|&track| self.trace.path(track)).collect();
            panic!("{}: there is no track {path} among\n{}", self.scene.name, paths.join("\n"))
        })
    }

    /// A thread's track and number, by its name.
    fn thread(&self, name: &str) -> (u64, i64) {
        let threads = self.trace.tracks.iter().filter_map(|(&track, info)| match info.kind {
            TrackKind::Thread { tid, .. } => Some((track, tid, info.name.as_str())),
            _ => None,
        });
        let threads: Vec<_> = threads.collect();
        let found = threads.iter().find(|(.., this)| *this == name);
        let &(track, tid, _) =
            found.unwrap_or_else(|| panic!("{}: there is no thread {name} among {threads:?}", self.scene.name));
        (track, tid)
    }

    fn framed(self) -> String {
        let Picture { scene, svg, y, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.0}\" font-family=\"Roboto, Arial, sans-serif\" \
             font-size=\"10\">\n<!-- Drawn from a trace of the format {} by tests/picture.rs. -->\n\
             <defs><clipPath id=\"time\"><rect x=\"{GUTTER}\" y=\"0\" width=\"{:.0}\" height=\"{y:.0}\"/></clipPath></defs>\n\
             <rect width=\"{WIDTH}\" height=\"{y:.0}\" fill=\"#ffffff\"/>\n{svg}</svg>\n",
            scene.format,
            WIDTH - GUTTER
        )
    }

    fn ruler(&mut self) {
        self.y = 18.0;
        let Scene { from_ns, to_ns, ruler_step_ns, .. } = *self.scene;
        // From the first event, as the viewer's.
        let first = self.trace.slices.iter().map(|slice| slice.ts).chain(self.trace.running().iter().map(|run| run.ts)).min();
        let origin = first.unwrap_or(0) / ruler_step_ns * ruler_step_ns;
        for at in (from_ns.div_ceil(ruler_step_ns)..=to_ns / ruler_step_ns).map(|step| step * ruler_step_ns) {
            let (x, label) = (self.scene.x_of(at), (at - origin) as f64 / 1e6);
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
        let (x, end) = (self.scene.x_of(from_ns.max(self.scene.from_ns)), self.scene.x_of(to_ns.min(self.scene.to_ns)));
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
            if !self.scene.is_shown(run.ts, end) {
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
            if !self.scene.is_shown(slice.ts, end) {
                continue;
            }
            depth = depth.max(slice.depth);
            self.named_slice(slice.ts, end, self.y + slice.depth as f64 * ROW, &slice.name);
        }
        let instants: Vec<_> = self.trace.instants.iter().filter(|instant| instant.track == track).collect();
        for (index, instant) in instants.iter().enumerate() {
            if !(self.scene.from_ns..=self.scene.to_ns).contains(&instant.ts) {
                continue;
            }
            // As the viewer does it: below the slices that it lies in.
            let covers = |slice: &&Slice| slice.ts <= instant.ts && slice.end().is_none_or(|end| end >= instant.ts);
            let level = slices.iter().filter(covers).count();
            depth = depth.max(level);
            let (x, y) = (self.scene.x_of(instant.ts), self.y + level as f64 * ROW);
            let _ = writeln!(
                self.svg,
                "<path d=\"M{x:.1} {y:.0}l3 7l-3 7l-3 -7z\" fill=\"#222222\"><title>{}</title></path>",
                escaped(&instant.name)
            );
            // With as much of its name as fits before the next one.
            let later = instants[index + 1..].iter().map(|next| next.ts);
            let below = slices.iter().filter(|slice| slice.depth >= level).map(|slice| slice.ts);
            let next = later.chain(below.filter(|&at| at > instant.ts)).min().unwrap_or(self.scene.to_ns).min(self.scene.to_ns);
            let fits = ((self.scene.x_of(next) - x - 8.0) / TEXT_WIDTH).max(0.0) as usize;
            if fits >= 4 {
                let text: String = instant.name.chars().take(fits).collect();
                let _ = writeln!(
                    self.svg,
                    "<text x=\"{:.1}\" y=\"{:.0}\" fill=\"#222222\">{}</text>",
                    x + 5.0,
                    y + 10.5,
                    escaped(&text)
                );
            }
        }
        self.y += ROW * (depth + 1) as f64;
    }

    /// Steps, filled down to the lowest value shown (or to 0).
    fn counter(&mut self, track: u64) {
        let values = &self.trace.counters[&track];
        let before = values.iter().rev().find(|(at, _)| *at < self.scene.from_ns).map(|&(_, value)| (self.scene.from_ns, value));
        let inside = values.iter().copied().filter(|(at, _)| (self.scene.from_ns..=self.scene.to_ns).contains(at));
        let shown: Vec<(u64, i64)> = before.into_iter().chain(inside).collect();
        let low = shown.iter().map(|&(_, value)| value).min().unwrap_or(0).min(0);
        let high = shown.iter().map(|&(_, value)| value).max().unwrap_or(0).max(0);
        let (bottom, height) = (self.y + COUNTER_ROW - 3.0, COUNTER_ROW - 4.0);
        let y_of = |value: i64| bottom - height * (value - low) as f64 / (high - low).max(1) as f64;
        let first = shown.first().map_or(self.scene.from_ns, |&(at, _)| at);
        let mut path = format!("M{:.1} {:.1}", self.scene.x_of(first), y_of(0));
        for (index, &(at, value)) in shown.iter().enumerate() {
            let until = shown.get(index + 1).map_or(self.scene.to_ns, |&(next, _)| next);
            let _ = write!(path, "L{:.1} {1:.1}L{2:.1} {1:.1}", self.scene.x_of(at), y_of(value), self.scene.x_of(until));
        }
        let _ = writeln!(
            self.svg,
            "<path d=\"{path}L{:.1} {:.1}z\" fill=\"#9aa5e0\" stroke=\"#5a67b8\"/>\n\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#555555\">{low} … {high}</text>",
            self.scene.x_of(self.scene.to_ns),
            y_of(0),
            GUTTER - 6.0,
            self.y + 11.5
        );
        self.y += COUNTER_ROW;
    }

    /// The states of a task's thread, and below them its track.
    fn task(&mut self, name: &str) {
        let (track, tid) = self.thread(name);
        for (from_ns, to_ns, state) in states(self.trace, tid) {
            if !self.scene.is_shown(from_ns, to_ns) {
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
            ends.extend(instant.flows_out.iter().map(|&flow| (flow, true, self.scene.x_of(instant.ts), y)));
            ends.extend(instant.flows_in.iter().map(|&flow| (flow, false, self.scene.x_of(instant.ts), y)));
        }
        for slice in &self.trace.slices {
            let Some(y) = row(slice.track) else { continue };
            ends.extend(slice.flows_out.iter().map(|&flow| (flow, true, self.scene.x_of(slice.end().unwrap()), y)));
            ends.extend(slice.flows_in.iter().map(|&flow| (flow, false, self.scene.x_of(slice.ts), y)));
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

/// When a thread runs and when it is ready to, as the viewer makes it from switches and wakings.
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
