//! Drives the library: whole conversions, and the stages before the timeline one by one.

use std::collections::HashMap;
use std::sync::Arc;

use traceconv::format::{FORMATS, Format, FormatOptions, OptionValue, Part, RecordView, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};
use traceconv::pipeline::{self, EventDetail, InputSummary, Options, Source};

use super::views;
use crate::reader::{Arg, Trace};

/// A conversion that went well.
pub struct Conversion {
    pub trace: Vec<u8>,
    pub summary: InputSummary,
}

impl Conversion {
    /// The trace as read by an independent reader. Checks that its track of losses states no more lost events than the ledger.
    pub fn read(&self) -> Trace {
        let trace = Trace::parse(&self.trace).unwrap_or_else(|error| panic!("the reader refuses the trace: {error}"));
        let args = trace.slices.iter().map(|slice| &slice.args).chain(trace.instants.iter().map(|instant| &instant.args));
        let stated = args.filter_map(|args| args.get("at_least_lost").map(lost_events)).sum::<u64>();
        assert!(stated <= self.summary.ledger.at_least_lost(), "the track of losses states {stated} lost events");
        trace
    }
}

fn lost_events(arg: &Arg) -> u64 {
    let Arg::Uint(events) = arg else { panic!("{arg:?} is not a number of events") };
    *events
}

/// How the work is cut. No influence on the result.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub threads: usize,
    pub window_bytes: usize,
}

impl Cut {
    /// Everything at once, on one thread.
    pub const WHOLE: Cut = Cut { threads: 1, window_bytes: 1 << 20 };
    /// Three threads and windows of a few frames.
    pub const SMALL: Cut = Cut { threads: 3, window_bytes: 64 };
}

/// The options of every test, except for the cutting of the work.
pub fn options(cut: Cut) -> Options {
    Options::default().firmware_name("firmware").threads(cut.threads).window_bytes(cut.window_bytes)
}

/// A format, and the user's options for the inputs.
#[derive(Clone)]
pub struct Subject {
    pub format: &'static dyn Format,
    pub options: FormatOptions,
}

impl Subject {
    /// The format of this name, without options.
    pub fn new(name: &str) -> Subject {
        let format = FORMATS.iter().copied().find(|format| format.name() == name).expect("it is registered");
        Subject { format, options: FormatOptions::default() }
    }

    /// With an option more.
    pub fn with(mut self, option: &'static str, value: OptionValue) -> Subject {
        self.options.own.push((option, value));
        self
    }

    /// With a text as an option.
    pub fn with_text(self, option: &'static str, text: &str) -> Subject {
        self.with(option, OptionValue::Text(text.into()))
    }

    /// With a file as an option.
    pub fn with_file(self, option: &'static str, path: &str, bytes: impl Into<Arc<[u8]>>) -> Subject {
        self.with(option, OptionValue::File { path: path.into(), bytes: bytes.into() })
    }

    pub fn convert(&self, capture: &[u8], cut: Cut) -> Conversion {
        self.convert_with(capture, &options(cut))
    }

    /// Converts. Checks that every byte is accounted for.
    pub fn convert_with(&self, capture: &[u8], options: &Options) -> Conversion {
        let source = self.source(capture);
        let mut trace = Vec::new();
        let converted = pipeline::convert(&[source], options, &mut trace, &mut |_| true).expect("damage is no error");
        assert_eq!(converted.output_bytes, trace.len() as u64);
        let summary = converted.inputs.into_iter().next().expect("there is one input");
        let ledger = &summary.ledger;
        assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, capture.len() as u64, "bytes that are not accounted for");
        Conversion { trace, summary }
    }

    /// Shows each record.
    pub fn each_record(&self, capture: &[u8], cut: Cut, mut record: impl FnMut(&RecordView<'_>)) {
        let mut each = |view: &RecordView<'_>| {
            record(view);
            true
        };
        let summary = pipeline::dump(&self.source(capture), &options(cut), &mut each).expect("nothing stops it");
        assert_eq!(summary.ledger.decoded_bytes + summary.ledger.skipped_bytes, capture.len() as u64);
    }

    /// Lists the records, each as a line.
    pub fn dump(&self, capture: &[u8], cut: Cut, line: impl Fn(&RecordView<'_>) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        let mut each = |view: &RecordView<'_>| {
            lines.push(line(view));
            true
        };
        let summary = pipeline::dump(&self.source(capture), &options(cut), &mut each).expect("nothing stops it");
        assert_eq!(summary.ledger.decoded_bytes + summary.ledger.skipped_bytes, capture.len() as u64);
        lines
    }

    /// Checks that small and large windows give the same trace, that an independent reader accepts it with each of `details`, and that the
    /// time of no core goes backwards.
    pub fn check_sound(&self, capture: &[u8], details: &[EventDetail]) {
        let whole = self.convert(capture, Cut::WHOLE);
        let small = self.convert(capture, Cut::SMALL);
        assert_eq!(views::ledger(&small.summary), views::ledger(&whole.summary));
        assert!(small.trace == whole.trace, "another trace in small pieces");
        let trace = whole.read();
        assert!(trace.unclosed.is_empty(), "slices without end: {:?}", trace.slices[trace.unclosed[0]]);
        for &detail in details {
            self.convert_with(capture, &options(Cut::WHOLE).events(detail)).read();
        }
        let mut last = HashMap::new();
        self.resolve(capture, 100, |batch, _| {
            for event in &batch.events {
                let before = last.insert(event.core, event.time);
                assert!(before.is_none_or(|before| before <= event.time), "time goes backwards");
            }
        });
    }

    /// Checks that the trace is the same wherever a short capture is cut.
    pub fn check_cuts(&self, capture: &[u8]) {
        let whole = self.convert(capture, Cut::WHOLE).trace;
        for window_bytes in 1..capture.len() {
            let cut = self.convert(capture, Cut { threads: 1, window_bytes }).trace;
            assert!(cut == whole, "another trace with windows of {window_bytes} bytes");
        }
    }

    fn source<'a>(&self, capture: &'a [u8]) -> Source<'a> {
        Source::new(capture, self.format).options(self.options.clone())
    }

    /// The model events of a capture, before cores are merged: each batch and the entities is shown to `batch`.
    pub fn resolve(&self, capture: &[u8], window_bytes: usize, mut batch: impl FnMut(&EventBatch, &Entities)) {
        let scan = self.format.open(std::slice::from_ref(&self.options)).expect("the options are right");
        let mut parts = Vec::new();
        let mut start = 0;
        while start < capture.len() {
            let end = scan.cut(capture, start + window_bytes).max(start + 1);
            parts.push(Part::new(capture, start..end));
            start = end;
        }
        let facts = parts.iter().fold(None, |before, &part| Some(scan.join(capture, before, scan.scan(0, part))));
        let mut ledgers = vec![Ledger::default()];
        let mut stages = scan.finish(vec![facts], &mut ledgers);
        let (mut entities, mut events) = (Entities::default(), EventBatch::default());
        for number in 0..=parts.len() {
            events.clear();
            let mut out = Resolved { entities: &mut entities, batch: &mut events, ledger: &mut ledgers[0] };
            match parts.get(number) {
                Some(&part) => drop(stages.resolve.resolve(0, capture, stages.decode.decode(0, part, None), &mut out)),
                None => stages.resolve.finish(0, capture, &mut out),
            }
            batch(&events, &entities);
        }
    }
}

/// Small, fast, and the same everywhere: which damage a test does must not change from run to run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * end as u128) >> 64) as usize
    }
}
