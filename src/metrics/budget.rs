//! A budget: a TOML file of rules.
//!
//! ```toml
//! rules = [
//!     "losses == 0",
//!     'latency."net rx".p99_us < 500',
//!     { rule = "task.*.cpu_percent < 90", name = "room to breathe", reason = "the watchdog needs 10 %", optional = true },
//! ]
//!
//! [isr.USART1]
//! max_us = "< 20"
//! ```

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::list;
use super::nearest::nearest;
use super::rule::{Rule, RuleError};

/// The rules of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Budget {
    /// The rules.
    pub limits: Vec<BudgetRule>,
}

/// A rule, with its name and place in the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BudgetRule {
    /// The limit.
    pub rule: Rule,
    /// Its name.
    pub name: Option<String>,
    /// Why it is there.
    pub reason: Option<String>,
    /// Whether nothing is wrong if there is nothing in the recording that it limits.
    pub is_optional: bool,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// An error in a file, with its place: line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
#[non_exhaustive]
pub struct BudgetError {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// The error.
    pub message: String,
}

impl Budget {
    /// Reads a file's text.
    ///
    /// # Errors
    /// When it is not TOML, or something in it is no rule.
    pub fn parse(text: &str) -> Result<Budget, BudgetError> {
        let reader = Reader { text };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(text.len(), |span| span.start);
            reader.error(at, error.message().trim().to_owned())
        })?;
        let mut rules = Vec::new();
        for (key, value) in table.get_ref().iter() {
            if key.get_ref().as_ref() == "rules" {
                reader.list(value, &mut rules)?;
            } else if key.get_ref().as_ref() == "rule" {
                return Err(reader.error(key.span().start, "there is no `rule` in a budget, perhaps `rules`".into()));
            } else {
                reader.table(&mut vec![key.get_ref()], (key.span().start, value), &mut rules)?;
            }
        }
        if rules.is_empty() {
            return Err(reader.error(0, "there is no rule in it: rules = [\"losses == 0\"]".into()));
        }
        // A table keeps its keys in order of the alphabet.
        rules.sort_by_key(|(at, _)| *at);
        Ok(Budget { limits: rules.into_iter().map(|(_, rule)| rule).collect() })
    }
}

struct Reader<'a> {
    text: &'a str,
}

type NumberedRules = Vec<(usize, BudgetRule)>;

impl Reader<'_> {
    fn error(&self, at: usize, message: String) -> BudgetError {
        let (line, column) = self.place(at);
        BudgetError { line, column, message }
    }

    fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// The place of a letter of a string, which begins after its quotation mark; approximate if it has escapes.
    fn rule_error(&self, value: &Spanned<DeValue<'_>>, error: RuleError) -> BudgetError {
        let span = value.span();
        let raw = self.text.get(span.clone()).unwrap_or("");
        let marks = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
        let is_plain = value.get_ref().as_str().is_some_and(|text| raw.get(marks..marks + text.len()) == Some(text));
        self.error(if is_plain { span.start + marks + error.at } else { span.start }, error.message)
    }

    fn list(&self, value: &Spanned<DeValue<'_>>, rules: &mut NumberedRules) -> Result<(), BudgetError> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.error(value.span().start, "`rules` is a list: rules = [\"losses == 0\"]".into()));
        };
        for entry in list.iter() {
            let at = entry.span().start;
            match entry.get_ref() {
                DeValue::String(text) => {
                    let rule = Rule::parse(text).map_err(|error| self.rule_error(entry, error))?;
                    rules.push(self.plain(at, rule));
                }
                DeValue::Table(table) => rules.push(self.described(at, table)?),
                _ => return Err(self.error(at, "a rule is a text, or a table with `rule`".into())),
            }
        }
        Ok(())
    }

    fn plain(&self, at: usize, rule: Rule) -> (usize, BudgetRule) {
        let (line, _) = self.place(at);
        (at, BudgetRule { rule, name: None, reason: None, is_optional: false, line })
    }

    fn described(&self, at: usize, table: &DeTable<'_>) -> Result<(usize, BudgetRule), BudgetError> {
        const KEYS: [&str; 4] = ["rule", "name", "reason", "optional"];
        let mut rule = None;
        let (mut name, mut reason, mut is_optional) = (None, None, false);
        for (key, value) in table.iter() {
            let text = || {
                let text = value.get_ref().as_str().map(str::to_owned);
                text.ok_or_else(|| self.error(value.span().start, format!("`{}` is a text", key.get_ref())))
            };
            match key.get_ref().as_ref() {
                "rule" => rule = Some(Rule::parse(&text()?).map_err(|error| self.rule_error(value, error))?),
                "name" => name = Some(text()?),
                "reason" => reason = Some(text()?),
                "optional" => {
                    let given = value.get_ref().as_bool();
                    is_optional = given.ok_or_else(|| self.error(value.span().start, "`optional` is true or false".into()))?;
                }
                other => {
                    let hint = nearest(other, KEYS).map_or(String::new(), |near| format!(", perhaps `{near}`"));
                    let message = format!("a rule has no `{other}`{hint}; it has `rule`, `name`, `reason` and `optional`");
                    return Err(self.error(key.span().start, message));
                }
            }
        }
        let Some(rule) = rule else { return Err(self.error(at, "`rule` is missing".into())) };
        let (line, _) = self.place(at);
        Ok((at, BudgetRule { rule, name, reason, is_optional, line }))
    }

    /// A table `[section.name]` with `metric = "limit"`.
    fn table<'t>(
        &self,
        keys: &mut Vec<&'t str>,
        (key_at, value): (usize, &'t Spanned<DeValue<'_>>),
        rules: &mut NumberedRules,
    ) -> Result<(), BudgetError> {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (key, value) in table.iter() {
                    keys.push(key.get_ref());
                    self.table(keys, (key.span().start, value), rules)?;
                    keys.pop();
                }
                Ok(())
            }
            DeValue::Array(limits) => {
                for limit in limits.iter() {
                    self.table(keys, (key_at, limit), rules)?;
                }
                Ok(())
            }
            DeValue::String(text) => {
                let rule = Rule::of_keys(keys, text).map_err(|error| match error.at {
                    // It is about the keys, which are not in the text.
                    0 => self.error(key_at, error.message),
                    _ => self.rule_error(value, error),
                })?;
                rules.push(self.plain(key_at, rule));
                Ok(())
            }
            _ => {
                let known = list::SECTIONS.iter().any(|(section, _)| keys.first() == Some(section));
                let message = match known || keys.len() > 1 {
                    true => "a limit is a text with an operator: max_us = \"< 20\"".to_owned(),
                    false => {
                        format!("there is no `{}` in a budget; there are `rules`, and tables [section.name]", keys.join("."))
                    }
                };
                Err(self.error(key_at, message))
            }
        }
    }
}
