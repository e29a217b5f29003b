//! The stages of a conversion of calls: CRC, scan, decode, resolve, and the nesting of calls into slices.
//!
//! Criterion shows the rate in bytes of input. The number of calls is printed first, to compute the time per call.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::miniprofiler::crc;
use traceconv::format::miniprofiler::generate::{Damage, GenerateOptions, generate};
use traceconv::format::{ErasedRecording, ErasedStages, FORMATS, Format, FormatOptions, Parcel, Part, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};
use traceconv::timeline::{Settings, Timeline};

const WINDOW_BYTES: usize = 256 << 10;

fn capture(damage: Damage, main_returns: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = GenerateOptions { bytes: 4 << 20, damage, main_returns, ..GenerateOptions::default() };
    generate(&options, &mut bytes, &mut |_| {}).expect("memory does not fail");
    bytes
}

fn format() -> &'static dyn Format {
    FORMATS.iter().copied().find(|format| format.name() == "miniprofiler").expect("it is registered")
}

fn parts<'a>(scan: &dyn ErasedRecording, input: &'a [u8]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < input.len() {
        let end = scan.cut(input, start + WINDOW_BYTES).max(start + 1);
        parts.push(Part::new(input, start..end));
        start = end;
    }
    parts
}

fn scanned(input: &[u8]) -> (ErasedStages, Vec<Part<'_>>) {
    let scan = format().open(&[FormatOptions::default()]).expect("no options");
    let parts = parts(&*scan, input);
    let facts = parts.iter().fold(None, |before, &part| Some(scan.join(input, before, scan.scan(0, part))));
    (scan.finish(vec![facts], &mut [Ledger::default()]), parts)
}

fn decoded(input: &[u8]) -> (ErasedStages, Vec<Parcel>) {
    let (stages, parts) = scanned(input);
    let parcels = parts.iter().map(|&part| stages.decode.decode(0, part, None)).collect();
    (stages, parcels)
}

fn resolve((mut stages, parcels): (ErasedStages, Vec<Parcel>), batches: &mut Vec<EventBatch>) -> Entities {
    let (mut entities, mut ledger) = (Entities::default(), Ledger::default());
    batches.resize_with(parcels.len(), EventBatch::default);
    for (batch, parcel) in batches.iter_mut().zip(parcels) {
        batch.clear();
        stages.resolve.resolve(0, &[], parcel, &mut Resolved { entities: &mut entities, batch, ledger: &mut ledger });
    }
    entities
}

fn draw(batches: &[EventBatch], entities: &Entities) -> usize {
    let mut timeline = Timeline::new(Settings {
        firmware_name: "firmware".into(),
        cores: 1,
        operations: true,
        raw_events: false,
        begins_midway: true,
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

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("miniprofiler");
    for (name, damage, main_returns) in
        [("", Damage::None, false), (" in main", Damage::None, true), (" damaged", Damage::Line, false)]
    {
        let input = capture(damage, main_returns);
        group.throughput(Throughput::Bytes(input.len() as u64));
        let mut batches = Vec::new();
        let entities = resolve(decoded(&input), &mut batches);
        let calls: usize = batches.iter().map(|batch| batch.events.len()).sum();
        println!("{calls} calls: 1 ns per call is {:.0} MB/s", 1e3 * input.len() as f64 / calls as f64);
        group.bench_function(format!("scan{name}"), |bencher| {
            bencher.iter(|| black_box(scanned(&input).1.len()));
        });
        let (stages, parts) = scanned(&input);
        group.bench_function(format!("decode{name}"), |bencher| {
            let mut spare = None;
            bencher.iter(|| {
                for &part in &parts {
                    spare = Some(stages.decode.decode(0, part, spare.take()));
                }
            });
        });
        group.bench_function(format!("resolve{name}"), |bencher| {
            let mut batches = Vec::new();
            bencher.iter_batched(
                || decoded(&input),
                |decoded| black_box(resolve(decoded, &mut batches)),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(format!("timeline{name}"), |bencher| bencher.iter(|| black_box(draw(&batches, &entities))));
    }
    let input = capture(Damage::None, false);
    group.bench_function("crc", |bencher| bencher.iter(|| black_box(crc::update(0, &input))));
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
