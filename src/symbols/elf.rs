//! The content of an ELF file without debug information: machine, sections, function symbols.

use object::{
    Architecture, CompressedData, CompressionFormat, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SectionKind,
    SymbolKind,
};

use super::SymbolsError;
use super::budget::{Budget, other_kind};
use super::flat::{Flat, Interval};

/// Bits of a section's flags.
const WRITE: u64 = 1;
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;

/// Debug information packed tighter than this is not honest.
const MAX_COMPRESSION: u64 = 64;

/// A piece of the program's memory that does not change: code, constants, strings.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) start: u64,
    pub(super) bytes: Box<[u8]>,
    pub(super) is_executable: bool,
    pub(super) is_text: bool,
    /// Whether it is called as a table of exception vectors usually is.
    pub(super) is_vectors: bool,
}

impl Image {
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes from an address on.
    pub(super) fn from(&self, address: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(address.checked_sub(self.start)?).ok()?..)
    }
}

/// A function symbol. On ARM without the Thumb bit.
#[derive(Clone, Debug)]
pub(super) struct FunctionSymbol {
    pub(super) start: u64,
    /// 0: unknown.
    pub(super) size_bytes: u64,
    pub(super) name: Box<[u8]>,
    /// The better of two symbols of one address has the higher one.
    pub(super) rank: u8,
}

impl FunctionSymbol {
    /// The rank of a function above that of a label.
    const FUNCTION: u8 = 8;

    /// Whether the symbol says that it is a function, and is not a label only.
    pub(super) fn is_function(&self) -> bool {
        self.rank >= FunctionSymbol::FUNCTION
    }
}

/// A symbol of data.
pub(super) struct DataSymbol {
    pub(super) start: u64,
    pub(super) size_bytes: u64,
    pub(super) name: Box<[u8]>,
    /// Whether the program may write there.
    pub(super) is_writable: bool,
}

/// A parsed file.
pub(super) struct Elf<'a> {
    pub(super) file: object::File<'a>,
    pub(super) file_bytes: usize,
    pub(super) images: Vec<Image>,
    /// Where the images lie: indexes of `images`.
    pub(super) places: Flat,
    code: Flat,
    pub(super) functions: Vec<FunctionSymbol>,
    pub(super) data: Vec<DataSymbol>,
    pub(super) has_function_at_zero: bool,
    /// The address of a symbol that is called as tables of exception vectors usually are.
    pub(super) vectors_symbol: Option<u64>,
    pub(super) is_arm: bool,
}

impl<'a> Elf<'a> {
    /// Reads the tables.
    pub(super) fn parse(bytes: &'a [u8], address_bits: Option<u32>) -> Result<Elf<'a>, SymbolsError> {
        if !bytes.starts_with(b"\x7FELF") {
            return Err(SymbolsError::NotElf(other_kind(bytes)));
        }
        let file = object::File::parse(bytes).map_err(|error| SymbolsError::Damaged(error.to_string()))?;
        match file.kind() {
            ObjectKind::Relocatable => return Err(SymbolsError::NotLinked),
            ObjectKind::Core => return Err(SymbolsError::Core),
            _ => {}
        }
        let found = if file.is_64() { 64 } else { 32 };
        if let Some(expected) = address_bits.filter(|&expected| expected < found) {
            return Err(SymbolsError::WrongMachine { machine: machine(file.architecture()), found, expected });
        }
        let is_arm = file.architecture() == Architecture::Arm;
        let mut elf = Elf {
            file,
            file_bytes: bytes.len(),
            images: Vec::new(),
            places: Flat::default(),
            code: Flat::default(),
            functions: Vec::new(),
            data: Vec::new(),
            has_function_at_zero: false,
            vectors_symbol: None,
            is_arm,
        };
        let mut budget = Budget::new(bytes.len());
        elf.read_images(&mut budget)?;
        elf.read_symbols(&mut budget)?;
        Ok(elf)
    }

    /// The machine of the program.
    pub(super) fn machine(&self) -> &'static str {
        machine(self.file.architecture())
    }

    fn read_images(&mut self, budget: &mut Budget) -> Result<(), SymbolsError> {
        for section in self.file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let sh_flags = sh_flags.0;
            // Linkers give sections that are not loaded (catalogues of texts, for instance) addresses too.
            let has_place = sh_flags & ALLOCATED != 0 || section.address() != 0;
            if sh_flags & WRITE != 0 || !has_place || section.kind() == SectionKind::UninitializedData {
                continue;
            }
            let name = section.name_bytes().unwrap_or_default();
            let data = section.data().map_err(|error| damaged(name, &error))?;
            if data.is_empty() || section.address().checked_add(data.len() as u64).is_none() {
                continue;
            }
            budget.spend(data.len()).map_err(|_| overlapping("sections"))?;
            self.images.push(Image {
                start: section.address(),
                bytes: data.into(),
                is_executable: sh_flags & EXECUTABLE != 0,
                is_text: name == b".text",
                is_vectors: VECTOR_SECTIONS.contains(&name),
            });
        }
        self.images.sort_by_key(|image| image.start);
        let interval = |(value, image): (usize, &Image)| {
            Some(Interval { start: image.start, end: image.end(), depth: 0, value: u32::try_from(value).ok()? })
        };
        let is_executable = |(_, image): &(usize, &Image)| image.is_executable;
        self.places = Flat::new(self.images.iter().enumerate().filter_map(interval).collect());
        self.code = Flat::new(self.images.iter().enumerate().filter(is_executable).filter_map(interval).collect());
        Ok(())
    }

    fn read_symbols(&mut self, budget: &mut Budget) -> Result<(), SymbolsError> {
        // Only the dynamic table remains of a stripped program for an operating system.
        let all = self.file.symbols().chain(self.file.dynamic_symbols());
        let mut functions = Vec::new();
        let mut vectors_symbol = None;
        for symbol in all {
            // Absolute ones are numbers that the linker script made.
            if symbol.is_undefined() || symbol.section_index().is_none() {
                continue;
            }
            let Ok(name) = symbol.name_bytes() else { continue };
            if symbol.kind() == SymbolKind::Data && symbol.size() > 0 && !name.is_empty() {
                budget.spend(name.len()).map_err(|_| overlapping("symbol names"))?;
                let section = symbol.section_index().and_then(|index| self.file.section_by_index(index).ok());
                let flags = section.map(|section| section.flags());
                let is_writable = matches!(flags, Some(SectionFlags::Elf { sh_flags, .. }) if sh_flags.0 & WRITE != 0);
                self.data.push(DataSymbol { start: symbol.address(), size_bytes: symbol.size(), name: name.into(), is_writable });
            }
            let start = self.code_address(symbol.address());
            if VECTOR_SYMBOLS.contains(&name) {
                vectors_symbol = vectors_symbol.or(Some(symbol.address()));
            }
            // `$t`, `$d`, `$x`: marks of the assembler for what follows.
            if name.is_empty() || name.starts_with(b"$") || !self.is_code(start) {
                continue;
            }
            let is_function = symbol.kind() == SymbolKind::Text;
            // Assembler code without `.type` is a plain label; local ones are jump targets.
            if !is_function && (symbol.is_local() || !is_label(symbol.kind())) {
                continue;
            }
            budget.spend(name.len()).map_err(|_| overlapping("symbol names"))?;
            let rank = u8::from(is_function) * FunctionSymbol::FUNCTION
                + u8::from(symbol.size() != 0) * 4
                + u8::from(symbol.is_global() && !symbol.is_weak()) * 2
                + u8::from(!symbol.is_weak());
            functions.push(FunctionSymbol { start, size_bytes: symbol.size(), name: name.into(), rank });
        }
        self.has_function_at_zero = functions.iter().any(|function| function.start == 0);
        self.functions = functions;
        self.vectors_symbol = vectors_symbol;
        Ok(())
    }

    /// An address of code without the bit that says "Thumb" on ARM.
    pub(super) fn code_address(&self, address: u64) -> u64 {
        if self.is_arm { address & !1 } else { address }
    }

    /// Whether there is code at an address.
    pub(super) fn is_code(&self, address: u64) -> bool {
        self.code.at(address).is_some()
    }

    /// Where the section ends that holds the code at an address.
    pub(super) fn code_end(&self, address: u64) -> u64 {
        let image = self.code.at(address).and_then(|image| self.images.get(image as usize));
        image.map_or(address, Image::end)
    }

    /// The content of the program's memory from an address on, as far as it never changes.
    pub(super) fn memory_from(&self, address: u64) -> Option<&[u8]> {
        memory_from(&self.images, &self.places, address)
    }

    /// The content of a section of debug information, decompressed; empty without one.
    pub(super) fn debug_section(&self, name: &str, budget: &mut Budget) -> Result<Box<[u8]>, String> {
        let Some(section) = self.file.section_by_name(name) else { return Ok(Box::default()) };
        let what = |why: &dyn std::fmt::Display| format!("{name}: {why}");
        let data = section.compressed_data().map_err(|error| what(&error))?;
        let packed = data.data.len() as u64;
        if data.uncompressed_size > packed.saturating_mul(MAX_COMPRESSION).saturating_add(4096) {
            return Err(what(&"it claims to be larger than it can be"));
        }
        let size = usize::try_from(data.uncompressed_size).map_err(|error| what(&error))?;
        budget.spend(size / 16).map_err(|_| what(&"it is larger than the file allows"))?;
        let content = decompressed(&data).map_err(|error| what(&error))?;
        if content.len() != size {
            return Err(what(&format_args!("it has {} bytes instead of {size}", content.len())));
        }
        Ok(content)
    }
}

/// What was compressed, as far as it has the length that it claims.
fn decompressed(data: &CompressedData<'_>) -> std::io::Result<Box<[u8]>> {
    #[cfg(feature = "compress")]
    let unpack = |from: &mut dyn std::io::Read| {
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(from, data.uncompressed_size), &mut content).map(|_| content.into())
    };
    match data.format {
        CompressionFormat::None => Ok(data.data.into()),
        #[cfg(feature = "compress")]
        CompressionFormat::Zlib => unpack(&mut flate2::bufread::ZlibDecoder::new(data.data)),
        #[cfg(feature = "compress")]
        CompressionFormat::Zstandard => unpack(&mut zstd::stream::read::Decoder::with_buffer(data.data)?),
        _ => Err(std::io::Error::other("it is compressed in a way that cannot be read")),
    }
}

/// The content of a file's sections of a name, and of those whose name continues it after a dot, and where the linker placed them; as
/// much of them as the file can hold. Nothing if it is not an ELF file.
#[must_use]
pub fn sections_named(bytes: &[u8], name: &str) -> Vec<(u64, Box<[u8]>)> {
    let mut budget = Budget::new(bytes.len());
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let is_wanted =
        |found: &[u8]| found.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."));
    let wanted = file.sections().filter(|section| section.name_bytes().is_ok_and(is_wanted));
    let contents = wanted.filter_map(|section| Some((section.address(), section.data().ok()?)));
    contents.take_while(|(_, data)| budget.spend(data.len()).is_ok()).map(|(start, data)| (start, data.into())).collect()
}

/// The bytes from an address on, up to the end of their image.
pub(super) fn memory_from<'a>(images: &'a [Image], places: &Flat, address: u64) -> Option<&'a [u8]> {
    images.get(places.at(address)? as usize)?.from(address)
}

const VECTOR_SECTIONS: [&[u8]; 9] = [
    b".isr_vector",
    b".isr_vectors",
    b".vectors",
    b".vector_table",
    b".intvec",
    b".intvecs",
    b".vector",
    b"rom_start",
    b".Vectors",
];

const VECTOR_SYMBOLS: [&[u8]; 9] = [
    b"__Vectors",
    b"__isr_vector",
    b"__vector_table",
    b"g_pfnVectors",
    b"_vector_table",
    b"__vectors",
    b"_vectors",
    b"vector_table",
    b"exception_table",
];

fn is_label(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Unknown | SymbolKind::Label)
}

fn damaged(name: &[u8], error: &object::Error) -> SymbolsError {
    SymbolsError::Damaged(format!("section {}: {error}", String::from_utf8_lossy(name)))
}

fn overlapping(parts: &str) -> SymbolsError {
    SymbolsError::Damaged(format!("its {parts} overlap"))
}

fn machine(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Aarch64 | Architecture::Aarch64_Ilp32 => "64-bit ARM",
        Architecture::Arm => "ARM",
        Architecture::Avr => "AVR",
        Architecture::I386 => "x86",
        Architecture::Mips => "MIPS",
        Architecture::Msp430 => "MSP430",
        Architecture::PowerPc => "PowerPC",
        Architecture::PowerPc64 => "64-bit PowerPC",
        Architecture::Riscv32 => "RISC-V",
        Architecture::Riscv64 => "64-bit RISC-V",
        Architecture::X86_64 | Architecture::X86_64_X32 => "x86-64",
        Architecture::Xtensa => "Xtensa",
        _ => "another machine",
    }
}
