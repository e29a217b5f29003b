//! The bytes that the Rust encoder writes for the same calls: the superset by its `Sequence`, the plain format frame by frame.

use traceconv::format::tonbandgeraet::encode::{Sequence, encode};
use traceconv::format::tonbandgeraet::record::Record;

use crate::call::{Call, Value};
use crate::firmware::{Backend, Firmware};

/// Writes the frames of a firmware.
pub struct Model<'a> {
    firmware: &'a Firmware,
    /// One, or with snapshots one for each core.
    channels: Vec<Channel>,
    /// Names given so far, by core.
    kept: Vec<Vec<Call>>,
    /// Metadata that was sent, and on which core.
    told: Vec<(u32, String)>,
    /// The plain format: whether names have the clock already.
    has_told_clock: bool,
    is_recording: bool,
    /// The task that runs on each core, 0 before the first.
    running: Vec<u64>,
    /// Whether the recording has said so since the last loss.
    has_told_running: Vec<bool>,
    /// What recordings said of it when they started and after losses, as lines.
    pub told_running: Vec<String>,
    /// Events for which there was no room, on all channels since boot.
    lost: u64,
    /// Those that a reader can find: of a loss before a recording's first frame only the new total is known.
    pub lost_after_begin: u64,
}

struct Channel {
    frames: Vec<u8>,
    /// The time of the last event, in ticks.
    ticks: u64,
    /// Whether the recording has a frame.
    has_begun: bool,
    writer: Writer,
}

enum Writer {
    Superset(Sequence),
    /// The core of the last frame, and frames until a drop counter is due.
    Plain {
        core: u32,
        counter_in: u32,
    },
}

impl<'a> Model<'a> {
    pub fn new(firmware: &'a Firmware) -> Model<'a> {
        let channels = if firmware.backend == Backend::Snapshot { firmware.cores } else { 1 };
        let writer = || {
            if firmware.is_plain {
                return Writer::Plain { core: 0, counter_in: 0 };
            }
            let flags = u8::from(firmware.has_freertos) | (firmware.backend as u8) << 4;
            Writer::Superset(Sequence::new(firmware.cores, clock(firmware), flags, firmware.every))
        };
        let channel = |_| Channel { frames: Vec::new(), ticks: 0, has_begun: false, writer: writer() };
        Model {
            firmware,
            channels: (0..channels).map(channel).collect(),
            kept: vec![Vec::new(); firmware.cores as usize],
            told: Vec::new(),
            has_told_clock: false,
            is_recording: firmware.backend == Backend::External,
            running: vec![0; firmware.cores as usize],
            has_told_running: vec![false; firmware.cores as usize],
            told_running: Vec::new(),
            lost: 0,
            lost_after_begin: 0,
        }
    }

    /// All that was written: of each core the names if they come first, then its frames.
    pub fn frames(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for (core, channel) in self.channels.iter().enumerate() {
            if self.firmware.backend == Backend::Snapshot {
                for name in &self.kept[core] {
                    name.with_record(self.firmware, 0, |record| encode(record, &mut all));
                }
            }
            all.extend(&channel.frames);
        }
        all
    }

    /// All metadata, in the order of the file, as lines.
    pub fn names(&self) -> Vec<String> {
        match self.firmware.backend {
            Backend::Streaming | Backend::External => self.told().collect(),
            Backend::Snapshot => (0..self.firmware.cores)
                .flat_map(|core| {
                    self.kept(core).chain(self.told.iter().filter(move |one| one.0 == core).map(|one| one.1.clone()))
                })
                .collect(),
            Backend::PostMortem => (0..self.firmware.cores).flat_map(|core| self.kept(core)).collect(),
        }
    }

    /// Metadata in the recording itself.
    pub fn told(&self) -> impl Iterator<Item = String> {
        self.told.iter().filter(|one| !one.1.starts_with("ts_resolution_ns ")).map(|one| one.1.clone())
    }

    /// Metadata beside the recording of a core.
    fn kept(&self, core: u32) -> impl Iterator<Item = String> {
        self.kept[core as usize].iter().map(|name| name.line(self.firmware))
    }

    /// A recording starts.
    pub fn start(&mut self, core: u32, ticks: u64) {
        self.is_recording = true;
        let starter = core;
        self.keep_clock(core);
        for channel in &mut self.channels {
            channel.ticks = ticks;
            channel.has_begun = false;
            match &mut channel.writer {
                Writer::Superset(sequence) => sequence.start(ticks),
                Writer::Plain { core, counter_in } => {
                    *core = 0;
                    *counter_in = if self.lost > 0 { 0 } else { period(self.firmware) };
                    encode(&Record::CoreId { ts: 0, core_id: 0 }, &mut channel.frames);
                }
            }
        }
        if self.firmware.backend == Backend::Streaming {
            for core in 0..self.firmware.cores {
                for name in self.kept[core as usize].clone() {
                    self.sync_at_start(starter);
                    self.metadata(core, &name);
                }
            }
        }
        if self.firmware.backend != Backend::Snapshot && self.running[0] != 0 {
            self.sync_at_start(starter);
        }
        self.tell_running(ticks);
        if self.firmware.is_plain && !self.firmware.keeps_names {
            self.metadata(core, &self.resolution());
        }
    }

    /// The core that starts a recording sends the syncs that are due before what is known already.
    fn sync_at_start(&mut self, starter: u32) {
        let channel = &mut self.channels[0];
        if let Writer::Superset(sequence) = &mut channel.writer {
            sequence.sync_if_due(starter, None, &mut channel.frames);
        }
    }

    /// A sync that is due after a loss, and who runs: a switch may have been lost.
    fn tell_running_after_loss(&mut self, core: u32, ticks: u64, call: &Call) {
        let mut cores = self.running.iter().zip(&self.has_told_running);
        if self.firmware.backend == Backend::Streaming && cores.any(|(task, is_told)| *task != 0 && !is_told) {
            let channel = &mut self.channels[0];
            if let Writer::Superset(sequence) = &mut channel.writer {
                sequence.sync_if_due(core, (!call.is_metadata()).then_some(ticks), &mut channel.frames);
                self.tell_running(ticks);
            }
        }
    }

    /// Which task runs on each core, where a recording starts or events were lost.
    fn tell_running(&mut self, ticks: u64) {
        let event = crate::call::event(if self.firmware.is_plain { "task_switched_in" } else { "task_running" });
        for (core, task) in (0..).zip(self.running.clone()).filter(|(_, task)| *task != 0) {
            let call = Call::fitting(event, [task, 0, 0], 0, None);
            self.told_running.push(format!("{ticks} core {core} {}", call.line(self.firmware)));
            self.event(core, ticks, &call);
            self.has_told_running[core as usize] = true;
        }
    }

    /// A call; `is_refused` if the sink does not take frames just now. Gives whether it was recorded.
    pub fn call(&mut self, core: u32, ticks: u64, call: &Call, is_refused: bool) -> bool {
        if let ("task_switched_in", [Value::Number(task)]) = (&*call.event.name, &*call.values) {
            self.running[core as usize] = *task;
            self.has_told_running[core as usize] = true;
        }
        if call.is_metadata() {
            if self.firmware.keeps_names {
                self.keep_clock(core);
                self.kept[core as usize].push(call.clone());
            }
            if !self.is_recording {
                return self.firmware.keeps_names;
            }
            if is_refused {
                let ticks = self.channel(core).ticks;
                self.lose(core, ticks);
            } else {
                self.tell_running_after_loss(core, ticks, call);
                self.metadata(core, call);
            }
        } else if is_refused {
            self.lose(core, ticks);
        } else {
            self.tell_running_after_loss(core, ticks, call);
            self.event(core, ticks, call);
        }
        !is_refused
    }

    /// The recording stops.
    pub fn stop(&mut self, core: u32, ticks: u64) {
        self.is_recording = false;
        let snapshots = self.channels.len() > 1;
        for (index, channel) in self.channels.iter_mut().enumerate() {
            match &mut channel.writer {
                Writer::Superset(sequence) => {
                    sequence.stop(if snapshots { index as u32 } else { core }, ticks, &mut channel.frames);
                }
                Writer::Plain { counter_in: 0, .. } => drop_counter(channel.ticks, self.lost, &mut channel.frames),
                Writer::Plain { .. } => {}
            }
        }
    }

    /// As if this number of frames more had been sent.
    pub fn sent(&mut self, frames: u32) {
        if let Writer::Superset(sequence) = &mut self.channels[0].writer {
            sequence.skip(frames);
        }
    }

    /// The plain format keeps the clock in front of all names.
    fn keep_clock(&mut self, core: u32) {
        if self.firmware.is_plain && self.firmware.keeps_names && !self.has_told_clock {
            let resolution = self.resolution();
            self.kept[core as usize].push(resolution);
        }
        self.has_told_clock = true;
    }

    fn channel(&mut self, core: u32) -> &mut Channel {
        let index = if self.channels.len() > 1 { core as usize } else { 0 };
        &mut self.channels[index]
    }

    fn event(&mut self, core: u32, ticks: u64, call: &Call) {
        let (firmware, lost) = (self.firmware, self.lost);
        let channel = self.channel(core);
        channel.ticks = ticks;
        channel.prepare(firmware, core);
        let Channel { frames, writer, .. } = channel;
        call.with_record(firmware, ticks, |record| match writer {
            Writer::Superset(sequence) => sequence.event(core, ticks, record, frames),
            Writer::Plain { counter_in, .. } => {
                if *counter_in == 0 {
                    drop_counter(ticks, lost, frames);
                    *counter_in = period(firmware);
                }
                encode(record, frames);
                *counter_in -= 1;
            }
        });
    }

    fn metadata(&mut self, core: u32, call: &Call) {
        let firmware = self.firmware;
        self.told.push((core, call.line(firmware)));
        let channel = self.channel(core);
        channel.prepare(firmware, core);
        let Channel { frames, writer, .. } = channel;
        call.with_record(firmware, 0, |record| match writer {
            Writer::Superset(sequence) => sequence.metadata(core, record, frames),
            Writer::Plain { counter_in, .. } => {
                encode(record, frames);
                *counter_in = counter_in.saturating_sub(1);
            }
        });
    }

    fn lose(&mut self, core: u32, ticks: u64) {
        self.lost += 1;
        self.has_told_running.fill(false);
        let channel = self.channel(core);
        channel.ticks = ticks;
        let has_begun = channel.has_begun;
        match &mut channel.writer {
            Writer::Superset(sequence) => sequence.lose(ticks),
            Writer::Plain { counter_in, .. } => *counter_in = 0,
        }
        self.lost_after_begin += u64::from(has_begun);
    }

    fn resolution(&self) -> Call {
        let hz = u64::from(self.firmware.hz);
        Call::fitting(crate::call::event("ts_resolution_ns"), [(1_000_000_000 + hz / 2) / hz, 0, 0], 0, None)
    }
}

impl Channel {
    /// Before a frame. The plain format says the core when it changes.
    fn prepare(&mut self, firmware: &Firmware, of: u32) {
        self.has_begun = true;
        if let Writer::Plain { core, .. } = &mut self.writer
            && firmware.cores > 1
            && *core != of
        {
            *core = of;
            encode(&Record::CoreId { ts: self.ticks, core_id: of }, &mut self.frames);
        }
    }
}

fn drop_counter(ts: u64, lost: u64, frames: &mut Vec<u8>) {
    encode(&Record::DroppedEvtCnt { ts, cnt: lost as u32 }, frames);
}

/// Frames between drop counters.
fn period(firmware: &Firmware) -> u32 {
    if firmware.every == 0 { u32::MAX } else { firmware.every }
}

/// Nanoseconds per tick, as the library writes them.
fn clock(firmware: &Firmware) -> (u32, u32) {
    let unit = [1_000_000, 1000, 1].into_iter().find(|unit| firmware.hz.is_multiple_of(*unit)).expect("1 divides all");
    (1_000_000_000 / unit, firmware.hz / unit)
}
