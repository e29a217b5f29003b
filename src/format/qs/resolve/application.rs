//! Application records: instants on a track named by the dictionary, with typed values. Some values are also counters.

use crate::model::{Arg, ArgValue, EventKind, Label, Packed};

use super::super::decode::{Records, Stored};
use super::super::element::{Element, Elements};
use super::events::RecordResolver;

impl RecordResolver<'_, '_> {
    /// An application record: an instant with its first text as label and its elements as arguments.
    pub(super) fn user(&mut self, records: &Records, stored: &Stored) -> Option<()> {
        let layout = &self.from.layout;
        let lane = self.firmware.record(stored.id, self.from, self.out.entities)?;
        let data = records.data_of(stored).get(usize::from(layout.config.sizes.time)..)?;
        let start = self.out.batch.args.len();
        let mut text = None;
        for (number, element) in Elements::new(data, layout.config.sizes, layout.config.version).enumerate() {
            let Ok(element) = element else { break };
            let Some(name) = self.firmware.element(number, self.out.entities) else { break };
            let value = self.element(element.element);
            if let (ArgValue::Text(found), Element::Text(_)) = (value, element.element) {
                text = text.or(Some(found)).filter(|text| !text.is_empty());
            }
            self.out.batch.args.push(Arg::new(name, value));
            self.count(stored.id, number, value);
        }
        let args = self.out.batch.args_since(start);
        let label = text.map_or(Label::NONE, Label::text);
        self.emit(EventKind::Instant { lane, label, args })
    }

    fn element(&mut self, element: Element<'_>) -> ArgValue {
        match element {
            Element::Int(value) => ArgValue::Int(value),
            Element::Uint(value) => ArgValue::Uint(value),
            Element::Hex(value, _) => ArgValue::Hex(value),
            Element::Float(value) => ArgValue::Float(value),
            Element::Enum { group, value } => {
                let name = self.from.names.value(group, value).map(|name| self.out.entities.add_name(name));
                name.flatten().map_or(ArgValue::Uint(value.into()), ArgValue::Name)
            }
            Element::Text(bytes) => ArgValue::Text(self.out.batch.texts.add_lossy(bytes.trim_ascii()).0),
            Element::Memory(bytes) => self.bytes(bytes),
            Element::Signal { signal, object } => {
                let object = self.object(object);
                self.signal(signal.into(), object).map_or(ArgValue::Uint(signal.into()), ArgValue::Name)
            }
            Element::Object(address) => match self.from.names.object(address) {
                Some(name) => self.out.entities.add_name(&name).map_or(ArgValue::Hex(address), ArgValue::Name),
                None => ArgValue::Hex(address),
            },
            Element::Function(address) => match self.from.names.function(address) {
                Some(name) => self.out.entities.add_name(name).map_or(ArgValue::Hex(address), ArgValue::Name),
                None => ArgValue::Hex(address),
            },
        }
    }

    /// Bytes in hex.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> ArgValue {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X} ")).collect();
        ArgValue::Text(self.out.batch.texts.add(hex.trim_end()))
    }

    /// Draws the value of an element as a counter, if the user asked for it.
    #[inline]
    fn count(&mut self, id: u8, index: usize, value: ArgValue) {
        if self.firmware.counters.is_empty() {
            return;
        }
        for number in 0..self.firmware.counters.len() {
            let Some(&counter) = self.firmware.counters.get(number).filter(|counter| (counter.id, counter.index) == (id, index))
            else {
                continue;
            };
            let is_number = matches!(value, ArgValue::Uint(_) | ArgValue::Hex(_) | ArgValue::Int(_) | ArgValue::Float(_));
            if let Some(counted) = self.firmware.counted.get_mut(counter.number) {
                *counted |= is_number;
            }
            let Some(lane) = self.firmware.counter(number, self.from, self.out.entities) else { continue };
            match value {
                ArgValue::Uint(value) | ArgValue::Hex(value) => {
                    let large = EventKind::Float { lane, value: Packed(value as f64) };
                    self.emit(i64::try_from(value).map_or(large, |value| EventKind::Value { lane, value: Packed(value) }));
                }
                ArgValue::Int(value) => {
                    self.emit(EventKind::Value { lane, value: Packed(value) });
                }
                ArgValue::Float(value) => {
                    self.emit(EventKind::Float { lane, value: Packed(value) });
                }
                _ => {}
            }
        }
    }
}
