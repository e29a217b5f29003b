//! Errors on the way into this machine, as the system counts them: on a serial line, and of a socket for datagrams.

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
    /// Times at which the driver had no room for bytes, or a socket none for a datagram.
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

impl CountsErrors for std::net::UdpSocket {
    #[cfg(not(target_os = "linux"))]
    fn counters(&mut self) -> io::Result<LineCounters> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(target_os = "linux")]
    fn counters(&mut self) -> io::Result<LineCounters> {
        use std::os::fd::OwnedFd;
        use std::os::unix::fs::MetadataExt;

        let inode = std::fs::File::from(OwnedFd::from(self.try_clone()?)).metadata()?.ino();
        let table = if self.local_addr()?.is_ipv4() { "/proc/net/udp" } else { "/proc/net/udp6" };
        let dropped = dropped_datagrams(&std::fs::read_to_string(table)?, inode);
        let buffer_overruns = dropped.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(LineCounters { buffer_overruns, ..LineCounters::default() })
    }
}

/// The number of datagrams that the system dropped, because a socket had no room for them, by the kernel's table of sockets (proc(5)): the inode is the tenth word of a
/// line, the number the last.
#[cfg(target_os = "linux")]
fn dropped_datagrams(table: &str, inode: u64) -> Option<u32> {
    let line = table.lines().find(|line| line.split_whitespace().nth(9).and_then(|word| word.parse().ok()) == Some(inode))?;
    // The kernel's counter is wider on some machines, and only differences count.
    line.split_whitespace().next_back()?.parse::<i64>().ok().map(|count| count as u32)
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_is_found_in_the_table_of_the_kernel() {
        let table = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 2177: 0100007F:0277 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 12345 2 0000000000000000 0
 2178: 0100007F:1E15 00000000:0000 07 00000000:00033300 00:00000000 00000000  1000        0 23456 2 0000000000000000 417
";
        assert_eq!(dropped_datagrams(table, 23456), Some(417));
        assert_eq!(dropped_datagrams(table, 12345), Some(0));
        assert_eq!(dropped_datagrams(table, 2), None);
        let mut socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(socket.counters().unwrap(), LineCounters::default());
    }

    #[test]
    fn a_driver_without_counters_is_asked_once() {
        let mut port = Fake(vec![Err(io::ErrorKind::Unsupported.into())]);
        let mut watch = LineWatch::default();
        assert!(watch.look(&mut port).is_empty());
        assert!(watch.look(&mut port).is_empty());
    }
}
