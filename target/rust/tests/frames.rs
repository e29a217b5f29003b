//! The frames of FORMAT.md's vectors, by the crate.

use std::sync::atomic::{AtomicU64, Ordering};

static NOW: AtomicU64 = AtomicU64::new(1000);

tband::clock!(168_000_000, || NOW.load(Ordering::Relaxed));

#[test]
fn known_frames() {
    assert!(!tband::is_recording() && !tband::stop_streaming());
    assert_eq!(tband::start_streaming(), Ok(()));
    assert_eq!(tband::start_streaming(), Err(tband::StartError::AlreadyStreaming));
    tband::isr_enter(0);
    NOW.store(1007, Ordering::Relaxed);
    tband::isr_exit(0);
    NOW.store(1039, Ordering::Relaxed);
    tband::evtmarker(300, c"hi");
    NOW.store(6000, Ordering::Relaxed);
    tband::valmarker(2, -5);
    tband::valmarker_name(2, c"t");
    let mut frames = String::new();
    tband::read(|bytes| {
        frames = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.len()
    });
    let expected = "060c54010201010107e807a801e807000384020100".to_owned()
        + "03851f0100"
        + "08878401ac02686900"
        + "078b859b01020b00"
        + "040a027400";
    assert_eq!(frames, expected);
    assert_eq!(tband::dropped_events(), 0);
    assert!(tband::stop_streaming());
}
