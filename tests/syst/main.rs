//! MIPI SyS-T from bytes to trace.

mod printf;
