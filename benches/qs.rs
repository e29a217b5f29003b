//! The stages of QS, on generated captures: scanning, decoding, resolving, drawing.
//!
//! Criterion shows the rate in bytes per second. The number of records is printed first, to compute the time per record.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::qs::decode::Decoder;
use traceconv::format::qs::generate::{Damage, GenerateOptions, generate};
use traceconv::format::qs::scan::Collector;
use traceconv::format::{ErasedStages, FORMATS, FormatOptions, Part, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};
use traceconv::timeline::{Settings, Timeline};

fn capture(damage: Damage) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(&GenerateOptions { bytes: 4 << 20, damage, ..GenerateOptions::default() }, &mut bytes)
        .expect("memory does not fail");
    bytes
}

fn stages_of(input: &[u8]) -> ErasedStages {
    let format = FORMATS.iter().find(|format| format.name() == "qs").expect("it is registered");
    let scan = format.open(&[FormatOptions::default()]).expect("no option is wrong");
    let facts = scan.join(input, None, scan.scan(0, Part::new(input, 0..input.len())));
    scan.finish(vec![Some(facts)], &mut [Ledger::default()])
}

fn resolve(stages: &mut ErasedStages, input: &[u8], batch: &mut EventBatch) -> Entities {
    let (mut entities, mut ledger) = (Entities::default(), Ledger::default());
    let parcel = stages.decode.decode(0, Part::new(input, 0..input.len()), None);
    let mut out = Resolved { entities: &mut entities, batch, ledger: &mut ledger };
    stages.resolve.resolve(0, input, parcel, &mut out);
    entities
}

fn draw(batch: &EventBatch, entities: &Entities) -> usize {
    let mut timeline = Timeline::new(Settings {
        firmware_name: "firmware".into(),
        cores: 1,
        operations: true,
        raw_events: false,
        begins_midway: true,
        range_ns: None,
    });
    timeline.consume(batch, entities);
    timeline.finish();
    timeline.take_blocks().iter().map(|block| block.ops.len()).sum()
}

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("qs");
    let decoder = Decoder::of(GenerateOptions::default().config);
    for (name, damage) in [("", Damage::None), (" damaged", Damage::Flips)] {
        let input = capture(damage);
        let count = decoder.records(&input, 0..input.len()).frames.len();
        println!(
            "{} bytes, {count} records: 1 ns per record is {:.0} MB/s",
            input.len(),
            1e3 * input.len() as f64 / count as f64
        );
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(format!("scan{name}"), |bencher| bencher.iter(|| Collector::scan(&input, 0..input.len())));
        group.bench_function(format!("decode{name}"), |bencher| {
            bencher.iter_batched(|| (), |()| decoder.records(&input, 0..input.len()), BatchSize::PerIteration);
        });
        group.bench_function(format!("decode and resolve{name}"), |bencher| {
            bencher.iter_batched(
                || (stages_of(&input), EventBatch::default()),
                |(mut stages, mut batch)| (resolve(&mut stages, &input, &mut batch), batch),
                BatchSize::PerIteration,
            );
        });
        let mut batch = EventBatch::default();
        let entities = resolve(&mut stages_of(&input), &input, &mut batch);
        group.bench_function(format!("timeline{name}"), |bencher| bencher.iter(|| black_box(draw(&batch, &entities))));
    }
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
