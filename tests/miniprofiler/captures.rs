//! The captures of `testdata/miniprofiler`: generated ones, and hand-made ones that each show one behaviour. A table.

use traceconv::format::miniprofiler::encode;
use traceconv::format::miniprofiler::generate::{Damage, GenerateOptions};
use traceconv::format::miniprofiler::record::{Command, Metadata, ProfileRecord, Reading, Status, packet_type};

pub use crate::common::golden::Capture;
use crate::run::{Generated, capture as calls};

/// All captures.
pub fn all() -> Vec<Capture> {
    let generated = |options: GenerateOptions| Generated::new(&GenerateOptions { bytes: 3_000, ..options }).bytes;
    let base = GenerateOptions::default();
    let mut all = vec![
        ("generated", generated(base)),
        ("generated_main_returns", generated(GenerateOptions { main_returns: true, commands: true, ..base })),
        ("generated_losses", generated(GenerateOptions { damage: Damage::Losses, seed: 4, ..base })),
        ("generated_line", generated(GenerateOptions { damage: Damage::Line, seed: 6, ..base })),
        ("generated_wrap", generated(GenerateOptions { start_us: (1 << 32) - 900, reading: Reading::DOCUMENT_TEXT, ..base })),
    ];
    all.extend(HAND_MADE.iter().map(|&(name, make)| (name, make())));
    all.into_iter().map(|(name, bytes)| Capture { name: name.to_owned(), bytes }).collect()
}

type Make = fn() -> Vec<u8>;

const HAND_MADE: &[(&str, Make)] = &[
    ("every_packet", every_packet),
    ("text_between", text_between),
    ("bad_packets", bad_packets),
    ("odd_packets", odd_packets),
    ("truncated", truncated),
    ("zero_length", zero_length),
    ("orphans", orphans),
    ("overlap", overlap),
    ("depth_underflow", depth_underflow),
    ("late_call", late_call),
    ("restart", restart),
    ("long_silence", long_silence),
    ("status_losses", status_losses),
    ("other_timer", other_timer),
];

const READING: Reading = Reading::HOST;

fn metadata(timer_hz: u32) -> Vec<u8> {
    let mut fw_version = [0; 16];
    fw_version[..6].copy_from_slice(b"v1.0.0");
    let metadata = Metadata { mcu_clock_hz: 168_000_000, timer_hz, build_id: 0xDEAD_BEEF, fw_version };
    let mut bytes = Vec::new();
    encode::metadata(READING, &metadata, &mut bytes);
    bytes
}

fn status(is_profiling: u8, buffer_overflows: u32, records_captured: u32, usage_percent: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::status(READING, &Status { is_profiling, buffer_overflows, records_captured, usage_percent }, &mut bytes);
    bytes
}

fn answer(is_ok: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::answer(READING, is_ok, &mut bytes);
    bytes
}

fn packet(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::packet(READING, kind, payload, &mut bytes);
    bytes
}

const MAIN: u32 = 0x0800_0101;
const WORK: u32 = 0x0800_0201;
const LEAF: u32 = 0x0800_0301;

fn every_packet() -> Vec<u8> {
    let command = |command: Command| command.frame(&[]).to_vec();
    [
        command(Command::GetMetadata),
        metadata(1_000_000),
        command(Command::Start),
        answer(true),
        calls(&[(LEAF, 1500, 300, 1), (WORK, 1000, 2000, 0)], 20),
        command(Command::GetStatus),
        status(1, 0, 2, 37),
        Command::SetConfig.frame(&[1, 2, 3]).to_vec(),
        answer(false),
        command(Command::ResetBuffers),
        answer(true),
        calls(&[(LEAF, 5000, 10, 0)], 20),
        command(Command::Stop),
        answer(true),
    ]
    .concat()
}

fn text_between() -> Vec<u8> {
    [
        &b"\r\nBooting firmware v1.0.0\r\nclock 168 MHz\r\n"[..],
        &metadata(1_000_000),
        &calls(&[(LEAF, 10, 5, 0)], 20),
        b"W sensor: 21\xC2\xB0C is too hot\n",
        &calls(&[(LEAF, 20, 5, 0)], 20),
        b"\x01\x02\x03 assertion failed \x7F",
        &calls(&[(LEAF, 30, 5, 0)], 20),
    ]
    .concat()
}

fn bad_packets() -> Vec<u8> {
    let good = calls(&[(LEAF, 10, 5, 1), (WORK, 0, 20, 0)], 20);
    let mut flipped = calls(&[(LEAF, 110, 5, 1), (WORK, 100, 20, 0)], 20);
    flipped[12] ^= 0x40;
    let mut no_end = calls(&[(LEAF, 210, 5, 1), (WORK, 200, 20, 0)], 20);
    *no_end.last_mut().expect("it has an end") = 0;
    let claims = [READING.header[0], READING.header[1], 5, 0xFF, 0xFF];
    let after = calls(&[(LEAF, 310, 5, 1), (WORK, 300, 20, 0)], 20);
    [&good[..], &flipped, &calls(&[(LEAF, 150, 5, 0)], 20), &no_end, &claims, &after].concat()
}

fn odd_packets() -> Vec<u8> {
    let record = ProfileRecord { func_addr: LEAF, entry_us: 50, duration_us: 5, depth: 0 }.bytes();
    let fewer = [&[1, 3, 0][..], &record].concat();
    let more = [&[1, 1, 0][..], &record, &record].concat();
    let other_version = [&[2, 1, 0][..], &record].concat();
    [
        calls(&[(LEAF, 10, 5, 0)], 20),
        packet(packet_type::PROFILE_DATA, &fewer),
        packet(packet_type::PROFILE_DATA, &more),
        packet(packet_type::PROFILE_DATA, &[1, 0, 0]),
        packet(packet_type::PROFILE_DATA, &other_version),
        packet(packet_type::PROFILE_DATA, &[1]),
        packet(packet_type::METADATA, b"short"),
        packet(packet_type::ACK, b"!"),
        packet(9, b"a packet of a later version"),
        calls(&[(LEAF, 90, 5, 0)], 20),
    ]
    .concat()
}

fn truncated() -> Vec<u8> {
    let mut bytes = calls(&[(LEAF, 10, 5, 0), (LEAF, 20, 5, 0), (LEAF, 30, 5, 0)], 1);
    bytes.truncate(bytes.len() - 4);
    bytes
}

/// Several calls in one microsecond, within each other and one after the other.
fn zero_length() -> Vec<u8> {
    calls(
        &[
            (LEAF, 10, 0, 2),
            (LEAF, 10, 0, 2),
            (WORK, 10, 0, 1),
            (WORK, 10, 3, 1),
            (LEAF, 13, 0, 1),
            (MAIN, 10, 3, 0),
            (LEAF, 13, 0, 0),
            (LEAF, 13, 4, 0),
        ],
        3,
    )
}

/// The caller of the first two is missing, and that of the third.
fn orphans() -> Vec<u8> {
    calls(&[(LEAF, 10, 2, 2), (LEAF, 13, 2, 2), (WORK, 20, 5, 1), (LEAF, 26, 2, 2), (MAIN, 5, 40, 0), (LEAF, 50, 1, 3)], 20)
}

/// Two tasks: calls that overlap without nesting.
fn overlap() -> Vec<u8> {
    calls(&[(WORK, 10, 30, 0), (MAIN, 20, 40, 0), (LEAF, 65, 5, 0), (WORK, 62, 30, 0), (MAIN, 95, 2, 0)], 20)
}

/// Profiling was started two calls deep.
fn depth_underflow() -> Vec<u8> {
    calls(&[(LEAF, 10, 2, 0), (WORK, 5, 10, 65535), (MAIN, 2, 20, 65534), (LEAF, 30, 1, 65534)], 20)
}

/// An interrupt at the exit of a call: its record comes before that of the call, though it began after the call's end.
fn late_call() -> Vec<u8> {
    calls(&[(LEAF, 10, 2, 1), (WORK, 21, 3, 1), (MAIN, 5, 15, 0), (MAIN, 30, 5, 0)], 20)
}

fn restart() -> Vec<u8> {
    [
        metadata(1_000_000),
        calls(&[(LEAF, 5_000_000, 20, 1), (WORK, 5_000_100, 20, 0)], 20),
        metadata(1_000_000),
        calls(&[(LEAF, 110, 20, 1), (WORK, 100, 40, 0)], 20),
    ]
    .concat()
}

fn long_silence() -> Vec<u8> {
    calls(&[(LEAF, 1_000, 10, 0), (LEAF, 2_000_000_000, 10, 0), (LEAF, 4_200_000_000, 10, 0)], 20)
}

fn status_losses() -> Vec<u8> {
    [
        status(1, 0, 0, 0),
        calls(&[(LEAF, 10, 5, 0), (LEAF, 20, 5, 0)], 20),
        status(1, 3, 202, 60),
        calls(&[(LEAF, 30, 5, 0), (LEAF, 40, 5, 0)], 20),
        status(1, 3, 404, 0),
        calls(&[(LEAF, 50, 5, 0)], 20),
        status(0, 3, 405, 0),
    ]
    .concat()
}

fn other_timer() -> Vec<u8> {
    [metadata(84_000_000), calls(&[(LEAF, 10, 5, 0), (LEAF, 20, 5, 0)], 20)].concat()
}
