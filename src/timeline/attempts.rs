//! Operations on objects that change nothing: peeks, and failed operations.

use super::Timeline;
use super::layout::object_name;
use super::writer::Label;
use crate::model::{CoreId, Entities, ObjectId, ObjectOp};
use crate::track::TrackId;

impl Timeline {
    /// Draws such an operation as an instant. False for any other.
    pub(super) fn attempt(
        &mut self,
        object: ObjectId,
        op: ObjectOp,
        from_isr: bool,
        core: CoreId,
        time_ns: u64,
        entities: &Entities,
    ) -> bool {
        let entity = &entities.objects[object.index()];
        let (verb, taken_verb, result) = match op {
            ObjectOp::Peek => ("peek", "peek", ""),
            ObjectOp::PeekFailed => ("peek", "peek", " failed"),
            ObjectOp::SendFailed => ("send", "give", " failed"),
            ObjectOp::ReceiveFailed => ("receive", "take", " failed"),
            _ => return false,
        };
        let track: Option<TrackId> = if self.settings.operations { self.context(core, from_isr, entities) } else { None };
        if let Some(track) = track {
            let verb = if entity.kind.is_taken() { taken_verb } else { verb };
            let name = self.writer.name(&format!("{verb} {}{result}", object_name(entity)));
            self.writer.instant(track, time_ns, Label::Name(name), &[], None);
        }
        true
    }
}
