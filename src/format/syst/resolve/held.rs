//! Records that wait for those that follow them: their own tables, for the part that they came with is gone by then.
//!
//! It happens where a time stamp leaps near the end of a part, and never holds more than
//! [`LOOKAHEAD_RECORDS`](super::clock::LOOKAHEAD_RECORDS).

use crate::format::syst::decode::{NameRef, Records, SourceRef, Stored, Told};
use crate::model::TextRef;

/// Appends records of a part, with all that belongs to them.
pub fn hold(held: &mut Records, from: &Records, records: &[Stored]) {
    if held.stored.is_empty() {
        held.reset(from.base);
    } else if from.base < held.base && !records.is_empty() {
        // That a message has no end is told where it began, be it far before.
        let earlier = u32::try_from(held.base - from.base).unwrap_or(u32::MAX);
        held.stored.iter_mut().for_each(|stored| stored.offset = stored.offset.saturating_add(earlier));
        held.base = from.base;
    }
    for stored in records {
        let mut copy = *stored;
        let offset = (from.base + u64::from(stored.offset)).saturating_sub(held.base);
        copy.offset = u32::try_from(offset).unwrap_or(u32::MAX);
        copy.body = text(held, from, stored.body);
        copy.args = (number(held.args.len()), 0);
        for arg in from.args_of(stored) {
            let moved = arg.text().map(|told| Told::of_text(arg.name, text(held, from, told)));
            held.args.push(moved.unwrap_or(*arg));
        }
        copy.args.1 = number(held.args.len()) - copy.args.0;
        if let Some(sender) = from.senders.get(stored.sender as usize) {
            copy.sender = number(held.senders.len());
            held.senders.push(*sender);
        }
        if let NameRef::Local(name) = stored.name
            && let Some(name) = from.names.get(name as usize)
        {
            copy.name = NameRef::Local(number(held.names.len()));
            held.names.push(name.clone());
        }
        if let SourceRef::Local(source) = stored.source
            && let Some(source) = from.sources.get(source as usize)
        {
            copy.source = SourceRef::Local(number(held.sources.len()));
            held.sources.push(*source);
        }
        held.stored.push(copy);
    }
}

fn text(held: &mut Records, from: &Records, told: TextRef) -> TextRef {
    let (start, text) = (number(held.texts.len()), from.text(told));
    held.texts.push_str(text);
    TextRef { start, len: number(text.len()) }
}

/// A place in a table of what few records have.
fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::syst::decode::{Context, Notice};

    #[test]
    fn offsets_are_kept_whichever_part_comes_first() {
        let mut held = Records::default();
        for (base, offset) in [(100, 130), (40, 45), (100, 160)] {
            let mut part = Records::default();
            part.reset(base);
            part.add_notice(Notice::Unfinished, 0, Context { offset, ..Context::default() });
            hold(&mut held, &part, &part.stored);
        }
        let offsets: Vec<u64> = held.stored.iter().map(|stored| held.base + u64::from(stored.offset)).collect();
        assert_eq!(offsets, [130, 45, 160]);
    }
}
