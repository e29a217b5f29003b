//! Records as `dump` lists them: as they are, in file order, with the names that the session has for what they mention.

use crate::format::{FieldValue, RecordView};

use super::super::decode::{Bad, Records, Stored, query_fields};
use super::super::element::{Element, Elements};
use super::super::info::{TargetInfo, version_text};
use super::super::layout::{Fields, Layout, load};
use super::super::names::{Names, address_text};
use super::super::record::{Code, Kind, command_name};

/// Builds the fields of a view.
#[derive(Default)]
pub struct ViewFields {
    fields: Vec<(String, Shown)>,
}

enum Shown {
    Uint(u64),
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl ViewFields {
    fn put(&mut self, name: &str, value: Shown) {
        self.fields.push((name.to_owned(), value));
    }

    fn address(&mut self, name: &str, address: u64, width: u8, called: Option<&str>) {
        self.put(name, Shown::Text(address_text(address, width)));
        if let Some(called) = called.filter(|_| address != 0) {
            self.put(&format!("{name}_name"), Shown::Text(called.to_owned()));
        }
    }

    fn signal(&mut self, name: &str, signal: u64, object: Option<u64>, names: &Names) {
        self.put(name, Shown::Uint(signal));
        let called = match object {
            Some(object) => names.signal(signal as u32, object),
            None => names.signal_alone(signal as u32),
        };
        if let Some(called) = called {
            self.put(&format!("{name}_name"), Shown::Text(called.to_owned()));
        }
    }

    /// The fields of a record.
    pub fn of(records: &Records, stored: &Stored, layout: &Layout, names: &Names) -> ViewFields {
        let mut view = ViewFields::default();
        view.put("seq", Shown::Uint(stored.seq.into()));
        let data = records.data_of(stored);
        let fields = layout.fields(stored.kind, data);
        let version = layout.config.version;
        for (number, field) in stored.kind.spec().fields.iter().enumerate() {
            if !(field.from..field.until).contains(&version) || field.code == Code::Time {
                continue;
            }
            let width = layout.config.sizes.width(field.code).unwrap_or(0);
            let value = fields.uint(number);
            // What a dictionary's entry is about needs no look-up.
            let is_entry = matches!(stored.kind, Kind::ObjDict | Kind::FunDict | Kind::SigDict);
            match field.code {
                Code::Object if is_entry => view.address(field.name, value, width, None),
                Code::Function if is_entry => view.address(field.name, value, width, None),
                Code::Signal(_) if is_entry => view.put(field.name, Shown::Uint(value)),
                Code::Object => view.address(field.name, value, width, names.object(value)),
                Code::Function => view.address(field.name, value, width, names.function(value)),
                Code::Signal(object) => {
                    let object = fields.has(usize::from(object)).then(|| fields.uint(usize::from(object)));
                    view.signal(field.name, value, object, names);
                }
                Code::Text => {
                    view.put(field.name, Shown::Text(String::from_utf8_lossy(fields.text(number)).into_owned()));
                }
                Code::Rest => view.rest(stored, fields, number, layout, names),
                _ => view.number(stored.kind, field.name, value),
            }
        }
        view
    }

    fn number(&mut self, kind: Kind, name: &str, value: u64) {
        self.put(name, Shown::Uint(value));
        let command = match (kind, name) {
            (Kind::TargetDone, _) => command_name(value as u8),
            (Kind::RxStatus, _) if value < 128 => command_name(value as u8),
            _ => None,
        };
        if let Some(command) = command {
            self.put("command_name", Shown::Text(command.to_owned()));
        }
    }

    fn rest(&mut self, stored: &Stored, fields: Fields<'_>, number: usize, layout: &Layout, names: &Names) {
        let rest = fields.rest(number);
        match stored.kind {
            Kind::TargetInfo => self.info(rest),
            Kind::QueryData => self.query(fields.uint(1), rest, layout, names),
            Kind::User => self.elements(stored.id, rest, layout, names),
            _ => self.put("data", Shown::Bytes(rest.to_vec())),
        }
    }

    fn info(&mut self, data: &[u8]) {
        let Some(info) = TargetInfo::read(data) else { return };
        self.put("reset", Shown::Uint(info.is_reset.into()));
        self.put("version", Shown::Text(version_text(info.version)));
        self.put("product", Shown::Text(info.product_text().to_owned()));
        self.put("sizes", Shown::Text(info.config().sizes.to_string()));
        self.put("build", Shown::Text(info.build_text()));
        self.put("max_active", Shown::Uint(info.max_active.into()));
        self.put("max_pools", Shown::Uint(info.max_pools.into()));
        self.put("max_tick_rates", Shown::Uint(info.max_tick_rates.into()));
        self.put("big_endian", Shown::Uint(info.is_big_endian.into()));
    }

    fn query(&mut self, query: u64, data: &[u8], layout: &Layout, names: &Names) {
        let fields = query_fields(query, layout.config.version).unwrap_or(&[]);
        let (mut offset, mut object) = (0, None);
        for &(name, code) in fields {
            let width = layout.config.sizes.width(code).unwrap_or(0);
            let value = load(data, offset, width);
            offset += usize::from(width);
            match code {
                Code::Object => {
                    self.address(name, value, width, names.object(value));
                    object = Some(value);
                }
                Code::Function => self.address(name, value, width, names.function(value)),
                Code::Signal(_) => self.signal(name, value, object, names),
                _ => self.put(name, Shown::Uint(value)),
            }
        }
    }

    fn elements(&mut self, id: u8, data: &[u8], layout: &Layout, names: &Names) {
        self.put("id", Shown::Uint(id.into()));
        if let Some(name) = names.record(id) {
            self.put("name", Shown::Text(name.to_owned()));
        }
        let sizes = layout.config.sizes;
        for (number, element) in Elements::new(data, sizes, layout.config.version).filter_map(Result::ok).enumerate() {
            let name = format!("v{number}");
            match element.element {
                Element::Int(value) => self.put(&name, Shown::Int(value)),
                Element::Uint(value) => self.put(&name, Shown::Uint(value)),
                Element::Hex(value, digits) => {
                    self.put(&name, Shown::Text(format!("0x{value:0digits$X}", digits = usize::from(digits))));
                }
                Element::Float(value) => self.put(&name, Shown::Text(value.to_string())),
                Element::Enum { group, value } => {
                    self.put(&name, Shown::Uint(value.into()));
                    self.put(&format!("{name}_group"), Shown::Uint(group.into()));
                    if let Some(called) = names.value(group, value) {
                        self.put(&format!("{name}_name"), Shown::Text(called.to_owned()));
                    }
                }
                Element::Text(text) => self.put(&name, Shown::Text(String::from_utf8_lossy(text).into_owned())),
                Element::Memory(bytes) => self.put(&name, Shown::Bytes(bytes.to_vec())),
                Element::Signal { signal, object } => {
                    self.signal(&name, signal.into(), Some(object), names);
                    self.address(&format!("{name}_obj"), object, sizes.object, names.object(object));
                }
                Element::Object(address) => self.address(&name, address, sizes.object, names.object(address)),
                Element::Function(address) => self.address(&name, address, sizes.function, names.function(address)),
            }
        }
    }

    /// Shows them to `out` as a record.
    pub fn show(
        &self,
        record: &str,
        offset: u64,
        (ticks, nanos): (Option<u64>, Option<u64>),
        out: &mut dyn FnMut(&RecordView<'_>) -> bool,
    ) -> bool {
        let fields: Vec<(&str, FieldValue<'_>)> = self
            .fields
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Shown::Uint(value) => FieldValue::Uint(*value),
                    Shown::Int(value) => FieldValue::Int(*value),
                    Shown::Text(text) => FieldValue::Text(text),
                    Shown::Bytes(bytes) => FieldValue::Bytes(bytes),
                };
                (name.as_str(), value)
            })
            .collect();
        out(&RecordView { offset, record, core: None, ticks, nanos, fields: &fields })
    }
}

/// Shows bytes that are no record.
pub fn show_invalid(offset: u64, raw: &[u8], reason: Bad, seq: Option<u8>, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
    let mut fields = Vec::new();
    if let Some(seq) = seq {
        fields.push(("seq", FieldValue::Uint(seq.into())));
    }
    fields.push(("bytes", FieldValue::Bytes(raw)));
    fields.push(("reason", FieldValue::Text(reason.loss_kind().text)));
    out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields })
}
