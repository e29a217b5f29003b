//! The captures of `testdata/qs`: generated ones, and hand-made ones that each show one behaviour. A table.

use traceconv::format::qs::encode::{Encoder, Value};
use traceconv::format::qs::generate::{Damage, GenerateOptions, generate};
use traceconv::format::qs::info::TargetInfo;
use traceconv::format::qs::layout::{Config, Layout, Sizes};
use traceconv::format::qs::record::{Code, Kind, SPECS};

use crate::common::golden::Capture;

pub fn generated(bytes: u64, seed: u64, damage: Damage) -> Vec<u8> {
    let mut capture = Vec::new();
    generate(&GenerateOptions { bytes, seed, damage, ..GenerateOptions::default() }, &mut capture).expect("memory does not fail");
    capture
}

/// All captures.
pub fn all() -> Vec<Capture> {
    let capture = |name: &str, bytes| Capture { name: name.to_owned(), bytes };
    vec![
        capture("generated", generated(6_000, 1, Damage::None)),
        capture("generated_cut_short", generated(9_000, 2, Damage::None)[3_001..7_003].to_vec()),
        capture("generated_flips", generated(9_000, 3, Damage::Flips)),
        capture("generated_cuts", generated(9_000, 4, Damage::Cuts)),
        capture("frames_missing", without_frames(&generated(5_000, 5, Damage::None), 150..190)),
        capture("two_sessions", two_sessions()),
        capture("late_target_info", late_target_info()),
        capture("every_record", every_record()),
        capture("unescaped_text", unescaped_text()),
        capture("time_events", time_events()),
    ]
}

pub fn without_frames(capture: &[u8], gone: std::ops::Range<usize>) -> Vec<u8> {
    let frames = frames(capture).into_iter().enumerate();
    frames.filter(|(number, _)| !gone.contains(number)).flat_map(|(_, frame)| frame).copied().collect()
}

pub fn info(is_reset: bool, config: Config) -> Vec<u8> {
    let info = TargetInfo {
        is_reset,
        version: config.version,
        release_date: Some(260_101),
        product: Some(2),
        is_big_endian: true,
        nibbles: config.sizes.all(),
        max_active: 16,
        max_pools: 2,
        max_tick_rates: 1,
        build: [2026, 5, 4, 3, 2, 1],
    };
    let mut data = Vec::new();
    info.append(&mut data);
    data
}

/// A 16-bit target of an odd configuration.
pub fn small_config() -> Config {
    let sizes = Sizes { time: 2, object: 2, function: 4, signal: 1, event_size: 1, queue: 2, pool: 1, block: 2, time_event: 2 };
    Config::new(sizes, 721)
}

pub fn encoder(config: Config) -> Encoder {
    Encoder::new(Layout::new(config))
}

/// A target that was reset and has described itself, and what it has sent.
pub fn after_reset(config: Config) -> (Encoder, Vec<u8>) {
    let (mut target, mut capture) = (encoder(config), Vec::new());
    target.numbers(Kind::Empty, &[], &mut capture);
    target.record(Kind::TargetInfo, &[Value::Bytes(&info(true, config))], &mut capture);
    (target, capture)
}

/// The frames of a capture.
pub fn frames(capture: &[u8]) -> Vec<&[u8]> {
    capture.split_inclusive(|&byte| byte == 0x7E).collect()
}

fn two_sessions() -> Vec<u8> {
    let (mut second, start) = after_reset(small_config());
    let mut capture = [generated(3_000, 7, Damage::None), start].concat();
    second.record(Kind::ObjDict, &[Value::Uint(0x200), Value::Bytes(b"Blinky")], &mut capture);
    for number in 0..20 {
        // A clock of two bytes that wraps on the way.
        let time = 60_000 + number * 1_000;
        second.numbers(Kind::Dispatch, &[time, 5, 0x200, 0x1000], &mut capture);
        second.numbers(Kind::Tran, &[time + 100, 5, 0x200, 0x1000, 0x1001], &mut capture);
    }
    capture
}

/// The target sends TARGET_INFO in the middle of the recording.
fn late_target_info() -> Vec<u8> {
    let mut capture = Vec::new();
    let mut target = encoder(small_config());
    for number in 0..6 {
        target.numbers(Kind::PoolGet, &[number * 100, 0x300, 9 - number, 4], &mut capture);
    }
    target.record(Kind::TargetInfo, &[Value::Bytes(&info(false, small_config()))], &mut capture);
    target.record(Kind::ObjDict, &[Value::Uint(0x300), Value::Bytes(b"EvtPool1")], &mut capture);
    target.numbers(Kind::PoolPut, &[700, 0x300, 5], &mut capture);
    capture
}

/// Values for a record: a different number that fits one byte for each field; time advances.
pub fn values_of(kind: Kind, time: u64) -> Vec<Value<'static>> {
    let fields = kind.spec().fields.iter().enumerate();
    fields
        .map(|(number, field)| match field.code {
            Code::Time => Value::Uint(time),
            Code::Object => Value::Uint(0x40 + number as u64 % 2),
            Code::Function => Value::Uint(0x80 + number as u64),
            Code::Signal(_) => Value::Uint(6),
            Code::Text => Value::Bytes(b"name"),
            Code::Rest => Value::Bytes(match kind {
                Kind::PeekData => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
                Kind::PeekAddress => &[1, 2, 3, 4, 5],
                Kind::User => &[0x01, 77, 0x08, b'h', b'i', 0, 0x12, 0xFE, 0xFF],
                _ => &[],
            }),
            // The size of an item that is peeked, and the kind of a query that has no data.
            Code::U8 if kind == Kind::PeekData => Value::Uint([0, 0, 4, 4][number.min(3)]),
            Code::U8 if kind == Kind::QueryData => Value::Uint(5),
            _ => Value::Uint(3 + number as u64),
        })
        .collect()
}

/// Every record that QP 8.1.5 knows, twice.
fn every_record() -> Vec<u8> {
    let config = Config::new(Sizes::default(), 815);
    let (mut target, mut capture) = after_reset(config);
    let sent = SPECS.iter().filter(|spec| spec.is_sent_by(config.version));
    for (number, spec) in sent.clone().chain(sent).enumerate() {
        if spec.kind != Kind::TargetInfo && spec.kind != Kind::Empty {
            target.record(spec.kind, &values_of(spec.kind, 1_000 + number as u64 * 7), &mut capture);
        }
    }
    capture
}

/// The target writes texts without escaping them.
fn unescaped_text() -> Vec<u8> {
    let mut capture = generated(1_500, 8, Damage::None);
    let seq = Vec::from_iter(capture.split(|&byte| byte == 0x7E).filter(|frame| !frame.is_empty())).len() as u8;
    let mut frame = vec![seq.wrapping_add(1), 61, 0x10, 0, 0, 0x20];
    frame.extend(b"home~user}x\0");
    frame.push(!frame.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte)));
    frame.push(0x7E);
    capture.extend(frame);
    let mut target = encoder(GenerateOptions::default().config);
    target.seq = seq.wrapping_add(1);
    target.numbers(Kind::PoolGet, &[900_000, 0x2000_0010, 3, 3], &mut capture);
    capture
}

/// A one-shot that is posted in time, one that is late, one that is disarmed, and one that is periodic.
fn time_events() -> Vec<u8> {
    let (mut target, mut capture) = after_reset(Config::new(Sizes::default(), 740));
    target.record(Kind::ObjDict, &[Value::Uint(0x50), Value::Bytes(b"once")], &mut capture);
    target.record(Kind::ObjDict, &[Value::Uint(0x60), Value::Bytes(b"again")], &mut capture);
    target.record(Kind::ObjDict, &[Value::Uint(0x70), Value::Bytes(b"given up")], &mut capture);
    let tick = 1_000;
    target.numbers(Kind::TimeArm, &[10, 0x60, 0x10, 2, 3, 0], &mut capture);
    target.numbers(Kind::TimeArm, &[20, 0x70, 0x10, 50, 0, 0], &mut capture);
    for number in 0..8 {
        let now = (2 + 3 * number) * tick;
        target.numbers(Kind::TimePost, &[now, 0x60, 9, 0x10, 0], &mut capture);
        target.numbers(Kind::TimeArm, &[now + 5, 0x50, 0x10, 2, 0, 0], &mut capture);
        // The last of them six ticks late.
        let late = if number == 7 { 6 * tick } else { 0 };
        target.numbers(Kind::TimeAutoDisarm, &[0x50, 0x10, 0], &mut capture);
        target.numbers(Kind::TimePost, &[now + 2 * tick + late, 0x50, 9, 0x10, 0], &mut capture);
    }
    target.numbers(Kind::TimeDisarm, &[40 * tick, 0x70, 0x10, 10, 0, 0], &mut capture);
    capture
}
