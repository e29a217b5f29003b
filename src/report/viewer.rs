//! The demands of a trace on the viewer.

/// Memory that the viewer takes for each byte of a trace, about: 176 MB for 28.8 MB of slices with interned names (measured in its
/// trace processor, version 58).
const MEMORY_PER_BYTE: f64 = 6.0;
/// The most memory that a browser gives to a page, in GB.
const BROWSER_GB: f64 = 2.0;
/// The same with the viewer's 64-bit engine, which newer viewers use in browsers that have 64-bit WebAssembly.
const BROWSER_64_BIT_GB: f64 = 16.0;
/// Beyond this many bytes a trace is hardly opened in a browser: with some room for drawing and queries.
pub const COMFORTABLE_BYTES: u64 = 256 << 20;

/// A warning about a trace that is larger than a browser takes comfortably, with advice, as a sentence without a final stop.
#[must_use]
pub fn too_large(trace_bytes: u64) -> Option<String> {
    if trace_bytes <= COMFORTABLE_BYTES {
        return None;
    }
    let memory_gb = trace_bytes as f64 * MEMORY_PER_BYTE / 1e9;
    Some(format!(
        "a trace of {} MB takes about {memory_gb:.1} GB in the viewer; a browser gives it {BROWSER_GB:.0} GB, or up to \
         {BROWSER_64_BIT_GB:.0} GB where viewer and browser have the 64-bit engine: convert a part (--from, --to), with less detail (--detail overview) or into several files (--split-size 200M), or let the viewer use \
         Perfetto's `trace_processor server http` on this machine",
        trace_bytes / 1_000_000,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_traces_have_a_hint_with_an_estimate() {
        assert_eq!(too_large(COMFORTABLE_BYTES), None);
        let text = too_large(612_000_000).unwrap();
        assert!(
            text.starts_with("a trace of 612 MB takes about 3.7 GB in the viewer; a browser gives it 2 GB, or up to 16 GB where"),
            "{text}"
        );
        assert!(text.contains("--from") && text.contains("--split-size") && text.contains("trace_processor"));
    }
}
