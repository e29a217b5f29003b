//! Builds the C library with the port of this crate, or with that of the folder that `TBAND_CONFIG_DIR` names.

use std::path::PathBuf;

fn main() {
    let library = PathBuf::from("..");
    let config = std::env::var_os("TBAND_CONFIG_DIR").map_or_else(|| PathBuf::from("config"), PathBuf::from);
    println!("cargo:rerun-if-env-changed=TBAND_CONFIG_DIR");
    println!("cargo:rerun-if-changed={}", config.display());
    for folder in ["src", "include", "port/sinks"] {
        println!("cargo:rerun-if-changed={}", library.join(folder).display());
    }
    cc::Build::new()
        .std("c11")
        .include(config)
        .include(library.join("include"))
        .include(library.join("port/sinks"))
        .files(
            ["src/tband.c", "src/tband_backend.c", "src/tband_functions.c", "port/sinks/tband_sink_ring.c"]
                .map(|file| library.join(file)),
        )
        .compile("tband");
}
