//! [`Symbols`]: tables of all that is asked for later, from an ELF file.

use std::sync::OnceLock;

use object::Object;

use sha2::{Digest, Sha256};

use super::debug::{self, DebugInfo, NONE, RawPlace};
use super::elf::{self, Elf, Image};
use super::flat::{Flat, Interval};
use super::{BuildIdVerdict, Frame, Function, Place, Shortcoming, SymbolsError, Vector, judge_build_id, name, vectors};

/// Longer texts are not messages but arbitrary data. In bytes.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The symbols of one program.
pub struct Symbols {
    machine: &'static str,
    is_64_bit: bool,
    is_arm: bool,
    /// Functions by start.
    functions: Vec<StoredFunction>,
    /// Code → functions.
    code: Flat,
    debug: DebugInfo,
    /// Demangled names of the debug information.
    debug_names: Vec<OnceLock<Box<str>>>,
    pub(super) images: Vec<Image>,
    places: Flat,
    /// Variables and constants by start.
    data: Vec<elf::DataSymbol>,
    vectors: Vec<Vector>,
    shortcomings: Vec<Shortcoming>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Symbols").field("machine", &self.machine).finish_non_exhaustive()
    }
}

struct StoredFunction {
    start: u64,
    end: u64,
    raw: Box<[u8]>,
    name: OnceLock<Box<str>>,
    declared: RawPlace,
}

impl Symbols {
    /// Reads an ELF file, which need not be kept. `address_bits` is how wide the recording's addresses are, if that is known: a
    /// program for a machine with wider ones cannot be the target's.
    ///
    /// # Errors
    /// If there are no symbols to be had from it. Damaged debug information alone is no error but one of
    /// [`Symbols::shortcomings`].
    pub fn parse(bytes: &[u8], address_bits: Option<u32>) -> Result<Symbols, SymbolsError> {
        let mut elf = Elf::parse(bytes, address_bits)?;
        let mut debug = debug::read(&elf);
        let vectors = vectors::vectors(&elf);
        let symbols = std::mem::take(&mut elf.functions);
        let functions = functions(&elf, symbols, &debug);
        if functions.is_empty() {
            return Err(SymbolsError::Stripped);
        }
        elf.data.sort_by(|one, other| (one.start, &one.name).cmp(&(other.start, &other.name)));
        let mut shortcomings = Vec::new();
        if elf.file.symbols().next().is_none() {
            shortcomings.push(Shortcoming::NoSymbolTable);
        }
        match debug.trouble.take() {
            Some(trouble) => shortcomings.push(Shortcoming::BadDebugInfo(trouble)),
            None if debug.is_split => shortcomings.push(Shortcoming::SplitDebugInfo),
            None if debug.bodies.is_empty() => shortcomings.push(Shortcoming::NoDebugInfo),
            None => {}
        }
        let interval = |(value, function): (usize, &StoredFunction)| {
            Some(Interval { start: function.start, end: function.end, depth: 0, value: u32::try_from(value).ok()? })
        };
        Ok(Symbols {
            machine: elf.machine(),
            is_64_bit: elf.file.is_64(),
            is_arm: elf.is_arm,
            code: Flat::new(functions.iter().enumerate().filter_map(interval).collect()),
            functions,
            debug_names: debug.names.iter().map(|_| OnceLock::new()).collect(),
            debug,
            images: elf.images,
            places: elf.places,
            data: elf.data,
            vectors,
            shortcomings,
        })
    }

    /// The machine that the program is for.
    #[must_use]
    pub fn machine(&self) -> &'static str {
        self.machine
    }

    /// Whether its addresses have 64 bits, and not 32 or less.
    #[must_use]
    pub fn is_64_bit(&self) -> bool {
        self.is_64_bit
    }

    /// The missing parts of the file.
    #[must_use]
    pub fn shortcomings(&self) -> &[Shortcoming] {
        &self.shortcomings
    }

    /// All functions, by start.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = Function<'_>> {
        self.functions.iter().map(|function| self.function(function))
    }

    /// The function whose code contains an address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<Function<'_>> {
        self.stored_at(self.code_address(address)).map(|function| self.function(function))
    }

    /// The functions that an address is of, the innermost first: those that are inlined there, then the one that contains the
    /// code. Empty if nothing is known of the address.
    ///
    /// The return address of a call lies after the call, perhaps even after the function: for that see
    /// [`Symbols::frames_before`].
    #[must_use]
    pub fn frames_at(&self, address: u64) -> Vec<Frame<'_>> {
        self.frames(self.code_address(address))
    }

    /// The functions at the call that returns to `return_address`, the innermost first.
    #[must_use]
    pub fn frames_before(&self, return_address: u64) -> Vec<Frame<'_>> {
        self.code_address(return_address).checked_sub(1).map_or_else(Vec::new, |address| self.frames(address))
    }

    /// The function that an instrumentation hook was called for, from its argument: the function's address, or the
    /// address in the function to which the hook returns. Where a function begins that function is meant; elsewhere it is a
    /// return address, of the innermost function that is inlined there.
    #[must_use]
    pub fn hooked_function(&self, address: u64) -> Option<Function<'_>> {
        let at = self.code_address(address);
        let containing = self.stored_at(at);
        if let Some(function) = containing.filter(|function| function.start == at) {
            return Some(self.function(function));
        }
        let outer = self.stored_at(at.checked_sub(1)?)?;
        let inner = self.frames_before(address).into_iter().next().filter(|frame| frame.is_inlined);
        let outer = self.function(outer);
        Some(inner.map_or(outer, |frame| Function { name: frame.function, declared: frame.declared, ..outer }))
    }

    /// The source line of the code at an address.
    #[must_use]
    pub fn place_at(&self, address: u64) -> Option<Place<'_>> {
        self.place(self.debug.line_at(self.code_address(address))?)
    }

    /// The text at an address of the program's constant memory: UTF-8, up to the byte 0 that ends it.
    #[must_use]
    pub fn text_at(&self, address: u64) -> Option<&str> {
        let bytes = elf::memory_from(&self.images, &self.places, address)?;
        let end = memchr::memchr(0, bytes.get(..MAX_TEXT_BYTES.min(bytes.len()))?)?;
        std::str::from_utf8(bytes.get(..end)?).ok()
    }

    /// The program's constant memory from an address on, up to the end of the section.
    #[must_use]
    pub fn memory_from(&self, address: u64) -> Option<&[u8]> {
        elf::memory_from(&self.images, &self.places, address)
    }

    /// The name of the only variable or constant that has an address with these lower 16 bits; of those that can be written, if it
    /// was written. `None` if there are several, or none.
    #[must_use]
    pub fn data_at_low(&self, low: u16, is_written: bool) -> Option<Box<str>> {
        let covers = |data: &&elf::DataSymbol| {
            u64::from(low.wrapping_sub(data.start as u16)) < data.size_bytes && (data.is_writable || !is_written)
        };
        let mut found = self.data.iter().filter(covers);
        let first = found.next()?;
        // Two names of one place are one object.
        found.all(|other| (other.start, other.size_bytes) == (first.start, first.size_bytes)).then(|| name::demangle(&first.name))
    }

    /// The variable or constant that an address lies in, and how far behind its begin, in bytes.
    #[must_use]
    pub fn data_at(&self, address: u64) -> Option<(Box<str>, u64)> {
        let last = self.data.partition_point(|data| data.start <= address).checked_sub(1)?;
        let start = self.data.get(last)?.start;
        let first = self.data.partition_point(|data| data.start < start);
        // Names that begin so are the compiler's own.
        let mut named = self.data.get(first..=last)?.iter().filter(|data| !data.name.starts_with(b".L"));
        let found = named.find(|data| address - start < data.size_bytes)?;
        Some((name::demangle(&found.name), address - start))
    }

    /// The content of the section `.text`.
    #[must_use]
    pub fn text_section(&self) -> Option<&[u8]> {
        self.images.iter().find(|image| image.is_text).map(|image| &*image.bytes)
    }

    /// Whether a build id that a target sent, as a CRC-32 of `.text`, is that of this program.
    #[must_use]
    pub fn judge_build_id(&self, build_id: u32) -> BuildIdVerdict {
        judge_build_id(build_id, self.text_section())
    }

    /// The vector table of a Cortex-M program, by exception number; empty without one.
    #[must_use]
    pub fn vectors(&self) -> &[Vector] {
        &self.vectors
    }

    /// Whether the function that begins at an address handles interrupts: it is in the vector table, or is called as
    /// handlers are in CMSIS (`…_IRQHandler`, `…_Handler`). The reset handler does not: it runs the program.
    #[must_use]
    pub fn is_interrupt_handler(&self, address: u64) -> bool {
        let address = self.code_address(address);
        let mut of_handler = self.vectors.iter().filter(|vector| vector.handler == address);
        match of_handler.next() {
            Some(vector) => vector.exception != 1,
            None => self.function_at(address).is_some_and(|function| {
                let is_called_so = function.name.ends_with("_IRQHandler") || function.name.ends_with("_Handler");
                function.start == address && is_called_so && function.name != "Reset_Handler"
            }),
        }
    }

    fn code_address(&self, address: u64) -> u64 {
        if self.is_arm { address & !1 } else { address }
    }

    fn stored_at(&self, address: u64) -> Option<&StoredFunction> {
        self.functions.get(self.code.at(address)? as usize)
    }

    fn function<'a>(&'a self, function: &'a StoredFunction) -> Function<'a> {
        Function {
            name: function.name.get_or_init(|| name::demangle(&function.raw)),
            start: function.start,
            size_bytes: function.end - function.start,
            declared: self.place(function.declared),
        }
    }

    fn place(&self, place: RawPlace) -> Option<Place<'_>> {
        Some(Place { file: self.debug.files.get(place.file as usize)?, line: place.line })
    }

    fn debug_name(&self, name: u32) -> Option<&str> {
        let (raw, known) = (self.debug.names.get(name as usize)?, self.debug_names.get(name as usize)?);
        Some(known.get_or_init(|| name::demangle(raw)))
    }

    fn frames(&self, address: u64) -> Vec<Frame<'_>> {
        let containing = self.stored_at(address).map(|function| self.function(function));
        let mut frames = Vec::new();
        let mut place = self.debug.line_at(address).and_then(|place| self.place(place));
        let mut next = self.debug.code.at(address).unwrap_or(NONE);
        // A body's parent comes before it, so this ends.
        while let Some(body) = self.debug.bodies.get(next as usize) {
            if body.parent == NONE {
                // The symbol table's name says more than that of the debug information, which may lack the parameters.
                if containing.is_none() {
                    let function = self.debug_name(body.name).unwrap_or("?");
                    frames.push(Frame { function, place, declared: self.place(body.declared), is_inlined: false });
                }
                break;
            }
            let function = self.debug_name(body.name).unwrap_or("?");
            frames.push(Frame { function, place, declared: self.place(body.declared), is_inlined: true });
            place = self.place(body.call);
            next = body.parent;
        }
        if let Some(function) = containing {
            frames.push(Frame { function: function.name, place, declared: function.declared, is_inlined: false });
        }
        frames
    }
}

/// The functions of the symbol table, and those of the debug information that have no symbol, by start.
fn functions(elf: &Elf<'_>, mut symbols: Vec<elf::FunctionSymbol>, debug: &DebugInfo) -> Vec<StoredFunction> {
    // Of several names for one address the best counts; of equally good ones the first by name, so that the order in the
    // file does not matter.
    symbols.sort_by(|one, other| (one.start, other.rank, &one.name).cmp(&(other.start, one.rank, &other.name)));
    symbols.dedup_by_key(|symbol| symbol.start);
    // A label within a function is not one of its own.
    let mut known_until = 0;
    symbols.retain(|symbol| {
        known_until = known_until.max(if symbol.is_function() { symbol.start.saturating_add(symbol.size_bytes) } else { 0 });
        symbol.is_function() || symbol.size_bytes != 0 || symbol.start >= known_until
    });
    let mut functions: Vec<StoredFunction> = Vec::with_capacity(symbols.len());
    let starts: Vec<u64> = symbols.iter().map(|symbol| symbol.start).collect();
    for (index, symbol) in symbols.into_iter().enumerate() {
        let section_end = elf.code_end(symbol.start);
        let end = match symbol.size_bytes {
            // Assembler code often has no size: it reaches to the next function.
            0 => starts.get(index + 1).copied().unwrap_or(section_end),
            size => symbol.start.saturating_add(size),
        };
        let end = end.min(section_end);
        let declared = RawPlace::NONE;
        functions.push(StoredFunction { start: symbol.start, end, raw: symbol.name, name: OnceLock::new(), declared });
    }
    for &(start, end, body) in &debug.functions {
        let start = elf.code_address(start);
        let Some(body) = debug.bodies.get(body as usize) else { continue };
        let at = starts.partition_point(|&known| known <= start);
        // Symbols end where the next one begins at the latest: a function that begins within one has a name.
        let known = at.checked_sub(1).and_then(|at| functions.get_mut(at));
        match known.filter(|function| start < function.end) {
            Some(function) if function.start == start && !function.declared.is_known() => function.declared = body.declared,
            Some(_) => {}
            None => {
                let Some(raw) = debug.names.get(body.name as usize).filter(|raw| !raw.is_empty()) else { continue };
                let end = end.min(elf.code_end(start));
                let declared = body.declared;
                functions.push(StoredFunction { start, end, raw: raw.clone(), name: OnceLock::new(), declared });
            }
        }
    }
    functions.retain(|function| function.start < function.end);
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    for function in functions.iter_mut().filter(|function| !function.declared.is_known()) {
        function.declared = debug.line_at(function.start).unwrap_or(RawPlace::NONE);
    }
    functions
}

/// The SHA-256 of a file, in hex, by which a recording may name its program.
#[must_use]
pub fn sha256_digits(file: &[u8]) -> String {
    Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
}
