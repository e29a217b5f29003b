use traceconv::{format::*, pipeline::*};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&a[1]).unwrap();
    let rel = |_r: std::ops::Range<usize>| {};
    let source = Source { bytes: &bytes, format: FORMATS[0], options: FormatOptions::default(), release: &rel };
    let mut o = Options { firmware_name: "rich".into(), ..Options::default() };
    if let Some(t) = a.get(3) {
        o.threads = t.parse().unwrap();
    }
    if let Some(t) = a.get(4) {
        o.window_bytes = t.parse().unwrap();
    }
    if let Some(t) = a.get(5) {
        if t == "all" {
            o.events = EventDetail::All;
        }
        if t == "none" {
            o.events = EventDetail::None;
        }
    }
    let t = std::time::Instant::now();
    let mut f = std::fs::File::create(&a[2]).unwrap();
    let c = convert(&[source], &o, &mut f, &mut |_| true).unwrap();
    let dt = t.elapsed().as_secs_f64();
    for i in &c.inputs {
        let l = &i.ledger;
        eprintln!(
            "events {} ok {} bad {} dec {} skip {} of {} first {:?} last {:?} facts {:?}",
            i.events,
            l.frames_ok,
            l.frames_bad,
            l.decoded_bytes,
            l.skipped_bytes,
            bytes.len(),
            i.first,
            i.last,
            i.facts
        );
        for e in l.entries() {
            eprintln!("  {:?}", e);
        }
    }
    eprintln!(
        "out {} ratio {:.3} {:.3}s {:.1} MB/s",
        c.output_bytes,
        c.output_bytes as f64 / bytes.len() as f64,
        dt,
        bytes.len() as f64 / dt / 1e6
    );
}
