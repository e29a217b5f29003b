//! A recording of a real STM32F105, compared with its program and what another decoder reads.
//!
//! It is not part of this project. `TRACECONV_ITM` names the folder that has it; this test is ignored unless asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use traceconv::format::OptionValue;
use traceconv::model::{Rate, losses};

use crate::common::run::Subject;
use crate::run::Cut;

#[test]
#[ignore = "needs a recording that is not in the project, in the folder TRACECONV_ITM"]
fn a_real_recording_has_all_its_packets() {
    let folder = std::env::var_os("TRACECONV_ITM").map(PathBuf::from).expect("TRACECONV_ITM names a folder");
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let capture = read("stm32f105_swo.bin");
    let mut subject = Subject::new("itm");
    assert!(subject.format.probe(&capture, true).is_some_and(|probe| probe.score >= 70));
    subject.options.clock = Rate::from_hz(8_000_000, 1);
    let elf = OptionValue::File { path: "trace_example.elf".into(), bytes: read("trace_example.elf").into() };
    subject.options.own = vec![("elf", elf), ("itm-sample-period", OptionValue::Text("1024".into()))];
    let mut packets: BTreeMap<String, u64> = BTreeMap::new();
    subject.each_record(&capture, Cut::WHOLE, |record| *packets.entry(record.record.to_owned()).or_default() += 1);
    let conversion = subject.convert(&capture, Cut::WHOLE);
    let ledger = &conversion.summary.ledger;
    let overflows = ledger.entries().iter().find(|entry| entry.kind == losses::DROPPED_BY_TARGET);
    assert_eq!(overflows.map(|entry| entry.count), Some(14));
    assert!((392..=393).contains(&packets["pc sample"]));
    let trace = conversion.read();
    let texts: Vec<&str> = trace.logs.iter().map(|log| log.body.as_str()).collect();
    // The main loop blinks about every 10 ms, as the logic analyser recorded; each sort begins with a message.
    for (text, count) in [("On", 5), ("Off", 5), ("Sort", 8)] {
        assert_eq!(texts.iter().filter(|found| **found == text).count(), count, "{text}: {texts:?}");
    }
    assert_eq!(trace.slices.iter().filter(|slice| slice.name == "TIM2_IRQ").count(), 8);
    // 50 ms, as the logic analyser recorded.
    let last = trace.samples.last().expect("there are samples").ts;
    assert!((49_000_000..51_000_000).contains(&last), "{last}");
}
