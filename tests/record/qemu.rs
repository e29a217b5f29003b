//! A real kernel on an emulated Cortex-M4, recorded while it runs, out of its serial port.
//!
//! Not run by default: `target/tests/run.sh ten-minutes` builds the application, and has recorded it into a file on a Cortex-M3. The emulator
//! counts instructions for time, so a recording through a socket, on a Cortex-M4, has the same bytes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Recorder;
use super::desk::Desk;

#[test]
#[ignore = "needs qemu-system-arm, and the folder that TRACECONV_TEN_MINUTES names"]
fn a_kernel_in_an_emulator() {
    let built = PathBuf::from(std::env::var_os("TRACECONV_TEN_MINUTES").expect("TRACECONV_TEN_MINUTES names the folder"));
    let desk = Desk::new();
    let mut recorder = Recorder::start(&desk, &["tcp-listen:0", "-o", "run.bin", "--convert"]);
    let address = recorder.address("listening on ");
    let options =
        "-M mps2-an386 -icount shift=5 -display none -monitor none -semihosting-config enable=on,target=native -kernel app";
    let emulated = Command::new("qemu-system-arm")
        .args(options.split(' '))
        .args(["-serial", &format!("tcp:{address}")])
        .current_dir(&built)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(emulated.success(), "{emulated}");
    let said = recorder.ends_well();
    assert!(said.contains("Tonbandgerät, because ") && said.contains("FreeRTOS") && said.contains("nothing lost"), "{said}");
    let recorded = std::fs::read(built.join("trace.bin")).unwrap();
    assert!(desk.get("run.bin") == recorded, "{} bytes instead of {}\n{said}", desk.get("run.bin").len(), recorded.len());
    assert!(desk.path("run.perfetto-trace").exists());
}
