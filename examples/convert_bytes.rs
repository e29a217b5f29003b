//! Converts a capture in memory to a trace in memory, and reports the result, as a test bench or a service does that embeds
//! traceconv. It only opens the files that are named on the command line.
//!
//! ```sh
//! cargo run --example convert_bytes -- testdata/demo/damaged.bin damaged.perfetto-trace
//! ```

use std::error::Error;

use traceconv::format::FormatOptions;
use traceconv::input::detect::detect;
use traceconv::input::{Input, ReadOptions};
use traceconv::model::Rate;
use traceconv::pipeline::{self, EventDetail, Options, Source};
use traceconv::report::InputReport;

/// The trace, and the result for the capture.
pub struct Outcome {
    pub trace: Vec<u8>,
    pub report: InputReport,
}

/// Converts a capture of any format. Its clock has this number of ticks per second, if given.
pub fn convert(name: &str, capture: Vec<u8>, clock_hz: Option<u64>) -> Result<Outcome, Box<dyn Error>> {
    // Decodes gzip, zstd, hex or base64 around the capture. Large data stay in memory without a `spool_dir`.
    let input = Input::from_vec(capture, &ReadOptions::new().spool_dir(None))?;
    // `by_name` takes the name of a format instead, where it is known.
    let detected = detect(input.bytes(), input.layers())?;

    let source = Source::new(input.bytes(), detected.format)
        .options(FormatOptions { clock: clock_hz.and_then(|hz| Rate::from_hz(hz, 1)), ..FormatOptions::default() });
    let options = Options::default().firmware_name(name).events(EventDetail::Default).threads(1);
    let mut trace = Vec::new();
    let converted = pipeline::convert(&[source], &options, &mut trace, &mut |progress| {
        // Returning false stops the conversion.
        progress.done_bytes <= progress.total_bytes
    })?;

    // Damage is not an error: it is in the report, by kind, with its offset and the least number of lost events.
    let mut report = InputReport::named(name.to_owned(), None);
    report.enter_input(&input);
    report.format = Some(detected.format.name());
    report.detected_because = Some(detected.because);
    converted.inputs.iter().for_each(|summary| report.enter_summary(summary));
    Ok(Outcome { trace, report })
}

fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().skip(1))
}

/// Converts the file that is named first into the one that is named second.
pub fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: convert_bytes CAPTURE TRACE".into());
    };
    let Outcome { trace, report } = convert("firmware", std::fs::read(&from)?, None)?;
    std::fs::write(&to, &trace)?;
    print!("{}", traceconv::report::summary(&report, true));
    println!("{to}: {} bytes; at least {} of {} events are missing", trace.len(), report.at_least_lost(), report.events);
    Ok(())
}
