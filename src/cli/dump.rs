//! `traceconv dump INPUT`: every record, in file order, as JSON lines or as text.

use std::io::{self, Write};

use anyhow::Context;
use data_encoding::HEXLOWER;

use super::args::DumpArgs;
use super::output::{Output, is_broken_pipe};
use super::plan::{Place, PlanError, SourceName, Verbosity, plan_recordings, reading};
use super::source::{Opened, OpenedTogether};
use super::{Status, fail, say};
use crate::format::{FieldValue, RecordView};
use crate::input::InputError;
use crate::model::Nanos;
use crate::pipeline::{self, Options};

/// How often a dump looks whether its input became shorter.
const LINES_PER_CHECK: u64 = 1024;

/// Lists all records: those of each input, or of each recording in a memory image, one after the other.
pub(super) fn main(args: &DumpArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    let recordings = plan_recordings(&args.inputs, &output, &args.read)?;
    let [sources] = recordings.as_slice() else {
        return Err(PlanError::usage("dump lists one recording; name its cores (FILE@0 FILE@1 ...) if these are its inputs"));
    };
    let reading = reading(&args.read)?;
    let name = sources.iter().map(SourceName::for_people).collect::<Vec<_>>().join(", ");
    let OpenedTogether { reports, opened, .. } = OpenedTogether::open(sources, &reading, &reading.read_options(&output));
    if let Some(error) = reports.iter().find_map(|report| report.error.as_deref()) {
        return Ok(fail(error));
    }
    for opened in opened.iter().filter(|_| reading.verbosity > Verbosity::Quiet) {
        if let Some(part) = opened.input.part() {
            let kind = &part.what;
            say(&format!("{name}: {kind} at byte {} of the memory image; offsets count from its start\n", part.offset));
        }
        for damage in opened.input.damages() {
            say(&format!("warning: {name}: {}\n", damage.detail));
        }
    }
    let format = opened.first().map_or("", Opened::format_title);
    Ok(match list(&opened, reading.threads, args.text, &output) {
        _ if is_any_cut_short(&opened) => fail(format_args!("{name} {}", InputError::CutShort)),
        Ok(0) => fail(format_args!(
            "{name} has no valid {format} record. Check the format (--format) and that the recording is complete"
        )),
        Ok(_) => Status::Done,
        // The reader had enough (`| head`): nothing to complain about.
        Err(error) if is_broken_pipe(&error) => Status::Done,
        Err(error) => fail(error),
    })
}

fn is_any_cut_short(opened: &[Opened]) -> bool {
    opened.iter().any(|opened| opened.input.was_cut_short())
}

/// Lists all records; returns the number of valid ones. A file of the list only appears if there is one, and all were read.
fn list(opened: &[Opened], threads: usize, is_text: bool, place: &Place) -> anyhow::Result<u64> {
    let options = Options { threads, ..Options::default() };
    let write_line = if is_text { write_text } else { write_json };
    let cannot_list = || format!("cannot write the list to {}", place.as_output());
    let mut output = Output::create(place)?;
    let mut line = Vec::new();
    let (mut valid, mut lines) = (0, 0u64);
    for opened in opened {
        let releaser = opened.releaser();
        let mut failed = None;
        let summary = pipeline::dump(&opened.source(&releaser), &options, &mut |record| {
            line.clear();
            let written = write_line(&mut line, record).and_then(|()| output.write_all(&line));
            failed = written.err();
            lines += 1;
            // The zeros in the place of what is gone are not listed: they may be gigabytes of lines.
            failed.is_none() && !(lines.is_multiple_of(LINES_PER_CHECK) && opened.input.was_cut_short())
        });
        failed.map_or(Ok(()), Err).with_context(cannot_list)?;
        valid += summary?.ledger.frames_ok;
    }
    let (complete, _) = output.complete().with_context(cannot_list)?;
    if valid > 0 && !is_any_cut_short(opened) {
        complete.finish().with_context(cannot_list)?;
    }
    Ok(valid)
}

/// One record as a line of JSON. Written by hand: building a value per line would be most of the time of a dump.
fn write_json(line: &mut Vec<u8>, view: &RecordView<'_>) -> io::Result<()> {
    line.extend_from_slice(b"{\"offset\":");
    serde_json::to_writer(&mut *line, &view.offset)?;
    line.extend_from_slice(b",\"record\":");
    serde_json::to_writer(&mut *line, view.record)?;
    if let Some(core) = view.core {
        line.extend_from_slice(b",\"core\":");
        serde_json::to_writer(&mut *line, &core)?;
    }
    line.extend_from_slice(b",\"ts\":");
    serde_json::to_writer(&mut *line, &view.ticks)?;
    line.extend_from_slice(b",\"ns\":");
    serde_json::to_writer(&mut *line, &view.nanos)?;
    for (name, value) in view.fields {
        line.push(b',');
        serde_json::to_writer(&mut *line, name)?;
        line.push(b':');
        write_value(line, value)?;
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

fn write_value(line: &mut Vec<u8>, value: &FieldValue<'_>) -> io::Result<()> {
    match value {
        FieldValue::Uint(number) => serde_json::to_writer(line, number)?,
        FieldValue::Int(number) => serde_json::to_writer(line, number)?,
        // JSON has no numbers for these.
        FieldValue::Float(number) if !number.is_finite() => write!(line, "\"{number}\"")?,
        FieldValue::Float(number) => serde_json::to_writer(line, number)?,
        FieldValue::Text(text) => serde_json::to_writer(line, text)?,
        FieldValue::Bytes(bytes) => serde_json::to_writer(line, &HEXLOWER.encode(bytes))?,
        FieldValue::List(values) => {
            for (number, value) in values.iter().enumerate() {
                line.push(if number == 0 { b'[' } else { b',' });
                write_value(line, value)?;
            }
            line.extend_from_slice(if values.is_empty() { b"[]" } else { b"]" });
        }
    }
    Ok(())
}

/// One record as a line for people: offset, time, core, name, fields.
fn write_text(line: &mut Vec<u8>, view: &RecordView<'_>) -> io::Result<()> {
    let time = match (view.nanos, view.ticks) {
        (Some(nanos), _) => Nanos(nanos).to_string(),
        (None, Some(ticks)) => format!("tick {ticks}"),
        (None, None) => String::new(),
    };
    let core = view.core.map_or_else(String::new, |core| format!("core {core}"));
    write!(line, "{:>10}  {time:>22}  {core:<7}  {}", view.offset, view.record)?;
    for (name, value) in view.fields {
        write!(line, "  {name}=")?;
        match value {
            FieldValue::Text(text) => write!(line, "{text:?}")?,
            FieldValue::Bytes(bytes) => write!(line, "{}", HEXLOWER.encode(bytes))?,
            FieldValue::Float(number) if !number.is_finite() => write!(line, "{number}")?,
            other => write_value(line, other)?,
        }
    }
    line.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(view: &RecordView<'_>) -> [String; 2] {
        [write_json, write_text].map(|write: fn(&mut Vec<u8>, &RecordView<'_>) -> io::Result<()>| {
            let mut line = Vec::new();
            write(&mut line, view).unwrap();
            String::from_utf8(line).unwrap()
        })
    }

    #[test]
    fn records_as_json_and_text() {
        let view = RecordView {
            offset: 17,
            record: "task_valmarker",
            core: Some(1),
            ticks: Some(u64::MAX),
            nanos: Some(1_393_525),
            fields: &[("id", FieldValue::Uint(7)), ("val", FieldValue::Int(i64::MIN)), ("msg", FieldValue::Text("a\"\n\u{1}é"))],
        };
        let [json, text] = lines(&view);
        let expected = r#"{"offset":17,"record":"task_valmarker","core":1,"ts":18446744073709551615,"ns":1393525,"id":7,"val":-9223372036854775808,"msg":"a\"\n\u0001é"}"#;
        assert_eq!(json, format!("{expected}\n"));
        let expected =
            r#"        17           0.001393525 s  core 1   task_valmarker  id=7  val=-9223372036854775808  msg="a\"\n\u{1}é""#;
        assert_eq!(text, format!("{expected}\n"));
    }

    #[test]
    fn numbers_that_json_does_not_have_are_texts() {
        let fields =
            [("v0", FieldValue::Float(f64::INFINITY)), ("v1", FieldValue::Float(f64::NAN)), ("v2", FieldValue::Float(0.5))];
        let view = RecordView { offset: 3, record: "USER", core: None, ticks: None, nanos: None, fields: &fields };
        let [json, text] = lines(&view);
        assert!(
            json.ends_with(
                r#","v0":"inf","v1":"NaN","v2":0.5}
"#
            ),
            "{json}"
        );
        assert!(text.ends_with("USER  v0=inf  v1=NaN  v2=0.5\n"), "{text}");
    }

    #[test]
    fn invalid_and_metadata_records_have_no_time() {
        let fields = [("bytes", FieldValue::Bytes(&[0x05, 0xff])), ("reason", FieldValue::Text("cut"))];
        let invalid = RecordView { offset: 3, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields };
        assert_eq!(
            lines(&invalid)[0],
            "{\"offset\":3,\"record\":\"invalid\",\"ts\":null,\"ns\":null,\"bytes\":\"05ff\",\"reason\":\"cut\"}\n"
        );
        assert_eq!(lines(&invalid)[1], format!("{:>10}{:35}invalid  bytes=05ff  reason=\"cut\"\n", 3, ""));
    }
}
