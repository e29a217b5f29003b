//! Metrics: the statistics of a recording as named numbers.
//!
//! - [`list`]: the one list of all metrics, with their units and which direction is worse; [`mod@figures`]: their values in a recording;
//! - [`csv`]: all of them as one long table;
//! - [`rule`]: a limit on a metric, as people write it; [`budget`]: a file of rules; [`check`]: the result of the rules for a recording;
//! - [`runs`]: statistics over many runs, and since when a metric has moved;
//! - [`saved`]: statistics that were saved as JSON; [`baseline`]: those of several runs; [`diff`]: two recordings side by side; [`text`]: both for people.
//!
//! A figure is named `section.name.metric_unit`, as `task.sensor.cpu_percent`. Things of the same name in a recording (a task that was
//! created again, an interrupt on two cores, another session of the target) is one.

pub mod baseline;
pub mod budget;
pub mod check;
pub mod csv;
pub mod diff;
pub mod figures;
pub mod list;
pub mod nearest;
pub mod rule;
pub mod runs;
pub mod saved;
#[cfg(test)]
mod tests;
pub mod text;

pub use figures::{Figure, Losses, figures};
pub use list::{Metric, Nature, Unit, Worse};
