//! An independent reader finds in the packets everything that was given to the packet writer.

mod reader;

use std::collections::BTreeMap;

use proptest::prelude::*;
use reader::{Arg, Attribute, Instant, LogRow, Slice, Switch, Trace, TrackKind, Waking};
use traceconv::model::Source;
use traceconv::perfetto::{AttributeValue, Encoder, encode_block, epilogue, prelude};
use traceconv::track as ops;
use traceconv::track::{
    AnnotationValue, Block, Flow, Grade, NameRef, Op, OpKind, PrevState, SchedRows, StateRow, SwitchRow, Track, TrackId, Unit,
    WakingRow,
};

/// Tracks of slices: usual ones, one beyond the range of the writer's tables, and one of the largest uuid.
const SLICE_TRACKS: [u32; 5] = [2, 3, 200, 70_000, u32::MAX];
const COUNTER_TRACKS: [u32; 2] = [4, 20_000];
/// A thread's: it may have log messages.
const LOG_TRACK: u32 = 5;
const TEXTS: [&str; 5] = [
    "tick",
    "",
    "größer",
    "tick ",
    "a text of more than 127 bytes, so that its length and that of the packet \
    around it take more than one byte each, which the short form of an event never does",
];

/// One operation. Numbers are taken modulo the number of items.
#[derive(Clone, Debug)]
struct Step {
    what: u8,
    track: usize,
    step_ns: u64,
    name: u32,
    text: bool,
    value: i64,
    flow: u8,
    args: Vec<(u8, u64)>,
    ends_block: bool,
}

prop_compose! {
    fn step()(
        what in 0u8..12,
        track in 0usize..5,
        step_ns in prop_oneof![Just(0), 1u64..100, 1u64..1_000_000, (1u64 << 27)..(1 << 29), Just(1 << 48)],
        name in prop_oneof![0u32..5, 0u32..400],
        text in prop::bool::weighted(0.2),
        value in prop_oneof![-3i64..300, any::<i64>(), Just((1 << 56) - 1), Just(1 << 56)],
        flow in 0u8..8,
        args in prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec((0u8..8, any::<u64>()), 0..4)],
        ends_block in prop::bool::weighted(0.02),
    ) -> Step {
        Step { what, track, step_ns, name, text, value, flow, args, ends_block }
    }
}

/// Makes blocks of steps, and records the expected result of a reader.
#[derive(Default)]
struct Scene {
    blocks: Vec<Block>,
    now_ns: u64,
    expected: Trace,
    open: BTreeMap<u64, Vec<usize>>,
}

impl Scene {
    fn new() -> Scene {
        let mut scene = Scene { blocks: vec![Block::default()], now_ns: 1000, ..Scene::default() };
        scene.describe(track(1, None, ops::TrackKind::Process { pid: 1 }));
        for id in SLICE_TRACKS {
            scene.describe(track(id, Some(1), ops::TrackKind::Slices));
        }
        for id in COUNTER_TRACKS {
            scene.describe(track(id, Some(1), ops::TrackKind::Counter { unit: Unit::Count }));
        }
        scene.describe(track(LOG_TRACK, None, ops::TrackKind::Thread { pid: 1, tid: 1 }));
        scene
    }

    fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().unwrap()
    }

    fn describe(&mut self, track: Track) {
        let value = self.block().tracks.len() as i64;
        let op = self.op(self.now_ns, track.id.0, OpKind::Describe);
        self.block().tracks.push(track);
        self.block().ops.push(Op { value, ..op });
    }

    fn op(&self, time_ns: u64, track: u32, kind: OpKind) -> Op {
        let track = TrackId(track);
        Op { time_ns, value: 0, track, name: NameRef::NONE, args_start: 0, args_len: 0, kind, flow: Flow::None }
    }

    fn name(&mut self, name: u32) -> (u32, String) {
        let text = format!("name {name}");
        let names = &mut self.block().names;
        let known = (0..names.len()).position(|index| names.get(index) == Some(&*text));
        (known.map_or_else(|| names.add(&text), |index| index as u32), text)
    }

    fn text(&mut self, text: u32) -> (u32, String) {
        let text = TEXTS[text as usize % TEXTS.len()];
        let block = self.block();
        let reference = block.texts.add(text);
        block.text_refs.push(reference);
        (block.text_refs.len() as u32 - 1, text.into())
    }

    fn source(&mut self, line: u32) -> (u32, String) {
        let source = Source { file: "a.c".into(), function: line.is_multiple_of(2).then(|| "f".into()), line };
        let text = format!("a.c:{line}{}", if line.is_multiple_of(2) { " f" } else { "" });
        let sources = &mut self.block().sources;
        let known = sources.iter().position(|known| known.line == line);
        (known.map_or_else(|| sources.add(&source), |index| index as u32), text)
    }

    fn args(&mut self, op: &mut Op, step: &Step) -> BTreeMap<String, Arg> {
        op.args_start = self.block().args.len() as u32;
        op.args_len = step.args.len() as u8;
        let mut expected = BTreeMap::new();
        for (nth, &(kind, bits)) in step.args.iter().enumerate() {
            let (name, name_text) = self.name(step.name % 7 + nth as u32);
            let (value, expected_value) = match kind {
                0 => (AnnotationValue::Uint(bits), Arg::Uint(bits)),
                1 => (AnnotationValue::Int(bits.cast_signed()), Arg::Int(bits.cast_signed())),
                2 => (AnnotationValue::Bool(bits % 2 == 1), Arg::Bool(bits % 2 == 1)),
                3 => (AnnotationValue::Int(-5), Arg::Int(-5)),
                6 => (AnnotationValue::Hex(bits), Arg::Pointer(bits)),
                7 => (AnnotationValue::Float(bits as f64 / 8.0), Arg::Double(bits as f64 / 8.0)),
                4 => {
                    let (index, text) = self.name((bits % 20) as u32);
                    (AnnotationValue::Name(index), Arg::Text(text))
                }
                _ => {
                    let (index, text) = self.text((bits % 100) as u32);
                    (AnnotationValue::Text(index), Arg::Text(text))
                }
            };
            self.block().args.push(ops::Annotation::new(name, value));
            expected.insert(name_text, expected_value);
        }
        expected
    }

    fn grade(&mut self, step: &Step, expected: &mut BTreeMap<String, Arg>) -> u8 {
        let (name, name_text) = self.name(1000 + step.name % 3);
        let (severity, severity_text) = self.name(step.name % 4);
        let (category, category_text) = self.name(step.name % 5);
        expected.extend([(name_text, Arg::Text(severity_text)), ("category".into(), Arg::Text(category_text))]);
        let grade = Grade { name, severity, category };
        let grades = &mut self.block().grades;
        let known = grades.iter().position(|known| *known == grade);
        let index = known.unwrap_or_else(|| {
            grades.push(grade);
            grades.len() - 1
        });
        index as u8 + 1
    }

    fn step(&mut self, step: &Step) {
        if step.ends_block {
            let number = self.blocks.len() as u64;
            self.blocks.push(Block { number, ..Block::default() });
        }
        match step.what {
            0..=1 => return self.counter(step),
            2..=3 => return self.sched(step),
            _ => {}
        }
        let is_log = step.flow > 5;
        let track = if is_log { LOG_TRACK } else { SLICE_TRACKS[step.track % SLICE_TRACKS.len()] };
        let uuid = u64::from(track);
        let open = self.open.entry(uuid).or_default().clone();
        let kind = match step.what {
            _ if is_log => OpKind::Instant,
            4..=6 => OpKind::Begin,
            7..=9 if !open.is_empty() => OpKind::End,
            _ => OpKind::Instant,
        };
        // Instants may become known late.
        let is_late = kind == OpKind::Instant && step.value % 3 == 0;
        let ts = if is_late {
            self.now_ns - step.step_ns.min(self.now_ns)
        } else {
            self.now_ns += step.step_ns;
            self.now_ns
        };
        let mut op = self.op(ts, track, kind);
        let mut name = String::new();
        if kind != OpKind::End {
            (op.name, name) = if step.text {
                let (index, text) = self.text(step.name);
                (NameRef::text(index), text)
            } else {
                let (index, text) = self.name(step.name);
                (NameRef::interned(index), text)
            };
        }
        let (mut flows_out, mut flows_in) = (vec![], vec![]);
        match step.flow {
            0 => (op.flow, flows_out) = (Flow::Out, vec![step.value.cast_unsigned()]),
            1 => (op.flow, flows_in) = (Flow::In, vec![step.value.cast_unsigned()]),
            _ => {}
        }
        if op.flow != Flow::None {
            op.value = step.value;
        }
        let mut args = self.args(&mut op, step);
        if step.flow == 2 && kind != OpKind::End {
            let (index, text) = self.source(step.name);
            (op.flow, op.value) = (Flow::Source, i64::from(index) + 1);
            args.insert("source_location".into(), Arg::Text(text));
        }
        if kind != OpKind::End && step.step_ns.is_multiple_of(3) {
            let (index, text) = self.name(step.name);
            self.block().args.push(ops::Annotation::new(0, AnnotationValue::Category(index)));
            op.args_len += 1;
            args.insert("category".into(), Arg::Text(text));
        }
        if is_log {
            let (body, text) = self.text(step.name);
            let source = (step.flow == 7).then(|| self.source(step.name));
            let priority = (step.value.unsigned_abs() % 8) as u8;
            let row = LogRow { track: uuid, ts, body: text, prio: priority.into(), source: source.clone().map(|(_, text)| text) };
            self.expected.logs.push(row);
            let grade = if step.step_ns % 3 == 1 { self.grade(step, &mut args) } else { 0 };
            let value = AnnotationValue::Log { body, source: source.map_or(0, |(index, _)| index + 1), priority, grade };
            self.block().args.push(ops::Annotation::new(0, value));
            op.args_len += 1;
        }
        self.block().ops.push(op);
        let trace = &mut self.expected;
        match kind {
            OpKind::Begin => {
                self.open.get_mut(&uuid).unwrap().push(trace.slices.len());
                let (depth, end_args) = (open.len(), BTreeMap::new());
                trace.slices.push(Slice { track: uuid, ts, dur: None, depth, name, args, end_args, flows_out, flows_in });
            }
            OpKind::End => {
                let slice = &mut trace.slices[self.open.get_mut(&uuid).unwrap().pop().unwrap()];
                slice.dur = Some(ts - slice.ts);
                slice.end_args = args;
                slice.flows_out.extend(flows_out);
                slice.flows_in.extend(flows_in);
            }
            _ => trace.instants.push(Instant { track: uuid, ts, name, args, flows_out, flows_in }),
        }
    }

    fn counter(&mut self, step: &Step) {
        self.now_ns += step.step_ns;
        let track = COUNTER_TRACKS[step.track % COUNTER_TRACKS.len()];
        if step.flow == 0 {
            let value = step.value as f64 / 4.0;
            let op = Op { value: value.to_bits().cast_signed(), ..self.op(self.now_ns, track, OpKind::FloatCounter) };
            self.block().ops.push(op);
            self.expected.float_counters.entry(u64::from(track)).or_default().push((self.now_ns, value));
            return;
        }
        let op = Op { value: step.value, ..self.op(self.now_ns, track, OpKind::Counter) };
        self.block().ops.push(op);
        self.expected.counters.entry(u64::from(track)).or_default().push((self.now_ns, step.value));
    }

    fn sched(&mut self, step: &Step) {
        self.now_ns += step.step_ns;
        let ts = self.now_ns;
        let (core, tid) = (step.track as u16 % 3, step.name as i32 - 3);
        let (comm, comm_text) = self.name(step.name % 9);
        let block = self.block();
        let place = block.sched.iter().position(|rows| rows.core == core).unwrap_or_else(|| {
            block.sched.push(SchedRows { core, ..SchedRows::default() });
            block.sched.len() - 1
        });
        let rows = &mut block.sched[place];
        if step.what == 2 {
            let states = [(PrevState::Ready, 0), (PrevState::Waiting, 1), (PrevState::Suspended, 4), (PrevState::Deleted, 16)];
            let (prev_state, number) = states[usize::from(step.flow) % 4];
            rows.switches.push(SwitchRow { time_ns: ts, prev_state, next_tid: tid, next_prio: 100, next_comm: comm });
            let switch = Switch { ts, prev_state: number, next_tid: tid, next_prio: 100, next_comm: comm_text };
            self.expected.sched.entry(u32::from(core)).or_default().push(switch);
        } else if step.flow % 4 == 3 {
            rows.states.push(StateRow { time_ns: ts, tid, state: PrevState::Suspended });
            self.expected.states.entry(tid).or_default().push((ts, 6));
        } else {
            let from_isr = step.flow.is_multiple_of(2);
            rows.wakings.push(WakingRow { time_ns: ts, tid, prio: -1, target_core: 2, from_isr, comm });
            let waking = Waking { ts, tid, prio: -1, comm: comm_text, target_cpu: 2, in_irq: from_isr };
            self.expected.wakings.entry(u32::from(core)).or_default().push(waking);
        }
    }

    /// The trace, and its expected content in the reader's order.
    fn finish(mut self) -> (Vec<u8>, Trace) {
        let mut encoder = Encoder::new();
        let mut bytes = prelude((7, u64::MAX));
        for block in &self.blocks {
            encoder.encode_block(block, &mut bytes);
        }
        bytes.extend(epilogue(&[], &[]));
        let trace = &mut self.expected;
        trace.instants.sort_by_key(|instant| instant.ts);
        trace.unclosed = self.open.into_values().flatten().collect();
        trace.unclosed.sort_unstable();
        (bytes, self.expected)
    }
}

fn track(id: u32, parent: Option<u32>, kind: ops::TrackKind) -> Track {
    Track {
        id: TrackId(id),
        parent: parent.map(TrackId),
        kind,
        name: format!("track {id}").into(),
        description: None,
        rank: id as i32 & 0xff,
    }
}

fn assert_same(found: &Trace, expected: &Trace) {
    assert_eq!(found.slices, expected.slices);
    assert_eq!(found.unclosed, expected.unclosed);
    assert_eq!(found.instants, expected.instants);
    assert_eq!(found.counters, expected.counters);
    assert_eq!(found.float_counters, expected.float_counters);
    assert_eq!(found.sched, expected.sched);
    assert_eq!(found.wakings, expected.wakings);
    assert_eq!(found.states, expected.states);
    assert_eq!(found.logs, expected.logs);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_reader_finds_all_operations(steps in prop::collection::vec(step(), 0..400)) {
        let mut scene = Scene::new();
        steps.iter().for_each(|step| scene.step(step));
        let (bytes, expected) = scene.finish();
        let found = Trace::parse(&bytes).unwrap();
        assert_same(&found, &expected);
        prop_assert_eq!(found.uuid, Some((7, u64::MAX)));
        prop_assert!(found.processes_by_rank && found.threads_by_rank);
    }

    #[test]
    fn the_packets_of_a_block_depend_on_the_block_alone(steps in prop::collection::vec(step(), 1..300)) {
        let mut scene = Scene::new();
        steps.iter().for_each(|step| scene.step(step));
        let mut encoder = Encoder::new();
        let mut reused = Vec::new();
        for block in scene.blocks.iter().rev() {
            let start = reused.len();
            encoder.encode_block(block, &mut reused);
            let mut fresh = Vec::new();
            encode_block(block, &mut fresh);
            prop_assert_eq!(&reused[start..], &fresh[..]);
        }
    }
}

/// More names than numbers of one and of two bytes.
#[test]
fn many_names_are_all_found() {
    let mut scene = Scene::new();
    let names = 17_000;
    scene.block().names = (0..names).map(|name| format!("n{name}")).collect();
    for name in (0..names).chain(0..names) {
        let mut op = scene.op(name.into(), 2, OpKind::Instant);
        op.name = NameRef::interned(name);
        scene.block().ops.push(op);
        let (track, ts, name) = (2, name.into(), format!("n{name}"));
        let instant = Instant { track, ts, name, args: BTreeMap::new(), flows_out: vec![], flows_in: vec![] };
        scene.expected.instants.push(instant);
    }
    let (bytes, expected) = scene.finish();
    assert_same(&Trace::parse(&bytes).unwrap(), &expected);
}

#[test]
fn tracks_arrive_with_all_their_facts() {
    let mut block = Block::default();
    let kinds = [
        ops::TrackKind::Process { pid: 7 },
        ops::TrackKind::Group,
        ops::TrackKind::Slices,
        ops::TrackKind::Counter { unit: Unit::Bytes },
        ops::TrackKind::Counter { unit: Unit::Named("m/s") },
    ];
    for (index, kind) in kinds.into_iter().enumerate() {
        let id = index as u32 + 1;
        block.tracks.push(Track { description: Some("help".into()), ..track(id, (id > 1).then(|| (id - 1).min(2)), kind) });
        let value = index as i64;
        block.ops.push(Op { value, ..Scene::default().op(0, id, OpKind::Describe) });
    }
    let mut bytes = prelude((1, 2));
    encode_block(&block, &mut bytes);
    let thread = track(9, None, ops::TrackKind::Thread { pid: 7, tid: 0 });
    let attributes = [("clock_hz".to_owned(), AttributeValue::Int(-1)), ("tool".to_owned(), AttributeValue::Text("t".into()))];
    bytes.extend(epilogue(&[thread], &attributes));
    let trace = Trace::parse(&bytes).unwrap();

    let kinds: Vec<_> = trace.tracks.values().map(|info| info.kind.clone()).collect();
    let counter = |unit, name: Option<&str>| TrackKind::Counter { unit, unit_name: name.map(str::to_owned) };
    let expected = [
        TrackKind::Process { pid: 7 },
        TrackKind::Plain,
        TrackKind::Plain,
        counter(3, None),
        counter(0, Some("m/s")),
        TrackKind::Thread { pid: 7, tid: 0 },
    ];
    assert_eq!(kinds, expected);
    assert_eq!(trace.path(4), "track 1/track 2/track 4");
    assert_eq!(trace.track("track 1/track 2/track 4"), Some(4));
    assert_eq!(trace.thread(0), Some(9));
    let flags = |uuid| (trace.tracks[&uuid].children_by_rank, trace.tracks[&uuid].never_merged, trace.tracks[&uuid].rank);
    assert_eq!(
        [1, 2, 3, 4, 9].map(flags),
        [(false, false, Some(1)), (true, true, Some(2)), (false, true, Some(3)), (false, true, Some(4)), (false, false, Some(9)),]
    );
    assert!(trace.tracks.values().take(5).all(|info| info.description.as_deref() == Some("help")));
    assert_eq!(trace.attributes["clock_hz"], Attribute::Int(-1));
    assert_eq!(trace.attributes["tool"], Attribute::Text("t".into()));
}

/// The reader must detect the mistakes that the viewer hides, or the other tests prove little.
mod the_reader_rejects {
    use super::*;

    const TRACK_2: &[u8] = b"\x0a\x0b\x50\x01\xe2\x03\x06\x08\x02\x12\x02ab";
    /// Opens sequence 1 with clock 64, default track 2 and the name 1 = "n".
    const OPENING: &[u8] = b"\x0a\x27\x50\x01\x68\x01\x62\x07\x12\x05\x08\x01\x12\x01n\xda\x03\x07\x5a\x02\x58\x02\xd0\x03\x40\x32\x0e\x0a\x06\x08\x40\x10\x00\x18\x01\x0a\x04\x08\x06\x10\x00";
    const BEGIN: &[u8] = b"\x0a\x0c\x50\x01\x68\x02\x40\x05\x5a\x04\x48\x01\x50\x01";
    const END: &[u8] = b"\x0a\x0a\x50\x01\x68\x02\x40\x05\x5a\x02\x48\x02";

    fn error(packets: &[&[u8]]) -> String {
        Trace::parse(&packets.concat()).err().unwrap_or_default()
    }

    #[test]
    fn nothing_that_is_right() {
        let trace = Trace::parse(&[TRACK_2, OPENING, BEGIN, END].concat()).unwrap();
        assert_eq!((trace.slices[0].ts, trace.slices[0].dur), (5, Some(5)));
        assert_eq!(Trace::parse(&[TRACK_2, OPENING, BEGIN].concat()).unwrap().unclosed, [0]);
    }

    #[test]
    fn the_reader_detects_mistakes_that_the_viewer_hides() {
        assert_eq!(error(&[TRACK_2, OPENING, END]), "an end without begin on track 2 at 5");
        assert_eq!(error(&[OPENING, BEGIN, END]), "an event on undescribed track 2");
        assert_eq!(error(&[TRACK_2, OPENING, BEGIN, &END[..11]]), "packet 3: cut off");
        let unknown_name = b"\x0a\x0c\x50\x01\x68\x02\x40\x05\x5a\x04\x48\x01\x50\x02";
        assert_eq!(error(&[TRACK_2, OPENING, unknown_name]), "packet 2: interned id 2 is unknown");
        let renamed = b"\x0a\x0b\x50\x01\x62\x07\x12\x05\x08\x01\x12\x01m";
        assert_eq!(error(&[TRACK_2, OPENING, renamed]), "packet 2: interned id 1 defined twice, first as \"n\"");
        let no_sequence = b"\x0a\x08\x40\x05\x5a\x04\x48\x01\x50\x01";
        assert_eq!(error(&[TRACK_2, OPENING, no_sequence]), "packet 2: an event without sequence id");
        assert_eq!(error(&[TRACK_2, BEGIN]), "packet 1: needs state that was never set");
        let counter = b"\x0a\x0d\x50\x01\x68\x02\x40\x05\x5a\x05\x48\x04\xf0\x01\x03";
        assert_eq!(
            error(&[TRACK_2, OPENING, counter]),
            "packet 2: a counter event, but track 2 was not described as a counter yet"
        );
        let packed_flow = b"\x0a\x17\x50\x01\x68\x02\x40\x05\x5a\x0f\x48\x01\x50\x01\xfa\x02\x08\x01\x00\x00\x00\x00\x00\x00\x00";
        assert!(error(&[TRACK_2, OPENING, packed_flow]).starts_with("packet 2: flow field 47 is Bytes"));
        let clock_back = b"\x0a\x08\x32\x06\x0a\x04\x08\x06\x10";
        assert_eq!(error(&[OPENING, clock_back, b"\x09", clock_back, b"\x08"]), "packet 2: clock 6 goes back from 9 to 8");
        let renamed_track = b"\x0a\x0b\x50\x01\xe2\x03\x06\x08\x02\x12\x02cd";
        assert!(error(&[TRACK_2, renamed_track]).starts_with("packet 1: track 2 was"));
        let short_column = b"\x0a\x11\x0a\x0f\x08\x00\x22\x0b\x0a\x01\x05\x12\x01\x00\x1a\x01\x07\x22\x00";
        assert_eq!(error(&[short_column]), "packet 0: columns of 1 and [1, 1, 0, 0] switches");
        let negative =
            b"\x0a\x18\x50\x01\x68\x02\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xd0\x03\x06\x5a\x04\x48\x01\x50\x01";
        assert_eq!(error(&[TRACK_2, OPENING, negative]), "packet 2: time 18446744073709551615 is negative for the viewer");
    }
}
