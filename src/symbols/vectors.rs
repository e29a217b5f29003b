//! The exception vectors of an ARM Cortex-M program: which functions are interrupt handlers, and of which exception.
//!
//! The table begins with the initial stack pointer; then follow the handlers' addresses with the Thumb bit set, by exception number:
//! 1 is reset, 16 and above are the device's interrupts (ARMv7-M Architecture Reference Manual, B1.5.3).

#[cfg(feature = "symbols")]
use object::Object;

#[cfg(feature = "symbols")]
use super::elf::Elf;

#[cfg(feature = "symbols")]
/// ARMv8-M has at most 480 interrupts after the 16 exceptions of the system.
const MAX_EXCEPTIONS: usize = 16 + 480;

/// An entry of the vector table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The exception number: 1 is reset, 2 NMI, 15 SysTick, 16 + n the device's interrupt n.
    pub exception: u32,
    /// Where its handler begins, without the Thumb bit.
    pub handler: u64,
}

/// The name that the architecture gives to an exception; none for interrupts of the device and reserved numbers.
#[must_use]
pub fn exception_name(exception: u32) -> Option<&'static str> {
    Some(match exception {
        1 => "Reset",
        2 => "NMI",
        3 => "HardFault",
        4 => "MemManage",
        5 => "BusFault",
        6 => "UsageFault",
        7 => "SecureFault",
        11 => "SVCall",
        12 => "DebugMonitor",
        14 => "PendSV",
        15 => "SysTick",
        _ => return None,
    })
}

#[cfg(feature = "symbols")]
/// The vectors, by exception number; empty if there is no table that looks like one.
pub(super) fn vectors(elf: &Elf<'_>) -> Vec<Vector> {
    if !elf.is_arm {
        return Vec::new();
    }
    let named = elf.images.iter().filter(|image| image.is_vectors).map(|image| image.start);
    let lowest = elf.images.iter().filter(|image| !image.bytes.is_empty()).map(|image| image.start).min();
    let places = elf.vectors_symbol.into_iter().chain(named).chain(lowest);
    places.map(|place| table_at(elf, place)).find(|table| !table.is_empty()).unwrap_or_default()
}

#[cfg(feature = "symbols")]
fn table_at(elf: &Elf<'_>, place: u64) -> Vec<Vector> {
    let Some(bytes) = elf.memory_from(place) else { return Vec::new() };
    let word_of = if elf.file.is_little_endian() { u32::from_le_bytes } else { u32::from_be_bytes };
    let mut words = bytes.chunks_exact(4).map(|word| word.try_into().map_or(0, word_of));
    let stack = words.next().map(u64::from).unwrap_or(1);
    let is_stack = stack % 4 == 0 && elf.memory_from(stack).is_none();
    let mut table = Vec::new();
    for (exception, word) in (1..).zip(words.take(MAX_EXCEPTIONS - 1)) {
        let handler = u64::from(word & !1);
        match word {
            // Reserved.
            0 => {}
            _ if word & 1 == 1 && elf.is_code(handler) => table.push(Vector { exception, handler }),
            // A word that is no handler's address: here the table ends. Seven and others hold values in some devices' tables.
            _ if (7..=10).contains(&exception) || exception == 13 => {}
            _ => break,
        }
    }
    let has_reset = table.first().is_some_and(|vector: &Vector| vector.exception == 1);
    if is_stack && has_reset { table } else { Vec::new() }
}
