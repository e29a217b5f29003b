//! Executes the work: on threads with the feature `parallel`, otherwise on the caller's thread.
//!
//! A [`Team`] is a fixed number of threads that several conversions share. Each conversion occupies one of them. Its work is a
//! [`Plan`]: tasks, which the idle threads of the team help to execute ([`Threads::drive`]). So one large recording uses all threads, and
//! many small ones use one each. When no recording is left to begin, the idle threads help with those that are still running. The
//! sizes of recordings need not be known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Options;

/// The stack of a program's main thread: the same code runs on a team's threads.
#[cfg(feature = "parallel")]
const STACK_BYTES: usize = 8 << 20;

/// Threads that several conversions share, see [`Options::team`].
#[derive(Clone, Debug)]
pub struct Team {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    size: usize,
    /// The number of idle threads.
    idle: AtomicUsize,
    /// The other threads; started when they are first needed.
    #[cfg(feature = "parallel")]
    helpers: std::sync::OnceLock<Option<rayon::ThreadPool>>,
}

/// This number of threads is occupied while this value lives.
struct AtWork<'a> {
    team: &'a Team,
    count: usize,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.team.shared.idle.fetch_add(self.count, Ordering::AcqRel);
    }
}

impl Team {
    /// A team of `count` threads, the caller's own among them; 0: one per processor.
    #[must_use]
    pub fn new(count: usize) -> Team {
        #[cfg(feature = "parallel")]
        let size = if count == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { count };
        #[cfg(not(feature = "parallel"))]
        let size = usize::from(count > 0).max(1);
        Team {
            shared: Arc::new(Shared {
                size,
                idle: AtomicUsize::new(size),
                #[cfg(feature = "parallel")]
                helpers: std::sync::OnceLock::new(),
            }),
        }
    }

    /// Does `work` for each of `order`, started in that order, with at most one per thread at a time. `done` is called on the
    /// caller's thread with each result as soon as it is there, so in any order.
    pub fn each<T: Send>(&self, order: &[usize], work: impl Fn(usize) -> T + Sync, mut done: impl FnMut(usize, T)) {
        #[cfg(feature = "parallel")]
        if self.shared.size.min(order.len()) > 1 {
            let next = AtomicUsize::new(0);
            let (sender, results) = std::sync::mpsc::channel();
            let worker = |sender: std::sync::mpsc::Sender<(usize, T)>| {
                while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send((index, work(index))).is_err() {
                        break;
                    }
                }
            };
            std::thread::scope(|scope| {
                let worker = &worker;
                // All threads are occupied before the first one begins. Otherwise its work would count the threads that are about
                // to begin as idle.
                let workers: Vec<AtWork<'_>> = (0..self.shared.size.min(order.len())).map(|_| self.occupy(1)).collect();
                for at_work in workers {
                    let sender = sender.clone();
                    let start = move || {
                        let _at_work = at_work;
                        worker(sender);
                    };
                    // With fewer threads than requested it takes longer; without any, this thread does all the work below.
                    let _ = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, start);
                }
                drop(sender);
                results.iter().for_each(|(index, result)| done(index, result));
            });
            // All workers have ended, so nobody has begun the rest.
            let _at_work = self.occupy(1);
            while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                done(index, work(index));
            }
            return;
        }
        let _at_work = self.occupy(1);
        for &index in order {
            done(index, work(index));
        }
    }

    /// Occupies up to `wanted` idle threads.
    fn occupy(&self, wanted: usize) -> AtWork<'_> {
        let take = |idle: usize| Some(idle - wanted.min(idle));
        let idle = self.shared.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).unwrap_or(0);
        AtWork { team: self, count: wanted.min(idle) }
    }

    /// Occupies an idle thread.
    #[cfg(feature = "parallel")]
    fn recruit(&self) -> Option<AtWork<'_>> {
        // Usually all are at work, and reading is cheaper.
        let at_work = (self.shared.idle.load(Ordering::Relaxed) > 0).then(|| self.occupy(1));
        at_work.filter(|at_work| at_work.count > 0)
    }

    #[cfg(feature = "parallel")]
    fn helpers(&self) -> Option<&rayon::ThreadPool> {
        let others = self.shared.size.saturating_sub(1);
        let start = || (others > 0).then(|| rayon::ThreadPoolBuilder::new().num_threads(others).build().ok()).flatten();
        self.shared.helpers.get_or_init(start).as_ref()
    }
}

/// One conversion's view of its team.
pub struct Threads {
    team: Team,
    /// The number of the team's threads that the caller occupies: 0 within [`Team::each`].
    callers: usize,
}

impl Threads {
    /// The team of the options, or one of its own.
    pub fn new(options: &Options) -> Threads {
        match &options.team {
            Some(team) => Threads { team: team.clone(), callers: 0 },
            None => Threads { team: Team::new(options.threads), callers: 1 },
        }
    }

    /// The number of threads, if nobody else occupies them.
    pub fn count(&self) -> usize {
        self.team.shared.size
    }

    /// Executes a plan. `watch` is called on the caller's thread, after each of its tasks; no more tasks begin once it returns false.
    ///
    /// A task lasts a tenth of a millisecond, and waking a thread takes as long. So a thread begins the next task by itself, and a helper
    /// leaves only when nothing can begin.
    pub fn drive<P: Plan>(&self, mut plan: P, watch: &mut dyn FnMut(&mut P) -> bool) -> P {
        let _caller = self.team.occupy(self.callers);
        while let Some(task) = plan.next() {
            #[cfg(feature = "parallel")]
            if let Some(helper) = self.team.recruit()
                && let Some(other) = plan.next()
            {
                if let Some(pool) = self.team.helpers() {
                    let crew = Crew { team: &self.team, state: Mutex::new(State::new(plan)), changed: Condvar::new() };
                    pool.in_place_scope(|scope| {
                        crew.spawn(scope, helper, other);
                        crew.lead(scope, task, watch);
                    });
                    return crew.state.into_inner().unwrap_or_else(PoisonError::into_inner).plan;
                }
                plan.take(P::execute(other));
            }
            plan.take(P::execute(task));
            if !watch(&mut plan) {
                break;
            }
        }
        plan
    }
}

/// Work in tasks. Which tasks can begin depends on the results of others.
pub trait Plan: Send {
    /// Has all that it needs, so that it can be executed on any thread beside others.
    type Task: Send;
    /// The result of a task.
    type Done: Send;

    /// The next task that can begin now. If nothing can begin, and nothing is being executed, the work is done.
    fn next(&mut self) -> Option<Self::Task>;

    /// Executes a task.
    fn execute(task: Self::Task) -> Self::Done;

    /// Takes the result of a task. Results come in any order.
    fn take(&mut self, done: Self::Done);
}

impl<P: Plan> Plan for &mut P {
    type Task = P::Task;
    type Done = P::Done;

    fn next(&mut self) -> Option<P::Task> {
        (**self).next()
    }

    fn execute(task: P::Task) -> P::Done {
        P::execute(task)
    }

    fn take(&mut self, done: P::Done) {
        (**self).take(done);
    }
}

/// The threads that execute a plan together: the caller's, and helpers that come and leave.
#[cfg(feature = "parallel")]
struct Crew<'t, P: Plan> {
    team: &'t Team,
    state: Mutex<State<P>>,
    /// For the caller's thread, when it waits for a task.
    changed: Condvar,
}

#[cfg(feature = "parallel")]
struct State<P: Plan> {
    plan: P,
    helpers: usize,
    caller_waits: bool,
    for_caller: Option<P::Task>,
    is_stopped: bool,
}

#[cfg(feature = "parallel")]
impl<P: Plan> State<P> {
    fn new(plan: P) -> State<P> {
        State { plan, helpers: 0, caller_waits: false, for_caller: None, is_stopped: false }
    }

    fn next(&mut self) -> Option<P::Task> {
        if self.is_stopped { None } else { self.plan.next() }
    }
}

#[cfg(feature = "parallel")]
impl<'t, P: Plan> Crew<'t, P> {
    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a task to one more helper.
    fn spawn<'s>(&'s self, scope: &rayon::Scope<'s>, at_work: AtWork<'s>, task: P::Task)
    where
        P::Task: 's,
    {
        self.lock().helpers += 1;
        scope.spawn(move |scope| {
            let _leaving = Leaving { crew: self, _at_work: at_work };
            let mut next = Some(task);
            while let Some(task) = next {
                let done = P::execute(task);
                let mut state = self.lock();
                state.plan.take(done);
                next = state.next();
                if state.caller_waits && state.for_caller.is_none() {
                    state.for_caller = state.next();
                    if state.for_caller.is_some() {
                        self.changed.notify_one();
                    }
                } else if next.is_some() {
                    drop(state);
                    self.recruit(scope);
                }
            }
        });
    }

    /// Gives a task to one more helper, if there is an idle thread and a task.
    fn recruit<'s>(&'s self, scope: &rayon::Scope<'s>)
    where
        P::Task: 's,
    {
        if let Some(helper) = self.team.recruit() {
            let task = self.lock().next();
            if let Some(task) = task {
                self.spawn(scope, helper, task);
            }
        }
    }

    /// Executes tasks on the caller's thread until all are done.
    fn lead<'s>(&'s self, scope: &rayon::Scope<'s>, first: P::Task, watch: &mut dyn FnMut(&mut P) -> bool)
    where
        P::Task: 's,
    {
        let mut next = Some(first);
        loop {
            let mut state = if let Some(task) = next {
                let done = P::execute(task);
                let mut state = self.lock();
                state.plan.take(done);
                state.is_stopped |= !watch(&mut state.plan);
                state
            } else {
                self.lock()
            };
            next = loop {
                let task = state.for_caller.take().or_else(|| state.next());
                // A helper that panics leaves too.
                if task.is_some() || state.helpers == 0 {
                    break task;
                }
                state.caller_waits = true;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.caller_waits = false;
            };
            drop(state);
            if next.is_none() {
                return;
            }
            self.recruit(scope);
        }
    }
}

/// A helper leaves when this value is dropped.
#[cfg(feature = "parallel")]
struct Leaving<'s, 't, P: Plan> {
    crew: &'s Crew<'t, P>,
    _at_work: AtWork<'s>,
}

#[cfg(feature = "parallel")]
impl<P: Plan> Drop for Leaving<'_, '_, P> {
    fn drop(&mut self) {
        self.crew.lock().helpers -= 1;
        self.crew.changed.notify_one();
    }
}

#[cfg(all(test, feature = "parallel"))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Counts how many tasks run at the same time.
    #[derive(Default)]
    struct Gauge {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Gauge {
        fn work(&self) {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            // Long enough that others run at the same time.
            (0..2000).for_each(|_| std::thread::yield_now());
            self.now.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Chains of tasks: each task needs the one before it in its chain.
    struct Chains<'g> {
        gauge: &'g Gauge,
        /// The number of tasks left, and whether one is at work.
        chains: Vec<(usize, bool)>,
        /// The task that panics: a chain, and how many are left in it.
        panics: Option<(usize, usize)>,
    }

    impl<'g> Plan for Chains<'g> {
        type Task = (&'g Gauge, usize, bool);
        type Done = usize;

        fn next(&mut self) -> Option<(&'g Gauge, usize, bool)> {
            let index = self.chains.iter().position(|&(left, at_work)| left > 0 && !at_work)?;
            let panics = self.panics == Some((index, self.chains[index].0));
            self.chains[index].1 = true;
            Some((self.gauge, index, panics))
        }

        fn execute((gauge, index, panics): (&'g Gauge, usize, bool)) -> usize {
            gauge.work();
            assert!(!panics, "as planned");
            index
        }

        fn take(&mut self, index: usize) {
            let (left, at_work) = &mut self.chains[index];
            assert!(*at_work);
            (*left, *at_work) = (*left - 1, false);
        }
    }

    fn chains<'g>(gauge: &'g Gauge, lengths: &[usize]) -> Chains<'g> {
        Chains { gauge, chains: lengths.iter().map(|&left| (left, false)).collect(), panics: None }
    }

    #[test]
    fn nobody_works_beside_the_team() {
        for size in 1..=4 {
            let team = Team::new(size);
            let gauge = Gauge::default();
            let options = Options { team: Some(team.clone()), ..Options::default() };
            let order: Vec<usize> = (0..7).rev().collect();
            let begun = Mutex::new(Vec::new());
            let mut ended = Vec::new();
            let work = |index: usize| {
                begun.lock().unwrap().push(index);
                let plan = Threads::new(&options).drive(chains(&gauge, &[1, 2, 1, 1]), &mut |_| true);
                assert_eq!(plan.chains, [(0, false); 4]);
                index * 10
            };
            team.each(&order, work, |index, result| ended.push((index, result)));
            ended.sort_unstable();
            assert_eq!(ended, (0..7).map(|index| (index, index * 10)).collect::<Vec<_>>());
            assert!(gauge.most.into_inner() <= size);
            assert_eq!(team.shared.idle.load(Ordering::SeqCst), size);
            let begun = begun.into_inner().unwrap();
            assert!(size > 1 || begun == order, "{begun:?}");
        }
    }

    #[test]
    fn those_without_work_help_the_last() {
        let team = Team::new(2);
        let gauge = Gauge::default();
        let options = Options { team: Some(team.clone()), ..Options::default() };
        let run = |_| drop(Threads::new(&options).drive(chains(&gauge, &[1; 50]), &mut |_| true));
        team.each(&[0], run, |_, ()| {});
        assert_eq!(gauge.most.into_inner(), 2);
    }

    #[test]
    fn helpers_leave_and_come_back() {
        for lengths in [&[40][..], &[40, 1, 1], &[30, 20], &[5; 9]] {
            for size in 1..=4 {
                let (team, gauge) = (Team::new(size), Gauge::default());
                let options = Options { team: Some(team.clone()), ..Options::default() };
                let threads = Threads { callers: 1, ..Threads::new(&options) };
                let mut watched = 0;
                let plan = threads.drive(chains(&gauge, lengths), &mut |_| {
                    watched += 1;
                    true
                });
                assert!(plan.chains.iter().all(|chain| *chain == (0, false)));
                assert!(gauge.most.into_inner() <= size.min(lengths.len()));
                assert!(watched > 0 && (size > 1 || watched == lengths.iter().sum::<usize>()));
                assert_eq!(team.shared.idle.load(Ordering::SeqCst), size);
            }
        }
    }

    #[test]
    fn a_stop_ends_it() {
        for size in 1..=3 {
            let gauge = Gauge::default();
            let threads = Threads::new(&Options { threads: size, ..Options::default() });
            let plan = threads.drive(chains(&gauge, &[1000, 1000, 1000]), &mut |_| false);
            let left: usize = plan.chains.iter().map(|chain| chain.0).sum();
            assert!((1..3000).contains(&left) && plan.chains.iter().all(|chain| !chain.1), "{left}");
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        for size in 1..=3 {
            for chain in 0..3 {
                let (team, gauge) = (Team::new(size), Gauge::default());
                let threads = Threads { callers: 1, team: team.clone() };
                let plan = Chains { panics: Some((chain, 3)), ..chains(&gauge, &[5, 5, 5]) };
                let result = catch_unwind(AssertUnwindSafe(|| threads.drive(plan, &mut |_| true)));
                assert!(result.is_err());
                assert_eq!(team.shared.idle.load(Ordering::SeqCst), size);
            }
        }
    }
}
