//! One frame as a message, and a format with arguments: a message that was read is written as it was, and texts stay bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::syst::decode::{Context, Decoder, Records};
use traceconv::format::syst::encode::Draft;
use traceconv::format::syst::record::{Marks, Message};
use traceconv::printf::escape::PendingText;
use traceconv::printf::write::{Oddities, Writer};
use traceconv::printf::{Format, Packing};

fuzz_target!(|input: &[u8]| {
    if let Ok(message) = Message::read_frame(input) {
        if message.marks == Marks::default() && !message.fields.kind.is_short_form() {
            assert_eq!(Draft::of(&message.fields, message.payload).bytes(), input);
        }
    }
    let mut records = Records::default();
    records.add_frame(&Decoder::default(), input, Context { len: input.len(), ..Context::default() });
    records.finish(&Decoder::default());
    assert_eq!(records.stored.len(), 1);

    let (text, arguments) = input.split_at(input.len() / 2);
    let format = Format::new(text);
    for packing in [Packing::Typed32, Packing::Typed64, Packing::Slots64, Packing::Floats32] {
        let mut out = PendingText::default();
        let mut values = 0;
        let marks = Writer::default().write(&format, packing, arguments, &mut out, |_| values += 1);
        // Arguments after an invalid conversion are listed as words, of 4 bytes at least.
        let words = if format.is_bad() { arguments.len() / 4 } else { 0 };
        // Each conversion gives at most its width, or a number of 309 digits and its decimals.
        assert!(out.len() <= text.len() + arguments.len() + format.conversions().count() * 5000);
        if format.measure(packing, arguments).is_some() {
            assert!(!marks.has(Oddities::MISSING_ARGUMENTS));
        }
        assert!(values <= format.conversions().count() + words);
    }
});
