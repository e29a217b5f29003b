//! Recognising a capture.

use crate::format::Probe;

pub(super) fn probe(_sample: &[u8], _whole: bool) -> Option<Probe> {
    None
}
