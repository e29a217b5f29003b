//! SystemView recordings, converted as a whole.
//!
//! - [`detection`]: recognition against all other formats, and buffers in images of memory;
//! - [`golden`]: captures under `testdata/` and their expected views;
//! - [`hooks`]: what the target library and its hooks record in rare cases;
//! - [`meaning`]: times, losses and names, compared with what the generator knows;
//! - [`properties`]: contracts that hold for any input;
//! - [`restarts`]: boards that are reset again and again;
//! - [`systems`]: what the hooks of other operating systems than FreeRTOS record;
//! - [`zephyr`]: what Zephyr's hooks record, and what they leave out;
//! - [`reference`]: recordings of real targets, if `TRACECONV_SYSTEMVIEW` names the folder that has them.
//!
//! All read traces with [`reader`], which shares no code with the writer.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod detection;
mod golden;
mod hooks;
mod meaning;
mod properties;
#[path = "../reader/mod.rs"]
mod reader;
mod reference;
mod restarts;
mod run;
mod systems;
mod zephyr;
