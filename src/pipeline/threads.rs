//! Where work runs: on a thread pool with the feature `parallel`, else here and now.

/// A piece of work.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A place to run work.
pub struct Threads {
    /// The threads beside the caller's own.
    #[cfg(feature = "parallel")]
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `count` threads, the caller's own among them, 0 for one per processor. One thread, or a pool that cannot be started, means
    /// the caller's own.
    pub fn new(count: usize) -> Threads {
        #[cfg(feature = "parallel")]
        {
            let count = if count == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { count };
            let others = count - 1;
            let pool = (others > 0).then(|| rayon::ThreadPoolBuilder::new().num_threads(others).build().ok());
            Threads { pool: pool.flatten() }
        }
        #[cfg(not(feature = "parallel"))]
        {
            let _ = count;
            Threads {}
        }
    }

    /// Runs `ordered` on the caller's thread and all `jobs`, at the same time if there are threads for it. Jobs begin in their
    /// order, but for where they run nothing depends on it.
    ///
    /// A call lasts a millisecond or so, and to wake a thread takes a tenth of that. So each thread is woken once and then takes
    /// one job after the other, and the caller's begins at once and helps when it is done with `ordered`.
    pub fn run(&self, ordered: impl FnOnce(), jobs: Vec<Job<'_>>) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            let helpers = pool.current_num_threads().min(jobs.len());
            let queue = std::sync::Mutex::new(jobs.into_iter());
            let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let work = || {
                while let Some(job) = next() {
                    job();
                }
            };
            pool.in_place_scope(|scope| {
                for _ in 0..helpers {
                    scope.spawn(|_| work());
                }
                ordered();
                work();
            });
            return;
        }
        ordered();
        for job in jobs {
            job();
        }
    }
}
