//! The host's side of a protocol: the commands that make a target record, and its answers.
//!
//! A [`Host`] is a state machine without clock and devices: it is given the bytes that came, and once a second a call, and gives
//! commands to send and sentences to show.

/// The user's wishes, of all protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Reset the target, or its buffers, at the start.
    pub reset: bool,
    /// Record these ids only.
    pub filter: Option<Vec<u8>>,
    /// Commands of the firmware's own: a number and its parameters.
    pub commands: Vec<Vec<u32>>,
}

/// The work that a host asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// Commands to send, each at once.
    pub send: Vec<Vec<u8>>,
    /// Answers of the target, as sentences without a final stop.
    pub say: Vec<String>,
}

/// The host's side of a recording.
pub trait Host: Send {
    /// The connection is open, or open again.
    fn start(&mut self, talk: &mut Talk);

    /// Bytes came.
    fn received(&mut self, bytes: &[u8], talk: &mut Talk);

    /// A second has passed.
    fn second(&mut self, _talk: &mut Talk) {}

    /// The recording ends. What the target then sends belongs to it, until [`Host::has_stopped`].
    fn stop(&mut self, _talk: &mut Talk) {}

    /// Whether nothing more is expected of the target after [`Host::stop`].
    fn has_stopped(&self) -> bool {
        true
    }

    /// How full the target's buffer is, in percent, if it reported that.
    fn buffer_percent(&self) -> Option<u8> {
        None
    }
}
