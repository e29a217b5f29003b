//! State machines and active objects: things that take one event after the other from a queue, and answer each in a step of its own.

use std::sync::Arc;

use super::{LaneId, MachineId, NameId};

/// A state machine. One with a queue and a thread of control of its own is an active object.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name, or its address if it has none.
    pub name: Arc<str>,
    /// What it is, for the viewer's help.
    pub description: Option<Arc<str>>,
    /// The target session (counted from 0) it belongs to.
    pub session: u32,
}

/// A name, or none, in the space of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MaybeName(u32);

impl MaybeName {
    /// No name.
    pub const NONE: MaybeName = MaybeName(u32::MAX);

    /// The name, if there is one.
    #[inline]
    #[must_use]
    pub fn get(self) -> Option<NameId> {
        (self.0 != u32::MAX).then_some(NameId(self.0))
    }
}

impl From<Option<NameId>> for MaybeName {
    #[inline]
    fn from(name: Option<NameId>) -> MaybeName {
        name.map_or(MaybeName::NONE, |name| MaybeName(name.0))
    }
}

impl std::fmt::Debug for MaybeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// Who did something, in the space of a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Origin(u32);

/// What an [`Origin`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// Nobody knows.
    Unknown,
    /// A machine, in its present step if it is in one.
    Machine(MachineId),
    /// Something that has a lane: an interrupt, a tick handler, a thread.
    Lane(LaneId),
}

impl Origin {
    /// Nobody knows.
    pub const UNKNOWN: Origin = Origin(u32::MAX);
    const LANE: u32 = 1 << 31;

    /// A machine.
    #[inline]
    #[must_use]
    pub fn machine(machine: MachineId) -> Origin {
        Origin(machine.0 & !Self::LANE)
    }

    /// Something that has a lane.
    #[inline]
    #[must_use]
    pub fn lane(lane: LaneId) -> Origin {
        Origin(lane.0 | Self::LANE)
    }

    /// What it is.
    #[inline]
    #[must_use]
    pub fn kind(self) -> OriginKind {
        match self.0 {
            u32::MAX => OriginKind::Unknown,
            number if number & Self::LANE != 0 => OriginKind::Lane(LaneId(number & !Self::LANE)),
            number => OriginKind::Machine(MachineId(number)),
        }
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

/// What a machine made of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It went from one state to another, or to the same anew.
    Transition,
    /// It handled the event without leaving its state.
    Internal,
    /// It has nothing to do with such an event in its state.
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        assert_eq!(Origin::UNKNOWN.kind(), OriginKind::Unknown);
        for number in [0, 1, 65_535] {
            assert_eq!(Origin::machine(MachineId(number)).kind(), OriginKind::Machine(MachineId(number)));
            assert_eq!(Origin::lane(LaneId(number)).kind(), OriginKind::Lane(LaneId(number)));
            assert_eq!(MaybeName::from(Some(NameId(number))).get(), Some(NameId(number)));
        }
        assert_eq!(MaybeName::from(None).get(), None);
    }
}
