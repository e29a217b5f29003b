//! A metric over many runs: statistics with limits, as in `p95(task.filter.cpu_percent) < 4`, and the run since which it has moved.
//!
//! The change is found by Pettitt's test (A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28,
//! 1979): it compares ranks, so that neither outliers nor the shape of the distribution matter, and gives the probability that runs
//! without a change look like these.

use super::rule::{Rule, RuleError};

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
}

/// A limit on a statistic.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunsRule {
    /// As it was written.
    pub text: String,
    /// The statistic.
    pub over: Over,
    /// Of which metrics, and its limit.
    pub rule: Rule,
}

/// A change is stated with at least this confidence.
pub const CONFIDENCE: f64 = 0.99;

impl RunsRule {
    /// Reads a rule: `min`, `max`, `mean`, `median`, `p95` (any per cent) or `change` of a metric, and a limit. The limit of `change` is in per
    /// cent, whatever the unit of the metric.
    ///
    /// # Errors
    /// When it is not a rule, or there is no such statistic or metric.
    pub fn parse(text: &str) -> Result<RunsRule, RuleError> {
        let wrong = |message: &str| RuleError { at: 0, message: message.to_owned() };
        let expected =
            "a statistic of a metric is expected: min, max, mean, median, p95 or change, as in p95(task.filter.cpu_percent) < 4";
        let (name, rest) = text.trim_start().split_once('(').ok_or_else(|| wrong(expected))?;
        // The last one: a name in quotes may have brackets.
        let (metric, limit) = rest.rsplit_once(')').ok_or_else(|| wrong("a closing bracket is missing"))?;
        let percentile = |name: &str| name.strip_prefix('p')?.parse().ok().filter(|share| (0.0..=100.0).contains(share));
        let over = match name.trim() {
            "min" => Over::Min,
            "max" => Over::Max,
            "mean" => Over::Mean,
            "median" => Over::Percentile(50.0),
            "change" => Over::Change,
            name => Over::Percentile(percentile(name).ok_or_else(|| wrong(expected))?),
        };
        let rule = Rule::parse(&format!("{metric} {limit}"))?;
        Ok(RunsRule { text: text.trim().to_owned(), over, rule })
    }
}

impl Over {
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
        })
    }
}

fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    let rank = ((share / 100.0 * values.len() as f64).ceil() as usize).clamp(1, values.len().max(1));
    let (_, value, _) = sorted.select_nth_unstable_by(rank.checked_sub(1)?, f64::total_cmp);
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
    let (mut at, mut most) = (0, 0);
    for (index, rank) in ranks.iter().enumerate() {
        sum += rank - (count as i64 + 1);
        if sum.abs() > most {
            (at, most) = (index + 1, sum.abs());
        }
    }
    let (before, since) = values.split_at(at);
    let (n, most) = (count as f64, most as f64);
    let log_probability = std::f64::consts::LN_2 - 6.0 * most * most / (n * n * n + n * n);
    Some(Change { at, before: percentile(before, 50.0)?, since: percentile(since, 50.0)?, log_probability })
}

#[cfg(test)]
mod tests {
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
    fn statistics_have_limits() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        for (text, expected) in [
            ("min(task.filter.cpu_percent) > 0", 1.0),
            ("max(task.filter.cpu_percent) < 101", 100.0),
            ("mean(task.filter.cpu_percent) < 51", 50.5),
            ("median(task.\"net rx (2)\".cpu_percent) <= 50", 50.0),
            ("p95(task.*.cpu_percent) < 96", 95.0),
            (" p99.5( task.filter.cpu_percent ) < 101", 100.0),
        ] {
            let rule = RunsRule::parse(text).unwrap();
            let value = rule.over.of(&values).unwrap();
            assert_eq!(value, expected, "{text}");
            assert!(rule.rule.limit.holds(value), "{text}");
            assert_eq!(rule.over.of(&[]), None);
        }
        for (text, message) in [
            ("task.filter.cpu_percent < 4", "a statistic of a metric is expected"),
            ("p101(losses) < 4", "a statistic of a metric is expected"),
            ("mean(losses < 4", "a closing bracket is missing"),
            ("mean(losses)", "an operator is missing"),
        ] {
            let error = RunsRule::parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
        }
    }
}
