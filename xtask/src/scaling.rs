//! A model of a conversion on more processors than there are: what the stages' costs allow.
//!
//! A thread that has finished a task begins the next one (`src/pipeline/flow.rs`). Resolving, drawing and the rest (writing above all) are one
//! task at a time each; scanning, decoding and encoding can be divided. So the second pass takes as long as the work of all threads divided by
//! their number, or as long as the longest ordered stage.

/// The costs of the stages, in any unit.
pub struct Costs {
    /// The first pass.
    pub scan: f64,
    pub decode: f64,
    pub encode: f64,
    /// One task at a time each.
    pub resolve: f64,
    pub draw: f64,
    /// Outside the stages: writing, and handing over.
    pub rest: f64,
}

impl Costs {
    /// How many times faster it is with this number of threads than with one.
    pub fn speedup(&self, threads: usize) -> f64 {
        self.time(1) / self.time(threads)
    }

    fn time(&self, threads: usize) -> f64 {
        let threads = threads.max(1) as f64;
        let all = self.decode + self.resolve + self.draw + self.encode + self.rest;
        let ordered = self.resolve.max(self.draw).max(self.rest);
        self.scan / threads + ordered.max(all / threads)
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
        let rest = Costs { rest: 25.0, ..costs };
        assert!((rest.speedup(64) - 5.0).abs() < 1e-9);
    }
}
