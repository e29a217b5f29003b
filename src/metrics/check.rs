//! The result of a budget for a recording: a verdict for each rule.

use serde::Serialize;

use super::budget::{Budget, BudgetRule};
use super::figures::{Figure, quoted};
use super::list;
use super::nearest::nearest;
use super::rule::{Limit, Pattern};
use super::runs::Over;

/// How many names are listed where one is not found.
const LISTED_NAMES: usize = 12;

/// The verdict on a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// It is kept.
    Kept,
    /// It is broken.
    Broken,
    /// There is nothing in the recording that it limits; that counts as broken.
    Missing,
    /// The same, but it is optional.
    Skipped,
}

/// A rule's verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The rule as it was written.
    pub rule: String,
    /// Its name in the budget.
    pub name: Option<String>,
    /// Why it is there.
    pub reason: Option<String>,
    /// Its line in the budget.
    pub line: usize,
    /// The verdict on it.
    pub outcome: Outcome,
    /// The unit of limits, values and margins.
    pub unit: &'static str,
    /// The limit; of a range the lower end.
    pub limit: f64,
    /// Of a range the upper end.
    pub limit_high: Option<f64>,
    /// How many things it limits in the recording.
    pub measured: usize,
    /// Those that break it, the worst first; if none does, the one that comes closest.
    pub values: Vec<Measured>,
    /// Why there is nothing that it limits.
    pub missing: Option<String>,
}

/// A value and its distance from the limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// Whose, as rules call it: `task.sensor.cpu_percent`.
    pub metric: String,
    /// The name alone; empty if it has none.
    pub name: String,
    /// The value, in the rule's unit.
    pub value: f64,
    /// How far it is from breaking the rule; negative: how far beyond.
    pub margin: f64,
}

impl Verdict {
    /// Whether it counts as broken.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(self.outcome, Outcome::Broken | Outcome::Missing)
    }
}

/// The verdict of each rule, in the budget's order.
#[must_use]
pub fn check(budget: &Budget, figures: &[Figure]) -> Vec<Verdict> {
    budget.limits.iter().map(|limit| verdict(limit, figures)).collect()
}

/// A value that a rule limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Whose, as rules call it.
    pub metric: String,
    /// The name alone; empty if it has none.
    pub name: String,
    /// The value, in the rule's unit.
    pub value: f64,
}

fn verdict(limit: &BudgetRule, figures: &[Figure]) -> Verdict {
    let rule = &limit.rule;
    let candidate = |figure: &Figure| {
        // A recording alone is a run without others: its statistics are its value, and nothing has moved.
        let is_relative = rule.over.is_some_and(Over::is_relative);
        let value = if is_relative { 0.0 } else { figure.value.as_f64() / rule.scale.factor };
        Candidate { metric: rule.measured(&figure.name), name: figure.name.clone(), value }
    };
    let candidates = figures.iter().filter(|figure| rule.is_about(figure.metric, &figure.name)).map(candidate).collect();
    let mut names: Vec<&str> =
        figures.iter().filter(|figure| figure.metric.section == rule.metric.section).map(|figure| figure.name.as_str()).collect();
    names.dedup();
    judge(limit, candidates, &names)
}

/// The verdict on a rule that limits these values. `names` are all that there are in the section of its metric.
#[must_use]
pub fn judge(limit: &BudgetRule, candidates: Vec<Candidate>, names: &[&str]) -> Verdict {
    let rule = &limit.rule;
    let measured = candidates.len();
    let broken = candidates.iter().filter(|candidate| !rule.limit.holds(candidate.value)).count();
    let measure = |Candidate { metric, name, value }| Measured { metric, name, value, margin: rule.limit.margin(value) };
    let mut values: Vec<Measured> = candidates.into_iter().map(measure).collect();
    // The margin of a value that breaks `!=`, or is the limit itself, is 0: broken rules come first all the same.
    values.sort_by(|one, other| {
        let holds = |of: &Measured| rule.limit.holds(of.value);
        // A value may be no number.
        holds(one).cmp(&holds(other)).then(one.margin.total_cmp(&other.margin))
    });
    values.truncate(broken.max(1));
    let (bound, bound_high) = match rule.limit {
        Limit::Within(low, high) => (low, Some(high)),
        Limit::Below(limit)
        | Limit::AtMost(limit)
        | Limit::Above(limit)
        | Limit::AtLeast(limit)
        | Limit::Equal(limit)
        | Limit::Unequal(limit) => (limit, None),
    };
    let outcome = match (measured, broken) {
        (0, _) if limit.is_optional => Outcome::Skipped,
        (0, _) => Outcome::Missing,
        (_, 0) => Outcome::Kept,
        _ => Outcome::Broken,
    };
    Verdict {
        rule: rule.text.clone(),
        name: limit.name.clone(),
        reason: limit.reason.clone(),
        line: limit.line,
        outcome,
        unit: rule.scale.symbol,
        limit: bound,
        limit_high: bound_high,
        measured,
        values,
        missing: (measured == 0).then(|| why_missing(limit, names)),
    }
}

fn why_missing(limit: &BudgetRule, names: &[&str]) -> String {
    let (rule, metric) = (&limit.rule, limit.rule.metric.full_name());
    let section = rule.metric.section;
    if list::NAMELESS.contains(&section) {
        return format!("the recording has no {section} {metric}").replace("  ", " ");
    }
    if names.is_empty() {
        return format!("nothing of the kind {section:?} is in the recording");
    }
    let known = names.iter().any(|name| rule.name.fits(name));
    let (Pattern::Exactly(name) | Pattern::Like(name)) = &rule.name;
    if known {
        return format!("{section} {} has no {metric} in the recording", quoted(name));
    }
    let listed: Vec<String> = names.iter().take(LISTED_NAMES).map(|name| quoted(name)).collect();
    let more = names.len().saturating_sub(LISTED_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let hint = nearest(name, names.iter().copied()).map_or(String::new(), |near| format!(", perhaps {}", quoted(near)));
    let such = if rule.name.is_one() { format!("no {section} {}", quoted(name)) } else { format!("no {section} like {name}") };
    format!("{such} in the recording{hint}; there are: {}{more}", listed.join(", "))
}
