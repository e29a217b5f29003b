//! QS, the software tracing of the QP real-time frameworks (QP/C, QP/C++), of which QSPY is the host program.
pub mod decode;
pub mod element;
pub mod encode;
pub mod frame;
pub mod info;
pub mod layout;
pub mod record;
pub mod repair;
