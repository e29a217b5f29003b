//! The content of the bytes while they come: good and bad frames, the load of each task, and the condition that ends the recording.
//!
//! A thread of its own, so that the file never waits for it: bytes that it has no time for are not looked at. The library reads a recording
//! twice and has no incremental decoder. So every second's bytes are read as a recording of their own, together with those of the second
//! before: the counts that both have in common are subtracted, and a gap between them is seen. Statistics are those of the last seconds, read with the
//! begin of the recording, which has the names.

use std::collections::VecDeque;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::format::{Format, FormatOptions};
use crate::metrics::rule::Rule;
use crate::metrics::{Figure, Losses, figures, list};
use crate::model::{LossKind, Nanos, Severity};
use crate::pipeline::{self, Options, Source, TimeBound};
use crate::stats::report::StatisticsReport;

/// How many pieces may wait.
const WAITING: usize = 256;
/// How much is read together at most.
const PIECE_BYTES: usize = 1 << 20;
/// How much of the begin of the recording is kept, for its names.
const HEAD_BYTES: usize = 256 << 10;
/// How much of its end.
const TAIL_BYTES: usize = 16 << 20;
const SECOND: Duration = Duration::from_secs(1);

/// The figures that are wanted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The options of the format.
    pub format_options: FormatOptions,
    /// Statistics are of this time before now.
    pub window: Duration,
    /// Whether the loads of tasks are wanted.
    pub is_live: bool,
    /// The recording ends when this holds.
    pub until: Option<Rule>,
    /// The recording ends when something is lost.
    pub until_loss: bool,
}

/// The content of the bytes so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The format.
    pub format: Option<&'static str>,
    /// Good frames.
    pub frames_ok: u64,
    /// Bad frames.
    pub frames_bad: u64,
    /// Cases of missing data in the recording itself.
    pub lost: u64,
    /// Whether bytes passed that were not looked at.
    pub is_partial: bool,
    /// Tasks and interrupts of the last seconds, with their share of the time in per cent, the largest first.
    pub loads: Vec<(String, f64)>,
}

/// The other side of the thread.
#[derive(Debug)]
pub struct Watch {
    pieces: SyncSender<Message>,
    shared: Arc<Mutex<Shared>>,
    until_loss: bool,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Seen,
    condition: Option<String>,
}

#[derive(Debug)]
enum Message {
    Bytes(Vec<u8>, Instant),
    Format(&'static dyn Format),
}

impl std::fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be no thread more.
    pub fn start(settings: Settings) -> std::io::Result<Watch> {
        let (pieces, coming) = mpsc::sync_channel(WAITING);
        let shared = Arc::new(Mutex::new(Shared::default()));
        let until_loss = settings.until_loss;
        let mut watcher = Watcher::new(settings, shared.clone());
        thread::Builder::new().name("watch".into()).spawn(move || {
            let mut due = Instant::now() + SECOND;
            loop {
                match coming.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Ok(Message::Bytes(bytes, at)) => watcher.add(&bytes, at),
                    Ok(Message::Format(format)) => watcher.format = Some(format),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if Instant::now() >= due {
                    watcher.look();
                    due = Instant::now() + SECOND;
                }
            }
        })?;
        Ok(Watch { pieces, shared, until_loss })
    }

    /// The format is known.
    pub fn is_of(&self, format: &'static dyn Format) {
        lock(&self.shared).seen.format = Some(format.title());
        // It may wait: nothing has been sent yet that would take long.
        let _ = self.pieces.send(Message::Format(format));
    }

    /// Shows bytes.
    pub fn show(&self, bytes: &[u8], at: Instant) {
        if self.pieces.try_send(Message::Bytes(bytes.to_vec(), at)).is_err() {
            lock(&self.shared).seen.is_partial = true;
        }
    }

    /// Something was lost on the way.
    pub fn lost(&self, kind: LossKind) {
        if self.until_loss {
            lock(&self.shared).condition.get_or_insert_with(|| kind.text.to_owned());
        }
    }

    /// The content of the bytes so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        lock(&self.shared).seen.clone()
    }

    /// The condition that ends the recording, if it holds: a clause.
    #[must_use]
    pub fn condition(&self) -> Option<String> {
        lock(&self.shared).condition.clone()
    }
}

struct Watcher {
    settings: Settings,
    shared: Arc<Mutex<Shared>>,
    format: Option<&'static dyn Format>,
    /// Bytes that are not counted yet.
    uncounted: Vec<u8>,
    /// The piece before.
    before: Vec<u8>,
    has_counted: bool,
    head: Vec<u8>,
    tail: VecDeque<(Instant, Vec<u8>)>,
    tail_bytes: usize,
    /// Bytes that are no longer in the tail.
    gone: u64,
}

/// An account of some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    ok: u64,
    bad: u64,
    lost: u64,
}

impl Watcher {
    fn new(settings: Settings, shared: Arc<Mutex<Shared>>) -> Watcher {
        Watcher {
            settings,
            shared,
            format: None,
            uncounted: Vec::new(),
            before: Vec::new(),
            has_counted: false,
            head: Vec::new(),
            tail: VecDeque::new(),
            tail_bytes: 0,
            gone: 0,
        }
    }

    fn wants_statistics(&self) -> bool {
        self.settings.is_live || self.settings.until.is_some()
    }

    fn add(&mut self, bytes: &[u8], at: Instant) {
        self.uncounted.extend_from_slice(bytes);
        if self.uncounted.len() >= PIECE_BYTES {
            self.count();
        }
        if !self.wants_statistics() {
            return;
        }
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.tail.push_back((at, bytes.to_vec()));
        self.tail_bytes += bytes.len();
        let is_old = |(came, _): &mut (Instant, Vec<u8>)| at.saturating_duration_since(*came) > 2 * self.settings.window;
        while let Some((_, bytes)) = self.tail.pop_front_if(is_old) {
            self.tail_bytes -= bytes.len();
            self.gone += bytes.len() as u64;
        }
        while self.tail_bytes > TAIL_BYTES
            && let Some((_, bytes)) = self.tail.pop_front()
        {
            self.tail_bytes -= bytes.len();
            self.gone += bytes.len() as u64;
        }
    }

    fn look(&mut self) {
        self.count();
        if self.wants_statistics()
            && let Some(statistics) = self.statistics()
        {
            self.judge(&statistics);
        }
    }

    /// Counts the frames of the bytes that came, up to a place where they can be cut.
    fn count(&mut self) {
        let Some(format) = self.format else {
            let surplus = self.uncounted.len().saturating_sub(PIECE_BYTES);
            self.uncounted.drain(..surplus);
            return;
        };
        let Ok(recording) = format.open(std::slice::from_ref(&self.settings.format_options)) else { return };
        let len = self.uncounted.len();
        // The first cut at or after a place, if it is not just the end of the bytes.
        let cut = [len.saturating_sub(1 << 10), len.saturating_sub(16 << 10), len / 2]
            .into_iter()
            .map(|at| recording.cut(&self.uncounted, at))
            .find(|&cut| cut > 0 && cut < len);
        let end = match cut {
            Some(cut) => cut,
            None if len >= PIECE_BYTES => len,
            None => return,
        };
        let piece: Vec<u8> = self.uncounted.drain(..end).collect();
        let before = self.account(format, &self.before);
        let both = self.account(format, &[self.before.as_slice(), &piece].concat());
        let since = |both: u64, before: u64| both.saturating_sub(before);
        let lost = since(both.lost, before.lost);
        let mut shared = lock(&self.shared);
        shared.seen.frames_ok += since(both.ok, before.ok);
        shared.seen.frames_bad += since(both.bad, before.bad);
        shared.seen.lost += lost;
        // A recording may begin in the middle of anything.
        if self.settings.until_loss && lost > 0 && self.has_counted {
            shared.condition.get_or_insert_with(|| "something was lost".to_owned());
        }
        drop(shared);
        self.has_counted = true;
        self.before = piece;
    }

    fn account(&self, format: &'static dyn Format, bytes: &[u8]) -> Account {
        if bytes.is_empty() {
            return Account::default();
        }
        let source = Source::new(bytes, format).options(self.settings.format_options.clone());
        let options = Options::default().threads(1);
        let gathered = pipeline::statistics(std::slice::from_ref(&source), &options, false, &mut |_| true);
        let Some(summary) = gathered.ok().and_then(|mut gathered| gathered.inputs.pop()) else { return Account::default() };
        let losses = summary.ledger.entries().iter().filter(|entry| entry.kind.severity == Severity::Loss);
        Account { ok: summary.ledger.frames_ok, bad: summary.ledger.frames_bad, lost: losses.map(|entry| entry.count).sum() }
    }

    /// The statistics of the last seconds.
    fn statistics(&self) -> Option<StatisticsReport> {
        let format = self.format?;
        let tail = self.tail.iter().flat_map(|(_, bytes)| bytes.iter().copied());
        // As far as the tail does not have it.
        let head = self.head.get(..usize::try_from(self.gone).unwrap_or(usize::MAX).min(self.head.len()))?;
        let bytes: Vec<u8> = head.iter().copied().chain(tail).collect();
        if bytes.is_empty() {
            return None;
        }
        let source = Source::new(&bytes, format).options(self.settings.format_options.clone());
        let read = |options: &Options| pipeline::statistics(std::slice::from_ref(&source), options, false, &mut |_| true).ok();
        let options = Options::default().threads(1);
        let all = read(&options)?;
        let last = all.statistics.last_ns?;
        let window_ns = u64::try_from(self.settings.window.as_nanos()).unwrap_or(u64::MAX);
        let from = Nanos(last.saturating_sub(window_ns));
        if all.statistics.first_ns.is_some_and(|first| first >= from.0) {
            return Some(all.statistics);
        }
        Some(read(&options.from(TimeBound::Absolute(from)))?.statistics)
    }

    fn judge(&self, statistics: &StatisticsReport) {
        let figures = figures(statistics, Losses::default());
        let loads = loads(&figures);
        let condition = self.settings.until.as_ref().and_then(|rule| met(rule, &figures));
        let mut shared = lock(&self.shared);
        shared.seen.loads = loads;
        if let Some(condition) = condition {
            shared.condition.get_or_insert(condition);
        }
    }
}

fn loads(figures: &[Figure]) -> Vec<(String, f64)> {
    let is_load =
        |figure: &&Figure| matches!(figure.metric.section, "task" | "isr") && figure.metric.full_name() == "cpu_percent";
    let mut loads: Vec<(String, f64)> =
        figures.iter().filter(is_load).map(|figure| (figure.name.clone(), figure.value.as_f64())).collect();
    loads.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    loads
}

/// The figure by which a rule holds, as a clause; `None` if it does not hold.
fn met(rule: &Rule, figures: &[Figure]) -> Option<String> {
    let is_nameless = list::NAMELESS.contains(&rule.metric.section);
    let mut meant = figures.iter().filter(|figure| figure.metric == rule.metric && (is_nameless || rule.name.fits(&figure.name)));
    let figure = meant.find(|figure| rule.limit.holds(figure.value.as_f64() / rule.scale.factor))?;
    let value = figure.value.as_f64() / rule.scale.factor;
    Some(format!("{} is {value:.3} {}", figure.path(), rule.scale.symbol).trim_end().to_owned())
}
