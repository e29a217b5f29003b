//! Recording: bytes from a device or a socket into a file, and nothing else.
//!
//! ```text
//! port ── reader thread ── ring ── writer (the caller's thread) ── file and notes
//!                                     ├── host: commands of the protocol, sent by the reader
//!                                     └── watch thread: frames, statistics, conditions to stop
//! ```
//!
//! The reader does nothing but read, so that no buffer of the system overflows while a disk is slow. Whatever is lost all the same is
//! known: the ring counts the bytes that it drops, [`line`](mod@line) asks the serial driver. Both become notes beside the file
//! ([`crate::input::sidecar`]), which the converter reads.

pub mod address;
pub mod files;
pub mod line;
mod port;
#[cfg(feature = "record-rtt")]
mod probe;
pub mod ring;
#[cfg(any(test, feature = "record-rtt"))]
pub mod rtt;
mod session;
pub mod watch;

pub use port::{Input, list};
pub use session::{Ended, Observer, Second, Session, Summary, record};
