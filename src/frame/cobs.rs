//! COBS framing.
