//! `--merge`: which inputs are which recording, and where each lies in time.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::plan::{Job, Place, PlanError, SourceName, os_from_bytes};
use super::values::parse_signed_time;
use crate::pipeline::{Alignment, RecordingSources, Source};

/// The options.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(super) struct MergeArgs {
    /// Put all recordings into one trace: boards, hosts, processors with clocks of their own, of any formats
    ///
    /// Each has its own processes, CPUs and track of losses. FILE@0 FILE@1 … that follow each other are one recording; a core that
    /// comes again begins the next one. Times are used as recorded, unless --offset or --sync-marker align the clocks.
    #[arg(long, conflicts_with = "name")]
    pub(super) merge: bool,

    /// Move the times of a recording, e.g. `b.bin=-1.5ms`; may be given for each
    #[arg(long, value_name = "FILE=TIME", requires = "merge", conflicts_with = "sync_marker", value_parser = clap::value_parser!(OsString), allow_hyphen_values = true)]
    pub(super) offset: Vec<OsString>,

    /// Move the recordings so that the first event of this name is at the same time in all of them
    ///
    /// The name of a marker, span, log message, value, interrupt or function. If it occurs several times, the drift of each clock
    /// against that of the first recording is reported.
    #[arg(long, value_name = "NAME", requires = "merge")]
    pub(super) sync_marker: Option<String>,

    /// Also stretch their times so that the last such event is at the same time
    #[arg(long, requires = "sync_marker")]
    pub(super) correct_drift: bool,
}

/// The recordings of a trace.
#[derive(Debug)]
pub(super) struct MergePlan {
    pub(super) recordings: Vec<RecordingPlan>,
    pub(super) alignment: Alignment,
}

impl MergePlan {
    /// How many inputs each recording has, given how many inputs each source gave.
    pub(super) fn inputs_of_each(&self, counts: &[usize]) -> Vec<usize> {
        let mut counts = counts.iter();
        self.recordings.iter().map(|recording| counts.by_ref().take(recording.sources).sum()).collect()
    }
}

/// One of several recordings.
#[derive(Debug)]
pub(super) struct RecordingPlan {
    /// How many of the job's sources it has.
    pub(super) sources: usize,
    pub(super) name: String,
    pub(super) offset_ns: Option<i64>,
}

/// Plans a merge of these inputs.
pub(super) fn plan(args: &MergeArgs, sources: &[SourceName]) -> Result<MergePlan, PlanError> {
    let groups = groups(sources);
    if groups.len() < 2 {
        return Err(PlanError::usage(
            "--merge puts several recordings into one trace, and there is only one; leave it out, or name more inputs",
        ));
    }
    let mut recordings: Vec<RecordingPlan> = Vec::with_capacity(groups.len());
    for group in &groups {
        let stem = group.first().map_or_else(String::new, |source| source.stem().to_string_lossy().into_owned());
        let taken = |name: &str| recordings.iter().any(|other| other.name == name);
        let numbered = (2u32..).map(|number| format!("{stem} ({number})"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        recordings.push(RecordingPlan { sources: group.len(), name, offset_ns: None });
    }
    for argument in &args.offset {
        let (file, offset_ns) = parse_offset(argument)?;
        let names_it = |source: &SourceName| match &source.place {
            Place::Standard => file == OsStr::new("-"),
            Place::File(path) => path == Path::new(file) || path.file_name() == Some(file),
        };
        let mut found = groups.iter().enumerate().filter(|(_, group)| group.iter().any(names_it)).map(|(index, _)| index);
        let (first, other) = (found.next(), found.next());
        let Some(recording) = first.and_then(|index| recordings.get_mut(index)) else {
            return Err(PlanError::usage(format!("--offset {}: no input has this name", argument.display())));
        };
        if other.is_some() {
            return Err(PlanError::usage(format!(
                "--offset {}: several inputs have this name; add the directory",
                argument.display()
            )));
        }
        if recording.offset_ns.replace(offset_ns).is_some() {
            return Err(PlanError::usage(format!("--offset {}: this recording has an offset already", argument.display())));
        }
    }
    let alignment = Alignment { sync_marker: args.sync_marker.clone(), correct_drift: args.correct_drift };
    Ok(MergePlan { recordings, alignment })
}

/// The recordings of a job. `counts` says how many inputs each of its sources gave.
pub(super) fn recordings<'a>(job: &Job, sources: &'a [Source<'a>], counts: &[usize]) -> Vec<RecordingSources<'a>> {
    let Some(merge) = &job.merge else {
        return vec![RecordingSources { sources, name: job.firmware_name.clone(), offset_ns: None }];
    };
    let mut rest = sources;
    let mut recordings = Vec::with_capacity(merge.recordings.len());
    for (recording, count) in merge.recordings.iter().zip(merge.inputs_of_each(counts)) {
        let (own, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        recordings.push(RecordingSources { sources: own, name: recording.name.clone(), offset_ns: recording.offset_ns });
    }
    recordings
}

/// The inputs of each recording. Those that name cores and follow each other are one, until a core comes again.
fn groups(sources: &[SourceName]) -> Vec<&[SourceName]> {
    let mut groups = Vec::new();
    let mut start = 0;
    for end in 1..=sources.len() {
        let group = sources.get(start..end).unwrap_or(&[]);
        let goes_on = sources.get(end).is_some_and(|next| {
            next.core.is_some() && group.iter().all(|source| source.core.is_some() && source.core != next.core)
        });
        if !goes_on {
            groups.push(group);
            start = end;
        }
    }
    groups
}

fn parse_offset(argument: &OsStr) -> Result<(&OsStr, i64), PlanError> {
    let wrong = |why: &str| PlanError::usage(format!("--offset {}: {why}", argument.display()));
    let bytes = argument.as_encoded_bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'=').filter(|&at| at > 0);
    let at = at.ok_or_else(|| wrong("an input and a time are expected, e.g. b.bin=-1.5ms"))?;
    let file = bytes.get(..at).and_then(os_from_bytes).ok_or_else(|| wrong("this is not a file name"))?;
    let time = bytes.get(at + 1..).and_then(|time| std::str::from_utf8(time).ok()).ok_or_else(|| wrong("this is not a time"))?;
    let offset_ns = parse_signed_time(time).map_err(|why| wrong(&why))?;
    Ok((file, offset_ns))
}

/// The name of the trace of several recordings, if it is derived from the first input's name: a file name with an extension
/// that the trace's will replace.
pub(super) fn name_of_several(first: &SourceName) -> PathBuf {
    let mut name = first.stem().to_os_string();
    name.push("-merged.recordings");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(names: &[(&str, Option<u16>)]) -> Vec<SourceName> {
        names.iter().map(|&(path, core)| SourceName { core, ..SourceName::of(Place::File(path.into())) }).collect()
    }

    fn planned(names: &[(&str, Option<u16>)], offsets: &[&str]) -> Result<Vec<(usize, String, Option<i64>)>, String> {
        let args = MergeArgs { merge: true, offset: offsets.iter().map(Into::into).collect(), ..MergeArgs::default() };
        let plan = plan(&args, &sources(names)).map_err(|error| error.to_string())?;
        Ok(plan.recordings.into_iter().map(|one| (one.sources, one.name, one.offset_ns)).collect())
    }

    #[test]
    fn cores_that_follow_each_other_are_one_recording() {
        let names =
            [("a0", Some(0)), ("a1", Some(1)), ("b0", Some(0)), ("c", None), ("d", None), ("e1", Some(1)), ("e0", Some(0))];
        let found: Vec<(usize, String)> = planned(&names, &[]).unwrap().into_iter().map(|(n, name, _)| (n, name)).collect();
        let expected = [(2, "a0"), (1, "b0"), (1, "c"), (1, "d"), (2, "e1")].map(|(n, name)| (n, name.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn recordings_of_one_name_are_told_apart() {
        let names = [("a/x.bin", None), ("b/x.bin", None), ("c/x.hex", None)];
        let found: Vec<String> = planned(&names, &[]).unwrap().into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(found, ["x", "x (2)", "x (3)"]);
    }

    #[test]
    fn offsets_belong_to_recordings() {
        let names = [("a/x.bin", None), ("b/y.bin", None), ("c=1.bin", None)];
        let found = planned(&names, &["y.bin=-1.5ms", "a/x.bin=+2s", "c=1.bin=0"]).unwrap();
        let offsets: Vec<Option<i64>> = found.into_iter().map(|(_, _, offset)| offset).collect();
        assert_eq!(offsets, [Some(2_000_000_000), Some(-1_500_000), Some(0)]);
        let error = |offsets: &[&str]| planned(&names, offsets).unwrap_err();
        assert!(error(&["z.bin=1ms"]).contains("no input has this name"));
        assert!(error(&["y.bin=1"]).contains("the unit is missing"));
        assert!(error(&["=1ms"]).contains("an input and a time are expected"));
        assert!(error(&["y.bin=1ms", "b/y.bin=1ms"]).contains("has an offset already"));
        let twins = [("a/x.bin", None), ("b/x.bin", None)];
        assert!(planned(&twins, &["x.bin=1ms"]).unwrap_err().contains("several inputs have this name"));
        assert!(planned(&names[..1], &[]).unwrap_err().contains("there is only one"));
    }
}
