//! Tonbandgerät-compatible tracer for bare-metal and embassy firmware. `traceconv` shows its recordings in Perfetto.
//!
//! ```ignore
//! tband::clock!(1_000_000, || embassy_time::Instant::now().as_micros());
//!
//! tband::evtmarker_name(1, c"work");
//! tband::start_streaming().unwrap();
//! tband::evtmarker_begin(1, c"step");
//! // …
//! tband::evtmarker_end(1);
//! tband::read(|bytes| uart.write(bytes));
//! ```
//!
//! The library is written in C; this crate builds it, with a ring of 4096 bytes and the critical section of the crate
//! `critical-section`. A folder with a `tband_config.h` and a `tband_port.h` of your own is named by `TBAND_CONFIG_DIR`.
//!
//! With the feature `embassy` (and `trace` of embassy-executor) each task is a marker with its address as the id, and a span while it
//! is polled: `evtmarker_name(task_id, …)` names it.
#![no_std]

use core::ffi::{c_char, c_int, CStr};

mod ffi {
    use super::{c_char, c_int};

    extern "C" {
        pub fn tband_start_streaming() -> c_int;
        pub fn tband_stop_streaming() -> c_int;
        pub fn tband_tracing_enabled() -> bool;
        pub fn tband_dropped_events() -> u32;
        pub fn tband_isr_name(id: u32, name: *const c_char);
        pub fn tband_isr_enter(id: u32);
        pub fn tband_isr_exit(id: u32);
        pub fn tband_evtmarker_name(id: u32, name: *const c_char);
        pub fn tband_evtmarker(id: u32, text: *const c_char);
        pub fn tband_evtmarker_begin(id: u32, text: *const c_char);
        pub fn tband_evtmarker_end(id: u32);
        pub fn tband_valmarker_name(id: u32, name: *const c_char);
        pub fn tband_valmarker(id: u32, value: i64);
        pub fn tband_sink_ready(bytes: *mut *const u8) -> usize;
        pub fn tband_sink_sent(len: usize);
    }
}

/// Defines the clock: ticks per second, and a function that gives the ticks as a `u64`, from any context.
#[macro_export]
macro_rules! clock {
    ($hz:expr, $now:expr) => {
        #[no_mangle]
        static tband_rust_clock_hz: u32 = $hz;

        #[no_mangle]
        extern "C" fn tband_rust_now() -> u64 {
            let now: fn() -> u64 = $now;
            now()
        }
    };
}

/// Why a recording did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// There is one already.
    AlreadyStreaming,
    /// The ring had no room for the names.
    NamesDropped,
}

/// Sends the names that were given, then events as they happen. Not from an interrupt.
///
/// # Errors
/// See [`StartError`].
pub fn start_streaming() -> Result<(), StartError> {
    // SAFETY: the library takes its own critical section.
    match unsafe { ffi::tband_start_streaming() } {
        0 => Ok(()),
        -1 => Err(StartError::AlreadyStreaming),
        _ => Err(StartError::NamesDropped),
    }
}

/// Ends the recording. Whether there was one.
pub fn stop_streaming() -> bool {
    // SAFETY: as above.
    unsafe { ffi::tband_stop_streaming() == 0 }
}

/// Whether events are recorded.
pub fn is_recording() -> bool {
    // SAFETY: it reads a word.
    unsafe { ffi::tband_tracing_enabled() }
}

/// Events for which the ring had no room.
pub fn dropped_events() -> u32 {
    // SAFETY: it reads a word.
    unsafe { ffi::tband_dropped_events() }
}

/// Takes bytes out of the ring: `send` gets those that are ready in one piece, and returns how many of them it took. From one context only.
pub fn read(send: impl FnOnce(&[u8]) -> usize) {
    let mut bytes = core::ptr::null();
    // SAFETY: a ready byte stays as it is until it is given back, and only this reader gives back.
    unsafe {
        let len = ffi::tband_sink_ready(&mut bytes);
        if len > 0 {
            let sent = send(core::slice::from_raw_parts(bytes, len));
            ffi::tband_sink_sent(sent.min(len));
        }
    }
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $function:ident($($value:expr),*);)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name($($argument: $type),*) {
                // SAFETY: from any context, by the library's own critical section; texts end with a zero byte and are only read.
                unsafe { ffi::$function($($value),*) }
            }
        )*
    };
}

calls! {
    /// Names an interrupt of this core.
    isr_name(id: u32, name: &CStr) = tband_isr_name(id, name.as_ptr());
    /// First thing in a handler.
    isr_enter(id: u32) = tband_isr_enter(id);
    /// Last thing in a handler.
    isr_exit(id: u32) = tband_isr_exit(id);
    /// Names an event marker.
    evtmarker_name(id: u32, name: &CStr) = tband_evtmarker_name(id, name.as_ptr());
    /// An instant.
    evtmarker(id: u32, text: &CStr) = tband_evtmarker(id, text.as_ptr());
    /// A span begins; spans of one id nest.
    evtmarker_begin(id: u32, text: &CStr) = tband_evtmarker_begin(id, text.as_ptr());
    /// The innermost open span of the id ends.
    evtmarker_end(id: u32) = tband_evtmarker_end(id);
    /// Names a value.
    valmarker_name(id: u32, name: &CStr) = tband_valmarker_name(id, name.as_ptr());
    /// A value over time.
    valmarker(id: u32, value: i64) = tband_valmarker(id, value);
}

/// The critical section, for the C library. The states of nested sections fit in a word, whatever `critical-section` makes of them.
#[no_mangle]
extern "C" fn tband_rust_enter() -> u32 {
    // SAFETY: each is left by `tband_rust_leave`, in the reverse order: the library takes and leaves it in one block.
    let state = unsafe { critical_section::acquire() };
    const { assert!(core::mem::size_of::<critical_section::RestoreState>() <= 4) };
    let mut key = 0u32;
    // SAFETY: the state is plain data of at most four bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(
            (&raw const state).cast::<u8>(),
            (&raw mut key).cast::<u8>(),
            core::mem::size_of::<critical_section::RestoreState>(),
        );
    }
    key
}

#[no_mangle]
extern "C" fn tband_rust_leave(key: u32) {
    let mut state = core::mem::MaybeUninit::<critical_section::RestoreState>::uninit();
    // SAFETY: the bytes are those of the state that `tband_rust_enter` got.
    unsafe {
        core::ptr::copy_nonoverlapping(
            (&raw const key).cast::<u8>(),
            state.as_mut_ptr().cast::<u8>(),
            core::mem::size_of::<critical_section::RestoreState>(),
        );
        critical_section::release(state.assume_init());
    }
}

/// What embassy-executor calls with its feature `trace`.
#[cfg(feature = "embassy")]
mod embassy {
    use super::{evtmarker_begin, evtmarker_end};

    #[no_mangle]
    extern "Rust" fn _embassy_trace_poll_start(_executor: u32) {}
    #[no_mangle]
    extern "Rust" fn _embassy_trace_task_new(_executor: u32, _task: u32) {}
    #[no_mangle]
    extern "Rust" fn _embassy_trace_task_end(_executor: u32, _task: u32) {}
    #[no_mangle]
    extern "Rust" fn _embassy_trace_task_exec_begin(_executor: u32, task: u32) {
        evtmarker_begin(task, c"");
    }
    #[no_mangle]
    extern "Rust" fn _embassy_trace_task_exec_end(_executor: u32, task: u32) {
        evtmarker_end(task);
    }
    #[no_mangle]
    extern "Rust" fn _embassy_trace_task_ready_begin(_executor: u32, _task: u32) {}
    #[no_mangle]
    extern "Rust" fn _embassy_trace_executor_idle(_executor: u32) {}
}
