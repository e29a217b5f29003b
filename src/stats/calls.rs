//! Completed calls of functions: how often, how long, and how long without their callees.
//!
//! A call is reported when it has ended, so its callees come before it. Calls that have ended wait until their caller comes, which
//! takes those that are deeper and lie within it; their time is not its own. Across a gap no caller is looked for.

use super::spread::Distribution;
use super::stacks::{Frame, NodeId, Stacks};

/// How many calls of a core wait for their callers. Beyond that the oldest neighbours of one depth are counted as one call.
const PENDING_CALLS: usize = 1 << 15;

/// How many stacks of calls without a known caller wait for one. Those of older calls are at the bottom.
const PENDING_TREES: usize = 256;

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall {
    /// Which function, as an index of all functions.
    pub function: u32,
    /// How many calls are around it, of those that began since the recording did; negative: it began before.
    pub depth: i16,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Whether it is left out of the table; its time is still not its caller's own.
    pub is_hidden: bool,
}

/// The calls of one function.
#[derive(Clone, Debug, Default)]
pub struct FunctionCalls {
    /// Their durations. A call of a function by itself counts in both calls.
    pub duration: Distribution,
    /// The time in the function itself, without its callees.
    pub self_ns: u64,
    /// How many samples found the core in it.
    pub samples: u64,
}

/// The calls of one core that wait for their callers, in order of their ends.
#[derive(Default)]
pub struct CoreCalls {
    pending: Vec<Pending>,
}

#[derive(Clone, Copy)]
struct Pending {
    depth: i16,
    begin_ns: u64,
    end_ns: u64,
    duration_ns: u64,
    tree: Option<NodeId>,
}

impl CoreCalls {
    /// Takes a call.
    pub fn ended(&mut self, call: EndedCall, functions: &mut Vec<FunctionCalls>, mut stacks: Option<&mut Stacks>) {
        let EndedCall { function, depth, begin_ns, end_ns, is_hidden } = call;
        // Calls that interrupted its exit may be reported before it, although they come after it.
        let is_later = |other: &&Pending| other.end_ns > end_ns && other.begin_ns >= end_ns;
        let later = self.pending.iter().rev().take_while(is_later).count();
        let later = self.pending.split_off(self.pending.len() - later);
        let duration_ns = end_ns.saturating_sub(begin_ns);
        let mut called_ns = 0u64;
        let called = self.pending.iter().rev().take_while(|inner| inner.lies_in(&call)).count();
        let first = self.pending.len() - called;
        for inner in &self.pending[first..] {
            called_ns = called_ns.saturating_add(inner.duration_ns);
        }
        // More than the call itself only if calls overlap: those of several tasks.
        let self_ns = duration_ns.saturating_sub(called_ns);
        if !is_hidden {
            if functions.len() <= function as usize {
                functions.resize(function as usize + 1, FunctionCalls::default());
            }
            let totals = &mut functions[function as usize];
            totals.duration.add(duration_ns, function as usize);
            totals.self_ns = totals.self_ns.saturating_add(self_ns);
        }
        let tree = stacks.as_deref_mut().and_then(|stacks| {
            let tree = stacks.add(Frame::Function(function), self_ns)?;
            self.pending[first..].iter().filter_map(|inner| inner.tree).for_each(|inner| stacks.put(tree, inner));
            Some(tree)
        });
        self.pending.truncate(first);
        self.pending.push(Pending { depth, begin_ns, end_ns, duration_ns, tree });
        if let (Some(stacks), true) = (stacks.as_deref_mut(), depth <= 0) {
            // Its caller was called before the recording began, and may be reported with a depth below 0.
            let oldest = self.pending.len().checked_sub(PENDING_TREES + 1).and_then(|index| self.pending[index].tree.take());
            oldest.into_iter().for_each(|tree| stacks.put(Stacks::ROOT, tree));
        }
        self.pending.extend(later);
        if self.pending.len() >= PENDING_CALLS {
            self.fold(stacks);
        }
    }

    /// No caller of the waiting calls will come.
    pub fn forget(&mut self, stacks: Option<&mut Stacks>) {
        if let Some(stacks) = stacks {
            self.pending.iter().filter_map(|call| call.tree).for_each(|tree| stacks.put(Stacks::ROOT, tree));
        }
        self.pending.clear();
    }

    /// Neighbours of one depth have the same caller, or it is lost: of the older half, such become one. Where that does not
    /// help, because every call is of another depth, they are forgotten.
    #[cold]
    fn fold(&mut self, mut stacks: Option<&mut Stacks>) {
        let newer = self.pending.split_off(PENDING_CALLS / 2);
        let mut folded: Vec<Pending> = Vec::new();
        for call in std::mem::take(&mut self.pending) {
            match folded.last_mut() {
                Some(before) if before.depth == call.depth => {
                    before.end_ns = call.end_ns;
                    before.duration_ns = before.duration_ns.saturating_add(call.duration_ns);
                    if let Some(stacks) = stacks.as_deref_mut() {
                        before.tree = join(stacks, before.tree, call.tree);
                    }
                }
                _ => folded.push(call),
            }
        }
        if folded.len() > PENDING_CALLS / 4 {
            self.pending = folded;
            self.forget(stacks);
        } else {
            self.pending = folded;
        }
        self.pending.extend(newer);
    }
}

impl Pending {
    fn lies_in(&self, call: &EndedCall) -> bool {
        self.depth > call.depth && self.begin_ns >= call.begin_ns && self.end_ns <= call.end_ns
    }
}

/// Puts two trees side by side on a root of their own.
fn join(stacks: &mut Stacks, one: Option<NodeId>, other: Option<NodeId>) -> Option<NodeId> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let root = match stacks.is_root(one) {
        true => one,
        false => {
            let root = stacks.add(Frame::Root, 0)?;
            stacks.put(root, one);
            root
        }
    };
    stacks.put(root, other);
    Some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: u32, depth: i16, begin_ns: u64, end_ns: u64) -> EndedCall {
        EndedCall { function, depth, begin_ns, end_ns, is_hidden: false }
    }

    fn names(frame: Frame) -> Option<String> {
        match frame {
            Frame::Function(number) => Some(format!("f{number}")),
            _ => None,
        }
    }

    fn run(calls: &[EndedCall]) -> (Vec<(u64, u64, u64)>, String) {
        let (mut core, mut functions, mut stacks) = (CoreCalls::default(), Vec::new(), Stacks::default());
        calls.iter().for_each(|&call| core.ended(call, &mut functions, Some(&mut stacks)));
        core.forget(Some(&mut stacks));
        let short = |calls: &FunctionCalls| (calls.duration.count(), calls.duration.report().total_ns, calls.self_ns);
        (functions.iter().map(short).collect(), stacks.folded(names))
    }

    #[test]
    fn what_interrupted_an_exit_comes_after_it() {
        // 0 calls 1, and is interrupted by 2 when it has taken its time.
        let (functions, folded) = run(&[call(1, 1, 10, 12), call(2, 1, 21, 24), call(0, 0, 5, 20)]);
        assert_eq!(functions, [(1, 15, 13), (1, 2, 2), (1, 3, 3)]);
        assert_eq!(folded, "f0 13\nf0;f1 2\nf2 3\n");
    }

    #[test]
    fn what_was_called_is_not_the_callers_own_time() {
        // 0 calls 1 (which calls 2 twice), then 2.
        let calls = [call(2, 2, 11, 13), call(2, 2, 14, 18), call(1, 1, 10, 20), call(2, 1, 25, 30), call(0, 0, 0, 40)];
        let (functions, folded) = run(&calls);
        assert_eq!(functions, [(1, 40, 25), (1, 10, 4), (3, 11, 11)]);
        assert_eq!(folded, "f0 25\nf0;f1 4\nf0;f1;f2 6\nf0;f2 5\n");
    }

    #[test]
    fn recursion_and_calls_without_length() {
        let calls = [call(0, 2, 5, 5), call(0, 1, 5, 9), call(0, 0, 5, 9)];
        assert_eq!(run(&calls), (vec![(3, 8, 4)], "f0;f0 4\n".into()));
    }

    #[test]
    fn a_lost_caller_is_passed_over() {
        // The call of depth 2 has lost its caller; the one of depth 1 began later; the one of depth 0 has both.
        let (functions, folded) = run(&[call(2, 2, 1, 3), call(1, 1, 4, 6), call(0, 0, 0, 10)]);
        assert_eq!(functions, [(1, 10, 6), (1, 2, 2), (1, 2, 2)]);
        assert_eq!(folded, "f0 6\nf0;f1 2\nf0;f2 2\n");
        // Nothing that ended before a call of depth 0 began can belong to a later one.
        let (functions, _) = run(&[call(1, 1, 1, 3), call(0, 0, 4, 6), call(0, 0, 0, 9)]);
        assert_eq!(functions[0], (2, 11, 11));
    }

    #[test]
    fn calls_that_began_before_the_recording_have_callees() {
        // 0 had begun and called 1, which calls 2 again and again; then 0 calls 2.
        let calls = [
            call(2, 0, 0, 1),
            call(2, 0, 10, 12),
            call(2, 0, 13, 14),
            call(1, -1, 5, 15),
            call(2, -1, 16, 17),
            call(0, -2, 2, 22),
        ];
        let (functions, folded) = run(&calls);
        assert_eq!(functions, [(1, 20, 20 - 10 - 1), (1, 10, 10 - 3), (4, 5, 5)]);
        assert_eq!(folded, "f0 9\nf0;f1 7\nf0;f1;f2 3\nf0;f2 1\nf2 1\n");
        // Of very many callees the time is exact, and the stacks of the last ones.
        let count = PENDING_TREES as u64 + 1;
        let mut calls: Vec<EndedCall> = (0..count).map(|number| call(1, 0, 10 * number, 10 * number + 3)).collect();
        calls.push(call(0, -1, 0, 10 * count));
        let (functions, folded) = run(&calls);
        assert_eq!(functions, [(1, 10 * count, 7 * count), (count, 3 * count, 3 * count)]);
        assert_eq!(folded, format!("f0 {}\nf0;f1 {}\nf1 3\n", 7 * count, 3 * (count - 1)));
    }

    #[test]
    fn hidden_calls_still_take_time() {
        let hidden = EndedCall { is_hidden: true, ..call(1, 1, 2, 8) };
        let (functions, _) = run(&[hidden, call(0, 0, 0, 10)]);
        assert_eq!(functions, [(1, 10, 4)]);
    }

    #[test]
    fn a_call_of_very_many_is_exact_in_bounded_memory() {
        let (mut core, mut functions, mut stacks) = (CoreCalls::default(), Vec::new(), Stacks::default());
        let count = 3 * PENDING_CALLS as u64;
        for number in 0..count {
            core.ended(call(1, 1, 10 * number, 10 * number + 3), &mut functions, Some(&mut stacks));
            assert!(core.pending.len() <= PENDING_CALLS);
        }
        core.ended(call(0, 0, 0, 10 * count), &mut functions, Some(&mut stacks));
        assert_eq!((functions[0].self_ns, functions[1].self_ns), (7 * count, 3 * count));
        core.forget(Some(&mut stacks));
        assert_eq!(stacks.folded(names), format!("f0 {}\nf0;f1 {}\n", 7 * count, 3 * count));
        // Each of another depth, and none within the next.
        for number in 0..count {
            let depth = i16::try_from(number % 30_000).unwrap() + 1;
            core.ended(call(1, depth, number, number), &mut functions, None);
            assert!(core.pending.len() <= PENDING_CALLS);
        }
    }
}
