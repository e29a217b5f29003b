//! Debug information (DWARF 2 to 5): which source line an address is of, and which functions are inlined there.
//!
//! One walk over all units makes tables that are searched later; nothing is read twice, and all that a hostile file could make
//! endless (shared tables, lists that many entries refer to) is paid for from a [`Budget`].

use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugInfoOffset, Dwarf, EndianSlice, Reader as _, RunTimeEndian, Section as _,
    SectionId, UnitRef, UnitSectionOffset,
};
use object::Object;
use rustc_hash::{FxHashMap, FxHashSet};

use super::budget::{Budget, Exhausted};
use super::elf::Elf;
use super::flat::{Flat, Interval};

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// "None" in the tables below.
pub(super) const NONE: u32 = u32::MAX;

/// How many references are followed from an entry to the one that names it: concrete → abstract → declaration, and one more.
const MAX_HOPS: usize = 4;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawPlace {
    /// An index of the files, or [`NONE`].
    pub(super) file: u32,
    pub(super) line: u32,
}

impl RawPlace {
    /// Not known.
    pub(super) const NONE: RawPlace = RawPlace { file: NONE, line: 0 };

    /// Whether it is.
    pub(super) fn is_known(self) -> bool {
        self.file != NONE && self.line != 0
    }
}

/// A function that has code: one of its own, or one that is inlined into another.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// The body that it is inlined into, as an index, or [`NONE`].
    pub(super) parent: u32,
    /// Where the parent calls it.
    pub(super) call: RawPlace,
    /// An index of the names, or [`NONE`].
    pub(super) name: u32,
    /// Where the source declares it.
    pub(super) declared: RawPlace,
    entry: u32,
}

/// All that is of use in a file's debug information.
#[derive(Default)]
pub(super) struct DebugInfo {
    /// Mangled, if the compiler says so.
    pub(super) names: Vec<Box<[u8]>>,
    pub(super) files: Vec<Box<str>>,
    pub(super) bodies: Vec<Body>,
    /// Code → bodies.
    pub(super) code: Flat,
    /// The first range of every function that is not inlined: start, end and index of the bodies.
    pub(super) functions: Vec<(u64, u64, u32)>,
    /// Code → sequences of rows.
    sequences: Flat,
    rows: Vec<Row>,
    row_ranges: Vec<(u32, u32)>,
    /// Whether part of it is in files beside the program.
    pub(super) is_split: bool,
    /// Why something could not be read.
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Copy)]
struct Row {
    address: u64,
    place: RawPlace,
}

impl DebugInfo {
    /// The line that an address is of.
    pub(super) fn line_at(&self, address: u64) -> Option<RawPlace> {
        let &(start, end) = self.row_ranges.get(self.sequences.at(address)? as usize)?;
        let rows = self.rows.get(start as usize..end as usize)?;
        let after = rows.partition_point(|row| row.address <= address);
        let place = rows.get(after.checked_sub(1)?)?.place;
        place.is_known().then_some(place)
    }
}

/// An entry that describes a function.
struct Entry {
    /// Its offset in `.debug_info`.
    offset: u64,
    /// The entry that says more, [`u64::MAX`] without one.
    origin: u64,
    /// The entry of the function that it lies in, [`u64::MAX`] without one.
    outer: u64,
    name: u32,
    is_linkage_name: bool,
    declared: RawPlace,
}

/// Reads the debug information of a file; unreadable parts are left out, and reported in `trouble`.
pub(super) fn read(elf: &Elf<'_>) -> DebugInfo {
    let mut walk = Walk::default();
    let sections = match sections(elf) {
        Ok(sections) => sections,
        Err(trouble) => return DebugInfo { trouble: Some(trouble), ..DebugInfo::default() },
    };
    let endian = if elf.file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: SectionId| {
        let bytes = sections.iter().find(|(known, _)| *known == id).map_or(&[][..], |(_, bytes)| bytes);
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, endian))
    };
    let Ok(dwarf) = Dwarf::load(section) else { return DebugInfo::default() };
    let bytes = sections.iter().map(|(_, bytes)| bytes.len()).sum();
    if let Err(stop) = walk.read_all(&dwarf, elf, &mut Budget::new(bytes)) {
        walk.info.trouble.get_or_insert(stop.to_string());
    }
    walk.finish()
}

type Named = (SectionId, Box<[u8]>);

/// The sections that are read; `.debug_loc` and others are not.
fn sections(elf: &Elf<'_>) -> Result<Vec<Named>, String> {
    let ids = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
    ];
    let mut budget = Budget::new(elf.file_bytes);
    ids.into_iter().map(|id| Ok((id, elf.debug_section(id.name(), &mut budget)?))).collect()
}

/// Why the walk ends early.
enum Stop {
    Bad(gimli::Error),
    TooMuch,
}

impl From<gimli::Error> for Stop {
    fn from(error: gimli::Error) -> Stop {
        Stop::Bad(error)
    }
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Stop {
        Stop::TooMuch
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Bad(error) => error.fmt(f),
            Stop::TooMuch => f.write_str("its tables refer to each other more often than honest ones do"),
        }
    }
}

/// The results of the walk so far.
#[derive(Default)]
struct Walk<'a> {
    info: DebugInfo,
    entries: Vec<Entry>,
    code: Vec<Interval>,
    sequences: Vec<Interval>,
    known_names: FxHashMap<&'a [u8], u32>,
    known_files: FxHashMap<String, u32>,
    known_programs: FxHashSet<usize>,
    /// By the unit's file index: the index of the files.
    unit_files: FxHashMap<u64, u32>,
}

impl<'a> Walk<'a> {
    fn read_all(&mut self, dwarf: &Dwarf<Bytes<'a>>, elf: &Elf<'_>, budget: &mut Budget) -> Result<(), Stop> {
        let mut abbreviations = AbbreviationTables::new(dwarf);
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            budget.spend(1)?;
            let table = match abbreviations.get(header.debug_abbrev_offset().0) {
                Ok(table) => table,
                Err(error) => {
                    self.bad_unit(error);
                    continue;
                }
            };
            let unit = match gimli::Unit::new_with_abbreviations(dwarf, header, table) {
                Ok(unit) => unit,
                Err(error) => {
                    self.bad_unit(error);
                    continue;
                }
            };
            self.info.is_split |= matches!(unit.dwo_name(), Ok(Some(_)));
            let unit = UnitRef::new(dwarf, &unit);
            self.unit_files.clear();
            for result in [self.read_lines(unit, elf, budget), self.read_entries(unit, elf, budget)] {
                match result {
                    Err(Stop::Bad(error)) => self.bad_unit(error),
                    Err(stop) => return Err(stop),
                    Ok(()) => {}
                }
            }
        }
        Ok(())
    }

    fn bad_unit(&mut self, error: gimli::Error) {
        self.info.trouble.get_or_insert_with(|| error.to_string());
    }

    /// The unit's line table.
    fn read_lines(&mut self, unit: UnitRef<'_, Bytes<'a>>, elf: &Elf<'_>, budget: &mut Budget) -> Result<(), Stop> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        // The table of files has been read with the unit: a small one for every unit is honest, a large one is not.
        budget.spend(program.header().file_names().len() + program.header().include_directories().len())?;
        if !self.known_programs.insert(program.header().offset().0) {
            return Ok(());
        }
        let mut rows = program.rows();
        let first = |walk: &Self| u32::try_from(walk.info.rows.len()).unwrap_or(NONE);
        let mut start = first(self);
        while let Some((_, row)) = rows.next_row()? {
            budget.spend(1)?;
            let (address, is_end) = (row.address(), row.end_sequence());
            let place = match row.line() {
                Some(line) if !is_end => RawPlace {
                    file: self.file(unit, row.file_index(), budget)?,
                    line: u32::try_from(line.get()).unwrap_or(u32::MAX),
                },
                _ => RawPlace::NONE,
            };
            if !is_end {
                self.info.rows.push(Row { address, place });
                continue;
            }
            let sequence = self.info.rows.get_mut(start as usize..).unwrap_or_default();
            // Of several rows of one address the last counts: a stable sort and a search from the end.
            sequence.sort_by_key(|row| row.address);
            let begin = sequence.first().map_or(address, |row| row.address);
            let end = first(self);
            if begin < address && is_real(elf, begin) {
                let value = u32::try_from(self.info.row_ranges.len()).unwrap_or(NONE);
                self.sequences.push(Interval { start: begin, end: address, depth: 0, value });
                self.info.row_ranges.push((start, end));
            } else {
                self.info.rows.truncate(start as usize);
            }
            start = first(self);
        }
        self.info.rows.truncate(start as usize);
        Ok(())
    }

    /// The unit's functions, and the functions inlined into them.
    fn read_entries(&mut self, unit: UnitRef<'_, Bytes<'a>>, elf: &Elf<'_>, budget: &mut Budget) -> Result<(), Stop> {
        let UnitSectionOffset(unit_offset) = unit.header.offset();
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
        // The function around the present entry: depth, body or NONE, how deep that is inlined, and its entry.
        let mut around: Vec<(isize, u32, u32, u64)> = Vec::new();
        let mut attributes = Vec::new();
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            budget.spend(1 + abbreviation.attributes().len())?;
            let is_inlined = abbreviation.tag() == gimli::DW_TAG_inlined_subroutine;
            if !is_inlined && abbreviation.tag() != gimli::DW_TAG_subprogram {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            while around.last().is_some_and(|&(outer, ..)| outer >= depth) {
                around.pop();
            }
            entries.read_attributes(abbreviation.attributes(), &mut attributes)?;
            let mut entry = Entry {
                offset: (unit_offset + offset.0) as u64,
                origin: u64::MAX,
                outer: around.last().map_or(u64::MAX, |outer| outer.3),
                name: NONE,
                is_linkage_name: false,
                declared: RawPlace::NONE,
            };
            let mut call = RawPlace::NONE;
            let mut ranges = Ranges::default();
            for attribute in &attributes {
                let value = attribute.value();
                match attribute.name() {
                    gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                        entry.name = self.name(unit, value, budget)?;
                        entry.is_linkage_name = entry.name != NONE;
                    }
                    gimli::DW_AT_name if !entry.is_linkage_name => entry.name = self.name(unit, value, budget)?,
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                        entry.origin = match value {
                            AttributeValue::UnitRef(offset) => (unit_offset + offset.0) as u64,
                            AttributeValue::DebugInfoRef(DebugInfoOffset(offset)) => offset as u64,
                            _ => u64::MAX,
                        };
                    }
                    gimli::DW_AT_decl_file => entry.declared.file = self.file_of(unit, value, budget)?,
                    gimli::DW_AT_decl_line => entry.declared.line = line(value),
                    gimli::DW_AT_call_file => call.file = self.file_of(unit, value, budget)?,
                    gimli::DW_AT_call_line => call.line = line(value),
                    gimli::DW_AT_low_pc => ranges.low = unit.attr_address(value)?,
                    gimli::DW_AT_high_pc => match unit.attr_address(value)? {
                        Some(end) => ranges.high = Some(end),
                        None => ranges.size = value.udata_value(),
                    },
                    gimli::DW_AT_ranges => ranges.list = unit.attr_ranges_offset(value)?,
                    _ => {}
                }
            }
            let (parent, inlined_depth) = match around.last() {
                Some(&(_, body, inlined_depth, _)) if is_inlined => (body, inlined_depth + 1),
                _ => (NONE, 0),
            };
            if is_inlined && parent == NONE {
                // Into nothing that has code: of an abstract function, or of one that the linker left out.
                around.push((depth, NONE, inlined_depth, entry.offset));
                self.entries.push(entry);
                continue;
            }
            let body = u32::try_from(self.info.bodies.len()).unwrap_or(NONE);
            let has_code = ranges.each(unit, budget, |start, end| {
                if !is_real(elf, start) {
                    return;
                }
                self.code.push(Interval { start, end, depth: inlined_depth, value: body });
                if !is_inlined {
                    self.info.functions.push((start, end, body));
                }
            })?;
            let own = if has_code {
                let entry = u32::try_from(self.entries.len()).unwrap_or(NONE);
                self.info.bodies.push(Body { parent, call, name: NONE, declared: RawPlace::NONE, entry });
                body
            } else {
                NONE
            };
            around.push((depth, own, inlined_depth, entry.offset));
            self.entries.push(entry);
        }
        Ok(())
    }

    fn name(&mut self, unit: UnitRef<'_, Bytes<'a>>, value: AttributeValue<Bytes<'a>>, budget: &mut Budget) -> Result<u32, Stop> {
        let Ok(name) = unit.attr_string(value) else { return Ok(NONE) };
        let name = name.slice();
        // Comparing long names costs too.
        budget.spend(name.len() / 16)?;
        if let Some(&known) = self.known_names.get(name) {
            return Ok(known);
        }
        budget.spend(name.len())?;
        let new = u32::try_from(self.info.names.len()).unwrap_or(NONE);
        self.info.names.push(name.into());
        self.known_names.insert(name, new);
        Ok(new)
    }

    fn file_of(
        &mut self,
        unit: UnitRef<'_, Bytes<'a>>,
        value: AttributeValue<Bytes<'a>>,
        budget: &mut Budget,
    ) -> Result<u32, Stop> {
        match value {
            AttributeValue::FileIndex(index) => self.file(unit, index, budget),
            _ => Ok(NONE),
        }
    }

    /// The file of an index of the unit's table.
    fn file(&mut self, unit: UnitRef<'_, Bytes<'a>>, index: u64, budget: &mut Budget) -> Result<u32, Stop> {
        if let Some(&known) = self.unit_files.get(&index) {
            return Ok(known);
        }
        let path = path(unit, index);
        let file = match path {
            None => NONE,
            Some(path) => {
                budget.spend(path.len() / 4)?;
                match self.known_files.get(&path) {
                    Some(&known) => known,
                    None => {
                        let new = u32::try_from(self.info.files.len()).unwrap_or(NONE);
                        self.info.files.push(path.as_str().into());
                        self.known_files.insert(path, new);
                        new
                    }
                }
            }
        };
        self.unit_files.insert(index, file);
        Ok(file)
    }

    /// Follows the references between entries, and makes the tables.
    fn finish(mut self) -> DebugInfo {
        self.entries.sort_by_key(|entry| entry.offset);
        let entries = &self.entries;
        let DebugInfo { bodies, names, .. } = &mut self.info;
        let mut of_outer = FxHashMap::default();
        for body in bodies {
            let (name, declared, mut outer) = described(entries, entries.get(body.entry as usize));
            (body.name, body.declared) = (name, if declared.is_known() { declared } else { RawPlace::NONE });
            let is_call = |name: u32| names.get(name as usize).is_some_and(|name| **name == *b"operator()");
            if !is_call(name) {
                continue;
            }
            // A lambda, whose name is that of all others: the function around it says which.
            for _ in 0..MAX_HOPS {
                let (name, _, further) = described(entries, outer);
                if is_call(name) {
                    outer = further;
                } else if let Some(known) = of_outer.get(&name) {
                    body.name = *known;
                    break;
                } else if let Some(raw) = names.get(name as usize) {
                    body.name = u32::try_from(names.len()).unwrap_or(NONE);
                    of_outer.insert(name, body.name);
                    names.push(format!("{}::operator()", super::name::demangle(raw)).into_bytes().into());
                    break;
                }
            }
        }
        self.info.functions.sort_unstable();
        self.info.code = Flat::new(self.code);
        self.info.sequences = Flat::new(self.sequences);
        self.info
    }
}

/// The name of the function of an entry, where it is declared, and the function that it lies in if its name is not the linker's.
fn described<'e>(entries: &'e [Entry], first: Option<&'e Entry>) -> (u32, RawPlace, Option<&'e Entry>) {
    let find = |offset: u64| {
        let index = entries.binary_search_by_key(&offset, |entry| entry.offset).ok()?;
        entries.get(index)
    };
    let (mut next, mut name, mut declared, mut outer) = (first, NONE, RawPlace::NONE, u64::MAX);
    for _ in 0..MAX_HOPS {
        let Some(entry) = next else { break };
        if name == NONE || (entry.is_linkage_name && entry.name != NONE) {
            (name, outer) = (entry.name, if entry.is_linkage_name { u64::MAX } else { entry.outer });
        }
        if !declared.is_known() {
            declared = entry.declared;
        }
        if entry.is_linkage_name && declared.is_known() {
            break;
        }
        next = find(entry.origin);
    }
    (name, declared, find(outer))
}

/// Whether code at an address is in the program. Linkers move what they leave out to address 0 or to the end of the memory.
fn is_real(elf: &Elf<'_>, start: u64) -> bool {
    elf.is_code(start) && (start != 0 || elf.has_function_at_zero)
}

fn line(value: AttributeValue<Bytes<'_>>) -> u32 {
    value.udata_value().and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

/// The path of a file as the compiler was given it, below the folder that it ran in.
fn path(unit: UnitRef<'_, Bytes<'_>>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let text = |value| Some(unit.attr_string(value).ok()?.to_string_lossy().into_owned());
    let mut path = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
    // Folder 0 is the one that the compiler ran in.
    if file.directory_index() != 0 {
        push(&mut path, text(file.directory(header)?)?);
    }
    push(&mut path, text(file.path_name())?);
    (!path.is_empty()).then_some(path)
}

/// Appends a part of a path to another, as the operating system does that the path is of.
fn push(path: &mut String, part: String) {
    let bytes = part.as_bytes();
    let has_drive = bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic);
    if path.is_empty() || part.starts_with(['/', '\\']) || has_drive {
        *path = part;
        return;
    }
    if !path.ends_with(['/', '\\']) {
        path.push(if path.contains('\\') && !path.contains('/') { '\\' } else { '/' });
    }
    path.push_str(&part);
}

#[derive(Default)]
struct Ranges {
    low: Option<u64>,
    high: Option<u64>,
    size: Option<u64>,
    list: Option<gimli::RangeListsOffset>,
}

impl Ranges {
    /// Shows each range that is not empty, and returns whether there was one.
    fn each(&self, unit: UnitRef<'_, Bytes<'_>>, budget: &mut Budget, mut range: impl FnMut(u64, u64)) -> Result<bool, Stop> {
        let mut has_some = false;
        let mut add = |start, end| {
            if start < end {
                has_some = true;
                range(start, end);
            }
        };
        match (self.list, self.low, self.high, self.size) {
            (Some(list), ..) => {
                let mut list = unit.ranges(list)?;
                while let Some(one) = list.next()? {
                    budget.spend(1)?;
                    add(one.begin, one.end);
                }
            }
            (None, Some(low), Some(high), _) => add(low, high),
            (None, Some(low), None, Some(size)) => add(low, low.saturating_add(size)),
            _ => {}
        }
        Ok(has_some)
    }
}

/// The tables of abbreviations, each read once, and up to the next one only.
struct AbbreviationTables<'a> {
    section: Bytes<'a>,
    tables: FxHashMap<usize, gimli::Result<Arc<Abbreviations>>>,
    starts: Vec<usize>,
}

impl<'a> AbbreviationTables<'a> {
    fn new(dwarf: &Dwarf<Bytes<'a>>) -> Self {
        let mut starts = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            starts.push(header.debug_abbrev_offset().0);
        }
        starts.sort_unstable();
        starts.dedup();
        AbbreviationTables { section: *dwarf.debug_abbrev.reader(), tables: FxHashMap::default(), starts }
    }

    fn get(&mut self, offset: usize) -> gimli::Result<Arc<Abbreviations>> {
        let (section, starts) = (self.section, &self.starts);
        let table = self.tables.entry(offset).or_insert_with(|| {
            let after = starts.partition_point(|&start| start <= offset);
            let end = starts.get(after).copied().unwrap_or(usize::MAX).min(section.slice().len());
            let table = section.slice().get(offset..end).unwrap_or_default();
            let table = DebugAbbrev::from(EndianSlice::new(table, section.endian()));
            table.abbreviations(gimli::DebugAbbrevOffset(0)).map(Arc::new)
        });
        table.clone()
    }
}
