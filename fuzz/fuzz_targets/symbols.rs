//! Any bytes as an ELF file: an answer or an error, in time and memory that the size of the file bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::symbols::Symbols;

fuzz_target!(|input: &[u8]| {
    let Ok(symbols) = Symbols::parse(input, None) else { return };
    let starts: Vec<u64> = symbols.functions().map(|function| function.start).take(256).collect();
    assert!(!starts.is_empty());
    for start in starts {
        let function = symbols.function_at(start).expect("a function contains its start");
        assert!(!function.name.is_empty() && function.size_bytes > 0);
        for address in [start, start | 1, start + function.size_bytes / 2, start + function.size_bytes] {
            assert!(symbols.frames_at(address).iter().rev().skip(1).all(|frame| frame.is_inlined));
            let _ = (symbols.hooked_function(address), symbols.place_at(address), symbols.text_at(address));
            let _ = symbols.is_interrupt_handler(address);
        }
    }
    let _ = symbols.judge_build_id(1);
});
