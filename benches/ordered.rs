//! The stages that run in file order, on one thread each: resolving records, and drawing events. They limit the speed of a
//! conversion.
//!
//! Criterion shows the rate in bytes of input. The number of events is printed first, to compute the time per event.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::tonbandgeraet::generate::{Damage, GenerateOptions, generate};
use traceconv::format::{ErasedStages, FORMATS, FormatOptions, Parcel, Part, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};
use traceconv::timeline::{Settings, Timeline};

const WINDOW_BYTES: usize = 1 << 20;

fn capture(damage: Damage) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(&GenerateOptions { bytes: 4 << 20, damage, ..GenerateOptions::default() }, &mut bytes)
        .expect("memory does not fail");
    bytes
}

/// A capture, scanned and decoded.
fn decoded(input: &[u8]) -> (ErasedStages, Vec<Parcel>) {
    let scan = FORMATS[0].open(&[FormatOptions::default()]).unwrap();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < input.len() {
        let end = scan.cut(input, start + WINDOW_BYTES).max(start + 1);
        parts.push(Part::new(input, start..end));
        start = end;
    }
    let facts = parts.iter().fold(None, |before, &part| Some(scan.join(input, before, scan.scan(0, part))));
    let stages = scan.finish(vec![facts], &mut [Ledger::default()]);
    let parcels = parts.iter().map(|&part| stages.decode.decode(0, part, None)).collect();
    (stages, parcels)
}

/// Resolves a capture: its events, window by window.
fn resolve((mut stages, parcels): (ErasedStages, Vec<Parcel>), batches: &mut Vec<EventBatch>) -> Entities {
    let (mut entities, mut ledger) = (Entities::default(), Ledger::default());
    for (number, parcel) in parcels.into_iter().enumerate() {
        if number == batches.len() {
            batches.push(EventBatch::default());
        }
        batches[number].clear();
        let mut out = Resolved { entities: &mut entities, batch: &mut batches[number], ledger: &mut ledger };
        stages.resolve.resolve(0, &[], parcel, &mut out);
    }
    entities
}

fn draw(batches: &[EventBatch], entities: &Entities) -> usize {
    let mut timeline = Timeline::new(Settings {
        firmware_name: "firmware".into(),
        cores: 1,
        operations: true,
        raw_events: false,
        begins_midway: false,
        range_ns: None,
    });
    let mut ops = 0;
    for batch in batches {
        timeline.consume(batch, entities);
        for block in timeline.take_blocks() {
            ops += block.ops.len();
            timeline.recycle(block);
        }
    }
    timeline.finish();
    ops + timeline.take_blocks().iter().map(|block| block.ops.len()).sum::<usize>()
}

fn ordered(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ordered");
    for (name, damage) in [("", Damage::None), (" damaged", Damage::Flips)] {
        let input = capture(damage);
        group.throughput(Throughput::Bytes(input.len() as u64));
        let mut batches = Vec::new();
        let entities = resolve(decoded(&input), &mut batches);
        let events: usize = batches.iter().map(|batch| batch.events.len()).sum();
        let ops = draw(&batches, &entities);
        println!("{events} events, {ops} operations: 1 ns per event is {:.0} MB/s", 1e3 * input.len() as f64 / events as f64);
        group.bench_function(format!("resolve{name}"), |bencher| {
            bencher.iter_batched(
                || decoded(&input),
                |decoded| black_box(resolve(decoded, &mut batches)),
                BatchSize::PerIteration,
            );
        });
        let mut batches = Vec::new();
        let entities = resolve(decoded(&input), &mut batches);
        group.bench_function(format!("timeline{name}"), |bencher| bencher.iter(|| black_box(draw(&batches, &entities))));
    }
    group.finish();
}

criterion_group!(benches, ordered);
criterion_main!(benches);
