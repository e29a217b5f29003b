//! The symbols of small programs, whole, reduced and damaged.

use super::*;

const PUMP: &[u8] = include_bytes!("../../testdata/symbols/pump.elf");
const NO_DEBUG: &[u8] = include_bytes!("../../testdata/symbols/pump_no_debug.elf");
const STRIPPED: &[u8] = include_bytes!("../../testdata/symbols/pump_stripped.elf");

fn pump() -> Symbols {
    Symbols::parse(PUMP, Some(32)).unwrap()
}

fn start_of(symbols: &Symbols, name: &str) -> u64 {
    symbols.functions().find(|function| function.name == name).unwrap_or_else(|| panic!("no {name}")).start
}

fn error_of(bytes: &[u8]) -> String {
    let error = Symbols::parse(bytes, Some(32)).map(|_| ()).unwrap_err();
    format!("{error}; {}", error.expected())
}

#[test]
fn functions_are_found_by_any_of_their_addresses() {
    let symbols = pump();
    assert_eq!((symbols.machine(), symbols.shortcomings()), ("ARM", &[][..]));
    let read = symbols.function_at(start_of(&symbols, "pump_read") + 1).unwrap();
    assert_eq!((read.name, read.declared), ("pump_read", Some(Place { file: "pump/pump.c", line: 19 })));
    for address in read.start..read.start + read.size_bytes {
        assert_eq!(symbols.function_at(address), Some(read));
    }
    assert_ne!(symbols.function_at(read.start - 1), Some(read));
    assert_ne!(symbols.function_at(read.start + read.size_bytes), Some(read));
    assert_eq!(symbols.function_at(0x2000_0000), None);
    assert_eq!(symbols.function_at(u64::MAX), None);
    // Aliases of a weak default handler are called after the handler.
    assert_eq!(symbols.function_at(start_of(&symbols, "Default_Handler")).unwrap().name, "Default_Handler");
}

#[test]
fn assembly_code_reaches_to_the_next_label() {
    let symbols = pump();
    let (first, second) = (start_of(&symbols, "plain_label"), start_of(&symbols, "second_label"));
    assert_eq!(symbols.function_at(first).unwrap().size_bytes, second - first);
    assert_eq!(symbols.function_at(second).unwrap().size_bytes, 4);
    assert_eq!(symbols.function_at(second).unwrap().declared, None);
}

#[test]
fn inlined_functions_stand_before_those_that_they_are_in() {
    let symbols = pump();
    let read = symbols.function_at(start_of(&symbols, "pump_read")).unwrap();
    let addresses = read.start..read.start + read.size_bytes;
    let inlined = addresses.clone().map(|at| symbols.frames_at(at)).find(|frames| frames.len() == 2).unwrap();
    assert_eq!((inlined[0].function, inlined[0].is_inlined), ("scaled", true));
    assert_eq!(inlined[0].declared, Some(Place { file: "pump/pump.c", line: 13 }));
    // The call is in line 21 of the outer function.
    assert_eq!((inlined[1].function, inlined[1].is_inlined), ("pump_read", false));
    assert_eq!(inlined[1].place, Some(Place { file: "pump/pump.c", line: 21 }));
    let plain = addresses.map(|at| symbols.frames_at(at)).find(|frames| frames.len() == 1).unwrap();
    assert_eq!(plain[0].function, "pump_read");
    // `Valve::Valve` has no code; `Valve::clamp` has.
    let step = symbols.function_at(start_of(&symbols, "pump_step")).unwrap();
    assert_eq!(symbols.hooked_function(step.start).unwrap().name, "pump_step");
    assert_eq!(symbols.frames_at(0x2000_0000), []);
}

#[test]
fn a_return_address_belongs_to_the_code_before_it() {
    let symbols = pump();
    let read = symbols.function_at(start_of(&symbols, "pump_read")).unwrap();
    let end = read.start + read.size_bytes;
    assert_eq!(symbols.frames_before(end | 1).last().unwrap().function, "pump_read");
    assert_eq!(symbols.frames_before(0), []);
    assert_eq!(symbols.frames_before(1), []);
    // The address of a function is that function, not the end of the one before it.
    assert_eq!(symbols.hooked_function(read.start | 1), Some(read));
    assert_eq!(symbols.hooked_function(0x2000_0001), None);
    let of_scaled = (read.start..end).filter(|&at| symbols.frames_at(at).len() == 2).max().unwrap();
    let hooked = symbols.hooked_function((of_scaled & !1) + 2).unwrap();
    assert_eq!((hooked.name, hooked.start), ("scaled", read.start));
}

#[test]
fn the_vector_table_tells_the_handlers() {
    let symbols = pump();
    let names = symbols.vectors().iter().map(|vector| {
        let name = symbols.function_at(vector.handler).unwrap().name;
        (vector.exception, exception_name(vector.exception).unwrap_or("-"), name)
    });
    let expected = [
        (1, "Reset", "Reset_Handler"),
        (2, "NMI", "Default_Handler"),
        (3, "HardFault", "Default_Handler"),
        (15, "SysTick", "SysTick_Handler"),
        (16, "-", "Default_Handler"),
        (17, "-", "Pump_IRQHandler"),
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let is_handler = |name| symbols.is_interrupt_handler(start_of(&symbols, name) | 1);
    assert!(is_handler("Pump_IRQHandler") && is_handler("SysTick_Handler"));
    assert!(!is_handler("Reset_Handler") && !is_handler("pump_read"));
    assert!(!symbols.is_interrupt_handler(start_of(&symbols, "Pump_IRQHandler") + 4));
}

#[test]
fn a_big_endian_program_has_a_vector_table() {
    let symbols = Symbols::parse(include_bytes!("../../testdata/symbols/lambda_big_endian.elf"), Some(32)).unwrap();
    let vectors: Vec<_> = symbols.vectors().iter().map(|vector| (vector.exception, vector.handler)).collect();
    assert_eq!(vectors, [(1, start_of(&symbols, "Reset_Handler")), (16, start_of(&symbols, "Level_IRQHandler"))]);
}

#[test]
fn an_inlined_lambda_is_named_by_its_function() {
    let symbols = Symbols::parse(include_bytes!("../../testdata/symbols/lambda_big_endian.elf"), Some(32)).unwrap();
    let drain = symbols.function_at(start_of(&symbols, "drain(int)")).unwrap();
    let frames = (drain.start..drain.start + drain.size_bytes).map(|at| symbols.frames_at(at));
    let inlined: Vec<_> = frames.filter(|frames| frames.len() == 2).map(|frames| frames[0].function.to_owned()).collect();
    assert!(!inlined.is_empty() && inlined.iter().all(|name| name == "drain(int)::operator()"), "{inlined:?}");
}

#[test]
fn variables_are_found_by_any_of_their_addresses() {
    let symbols = pump();
    let at = |address| symbols.data_at(address).map(|(name, offset)| (name.into_string(), offset));
    assert_eq!(at(0x2000_0000), Some(("pump_ticks".to_owned(), 0)));
    assert_eq!(at(0x2000_0003), Some(("pump_ticks".to_owned(), 3)));
    assert_eq!(at(0x2000_0004), None);
    assert_eq!(at(0), Some(("vectors".to_owned(), 0)));
    assert_eq!(at(u64::MAX), None);
}

#[test]
fn texts_lie_in_constant_memory() {
    let symbols = pump();
    let address_of = |bytes: &[u8]| {
        let mut places =
            symbols.images.iter().filter_map(|image| Some(image.start + memchr::memmem::find(&image.bytes, bytes)? as u64));
        places.next_back().unwrap()
    };
    let message = address_of(b"pump: ");
    assert_eq!(symbols.text_at(message), Some("pump: flow %u ml/s, valve öffnet"));
    assert_eq!(symbols.text_at(message + 6), Some("flow %u ml/s, valve öffnet"));
    let not_text = address_of(b"\xFF\xFE\0");
    assert_eq!(symbols.text_at(not_text), None, "not UTF-8");
    assert!(symbols.memory_from(not_text).unwrap().starts_with(b"\xFF\xFE\0"));
    assert_eq!(symbols.text_at(0x2000_0000), None);
}

#[test]
fn what_a_file_lacks_is_said() {
    let symbols = Symbols::parse(NO_DEBUG, Some(32)).unwrap();
    assert_eq!(symbols.shortcomings(), [Shortcoming::NoDebugInfo]);
    assert!(symbols.shortcomings()[0].to_string().contains("build with -g"));
    let read = symbols.function_at(start_of(&symbols, "pump_read") + 5).unwrap();
    assert_eq!((read.name, read.declared), ("pump_read", None));
    assert_eq!(symbols.frames_at(read.start).len(), 1);
    assert_eq!(symbols.vectors(), pump().vectors());
}

#[test]
fn debug_information_beside_a_program_is_missed() {
    let split = include_bytes!("../../testdata/symbols/lambda_split.elf");
    assert_eq!(Symbols::parse(split, None).unwrap().shortcomings(), [Shortcoming::SplitDebugInfo]);
}

#[cfg(feature = "compress")]
#[test]
fn compressed_debug_information_is_the_same() {
    let compressed = include_bytes!("../../testdata/symbols/pump_compressed.elf");
    let symbols = Symbols::parse(compressed, None).unwrap();
    assert_eq!(symbols.shortcomings(), []);
    assert!(symbols.functions().eq(pump().functions()));
}

#[test]
fn files_of_no_use_are_told_apart() {
    for (bytes, message) in [
        (&b""[..], "not an ELF file but an empty file; the linker's output"),
        (b":100000000102", "not an ELF file but an Intel HEX file"),
        (b"S00600004844521B", "a file of S-records"),
        (b"MZ\x90\0", "a Windows program"),
        (b"\x01\x02\x03\x04", "not an ELF file; the linker's output"),
        (b"\x7FELF", "damaged or truncated"),
        (&PUMP[..40], "damaged or truncated"),
        (&PUMP[..PUMP.len() / 2], "damaged or truncated"),
        (STRIPPED, "without symbols (stripped)"),
    ] {
        assert!(error_of(bytes).contains(message), "{message}: {}", error_of(bytes));
    }
    // The file's type: 1 is an object file, 4 a core dump.
    for (kind, message) in [(1, "not linked yet"), (4, "core dump")] {
        let mut other = PUMP.to_vec();
        other[16] = kind;
        assert!(error_of(&other).contains(message), "{}", error_of(&other));
    }
    // The header of a program for x86-64.
    let mut wide = vec![0; 64];
    wide[..7].copy_from_slice(b"\x7FELF\x02\x01\x01");
    (wide[16], wide[18], wide[20], wide[52], wide[54], wide[58]) = (2, 62, 1, 64, 56, 64);
    assert!(
        error_of(&wide).contains("for x86-64, whose addresses have 64 bits, while the recording's have 32; the program that ran"),
        "{}",
        error_of(&wide)
    );
    assert_eq!(Symbols::parse(&wide, None).map(|_| ()).unwrap_err(), SymbolsError::Stripped);
}

#[test]
fn no_damage_makes_it_panic_or_forget_what_it_can_know() {
    // Every byte once, in several ways: headers, tables, debug information. Half of the file is padding.
    let ask = |bytes: &[u8]| {
        let Ok(symbols) = Symbols::parse(bytes, None) else { return };
        for address in (0..0x120).chain([u64::MAX, u64::MAX - 1, 1 << 31]) {
            for frame in symbols.frames_at(address).iter().chain(&symbols.frames_before(address)) {
                assert!(!frame.function.is_empty() || frame.place.is_none_or(|place| place.line > 0));
            }
            let _ = (symbols.hooked_function(address), symbols.text_at(address), symbols.place_at(address));
        }
        assert!(symbols.functions().all(|function| function.name.len() <= 4096));
    };
    let mut bytes = PUMP.to_vec();
    let interesting = (0..bytes.len()).filter(|at| !(0x60..0x1000).contains(at));
    for (number, at) in interesting.enumerate() {
        let before = bytes[at];
        bytes[at] = [0, 0xFF, 0x80, before ^ 1, before.wrapping_add(1)][number % 5];
        ask(&bytes);
        bytes[at] = before;
    }
    for end in (0..bytes.len()).step_by(97) {
        ask(&bytes[..end]);
    }
}

#[test]
fn tables_that_refer_to_each_other_without_end_are_given_up() {
    // A thousand units that all share one large table of lines: each is small, together they would be endless.
    let files: usize = 20_000;
    let mut line = vec![];
    line.extend([4u8, 0]);
    let mut header = vec![1u8, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    for _ in 0..files {
        header.extend(b"x\0\0\0\0");
    }
    header.push(0);
    line.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    line.extend(&header);
    let mut section = u32::try_from(line.len()).unwrap().to_le_bytes().to_vec();
    section.extend(&line);
    // One abbreviation: a compile unit without children, with the place of its lines.
    let abbreviations = [1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
    let mut info = vec![];
    for _ in 0..1000 {
        info.extend(12u32.to_le_bytes());
        info.extend([4, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]);
    }
    let elf = with_debug_sections(&[(".debug_info", &info), (".debug_abbrev", &abbreviations), (".debug_line", &section)]);
    let symbols = Symbols::parse(&elf, None).unwrap();
    let [Shortcoming::BadDebugInfo(why)] = symbols.shortcomings() else { panic!("{:?}", symbols.shortcomings()) };
    assert!(why.contains("more often than honest ones"), "{why}");
    assert_eq!(symbols.function_at(0x1000).unwrap().name, "f");
}

/// A program of one function `f` at 0x1000 with the given sections.
fn with_debug_sections(debug: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0".to_vec();
    let place_of = |names: &mut Vec<u8>, name: &str| {
        let at = u32::try_from(names.len()).unwrap();
        names.extend(name.bytes());
        names.push(0);
        at
    };
    let mut symbols = vec![0; 16];
    // Name 1, value, size, a global function, in section 1.
    for word in [1u32, 0x1000, 16] {
        symbols.extend(word.to_le_bytes());
    }
    symbols.extend([0x12, 0, 1, 0]);
    // Name, type, flags, address, link and entry size of each section, and its content.
    let mut sections: Vec<([u32; 6], Vec<u8>)> =
        vec![([1, 1, 6, 0x1000, 0, 0], vec![0; 16]), ([7, 2, 0, 0, 3, 16], symbols), ([15, 3, 0, 0, 0, 0], b"\0f\0".to_vec())];
    for (name, bytes) in debug {
        sections.push(([place_of(&mut names, name), 1, 0, 0, 0, 0], bytes.to_vec()));
    }
    sections.push(([23, 3, 0, 0, 0, 0], names));
    let mut contents: Vec<u8> = Vec::new();
    let mut headers = vec![0; 40];
    for ([name, kind, flags, address, link, entry], bytes) in &sections {
        let (offset, size) = (52 + contents.len() as u32, bytes.len() as u32);
        for word in [*name, *kind, *flags, *address, offset, size, *link, 0, 1, *entry] {
            headers.extend(word.to_le_bytes());
        }
        contents.extend(bytes);
    }
    let mut elf = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x28\0\x01\0\0\0".to_vec();
    for word in [0x1000, 0, 52 + contents.len() as u32, 0] {
        elf.extend(word.to_le_bytes());
    }
    let count = u16::try_from(sections.len() + 1).unwrap();
    for half in [52, 32, 0, 40, count, count - 1] {
        elf.extend(half.to_le_bytes());
    }
    elf.extend(contents);
    elf.extend(headers);
    elf
}
