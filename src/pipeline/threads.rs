//! Where work runs: on a thread pool with the feature `parallel`, else here and now.

/// A piece of work.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A place to run work.
pub struct Threads {
    #[cfg(feature = "parallel")]
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `count` threads, 0 for one per processor. One thread, or a pool that cannot be started, means the caller's own.
    pub fn new(count: usize) -> Threads {
        #[cfg(feature = "parallel")]
        {
            let pool = (count != 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(count).build().ok());
            Threads { pool: pool.flatten() }
        }
        #[cfg(not(feature = "parallel"))]
        {
            let _ = count;
            Threads {}
        }
    }

    /// Runs `ordered` and all `jobs`, at the same time if there are threads for it. Jobs begin in their order, but for where they
    /// run nothing depends on it.
    pub fn run(&self, ordered: impl FnOnce() + Send, jobs: Vec<Job<'_>>) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            pool.scope_fifo(|scope| {
                for job in jobs {
                    scope.spawn_fifo(move |_| job());
                }
                ordered();
            });
            return;
        }
        ordered();
        for job in jobs {
            job();
        }
    }
}
