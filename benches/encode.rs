//! Track operations → packets: time per operation on blocks like those of a busy firmware.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::model::TextArena;
use traceconv::perfetto::Encoder;
use traceconv::timeline::{
    Arg, ArgValue, Block, Flow, NameRef, Op, OpKind, PrevState, SchedRows, SwitchRow, TrackId, WakingRow,
};

const OPS: usize = 64 << 10;

/// A small deterministic generator, so that every run measures the same block.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

fn op(time_ns: u64, track: u32, kind: OpKind, name: NameRef) -> Op {
    Op { time_ns, value: 0, track: TrackId(track), name, args_start: 0, args_len: 0, kind, flow: Flow::None }
}

/// Slices on 24 tracks under 300 names, a fifth counters, one operation in 16 with a flow; `args_in_16` of 16 slices have two
/// annotations.
fn block(args_in_16: u64) -> Block {
    let mut random = Random(1);
    let mut block = Block { number: 3, texts: TextArena::default(), ..Block::default() };
    block.names = (0..300).map(|n| format!("name of slice {n}").into()).collect();
    let mut depth = [0u32; 24];
    let mut time_ns = 5_000_000_000;
    while block.ops.len() < OPS {
        // Mostly microseconds apart, now and then milliseconds.
        time_ns += if random.below(20) == 0 { random.below(5_000_000) } else { 200 + random.below(20_000) };
        if random.below(5) == 0 {
            let mut counter = op(time_ns, 100 + random.below(40) as u32, OpKind::Counter, NameRef::None);
            counter.value = random.below(50) as i64;
            block.ops.push(counter);
            continue;
        }
        // Few tracks and few names are most of a trace.
        let track = random.below(24).min(random.below(24)) as usize;
        let ends = depth[track] > 0 && (depth[track] > 3 || random.below(2) == 0);
        depth[track] = if ends { depth[track] - 1 } else { depth[track] + 1 };
        let name = random.below(300).min(random.below(300)).min(random.below(300)) as u32;
        let mut slice = match ends {
            true => op(time_ns, track as u32 + 1, OpKind::End, NameRef::None),
            false => op(time_ns, track as u32 + 1, OpKind::Begin, NameRef::Interned(name)),
        };
        if random.below(16) == 0 {
            (slice.flow, slice.value) = (Flow::Out, time_ns as i64);
        }
        if random.below(16) < args_in_16 {
            slice.args_start = block.args.len() as u32;
            slice.args_len = 2;
            block.args.push(Arg { name: 0, value: ArgValue::Uint(random.below(1000)) });
            block.args.push(Arg { name: 1, value: ArgValue::Name(random.below(20) as u32) });
        }
        block.ops.push(slice);
    }
    block
}

fn sched_block() -> Block {
    let mut random = Random(2);
    let mut block = Block { names: (0..16).map(|n| format!("task {n}").into()).collect(), ..Block::default() };
    let mut rows = SchedRows::default();
    let mut time_ns = 0;
    for _ in 0..OPS / 2 {
        time_ns += 200 + random.below(200_000);
        let next = random.below(16) as u32;
        let (next_tid, next_prio) = (next as i32, 100 + next as i32);
        rows.switches.push(SwitchRow { time_ns, prev_state: PrevState::Waiting, next_tid, next_prio, next_comm: next });
        rows.wakings.push(WakingRow { time_ns, tid: next_tid, prio: next_prio, target_core: 0, from_isr: true, comm: next });
    }
    block.sched.push(rows);
    block
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(OPS as u64));
    let blocks =
        [("events", block(0)), ("events, 1 in 16 with arguments", block(1)), ("events with arguments", block(16)), ("sched rows", sched_block())];
    for (name, block) in &blocks {
        let mut encoder = Encoder::new();
        let mut out = Vec::new();
        encoder.encode_block(block, &mut out);
        println!("{name}: {:.2} bytes per operation", out.len() as f64 / OPS as f64);
        group.bench_with_input(BenchmarkId::from_parameter(name), block, |bencher, block| {
            bencher.iter(|| {
                out.clear();
                encoder.encode_block(black_box(block), &mut out);
                black_box(out.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, encode);
criterion_main!(benches);
