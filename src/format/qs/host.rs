//! The host's side of QS: commands have frames as records have, with numbers and checksums of their own.
//!
//! A target sends its sizes and dictionaries after a reset only; its sizes also on request.

use super::frame::{self, FLAG};
use crate::format::host::{Host, Talk, Wishes};
use crate::frame::split::MAX_FRAME_BYTES;

/// Ids of commands.
mod command {
    pub const INFO: u8 = 0;
    pub const COMMAND: u8 = 1;
    pub const RESET: u8 = 2;
}

/// The record with the answer to a command.
const RX_STATUS: u8 = 66;
/// In its byte: the command failed.
const FAILED: u8 = 0x80;
/// The target expected another number of the command. It carries the command out and expects the next number from now on.
const OTHER_NUMBER: u8 = 0x42;

/// The state.
#[derive(Clone, Debug, Default)]
pub struct QsHost {
    wishes: Wishes,
    seq: u8,
    /// The frame that is coming.
    coming: Vec<u8>,
}

impl QsHost {
    /// For these wishes.
    #[must_use]
    pub fn new(wishes: &Wishes) -> QsHost {
        QsHost { wishes: wishes.clone(), ..QsHost::default() }
    }

    fn command(&mut self, id: u8, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A target that was just reset expects 1.
        self.seq = self.seq.wrapping_add(1);
        frame::append(self.seq, id, data, &mut bytes);
        bytes
    }
}

impl Host for QsHost {
    fn start(&mut self, talk: &mut Talk) {
        self.coming.clear();
        let first = if self.wishes.reset { command::RESET } else { command::INFO };
        talk.send.push(self.command(first, &[]));
        for numbers in self.wishes.commands.clone() {
            // A number of one byte and three parameters of four.
            let mut data = vec![numbers.first().copied().unwrap_or(0) as u8];
            (1..4).for_each(|index| data.extend(numbers.get(index).copied().unwrap_or(0).to_le_bytes()));
            talk.send.push(self.command(command::COMMAND, &data));
        }
    }

    fn received(&mut self, bytes: &[u8], talk: &mut Talk) {
        let mut body = Vec::new();
        for &byte in bytes {
            if byte != FLAG {
                // Longer bytes are not a frame: its end is waited for.
                if self.coming.len() < MAX_FRAME_BYTES {
                    self.coming.push(byte);
                }
                continue;
            }
            if frame::unescape(&self.coming, &mut body).is_ok()
                && let [_, RX_STATUS, .., status, _] = body.as_slice()
            {
                let (id, is_failed) = (status & !FAILED, status & FAILED != 0);
                talk.say.push(match (is_failed, id) {
                    (true, OTHER_NUMBER) => "the target missed commands, or those of another host came before".into(),
                    (true, code) => format!("the target refuses a command, with code {code}"),
                    (false, command::INFO) => "the target sends its sizes".into(),
                    (false, command::COMMAND) => "the target carried out a command".into(),
                    (false, command::RESET) => "the target resets".into(),
                    (false, id) => format!("the target accepted command {id}"),
                });
            }
            self.coming.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(sent: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut body = Vec::new();
        sent.iter()
            .map(|bytes| {
                frame::unescape(bytes.strip_suffix(&[FLAG]).unwrap(), &mut body).unwrap();
                body.clone()
            })
            .collect()
    }

    #[test]
    fn commands_are_numbered_frames() {
        let commands = vec![vec![7, 0x7E, 2], vec![1, 2, 3, 0x0102_0304]];
        let mut host = QsHost::new(&Wishes { commands, ..Wishes::default() });
        let mut talk = Talk::default();
        host.start(&mut talk);
        let sent = bodies(&talk.send);
        assert_eq!(sent[0][..2], [1, 0]);
        assert_eq!(sent[1][..15], [2, 1, 7, 0x7E, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(sent[2][..15], [3, 1, 1, 2, 0, 0, 0, 3, 0, 0, 0, 4, 3, 2, 1]);

        let mut host = QsHost::new(&Wishes { reset: true, ..Wishes::default() });
        talk = Talk::default();
        host.start(&mut talk);
        assert_eq!(bodies(&talk.send)[0][..2], [1, 2]);
    }

    #[test]
    fn answers_are_shown() {
        let mut stream = b"garbage".to_vec();
        stream.push(FLAG);
        frame::append(1, 10, &[1, 2, 3], &mut stream);
        frame::append(2, RX_STATUS, &[2], &mut stream);
        frame::append(3, RX_STATUS, &[FAILED | 0x43], &mut stream);
        frame::append(4, RX_STATUS, &[FAILED | OTHER_NUMBER], &mut stream);
        let mut host = QsHost::default();
        let mut talk = Talk::default();
        stream.iter().for_each(|&byte| host.received(&[byte], &mut talk));
        let missed = "the target missed commands, or those of another host came before";
        assert_eq!(talk.say, ["the target resets", "the target refuses a command, with code 67", missed]);
    }
}
