//! A recording becomes a trace, with its report and statistics: the same bytes as the program `traceconv` writes.

use serde::{Deserialize, Serialize};
use traceconv::format::{FORMATS, FormatOptions, OptionKind, OptionSpec, OptionValue};
use traceconv::input::archive::is_archive;
use traceconv::input::{Input, ReadOptions, Recognised, detect};
use traceconv::model::Rate;
use traceconv::pipeline::{self, EventDetail, Options, Source, TimeBound};
use traceconv::report::stats::{Recording, StatsFile};
use traceconv::report::{InputReport, InputStatus, Report, TraceReport, stored, viewer, warning_of_format, without_events};
use traceconv::stats::report::StatisticsReport;

use super::Problem;
use super::host::{self, File};

/// The files of one recording, and the options for them: those of the command line.
#[derive(Deserialize)]
pub struct Convert {
    inputs: Vec<InputFile>,
    /// The firmware's name.
    name: String,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    clock_hz: Option<String>,
    #[serde(default)]
    cores: Option<u16>,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    to: Option<String>,
    /// Those of the format.
    #[serde(default)]
    own: Vec<Own>,
}

#[derive(Deserialize)]
struct InputFile {
    file: File,
    #[serde(default)]
    core: Option<u16>,
}

#[derive(Deserialize)]
struct Own {
    name: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    file: Option<File>,
}

/// The report of `--report` and the file of `stats --json`, for one recording.
#[derive(Serialize)]
pub struct Converted {
    report: Report,
    stats: StatsFile,
}

impl Convert {
    pub fn answer(&self) -> Result<Converted, Problem> {
        let reading = self.reading()?;
        let mut reports = Vec::new();
        let mut recognised: Vec<Recognised> = Vec::new();
        for InputFile { file, core } in &self.inputs {
            match self.open(file, *core, &reading) {
                Ok(found) => {
                    for recognised in &found {
                        let mut report = InputReport::named(file.name.clone(), recognised.options.core);
                        report.enter_input(&recognised.input);
                        report.format = Some(recognised.detected.format.name());
                        report.detected_because = Some(recognised.detected.because.clone());
                        reports.push(report);
                    }
                    recognised.extend(found);
                }
                Err(problem) => {
                    let mut report = InputReport::named(file.name.clone(), *core);
                    report.error = Some(format!("{} {problem}", file.name));
                    reports.push(report);
                }
            }
        }
        if recognised.len() < reports.len() {
            return Ok(Converted::new(reports, None, 0, Vec::new()));
        }
        let known: Vec<OptionSpec> = recognised.iter().flat_map(|one| one.detected.format.options()).copied().collect();
        for name in reading.foreign_to(&known) {
            for (report, one) in reports.iter_mut().zip(&recognised) {
                report.hints.push(format!("--{name} does not concern {}, so it was not used.", one.detected.format.title()));
            }
        }

        let options = self.options(&reading, &recognised)?;
        let sources: Vec<Source<'_>> = recognised
            .iter()
            .map(|one| Source::new(one.input.bytes(), one.detected.format).options(one.options.clone()))
            .collect();
        let converted = pipeline::convert(&sources, &options, &mut host::Output, &mut |progress| {
            host::progress(progress.done_bytes, progress.total_bytes);
            true
        });
        let mut converted = match converted {
            Ok(converted) => converted,
            Err(error) => {
                reports.iter_mut().for_each(|report| report.error = Some(format!("{} was not converted: {error}", report.path)));
                return Ok(Converted::new(reports, None, 0, Vec::new()));
            }
        };
        for ((report, summary), one) in reports.iter_mut().zip(&converted.inputs).zip(&recognised) {
            report.enter_summary(summary);
            report.warnings.extend(warning_of_format(report, &one.input, &one.detected));
        }
        if converted.inputs.iter().all(|input| !input.has_content()) {
            for (report, one) in reports.iter_mut().zip(&recognised) {
                report.error = Some(without_events(report, &one.input, &one.detected));
            }
            return Ok(Converted::new(reports, None, 0, Vec::new()));
        }
        converted.warnings.extend(viewer::too_large(converted.output_bytes));
        let statistics = converted.statistics.into_iter().next();
        Ok(Converted::new(reports, statistics, converted.output_bytes, converted.warnings))
    }

    fn open(&self, file: &File, core: Option<u16>, reading: &FormatOptions) -> Result<Vec<Recognised>, Problem> {
        let format = match &self.format {
            Some(name) => {
                Some(detect::by_name(name).ok_or_else(|| format!("cannot be read as {name}: there is no such format"))?)
            }
            None => None,
        };
        let read_options = ReadOptions::default();
        let input = Input::from_vec(file.read(file.bytes)?, &read_options)?;
        if format.is_none() && is_archive(input.bytes()) {
            return Err("is an archive, not a recording; name one file of it".into());
        }
        let options = FormatOptions { core, ..reading.clone() };
        Ok(input.recognise(format, &options, &read_options)?)
    }

    /// The user's options for the inputs.
    fn reading(&self) -> Result<FormatOptions, Problem> {
        let clock = self.clock_hz.as_deref().map(Rate::parse_hz).transpose().map_err(|error| format!("--clock-hz: {error}"))?;
        let own = self.own.iter().map(Own::value).collect::<Result<_, _>>()?;
        Ok(FormatOptions { clock, cores: self.cores, own, ..FormatOptions::default() })
    }

    fn options(&self, reading: &FormatOptions, recognised: &[Recognised]) -> Result<Options, Problem> {
        let time = |option: &str, text: &Option<String>| -> Result<Option<TimeBound>, Problem> {
            let bound = text.as_deref().map(str::parse::<TimeBound>).transpose();
            bound.map_err(|error| format!("--{option}: {error}").into())
        };
        let events = match self.detail.as_deref() {
            None | Some("default") => EventDetail::Default,
            Some("overview") => EventDetail::Overview,
            Some("all") => EventDetail::All,
            Some(other) => return Err(format!("a detail {other} is not known").into()),
        };
        let mut options = Options::default()
            .firmware_name(self.name.clone())
            .events(events)
            .from(time("from", &self.from)?)
            .to(time("to", &self.to)?)
            .threads(1)
            .statistics(true);
        options.keep = Some(stored::attributes);
        let cores: Vec<Option<u16>> = self.inputs.iter().map(|input| input.core).collect();
        let damage = stored::damage(recognised.iter().flat_map(|one| one.input.damages()));
        options.attributes.extend(damage.map(|damage| (stored::INPUT_DAMAGE.to_owned(), damage)));
        let marks = stored::marks(&options, reading, &cores, recognised.first().map(|first| first.detected.format));
        options.attributes.extend(marks);
        Ok(options)
    }
}

impl Own {
    fn value(&self) -> Result<(&'static str, OptionValue), Problem> {
        let mut specs = FORMATS.iter().flat_map(|format| format.options());
        let spec = specs.find(|spec| spec.name == self.name).ok_or_else(|| format!("there is no option --{}", self.name))?;
        let value = match (spec.kind, &self.text, &self.file) {
            (OptionKind::Flag, _, _) => OptionValue::Flag,
            (OptionKind::Text(_), Some(text), _) => OptionValue::Text(text.clone()),
            (OptionKind::File(_), _, Some(file)) => {
                OptionValue::File { path: file.name.clone(), bytes: file.read(file.bytes)?.into() }
            }
            _ => return Err(format!("--{} needs a value", self.name).into()),
        };
        Ok((spec.name, value))
    }
}

impl Converted {
    fn new(
        mut inputs: Vec<InputReport>,
        statistics: Option<StatisticsReport>,
        output_bytes: u64,
        warnings: Vec<String>,
    ) -> Converted {
        let is_converted = statistics.is_some();
        for input in &mut inputs {
            input.status = Some(if is_converted { InputStatus::Converted } else { InputStatus::Failed });
            input.warnings.extend(warnings.iter().cloned());
        }
        let stats = StatsFile::new(vec![Recording::new(inputs.clone(), statistics.clone())]);
        let mut trace = TraceReport::default();
        (trace.output_bytes, trace.statistics) = (output_bytes, statistics);
        Converted { report: Report::new(vec![(trace, inputs)], 0.0), stats }
    }
}
