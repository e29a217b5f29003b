//! The converter as WebAssembly: one request in JSON, one reply in JSON, traces and the files of archives handed out piece by piece.
//!
//! The host (`web/engine.js`) gives the functions in [`host`] and calls [`run`]. One instance does one request; its memory goes with
//! it. Requests and replies are described by `web/types.d.ts`.

mod choose;
mod host;
mod inspect;
mod unpack;
mod work;

use serde::{Deserialize, Serialize};
use serde_json::json;
use traceconv::format::{FORMATS, OptionKind, OptionSpec};
use traceconv::metrics::budget::Budget;
use traceconv::metrics::diff::{Diff, DiffOptions, diff};
use traceconv::metrics::{Figure, check, saved, text};

/// The task of a request.
#[derive(Deserialize)]
struct Task {
    #[serde(rename = "do")]
    name: String,
}

/// The verdict of a budget on saved statistics is wanted.
#[derive(Deserialize)]
struct Check {
    budget: String,
    statistics: String,
}

/// The differences between two recordings, of which the statistics were saved, are wanted.
#[derive(Deserialize)]
struct Compare {
    base: String,
    new: String,
}

/// Why there is no answer, as a sentence.
type Problem = Box<dyn std::error::Error>;

/// Does the request of this length that the host has ready, and replies.
// SAFETY: no other function of this module is exported under this name.
#[unsafe(no_mangle)]
pub extern "C" fn run(request_bytes: usize) {
    std::panic::set_hook(Box::new(|panic| host::fail(&panic.to_string())));
    match answer(&host::request(request_bytes)) {
        Ok(reply) => host::reply(&reply),
        Err(problem) => host::reply(&json!({ "error": problem.to_string() }).to_string()),
    }
}

/// The reply to a request. Types are written as text at once, and not as values before: code for both would be twice as large.
fn answer(request: &[u8]) -> Result<String, Problem> {
    let Task { name } = serde_json::from_slice(request)?;
    match name.as_str() {
        "formats" => json_of(&Formats::new()),
        "inspect" => json_of(&serde_json::from_slice::<inspect::Inspect>(request)?.answer()?),
        "unpack" => json_of(&serde_json::from_slice::<unpack::Unpack>(request)?.answer()?),
        "choose" => json_of(&serde_json::from_slice::<choose::Choose>(request)?.answer()?),
        "convert" => json_of(&serde_json::from_slice::<work::Convert>(request)?.answer()?),
        "check" => {
            let Check { budget, statistics } = serde_json::from_slice(request)?;
            let budget = Budget::parse(&budget)?;
            let verdicts = check::check(&budget, &saved_figures(&statistics)?);
            json_of(&CheckReply { summary: text::verdict_summary(&verdicts), verdicts })
        }
        "diff" => {
            let Compare { base, new } = serde_json::from_slice(request)?;
            let diff = diff(&saved_figures(&base)?, &saved_figures(&new)?, &DiffOptions::default());
            json_of(&DiffReply { summary: text::difference_summary(&diff), worst: text::worst(&diff), diff })
        }
        other => Err(format!("there is no task {other}").into()),
    }
}

fn json_of(reply: &impl Serialize) -> Result<String, Problem> {
    Ok(serde_json::to_string(reply)?)
}

fn saved_figures(statistics: &str) -> Result<Vec<Figure>, Problem> {
    Ok(saved::read(statistics.as_bytes())?.figures)
}

/// An option of a format, for a form.
#[derive(Serialize)]
struct OptionReply {
    name: &'static str,
    kind: &'static str,
    /// The name of its value; `null` for flags.
    value: Option<&'static str>,
    repeatable: bool,
    help: &'static str,
}

impl From<&OptionSpec> for OptionReply {
    fn from(spec: &OptionSpec) -> OptionReply {
        let (kind, value) = match spec.kind {
            OptionKind::Flag => ("flag", None),
            OptionKind::Text(value) => ("text", Some(value)),
            OptionKind::File(value) => ("file", Some(value)),
        };
        OptionReply { name: spec.name, kind, value, repeatable: spec.repeatable, help: spec.help }
    }
}

/// A format, and its options.
#[derive(Serialize)]
struct FormatReply {
    name: &'static str,
    title: &'static str,
    recorded_by: &'static str,
    options: Vec<OptionReply>,
}

/// All formats.
#[derive(Serialize)]
struct Formats {
    version: &'static str,
    formats: Vec<FormatReply>,
}

impl Formats {
    fn new() -> Formats {
        let formats = FORMATS.iter().map(|format| FormatReply {
            name: format.name(),
            title: format.title(),
            recorded_by: format.recorded_by(),
            options: format.options().iter().map(OptionReply::from).collect(),
        });
        Formats { version: traceconv::report::TOOL_VERSION, formats: formats.collect() }
    }
}

#[derive(Serialize)]
struct CheckReply {
    summary: String,
    verdicts: Vec<check::Verdict>,
}

#[derive(Serialize)]
struct DiffReply {
    summary: String,
    worst: Option<String>,
    diff: Diff,
}
