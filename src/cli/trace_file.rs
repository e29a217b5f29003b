//! `--gzip`, `--zstd`, `--split-size`: the form in which a trace is written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args as ClapArgs;

use super::output::{Complete, Output, cannot_write};
use super::plan::{Place, PlanError, TRACE_EXTENSION, os_from_bytes, shown};
use super::values::parse_bytes;
use crate::model::Nanos;
use crate::pipeline::{
    self, Alignment, Compression, ConvertError, Converted, InputSummary, Options, Progress, RecordingSources, TimeBound,
};

/// More files than this are a slip of the finger; and their numbers have three digits.
const PARTS_MAX: usize = 1000;

/// Smaller files than this have little in them except the parts that each file needs.
const SPLIT_MIN_BYTES: u64 = 64 << 10;

/// How often a part that became too large is tried again, shorter.
const ATTEMPTS: usize = 8;

/// How many times as large as the limit a part may be, with a warning, if it cannot be divided.
const OVERSIZE: u64 = 2;

/// The options.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(super) struct FormArgs {
    /// Compress the trace with gzip to about a quarter; every viewer opens it
    ///
    /// Without -o its name ends with `.perfetto-trace.gz`. A name that is given with -o and ends with `.gz` means this too.
    #[arg(long, conflicts_with = "zstd")]
    pub(super) gzip: bool,

    /// Compress the trace with zstd: smaller and faster than gzip, but older viewers do not open it
    ///
    /// Without -o its name ends with `.perfetto-trace.zst`. A name that is given with -o and ends with `.zst` means this too.
    #[arg(long)]
    pub(super) zstd: bool,

    /// Write files of this size at most, each a trace of its own: NAME.000.perfetto-trace, NAME.001.perfetto-trace, …
    ///
    /// In bytes, also with k, M or G: `200M`; before compression. Each file has a part of the time, as --from and --to give it:
    /// slices that are open at a cut are in both. Every part takes about the time of a whole conversion, and one more is needed to find out
    /// where to cut.
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(super) split_size: Option<u64>,
}

/// The form of all traces.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    pub(super) compression: Option<Compression>,
    pub(super) split_bytes: Option<u64>,
}

fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if bytes < SPLIT_MIN_BYTES {
        return Err(format!("at least {SPLIT_MIN_BYTES} bytes are needed: each file has all names and tracks"));
    }
    Ok(bytes)
}

/// A written trace.
pub(super) struct Written {
    pub(super) converted: Converted,
    /// The files, if the trace was split.
    pub(super) parts: Vec<PathBuf>,
    /// Its length in bytes.
    pub(super) output_bytes: u64,
    /// The length of the trace before compression, if it was compressed.
    pub(super) plain_bytes: Option<u64>,
    /// The length of the largest file before compression.
    pub(super) largest_bytes: u64,
}

impl Form {
    /// The form that is asked for, by options or by the name of the output.
    pub(super) fn new(args: &FormArgs, output: Option<&Path>) -> Result<Form, PlanError> {
        let option = match (args.gzip, args.zstd) {
            (true, _) => Some(Compression::Gzip),
            (_, true) => Some(Compression::Zstd),
            _ => None,
        };
        let extension = output.and_then(Path::extension).unwrap_or_default();
        let named = [Compression::Gzip, Compression::Zstd].into_iter().find(|one| extension == one.extension());
        match (option, named, output) {
            (Some(option), Some(named), Some(output)) if option.extension() != named.extension() => {
                let output = shown(output);
                Err(PlanError::usage(format!(
                    "{output} has the extension of another compression; name a file that ends in .{}, or leave out the option",
                    option.extension()
                )))
            }
            _ => Ok(Form { compression: option.or(named), split_bytes: args.split_size }),
        }
    }

    /// The end of a trace's name, without the first dot, if the name is derived from that of an input.
    pub(super) fn extension(&self) -> String {
        let compression = self.compression.map_or_else(String::new, |compression| format!(".{}", compression.extension()));
        format!("{TRACE_EXTENSION}{compression}")
    }

    /// Checks as much as can be checked before anything is read.
    pub(super) fn check(&self, output: &Place) -> Result<(), PlanError> {
        let is_one = |path: &Path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        match output {
            Place::Standard if self.split_bytes.is_some() => {
                Err(PlanError::usage("--split-size writes several files, and standard output is one; name a file with -o"))
            }
            Place::File(path) if self.split_bytes.is_some() && is_one(path) => {
                let path = shown(path);
                Err(PlanError::usage(format!(
                    "--split-size writes several files, and {path} is a device or a pipe; name a file with -o"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Converts, and writes the trace. It only appears if there is at least one event; before that `check` has its say.
    pub(super) fn write(
        &self,
        place: &Place,
        conversion: &Conversion<'_>,
        check: &dyn Fn() -> anyhow::Result<()>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> anyhow::Result<Written> {
        match (self.split_bytes, place) {
            (Some(limit_bytes), Place::File(path)) => self.write_parts(path, limit_bytes, conversion, check, progress),
            _ => {
                let (converted, complete, file_bytes) = self.write_one(place, conversion, conversion.options, progress)?;
                check()?;
                let plain_bytes = converted.output_bytes;
                if converted.inputs.iter().any(InputSummary::has_content) {
                    complete.finish().with_context(|| cannot_write_trace(place))?;
                }
                Ok(Written {
                    parts: Vec::new(),
                    output_bytes: file_bytes.unwrap_or(plain_bytes),
                    plain_bytes: file_bytes.map(|_| plain_bytes),
                    largest_bytes: plain_bytes,
                    converted,
                })
            }
        }
    }

    fn write_one(
        &self,
        place: &Place,
        conversion: &Conversion<'_>,
        options: &Options,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> anyhow::Result<(Converted, Complete, Option<u64>)> {
        let mut output = match self.compression {
            Some(compression) => Output::create_compressed(place, compression, conversion.compressing_threads)?,
            None => Output::create(place)?,
        };
        let Conversion { recordings, alignment, .. } = conversion;
        let converted = match pipeline::merge(recordings, alignment, options, &mut output, progress) {
            Ok(converted) => converted,
            Err(ConvertError::Write(error)) => return Err(error).with_context(|| cannot_write_trace(place)),
            Err(error) => return Err(error.into()),
        };
        let (complete, file_bytes) = output.complete().with_context(|| cannot_write_trace(place))?;
        Ok((converted, complete, file_bytes))
    }

    fn write_parts(
        &self,
        path: &Path,
        limit_bytes: u64,
        conversion: &Conversion<'_>,
        check: &dyn Fn() -> anyhow::Result<()>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> anyhow::Result<Written> {
        let Conversion { recordings, alignment, options, .. } = conversion;
        let (whole, sizes) = pipeline::measure(recordings, alignment, options, progress)?;
        check()?;
        let cuts = sizes.cuts(limit_bytes).with_context(|| {
            format!(
                "--split-size {limit_bytes} is too small: every file needs {} bytes for names, tracks and attributes alone",
                sizes.fixed_bytes()
            )
        })?;
        let mut ends: Vec<Nanos> = cuts.into_iter().rev().collect();
        let mut from = options.from;
        let mut parts: Vec<(PathBuf, Complete)> = Vec::new();
        let mut too_large: Vec<String> = Vec::new();
        let (mut output_bytes, mut plain_bytes, mut largest_bytes) = (0u64, 0u64, 0u64);
        let mut attempts = 0;
        loop {
            if parts.len() >= PARTS_MAX {
                bail!("--split-size {limit_bytes} would make more than {PARTS_MAX} files; name a larger size");
            }
            let end = ends.last().copied();
            let to = end.map_or(options.to, |end| Some(TimeBound::Absolute(Nanos(end.0.saturating_sub(1)))));
            let part_path = part_path(path, parts.len());
            let place = Place::File(part_path.clone());
            let mut of_part = Options { from, to, statistics: false, ..(*options).clone() };
            of_part.attributes.push(("part".into(), format!("{} of a trace that was split", parts.len() + 1)));
            let (part, complete, file_bytes) = self.write_one(&place, conversion, &of_part, progress)?;
            if part.output_bytes > limit_bytes && attempts < ATTEMPTS {
                // The estimate was too low: half of the time, and the other half is the next part.
                let start = match from {
                    Some(TimeBound::Absolute(start)) => start,
                    _ => whole.inputs.iter().filter_map(|input| input.first).min().unwrap_or_default(),
                };
                let last = whole.inputs.iter().filter_map(|input| input.last).max().unwrap_or_default();
                let stop = end.unwrap_or(last);
                let middle = Nanos(start.0 + stop.since(start) / 2);
                if middle > start && middle < stop {
                    attempts += 1;
                    ends.push(middle);
                    continue;
                }
            }
            if part.output_bytes > limit_bytes.saturating_mul(OVERSIZE) {
                bail!(
                    "--split-size {limit_bytes} is too small: {} bytes belong to one short moment; name a larger size",
                    part.output_bytes
                );
            }
            if part.output_bytes > limit_bytes {
                too_large.push(format!(
                    "{} has {} bytes, more than --split-size {limit_bytes}: they belong to one short moment, which cannot be divided",
                    shown(&part_path),
                    part.output_bytes
                ));
            }
            attempts = 0;
            output_bytes += file_bytes.unwrap_or(part.output_bytes);
            plain_bytes += part.output_bytes;
            largest_bytes = largest_bytes.max(part.output_bytes);
            parts.push((part_path, complete));
            match ends.pop() {
                Some(end) => from = Some(TimeBound::Absolute(end)),
                None => break,
            }
        }
        check()?;
        let mut written = Written { converted: whole, parts: Vec::new(), output_bytes, plain_bytes: None, largest_bytes };
        written.plain_bytes = self.compression.map(|_| plain_bytes);
        written.converted.warnings.append(&mut too_large);
        if written.converted.inputs.iter().all(|input| !input.has_content()) {
            return Ok(written);
        }
        let next = part_path(path, parts.len());
        for (path, complete) in parts {
            complete.finish().with_context(|| cannot_write_trace(&Place::File(path.clone())))?;
            written.parts.push(path);
        }
        if fs::symlink_metadata(&next).is_ok() {
            let left = format!("{} is left from an earlier conversion and does not belong to this trace", shown(&next));
            written.converted.warnings.push(left);
        }
        Ok(written)
    }
}

/// A conversion.
pub(super) struct Conversion<'a> {
    pub(super) recordings: &'a [RecordingSources<'a>],
    pub(super) alignment: &'a Alignment,
    pub(super) options: &'a Options,
    /// On how many threads the trace is compressed; 0: one per processor.
    pub(super) compressing_threads: usize,
}

/// The file of a part: its number is placed before the extension and that of a compression, so that the file is still known by its name.
pub(super) fn part_path(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let is_compressed = |name: &Path| {
        let extension = name.extension().unwrap_or_default();
        [Compression::Gzip, Compression::Zstd].iter().any(|compression| extension == compression.extension())
    };
    // A number is a part of the name, as in `run.1`.
    let is_word = |name: &Path| {
        name.extension().and_then(|extension| extension.as_encoded_bytes().first()).is_some_and(u8::is_ascii_alphabetic)
    };
    let mut stem = Path::new(name);
    for has_extension in [&is_compressed as &dyn Fn(&Path) -> bool, &is_word] {
        if let Some(shorter) = stem.file_stem().filter(|_| has_extension(stem)) {
            stem = Path::new(shorter);
        }
    }
    let extension = name.as_encoded_bytes().get(stem.as_os_str().len()..).and_then(os_from_bytes).unwrap_or_default();
    let mut named = stem.as_os_str().to_owned();
    named.push(format!(".{number:03}"));
    named.push(extension);
    path.with_file_name(named)
}

/// The traces of which this could be the file of a part.
pub(super) fn wholes(part: &Path) -> impl Iterator<Item = PathBuf> {
    let bytes = part.file_name().unwrap_or_default().as_encoded_bytes();
    let is_number =
        |number: &[u8]| number.len() == 4 && number.starts_with(b".") && number.iter().skip(1).all(u8::is_ascii_digit);
    (0..bytes.len()).filter_map(move |at| {
        bytes.get(at..at + 4).filter(|number| is_number(number))?;
        let mut whole = os_from_bytes(bytes.get(..at)?)?.to_owned();
        whole.push(os_from_bytes(bytes.get(at + 4..)?)?);
        let number = std::str::from_utf8(bytes.get(at + 1..at + 4)?).ok()?.parse().ok()?;
        let whole = part.with_file_name(whole);
        (part_path(&whole, number) == part).then_some(whole)
    })
}

/// The beginning of a message about a trace.
pub(super) fn cannot_write_trace(place: &Place) -> String {
    match place {
        Place::Standard => "cannot write the trace to standard output".into(),
        Place::File(path) => format!("{} (nothing of it is kept; -o names another place)", cannot_write(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_before_the_extension() {
        let part = |path: &str, number| part_path(Path::new(path), number);
        assert_eq!(part("dir/a.perfetto-trace", 0), Path::new("dir/a.000.perfetto-trace"));
        assert_eq!(part("a.b.perfetto-trace.gz", 12), Path::new("a.b.012.perfetto-trace.gz"));
        assert_eq!(part("dir.perfetto-trace/a", 3), Path::new("dir.perfetto-trace/a.003"));
        assert_eq!(part("a.perfetto-trace.perfetto-trace", 1), Path::new("a.perfetto-trace.001.perfetto-trace"));
        for (path, expected) in [
            ("x.gz", "x.002.gz"),
            ("x.zst", "x.002.zst"),
            ("x.pftrace", "x.002.pftrace"),
            ("x.pftrace.gz", "x.002.pftrace.gz"),
            ("x.gz.gz", "x.002.gz.gz"),
            ("run.1", "run.1.002"),
            ("run.1.gz", "run.1.002.gz"),
            (".gz", ".gz.002"),
            ("x.", "x..002"),
        ] {
            assert_eq!(part(path, 2), Path::new(expected));
            assert!(wholes(Path::new(expected)).any(|whole| whole == Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_part_may_be_of_a_trace() {
        let wholes = |path: &str| wholes(Path::new(path)).collect::<Vec<_>>();
        assert_eq!(wholes("dir/a.000.perfetto-trace.gz"), [Path::new("dir/a.perfetto-trace.gz")]);
        assert_eq!(wholes("a.001"), [Path::new("a")]);
        assert_eq!(wholes("a.001.002"), [Path::new("a.001")]);
        assert!(wholes("a.perfetto-trace").is_empty() && wholes("a.12").is_empty() && wholes("a.0x1").is_empty());
    }

    #[test]
    fn sizes_have_units_and_a_lower_bound() {
        assert_eq!(parse_size("200M"), Ok(200_000_000));
        assert_eq!(parse_size("65536"), Ok(65_536));
        assert!(parse_size("1k").unwrap_err().contains("at least 65536 bytes"));
        assert!(parse_size("x").is_err());
    }
}
