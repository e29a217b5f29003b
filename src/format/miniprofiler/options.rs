//! The options for MiniProfiler captures: the unit of times, the calls to be drawn, and the names of functions.

use std::sync::Arc;

use regex_lite::Regex;

use crate::format::program::{ELF, ElfFile, REQUIRE_MATCH, is_match_required, refusal, shortcomings};
use crate::format::{Detail, FormatOptions, OptionError, OptionKind, OptionSpec};
use crate::model::{Rate, Source};
use crate::symbols::{BuildIdVerdict, Symbols};

use super::record::{Metadata, TIMER_HZ};

/// The options of the format.
pub const SPECS: &[OptionSpec] = &[
    ELF,
    REQUIRE_MATCH,
    OptionSpec::once(
        "time-unit",
        OptionKind::Text("UNIT"),
        "The unit of times: us (as in the protocol), ns, ms, timer (ticks of the profiling timer) or cpu (ticks of the processor's clock)",
    ),
    OptionSpec::once("min-duration", OptionKind::Text("TIME"), "Leave out calls that are shorter, e.g. 5us"),
    OptionSpec::once("function", OptionKind::Text("REGEX"), "Leave out calls of functions whose names do not match"),
];

/// The unit of the times on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// A number of nanoseconds.
    Nanoseconds(u64),
    /// Ticks of the profiling timer.
    Timer,
    /// Ticks of the processor's clock.
    Cpu,
}

/// The parsed options of a recording.
#[derive(Clone, Default)]
pub struct MiniProfilerOptions {
    /// The clock, an option of all formats.
    pub clock: Option<Rate>,
    /// The unit of times.
    pub time_unit: Option<TimeUnit>,
    /// Shorter calls are not drawn.
    pub min_duration_ns: u64,
    /// Functions with other names are not drawn.
    pub function: Option<Regex>,
    /// The program, and the name of its file.
    symbols: Option<(String, Arc<Symbols>)>,
    requires_match: bool,
}

/// A function by its address.
pub struct FunctionInfo {
    /// Its name, or its address.
    pub name: String,
    /// Whether the program has it.
    pub is_found: bool,
    /// Its place in the source code.
    pub source: Option<Source>,
    /// The number of the exception that it handles, 0 if unknown. `None`: it is not a handler.
    pub exception: Option<u32>,
}

impl MiniProfilerOptions {
    /// Parses the options of one recording.
    ///
    /// # Errors
    /// When a value is invalid.
    pub fn new(options: &FormatOptions) -> Result<MiniProfilerOptions, OptionError> {
        let symbols = ElfFile::read(options, Some(32))?.map(|elf| (elf.path, elf.symbols));
        let requires_match = is_match_required(options, symbols.is_some())?;
        Ok(MiniProfilerOptions {
            clock: options.clock,
            time_unit: options.text("time-unit").map(time_unit).transpose()?,
            min_duration_ns: options.text("min-duration").map(duration_ns).transpose()?.unwrap_or(0),
            function: options.text("function").map(function).transpose()?,
            symbols,
            requires_match,
        })
    }

    /// Whether there is a program, which has the names of functions.
    pub fn has_symbols(&self) -> bool {
        self.symbols.is_some()
    }

    /// Whether an option says how long a tick is.
    pub fn is_unit_given(&self) -> bool {
        self.clock.is_some() || self.time_unit.is_some()
    }

    /// The rate of the times on the wire, and its source.
    pub fn rate(&self, metadata: Option<&Metadata>) -> (Rate, &'static str) {
        let microsecond = Rate::from_hz(u64::from(TIMER_HZ), 1).unwrap_or(Rate::NANOSECOND);
        if let Some(clock) = self.clock {
            return (clock, "given by an option");
        }
        let Some(unit) = self.time_unit else {
            return match metadata {
                Some(metadata) if metadata.timer_hz == TIMER_HZ => {
                    (microsecond, "inferred: microseconds as in the protocol, and the timer runs at 1 MHz")
                }
                _ => (microsecond, "assumed, microseconds as in the protocol"),
            };
        };
        let rate = match unit {
            TimeUnit::Nanoseconds(ns) => Rate::from_ns_per_tick(ns),
            TimeUnit::Timer => metadata.and_then(|metadata| Rate::from_hz(u64::from(metadata.timer_hz), 1)),
            TimeUnit::Cpu => metadata.and_then(|metadata| Rate::from_hz(u64::from(metadata.mcu_clock_hz), 1)),
        };
        match rate {
            Some(rate) => (rate, "given by an option"),
            None => (microsecond, "assumed, microseconds: the capture does not record the frequency for --time-unit"),
        }
    }

    /// Describes the symbols for the report. Returns the reason if the recording is refused.
    pub fn describe_symbols(&self, build_id: Option<u32>, details: &mut Vec<Detail>, hints: &mut Vec<String>) -> Option<String> {
        let Some((path, symbols)) = &self.symbols else {
            hints.push("A capture has no names of functions: --elf FILE reads them from the program that ran.".into());
            return None;
        };
        hints.extend(shortcomings(path, symbols));
        let match_result = build_id.map(|build_id| symbols.judge_build_id(build_id));
        let (value, differs) = match match_result {
            Some(BuildIdVerdict::Fits(checksum)) => (format!("the one that ran: its {} is the build id", checksum.name()), None),
            Some(BuildIdVerdict::Differs) => {
                let reason = format!("no known checksum of its code is the build id 0x{:08X}", build_id.unwrap_or_default());
                hints.push(format!("{path} may be another build than the one that ran: {reason}. Names may be wrong."));
                ("perhaps another build: no checksum of its code is the build id".to_owned(), Some(reason))
            }
            Some(BuildIdVerdict::NotAnId) => {
                let reason = "the build id in the capture is not a checksum";
                (format!("unchecked: {reason}"), Some(reason.to_owned()))
            }
            Some(BuildIdVerdict::NoText) => {
                let reason = "it has no code to compare";
                (format!("unchecked: {reason}"), Some(reason.to_owned()))
            }
            None => {
                let reason = "the capture has no METADATA packet, and therefore no build id";
                (format!("unchecked: {reason}"), Some(reason.to_owned()))
            }
        };
        details.push(Detail { name: "program", value, source: path.clone() });
        differs.filter(|_| self.requires_match).map(|reason| refusal(path, &reason))
    }

    /// The function with an address.
    pub fn name(&self, address: u32) -> FunctionInfo {
        let found = self.symbols.as_ref().and_then(|(_, symbols)| {
            let function = symbols.hooked_function(u64::from(address))?;
            let is_inlined = symbols.function_at(function.start).is_none_or(|at| at.name != function.name);
            // An inlined one may be so in several places.
            let at = if is_inlined { String::new() } else { format!(" at 0x{:08X}", function.start) };
            let source = function.declared.map(|place| Source {
                file: place.file.into(),
                function: Some(format!("{}{at}", function.name).into()),
                line: place.line,
            });
            // An inlined function is not a handler, but the function around it may be.
            let vector = symbols.vectors().iter().find(|vector| vector.handler == function.start && vector.exception > 1);
            let exception = vector.filter(|_| !is_inlined).map(|vector| vector.exception);
            Some((function.name.to_owned(), source, exception))
        });
        let is_found = found.is_some();
        // The lowest bit of an address in Thumb code is not part of it. No code is at an odd address otherwise.
        let (name, source, exception) = found.unwrap_or_else(|| (format!("0x{:08X}", address & !1), None, None));
        let exception = exception.or_else(|| exception_by_name(&name));
        FunctionInfo { name, is_found, source, exception }
    }
}

/// The exception that a function handles by its name, as in startup files for Cortex-M; 0 if the number is not known from the name.
fn exception_by_name(name: &str) -> Option<u32> {
    let stem = name.strip_suffix("_Handler");
    match stem {
        None => name.ends_with("_IRQHandler").then_some(0),
        Some("Reset" | "") => None,
        Some("NMI") => Some(2),
        Some("HardFault") => Some(3),
        Some("MemManage") => Some(4),
        Some("BusFault") => Some(5),
        Some("UsageFault") => Some(6),
        Some("SVC") => Some(11),
        Some("DebugMon") => Some(12),
        Some("PendSV") => Some(14),
        Some("SysTick") => Some(15),
        Some(_) => Some(0),
    }
}

fn time_unit(text: &str) -> Result<TimeUnit, OptionError> {
    match text {
        "ns" => Ok(TimeUnit::Nanoseconds(1)),
        "us" | "µs" | "μs" => Ok(TimeUnit::Nanoseconds(1_000)),
        "ms" => Ok(TimeUnit::Nanoseconds(1_000_000)),
        "timer" => Ok(TimeUnit::Timer),
        "cpu" => Ok(TimeUnit::Cpu),
        _ => Err(OptionError {
            option: "time-unit",
            found: format!("`{text}` is not a unit"),
            expected: "us, ns, ms, timer or cpu is expected".into(),
        }),
    }
}

fn duration_ns(text: &str) -> Result<u64, OptionError> {
    let error = |found: String| OptionError {
        option: "min-duration",
        found,
        expected: "a number with a unit is expected, e.g. 800ns, 5us or 2ms".into(),
    };
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim_start() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" if number == "0" => 1,
        "" => return Err(error(format!("`{text}` has no unit"))),
        _ => return Err(error(format!("`{text}` is not a time"))),
    };
    let number = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    number.ok_or_else(|| error(format!("`{text}` is not a time")))
}

fn function(text: &str) -> Result<Regex, OptionError> {
    Regex::new(text).map_err(|error| OptionError {
        option: "function",
        found: format!("`{text}` is not a regular expression: {}", error.to_string().lines().last().unwrap_or_default()),
        expected: "a pattern such as ^uart_ or send|receive is expected".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_units_are_read() {
        assert_eq!(duration_ns("800ns").ok(), Some(800));
        assert_eq!(duration_ns("5 us").ok(), Some(5_000));
        assert_eq!(duration_ns("2ms").ok(), Some(2_000_000));
        assert_eq!(duration_ns("0").ok(), Some(0));
        for wrong in ["", "5", "us", "-1us", "1.5us", "1h", "99999999999999999999s", "20000000000s"] {
            assert!(duration_ns(wrong).is_err(), "{wrong}");
        }
        assert_eq!(time_unit("timer").ok(), Some(TimeUnit::Timer));
        assert!(time_unit("jiffies").is_err() && function("(").is_err());
    }

    #[test]
    fn handlers_are_known_by_their_names() {
        assert_eq!(exception_by_name("SysTick_Handler"), Some(15));
        assert_eq!(exception_by_name("DMA1_Stream5_IRQHandler"), Some(0));
        assert_eq!(exception_by_name("Default_Handler"), Some(0));
        for other in ["Reset_Handler", "uart_send", "0x08000100", "handler", "_Handler"] {
            assert_eq!(exception_by_name(other), None, "{other}");
        }
    }
}
