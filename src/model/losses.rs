//! The table of loss codes: everything that can be lost or corrected, with what it means and what to do about it.
//!
//! A [`LossKind`] can only be made here, so a report cannot contain a code that this table lacks. `docs/reference/loss-codes.md` is
//! generated from it. The codes are part of the JSON contract: one is never given another meaning.

use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Whether information is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Bytes, frames or events are missing from the trace.
    Loss,
    /// Everything is there, but something was corrected or assumed.
    Repair,
}

/// One row of the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct LossCode {
    /// A stable `snake_case` code for scripts.
    pub code: &'static str,
    /// What it means: one line for people, without a full stop.
    pub text: &'static str,
    /// Whether information is gone.
    pub severity: Severity,
    /// What to do about it, in sentences.
    pub advice: &'static str,
}

/// A way in which something of the recording was lost or had to be corrected: a row of the table, equal if the code is.
#[derive(Clone, Copy, Debug)]
pub struct LossKind(&'static LossCode);

impl Deref for LossKind {
    type Target = LossCode;

    fn deref(&self) -> &LossCode {
        self.0
    }
}

impl PartialEq for LossKind {
    fn eq(&self, other: &LossKind) -> bool {
        self.code == other.code
    }
}

impl Eq for LossKind {}

impl Hash for LossKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

/// Rows that belong together.
#[derive(Debug)]
#[non_exhaustive]
pub struct LossGroup {
    /// The heading.
    pub title: &'static str,
    /// The rows.
    pub kinds: &'static [LossKind],
}

macro_rules! losses {
    ($($title:literal { $($severity:ident $name:ident $code:literal: $text:literal, $advice:expr;)* })*) => {
        $($(
            #[doc = concat!("`", $code, "`: ", $text, ".")]
            pub const $name: LossKind =
                LossKind(&LossCode { code: $code, text: $text, severity: Severity::$severity, advice: $advice });
        )*)*

        /// All codes.
        pub const LOSSES: &[LossGroup] = &[$(LossGroup { title: $title, kinds: &[$($name),*] }),*];
    };
}

const LINK: &str =
    "Check the path from the target to the file: baud rate, flow control, noise, and whether the host reads fast enough.";
const BUFFER: &str = "Enlarge the target's trace buffer, send it faster, or record fewer events.";
const CUT: &str = "Expected at the end of a recording that was stopped while the target was sending.";
const VERSION: &str =
    "Check that the tracer on the target and `--format` with its options fit each other; otherwise it is damage.";
const HOST: &str = "Give the host less to do while it records, or use a slower line or one with flow control.";
const NOTHING: &str = "Nothing: the rest of the recording is not affected.";
const MARGIN: &str = "Nothing is missing. Offsets count from the first byte of the recording.";
const LATE_START: &str = "Expected where a recording starts or continues after a gap; elsewhere the target's tracer has a fault.";
const TIMES: &str = "Expected on targets that read the clock and write the record in two steps. If it is frequent, check the \
                     tracer's clock and its locking.";
const LIMIT: &str =
    "The limit protects against hostile input. A real recording that reaches it is probably of another format, or damaged.";

losses! {
    "Damaged data" {
        Loss EMPTY_FRAME "empty_frame": "a frame is empty", LINK;
        Loss SHORT_FRAME "short_frame": "a frame is too short", LINK;
        Loss OVERSIZE_FRAME "oversize_frame": "a run of bytes without a delimiter is too long to be a frame", LINK;
        Loss TRUNCATED_FRAME "truncated_frame": "the input ends within a frame", CUT;
        Loss BAD_CHECKSUM "bad_checksum": "the checksum of a frame or message is wrong", LINK;
        Loss MALFORMED_COBS "malformed_cobs": "a frame is not valid COBS", LINK;
        Loss ILLEGAL_ESCAPE "illegal_escape": "a frame holds an escape that no target sends", LINK;
        Loss IMPOSSIBLE_RECORD "impossible_record": "a frame holds a record id that no target sends", LINK;
        Loss UNKNOWN_RECORD "unknown_record": "a frame holds a record that this version of the tracer does not have", VERSION;
        Loss UNKNOWN_EVENT "unknown_event": "a frame holds an event of unknown id", VERSION;
        Loss WRONG_LENGTH "wrong_length": "a record or packet has a length that its type cannot have", VERSION;
        Loss MISSING_FIELD "missing_field": "an event lacks a field", VERSION;
        Loss UNTERMINATED_VARINT "unterminated_varint": "an event ends within a number", LINK;
        Loss VARINT_TOO_LONG "varint_too_long": "an event holds a number too large for its field", LINK;
        Loss LOOSE_BYTES "loose_bytes": "an event is followed by bytes that belong to no field", VERSION;
        Loss UNKNOWN_ENUM "unknown_enum": "an event names a kind of queue that does not exist", VERSION;
        Loss UNKNOWN_SYNC "unknown_sync": "a sync frame is of another version, or contradicts itself", VERSION;
        Loss BAD_TEXT "bad_text": "a text is damaged or does not end where its record does", LINK;
        Loss BAD_ELEMENTS "bad_elements": "an application record does not consist of whole elements", VERSION;
        Loss DAMAGED_PACKET "damaged_packet": "a packet is damaged: its length, checksum or end is wrong", LINK;
        Loss IMPLAUSIBLE_PACKET "implausible_packet": "a packet has a time that its neighbours rule out, and was dropped as damaged", LINK;
        Loss STARTS_WITHIN_PACKET "starts_within_packet": "the input starts within a packet", NOTHING;
        Loss UNKNOWN_ID "unknown_id": "a packet has an id of unknown length", VERSION;
        Loss UNKNOWN_PACKET_TYPE "unknown_packet_type": "a packet has a type that is not defined", VERSION;
        Loss UNKNOWN_VERSION "unknown_version": "data has a version that is not supported", VERSION;
        Loss COUNT_MISMATCH "count_mismatch": "the number of records in a packet is not the one that it states", LINK;
        Loss DAMAGED_OBJECT_LIST "damaged_object_list": "an object list is damaged", LINK;
        Loss LONE_PREAMBLE "lone_preamble": "a preamble belongs to no packet", LINK;
        Loss NOISE "noise": "bytes between packets are not part of a packet, command or text", LINK;
        Loss EMPTY_MESSAGE "empty_message": "a message has no byte", LINK;
        Loss SHORT_MESSAGE "short_message": "a message ends within a field", LINK;
        Loss TRUNCATED_MESSAGE "truncated_message": "a message is shorter than it should be", LINK;
        Loss UNFINISHED_MESSAGE "unfinished_message": "a message was cut off by the next one, or by the end", LINK;
        Loss BEGINLESS_MESSAGE "beginless_message": "a message lacks its beginning", LINK;
        Loss UNDELIMITED "undelimited": "a message has no recognisable end, and was dropped", LINK;
        Loss UNSYNCED "unsynced": "bytes belong to no message", LINK;
        Loss RESERVED_BITS "reserved_bits": "a message has reserved bits set", VERSION;
        Loss UNKNOWN_TYPE "unknown_type": "a message is of unknown type", VERSION;
        Loss UNKNOWN_SUBTYPE "unknown_subtype": "a message is of unknown subtype", VERSION;
        Loss UNKNOWN_LOCATION "unknown_location": "a message has a location of unknown form", VERSION;
        Loss UNKNOWN_PACKET "unknown_packet": "a packet is of unknown layout", VERSION;
        Loss DAMAGED_MARKER "damaged_marker": "a line looks like a message, but its marker is damaged", LINK;
        Loss OVERLONG_LINE "overlong_line": "a line is too long; its rest was dropped", VERSION;
        Repair ODD_DIGITS "odd_digits": "a message has an odd number of hex digits; the last one was dropped", LINK;
        Repair SURPLUS_BYTES "surplus_bytes": "a message is followed by bytes that belong to nothing", VERSION;
        Repair HOST_BYTES "host_bytes": "a command of the host lies between packets", NOTHING;
        Repair GLUED_FRAMES "glued_frames": "frames without a delimiter between them were separated", LINK;
        Repair OTHER_SOURCE "other_source": "bytes of other trace sources are not read", "Nothing, if the source that is read is the right one: `info` names all of them.";
        Repair UNESCAPED_TEXT "unescaped_text": "a text that the target did not escape was joined", NOTHING;
    }
    "Missing data" {
        Loss DROPPED_BY_TARGET "dropped_by_target": "the target dropped events because its buffer was full", BUFFER;
        Loss EVENTS_MISSING "events_missing": "fewer events than usual are between two drop counters: the recording was paused, or events were lost on the way", LINK;
        Loss FRAMES_LOST "frames_lost": "frames or packets were lost between the target and the file, as their sequence numbers show", LINK;
        Loss RECORDS_LOST "records_lost": "records were lost between the target and the file, as the device's counter shows", LINK;
        Loss SEQUENCE_REPEATED "sequence_repeated": "a sequence number came twice: nothing is missing, or a full cycle of the counter", LINK;
        Loss MASTER_ERROR "master_error": "the target lost data of one master", BUFFER;
        Loss GLOBAL_ERROR "global_error": "the target lost data", BUFFER;
        Loss TRACER_STOPPED "tracer_stopped": "the recording ends while the target's buffers were full: the tracer probably stopped or crashed here", BUFFER;
        Repair LATE_ERROR "late_error": "a packet that reports a loss came too late to be put in its place", NOTHING;
        Repair HOST_ERROR_MARK "host_error_mark": "the recording program marked an error; only the packets' numbers were used", NOTHING;
        Repair LISTS_KEPT_APART "lists_kept_apart": "six packet numbers are missing: those of the object lists, which the recording program keeps apart", NOTHING;
        Repair FRAME_NUMBER_OUTLIER "frame_number_outlier": "the number of a frame contradicts those around it and was ignored", LINK;
        Repair DROP_COUNTER_OUTLIER "drop_counter_outlier": "a drop counter contradicts its neighbours", LINK;
        Repair DROP_COUNTER_REPEATED "drop_counter_repeated": "the drop counter was repeated without need", NOTHING;
    }
    "Time" {
        Loss BEFORE_FIRST_SYNC "before_first_sync": "an event precedes the first sync frame: its time is unknown", NOTHING;
        Loss BEYOND_TIME "beyond_time": "events lie beyond the end of a trace's time (292 years) and are drawn there",
            "Check the offsets of the merge, and the clock of the recording.";
        Repair TIME_HELD "time_held": "a time stamp is earlier than the one before it; the earlier time was held", TIMES;
        Repair TIME_OUTLIER "time_outlier": "a time stamp contradicts its neighbours and was replaced", LINK;
        Repair RATE_OUTLIER "rate_outlier": "a recorded frequency, or scheme of time stamps, contradicts those before and after it and was not used", LINK;
        Loss TIME_OVERFLOW "time_overflow": "a time is beyond what a trace can hold: that of the event is lost, and it has the one before", LINK;
        Repair TIME_AMBIGUOUS "time_ambiguous": "a break in the time stamps has two explanations that are nearly as likely; one was taken",
            "Give what is known: the rate of the clock, or a recording without damage.";
        Repair TIME_UNCERTAIN "time_uncertain": "an event follows lost frames: it has the earliest time that it can have, up to the next sync",
            "Send sync frames more often, or avoid the loss.";
        Repair DELAYED_PACKETS "delayed_packets": "packets or their time stamp were sent late, as the target says: their time is too late", BUFFER;
        Repair TIME_SET_BACK "time_set_back": "the target set its clock back", NOTHING;
        Repair UNKNOWN_TIME "unknown_time": "the stream's time stamps are of a scheme that is not public: times are not reliable",
            "Configure the target for one of the documented schemes.";
        Repair LONG_SILENCE "long_silence": "no call ended for so long that a wrap of the time counter may have been missed",
            "Record a periodic function, or another one more often than the counter wraps.";
        Repair TIMER_FREQUENCY "timer_frequency": "the timer does not run at 1 MHz, but times were read as microseconds", "Give the unit with `--time-unit`.";
        Repair BEFORE_TIME_ZERO "before_time_zero": "a call began before the origin of the recording's time; it was cut", NOTHING;
        Repair TORN_TIMER "torn_timer": "the timer was read while it passed a multiple of 256; it was corrected", NOTHING;
        Repair TORN_TICK "torn_tick": "the tick count was read while it passed a multiple of 256; it was corrected", NOTHING;
        Repair ZERO_RESOLUTION "zero_resolution": "the recording states a tick of 0 ns, which was ignored", "Correct the tick length in the tracer's configuration, or give it as an option.";
        Repair CONFLICTING_RESOLUTION "conflicting_resolution": "the recording states different tick lengths", "Give the right one as an option.";
        Repair TIMER_WRAPPED "timer_wrapped": "the time goes back from the end of 16, 24 or 32 bits to 0 without a start: the timer has wrapped, and time goes on",
            "Extend the timer to 64 bits in the port of the tracer.";
        Repair DUPLICATED_BLOCK "duplicated_block": "a piece of the file is a copy of the bytes before it", "Check the transfer: blocks of the file were written twice.";
        Repair LATE_ON_CORE "late_on_core": "events of a core came too late to be put in order", "Flush the buffers of all cores at about the same rate.";
    }
    "Sessions" {
        Repair SESSION_RESTART "session_restart": "the target was reset; a new session begins", "Expected if the target was reset. Everything open ends here.";
        Repair RECORDING_RESTARTED "recording_restarted": "the recording was stopped and started again: what happened between is unknown", NOTHING;
        Repair FILTER_CHANGED "filter_changed": "the host set a filter of the target: states from before it may be out of date", "Nothing if nothing is missing: everything open ends here.";
    }
    "Cores, tasks and names" {
        Loss METADATA_DROPPED "metadata_dropped": "the target had no room for all names: its metadata buffer is too small", "Enlarge the target's metadata buffer.";
        Repair STATE_INCOMPLETE "state_incomplete": "the target reported the state of only some objects: its object table is too small", "Enlarge the target's object table.";
        Repair NOT_UTF8 "not_utf8": "a text is not UTF-8 (often cut off by the target); its invalid bytes were replaced", NOTHING;
        Repair CONFLICTING_NAME "conflicting_name": "the same id has another name or kind later in the recording: the first one is used",
            "Check for damage, and that the target gives each task, object, interrupt and marker an id of its own.";
        Repair CORE_ID_AT_ZERO "core_id_at_zero": "a core_id in mid-stream has time 0", NOTHING;
        Repair CORE_INFERRED "core_inferred": "a change of the core was lost: the events after it are of the core that their times fit", LINK;
        Repair IMPLAUSIBLE_CORE "implausible_core_id": "a core_id names a core that nothing else mentions", LINK;
        Repair TASK_MARKER_WITHOUT_TASK "task_marker_without_task": "the name of a task-local marker names no task; it was assigned to the running one", NOTHING;
        Repair UNNAMED_REMOVAL "unnamed_removal": "a task was removed, and the target does not say which one: it is drawn in the last state that it had", NOTHING;
        Repair NO_CURRENT_TASK "no_current_task": "an event belongs to the running task, but it is unknown which one runs, or another one does", LATE_START;
        Repair MAILBOX_OVERWRITTEN "mailbox_overwritten": "an overwritten mailbox was reported as holding two items", NOTHING;
        Repair OBJECT_NUMBER_ZERO "object_number_zero": "the object list has number 0 for an object (a fault of the tracer); its position gives the number", NOTHING;
    }
    "Texts of messages" {
        Loss MISSING_ARGUMENTS "missing_arguments": "a message lacks arguments of its format", VERSION;
        Loss BAD_FORMAT "bad_format": "a format string has an invalid conversion", VERSION;
        Repair UNKNOWN_FORMAT "unknown_format": "a log message has its format where the program has none: it is shown with its arguments", "Give `--elf` the program that ran on the target.";
        Repair OTHER_ARGUMENTS "other_arguments": "a log message has other arguments than its format", "Give `--elf` the program that ran on the target.";
        Repair WIDTH_CLAMPED "width_clamped": "a width or precision was limited to 4096", VERSION;
        Repair OTHER_BUILD "other_build": "a message was read with the collateral of another build, or its build is not recorded", "Give the collateral of the build that runs on the target.";
    }
    "Spans and interrupts" {
        Loss SPAN_TOO_DEEP "span_too_deep": "spans nest deeper than the viewer shows", NOTHING;
        Loss UNDRAWN_CALL "undrawn_call": "calls overlap on more levels, or nest deeper, than is drawn", NOTHING;
        Repair ISR_EXIT_WITHOUT_ENTER "isr_exit_without_enter": "an interrupt ended whose begin was not recorded", LATE_START;
        Repair ISR_EXIT_MISSING "isr_exit_missing": "the end of an interrupt is missing, as the end of one below it shows", LATE_START;
        Repair SPAN_END_WITHOUT_BEGIN "span_end_without_begin": "a span ended whose begin was not recorded", LATE_START;
        Repair CALL_WITHOUT_CALLER "call_without_caller": "a call's caller is missing; it is drawn without it, and marked", LATE_START;
        Repair OVERLAPPING_CALL "overlapping_call": "a call overlaps others without lying within them; it is drawn on a separate track", TIMES;
        Repair UNMATCHED_EXIT "unmatched_exit": "a function was left that had not been entered", LATE_START;
        Repair EXIT_MISSING "exit_missing": "a function's end is missing: it was closed with the one around it", LATE_START;
        Repair DEPTH_UNDERFLOW "depth_underflow": "a depth is below 0: profiling was started within a function", NOTHING;
    }
    "On the way into the file" {
        Loss DRIVER_OVERRUN "driver_overrun": "the host lost bytes or datagrams, because they were not taken fast enough", HOST;
        Loss FRAMING_ERROR "framing_error": "the serial port of the host received bytes without a valid stop bit", LINK;
        Loss PARITY_ERROR "parity_error": "the serial port of the host received bytes with wrong parity", LINK;
        Loss RECORDER_OVERRUN "recorder_overrun": "the recorder dropped bytes, because the file could not be written fast enough",
            "Record to a faster disk, or enlarge the buffer with `--buffer`.";
        Loss RECONNECTED "reconnected": "the source was gone and came back; what it sent in between is missing",
            "Check the cable, the supply of the target, and its server.";
        Repair SOURCE_SILENT "source_silent": "the source sent nothing for a while", NOTHING;
    }
    "The input around the recording" {
        Loss COMPRESSED_STREAM_DAMAGED "compressed_stream_damaged": "the compressed stream is damaged; what follows is missing", "Transfer the file again.";
        Loss ARCHIVE_CUT "archive_cut": "the archive is cut off or damaged within this file, and the rest of the file is missing", "Copy the archive again.";
        Loss TEXT_ENCODING_DAMAGED "text_encoding_damaged": "characters or lines that are not part of the recording's text were skipped", "Remove log lines and prompts from the text.";
        Loss TEXT_DATA_MISSING "text_data_missing": "data are missing in the recording's text, by the addresses of its rows or the length that it states", "Copy the whole text again.";
        Repair LOG_LINES "log_lines": "lines of a log that do not hold the recording were left out", NOTHING;
        Repair ERASED_MEMORY "erased_memory": "erased memory (bytes 00 or FF) around the recording was left out", MARGIN;
        Repair CONSOLE_TEXT "console_text": "text before the recording, as of a boot loader, was left out", MARGIN;
        Repair TEXT_MODE "text_mode": "a program had taken the recording for text and changed its bytes; that was undone", "Record and transfer it as binary data.";
        Loss MEMORY_DAMAGED "memory_recording_damaged": "the recording in memory is damaged, some of it is missing", "Stop the tracer before the memory is read.";
    }
    "Limits" {
        Loss ENTITY_LIMIT "entity_limit": "there are more tasks, objects, functions or senders than can be real; the rest was dropped", LIMIT;
        Loss METADATA_LIMIT "metadata_limit": "there are more names than can be real; the rest was dropped", LIMIT;
    }
}

/// Advice for many codes, with its short name in the tables.
const SHARED: [(&str, &str); 3] = [("path", LINK), ("version", VERSION), ("nothing", NOTHING)];

/// The table as a page of the documentation, in Markdown.
#[must_use]
pub fn loss_codes_page() -> String {
    let mut page = String::from(
        "# Loss codes\n\n\
         <!-- Generated from src/model/losses.rs: TRACECONV_BLESS=1 cargo test --test book -->\n\n\
         Broken input is not an error. Whatever could not be converted, and whatever had to be corrected, is counted in the report \
         (`losses` and `repairs` of each input) under one of these codes, with its number of cases, the offset of the first one, and how \
         many events are lost at least. A *loss* means that something is missing from the trace; `--strict` and `--max-lost` count losses. \
         A *repair* means that everything is there, but something was corrected or assumed.\n\n\
         Many codes have the same advice. The tables refer to it by a short name:\n\n",
    );
    // Writing to a string cannot fail.
    let _ = SHARED.iter().try_for_each(|(word, advice)| writeln!(page, "- *{word}*: {advice}"));
    for group in LOSSES {
        let _ = write!(page, "\n## {}\n\n| Code | | Meaning | What to do |\n|---|---|---|---|\n", group.title);
        for kind in group.kinds {
            let severity = if kind.severity == Severity::Loss { "loss" } else { "repair" };
            let shared = SHARED.iter().find(|(_, advice)| *advice == kind.advice);
            let advice = shared.map_or_else(|| kind.advice.to_owned(), |(word, _)| format!("*{word}*"));
            let _ = writeln!(page, "| `{}` | {severity} | {} | {advice} |", kind.code, kind.text);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_words() {
        let mut codes = BTreeSet::new();
        for kind in LOSSES.iter().flat_map(|group| group.kinds) {
            assert!(codes.insert(kind.code), "{} occurs twice", kind.code);
            assert!(kind.code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{}", kind.code);
            assert!(!kind.text.ends_with('.') && kind.advice.ends_with('.'), "{}", kind.code);
        }
        assert!(codes.len() > 80);
    }

    #[test]
    fn the_page_says_shared_advice_once() {
        let page = loss_codes_page();
        for (word, advice) in SHARED {
            assert_eq!(page.matches(advice).count(), 1, "{advice}");
            assert!(page.matches(&format!("| *{word}* |")).count() > 10, "{word}");
        }
    }
}
