//! Builds the library in each configuration, together with a program that drives it.

use std::path::Path;
use std::process::Command;

#[path = "firmware.rs"]
mod firmware;

use firmware::{Backend, FIRMWARES, Firmware};

fn main() {
    let library = Path::new("../..");
    for path in ["driver.c", "firmware.rs", "../../src", "../../include"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let compiler = cc::Build::new().cargo_metadata(false).opt_level(1).get_compiler();
    assert!(!compiler.is_like_msvc(), "the tracer library is for gcc and clang: set CC to one of them");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    println!("cargo:rustc-env=DRIVERS={out}");
    for firmware in FIRMWARES {
        let mut command = compiler.to_command();
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I."]).arg("-I").arg(library.join("include"));
        command.args(settings(firmware)).arg("driver.c");
        command.args(["tband.c", "tband_backend.c"].map(|file| library.join("src").join(file)));
        command.arg("-o").arg(Path::new(&out).join(firmware.name));
        run(&mut command);
    }
}

fn run(command: &mut Command) {
    let compiler = command.get_program().to_owned();
    let output = command.output().unwrap_or_else(|error| panic!("cannot run the C compiler {compiler:?}: {error}"));
    assert!(output.status.success(), "{:?} failed:\n{}", command.get_args(), String::from_utf8_lossy(&output.stderr));
}

/// The library's settings, as options of the compiler.
fn settings(firmware: &Firmware) -> Vec<String> {
    let backend = match firmware.backend {
        Backend::Streaming => "STREAMING",
        Backend::Snapshot => "SNAPSHOT",
        Backend::PostMortem => "POST_MORTEM",
        Backend::External => "EXTERNAL",
    };
    vec![
        format!("-Dtband_configUSE_BACKEND_{backend}=1"),
        format!("-Dtband_configCOMPAT={}", u8::from(firmware.is_plain)),
        format!("-Dtband_configFREERTOS_TRACE_ENABLE={}", u8::from(firmware.has_freertos)),
        format!("-Dtband_configUSE_METADATA_BUF={}", u8::from(firmware.keeps_names)),
        format!("-Dtband_configFUNCTION_TRACE_ENABLE={}", u8::from(!firmware.is_plain)),
        format!("-Dtband_configLOG_ENABLE={}", u8::from(!firmware.is_plain)),
        // The encoder in Rust repeats no names.
        "-Dtband_configMETADATA_REPEAT_EVERY=0".to_owned(),
        format!("-Dtband_configMAX_STR_LEN={}", firmware.max_str_len),
        format!("-Dtband_config{}={}", if firmware.is_plain { "TRACE_DROP_CNT_EVERY" } else { "SYNC_EVERY" }, firmware.every),
        format!("-Dtband_portNUMBER_OF_CORES={}", firmware.cores),
        format!("-Dtband_portTIMESTAMP_HZ={}u", firmware.hz),
        format!("-Dtband_portTIMESTAMP_BITS={}", firmware.clock_bits),
    ]
}
