//! A limit on a metric, as people write it: `task.control.cpu_percent < 40`.
//!
//! - The metric is `section.name.metric`; `losses`, `events` and the like have neither section nor name. A name with dots, spaces or operators in it is
//!   in double quotes and then means itself, with control characters as texts show them (`\n`, `\u{1b}`); in a name without, `*` and `?`
//!   match any letters and any letter.
//! - Times may be given in any unit: `max_ns`, `max_us`, `max_ms`, `max_s`; or the limit has it: `max < 20us`.
//! - Operators are `<`, `<=`, `>`, `>=`, `==`, `!=` and `in LOW..HIGH`, both ends included.
//! - A statistic over many recordings has a limit too: `p95(task.control.cpu_percent) < 40`, see [`Over`].

use super::figures::Figure;
use super::list::{self, Metric, Unit};
use super::nearest::nearest;
use super::runs::Over;

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// As it was written.
    pub text: String,
    /// The statistic over many recordings that is limited, if not each of them.
    pub over: Option<Over>,
    /// Whose.
    pub name: Pattern,
    /// The metric that is limited.
    pub metric: &'static Metric,
    /// The unit of the limit.
    pub scale: Scale,
    /// The condition that must hold.
    pub limit: Limit,
}

/// A unit of a metric: its name, and how many of the metric's own units it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// For people.
    pub symbol: &'static str,
    /// In units of the metric.
    pub factor: f64,
}

/// A condition for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Limit {
    Below(f64),
    AtMost(f64),
    Above(f64),
    AtLeast(f64),
    Equal(f64),
    Unequal(f64),
    Within(f64, f64),
}

impl Limit {
    /// Whether a value keeps to it.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Limit::Below(limit) => value < limit,
            Limit::AtMost(limit) => value <= limit,
            Limit::Above(limit) => value > limit,
            Limit::AtLeast(limit) => value >= limit,
            Limit::Equal(limit) => value == limit,
            Limit::Unequal(limit) => value != limit,
            Limit::Within(low, high) => (low..=high).contains(&value),
        }
    }

    /// How far a value is from breaking it; negative: how far beyond.
    #[must_use]
    pub fn margin(self, value: f64) -> f64 {
        match self {
            Limit::Below(limit) | Limit::AtMost(limit) => limit - value,
            Limit::Above(limit) | Limit::AtLeast(limit) => value - limit,
            Limit::Equal(limit) => -(value - limit).abs(),
            Limit::Unequal(limit) => (value - limit).abs(),
            Limit::Within(low, high) => (value - low).min(high - value),
        }
    }
}

/// Whose metric: a name, or those that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This name.
    Exactly(String),
    /// Names of this form: `*` is any letters, `?` any letter, a character after a backslash itself.
    Like(String),
}

impl Pattern {
    /// A name written without quotes.
    #[must_use]
    pub fn new(text: &str) -> Pattern {
        if text.contains(['*', '?', '\\']) { Pattern::Like(text.to_owned()) } else { Pattern::Exactly(text.to_owned()) }
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        match self {
            Pattern::Exactly(exactly) => exactly == name,
            Pattern::Like(pattern) => fits(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>()),
        }
    }

    /// Whether it means one name only.
    #[must_use]
    pub fn is_one(&self) -> bool {
        matches!(self, Pattern::Exactly(_))
    }
}

/// With one place to come back to: the last `*`, which then takes a letter more.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut index) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while index < name.len() {
        let (is_one, length) = match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, index));
                at += 1;
                continue;
            }
            Some('?') => (true, 1),
            Some('\\') if at + 1 < pattern.len() => (pattern[at + 1] == name[index], 2),
            Some(letter) => (*letter == name[index], 1),
            None => (false, 0),
        };
        if is_one {
            at += length;
            index += 1;
        } else if let Some((after, taken)) = retry {
            retry = Some((after, taken + 1));
            (at, index) = (after, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// Why a text is no rule. `at` is where in it, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// The error, and the expected form.
    pub message: String,
    /// Where.
    pub at: usize,
}

fn wrong<T>(at: usize, message: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError { message: message.into(), at })
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// When it is not a rule, or there is no such section or metric.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let Some((at, operator)) = find_operator(text) else {
            return wrong(text.len(), "an operator is missing: <, <=, >, >=, ==, != or in LOW..HIGH");
        };
        let (over, inner) = statistic(&text[..at])?;
        let mut segments = segments(&text[inner.clone()])?;
        segments.iter_mut().for_each(|segment| segment.at += inner.start);
        let target = Target { over, ..Target::of(&segments)? };
        target.limited(text, operator, &text[at + operator.len()..], at + operator.len())
    }

    /// Whether it limits a metric of this name.
    #[must_use]
    pub fn is_about(&self, metric: &Metric, name: &str) -> bool {
        *self.metric == *metric && (list::NAMELESS.contains(&metric.section) || self.name.fits(name))
    }

    /// What is measured of a name, in the rule's unit: `latency.control.max_us`, or `p95(latency.control.max_us)`.
    #[must_use]
    pub fn measured(&self, name: &str) -> String {
        let path = super::figures::path(self.metric, name);
        let path = match self.metric.unit {
            Unit::Nanoseconds if self.over.is_none_or(|over| !over.is_relative()) => {
                format!("{}_{}", path.trim_end_matches("_ns"), self.scale.symbol.replace('µ', "u"))
            }
            _ => path,
        };
        match self.text.split_once('(').filter(|_| self.over.is_some()) {
            Some((statistic, _)) => format!("{}({path})", statistic.trim()),
            None => path,
        }
    }

    /// Puts a rule together from the keys of a table and `text`, which has operator and limit.
    ///
    /// # Errors
    /// As [`Rule::parse`].
    pub fn of_keys(keys: &[&str], text: &str) -> Result<Rule, RuleError> {
        let segments: Vec<Segment> =
            keys.iter().map(|key| Segment { text: (*key).to_owned(), at: 0, is_quoted: false }).collect();
        let target = Target::of(&segments)?;
        let trimmed = text.trim_start();
        let start = text.len() - trimmed.len();
        let Some((0, operator)) = find_operator(trimmed) else {
            return wrong(start, "an operator is missing: <, <=, >, >=, ==, != or in LOW..HIGH");
        };
        let named = match keys {
            [first, middle @ .., last] if !middle.is_empty() => {
                let name = middle.join(".");
                let is_one = Pattern::new(&name).is_one();
                format!("{first}.{}.{last}", if is_one { super::figures::quoted(&name) } else { name })
            }
            keys => keys.join("."),
        };
        let given = &trimmed[operator.len()..];
        target.limited(&format!("{named} {}", text.trim()), operator, given, start + operator.len())
    }
}

/// Which figures are meant: `task.*.cpu_percent`, with times in any unit.
#[derive(Clone, Debug)]
pub struct Selector {
    name: Pattern,
    metric: &'static Metric,
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// When there is no such section or metric.
    pub fn parse(text: &str) -> Result<Selector, RuleError> {
        let Target { name, metric, .. } = Target::of(&segments(text)?)?;
        Ok(Selector { name, metric })
    }

    /// Whether it means a figure.
    #[must_use]
    pub fn fits(&self, figure: &Figure) -> bool {
        let is_nameless = list::NAMELESS.contains(&self.metric.section);
        figure.metric == self.metric && (is_nameless || self.name.fits(&figure.name))
    }
}

/// The statistic that the text before an operator is of, if any, and where its metric is.
fn statistic(text: &str) -> Result<(Option<Over>, std::ops::Range<usize>), RuleError> {
    let whole = (None, 0..text.len());
    let Some((name, _)) = text.split_once('(') else { return Ok(whole) };
    let Some(over) = Over::parse(name.trim()) else {
        // A name may have brackets; but then something with a dot is before it.
        return match name.contains(['.', '"']) {
            true => Ok(whole),
            false => wrong(0, format!("there is no statistic {:?}; there are: {}", name.trim(), Over::NAMES)),
        };
    };
    let end = text.trim_end().len();
    match text[..end].ends_with(')') {
        true => Ok((Some(over), name.len() + 1..end - 1)),
        false => wrong(end, "a closing bracket is missing"),
    }
}

/// The metrics that a rule limits.
struct Target {
    over: Option<Over>,
    name: Pattern,
    metric: &'static Metric,
    /// None: a time without unit.
    scale: Option<Scale>,
    given: Segment,
}

impl Target {
    fn of(segments: &[Segment]) -> Result<Target, RuleError> {
        let Some(last) = segments.last() else { return wrong(0, "a metric is missing before the operator") };
        let section = if segments.len() == 1 { "" } else { segments[0].text.as_str() };
        if list::of_section(section).is_empty() {
            let sections: Vec<&str> = list::SECTIONS.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
            let hint = nearest(section, sections.iter().copied()).map_or(String::new(), |near| format!(", perhaps {near}"));
            return wrong(segments[0].at, format!("there is no section {section:?}{hint}; there are: {}", sections.join(", ")));
        }
        let needs_name = !list::NAMELESS.contains(&section);
        let names = segments.get(1..segments.len() - 1).unwrap_or(&[]);
        if needs_name && names.is_empty() {
            return wrong(last.at, format!("a name is missing: {section}.NAME.{}", last.text));
        }
        if !needs_name && !names.is_empty() {
            return wrong(names[0].at, format!("{section:?} has no names: {section}.{}", last.text));
        }
        let name = match names {
            [one] if one.is_quoted => Pattern::Exactly(one.text.clone()),
            names => Pattern::new(&names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(".")),
        };
        let (metric, scale) = metric(section, last)?;
        Ok(Target { over: None, name, metric, scale, given: last.clone() })
    }

    fn limited(self, text: &str, operator: &str, given: &str, given_at: usize) -> Result<Rule, RuleError> {
        let Target { over, name, metric, scale, given: last } = self;
        let (limit, given_unit) = limit(operator, given, given_at)?;
        let scale = match (scale, given_unit) {
            (_, None | Some("%")) if over.is_some_and(Over::is_relative) => Scale { symbol: "%", factor: 1.0 },
            (_, Some(unit)) if over.is_some_and(Over::is_relative) => {
                return wrong(given_at, format!("{unit} is not a unit of a change or trend, which is in per cent"));
            }
            (Some(scale), None) => scale,
            (None, None) => {
                return wrong(last.at, format!("a unit is missing: {0}_ns, {0}_us, {0}_ms or {0}_s", last.text));
            }
            (_, Some(unit)) => match scale_of(metric.unit, unit) {
                Some(scale) => scale,
                None => {
                    let own = metric.unit.symbol();
                    return wrong(given_at, format!("{unit} is not a unit of {}, which has {own:?}", metric.full_name()));
                }
            },
        };
        Ok(Rule { text: text.trim().to_owned(), over, name, metric, scale, limit })
    }
}

/// A part of a dotted name.
#[derive(Clone)]
struct Segment {
    text: String,
    at: usize,
    is_quoted: bool,
}

/// The first operator that is not in quotes.
fn find_operator(text: &str) -> Option<(usize, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '<' | '>' | '=' | '!' => {
                let two = text.get(at..at + 2).filter(|two| ["<=", ">=", "==", "!="].contains(two));
                // A single `=` is not an operator, but was meant as one: it is reported with the limit.
                return Some((at, two.unwrap_or(&text[at..=at])));
            }
            // A name may have this word in it.
            'i' if text[at..].starts_with("in ")
                && text[at..].contains("..")
                && (at == 0 || text[..at].ends_with(char::is_whitespace)) =>
            {
                return Some((at, &text[at..at + 2]));
            }
            _ => {}
        }
    }
    None
}

fn segments(text: &str) -> Result<Vec<Segment>, RuleError> {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let at = text.len() - trimmed.len();
        let segment = if let Some(quoted) = trimmed.strip_prefix('"') {
            let mut name = String::new();
            let mut letters = quoted.char_indices();
            let end = loop {
                match letters.next() {
                    Some((end, '"')) => break end,
                    Some((_, '\\')) => name.extend(unescaped(&mut letters)),
                    Some((_, letter)) => name.push(letter),
                    None => return wrong(at, "a quotation mark is missing"),
                }
            };
            rest = quoted[end + 1..].trim_start();
            if !rest.is_empty() && !rest.starts_with('.') {
                return wrong(text.len() - rest.len(), "a dot is missing after the quoted name");
            }
            Segment { text: name, at, is_quoted: true }
        } else {
            let end = trimmed.find('.').unwrap_or(trimmed.len());
            rest = &trimmed[end..];
            Segment { text: trimmed[..end].trim_end().to_owned(), at, is_quoted: false }
        };
        if segment.text.is_empty() {
            return wrong(at, "a part of the metric's name is empty");
        }
        all.push(segment);
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return Ok(all),
        }
    }
}

/// The letter that is written after a backslash: those that [`visible`](crate::stats::text::visible) escapes, or itself.
fn unescaped(letters: &mut std::str::CharIndices<'_>) -> Option<char> {
    let (_, letter) = letters.next()?;
    match letter {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => {
            let code = letters.as_str().strip_prefix('{').and_then(|rest| Some(rest.split_once('}')?.0));
            let Some(of_code) = code.and_then(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)) else {
                return Some('u');
            };
            letters.by_ref().find(|&(_, letter)| letter == '}');
            Some(of_code)
        }
        letter => Some(letter),
    }
}

/// The metric of this name, and the unit in the name; none for a time without unit.
fn metric(section: &str, given: &Segment) -> Result<(&'static Metric, Option<Scale>), RuleError> {
    let metrics = list::of_section(section);
    if let Some(metric) = metrics.iter().find(|metric| metric.full_name() == given.text) {
        return Ok((metric, scale_of(metric.unit, metric.unit.symbol())));
    }
    let times = metrics.iter().filter(|metric| metric.unit == Unit::Nanoseconds);
    for metric in times {
        match given.text.strip_prefix(metric.name) {
            Some("") => return Ok((metric, None)),
            Some(suffix) => {
                if let Some(scale) = suffix.strip_prefix('_').and_then(|unit| scale_of(Unit::Nanoseconds, unit)) {
                    return Ok((metric, Some(scale)));
                }
            }
            None => {}
        }
    }
    let names: Vec<String> = metrics.iter().map(|metric| metric.full_name()).collect();
    // A slip in the name is found with any unit.
    let stem = ["_us", "_ms", "_s"].iter().find_map(|unit| given.text.strip_suffix(unit).map(|stem| format!("{stem}_ns")));
    let near = nearest(&given.text, names.iter().map(String::as_str))
        .or_else(|| stem.as_ref().and_then(|stem| nearest(stem, names.iter().map(String::as_str))))
        .or_else(|| {
            names.iter().find(|name| name.strip_prefix(&given.text).is_some_and(|unit| unit.starts_with('_'))).map(String::as_str)
        });
    let hint = near.map_or(String::new(), |near| format!(", perhaps {near}"));
    let whose = if section.is_empty() { "of a recording".into() } else { format!("of {section}") };
    let message = format!("there is no metric {:?} {whose}{hint}; there are: {}", given.text, names.join(", "));
    wrong(given.at, message)
}

/// A unit in which a metric may be given.
fn scale_of(unit: Unit, given: &str) -> Option<Scale> {
    const UNITS: [(Unit, &str, f64); 14] = [
        (Unit::Nanoseconds, "ns", 1.0),
        (Unit::Nanoseconds, "us", 1e3),
        (Unit::Nanoseconds, "µs", 1e3),
        (Unit::Nanoseconds, "ms", 1e6),
        (Unit::Nanoseconds, "s", 1e9),
        (Unit::Percent, "%", 1.0),
        (Unit::Hertz, "Hz", 1.0),
        (Unit::Hertz, "kHz", 1e3),
        (Unit::Bytes, "bytes", 1.0),
        (Unit::Bytes, "B", 1.0),
        (Unit::Bytes, "KiB", 1024.0),
        (Unit::Bytes, "MiB", 1_048_576.0),
        (Unit::Count, "count", 1.0),
        (Unit::Unknown, "", 1.0),
    ];
    let found = UNITS.iter().find(|(of, symbol, _)| *of == unit && *symbol == given)?;
    Some(Scale { symbol: if found.0 == Unit::Count { "" } else { found.1 }, factor: found.2 })
}

fn limit<'a>(operator: &str, given: &'a str, at: usize) -> Result<(Limit, Option<&'a str>), RuleError> {
    let make = match operator {
        "<" => Limit::Below,
        "<=" => Limit::AtMost,
        ">" => Limit::Above,
        ">=" => Limit::AtLeast,
        "==" => Limit::Equal,
        "!=" => Limit::Unequal,
        "in" => {
            let Some((low, high)) = given.split_once("..") else {
                return wrong(at, "a range is expected after `in`: in LOW..HIGH");
            };
            let ((low, low_unit), (high, high_unit)) = (number(low, at)?, number(high.trim_start_matches('='), at)?);
            if low_unit.is_some_and(|unit| Some(unit) != high_unit) {
                return wrong(at, "both ends of a range are given in one unit");
            }
            if low > high {
                return wrong(at, "nothing lies in this range: its first number is the greater one");
            }
            return Ok((Limit::Within(low, high), high_unit));
        }
        operator => return wrong(at - operator.len(), format!("{operator:?} is no operator: <, <=, >, >=, ==, != or in")),
    };
    let (value, unit) = number(given, at)?;
    Ok((make(value), unit))
}

/// A number, perhaps followed by a unit.
fn number(given: &str, at: usize) -> Result<(f64, Option<&str>), RuleError> {
    let given = given.trim();
    if given.is_empty() {
        return wrong(at, "a number is missing");
    }
    let end = given.find(|letter: char| !(letter.is_ascii_digit() || "+-._".contains(letter))).unwrap_or(given.len());
    let value = given[..end].replace('_', "").parse::<f64>().ok().filter(|value| value.is_finite());
    match value {
        Some(value) => Ok((value, Some(given[end..].trim()).filter(|unit| !unit.is_empty()))),
        None => wrong(at, format!("{given:?} is not a number, with or without a unit")),
    }
}
