//! The first stages of TSP, on generated captures: cutting, scanning, decoding, resolving.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::tsp::Tsp;
use traceconv::format::tsp::generate::{Damage, GenerateOptions, generate};
use traceconv::format::{ErasedStages, Format, FormatOptions, Part, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};

fn capture(damage: Damage) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(&GenerateOptions { bytes: 4 << 20, damage, ..GenerateOptions::default() }, &mut bytes)
        .expect("memory does not fail");
    bytes
}

fn stages_of(input: &[u8]) -> ErasedStages {
    let scan = Tsp.open(&[FormatOptions::default()]).expect("the options are right");
    let facts = scan.join(input, None, scan.scan(0, Part::new(input, 0..input.len())));
    scan.finish(vec![Some(facts)], &mut [Ledger::default()])
}

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tsp");
    for (name, damage) in [("", Damage::None), (" damaged", Damage::Bytes)] {
        let input = capture(damage);
        let whole = Part::new(&input, 0..input.len());
        let scan = Tsp.open(&[FormatOptions::default()]).expect("the options are right");
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(format!("cut each 128 KiB{name}"), |bencher| {
            bencher.iter(|| (0..input.len()).step_by(128 << 10).map(|at| scan.cut(&input, at)).sum::<usize>());
        });
        group.bench_function(format!("scan{name}"), |bencher| bencher.iter(|| scan.scan(0, whole)));
        let decode = stages_of(&input).decode;
        group.bench_function(format!("decode{name}"), |bencher| {
            bencher.iter_batched(|| (), |()| decode.decode(0, whole, None), BatchSize::PerIteration);
        });
        group.bench_function(format!("resolve{name}"), |bencher| {
            bencher.iter_batched(
                || (stages_of(&input).resolve, decode.decode(0, whole, None)),
                |(mut resolve, records)| {
                    let (mut entities, mut batch, mut ledger) = (Entities::default(), EventBatch::default(), Ledger::default());
                    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
                    resolve.resolve(0, &input, records, &mut out);
                    (batch, entities)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
