//! The symbols of whole programs, compared with the output of binutils.
//!
//! Beside a program `x.elf` is `x.symbols.csv`: address, kind, name and line, as `nm -C` and `addr2line` print them.
//! `TRACECONV_EXTRA_CAPTURES` names a folder with more such programs to compare; how many functions they have is printed.

use std::path::Path;

use traceconv::symbols::{Place, Symbols};

/// A line of the list. Names hold commas, but no quotation marks.
struct Listed<'a> {
    address: u64,
    name: &'a str,
    /// None where the debug information says nothing.
    place: Option<Place<'a>>,
}

fn parse(line: &str) -> Listed<'_> {
    let [before, name, after] = line.split('"').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let address = u64::from_str_radix(before.split(',').next().unwrap(), 16).unwrap();
    let (file, number) = after.trim_start_matches(',').rsplit_once(':').unwrap();
    let place = number.parse().ok().map(|line| Place { file, line });
    Listed { address, name, place }
}

/// Compares a program with its list, and returns how many of its functions are in the list and have the listed line as the place
/// of their declaration too.
fn compare(elf: &Path) -> (usize, usize) {
    let symbols =
        Symbols::parse(&std::fs::read(elf).unwrap(), Some(32)).unwrap_or_else(|error| panic!("{}: {error}", elf.display()));
    let list = std::fs::read_to_string(elf.with_extension("symbols.csv")).unwrap();
    let (mut functions, mut declared_there) = (0, 0);
    let listed: Vec<Listed<'_>> = list.lines().map(parse).collect();
    for entry in &listed {
        // Data, a table of virtual functions for instance, has neither line nor code.
        let Some(function) = symbols.function_at(entry.address).filter(|function| function.start == entry.address) else {
            assert_eq!(entry.place, None, "{}", entry.name);
            continue;
        };
        let names: Vec<&str> = listed.iter().filter(|other| other.address == entry.address).map(|other| other.name).collect();
        assert!(names.contains(&function.name), "{:#x}: {} is called {}", entry.address, entry.name, function.name);
        for address in [entry.address, entry.address | 1] {
            assert_eq!(symbols.place_at(address), entry.place, "{}", entry.name);
            assert_eq!(symbols.hooked_function(address).unwrap().start, entry.address);
        }
        assert_eq!(function.declared.map(|place| place.file), entry.place.map(|place| place.file), "{}", entry.name);
        functions += 1;
        declared_there += usize::from(function.declared == entry.place);
    }
    // And none is made up.
    for function in symbols.functions() {
        assert!(listed.iter().any(|entry| entry.address == function.start), "{} at {:#x}", function.name, function.start);
    }
    (functions, declared_there)
}

#[test]
fn the_own_program_is_read_as_binutils_read_it() {
    let elf = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/symbols/pump.elf");
    assert_eq!(compare(&elf).0, 14);
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_EXTRA_CAPTURES"]
fn more_programs_are_read_as_binutils_read_them() {
    let folder = std::env::var_os("TRACECONV_EXTRA_CAPTURES").expect("TRACECONV_EXTRA_CAPTURES names a folder");
    for entry in std::fs::read_dir(folder).expect("it can be listed") {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "elf") && path.with_extension("symbols.csv").exists() {
            let (functions, declared_there) = compare(&path);
            println!(
                "{}: {functions} functions, {declared_there} declared in the line of their first instruction",
                path.display()
            );
        }
    }
}
