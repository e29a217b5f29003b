//! An independent reader finds in the trace everything that formats can express with lanes, groups, labels and args.

mod reader;

use std::collections::BTreeMap;

use reader::{Arg, LogRow, Trace, TrackKind};
use traceconv::model::{
    self, ArgValue, Args, CoreId, Entities, Event, EventBatch, EventKind, Group, Label, Lane, LaneId, LaneKind, LaneOwner,
    LogNote, LogSeverity, LossNote, NameId, Nanos, Packed, Session, Source, losses,
};
use traceconv::perfetto::{encode_block, epilogue, prelude};
use traceconv::timeline::{Settings, Timeline};

/// A firmware whose actions a test describes.
#[derive(Default)]
struct Scene {
    entities: Entities,
    batch: EventBatch,
}

impl Scene {
    fn group(&mut self, name: &str, parent: Option<model::GroupId>, is_process: bool) -> model::GroupId {
        let group = Group { name: name.into(), parent, description: None, rank: 0, is_process, session: 0 };
        self.entities.add_group(group).unwrap()
    }

    fn lane(&mut self, name: &str, owner: LaneOwner, kind: LaneKind) -> LaneId {
        self.entities.add_lane(Lane { number: 1, name: Some(name.into()), owner, kind, session: 0 }).unwrap()
    }

    fn name(&mut self, name: &str) -> NameId {
        self.entities.add_name(name).unwrap()
    }

    fn text(&mut self, text: &str) -> Label {
        self.batch.texts.add(text).into()
    }

    fn args(&mut self, args: &[(&str, ArgValue)]) -> Args {
        let args: Vec<_> = args.iter().map(|&(name, value)| model::Arg::new(self.name(name), value)).collect();
        self.batch.add_args(&args)
    }

    fn at(&mut self, time_ns: u64, kind: EventKind) {
        self.batch.events.push(Event { time: Nanos(time_ns), core: CoreId(0), kind });
    }

    fn trace(&self) -> Trace {
        let settings = Settings {
            firmware_name: "pump".into(),
            cores: 1,
            operations: true,
            raw_events: false,
            begins_midway: false,
            range_ns: None,
        };
        let mut timeline = Timeline::new(settings);
        timeline.consume(&self.batch, &self.entities);
        timeline.finish();
        let mut bytes = prelude((0, 1));
        for block in timeline.take_blocks() {
            encode_block(&block, &mut bytes);
        }
        bytes.extend(epilogue(&timeline.late_tracks(&self.entities), &[]));
        Trace::parse(&bytes).unwrap()
    }
}

fn args(args: &[(&str, Arg)]) -> BTreeMap<String, Arg> {
    args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn lanes_hang_in_a_tree_of_groups() {
    let mut scene = Scene::default();
    scene.entities.sessions.push(Session {
        name: Some("QP/C 8.1".into()),
        details: vec![("build".into(), "today".into()), ("clock".into(), "1 MHz".into())],
        ..Session::default()
    });
    let outer = scene.group("active objects", None, false);
    let inner = scene.group("philo", Some(outer), false);
    let spans = scene.lane("steps", LaneOwner::Group(inner), LaneKind::Events);
    let values = scene.lane("depth", LaneOwner::Group(inner), LaneKind::Values);
    let signal = scene.name("EAT");
    scene.at(10, EventKind::SpanBegin { lane: spans, label: signal.into(), args: Args::NONE });
    scene.at(20, EventKind::Float { lane: values, value: Packed(1.5) });
    let done = scene.args(&[("result", ArgValue::Name(signal)), ("address", ArgValue::Hex(0x2000_0000))]);
    scene.at(30, EventKind::SpanEnd { lane: spans, args: done });
    let trace = scene.trace();
    let track = trace.track("pump: QP/C 8.1/active objects/philo/steps").unwrap();
    let slices: Vec<_> = trace.slices_on(track).collect();
    assert_eq!((slices.len(), slices[0].name.as_str(), slices[0].ts, slices[0].dur), (1, "EAT", 10, Some(20)));
    assert_eq!(slices[0].end_args, args(&[("result", Arg::Text("EAT".into())), ("address", Arg::Pointer(0x2000_0000))]));
    let counter = trace.track("pump: QP/C 8.1/active objects/philo/depth").unwrap();
    assert_eq!(trace.float_counters[&counter], [(20, 1.5)]);
    let firmware = trace.track("pump: QP/C 8.1").unwrap();
    assert_eq!(trace.tracks[&firmware].description.as_deref(), Some("build: today\nclock: 1 MHz"));
}

#[test]
fn a_state_lasts_until_the_next_or_until_nobody_knows() {
    let mut scene = Scene::default();
    let lane = scene.lane("philo", LaneOwner::Firmware, LaneKind::States);
    let (idle, busy) = (scene.name("idle"), scene.text("busy"));
    scene.at(10, EventKind::State { lane, label: idle.into(), args: Args::NONE });
    scene.at(20, EventKind::State { lane, label: busy, args: Args::NONE });
    scene.at(35, EventKind::State { lane, label: Label::NONE, args: Args::NONE });
    scene.at(40, EventKind::State { lane, label: idle.into(), args: Args::NONE });
    let kind = losses::FRAMES_LOST;
    scene.batch.losses.push(LossNote { kind, offset: 0, bytes: 1, at_least_lost: 1 });
    scene.at(50, EventKind::Loss(0));
    scene.at(60, EventKind::State { lane, label: idle.into(), args: Args::NONE });
    scene.at(70, EventKind::Instant { lane, label: busy, args: Args::NONE });
    let trace = scene.trace();
    let track = trace.track("pump/States/philo").unwrap();
    let states: Vec<_> = trace.slices_on(track).map(|slice| (slice.name.as_str(), slice.ts, slice.dur.unwrap())).collect();
    assert_eq!(states, [("idle", 10, 10), ("busy", 20, 15), ("idle", 40, 0), ("idle", 60, 10)]);
    assert!(trace.unclosed.is_empty());
}

#[test]
fn a_log_message_is_an_instant_and_a_row() {
    let mut scene = Scene::default();
    let client = scene.group("client", None, true);
    let lane = scene.lane("unit 3", LaneOwner::Group(client), LaneKind::Log);
    let format = scene.name("x=%d");
    let source = scene.entities.add_source(Source { file: "main.c".into(), function: Some("go".into()), line: 42 });
    for (time_ns, value) in [(5, 1), (6, 2)] {
        let body = scene.batch.texts.add(&format!("x={value}"));
        let args = scene.args(&[("arg0", ArgValue::Int(value))]);
        let log = LogNote { lane, severity: LogSeverity::Warning, name: format.into(), body, source, grade: None, args };
        scene.batch.logs.push(log);
        scene.at(time_ns, EventKind::Log(value as u32 - 1));
    }
    let trace = scene.trace();
    assert_eq!(trace.instants.len(), 2);
    let first = &trace.instants[0];
    assert_eq!((first.name.as_str(), first.ts), ("x=%d", 5));
    // The place is written once, with the message.
    assert_eq!(first.args, args(&[("arg0", Arg::Int(1))]));
    let row = |ts, body: &str| LogRow { track: first.track, ts, body: body.into(), prio: 5, source: Some("main.c:42 go".into()) };
    assert_eq!(trace.logs, [row(5, "x=1"), row(6, "x=2")]);
    let TrackKind::Thread { pid, .. } = trace.tracks[&first.track].kind else { panic!("no thread") };
    let process = &trace.tracks[&trace.track("client").unwrap()];
    assert_eq!(process.kind, TrackKind::Process { pid });
}

#[test]
fn a_flow_goes_from_event_to_event() {
    let mut scene = Scene::default();
    let lane = scene.lane("bus", LaneOwner::Firmware, LaneKind::Events);
    let (out, end) = (scene.args(&[("", ArgValue::FlowOut(7))]), scene.args(&[("", ArgValue::FlowIn(7))]));
    scene.at(1, EventKind::Instant { lane, label: Label::NONE, args: out });
    scene.at(2, EventKind::SpanBegin { lane, label: Label::NONE, args: end });
    scene.at(3, EventKind::SpanEnd { lane, args: Args::NONE });
    let trace = scene.trace();
    assert_eq!(trace.instants[0].flows_out.len(), 1);
    assert_eq!(trace.instants[0].flows_out, trace.slices[0].flows_in);
    assert_eq!(trace.slices[0].name, "bus");
    assert!(trace.slices[0].args.is_empty());
}
