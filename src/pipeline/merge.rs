//! Cores → one order of time.
//!
//! Each core of each input is a lane, ordered by time in itself. The lanes are merged in bounded memory: an event is released
//! when every lane that may still bring an earlier one has an event waiting. A core that is silent for [`HELD_EVENTS`] events of
//! the others is no longer waited for. If it continues later, its late events are moved to the time already reached, and counted.
//! A lane that has ended is not waited for. Events of equal time keep the order of their input: a task may leave one core and run on another
//! within a tick.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::detached::DetachedEvent;
use crate::model::{CoreId, Event, EventBatch, EventKind, Nanos};

/// Limit of held events of one input while one of its cores is silent.
pub const HELD_EVENTS: usize = 1 << 18;

struct Lane {
    input: usize,
    /// The core that [`Merger::by_core`] refers to.
    core: CoreId,
    /// Each event with its number in the input.
    queue: VecDeque<(u64, DetachedEvent)>,
}

/// The first event of a lane: its time, its input, its number in that, and the lane.
type Head = Reverse<(Nanos, usize, u64, usize)>;

/// Merges the lanes of a recording.
pub struct Merger {
    lanes: Vec<Lane>,
    /// By input, and in it by core: the lane.
    by_core: Vec<Vec<Option<usize>>>,
    /// The first event of each non-empty lane: the earliest on top.
    heads: BinaryHeap<Head>,
    /// The number of events so far.
    pushed: u64,
    /// By input: the number of its empty lanes.
    empty: Vec<usize>,
    /// By input: whether it has ended.
    ended: Vec<bool>,
    /// By input: the weight of its held events; long texts count as more than one.
    held: Vec<usize>,
    last: Nanos,
    /// By input: the time of its last event.
    last_of: Vec<Nanos>,
    /// By input: the number of late events.
    pub late: Vec<u64>,
}

impl Merger {
    /// A merger for the cores of each input; `None` with fewer than two lanes.
    pub fn new(cores: &[Vec<CoreId>]) -> Option<Merger> {
        let lanes = cores.iter().enumerate().flat_map(|(input, cores)| cores.iter().map(move |&core| (input, core)));
        let lanes: Vec<Lane> = lanes.map(|(input, core)| Lane { input, core, queue: VecDeque::new() }).collect();
        let inputs = cores.len();
        let mut by_core = vec![Vec::new(); inputs];
        for (index, lane) in lanes.iter().enumerate() {
            let of_input: &mut Vec<Option<usize>> = &mut by_core[lane.input];
            if of_input.len() <= lane.core.index() {
                of_input.resize(lane.core.index() + 1, None);
            }
            of_input[lane.core.index()].get_or_insert(index);
        }
        (lanes.len() > 1).then(|| Merger {
            by_core,
            heads: BinaryHeap::with_capacity(lanes.len()),
            pushed: 0,
            empty: cores.iter().map(Vec::len).collect(),
            lanes,
            ended: vec![false; inputs],
            held: vec![0; inputs],
            last: Nanos(0),
            last_of: vec![Nanos(0); inputs],
            late: vec![0; inputs],
        })
    }

    /// Adds events of an input, in file order, and appends released events to `merged`.
    pub fn push(&mut self, input: usize, batch: &EventBatch, merged: &mut EventBatch) {
        for event in &batch.events {
            let Some(detached) = DetachedEvent::copy(event, batch) else { continue };
            let of_input = self.by_core.get(input).map_or(&[][..], Vec::as_slice);
            // A resolver declares its cores beforehand. Events of an undeclared core use its input's first lane.
            let own = of_input.get(event.core.index()).copied().flatten();
            let Some(index) = own.or_else(|| of_input.iter().copied().flatten().min()) else { continue };
            // What this input has lost is missing since its event before, however many events of others come until then.
            let since = std::mem::replace(&mut self.last_of[input], event.time);
            if matches!(event.kind, EventKind::Loss(_)) && self.ended.len() > 1 && since < event.time {
                let missing = Event { time: since, core: event.core, kind: EventKind::Missing };
                DetachedEvent::copy(&missing, batch).into_iter().for_each(|missing| self.hold(input, index, missing));
            }
            self.hold(input, index, detached);
            self.let_go(merged);
        }
    }

    fn hold(&mut self, input: usize, index: usize, detached: DetachedEvent) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        self.held[input] += detached.weight();
        self.pushed += 1;
        if lane.queue.is_empty() {
            self.heads.push(Reverse((detached.event.time, input, self.pushed, index)));
            self.empty[input] -= 1;
        }
        lane.queue.push_back((self.pushed, detached));
    }

    /// An input has ended.
    pub fn end(&mut self, input: usize, merged: &mut EventBatch) {
        self.ended[input] = true;
        self.let_go(merged);
    }

    /// The input that must bring more events before any event can be released.
    pub fn wants(&self) -> Option<usize> {
        (0..self.ended.len()).find(|&input| self.empty[input] > 0 && !self.ended[input] && self.held[input] <= HELD_EVENTS)
    }

    fn let_go(&mut self, merged: &mut EventBatch) {
        while self.wants().is_none() {
            let Some(Reverse((.., index))) = self.heads.pop() else { return };
            let lane = &mut self.lanes[index];
            let Some((_, mut detached)) = lane.queue.pop_front() else { return };
            match lane.queue.front() {
                Some((number, next)) => self.heads.push(Reverse((next.event.time, lane.input, *number, index))),
                None => self.empty[lane.input] += 1,
            }
            self.held[lane.input] -= detached.weight();
            if detached.event.time < self.last {
                self.late[lane.input] += u64::from(!matches!(detached.event.kind, EventKind::Missing));
                detached.event.time = self.last;
            }
            self.last = detached.event.time;
            detached.append_to(merged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Args, TaskId};

    fn batch(events: &[(u64, u16, u32)]) -> EventBatch {
        let event =
            |&(time, core, task)| Event { time: Nanos(time), core: CoreId(core), kind: EventKind::SwitchedIn(TaskId(task)) };
        EventBatch { events: events.iter().map(event).collect(), ..EventBatch::default() }
    }

    fn times(batch: &EventBatch) -> Vec<(u64, u16)> {
        batch.events.iter().map(|event| (event.time.0, event.core.0)).collect()
    }

    #[test]
    fn blocks_of_cores_interleave() {
        let mut merger = Merger::new(&[vec![CoreId(0), CoreId(1)]]).unwrap();
        let mut merged = EventBatch::default();
        merger.push(0, &batch(&[(10, 0, 1), (30, 0, 1), (50, 0, 1)]), &mut merged);
        assert!(merged.events.is_empty());
        merger.push(0, &batch(&[(20, 1, 2), (40, 1, 2)]), &mut merged);
        assert_eq!(times(&merged), [(10, 0), (20, 1), (30, 0), (40, 1)]);
        merger.end(0, &mut merged);
        assert_eq!(times(&merged).last(), Some(&(50, 0)));
        assert_eq!(merger.late, [0]);
    }

    #[test]
    fn an_input_that_ends_early_cuts_nothing_off() {
        let mut merger = Merger::new(&[vec![CoreId(0)], vec![CoreId(1)]]).unwrap();
        let mut merged = EventBatch::default();
        assert_eq!(merger.wants(), Some(0));
        merger.push(0, &batch(&[(10, 0, 1), (90, 0, 1)]), &mut merged);
        assert_eq!(merger.wants(), Some(1));
        merger.push(1, &batch(&[(20, 1, 1)]), &mut merged);
        merger.end(1, &mut merged);
        merger.end(0, &mut merged);
        assert_eq!(times(&merged), [(10, 0), (20, 1), (90, 0)]);
    }

    #[test]
    fn what_one_input_lost_is_missing_since_its_event_before() {
        use EventKind::{Loss, Missing, SwitchedIn};
        let merged = |inputs: [Vec<CoreId>; 2]| {
            let mut merger = Merger::new(&inputs).unwrap();
            let mut merged = EventBatch::default();
            merger.push(0, &batch(&[(10, 0, 1), (40, 0, 1), (60, 0, 1)]), &mut merged);
            let mut lossy = batch(&[(20, 1, 2), (50, 1, 2), (50, 1, 3)]);
            lossy.events[1].kind = Loss(0);
            let kind = crate::model::losses::FRAMES_LOST;
            lossy.losses.push(crate::model::LossNote { kind, offset: 0, bytes: 1, at_least_lost: 1 });
            let last = merger.ended.len() - 1;
            merger.push(last, &lossy, &mut merged);
            (0..=last).for_each(|input| merger.end(input, &mut merged));
            merged.events.iter().map(|event| (event.time.0, event.core.0, event.kind)).collect::<Vec<_>>()
        };
        let switched = |task| SwitchedIn(TaskId(task));
        assert_eq!(
            merged([vec![CoreId(0)], vec![CoreId(1)]]),
            [
                (10, 0, switched(1)),
                (20, 1, switched(2)),
                (20, 1, Missing),
                (40, 0, switched(1)),
                (50, 1, Loss(0)),
                (50, 1, switched(3)),
                (60, 0, switched(1))
            ]
        );
    }

    #[test]
    fn a_silent_core_is_not_waited_for_for_ever() {
        let mut merger = Merger::new(&[vec![CoreId(0), CoreId(1)]]).unwrap();
        let mut merged = EventBatch::default();
        let many: Vec<(u64, u16, u32)> = (0..HELD_EVENTS as u64 + 10).map(|time| (time, 0, 1)).collect();
        merger.push(0, &batch(&many), &mut merged);
        assert_eq!(merged.events.len(), 10);
        merger.push(0, &batch(&[(3, 1, 2)]), &mut merged);
        merger.end(0, &mut merged);
        assert_eq!(merged.events.len(), HELD_EVENTS + 11);
        assert_eq!(merger.late, [1]);
        assert!(merged.events.is_sorted_by_key(|event| event.time));
    }

    #[test]
    fn long_texts_are_not_held_without_bound() {
        let mut merger = Merger::new(&[vec![CoreId(0), CoreId(1)]]).unwrap();
        let mut batch = EventBatch::default();
        let text = batch.texts.add(&"x".repeat(64 << 10));
        let kind = EventKind::Instant { lane: crate::model::LaneId(0), label: text.into(), args: Args::NONE };
        batch.events = vec![Event { time: Nanos(1), core: CoreId(0), kind }; 1000];
        let mut merged = EventBatch::default();
        merger.push(0, &batch, &mut merged);
        assert_eq!(merged.events.len(), 1000 - HELD_EVENTS / 1025);
        merger.end(0, &mut merged);
        assert_eq!(merged.events.len(), 1000);
        assert_eq!(merger.held, [0]);
    }

    #[test]
    fn many_cores_are_merged_like_few() {
        let cores: Vec<CoreId> = (0..1000).rev().map(CoreId).collect();
        let mut merger = Merger::new(&[cores]).unwrap();
        let mut merged = EventBatch::default();
        // Each core three times; events of equal time in the order of the input.
        let events: Vec<(u64, u16, u32)> =
            (0..3000u64).map(|n| (n % 3 * 10 + n / 3 % 2, u16::try_from(n / 3).unwrap(), 1)).collect();
        merger.push(0, &batch(&events), &mut merged);
        merger.end(0, &mut merged);
        let mut expected: Vec<(u64, u16)> = events.iter().map(|&(time, core, _)| (time, core)).collect();
        expected.sort_by_key(|&(time, _)| time);
        assert_eq!(times(&merged), expected);
    }

    #[test]
    fn one_lane_needs_no_merger() {
        assert!(Merger::new(&[vec![CoreId(3)]]).is_none());
    }
}
