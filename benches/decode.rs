//! The first stages, on generated captures: scanning, decoding, and unstuffing alone against the `cobs` crate.
//!
//! Criterion shows the rate in bytes per second. The number of frames per run is printed first, to compute the time per frame.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::format::tonbandgeraet::decode::{DELIMITER, Decoder};
use traceconv::format::tonbandgeraet::generate::{Damage, GenerateOptions, generate};
use traceconv::format::tonbandgeraet::scan::ScanFacts;
use traceconv::frame::cobs as own;
use traceconv::frame::split::Delimiters;

fn capture(damage: Damage) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(&GenerateOptions { bytes: 4 << 20, damage, ..GenerateOptions::default() }, &mut bytes)
        .expect("memory does not fail");
    bytes
}

fn frames(capture: &[u8], mut each: impl FnMut(usize, usize)) {
    let mut at = 0;
    for delimiter in Delimiters::<DELIMITER>::new(capture, at) {
        each(at, delimiter + 1 - at);
        at = delimiter + 1;
    }
}

fn stages(criterion: &mut Criterion) {
    let decoder = Decoder::plain();
    let mut group = criterion.benchmark_group("tonbandgeraet");
    for (name, damage) in [("", Damage::None), (" damaged", Damage::Flips)] {
        let input = capture(damage);
        let count = decoder.records(&input, 0..input.len()).frames.len();
        println!("{} bytes, {count} frames: 1 ns per frame is {:.0} MB/s", input.len(), 1e3 * input.len() as f64 / count as f64);
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(format!("scan{name}"), |bencher| bencher.iter(|| ScanFacts::scan(&input, 0..input.len())));
        // A later stage drops the records.
        group.bench_function(format!("decode{name}"), |bencher| {
            bencher.iter_batched(|| (), |()| decoder.records(&input, 0..input.len()), BatchSize::PerIteration);
        });
    }
    group.bench_function("generate", |bencher| bencher.iter(|| capture(Damage::None)));
    group.finish();
}

fn unstuffing(criterion: &mut Criterion) {
    let input = capture(Damage::None);
    let mut group = criterion.benchmark_group("cobs");
    group.throughput(Throughput::Bytes(input.len() as u64));
    group.bench_function("delimiters only", |bencher| {
        bencher.iter(|| frames(&input, |at, len| _ = black_box((at, len))));
    });
    group.bench_function("delimiters with memchr", |bencher| {
        bencher.iter(|| memchr::memchr_iter(DELIMITER, &input).for_each(|at| _ = black_box((at, at))));
    });
    group.bench_function("unstuff_short", |bencher| {
        bencher.iter(|| {
            frames(&input, |at, len| {
                let mut scratch = [0; own::SHORT_WINDOW_BYTES];
                black_box(own::unstuff_short(&input[at..], len, &mut scratch));
            });
        });
    });
    group.bench_function("unstuff", |bencher| {
        let mut payload = Vec::new();
        bencher.iter(|| {
            frames(&input, |at, len| {
                payload.clear();
                let _ = black_box(own::unstuff(&input[at..at + len - 1], &mut payload));
            });
        });
    });
    group.bench_function("cobs crate", |bencher| {
        let mut payload = [0; 512];
        bencher.iter(|| {
            frames(&input, |at, len| {
                let _ = black_box(cobs::decode(&input[at..at + len - 1], &mut payload));
            });
        });
    });
    group.finish();
}

criterion_group!(benches, stages, unstuffing);
criterion_main!(benches);
