//! An independent reader of Perfetto traces, for tests: the bytes as a viewer reads them, as plain values.
//!
//! It shares no code with the writer: packets are decoded by `perfetto_protos` (another protobuf runtime, generated from
//! Perfetto's own schema), fields newer than that schema are taken from the unknown ones, and the meaning (packet sequences,
//! interned texts, defaults, clocks, pairing of slice edges) is replayed here.
//!
//! It is stricter than the viewer. Where the viewer silently drops, merges or guesses, [`Trace::parse`] gives an error:
//! unknown or redefined interned ids, events without sequence id, state or descriptor, counters before their descriptor, packed
//! flow ids, clock snapshots or scheduling rows that run backwards, columns of different lengths, ends without begins, times
//! beyond `i64`, tracks described twice in different ways, loops and gaps in the hierarchy, bytes after the last packet.
//! Slices that never end are no error but listed in [`Trace::unclosed`].
//!
//! ```ignore
//! let trace = reader::Trace::parse(&bytes)?;
//! let queue = trace.track("firmware/Objects/queue 1").unwrap();
//! assert_eq!(trace.counters[&queue].last(), Some(&(1_000, 3)));
//! ```
#![allow(dead_code, reason = "each test uses another part of the reader")]

mod replay;
mod slices;
pub mod wire;

use std::collections::BTreeMap;

/// All that a trace says. Times are nanoseconds on the trace's clock, tracks are uuids.
#[derive(Debug, Default)]
pub struct Trace {
    /// The trace's identity, high half first.
    pub uuid: Option<(u64, u64)>,
    /// The described tracks, without the root (uuid 0).
    pub tracks: BTreeMap<u64, TrackInfo>,
    /// Whether processes are drawn in the order of their ranks.
    pub processes_by_rank: bool,
    /// Whether threads are drawn in the order of their ranks.
    pub threads_by_rank: bool,
    /// The slices, by begin; of those that begin together on a track, the outer one first.
    pub slices: Vec<Slice>,
    /// The slices that never end, as places in `slices`.
    pub unclosed: Vec<usize>,
    /// The instants, by time.
    pub instants: Vec<Instant>,
    /// Each counter track's values, by time.
    pub counters: BTreeMap<u64, Vec<(u64, i64)>>,
    /// The same for values with a fraction.
    pub float_counters: BTreeMap<u64, Vec<(u64, f64)>>,
    /// The rows of the viewer's log, in the order of the file.
    pub logs: Vec<LogRow>,
    /// Each core's context switches, by time.
    pub sched: BTreeMap<u32, Vec<Switch>>,
    /// Each core's wakings (the core is the waker's), by time.
    pub wakings: BTreeMap<u32, Vec<Waking>>,
    /// By thread, the changes of its state that are neither of a switch nor of a waking, by time: the number of the state.
    pub states: BTreeMap<i32, Vec<(u64, i32)>>,
    /// Samples of code, in the order of the file.
    pub samples: Vec<Sample>,
    /// The trace attributes.
    pub attributes: BTreeMap<String, Attribute>,
    /// The readings of the clocks of the first snapshot, by number: the viewer takes the time of day from there.
    pub first_snapshot: Option<BTreeMap<u32, u64>>,
    /// Readings of other clocks: the trace's time, the number of the clock, its value; in the order of the file.
    pub clock_readings: Vec<(u64, u32, u64)>,
    /// The number of packets.
    pub packets: usize,
}

/// A described track.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackInfo {
    /// Its name; of a process or thread, that one's.
    pub name: String,
    /// The track it hangs under.
    pub parent: Option<u64>,
    /// Its kind.
    pub kind: TrackKind,
    /// The text of the help popup.
    pub description: Option<String>,
    /// Its place among its siblings.
    pub rank: Option<i32>,
    /// Whether its children are in the order of their ranks (`child_ordering` EXPLICIT).
    pub children_by_rank: bool,
    /// Whether the viewer must not merge it with siblings of the same name (`sibling_merge_behavior` NONE).
    pub never_merged: bool,
}

/// The kind of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A process.
    Process { pid: i32 },
    /// A thread.
    Thread { pid: i32, tid: i64 },
    /// A counter. `unit` is the schema's number: 0 none, 1 nanoseconds, 2 count, 3 bytes.
    Counter { unit: i32, unit_name: Option<String> },
    /// A group, or slices and instants.
    Plain,
}

/// A slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub track: u64,
    pub ts: u64,
    /// None if it never ends.
    pub dur: Option<u64>,
    /// How many slices of the track are around it.
    pub depth: usize,
    pub name: String,
    /// The annotations of its begin.
    pub args: BTreeMap<String, Arg>,
    /// The annotations of its end.
    pub end_args: BTreeMap<String, Arg>,
    /// Flows that start or go on at its begin or end.
    pub flows_out: Vec<u64>,
    /// Flows that end at its begin or end.
    pub flows_in: Vec<u64>,
}

impl Slice {
    /// An annotation of its begin or end, as the viewer merges them.
    pub fn arg(&self, name: &str) -> Option<&Arg> {
        self.args.get(name).or_else(|| self.end_args.get(name))
    }

    /// Whether it is a hold of a mutex that was seen from its begin.
    pub fn is_hold(&self) -> bool {
        (self.name == "held" || self.name.starts_with("held by ")) && self.arg("continued").is_none()
    }

    /// When it ends, if ever.
    pub fn end(&self) -> Option<u64> {
        Some(self.ts + self.dur?)
    }
}

/// An instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    pub track: u64,
    pub ts: u64,
    pub name: String,
    pub args: BTreeMap<String, Arg>,
    pub flows_out: Vec<u64>,
    pub flows_in: Vec<u64>,
}

/// A row of the viewer's log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRow {
    /// The track of a thread: others have no log.
    pub track: u64,
    pub ts: u64,
    pub body: String,
    /// From 2 (verbose) to 7 (fatal); 0 for none.
    pub prio: i32,
    /// `file:line`, and the function if recorded.
    pub source: Option<String>,
}

/// The value of an annotation. A place in the source code is one too, with the name `source_location`.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Bool(bool),
    Uint(u64),
    Int(i64),
    Double(f64),
    /// Shown in hex.
    Pointer(u64),
    Text(String),
}

/// A context switch: the task that runs on the core from now on, and how the one before left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub ts: u64,
    /// 0 ready, 1 waiting, 4 suspended, 16 deleted.
    pub prev_state: i64,
    pub next_tid: i32,
    pub next_prio: i32,
    pub next_comm: String,
}

/// A thread made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waking {
    pub ts: u64,
    pub tid: i32,
    pub prio: i32,
    pub comm: String,
    pub target_cpu: i32,
    /// Whether an interrupt did it.
    pub in_irq: bool,
}

/// A sample of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub ts: u64,
    pub cpu: u32,
    pub pid: u32,
    pub tid: u32,
    /// The functions, the outermost first.
    pub stack: Vec<String>,
    /// The address of the code.
    pub address: u64,
}

/// A thread on a core from one switch to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub cpu: u32,
    pub tid: i32,
    pub prio: i32,
    pub comm: String,
    pub ts: u64,
    /// None for the last one of the core.
    pub dur: Option<u64>,
    /// How it left, as in [`Switch::prev_state`].
    pub end_state: Option<i64>,
}

/// The value of a trace attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Int(i64),
    Text(String),
}

impl Trace {
    /// How long tasks run from a switch to the next one, with their names. Without the runs whose end is not seen: at the end of the trace,
    /// and where a gap begins.
    pub fn runs(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sched.values().flat_map(|rows| {
            // The first row is to no task: the viewer swallows it.
            let steps = rows.windows(2).skip(1).take(rows.len().saturating_sub(3));
            let ended =
                steps.filter(|step| step[0].next_tid != 0 && step[0].next_comm != "unknown" && step[1].next_comm != "unknown");
            ended.map(|step| (step[0].next_comm.as_str(), step[1].ts - step[0].ts))
        })
    }

    /// The slices below a group whose end was seen.
    pub fn ended_slices(&self, group: &str) -> impl Iterator<Item = (&Slice, u64)> {
        let ended = self.slices.iter().filter_map(|slice| Some((slice, slice.dur.filter(|_| slice.arg("closed_by").is_none())?)));
        ended.filter(move |(slice, _)| self.path(slice.track).contains(group))
    }

    /// Reads a whole trace.
    ///
    /// # Errors
    /// Its errors, with the number of the packet if that is known. See the module.
    pub fn parse(bytes: &[u8]) -> Result<Trace, String> {
        replay::replay(bytes)
    }

    /// The names of a track's ancestors and its own, with `/` between.
    pub fn path(&self, track: u64) -> String {
        let Some(info) = self.tracks.get(&track) else { return format!("track {track}") };
        match info.parent {
            Some(parent) => format!("{}/{}", self.path(parent), info.name),
            None => info.name.clone(),
        }
    }

    /// The track with the path. None if there is none, or more than one.
    pub fn track(&self, path: &str) -> Option<u64> {
        let mut found = self.tracks.keys().filter(|&&track| self.path(track) == path);
        found.next().filter(|_| found.next().is_none()).copied()
    }

    /// The thread's track.
    pub fn thread(&self, tid: i64) -> Option<u64> {
        let is_it = |info: &TrackInfo| matches!(info.kind, TrackKind::Thread { tid: this, .. } if this == tid);
        self.tracks.iter().find(|(_, info)| is_it(info)).map(|(&track, _)| track)
    }

    /// The slices on a track.
    pub fn slices_on(&self, track: u64) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(move |slice| slice.track == track)
    }

    /// Who ran when, on all cores. The first switch of each core is left out, as the viewer does.
    pub fn running(&self) -> Vec<Running> {
        let mut running = Vec::new();
        for (&cpu, switches) in &self.sched {
            for (index, switch) in switches.iter().enumerate().skip(1) {
                let next = switches.get(index + 1);
                running.push(Running {
                    cpu,
                    tid: switch.next_tid,
                    prio: switch.next_prio,
                    comm: switch.next_comm.clone(),
                    ts: switch.ts,
                    dur: next.map(|next| next.ts - switch.ts),
                    end_state: next.map(|next| next.prev_state),
                });
            }
        }
        running
    }
}
