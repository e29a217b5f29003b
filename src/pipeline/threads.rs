//! Executes the work: on threads with the feature `parallel`, otherwise on the caller's thread.
//!
//! A [`Team`] is a fixed number of threads that several conversions share. Each conversion occupies one of them. It cuts each
//! round into jobs, which the idle threads of the team execute ([`Threads::run`]). So one large recording uses all threads, and
//! many small ones use one each. When no recording is left to begin, the idle threads help with those that are still running. The
//! sizes of recordings need not be known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Options;

/// A piece of work.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

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
    /// The threads that execute the jobs of rounds; started when they are first needed.
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
    #[cfg_attr(not(feature = "parallel"), expect(dead_code, reason = "nobody but the caller works"))]
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

    /// Runs `ordered` on the caller's thread and all `jobs`, in parallel if there are threads for it. Jobs begin in their order,
    /// but their results must not depend on the thread.
    ///
    /// A call lasts about a millisecond, and waking a thread takes a tenth of that. So each thread is woken once and executes one
    /// job after the other. The caller's thread helps when it is done with `ordered`.
    pub fn run(&self, ordered: impl FnOnce(), jobs: Vec<Job<'_>>) {
        #[cfg(feature = "parallel")]
        {
            let _caller = self.team.occupy(self.callers);
            let helping = self.team.occupy(jobs.len().min(self.team.shared.size - 1));
            if helping.count > 0
                && let Some(pool) = self.team.helpers()
            {
                let queue = std::sync::Mutex::new(jobs.into_iter());
                let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                let work = || {
                    while let Some(job) = next() {
                        job();
                    }
                };
                pool.in_place_scope(|scope| {
                    for _ in 0..helping.count {
                        scope.spawn(|_| work());
                    }
                    ordered();
                    work();
                });
                return;
            }
        }
        ordered();
        for job in jobs {
            job();
        }
    }
}

#[cfg(all(test, feature = "parallel"))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Jobs that record how many of them run at the same time.
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

    #[test]
    fn nobody_works_beside_the_team() {
        for size in 1..=4 {
            let team = Team::new(size);
            let gauge = Gauge { now: AtomicUsize::new(0), most: AtomicUsize::new(0) };
            let options = Options { team: Some(team.clone()), ..Options::default() };
            let order: Vec<usize> = (0..7).rev().collect();
            let begun = Mutex::new(Vec::new());
            let mut ended = Vec::new();
            let work = |index: usize| {
                begun.lock().unwrap().push(index);
                let threads = Threads::new(&options);
                let jobs = (0..5).map(|_| Box::new(|| gauge.work()) as Job<'_>).collect();
                threads.run(|| gauge.work(), jobs);
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
        let gauge = Gauge { now: AtomicUsize::new(0), most: AtomicUsize::new(0) };
        let options = Options { team: Some(team.clone()), ..Options::default() };
        let threads = Threads::new(&options);
        let run = |_| threads.run(|| gauge.work(), (0..50).map(|_| Box::new(|| gauge.work()) as Job<'_>).collect());
        team.each(&[0], run, |_, ()| {});
        assert_eq!(gauge.most.into_inner(), 2);
    }
}
