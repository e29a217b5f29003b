//! Track operations → packets: time per operation on blocks like those of a busy firmware.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use traceconv::perfetto::Encoder;
use traceconv::track::{
    Annotation, AnnotationValue, Block, Flow, NameRef, Op, OpKind, PrevState, SchedRows, SwitchRow, TrackId, WakingRow,
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

/// How the operations of a block follow each other.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// As firmware does: interrupts, and tasks that wake up, work, talk to a queue and wait again.
    Firmware,
    /// Without any pattern: no branch predictor can learn it.
    Random,
}

/// One activity of the firmware: its track, its kind of operation, and whether it has a flow.
const ACTIVITIES: [&[(u32, OpKind, bool)]; 5] = {
    use OpKind::{Begin, Counter, End, Instant};
    [
        &[(1, Begin, false), (1, End, false)],
        &[(2, Begin, false), (30, Counter, false), (2, End, false)],
        &[(3, Begin, false), (4, Begin, false), (4, End, false), (31, Counter, false), (3, Instant, true), (3, End, false)],
        &[(10, End, false), (10, Begin, false), (32, Counter, false), (10, Instant, true), (10, End, false), (10, Begin, false)],
        &[
            (11, End, false),
            (11, Begin, false),
            (11, Begin, false),
            (11, End, false),
            (11, End, false),
            (33, Counter, false),
            (11, Begin, false),
        ],
    ]
};

/// Operations on about 30 tracks under 300 names, microseconds apart; `args_in_16` of 16 that are no counters have two
/// annotations.
fn block(order: Order, args_in_16: u64) -> Block {
    let mut random = Random(1);
    let mut block = Block { number: 3, ..Block::default() };
    block.names = (0..300).map(|n| format!("name of slice {n}")).collect();
    let mut time_ns = 5_000_000_000;
    while block.ops.len() < OPS {
        // Mostly microseconds apart, now and then milliseconds.
        time_ns += if random.below(20) == 0 { random.below(5_000_000) } else { random.below(50_000) };
        let shift = random.below(4) as u32;
        match order {
            Order::Firmware => {
                let activity = random.below(5).min(random.below(5)) as usize;
                for &(track, kind, has_flow) in ACTIVITIES[activity] {
                    time_ns += 300 + random.below(5000);
                    push(&mut block, &mut random, time_ns, track + 4 * shift, kind, has_flow, args_in_16);
                }
            }
            Order::Random => {
                let kind = [OpKind::Begin, OpKind::Begin, OpKind::End, OpKind::End, OpKind::Counter][random.below(5) as usize];
                let (track, has_flow) = (1 + random.below(30) as u32, random.below(16) == 0);
                push(&mut block, &mut random, time_ns, track, kind, has_flow, args_in_16);
            }
        }
    }
    block
}

fn push(block: &mut Block, random: &mut Random, time_ns: u64, track: u32, kind: OpKind, has_flow: bool, args_in_16: u64) {
    let mut op = op(time_ns, track, kind, NameRef::NONE);
    if matches!(kind, OpKind::Begin | OpKind::Instant) {
        // Few names are most of a trace.
        op.name = NameRef::interned(random.below(300).min(random.below(300)).min(random.below(300)) as u32);
    }
    if kind == OpKind::Counter {
        op.value = random.below(50) as i64;
    } else if has_flow {
        (op.flow, op.value) = (Flow::Out, time_ns as i64);
    }
    if kind != OpKind::Counter && random.below(16) < args_in_16 {
        op.args_start = block.args.len() as u32;
        op.args_len = 2;
        block.args.push(Annotation::new(0, AnnotationValue::Uint(random.below(1000))));
        block.args.push(Annotation::new(1, AnnotationValue::Name(random.below(20) as u32)));
    }
    block.ops.push(op);
}

fn sched_block() -> Block {
    let mut random = Random(2);
    let mut block = Block { names: (0..16).map(|n| format!("task {n}")).collect(), ..Block::default() };
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
    let blocks = [
        ("events", block(Order::Firmware, 0)),
        ("events, no pattern", block(Order::Random, 0)),
        ("events, 1 in 16 with arguments", block(Order::Firmware, 1)),
        ("events, all with arguments", block(Order::Firmware, 16)),
        ("sched rows", sched_block()),
    ];
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
