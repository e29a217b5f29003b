//! QS captures, read and converted as a whole.
//!
//! - [`compare`]: records against the text of the host program, which [`qspy`] reads.
//!
//! All look at traces through [`reader`], which shares no code with the writer.

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod qspy;
#[path = "../reader/mod.rs"]
mod reader;
