//! The host's side of a TraceSniffer: object lists are sent only on request, and ids can be filtered.
//!
//! The list is asked for at the start, and again in the second after an object was created: names come in no other way. The target
//! answers nothing else.

use super::record::{PREAMBLE, id};
use crate::format::host::{Host, Talk, Wishes};

/// The bytes of a filter: bit k of byte j enables id 8j + k.
const FILTER_BYTES: usize = 13;

/// Packets that announce an object whose name is not known yet.
const CREATIONS: [u8; 4] = [id::QUEUE_CREATE, id::CREATE_MUTEX, id::CREATE_COUNTING_SEMAPHORE, id::TASK_CREATE];

/// The command that sets a filter of these ids; others than those of the protocol (0 to 103) have no effect.
#[must_use]
pub fn filter(ids: &[u8]) -> Vec<u8> {
    let mut command = vec![0; 1 + FILTER_BYTES];
    command[0] = id::SNIFF_FILTER;
    for &id in ids {
        if let Some(byte) = command.get_mut(1 + usize::from(id / 8)) {
            *byte |= 1 << (id % 8);
        }
    }
    command
}

/// The state.
#[derive(Clone, Debug, Default)]
pub struct TspHost {
    filter: Option<Vec<u8>>,
    /// The last bytes that came: the begin of a packet may be in two pieces.
    last: Vec<u8>,
    wants_list: bool,
}

impl TspHost {
    /// For these wishes.
    #[must_use]
    pub fn new(wishes: &Wishes) -> TspHost {
        TspHost { filter: wishes.filter.clone(), ..TspHost::default() }
    }
}

impl Host for TspHost {
    fn start(&mut self, talk: &mut Talk) {
        self.last.clear();
        self.wants_list = false;
        talk.send.extend(self.filter.as_deref().map(filter));
        talk.send.push(vec![id::OBJECT_LIST]);
    }

    fn received(&mut self, bytes: &[u8], _talk: &mut Talk) {
        const BEGIN_BYTES: usize = PREAMBLE.len() + 2;
        let mut all = std::mem::take(&mut self.last);
        all.extend_from_slice(bytes);
        let is_creation = |begin: &[u8]| begin.starts_with(&PREAMBLE) && begin.last().is_some_and(|id| CREATIONS.contains(id));
        self.wants_list |= all.windows(BEGIN_BYTES).any(is_creation);
        all.drain(..all.len().saturating_sub(BEGIN_BYTES - 1));
        self.last = all;
    }

    fn second(&mut self, talk: &mut Talk) {
        if std::mem::take(&mut self.wants_list) {
            talk.send.push(vec![id::OBJECT_LIST]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_asked_for_at_the_start_and_after_creations() {
        let mut host = TspHost::new(&Wishes::default());
        let mut talk = Talk::default();
        host.start(&mut talk);
        assert_eq!(talk.send, [[0x97]]);

        talk = Talk::default();
        // A task is switched in; then one is created, in two pieces; a payload that looks like an id is not one.
        host.received(&[0xFD, 0xFE, 0xFF, 0, 2, 1, 2, 0, 3, 35], &mut talk);
        host.second(&mut talk);
        assert!(talk.send.is_empty());
        host.received(&[0xFD, 0xFE, 0xFF, 1], &mut talk);
        host.received(&[35, 1, 2, 0, 4, 7], &mut talk);
        host.second(&mut talk);
        host.second(&mut talk);
        assert_eq!(talk.send, [[0x97]]);
    }

    #[test]
    fn a_filter_is_a_bit_for_each_id() {
        // The example of the notes on the format: only 2, 6 and 44.
        assert_eq!(filter(&[2, 6, 44]), [0x98, 0x44, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(filter(&[255]), [0x98, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut talk = Talk::default();
        TspHost::new(&Wishes { filter: Some(vec![0]), ..Wishes::default() }).start(&mut talk);
        assert_eq!(talk.send.iter().map(Vec::len).collect::<Vec<_>>(), [14, 1]);
    }
}
