//! MIPI SyS-T.

pub mod encode;
pub mod record;
