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
use serde_json::{Value, json};
use traceconv::format::{FORMATS, OptionKind, OptionSpec};
use traceconv::metrics::budget::Budget;
use traceconv::metrics::diff::{DiffOptions, diff};
use traceconv::metrics::{Figure, check, saved, text};

/// A request of the page.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Request {
    /// The formats and their options.
    Formats,
    /// The kind of a file.
    Inspect(inspect::Inspect),
    /// The files in an archive.
    Unpack(unpack::Unpack),
    /// Which of several files for an option belongs to a recording.
    Choose(choose::Choose),
    /// A trace of a recording, with its report and statistics.
    Convert(Box<work::Convert>),
    /// The verdict of a budget on saved statistics.
    Check { budget: String, statistics: String },
    /// The differences between two recordings, of which the statistics were saved.
    Diff { base: String, new: String },
}

/// Why there is no answer, as a sentence.
type Problem = Box<dyn std::error::Error>;

/// Does the request of this length that the host has ready, and replies.
// SAFETY: no other function of this module is exported under this name.
#[unsafe(no_mangle)]
pub extern "C" fn run(request_bytes: usize) {
    std::panic::set_hook(Box::new(|panic| host::fail(&panic.to_string())));
    let request = host::request(request_bytes);
    match serde_json::from_slice(&request).map_err(Problem::from).and_then(answer) {
        Ok(reply) => host::reply(&reply.to_string()),
        Err(problem) => host::reply(&json!({ "error": problem.to_string() }).to_string()),
    }
}

fn answer(request: Request) -> Result<Value, Problem> {
    match request {
        Request::Formats => Ok(formats()),
        Request::Inspect(inspect) => Ok(serde_json::to_value(inspect.answer()?)?),
        Request::Unpack(unpack) => unpack.answer(),
        Request::Choose(choose) => choose.answer(),
        Request::Convert(convert) => convert.answer(),
        Request::Check { budget, statistics } => {
            let budget = Budget::parse(&budget)?;
            let verdicts = check::check(&budget, &saved_figures(&statistics)?);
            Ok(json!({ "summary": text::verdict_summary(&verdicts), "verdicts": verdicts }))
        }
        Request::Diff { base, new } => {
            let diff = diff(&saved_figures(&base)?, &saved_figures(&new)?, &DiffOptions::default());
            Ok(json!({ "summary": text::difference_summary(&diff), "worst": text::worst(&diff), "diff": diff }))
        }
    }
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

fn formats() -> Value {
    let formats: Vec<Value> = FORMATS
        .iter()
        .map(|format| {
            let options: Vec<OptionReply> = format.options().iter().map(OptionReply::from).collect();
            json!({ "name": format.name(), "title": format.title(), "recorded_by": format.recorded_by(), "options": options })
        })
        .collect();
    json!({ "version": traceconv::report::TOOL_VERSION, "formats": formats })
}
