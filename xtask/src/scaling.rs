//! A model of the second pass on more processors than there are: what the stages' costs allow.
//!
//! In a round (`src/pipeline/rounds.rs`) resolving and drawing are one job each, and encoding and decoding are many. Threads take the jobs
//! in this order. What is outside the stages follows when all are done, and then the next round. The first pass is divided evenly.

/// The costs of the stages, in any unit.
pub struct Costs {
    /// The first pass.
    pub scan: f64,
    /// Divided into [`JOBS`] for each thread, [`JOBS_MAX`] at most.
    pub decode: f64,
    /// The same; a block is made of about two windows.
    pub encode: f64,
    /// One job each.
    pub resolve: f64,
    pub draw: f64,
    /// Outside the stages: writing, and handing over.
    pub rest: f64,
}

/// The windows that a round decodes, for each thread and in all.
const JOBS: usize = 4;
const JOBS_MAX: usize = 32;

impl Costs {
    /// How many times faster it is with this number of threads than with one.
    pub fn speedup(&self, threads: usize) -> f64 {
        self.time(1) / self.time(threads)
    }

    fn time(&self, threads: usize) -> f64 {
        let threads = threads.max(1);
        let mut busy_until = vec![0.0f64; threads];
        let pieces = |cost: f64, count: usize| std::iter::repeat_n(cost / count as f64, count);
        let windows = JOBS_MAX.min(JOBS * threads);
        let jobs =
            [self.resolve, self.draw].into_iter().chain(pieces(self.encode, windows / 2)).chain(pieces(self.decode, windows));
        for cost in jobs {
            if let Some(first) = busy_until.iter_mut().min_by(|one, other| one.total_cmp(other)) {
                *first += cost;
            }
        }
        let round = busy_until.into_iter().fold(0.0, f64::max);
        self.scan / threads as f64 + round + self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::Costs;

    #[test]
    fn the_longest_ordered_stage_is_the_limit() {
        let costs = Costs { scan: 0.0, decode: 40.0, encode: 40.0, resolve: 10.0, draw: 10.0, rest: 0.0 };
        assert!((costs.speedup(1) - 1.0).abs() < 1e-9);
        assert!((costs.speedup(2) - 2.0).abs() < 1e-9);
        assert!((costs.speedup(64) - 10.0).abs() < 1e-9);
        let scan = Costs { scan: 100.0, decode: 0.0, encode: 0.0, resolve: 0.0, draw: 0.0, rest: 0.0 };
        assert!((scan.speedup(16) - 16.0).abs() < 1e-9);
        let rest = Costs { rest: 10.0, ..costs };
        assert!((rest.speedup(64) - 5.5).abs() < 1e-9);
    }
}
