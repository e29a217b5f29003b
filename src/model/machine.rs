//! State machines and active objects: they take events from a queue, one after the other, and handle each in a step.

use std::sync::Arc;

use super::{LaneId, MachineId, NameId};

/// A state machine. One with a queue and a thread of control of its own is an active object.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name, or its address if it has none.
    pub name: Arc<str>,
    /// Its description, for the viewer's help.
    pub description: Option<Arc<str>>,
    /// The target session (counted from 0) it belongs to.
    pub session: u32,
}

/// An optional name, in the size of a name.
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

/// The origin of an action, in the size of a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Origin(u32);

/// The kind of an [`Origin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// Not known.
    Unknown,
    /// A machine, in its present step if it is in one.
    Machine(MachineId),
    /// Something that has a lane: an interrupt, a tick handler, a thread.
    Lane(LaneId),
}

impl Origin {
    /// Not known.
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

    /// The kind of origin.
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

/// The result of a machine's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It left its state, for another state or for the same one again.
    Transition,
    /// It handled the event without leaving its state.
    Internal,
    /// It does not handle this event in its state.
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_values_are_unpacked() {
        assert_eq!(Origin::UNKNOWN.kind(), OriginKind::Unknown);
        for number in [0, 1, 65_535] {
            assert_eq!(Origin::machine(MachineId(number)).kind(), OriginKind::Machine(MachineId(number)));
            assert_eq!(Origin::lane(LaneId(number)).kind(), OriginKind::Lane(LaneId(number)));
            assert_eq!(MaybeName::from(Some(NameId(number))).get(), Some(NameId(number)));
        }
        assert_eq!(MaybeName::from(None).get(), None);
    }
}
