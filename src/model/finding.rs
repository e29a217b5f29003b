//! The basis of the times of a recording and of its reading: recorded, inferred, assumed, or open.

use serde::{Deserialize, Serialize};

/// How sure something is, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The capture records it, or the user gave it.
    Known,
    /// It follows from the data, and nothing contradicts it.
    Inferred,
    /// Nothing in the capture speaks for it; the usual is taken.
    Assumed,
    /// The data speak for more than one answer; the likeliest is taken.
    Ambiguous,
}

impl Certainty {
    /// As a word.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Certainty::Known => "known",
            Certainty::Inferred => "inferred",
            Certainty::Assumed => "assumed",
            Certainty::Ambiguous => "ambiguous",
        }
    }
}

/// The subject of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// How long a tick of the time stamps is.
    Clock,
    /// How many values a counter has before it wraps.
    Modulus,
    /// The places where the time stamps do not follow each other: damage, a wrap, silence.
    Breaks,
    /// Where the target restarted.
    Restarts,
    /// The version or configuration of the target's library.
    Version,
}

impl Matter {
    /// As a noun for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Matter::Clock => "time unit",
            Matter::Modulus => "range of the time counter",
            Matter::Breaks => "breaks in time",
            Matter::Restarts => "restarts",
            Matter::Version => "version",
        }
    }

    /// Whether times depend on it.
    #[must_use]
    pub fn is_of_time(self) -> bool {
        self != Matter::Version
    }
}

/// How sure one matter of a recording is, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The matter.
    pub of: Matter,
    /// How sure it is.
    pub certainty: Certainty,
    /// The evidence, as a clause.
    pub because: String,
    /// Whether the format can record it, but this capture does not: an assumption is then a reason to warn. Otherwise every capture of
    /// the format needs it.
    pub is_recordable: bool,
}

impl Finding {
    /// A finding about something that captures of the format can record.
    #[must_use]
    pub fn new(of: Matter, certainty: Certainty, because: impl Into<String>) -> Finding {
        Finding { of, certainty, because: because.into(), is_recordable: true }
    }

    /// The same about something that no capture of the format records.
    #[must_use]
    pub fn never_recorded(self) -> Finding {
        Finding { is_recordable: false, ..self }
    }

    /// Whether times rest on something that the recording does not say.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        self.of.is_of_time() && self.certainty >= Certainty::Assumed
    }

    /// The warning for the user, if there is one, as a sentence without a final stop.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Finding { of, certainty, because, is_recordable } = self;
        let of = of.text();
        match certainty {
            Certainty::Ambiguous => Some(format!("the {of} can be read in more than one way: {because}")),
            Certainty::Assumed if *is_recordable => Some(format!("the {of} is assumed: {because}")),
            _ => None,
        }
    }
}
