//! Records → events.

use crate::format::{Facts, FormatOptions, Parcel, RecordView, Resolve, Resolved};

use super::scan::ScanFacts;

pub(crate) struct Resolver;

impl Resolver {
    pub(crate) fn new(_options: &FormatOptions, _facts: ScanFacts) -> Resolver {
        Resolver
    }
}

impl Resolve for Resolver {
    fn resolve(&mut self, _records: Parcel, _out: &mut Resolved<'_>) {
        unimplemented!()
    }

    fn finish(&mut self, _out: &mut Resolved<'_>) {
        unimplemented!()
    }

    fn dump(&mut self, _records: Parcel, _out: &mut dyn FnMut(&RecordView<'_>)) {
        unimplemented!()
    }

    fn facts(&self) -> Facts {
        unimplemented!()
    }
}
