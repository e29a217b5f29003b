//! The configurations of the library that are compared. A table, shared by the build script, which builds a program of each, and
//! by the test.

/// A program with the library in it: see `driver.c`.
#[derive(Debug)]
pub struct Firmware {
    /// The program's name.
    pub name: &'static str,
    /// Which backend.
    pub backend: Backend,
    /// `tband_configCOMPAT`: the plain format.
    pub is_plain: bool,
    /// Whether it traces FreeRTOS.
    pub has_freertos: bool,
    pub cores: u32,
    /// Frequency of its clock.
    pub hz: u32,
    /// How many bits the port's clock has.
    pub clock_bits: u32,
    /// `tband_configMAX_STR_LEN`, bytes.
    pub max_str_len: usize,
    /// `tband_configSYNC_EVERY`; in the plain format `tband_configTRACE_DROP_CNT_EVERY`.
    pub every: u32,
    /// Whether names are kept for recordings to come.
    pub keeps_names: bool,
}

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Streaming = 0,
    Snapshot = 1,
    PostMortem = 2,
    External = 3,
}

const USUAL: Firmware = Firmware {
    name: "usual",
    backend: Backend::Streaming,
    is_plain: false,
    has_freertos: true,
    cores: 1,
    hz: 168_000_000,
    clock_bits: 64,
    max_str_len: 20,
    every: 100,
    keeps_names: true,
};

/// All programs.
pub const FIRMWARES: &[Firmware] = &[
    USUAL,
    Firmware { name: "bare_metal", has_freertos: false, keeps_names: false, every: 7, ..USUAL },
    Firmware { name: "long_texts", max_str_len: 600, cores: 3, hz: 1_000_000_000, every: 3, ..USUAL },
    Firmware { name: "many_cores", cores: 16, hz: 32_768, max_str_len: 1, every: 1, ..USUAL },
    Firmware { name: "short_clock", clock_bits: 32, cores: 2, hz: 25_000_000, ..USUAL },
    Firmware { name: "snapshot", backend: Backend::Snapshot, cores: 3, ..USUAL },
    Firmware { name: "post_mortem", backend: Backend::PostMortem, cores: 2, ..USUAL },
    Firmware { name: "external", backend: Backend::External, keeps_names: false, ..USUAL },
    // A whole number of nanoseconds: the plain format has no others.
    Firmware { name: "plain", is_plain: true, hz: 40_000_000, every: 50, ..USUAL },
    Firmware { name: "plain_vectors", is_plain: true, hz: 40_000_000, every: 0, max_str_len: 300, keeps_names: false, ..USUAL },
    Firmware { name: "plain_cores", is_plain: true, hz: 40_000_000, every: 0, cores: 3, max_str_len: 300, ..USUAL },
    Firmware { name: "plain_external", is_plain: true, backend: Backend::External, keeps_names: false, ..USUAL },
];
