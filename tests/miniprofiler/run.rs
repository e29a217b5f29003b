//! Drives the library with captures of this format, and gives calls in a form that can be compared.

use traceconv::format::miniprofiler::encode;
use traceconv::format::miniprofiler::generate::{Call, GenerateOptions, generate};
use traceconv::format::miniprofiler::record::{ProfileRecord, Reading};
use traceconv::model::EventKind;

use crate::common::run::Subject;
pub use crate::common::run::{Conversion, Cut, Random, options};
use crate::reader::{Arg, Slice, Trace};

pub fn subject() -> Subject {
    Subject::new("miniprofiler")
}

/// A generated capture, its calls in the order of their ends, and for each whether its packet arrived undamaged.
pub struct Generated {
    pub bytes: Vec<u8>,
    pub calls: Vec<(Call, bool)>,
}

impl Generated {
    pub fn new(options: &GenerateOptions) -> Generated {
        let (mut bytes, mut calls) = (Vec::new(), Vec::new());
        let mut sent = |packet: traceconv::format::miniprofiler::generate::Sent<'_>| {
            calls.extend(packet.calls.iter().map(|&call| (call, packet.is_intact)));
        };
        generate(options, &mut bytes, &mut sent).expect("memory does not fail");
        Generated { bytes, calls }
    }

    /// The calls whose packets arrived undamaged.
    pub fn intact(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|(_, is_intact)| *is_intact).map(|(call, _)| call)
    }
}

/// A call, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimedCall {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub depth: i64,
    pub function: String,
}

impl TimedCall {
    pub fn of(call: &Call) -> TimedCall {
        let begin_ns = call.entry_us * 1000;
        let end_ns = begin_ns + u64::from(call.duration_us) * 1000;
        TimedCall {
            begin_ns,
            end_ns,
            depth: i64::from(call.depth.cast_signed()),
            function: format!("0x{:08X}", call.func_addr & !1),
        }
    }
}

/// The calls that the resolver emits, in its order.
pub fn calls(subject: &Subject, capture: &[u8], window_bytes: usize) -> Vec<TimedCall> {
    let mut calls = Vec::new();
    subject.resolve(capture, window_bytes, |batch, entities| {
        for event in &batch.events {
            if let EventKind::Call { function, depth, begin, ended_before_ns, .. } = event.kind {
                calls.push(TimedCall {
                    begin_ns: begin.get(),
                    end_ns: event.time.0 - u64::from(ended_before_ns),
                    depth: i64::from(depth),
                    function: entities.functions[function.index()].name.to_string(),
                });
            }
        }
    });
    calls
}

/// The slices of calls in a trace, with the depths at which they are drawn: one more than that of the slice around, 0 for the
/// outermost, unless the slice has another one.
pub fn shown(trace: &Trace) -> Vec<TimedCall> {
    assert!(trace.unclosed.is_empty(), "slices without end");
    let is_call = |slice: &&Slice| {
        let path = trace.path(slice.track);
        path.contains("/CPU") || path.contains("/Interrupts/")
    };
    let mut open: std::collections::BTreeMap<u64, Vec<(u64, i64)>> = std::collections::BTreeMap::new();
    let mut calls = Vec::new();
    for slice in trace.slices.iter().filter(is_call) {
        let end_ns = slice.end().expect("it ends");
        let around = open.entry(slice.track).or_default();
        around.truncate(slice.depth);
        assert_eq!(around.len(), slice.depth, "a hole in the nesting at {slice:?}");
        if let Some(&(outer_end, _)) = around.last() {
            assert!(end_ns <= outer_end, "{slice:?} ends after the slice around it");
        }
        let depth = match slice.arg("depth") {
            Some(Arg::Int(depth)) => *depth,
            Some(other) => panic!("{other:?} is not a depth"),
            None => around.last().map_or(0, |&(_, depth)| depth + 1),
        };
        around.push((end_ns, depth));
        calls.push(TimedCall { begin_ns: slice.ts, end_ns, depth, function: slice.name.clone() });
    }
    calls
}

/// Calls in an order that does not depend on how they were drawn.
pub fn sorted(mut calls: Vec<TimedCall>) -> Vec<TimedCall> {
    calls.sort();
    calls
}

/// A capture of these calls: (address, entry, duration, depth), N in a packet.
pub fn capture(calls: &[(u32, u32, u32, u16)], per_packet: usize) -> Vec<u8> {
    let records: Vec<ProfileRecord> = calls
        .iter()
        .map(|&(func_addr, entry_us, duration_us, depth)| ProfileRecord { func_addr, entry_us, duration_us, depth })
        .collect();
    let mut bytes = Vec::new();
    records.chunks(per_packet).for_each(|records| encode::profile(Reading::HOST, records, &mut bytes));
    bytes
}
