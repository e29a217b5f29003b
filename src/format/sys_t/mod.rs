//! MIPI SyS-T.

pub mod collateral;
pub mod decode;
pub mod encode;
pub mod printf;
pub mod raw;
pub mod record;
mod scan;
pub mod shown;
pub mod stp;
mod text;
