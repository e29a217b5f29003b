//! `docs/reference/metrics.md`: all metrics, from their list.

use std::fmt::Write;
use std::path::Path;

use traceconv::metrics::{Nature, Worse, list};

use super::hold;

#[test]
fn the_page_of_metrics_is_fresh() {
    let mut page = String::from(
        "<!-- Generated from src/metrics/list.rs: `TRACECONV_BLESS=1 cargo test --test book` -->\n\n\
         # Metrics\n\n\
         A metric is one number of a recording's statistics, named `section.name.metric`, as `task.sensor.cpu_percent`. These are the \
         names that\n`traceconv check` limits, `traceconv diff` compares and `traceconv stats --csv` lists; `traceconv check --metrics` \
         prints this list.\n\n\
         Things with the same name in a recording are one: a task that was created again, an interrupt on two cores, another session of \
         the target.\nSums add up, extremes are those of all, and of medians and P99 the greatest is taken. Spans, values and messages of \
         an owner are called\n`owner/name`.\n\n\
         The unit is the end of the name: `_ns` (rules may write `_us`, `_ms`, `_s` as well), `_percent`, `_hz`, `_bytes`; metrics without \
         one are counts.\n\n\
         **Worse**: the direction in which a change is a change for the worse, for `diff`. **Compared**: whether `diff` compares it; sums \
         grow with the\nlength of a recording and are not.\n",
    );
    for (section, what) in list::SECTIONS {
        let title = if section.is_empty() { "The recording".to_owned() } else { format!("`{section}`") };
        let what = if section.is_empty() { "These have neither section nor name, as in `losses == 0`" } else { what };
        let _ =
            write!(page, "\n## {title}\n\n{}.\n\n| Metric | Meaning | Worse | Compared |\n|---|---|---|---|\n", capital(what));
        for metric in list::of_section(section) {
            let worse = match metric.worse {
                Worse::More => "more",
                Worse::Less => "less",
                Worse::Neither => "",
            };
            let compared = if metric.nature == Nature::Sum { "" } else { "yes" };
            let _ = writeln!(page, "| `{}` | {} | {worse} | {compared} |", metric.full_name(), metric.text);
        }
    }
    hold(Path::new("docs/reference/metrics.md"), &page);
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
