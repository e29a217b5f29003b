//! The host's side of MiniProfiler: a device sends nothing before it is asked to profile.
//!
//! At the start the device is asked for its metadata and to start; then for its status every second, whose counter of overflows and fill
//! level are in the recording too; at the end to stop. Answers do not name their command: they come in the order of the commands. If one is
//! lost, the status that is asked for after the command to stop says that the device has stopped.

use super::record::{Command, Metadata, PACKET_HEAD, Reading, Status, packet_type};
use crate::format::host::{Host, Talk, Wishes};

/// The longest answer that is read here: metadata, with head, CRC and end byte.
const ANSWER_BYTES: usize = PACKET_HEAD + Metadata::BYTES + 3;
const END: u8 = 0x0A;

/// The state.
#[derive(Clone, Debug, Default)]
pub struct MiniProfilerHost {
    reset: bool,
    /// Bytes in which an answer may begin.
    coming: Vec<u8>,
    /// Commands that are not answered yet, the oldest first.
    unanswered: std::collections::VecDeque<Command>,
    is_stopping: bool,
    buffer_percent: Option<u8>,
    has_metadata: bool,
}

impl MiniProfilerHost {
    /// For these wishes.
    #[must_use]
    pub fn new(wishes: &Wishes) -> MiniProfilerHost {
        MiniProfilerHost { reset: wishes.reset, ..MiniProfilerHost::default() }
    }

    fn send(&mut self, command: Command, talk: &mut Talk) {
        talk.send.push(command.frame(&[]).to_vec());
        // Status and metadata are their own answers.
        if !matches!(command, Command::GetStatus | Command::GetMetadata) {
            self.unanswered.push_back(command);
        }
    }

    /// The answer at the start of some bytes, and its length. Profile data are passed over byte by byte.
    fn answer(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
        let [a, b, kind, low, high, ..] = *bytes.first_chunk::<PACKET_HEAD>()?;
        let expected = match kind {
            packet_type::ACK | packet_type::NACK => 0,
            packet_type::METADATA => Metadata::BYTES,
            packet_type::STATUS => Status::BYTES,
            _ => return None,
        };
        let len = usize::from(u16::from_le_bytes([low, high]));
        let body = bytes.get(2..PACKET_HEAD + len)?;
        let &[crc_low, crc_high, end] = bytes.get(PACKET_HEAD + len..PACKET_HEAD + len + 3)? else { return None };
        let fits = |reading: &Reading| reading.header == [a, b] && reading.crc_bytes(body) == [crc_low, crc_high];
        let is_valid = len == expected && end == END && Reading::ALL.iter().any(fits);
        is_valid.then(|| (kind, body.get(PACKET_HEAD - 2..).unwrap_or(&[]), PACKET_HEAD + len + 3))
    }

    fn take(&mut self, kind: u8, payload: &[u8], talk: &mut Talk) {
        match kind {
            packet_type::ACK | packet_type::NACK => {
                let verb = if kind == packet_type::ACK { "accepted" } else { "refused" };
                let command = self.unanswered.pop_front().map_or("a command", Command::name);
                talk.say.push(format!("the device {verb} {command}"));
            }
            packet_type::METADATA => {
                if let Some(metadata) = Metadata::read(payload).filter(|_| !self.has_metadata) {
                    self.has_metadata = true;
                    let Metadata { mcu_clock_hz, build_id, .. } = metadata;
                    talk.say.push(format!("firmware {:?}, build {build_id:08x}, clock {mcu_clock_hz} Hz", metadata.version()));
                }
            }
            packet_type::STATUS => {
                let status = Status::read(payload);
                self.buffer_percent = status.map(|status| status.usage_percent);
                if self.is_stopping && status.is_some_and(|status| status.is_profiling == 0) {
                    self.unanswered.clear();
                }
            }
            _ => {}
        }
    }

    /// Takes the answer at the start of some bytes, if there is one. How many bytes are done.
    fn take_at(&mut self, bytes: &[u8], talk: &mut Talk) -> usize {
        match Self::answer(bytes) {
            Some((kind, payload, len)) => {
                self.take(kind, payload, talk);
                len
            }
            None => 1,
        }
    }
}

impl Host for MiniProfilerHost {
    fn start(&mut self, talk: &mut Talk) {
        self.coming.clear();
        self.unanswered.clear();
        self.send(Command::GetMetadata, talk);
        if self.reset {
            self.send(Command::ResetBuffers, talk);
        }
        self.send(Command::Start, talk);
    }

    fn received(&mut self, bytes: &[u8], talk: &mut Talk) {
        let mut all = std::mem::take(&mut self.coming);
        all.extend_from_slice(bytes);
        let mut at = 0;
        while at + ANSWER_BYTES <= all.len() {
            at += self.take_at(&all[at..], talk);
        }
        // Near the end: an answer that is there whole, or the begin of one.
        while at < all.len() {
            let rest = &all[at..];
            let may_continue = Reading::ALL.iter().any(|reading| rest.starts_with(&reading.header[..rest.len().min(2)]));
            if may_continue && Self::answer(rest).is_none() {
                break;
            }
            at += self.take_at(rest, talk);
        }
        all.drain(..at);
        self.coming = all;
    }

    fn second(&mut self, talk: &mut Talk) {
        if !self.is_stopping {
            self.send(Command::GetStatus, talk);
            if !self.has_metadata {
                self.send(Command::GetMetadata, talk);
            }
        }
    }

    fn stop(&mut self, talk: &mut Talk) {
        self.is_stopping = true;
        self.send(Command::Stop, talk);
        self.send(Command::GetStatus, talk);
    }

    fn has_stopped(&self) -> bool {
        self.is_stopping && self.unanswered.is_empty()
    }

    fn buffer_percent(&self) -> Option<u8> {
        self.buffer_percent
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::super::record::ProfileRecord;
    use super::*;

    #[test]
    fn a_session() {
        let mut host = MiniProfilerHost::default();
        let mut talk = Talk::default();
        host.start(&mut talk);
        host.second(&mut talk);
        let codes: Vec<u8> = talk.send.iter().map(|frame| frame[1]).collect();
        assert_eq!(codes, [5, 1, 3, 5]);

        let metadata = Metadata {
            mcu_clock_hz: 168_000_000,
            timer_hz: 1,
            build_id: 0xDEAD_BEEF,
            fw_version: *b"v1.0.0\0\0\0\0\0\0\0\0\0\0",
        };
        let status = Status { is_profiling: 1, buffer_overflows: 0, records_captured: 5, usage_percent: 37 };
        let record = ProfileRecord { func_addr: 0xAA55_0155, entry_us: 0x55AA_55AA, duration_us: 1, depth: 0 };
        for reading in Reading::ALL {
            let mut stream = b"boot \xAA\x55\x03".to_vec();
            encode::metadata(reading, &metadata, &mut stream);
            encode::answer(reading, true, &mut stream);
            encode::profile(reading, &[record; 9], &mut stream);
            encode::status(reading, &status, &mut stream);
            encode::answer(reading, false, &mut stream);
            for piece in [1, 3, 1000] {
                let mut host = MiniProfilerHost::default();
                host.start(&mut Talk::default());
                let mut talk = Talk::default();
                stream.chunks(piece).for_each(|bytes| host.received(bytes, &mut talk));
                let expected = [
                    "firmware \"v1.0.0\", build deadbeef, clock 168000000 Hz",
                    "the device accepted START_PROFILING",
                    "the device refused a command",
                ];
                assert_eq!(talk.say, expected, "{reading:?} {piece}");
                assert_eq!(host.buffer_percent(), Some(37));
                assert!(host.coming.len() <= 2);
            }
        }
    }

    #[test]
    fn it_waits_for_the_answer_to_stop() {
        let mut host = MiniProfilerHost::default();
        let mut talk = Talk::default();
        host.start(&mut talk);
        host.stop(&mut talk);
        host.second(&mut talk);
        let codes: Vec<u8> = talk.send.iter().map(|frame| frame[1]).collect();
        assert_eq!(codes, [5, 1, 2, 3], "asked once for the status while it stops");
        let mut answer = Vec::new();
        encode::answer(Reading::HOST, true, &mut answer);
        host.received(&answer, &mut talk);
        assert!(!host.has_stopped(), "the answer to the start came late");
        host.received(&answer, &mut talk);
        assert!(host.has_stopped());
        assert_eq!(talk.say, ["the device accepted START_PROFILING", "the device accepted STOP_PROFILING"]);
    }

    #[test]
    fn a_status_replaces_an_answer_that_is_lost() {
        let mut host = MiniProfilerHost::default();
        let mut talk = Talk::default();
        host.start(&mut talk);
        host.stop(&mut talk);
        for (is_profiling, has_stopped) in [(1, false), (0, true)] {
            let status = Status { is_profiling, buffer_overflows: 0, records_captured: 5, usage_percent: 37 };
            let mut answer = Vec::new();
            encode::status(Reading::HOST, &status, &mut answer);
            host.received(&answer, &mut talk);
            assert_eq!(host.has_stopped(), has_stopped);
        }
    }
}
