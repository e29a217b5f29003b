//! The content of the trace, read by an independent reader.

use traceconv::format::syst::encode::{Draft, Origin};
use traceconv::format::syst::record::Location;
use traceconv::format::syst::stp::encode::{Ending, Writer};

use crate::captures::{self, subject};
use crate::common::run::{Cut, Subject};

fn shown(subject: &Subject, captures: &[crate::common::golden::Capture], name: &str) -> crate::reader::Trace {
    let capture = captures.iter().find(|capture| capture.name == name).expect("it is there");
    subject.convert(&capture.bytes, Cut::WHOLE).read()
}

#[test]
fn functions_survive_unmatched_ends() {
    let trace = shown(&subject("syst-text"), &captures::text(), "functions");
    let names: Vec<&str> = trace.slices.iter().map(|slice| slice.name.as_str()).collect();
    for name in ["main", "poll", "read", "open_at_the_end"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    let instants: Vec<&str> = trace.instants.iter().map(|instant| instant.name.as_str()).collect();
    assert!(instants.contains(&"exit never_entered (no enter)"), "{instants:?}");
    assert!(instants.contains(&"exit open_at_the_end (no enter)"), "after a reset nothing is open: {instants:?}");
}

#[test]
fn the_same_messages_by_every_transport() {
    let texts = |name: &str, captures: Vec<crate::common::golden::Capture>, capture: &str| {
        let capture = captures.into_iter().find(|known| known.name == capture).expect("it is there");
        let mut lines = subject(name).dump(&capture.bytes, Cut::WHOLE, |view| {
            let text = view.fields.iter().find(|(name, _)| *name == "text").map(|(_, value)| format!("{value:?}"));
            format!("{} {}", view.record, text.unwrap_or_default())
        });
        lines.retain(|line| !line.starts_with("FREQ"));
        lines
    };
    let text = texts("syst-text", captures::text(), "every_kind");
    assert_eq!(texts("syst-raw", captures::raw(), "every_kind"), text);
    for capture in ["natural_flags", "natural_lsb", "delta_told_lsb", "gray_marked", "tpiu"] {
        assert_eq!(texts("syst-stp", captures::stp(), capture), text, "{capture}");
    }
}

/// A stream of one short message, on a master that lost data before.
fn one_short_message(with_loss: bool) -> Vec<u8> {
    let mut writer = Writer::begun();
    writer.go_to(7, 0);
    if with_loss {
        writer.master_error(1);
    }
    writer.message(&[0x51, 0, 0, 0], 100, Ending::Flag);
    writer.finish()
}

#[test]
fn notices_of_a_channel_do_not_hide_its_client() {
    let xml = b"<Collateral><Client Name=\"only\"><Short32><Format ID=\"5\">five</Format></Short32></Client></Collateral>";
    let subject = Subject::new("syst-stp").with_file("collateral", "only.xml", xml.as_slice());
    for with_loss in [false, true] {
        let run = subject.convert(&one_short_message(with_loss), Cut::WHOLE);
        let names: Vec<String> = run.read().instants.into_iter().map(|instant| instant.name).collect();
        assert!(names.iter().any(|name| name == "five"), "{names:?}");
        // It was assigned only because there is no other client, which is reported.
        let detail = run.summary.facts.details.iter().find(|detail| detail.name == "client");
        assert!(detail.is_some_and(|detail| detail.value.contains("only")), "{:?}", run.summary.facts.details);
    }
}

#[test]
fn a_reported_error_and_the_message_it_tears_are_one_loss() {
    let text = [0x42, 0x50, 0x2A, 0x01, b'a', 0];
    let mut writer = Writer::begun();
    writer.go_to(7, 0);
    (1..30).for_each(|number| writer.message(&text, number * 100, Ending::Flag));
    writer.data(&text[..4], Some(3000), false);
    writer.master_error(1);
    (31..60).for_each(|number| writer.message(&text, number * 100, Ending::Flag));
    let run = subject("syst-stp").convert(&writer.finish(), Cut::WHOLE);
    assert_eq!(run.summary.ledger.at_least_lost(), 1, "{:?}", run.summary.ledger.entries());
}

#[test]
fn a_trigger_after_a_pause_has_its_own_time() {
    let stream = |trigger: u64, next: u64| {
        let mut writer = Writer::begun();
        writer.frequency(1_000_000);
        writer.go_to(7, 0);
        (10..30).for_each(|number| writer.message(&[0x51, 0, 0, 0], number * 100, Ending::Flag));
        writer.trigger(18, trigger);
        (0..20).for_each(|number| writer.message(&[0x51, 0, 0, 0], next + number * 100, Ending::Flag));
        writer.finish()
    };
    let shown = |trigger: u64, next: u64| {
        let run = Subject::new("syst-stp").convert(&stream(trigger, next), Cut::WHOLE);
        let instants = run.read().instants;
        let times: Vec<u64> =
            instants.iter().filter(|instant| instant.name.contains("TRIG")).map(|instant| instant.ts / 1000).collect();
        (times, run.summary.ledger.entries().iter().map(|entry| entry.kind.code).collect::<Vec<_>>())
    };
    for (trigger, next) in [(4_000, 4_100), (100_003_000, 100_003_100), (2_950, 3_000), (3_400, 3_900)] {
        assert_eq!(shown(trigger, next), (vec![trigger], vec![]), "{trigger}");
    }
    // A damaged one is not believed, and moves nothing.
    let (times, codes) = shown(1 << 40, 3_000);
    assert!(matches!(times[..], [2_900..=3_000]), "{times:?}");
    assert_eq!(codes, ["time_outlier"]);
}

#[test]
fn a_trigger_has_its_own_time_whatever_is_open() {
    let mut writer = Writer::begun();
    writer.frequency(1_000_000);
    writer.trigger(1, 50);
    writer.go_to(7, 0);
    writer.data(b"\x42\x50\x2A\x01", Some(100), false);
    writer.go_to(7, 1);
    (2..40).for_each(|number| writer.message(b"\x42\x50\x2A\x01tick\0", number * 100, Ending::Flag));
    writer.trigger(2, 4_050);
    writer.message(b"\x42\x50\x2A\x01tick\0", 4_100, Ending::Flag);
    writer.go_to(7, 0);
    writer.data(b"late", None, false);
    writer.data(b"\0", None, true);
    let run = Subject::new("syst-stp").convert(&writer.finish(), Cut::WHOLE);
    let instants = run.read().instants;
    let times: Vec<u64> = instants.iter().filter(|instant| instant.name == "TRIG").map(|instant| instant.ts / 1000).collect();
    assert_eq!(times, [50, 4_050]);
    assert!(run.summary.ledger.entries().is_empty(), "{:?}", run.summary.ledger.entries());
}

#[test]
fn a_reported_error_has_its_own_time() {
    let mut writer = Writer::begun();
    writer.frequency(1_000_000);
    for number in 1..20 {
        writer.go_to(7, 1);
        writer.message(b"\x42\x50\x2A\x01tick\0", number * 100, Ending::FlagWithTime);
        if number == 10 {
            writer.master_error(1);
        }
    }
    let run = Subject::new("syst-stp").convert(&writer.finish(), Cut::WHOLE);
    let times: Vec<u64> = run.read().instants.iter().filter(|instant| instant.name == "MERR").map(|instant| instant.ts).collect();
    assert!(times.iter().all(|time| (1_000_000..1_100_000).contains(time)) && !times.is_empty(), "{times:?}");
}

/// The pieces of a damaged message lie on both sides of a valid one of another channel.
#[test]
fn remains_of_one_message_are_one_loss() {
    let mut writer = Writer::begun();
    writer.frequency(1_000_000);
    let tick = b"\x42\x50\x2A\x01tick\0";
    for number in 1..20 {
        writer.go_to(7, 1);
        writer.message(tick, number * 1000, Ending::Flag);
        if number == 10 {
            // The first data is damaged to a flag.
            writer.go_to(7, 0);
            writer.data(b"\x42", Some(number * 1000 + 100), false);
            writer.flag(None);
            writer.go_to(7, 1);
            writer.message(tick, number * 1000 + 200, Ending::Flag);
            writer.go_to(7, 0);
            writer.data(b"some mor", None, false);
            writer.data(b"e of", None, true);
        }
    }
    let run = Subject::new("syst-stp").convert(&writer.finish(), Cut::WHOLE);
    assert_eq!(run.summary.ledger.at_least_lost(), 1, "{:?}", run.summary.ledger.entries());
}

#[test]
fn a_stream_of_one_message_is_recognised() {
    let probe = Subject::new("syst-stp").format.probe(&one_short_message(false), true);
    assert!(probe.is_some_and(|probe| probe.reason.contains("; 1 of 1 message after it has a legal header")));
}

#[test]
fn time_stamps_of_an_unknown_scheme_are_said_to_be() {
    let codes = |version: u8| {
        let mut stream = Writer::begun().finish();
        // The version is the last nibble: 21 F, 0, F 0 0 and it.
        let last = stream.len() - 1;
        stream[last] = stream[last] & 0xF | version << 4;
        subject("syst-stp").dump(&stream, Cut::WHOLE, |view| view.record.to_owned())
    };
    for version in [0, 1, 5, 6, 7] {
        assert_eq!(codes(version), ["unknown time stamps"], "{version}");
    }
    for version in [2, 3, 4] {
        assert!(codes(version).is_empty(), "{version}");
    }
}

/// Two clients match the same GUIDs, by masks, and each has some of the ids.
#[test]
fn clients_may_share_their_guids() {
    let one = "<Guid ID=\"{5B1F6D02-0000-0000-8000-000000000000}\" Mask=\"{FFFFFFFF-0000-0000-8000-000000000000}\"/>";
    let two = "<Guid ID=\"{5B1F6D02-914C-4A77-9E10-2C44D08A3107}\"/>";
    let xml = format!(
        "<Collateral><Client Name=\"one\"><Guids>{one}</Guids><Catalog32><Format ID=\"1\">one %d</Format></Catalog32></Client>
         <Client Name=\"two\"><Guids>{two}</Guids><SourceFiles><File ID=\"7\">two.c</File></SourceFiles>
         <Catalog32><Format ID=\"1\">other %d</Format><Format ID=\"2\">two %s %d</Format></Catalog32></Client></Collateral>"
    );
    let message = |(id, argument): (u32, &[u8])| {
        let payload = [&id.to_le_bytes()[..], argument, &9u32.to_le_bytes()].concat();
        let (origin, location) = (Origin::Guid(captures::RADIO, 3), Some(Location::FileLine16(7, 5)));
        Draft { origin, location, ..Draft::new(captures::CATALOG32_P32, &payload) }.bytes()
    };
    let messages: [Vec<u8>; 3] = [(1, &b""[..]), (2, b"x\0"), (3, b"")].map(message);
    let mut writer = Writer::begun();
    (0..).zip(&messages).for_each(|(number, message)| writer.message(message, 100 * number, Ending::Flag));
    // No field says where a raw message ends.
    let raw = messages.get(..2).unwrap_or_default().concat();
    let known = ["one \"one 9\" \"two.c\"", "one \"two x 9\" \"two.c\""];
    for (format, capture, unknown) in [("syst-stp", writer.finish(), &["one - \"two.c\""][..]), ("syst-raw", raw, &[])] {
        let lines = Subject::new(format).with_file("collateral", "two.xml", xml.as_bytes()).dump(&capture, Cut::WHOLE, |view| {
            let field =
                |wanted: &str| view.fields.iter().find(|(name, _)| *name == wanted).map(|(_, value)| format!("{value:?}"));
            [field("client"), field("text"), field("file")].map(|field| field.unwrap_or("-".to_owned())).join(" ")
        });
        let lines: Vec<String> =
            lines.iter().map(|line| line.replace("Text(\"one\")", "one").replace("Text(", "").replace(')', "")).collect();
        assert_eq!(lines, [&known, unknown].concat(), "{format}");
    }
}
