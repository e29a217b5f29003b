//! Time, judged once for all formats: which time stamps are to be believed, how often a counter wrapped, whether the target restarted.
//!
//! A *stamp* is a reading of a counter as it is in the file. The stamps of one counter of one session are a *domain*. A *run* is a
//! sequence of stamps in file order in which each follows the one before by a usual step; between two runs is a *break*. The
//! cause of a break – damage, a piece that was moved or repeated, a wrap, silence, a restart – is decided by [`Judge`]: each explanation has a
//! cost in bits of surprise, and the cheapest explanation of all runs ahead is taken. Between breaks nothing is computed.
//!
//! [`fit`] finds facts that the stream does not record: the modulus or period of a counter, and its rate against a coarser clock.
//!
//! Formats give data, not code: [`Domain`] describes a counter, [`Stamp`] one reading of it.

mod copies;
mod doubt;
pub mod fit;
mod judge;
mod runs;
#[cfg(test)]
mod tests;

pub use copies::{Copies, Pieces};
pub use doubt::Doubt;
pub use judge::Judge;

/// How many stamps of a domain are looked at ahead of one that breaks the order.
pub const LOOKAHEAD: usize = 256;

/// The time drawn between the last event before a restart and the first one after it. The real duration is unknown.
pub const RESTART_GAP_NS: u64 = 1_000;

/// The limit of sessions in an input. Damage can look like a restart.
pub const SESSIONS_LIMIT: u32 = 1 << 12;

/// The facts about a counter that are known before its first stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// How many values the counter has, at least 2. `None`: it never wraps.
    pub modulus: Option<u64>,
    /// The cost of a small step back, in bits: few where such steps are real (a clock that is read too early), many where the target
    /// sends its stamps in order.
    pub disorder_bits: u32,
    /// The cost of a restart that nothing but the stamps speaks for, in bits. `None` where the format says when a session begins.
    pub restart_bits: Option<u32>,
    /// Whether stamps of another counter may be among these, because a record that separates them was lost.
    pub may_be_foreign: bool,
    /// Whether a checksum or something as strong protects the stamps.
    pub is_protected: bool,
}

impl Domain {
    /// The cost of a restart where pieces of a file may have been moved: as much as that all stamps within the look-ahead were.
    pub const RESTART_BITS: u32 = 80;

    /// A counter of 64 bits, whose stamps come in order and are protected by nothing.
    #[must_use]
    pub fn plain() -> Domain {
        Domain {
            modulus: None,
            disorder_bits: 40,
            restart_bits: Some(Self::RESTART_BITS),
            may_be_foreign: false,
            is_protected: false,
        }
    }
}

/// A reading of a counter, and the facts about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The value on the wire.
    pub raw: u64,
    /// Where its record starts in the input, in bytes. In a ring: after its oldest byte, in the order of recording.
    pub offset: u64,
    /// How far a coarser clock had come (ticks of the kernel, for example), unwrapped. Only differences count.
    pub coarse: u64,
    /// Whether it may have come further: ticks of it may be missing before the stamp.
    pub coarse_is_least: bool,
    /// The evidence for a restart between the stamp before and this one, in bits: metadata that is sent at the start,
    /// counters that begin again.
    pub restart_bits: u8,
    /// Whether the stream says right before it which counter it is of.
    pub is_marked: bool,
}

/// The judgement of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is right; wraps have been counted.
    Believed,
    /// It contradicts its neighbours: it has a time between theirs.
    Replaced,
    /// It lies before the time that was reached: it has that time.
    Held,
    /// The counter began again; a session starts with it.
    Restarted,
    /// No time is known so far.
    Unknown,
}

/// Why a stamp was not simply believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing is odd.
    Regular,
    /// A long step that the next stamps confirm.
    Silence,
    /// The stamp is damaged.
    Damaged,
    /// It was recorded a little late, or read a little early.
    Disorder,
    /// Its piece of the file was moved.
    Moved,
    /// Its piece of the file, byte for byte, is a copy of the bytes before.
    Repeated,
    /// It is of another counter.
    Foreign,
    /// The target restarted.
    Restart,
}

/// The answer of the judge for one stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The time in ticks of the counter, unwrapped. Never before that of the stamp before, except at a restart, which begins at the
    /// stamp's own value.
    pub ticks: u64,
    /// The stamp's own time, if it is held at a later one.
    pub own: u64,
    /// The judgement.
    pub verdict: Verdict,
    /// Why.
    pub cause: Cause,
    /// How many bits the next best explanation of another kind costs more; [`u32::MAX`] if nothing was to be explained.
    pub margin: u32,
}

impl Judged {
    /// Below this margin an explanation is ambiguous.
    pub const AMBIGUOUS_BITS: u32 = 4;

    /// Whether another explanation is nearly as good.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.margin < Self::AMBIGUOUS_BITS
    }
}
