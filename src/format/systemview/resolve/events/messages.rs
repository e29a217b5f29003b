//! Messages: texts with arguments.

use super::super::super::packet::text as text_of;
use super::Scene;
use crate::model::{Args, Label, LogNote, LogSeverity, TextRef, losses};
use crate::printf::write::{Oddities, Writer};
use crate::printf::{Conversion, Format, Packing};

/// The bits of a message's options that are its level.
const LEVEL_MASK: u32 = 3;

impl<'b> Scene<'_, 'b, '_> {
    /// A text with arguments, written here, or one that the target has written.
    pub(super) fn message(&mut self) {
        let text = self.payload.text().trim_ascii_end();
        let (options, count) = (self.payload.number(), self.payload.number());
        let (label, body, is_lossy) = if count > 0 {
            let format = self.context.format(text);
            let text = std::str::from_utf8(format.text());
            let name = text.ok().and_then(|text| self.out.entities.add_name(text));
            (name.map_or(Label::NONE, Label::name), self.formatted(&format, false), text.is_err())
        } else {
            let (body, is_lossy) = self.out.batch.texts.add_lossy(text);
            (Label::NONE, body, is_lossy)
        };
        if is_lossy {
            self.out.ledger.enter(losses::NOT_UTF8, self.at.offset, 0);
        }
        self.log(options, label, body);
    }

    /// A message whose format is a text of the program, at an address.
    pub(super) fn elf_message(&mut self) {
        let (address, options) = (self.payload.long(), self.payload.number());
        let symbols = self.context.symbols.clone();
        let text = symbols.as_ref().and_then(|symbols| symbols.text_at(address));
        self.context.lookups.note(text.is_some());
        let body = match text {
            Some(text) => {
                let format = self.context.format(text.as_bytes());
                self.formatted(&format, true)
            }
            None => {
                self.out.ledger.enter(losses::UNKNOWN_FORMAT, self.at.offset, 0);
                self.out.batch.texts.add(&format!("text at 0x{address:08X}"))
            }
        };
        self.log(options, Label::NONE, body);
    }

    fn log(&mut self, options: u32, name: Label, body: TextRef) {
        let severity = match options & LEVEL_MASK {
            0 => LogSeverity::Info,
            1 => LogSeverity::Warning,
            _ => LogSeverity::Error,
        };
        let lane = self.context.shared.log(self.input.session);
        let Some(lane) = self.known(lane) else { return };
        let note = LogNote { lane, severity, name, body, source: None, grade: None, args: Args::NONE };
        self.out.batch.add_log(self.at.time, self.core(), note);
    }

    /// The texts that come after the numbers of a message, in the order of their conversions; none if the conversions have addresses.
    fn texts_after_numbers(&self, format: &Format) -> Vec<&'b [u8]> {
        let is_text = |conversion: &Conversion| conversion.argument_bytes(Packing::Typed32).is_none();
        let conversions = || format.conversions();
        let symbols = self.context.symbols.as_deref();
        let is_address = |value| symbols.is_some_and(|symbols| symbols.text_at(value).is_some());
        let mut rest = self.payload;
        let fits = conversions().all(|one| rest.next_long().is_some_and(|value| !is_text(one) || is_address(value)));
        if fits && rest.0.is_empty() {
            return Vec::new();
        }
        let mut rest = self.payload;
        conversions().filter(|one| !is_text(one)).for_each(|_| _ = rest.next_number());
        let mut texts = Vec::new();
        while let Some((text, len)) = text_of(rest.0) {
            texts.push(text);
            rest.0 = rest.0.get(len..).unwrap_or(&[]);
        }
        let is_all = rest.0.is_empty() && texts.len() <= conversions().filter(|one| is_text(one)).count();
        if is_all { texts } else { Vec::new() }
    }

    /// The text of a message, whose texts may come after its numbers.
    fn formatted(&mut self, format: &Format, may_have_texts: bool) -> TextRef {
        let mut arguments = std::mem::take(&mut self.context.arguments);
        arguments.clear();
        let texts = if may_have_texts { self.texts_after_numbers(format) } else { Vec::new() };
        let (has_texts, mut texts) = (!texts.is_empty(), texts.into_iter());
        for conversion in format.conversions() {
            if has_texts && conversion.argument_bytes(Packing::Typed32).is_none() {
                let Some(text) = texts.next() else { break };
                arguments.extend(text.iter().take_while(|&&byte| byte != 0));
                arguments.push(0);
                continue;
            }
            let Some(value) = self.payload.next_long() else { break };
            match conversion.argument_bytes(Packing::Typed32) {
                Some(bytes) => arguments.extend(value.to_le_bytes().iter().take(bytes)),
                // The address of a text in the program.
                None => {
                    let text = self.context.symbols.as_ref().and_then(|symbols| symbols.text_at(value));
                    match text {
                        Some(text) => arguments.extend(text.as_bytes()),
                        None => arguments.extend(format!("0x{value:08X}").as_bytes()),
                    }
                    arguments.push(0);
                }
            }
        }
        let pending = &mut self.context.text;
        pending.clear();
        let oddities = Writer::default().write(format, Packing::Typed32, &arguments, pending, |_| {});
        pending.commit();
        let text = self.out.batch.texts.add(pending.text());
        self.context.arguments = arguments;
        if oddities.has(Oddities::MISSING_ARGUMENTS) {
            self.out.ledger.enter(losses::MISSING_ARGUMENTS, self.at.offset, 0);
        }
        text
    }
}
