//! The timeline as a whole: events in, operations out.
