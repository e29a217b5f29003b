//! Realistic captures of any size, for tests, benches and `cargo xtask gen`.
//!
//! A small FreeRTOS is simulated ([`kernel`]) in virtual time, with an application on it: hooks come in the order in which the real
//! kernel calls them, each takes its time, and the tick count is incremented a little after the tick. [`port`] makes the two time fields
//! from the virtual time, and loses the same packets as real targets. The capture depends on the options only.

mod kernel;
mod port;

use std::io::{self, Write};

use kernel::Kernel;
use port::Port;

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the packet that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// The timer within the tick.
    pub timer: TimerKind,
    /// Whether the target stops its ticks while it is idle.
    pub is_tickless: bool,
    /// The damage to the capture.
    pub damage: Damage,
    /// How long the target has run at the start, in ticks.
    pub start_ticks: u64,
    /// In the middle of the capture, nothing is recorded for this number of ticks.
    pub silent_ticks: u64,
    /// The ids that the target's filter removes.
    pub filtered: &'static [u8],
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            timer: TimerKind::Up1MHz,
            is_tickless: false,
            damage: Damage::None,
            start_ticks: 0,
            silent_ticks: 0,
            filtered: &[],
        }
    }
}

/// The timer within the tick, as the ports of the tracer have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// Up from 0 to 999, not in phase with the tick.
    Up1MHz,
    /// Down from 93 to 0: the 24 MHz count of the kernel's own timer, less its last 8 bits.
    Down93,
    /// Up from 0 to 249, in phase.
    Up250kHz,
    /// Up from 0 to 999, and the tick count is that of milliseconds of a second.
    Modulo1000,
    /// Always 0.
    Nothing,
}

/// The damage between the target and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// No damage.
    #[default]
    None,
    /// About once in 4 KiB, a burst of up to 40 bytes is missing.
    Bytes,
    /// About one bit in 8 KiB is flipped.
    Flips,
    /// About once in 4096 packets, the target's FIFO overflows and up to 64 hooks are lost; the target reports each later.
    Fifo,
    /// Every second time that the timer passes a multiple of 256, its halves are read before and after the carry.
    Torn,
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    run(options, out, &mut |_| {})
}

/// A capture, and the true time of each hook in it, in nanoseconds.
#[must_use]
pub fn generate_with_truth(options: &GenerateOptions) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut truth) = (Vec::new(), Vec::new());
    // Writing to memory cannot fail.
    let _ = run(options, &mut bytes, &mut |time| truth.push(time));
    (bytes, truth)
}

fn run(options: &GenerateOptions, out: &mut dyn Write, truth: &mut dyn FnMut(u64)) -> io::Result<()> {
    let mut kernel = Kernel::new(Port::new(options, truth), options);
    while !kernel.port.is_full() {
        kernel.step();
        kernel.port.flush_large(out)?;
    }
    kernel.port.flush(out)
}
