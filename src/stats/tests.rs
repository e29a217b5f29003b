//! Statistics of made-up events.
