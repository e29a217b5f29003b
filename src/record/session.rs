//! A recording from its start to its end.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::address::Address;
use super::files::Output;
use super::port::{Got, Input, Port};
use super::ring::{Passing, Ring};
use super::watch::{Seen, Watch};
use crate::format::Format;
use crate::format::host::{Host, Talk, Wishes};
use crate::input::detect::detect;
use crate::input::sidecar::{self, Line};
use crate::model::{LossKind, Severity, losses};

/// How long the writer waits for bytes before it looks at everything else.
const TURN: Duration = Duration::from_millis(50);
/// How long a reader has to end.
const PATIENCE: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(1);
/// How often a source that is gone is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// The size of one read.
const READ_BYTES: usize = 64 << 10;
/// The format is recognised from the bytes at the start, tried at these lengths.
const TRY_AT: [usize; 5] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// A recording to be made.
pub struct Session {
    /// Where from.
    pub input: Input,
    /// Where to.
    pub output: Output,
    /// The protocol; `None`: that of the format which is recognised.
    pub protocol: Option<&'static dyn Format>,
    /// Whether commands may be sent.
    pub speaks: bool,
    /// The user's wishes for the target.
    pub wishes: Wishes,
    /// When it ends.
    pub duration: Option<Duration>,
    /// At how many bytes it ends.
    pub bytes: Option<u64>,
    /// A source that sends nothing for longer is noted.
    pub silence: Duration,
    /// How long a target may take to confirm the command to stop.
    pub answer: Duration,
    /// Whether a source that is gone is opened again.
    pub reconnects: bool,
    /// The size of the ring, in bytes.
    pub buffer_bytes: usize,
    /// Looks at the bytes that come.
    pub watch: Watch,
}

/// Why a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user stopped it.
    Stopped,
    /// The time is over.
    Duration,
    /// The size is reached.
    Size,
    /// The condition of `--until` or `--until-loss`.
    Condition(String),
    /// The source ended.
    SourceEnded,
    /// The source failed.
    SourceFailed(String),
    /// The file cannot be written.
    WriteFailed(String),
}

impl Ended {
    /// For people: the end of a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Ended::Stopped => "stopped".into(),
            Ended::Duration => "ended after the time asked for".into(),
            Ended::Size => "ended at the size asked for".into(),
            Ended::Condition(condition) => format!("ended because {condition}"),
            Ended::SourceEnded => "the source ended".into(),
            Ended::SourceFailed(error) => format!("the source failed: {error}"),
            Ended::WriteFailed(error) => format!("the file cannot be written: {error}"),
        }
    }

    /// Whether the recording is shorter than it should be.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Ended::SourceFailed(_) | Ended::WriteFailed(_))
    }
}

/// A recording that was made.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Its files; none if nothing came from a source that was never there, or failed.
    pub files: Vec<PathBuf>,
    /// The bytes that were written.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// Losses on the way: kinds with their cases and bytes.
    pub lost: Vec<(LossKind, u64, u64)>,
    /// The format, if it was recognised.
    pub format: Option<&'static dyn Format>,
}

/// The state of a recording, each second.
#[derive(Clone, Debug)]
pub struct Second {
    /// Time since the start.
    pub elapsed: Duration,
    /// Bytes so far.
    pub bytes: u64,
    /// Bytes in the last second.
    pub bytes_per_second: u64,
    /// Cases of losses on the way so far.
    pub lost: u64,
    /// How full the ring is, in per cent.
    pub ring_percent: u64,
    /// How full the target's buffer is, in per cent, if it reports that.
    pub target_percent: Option<u8>,
    /// The content of the bytes so far.
    pub seen: Seen,
}

/// Shows the progress of a recording.
pub trait Observer {
    /// A sentence.
    fn say(&mut self, text: &str);
    /// A second has passed.
    fn second(&mut self, second: &Second);
}

/// Makes a recording. `stop` ends it.
///
/// # Errors
/// When the files cannot be completed. The bytes that could be written are in the file of the part.
pub fn record(session: Session, stop: &AtomicBool, observer: &mut dyn Observer) -> io::Result<Summary> {
    let Session { input, output, protocol, speaks, wishes, duration, bytes, silence, answer, reconnects, buffer_bytes, watch } =
        session;
    let ring = Arc::new(Ring::new(buffer_bytes));
    let reader_stops = Arc::new(AtomicBool::new(false));
    let (send, to_send) = mpsc::channel();
    let reader =
        Reader { waits: input.address.waits(), input, ring: ring.clone(), stop: reader_stops.clone(), to_send, reconnects };
    // Not joined: reading a FIFO may wait for ever.
    thread::Builder::new().name("reader".into()).spawn(move || reader.run())?;
    let now = Instant::now();
    let mut writer = Writer {
        output,
        ring,
        send: speaks.then_some(send),
        host: None,
        protocol,
        wishes,
        beginning: Vec::new(),
        watch,
        lost: Vec::new(),
        limit: bytes,
        silence,
        last_bytes_at: None,
        ended: None,
    };
    if let Some(format) = protocol {
        writer.recognised(format);
    }
    let (mut next_second, mut bytes_before) = (now + SECOND, 0);
    // When the reader has to have ended.
    let mut deadline: Option<Instant> = None;
    // When the end was decided.
    let mut ended_at = None;
    let mut has_reader_ended = false;
    loop {
        for (at, passing) in writer.ring.take(TURN) {
            has_reader_ended |= matches!(passing, Passing::Ended(_));
            writer.take(passing, at, observer);
        }
        let now = Instant::now();
        if now >= next_second {
            next_second = (next_second + SECOND).max(now);
            let second = writer.second(now, &mut bytes_before, observer);
            observer.second(&second);
        }
        if writer.ended.is_none() {
            writer.ended = if stop.load(Ordering::Relaxed) {
                Some(Ended::Stopped)
            } else if duration.is_some_and(|duration| writer.elapsed(now) >= duration) {
                Some(Ended::Duration)
            } else {
                writer.watch.condition().map(Ended::Condition)
            };
        }
        if writer.ended.is_some() {
            ended_at.get_or_insert(now);
        }
        if has_reader_ended {
            break;
        }
        match deadline {
            None if writer.ended.is_some() => {
                writer.stop_target(observer);
                deadline = Some(now + answer);
            }
            None => {}
            Some(end) => {
                if reader_stops.load(Ordering::Relaxed) {
                    if now >= end {
                        break;
                    }
                } else if now >= end || writer.host.as_ref().is_none_or(|host| host.has_stopped()) {
                    reader_stops.store(true, Ordering::Relaxed);
                    deadline = Some(now + PATIENCE);
                }
            }
        }
    }
    writer.ring.close();
    writer.note_silence(ended_at.unwrap_or_else(Instant::now));
    let elapsed = writer.elapsed(Instant::now());
    let ended = writer.ended.unwrap_or(Ended::SourceEnded);
    let bytes = writer.output.written();
    // A source that was not there must not cost a recording that is.
    let is_nothing = bytes == 0 && (ended.is_failure() || writer.last_bytes_at.is_none());
    let files = if is_nothing { writer.output.discard() } else { writer.output.finish(&ended.text())? };
    Ok(Summary { files, bytes, elapsed, ended, lost: writer.lost, format: writer.protocol })
}

/// The thread that reads.
struct Reader {
    input: Input,
    ring: Arc<Ring>,
    stop: Arc<AtomicBool>,
    to_send: Receiver<Vec<u8>>,
    waits: bool,
    reconnects: bool,
}

impl Reader {
    fn run(mut self) {
        let ended = self.read_all();
        self.ring.push(Passing::Ended(ended));
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn read_all(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut was_open = false;
        let mut last_reason = String::new();
        while !self.stops() {
            let Reader { input, ring, stop, .. } = self;
            let ended = match input.open(stop, &mut |text| ring.push(Passing::Said(text))) {
                Ok(None) => return Ok(()),
                Ok(Some((mut port, name))) => {
                    if was_open {
                        ring.push(Passing::Loss(losses::RECONNECTED, 1, 0));
                    }
                    was_open = true;
                    last_reason.clear();
                    ring.push(Passing::Opened(name));
                    let ended = self.read_port(port.as_mut(), &mut buffer);
                    if self.stops() {
                        return Ok(());
                    }
                    ended
                }
                Err(error) => {
                    let message = format!("{} cannot be opened: {error}", input.address);
                    Err(io::Error::new(error.kind(), message))
                }
            };
            // A source that was never there is a mistake of the user's. Standard input does not come back.
            if !self.reconnects || !was_open || self.input.address == Address::Standard {
                return ended;
            }
            let reason = ended.map_or_else(|error| error.to_string(), |()| "it ended".to_owned());
            if reason != last_reason {
                self.ring.push(Passing::Said(format!("the source is gone ({reason}); waiting for it")));
                last_reason = reason;
            }
            self.wait_for_return();
        }
        Ok(())
    }

    /// Waits until the source can be tried again.
    fn wait_for_return(&self) {
        let until = Instant::now() + RETRY;
        while Instant::now() < until && !self.stops() {
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn read_port(&self, port: &mut dyn Port, buffer: &mut [u8]) -> io::Result<()> {
        let ended = self.read_to_end(port, buffer);
        self.look_for_errors(port);
        ended
    }

    fn look_for_errors(&self, port: &mut dyn Port) {
        port.errors().into_iter().for_each(|(kind, count)| self.ring.push(Passing::Loss(kind, count, 0)));
    }

    fn read_to_end(&self, port: &mut dyn Port, buffer: &mut [u8]) -> io::Result<()> {
        let mut looked = Instant::now();
        while !self.stops() {
            for bytes in self.to_send.try_iter() {
                match port.send(&bytes) {
                    Ok(()) => self.ring.push(Passing::Sent(bytes)),
                    Err(error) => self.ring.push(Passing::Said(format!("a command could not be sent: {error}"))),
                }
            }
            let got = port.read(buffer)?;
            if looked.elapsed() >= TURN {
                looked = Instant::now();
                self.look_for_errors(port);
            }
            match got {
                Got::Bytes(len) => {
                    if !self.ring.push_bytes(buffer.get(..len).unwrap_or(&[]), self.waits) {
                        return Ok(());
                    }
                }
                Got::Nothing => {}
                Got::Restarted => self.ring.push(Passing::Loss(losses::RECONNECTED, 1, 0)),
                Got::End => return Ok(()),
            }
        }
        Ok(())
    }
}

/// The thread that writes, and does all else.
struct Writer {
    output: Output,
    ring: Arc<Ring>,
    /// `None`: nothing may be sent.
    send: Option<Sender<Vec<u8>>>,
    host: Option<Box<dyn Host>>,
    protocol: Option<&'static dyn Format>,
    wishes: Wishes,
    /// The bytes at the start, until the format is known or there are enough.
    beginning: Vec<u8>,
    watch: Watch,
    lost: Vec<(LossKind, u64, u64)>,
    limit: Option<u64>,
    silence: Duration,
    /// When bytes came last, or the port was opened.
    last_bytes_at: Option<Instant>,
    ended: Option<Ended>,
}

impl Writer {
    fn elapsed(&self, now: Instant) -> Duration {
        self.output.elapsed(now)
    }

    /// A second has passed.
    fn second(&mut self, now: Instant, bytes_before: &mut u64, observer: &mut dyn Observer) -> Second {
        if let Some(host) = &mut self.host {
            let mut talk = Talk::default();
            host.second(&mut talk);
            self.talk(talk, observer);
        }
        let bytes = self.output.written();
        let bytes_per_second = bytes - std::mem::replace(bytes_before, bytes);
        let is_loss = |(kind, ..): &&(LossKind, u64, u64)| kind.severity == Severity::Loss;
        Second {
            elapsed: self.elapsed(now),
            bytes,
            bytes_per_second,
            lost: self.lost.iter().filter(is_loss).map(|(_, count, _)| count).sum(),
            ring_percent: self.ring.fill_percent(),
            target_percent: self.host.as_ref().and_then(|host| host.buffer_percent()),
            seen: self.watch.seen(),
        }
    }

    fn take(&mut self, passing: Passing, at: Instant, observer: &mut dyn Observer) {
        match passing {
            Passing::Bytes(bytes) => self.bytes(&bytes, at, observer),
            Passing::Loss(kind, count, bytes) => {
                self.lose(kind, count, bytes);
                let some = |number: u64, none: u64| (number != none).then_some(number);
                let line = Line { note: kind.code.into(), count: some(count, 1), bytes: some(bytes, 0), ..Line::default() };
                self.note(line, at);
            }
            Passing::Sent(bytes) => {
                let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                self.note(Line { note: sidecar::SENT.into(), hex: Some(hex), ..Line::default() }, at);
            }
            Passing::Opened(name) => {
                observer.say(&format!("recording from {name}"));
                self.last_bytes_at = Some(at);
                self.start_host(observer);
            }
            Passing::Said(text) => observer.say(&text),
            Passing::Ended(result) => {
                let ended = result.map_or_else(|error| Ended::SourceFailed(error.to_string()), |()| Ended::SourceEnded);
                self.ended.get_or_insert(ended);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8], at: Instant, observer: &mut dyn Observer) {
        if matches!(self.ended, Some(Ended::Size | Ended::WriteFailed(_))) {
            return;
        }
        let room = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.output.written()));
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = bytes.get(..fits).unwrap_or(bytes);
        self.note_silence(at);
        self.last_bytes_at = Some(at);
        if let Err(error) = self.output.write(bytes, at) {
            self.ended = Some(Ended::WriteFailed(error.to_string()));
            return;
        }
        self.watch.show(bytes, at);
        if let Some(host) = &mut self.host {
            let mut talk = Talk::default();
            host.received(bytes, &mut talk);
            self.talk(talk, observer);
        } else if self.protocol.is_none() {
            self.recognise(bytes, observer);
        }
        if self.limit.is_some_and(|limit| self.output.written() >= limit) {
            self.ended.get_or_insert(Ended::Size);
        }
    }

    /// Notes that nothing came for long before this time.
    fn note_silence(&mut self, at: Instant) {
        if self.last_bytes_at.is_some_and(|last| at.saturating_duration_since(last) > self.silence) {
            self.lose(losses::SOURCE_SILENT, 1, 0);
            self.note(Line { note: losses::SOURCE_SILENT.code.into(), ..Line::default() }, at);
        }
    }

    fn note(&mut self, line: Line, at: Instant) {
        if let Err(error) = self.output.note(line, at) {
            self.ended.get_or_insert(Ended::WriteFailed(error.to_string()));
        }
    }

    fn lose(&mut self, kind: LossKind, count: u64, bytes: u64) {
        if kind.severity == Severity::Loss {
            self.watch.lost(kind);
        }
        match self.lost.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, counted, of_bytes)) => {
                *counted += count;
                *of_bytes += bytes;
            }
            None => self.lost.push((kind, count, bytes)),
        }
    }

    fn recognise(&mut self, bytes: &[u8], observer: &mut dyn Observer) {
        let before = self.beginning.len();
        let Some(most) = TRY_AT.last().filter(|&&most| before < most) else { return };
        self.beginning.extend_from_slice(bytes.get(..bytes.len().min(most - before)).unwrap_or(bytes));
        let is_due = TRY_AT.iter().any(|&size| before < size && self.beginning.len() >= size);
        if is_due
            && let Ok(detected) = detect(&self.beginning, &[])
            && detected.certain
        {
            observer.say(&format!("{}, because {}", detected.format.title(), detected.because));
            self.recognised(detected.format);
            self.start_host(observer);
        }
    }

    fn recognised(&mut self, format: &'static dyn Format) {
        self.protocol = Some(format);
        self.beginning = Vec::new();
        self.watch.is_of(format);
        if self.send.is_some() {
            self.host = format.host(&self.wishes);
        }
    }

    fn start_host(&mut self, observer: &mut dyn Observer) {
        if let Some(host) = &mut self.host {
            let mut talk = Talk::default();
            host.start(&mut talk);
            self.talk(talk, observer);
        }
    }

    fn talk(&mut self, talk: Talk, observer: &mut dyn Observer) {
        talk.say.iter().for_each(|text| observer.say(text));
        if let Some(send) = &self.send {
            // Nobody receives when the reader has ended.
            talk.send.into_iter().for_each(|bytes| drop(send.send(bytes)));
        }
    }

    fn stop_target(&mut self, observer: &mut dyn Observer) {
        if let Some(host) = &mut self.host {
            let mut talk = Talk::default();
            host.stop(&mut talk);
            self.talk(talk, observer);
        }
    }
}
