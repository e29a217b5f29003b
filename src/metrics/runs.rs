//! A metric over many runs: statistics, and the run since which it has moved.
//!
//! The change is found by Pettitt's test (A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28,
//! 1979): it compares ranks, so that neither outliers nor the shape of the distribution matter, and gives the probability that runs
//! without a change look like these.
//! The place is where the two sides differ most, in terms of the standard deviation of that comparison.

/// A statistic of the values of a metric in many runs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Over {
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The mean.
    Mean,
    /// This share of the values, in per cent, is not above it: the nearest rank.
    Percentile(f64),
    /// By how many per cent the median has changed where it changed most; 0 without a change of confidence.
    Change,
    /// By how many per cent the straight line of least squares rises from the first run to the last.
    Trend,
}

/// A change is stated with at least this confidence.
pub const CONFIDENCE: f64 = 0.99;

impl Over {
    /// How they are written, for people.
    pub const NAMES: &'static str = "min, max, mean, median, p95 (any per cent), change, trend";

    /// The statistic of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Over> {
        let percentile = |name: &str| name.strip_prefix('p')?.parse().ok().filter(|share| (0.0..=100.0).contains(share));
        Some(match name {
            "min" => Over::Min,
            "max" => Over::Max,
            "mean" => Over::Mean,
            "median" => Over::Percentile(50.0),
            "change" => Over::Change,
            "trend" => Over::Trend,
            name => Over::Percentile(percentile(name)?),
        })
    }

    /// Whether it is in per cent, whatever the unit of the metric.
    #[must_use]
    pub fn is_relative(self) -> bool {
        matches!(self, Over::Change | Over::Trend)
    }

    /// The statistic of values in the order of their runs; `None` of no values.
    #[must_use]
    pub fn of(self, values: &[f64]) -> Option<f64> {
        let first = *values.first()?;
        Some(match self {
            Over::Min => values.iter().copied().fold(first, f64::min),
            Over::Max => values.iter().copied().fold(first, f64::max),
            Over::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Over::Percentile(share) => percentile(values, share)?,
            Over::Change => match change(values).filter(|change| change.confidence(1) >= CONFIDENCE) {
                Some(change) => change.percent(),
                None => 0.0,
            },
            Over::Trend => trend(values),
        })
    }
}

/// The rise of the line of least squares, in per cent of where it begins; 0 of one value, or if nothing rises.
fn trend(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let (mut both, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - middle;
        both += x * (value - mean);
        squares += x * x;
    }
    let rise = if squares > 0.0 { both / squares * (n - 1.0) } else { 0.0 };
    if rise == 0.0 { 0.0 } else { 100.0 * rise / (mean - rise / 2.0).abs() }
}

fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    let count = values.len() as f64;
    let mut rank = (share / 100.0 * count).ceil();
    // 0.999 * 1000 is a little more than 999, whose share is 99.9 all the same.
    if 100.0 * (rank - 1.0) / count >= share {
        rank -= 1.0;
    }
    let index = (rank as usize).saturating_sub(1).min(values.len().checked_sub(1)?);
    let (_, value, _) = sorted.select_nth_unstable_by(index, f64::total_cmp);
    Some(*value)
}

/// Where the values of a metric changed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The first value after the change, counted from 0.
    pub at: usize,
    /// The median before it.
    pub before: f64,
    /// The median since.
    pub since: f64,
    /// The logarithm of the probability that values without a change look like these.
    log_probability: f64,
}

impl Change {
    /// By how many per cent the median has changed; of 0 it is infinite.
    #[must_use]
    pub fn percent(&self) -> f64 {
        let difference = self.since - self.before;
        if difference == 0.0 { 0.0 } else { 100.0 * difference / self.before.abs() }
    }

    /// How sure the change is if it was looked for in this number of metrics, from 0 to 1: less by the chance that one of them looks like
    /// that without a change (Bonferroni).
    #[must_use]
    pub fn confidence(&self, metrics: usize) -> f64 {
        1.0 - (self.log_probability.exp() * metrics as f64).min(1.0)
    }
}

/// Where the values changed most: the likeliest place, sure or not. `None` of fewer than two values, or if all are equal.
#[must_use]
pub fn change(values: &[f64]) -> Option<Change> {
    let count = values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|&one, &other| values[one].total_cmp(&values[other]));
    // Equal values share the mean of their ranks; twice the rank is a whole number.
    let mut ranks = vec![0i64; count];
    let mut start = 0;
    while start < count {
        let equal = order[start..].iter().take_while(|&&index| values[index] == values[order[start]]).count().max(1);
        for &index in &order[start..start + equal] {
            ranks[index] = (2 * start + equal + 1) as i64;
        }
        start += equal;
    }
    let mut sum = 0i64;
    let (mut at, mut best, mut most) = (0, 0.0, 0);
    for (index, rank) in ranks.iter().enumerate().take(count.saturating_sub(1)) {
        sum += rank - (count as i64 + 1);
        most = most.max(sum.abs());
        // In terms of what is usual there: otherwise a change near an end would be placed nearer to the middle.
        let usual = (index + 1) as f64 * (count - index - 1) as f64;
        let score = sum as f64 * sum as f64 / usual;
        if score > best {
            (at, best) = (index + 1, score);
        }
    }
    let at = refined(values, at)?;
    let (before, since) = values.split_at(at);
    let (n, most) = (count as f64, most as f64);
    let log_probability = std::f64::consts::LN_2 - 6.0 * most * most / (n * n * n + n * n);
    Some(Change { at, before: percentile(before, 50.0)?, since: percentile(since, 50.0)?, log_probability })
}

/// The place near which values change, by how many of them are on their side of the middle between both medians: ranks place a change near
/// an end a few values off.
fn refined(values: &[f64], at: usize) -> Option<usize> {
    let (before, since) = values.split_at(at);
    let (before, since) = (percentile(before, 50.0)?, percentile(since, 50.0)?);
    let middle = f64::midpoint(before, since);
    let (mut sum, mut best) = (0i64, (i64::MIN, at));
    for (index, value) in values.iter().enumerate().take(values.len() - 1) {
        let side = value.total_cmp(&middle) as i64;
        sum += if since > before { -side } else { side };
        if sum > best.0 || (sum == best.0 && (index + 1).abs_diff(at) < best.1.abs_diff(at)) {
            best = (sum, index + 1);
        }
    }
    Some(if since == before { at } else { best.1 })
}

#[cfg(test)]
mod tests {
    use super::super::rule::Rule;
    use super::*;

    /// Numbers without a pattern, from 0 to 1.
    fn noise(count: usize, mut seed: u64) -> Vec<f64> {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        for at in [40, 613, 960] {
            let mut values = noise(1000, 7);
            values.iter_mut().skip(at).for_each(|value| *value += 1.5);
            let change = change(&values).unwrap();
            assert_eq!(change.at, at);
            assert!(change.confidence(1) > 0.9 && change.percent() > 100.0, "{change:?}");
        }
    }

    #[test]
    fn noise_is_seldom_a_change() {
        let sure = (0..1000).filter(|&seed| change(&noise(200, seed)).unwrap().confidence(1) >= CONFIDENCE).count();
        assert!(sure <= 10, "{sure} of 1000 at 99 %");
        assert_eq!(change(&[3.0; 50]), None);
        assert_eq!(change(&[]), None);
    }

    #[test]
    fn a_percentile_is_the_value_of_the_nearest_rank() {
        // As fractions of a hundred, these shares are a little more or less than what is written.
        for (share, count, rank) in [(28.0, 25, 7), (55.0, 100, 55), (57.0, 100, 57), (99.9, 1000, 999), (99.9, 41_000, 40_959)] {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            assert_eq!(percentile(&values, share), Some(f64::from(rank)), "p{share} of {count}");
        }
        assert_eq!(
            [0.0, 1.0, 50.0, 51.0, 100.0].map(|share| percentile(&[1.0, 2.0], share)),
            [1, 1, 1, 2, 2].map(|n| Some(f64::from(n)))
        );
    }

    #[test]
    fn statistics_have_limits() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        for (text, expected) in [
            ("min(task.filter.cpu_percent) > 0", 1.0),
            ("max(task.filter.cpu_percent) < 101", 100.0),
            ("mean(task.filter.cpu_percent) < 51", 50.5),
            ("median(task.\"net rx (2)\".cpu_percent) <= 50", 50.0),
            ("p95(task.*.cpu_percent) < 96", 95.0),
            (" p99.5( latency.filter.max_us ) < 101", 100.0),
            ("trend(latency.filter.max) in 9899..9901 %", 9900.0),
            ("trend(task.filter.cpu_percent) > 0", 9900.0),
        ] {
            let rule = Rule::parse(text).unwrap();
            let over = rule.over.unwrap();
            let value = over.of(&values).unwrap();
            assert!((value - expected).abs() < 1e-9, "{text}: {value}");
            assert!(rule.limit.holds(value), "{text}");
            assert_eq!(over.of(&[]), None);
        }
        assert_eq!((trend(&[3.0]), trend(&[2.0, 2.0, 2.0])), (0.0, 0.0));
        assert_eq!(Rule::parse("task.net(2).cpu_percent < 4").unwrap().over, None);
        assert_eq!(Rule::parse("p95(latency.a.max) < 4ms").unwrap().measured("net rx"), "p95(latency.\"net rx\".max_ms)");
        for (text, at, message) in [
            ("p101(losses) < 4", 0, "there is no statistic \"p101\"; there are: min, max"),
            ("mean(losses < 4", 11, "a closing bracket is missing"),
            ("mean(losses)", 12, "an operator is missing"),
            ("p95(task.filter.speed) < 1", 16, "there is no metric \"speed\""),
            ("change(losses) < 4 ms", 16, "ms is not a unit of a change"),
        ] {
            let error = Rule::parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(error.at, at, "{text}");
        }
    }
}
