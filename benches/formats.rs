//! The stages of every format on captures of its own generator, whole and damaged: cut, scan, decode, resolve, draw.
//!
//! Criterion shows the rate in bytes of input. The number of events is printed first, to compute the time per event.
//! `cargo bench --bench formats -- qs` measures one format.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::miniprofiler::crc;
use traceconv::format::{ErasedRecording, ErasedStages, FORMATS, Format, FormatOptions, Parcel, Part, Resolved};
use traceconv::model::{Entities, EventBatch, Ledger};
use traceconv::timeline::{Settings, Timeline};

const WINDOW_BYTES: usize = 256 << 10;

/// A capture, with the options that it is read with.
fn capture(format: &dyn Format) -> (Vec<u8>, FormatOptions) {
    let mut bytes = Vec::new();
    let options = format.generate(4 << 20, 1, &mut bytes).expect("memory does not fail");
    (bytes, options)
}

/// One bit in 8 KiB is flipped.
fn damaged(mut bytes: Vec<u8>) -> Vec<u8> {
    for (index, block) in bytes.chunks_mut(8 << 10).enumerate() {
        let at = index.wrapping_mul(0x9E37_79B9) % block.len();
        block[at] ^= 1 << (index % 8);
    }
    bytes
}

struct Input<'a> {
    bytes: &'a [u8],
    format: &'a dyn Format,
    options: &'a FormatOptions,
    scan: Box<dyn ErasedRecording>,
    parts: Vec<Part<'a>>,
}

impl<'a> Input<'a> {
    fn new(format: &'a dyn Format, bytes: &'a [u8], options: &'a FormatOptions) -> Input<'a> {
        let scan = format.open(std::slice::from_ref(options)).expect("the options are right");
        let mut parts = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = scan.cut(bytes, start + WINDOW_BYTES).max(start + 1);
            parts.push(Part::new(bytes, start..end));
            start = end;
        }
        Input { bytes, format, options, scan, parts }
    }

    fn stages(&self) -> ErasedStages {
        let join = |before, &part: &Part<'_>| Some(self.scan.join(self.bytes, before, self.scan.scan(0, part)));
        let facts = self.parts.iter().fold(None, join);
        let scan = self.format.open(std::slice::from_ref(self.options)).expect("the options are right");
        scan.finish(vec![facts], &mut [Ledger::default()])
    }

    fn decoded(&self) -> (ErasedStages, Vec<Parcel>) {
        let stages = self.stages();
        let parcels = self.parts.iter().map(|&part| stages.decode.decode(0, part, None)).collect();
        (stages, parcels)
    }

    fn resolve(&self, (mut stages, parcels): (ErasedStages, Vec<Parcel>), batches: &mut Vec<EventBatch>) -> Entities {
        let (mut entities, mut ledger) = (Entities::default(), Ledger::default());
        batches.resize_with(parcels.len(), EventBatch::default);
        for (batch, parcel) in batches.iter_mut().zip(parcels) {
            batch.clear();
            let mut out = Resolved { entities: &mut entities, batch, ledger: &mut ledger };
            stages.resolve.resolve(0, self.bytes, parcel, &mut out);
        }
        entities
    }
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
    for format in FORMATS {
        let mut group = criterion.benchmark_group(format.name());
        let (whole, options) = capture(*format);
        for (name, bytes) in [("", whole.clone()), (" damaged", damaged(whole))] {
            let input = Input::new(*format, &bytes, &options);
            let mut batches = Vec::new();
            let entities = input.resolve(input.decoded(), &mut batches);
            let events: usize = batches.iter().map(|batch| batch.events.len()).sum();
            println!("{events} events: 1 ns per event is {:.0} MB/s", 1e3 * bytes.len() as f64 / events.max(1) as f64);
            group.throughput(Throughput::Bytes(bytes.len() as u64));
            group.bench_function(format!("cut each 64 KiB{name}"), |bencher| {
                bencher.iter(|| (0..bytes.len()).step_by(64 << 10).map(|at| input.scan.cut(&bytes, at)).sum::<usize>());
            });
            group.bench_function(format!("scan{name}"), |bencher| {
                bencher.iter(|| input.parts.iter().for_each(|&part| _ = black_box(input.scan.scan(0, part))));
            });
            let stages = input.stages();
            group.bench_function(format!("decode{name}"), |bencher| {
                let mut spare = None;
                bencher.iter(|| {
                    for &part in &input.parts {
                        spare = Some(stages.decode.decode(0, part, spare.take()));
                    }
                });
            });
            group.bench_function(format!("resolve{name}"), |bencher| {
                let mut batches = Vec::new();
                bencher.iter_batched(
                    || input.decoded(),
                    |decoded| black_box(input.resolve(decoded, &mut batches)),
                    BatchSize::PerIteration,
                );
            });
            group.bench_function(format!("timeline{name}"), |bencher| bencher.iter(|| black_box(draw(&batches, &entities))));
        }
        group.finish();
    }
}

fn crc(criterion: &mut Criterion) {
    let bytes: Vec<u8> = (0..4u32 << 20).map(|index| (index.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
    let mut group = criterion.benchmark_group("crc");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("miniprofiler", |bencher| bencher.iter(|| black_box(crc::update(0, &bytes))));
    group.finish();
}

criterion_group!(benches, stages, crc);
criterion_main!(benches);
