//! `docs/reference/json.md` names every field of every JSON file, and no other.

use super::json_page::hold_page_of_json;
use super::session::Session;

/// The files: the name of each on the page, and a command that prints it.
const FILES: [(&str, &str); 11] = [
    ("report", "traceconv -q --report - demo.bin damaged.bin dpp.bin stm.stp pump.bin sniffer.bin firmware.bin -o out/"),
    ("report", "(head -c 999 /dev/zero; cat ring.ram) > dump.ram; traceconv -q --report - dump.ram"),
    ("report", "traceconv -q --merge before.bin after.bin --sync-marker SysTick --report - -o merged.perfetto-trace"),
    ("stats", "traceconv stats -q --json demo.bin damaged.bin dpp.bin stm.stp pump.bin sniffer.bin firmware.bin"),
    ("check", "traceconv check -q --budget budget.toml --json before.bin"),
    ("check", "traceconv check -q --budget budget.toml --json after.bin 2>/dev/null"),
    ("diff", "traceconv diff -q --json before.bin after.bin"),
    ("diff", "traceconv diff -q --json dual-0.bin firmware.bin"),
    ("baseline", "traceconv baseline -q before.bin after.bin"),
    ("info", "traceconv info -q --json demo.bin damaged.bin dpp.bin stm.stp pump.bin firmware.bin"),
    ("formats", "traceconv formats --json"),
];

#[test]
fn the_page_of_json_has_every_field() {
    let read = |(file, command)| {
        let text = Session::new().run(command);
        (file, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command}: {error}\n{text}")))
    };
    // `tests/export.rs` holds what is said of datasets.
    hold_page_of_json(&FILES.map(read), |path| !path.starts_with("dataset"));
}
