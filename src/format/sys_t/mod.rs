//! MIPI SyS-T.

pub mod collateral;
pub mod decode;
pub mod encode;
pub mod printf;
pub mod record;
pub mod shown;
