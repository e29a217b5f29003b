//! A baseline: the figures of several runs of the same, each with its mean and how much it differs from run to run.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::figures::{Figure, Runs};
use super::list;
use crate::stats::report::Number;

/// The version of the shape of a [`BaselineFile`]. A field that is added does not change it.
pub const BASELINE_SCHEMA_VERSION: u32 = 1;

/// A baseline as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BaselineFile {
    /// [`BASELINE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of the program that wrote it.
    pub tool_version: String,
    /// How many runs it is of.
    pub runs: u64,
    /// The names of the recordings.
    pub inputs: Vec<String>,
    /// What is doubtful about the times of the runs, as findings are reported, each once.
    #[serde(default)]
    pub findings: Vec<serde_json::Value>,
    /// One for each metric of each thing, in the order of the first run that has it.
    pub figures: Vec<BaselineFigure>,
}

/// A metric in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BaselineFigure {
    /// The kind of thing; empty of the recording as a whole.
    pub section: String,
    /// Its name; empty if the section has none.
    pub name: String,
    /// The metric with its unit: `cpu_percent`.
    pub metric: String,
    /// The mean of all runs that have it.
    pub mean: f64,
    /// The standard deviation between runs; 0 of one run.
    pub stddev: f64,
    /// The least value of a run.
    pub min: f64,
    /// The greatest value of a run.
    pub max: f64,
    /// How many runs have it.
    pub count: u64,
    /// Of one run: the standard error of its value, if that is known.
    #[serde(default)]
    pub uncertainty: Option<f64>,
}

impl BaselineFile {
    /// The baseline of these runs: the name of each recording, and its figures.
    #[must_use]
    pub fn new(tool_version: &str, runs: &[(String, Vec<Figure>)]) -> BaselineFile {
        let mut order: Vec<(String, String, String)> = Vec::new();
        let mut values: HashMap<(String, String, String), Vec<&Figure>> = HashMap::new();
        for figure in runs.iter().flat_map(|(_, figures)| figures) {
            let key = (figure.metric.section.to_owned(), figure.name.clone(), figure.metric.full_name());
            let of_key = values.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                Vec::new()
            });
            of_key.push(figure);
        }
        let figure = |key: (String, String, String)| {
            let figures = values.get(&key).map(Vec::as_slice).unwrap_or_default();
            let values: Vec<f64> = figures.iter().map(|figure| figure.value.as_f64()).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
            let (section, name, metric) = key;
            BaselineFigure {
                section,
                name,
                metric,
                mean,
                stddev: if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
                max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                count: values.len() as u64,
                uncertainty: if let [one] = figures { one.uncertainty } else { None },
            }
        };
        BaselineFile {
            schema_version: BASELINE_SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            runs: runs.len() as u64,
            inputs: runs.iter().map(|(name, _)| name.clone()).collect(),
            findings: Vec::new(),
            figures: order.into_iter().map(figure).collect(),
        }
    }

    /// The figures, each with its mean as value. Metrics that this version does not know are left out.
    #[must_use]
    pub fn into_figures(self) -> Vec<Figure> {
        let figure = |of: BaselineFigure| {
            let metric = list::of_section(&of.section).into_iter().find(|metric| metric.full_name() == of.metric)?;
            let runs = Some(Runs { count: of.count, stddev: of.stddev });
            Some(Figure { runs, uncertainty: of.uncertainty, ..Figure::new(metric, of.name, Number::Real(of.mean)) })
        };
        self.figures.into_iter().filter_map(figure).collect()
    }
}
