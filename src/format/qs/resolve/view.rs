//! Records as `dump` lists them: in file order, as recorded, with the names from the session's dictionaries.

use crate::format::{FieldValue, RecordView};

use super::super::decode::{Bad, Records, Stored, query_fields_of};
use super::super::element::{Element, Elements};
use super::super::info::{TargetInfo, version_text};
use super::super::layout::{Fields, Layout, load};
use super::super::names::{Names, address_text};
use super::super::record::{Code, Field, Kind, command_name, error_text};

/// Builds the fields of a view.
#[derive(Default)]
pub struct ViewFields {
    fields: Vec<(String, ViewValue)>,
}

/// The value of a field.
pub enum ViewValue {
    Uint(u64),
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    Float(f64),
}

impl ViewFields {
    fn push(&mut self, name: &str, value: ViewValue) {
        self.fields.push((name.to_owned(), value));
    }

    fn address(&mut self, name: &str, address: u64, width: u8, named: Option<&str>) {
        self.push(name, ViewValue::Text(address_text(address, width)));
        self.named(name, named.filter(|_| address != 0));
    }

    /// The name of the value of a field, if there is one.
    fn named(&mut self, field: &str, name: Option<&str>) {
        if let Some(name) = name {
            self.push(&format!("{field}_name"), ViewValue::Text(name.to_owned()));
        }
    }

    fn signal(&mut self, name: &str, signal: u64, object: Option<u64>, names: &Names) {
        self.push(name, ViewValue::Uint(signal));
        // Object 0 is an unknown one.
        self.named(name, names.signal(signal as u32, object.unwrap_or(0)));
    }

    /// The fields of a record.
    pub fn of(records: &Records, stored: &Stored, layout: &Layout, names: &Names) -> ViewFields {
        let mut view = ViewFields::default();
        view.push("seq", ViewValue::Uint(stored.seq.into()));
        let data = records.data_of(stored);
        let fields = layout.fields(stored.kind, data);
        let version = stored.kind.spec().nearest(layout.config.version);
        for field in stored.kind.spec().fields_in(version).filter(|field| field.code != Code::Time) {
            let width = layout.config.sizes.width(field.code).unwrap_or(0);
            let (name, value) = (field.field.name(), fields.uint(field.field));
            // The key of a dictionary entry needs no look-up.
            let is_entry = matches!(stored.kind, Kind::ObjDict | Kind::FunDict | Kind::SigDict);
            match field.code {
                Code::Object if is_entry => view.address(name, value, width, None),
                Code::Function if is_entry => view.address(name, value, width, None),
                Code::Signal(_) if is_entry => view.push(name, ViewValue::Uint(value)),
                Code::Object => view.address(name, value, width, names.object(value).as_deref()),
                Code::Function => view.address(name, value, width, names.function(value)),
                Code::Signal(object) => {
                    let object = object.filter(|&object| fields.has(object)).map(|object| fields.uint(object));
                    view.signal(name, value, object, names);
                }
                Code::Text => {
                    view.push(name, ViewValue::Text(String::from_utf8_lossy(fields.text(field.field)).into_owned()));
                }
                Code::Rest => view.rest(stored, fields, field.field, layout, names),
                _ => view.number(stored.kind, name, value, layout),
            }
        }
        view
    }

    fn number(&mut self, kind: Kind, name: &str, value: u64, layout: &Layout) {
        self.push(name, ViewValue::Uint(value));
        let command = match (kind, name) {
            (Kind::TargetDone, _) => command_name(value as u8),
            // With the highest bit: an error of the command.
            (Kind::RxStatus, _) => command_name(value as u8 & 0x7F),
            _ => None,
        };
        if let Some(command) = command {
            self.push("command_name", ViewValue::Text(command.to_owned()));
        } else if let (Kind::RxStatus, Some(error)) = (kind, error_text(value as u8, layout.config.version)) {
            self.push("error", ViewValue::Text(error.to_owned()));
        }
    }

    fn rest(&mut self, stored: &Stored, fields: Fields<'_>, field: Field, layout: &Layout, names: &Names) {
        let rest = fields.rest(field);
        match stored.kind {
            Kind::TargetInfo => self.info(rest),
            Kind::QueryData => self.query(fields.uint(Field::Query), rest, layout, names),
            Kind::User => self.elements(stored.id, rest, layout, names),
            _ => self.push("data", ViewValue::Bytes(rest.to_vec())),
        }
    }

    fn info(&mut self, data: &[u8]) {
        let Some(info) = TargetInfo::read(data) else { return };
        self.push("reset", ViewValue::Uint(info.is_reset.into()));
        self.push("version", ViewValue::Text(version_text(info.version)));
        self.push("product", ViewValue::Text(info.product_text().to_owned()));
        self.push("sizes", ViewValue::Text(info.config().sizes.to_string()));
        self.push("build", ViewValue::Text(info.build_text()));
        self.push("max_active", ViewValue::Uint(info.max_active.into()));
        self.push("max_pools", ViewValue::Uint(info.max_pools.into()));
        self.push("max_tick_rates", ViewValue::Uint(info.max_tick_rates.into()));
        self.push("big_endian", ViewValue::Uint(info.is_big_endian.into()));
    }

    fn query(&mut self, query: u64, data: &[u8], layout: &Layout, names: &Names) {
        let fields = query_fields_of(query, data.len(), layout.config).unwrap_or(&[]);
        let (mut offset, mut object) = (0, None);
        for &(name, code) in fields {
            let width = layout.config.sizes.width(code).unwrap_or(0);
            let value = load(data, offset, width);
            offset += usize::from(width);
            match code {
                Code::Object => {
                    self.address(name, value, width, names.object(value).as_deref());
                    object = Some(value);
                }
                Code::Function => self.address(name, value, width, names.function(value)),
                Code::Signal(_) => self.signal(name, value, object, names),
                _ => self.push(name, ViewValue::Uint(value)),
            }
        }
    }

    fn elements(&mut self, id: u8, data: &[u8], layout: &Layout, names: &Names) {
        self.push("id", ViewValue::Uint(id.into()));
        if let Some(name) = names.record(id) {
            self.push("name", ViewValue::Text(name.to_owned()));
        }
        let sizes = layout.config.sizes;
        for (number, element) in Elements::new(data, sizes, layout.config.version).filter_map(Result::ok).enumerate() {
            let name = format!("v{number}");
            match element.element {
                Element::Int(value) => self.push(&name, ViewValue::Int(value)),
                Element::Uint(value) => self.push(&name, ViewValue::Uint(value)),
                Element::Hex(value, digits) => {
                    self.push(&name, ViewValue::Text(format!("0x{value:0digits$X}", digits = usize::from(digits))));
                }
                Element::Float(value) => self.push(&name, ViewValue::Float(value)),
                Element::Enum { group, value } => {
                    self.push(&name, ViewValue::Uint(value.into()));
                    self.push(&format!("{name}_group"), ViewValue::Uint(group.into()));
                    self.named(&name, names.value(group, value));
                }
                Element::Text(text) => self.push(&name, ViewValue::Text(String::from_utf8_lossy(text).into_owned())),
                Element::Memory(bytes) => self.push(&name, ViewValue::Bytes(bytes.to_vec())),
                Element::Signal { signal, object } => {
                    self.signal(&name, signal.into(), Some(object), names);
                    self.address(&format!("{name}_obj"), object, sizes.object, names.object(object).as_deref());
                }
                Element::Object(address) => self.address(&name, address, sizes.object, names.object(address).as_deref()),
                Element::Function(address) => self.address(&name, address, sizes.function, names.function(address)),
            }
        }
    }

    /// Those of the record's data: without its sequence number.
    pub fn of_data(&self) -> impl Iterator<Item = (&str, &ViewValue)> {
        self.fields.iter().skip(1).map(|(name, value)| (name.as_str(), value))
    }

    /// Passes them to `out` as a record.
    pub fn show(&self, record: &str, offset: u64, ticks: Option<u64>, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
        let fields: Vec<(&str, FieldValue<'_>)> = self
            .fields
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    ViewValue::Uint(value) => FieldValue::Uint(*value),
                    ViewValue::Int(value) => FieldValue::Int(*value),
                    ViewValue::Text(text) => FieldValue::Text(text),
                    ViewValue::Bytes(bytes) => FieldValue::Bytes(bytes),
                    ViewValue::Float(value) => FieldValue::Float(*value),
                };
                (name.as_str(), value)
            })
            .collect();
        out(&RecordView { offset, record, core: None, ticks, nanos: None, fields: &fields })
    }
}

/// Passes bytes that are not a record to `out`.
pub fn show_invalid(offset: u64, raw: &[u8], reason: Bad, seq: Option<u8>, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
    let mut fields = Vec::new();
    if let Some(seq) = seq {
        fields.push(("seq", FieldValue::Uint(seq.into())));
    }
    fields.push(("bytes", FieldValue::Bytes(raw)));
    fields.push(("reason", FieldValue::Text(reason.loss_kind().text)));
    out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields })
}
