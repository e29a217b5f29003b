//! Errors on a serial line, as the driver of the port counts them.

use std::io;

use crate::model::{LossKind, losses};

/// The counts of a driver since the port was opened, or before. Counters wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Bytes with a wrong stop bit.
    pub framing: u32,
    /// Bytes with wrong parity.
    pub parity: u32,
    /// Times at which the hardware had no room for a byte.
    pub overruns: u32,
    /// Times at which the driver had no room for bytes.
    pub buffer_overruns: u32,
}

/// A port that counts errors.
pub trait CountsErrors {
    /// The counters.
    ///
    /// # Errors
    /// When the driver has none, as those of many USB adapters and all pseudo-terminals.
    fn counters(&mut self) -> io::Result<LineCounters>;
}

/// Notices errors counted since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineWatch {
    last: Option<LineCounters>,
    is_unsupported: bool,
}

impl LineWatch {
    /// The errors since the last look, by kind. The first look only remembers the counters.
    pub fn look(&mut self, port: &mut dyn CountsErrors) -> Vec<(LossKind, u64)> {
        if self.is_unsupported {
            return Vec::new();
        }
        let Ok(now) = port.counters() else {
            self.is_unsupported = true;
            return Vec::new();
        };
        let last = self.last.replace(now).unwrap_or(now);
        let since = |now: u32, last: u32| u64::from(now.wrapping_sub(last));
        let overruns = since(now.overruns, last.overruns) + since(now.buffer_overruns, last.buffer_overruns);
        let all = [
            (losses::DRIVER_OVERRUN, overruns),
            (losses::FRAMING_ERROR, since(now.framing, last.framing)),
            (losses::PARITY_ERROR, since(now.parity, last.parity)),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(target_os = "linux")]
impl CountsErrors for std::os::fd::BorrowedFd<'_> {
    fn counters(&mut self) -> io::Result<LineCounters> {
        use std::os::fd::AsRawFd;

        /// The kernel's `struct serial_icounter_struct` (`linux/serial.h`).
        #[repr(C)]
        #[derive(Default)]
        struct Counted {
            cts: i32,
            dsr: i32,
            rng: i32,
            dcd: i32,
            rx: i32,
            tx: i32,
            frame: i32,
            overrun: i32,
            parity: i32,
            brk: i32,
            buf_overrun: i32,
            reserved: [i32; 9],
        }
        let mut counted = Counted::default();
        // SAFETY: The descriptor is open as long as it is borrowed. The request fills a structure of this layout, or fails.
        let result = unsafe { libc::ioctl(self.as_raw_fd(), libc::TIOCGICOUNT as _, &raw mut counted) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let Counted { frame, overrun, parity, buf_overrun, .. } = counted;
        let count = i32::cast_unsigned;
        Ok(LineCounters {
            framing: count(frame),
            parity: count(parity),
            overruns: count(overrun),
            buffer_overruns: count(buf_overrun),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(Vec<io::Result<LineCounters>>);

    impl CountsErrors for Fake {
        fn counters(&mut self) -> io::Result<LineCounters> {
            self.0.remove(0)
        }
    }

    #[test]
    fn differences_count_also_across_a_wrap() {
        let before = LineCounters { framing: u32::MAX, parity: 7, overruns: 1, buffer_overruns: 5 };
        let after = LineCounters { framing: 1, parity: 7, overruns: 2, buffer_overruns: 8 };
        let mut port = Fake(vec![Ok(before), Ok(before), Ok(after), Ok(after)]);
        let mut watch = LineWatch::default();
        // Errors before the recording are not its losses.
        assert!(watch.look(&mut port).is_empty());
        assert!(watch.look(&mut port).is_empty());
        assert_eq!(watch.look(&mut port), [(losses::DRIVER_OVERRUN, 4), (losses::FRAMING_ERROR, 2)]);
        assert!(watch.look(&mut port).is_empty());
    }

    #[test]
    fn a_driver_without_counters_is_asked_once() {
        let mut port = Fake(vec![Err(io::ErrorKind::Unsupported.into())]);
        let mut watch = LineWatch::default();
        assert!(watch.look(&mut port).is_empty());
        assert!(watch.look(&mut port).is_empty());
    }
}
