//! RTT through a debug probe: the crate `probe-rs` reads the memory of an Arm Cortex-M while it runs.
//!
//! Only the memory access port of the debug port is used. `probe_rs::Session` would need the name of the chip, and halts its cores while it
//! attaches; nothing here halts or resets them.

use std::io;

use probe_rs::architecture::arm::dp::DpAddress;
use probe_rs::architecture::arm::memory::ArmMemoryInterface;
use probe_rs::architecture::arm::sequences::DefaultArmSequence;
use probe_rs::architecture::arm::{ArmDebugInterface, FullyQualifiedApAddress};
use probe_rs::probe::list::Lister;
use probe_rs::probe::{DebugProbeSelector, Probe, WireProtocol};

use super::address::RttAddress;
use super::rtt::{Memory, Reach, RttPort};

/// The names and descriptions of the probes of this machine, as [`RttAddress::probe`] has them.
pub fn list() -> Vec<(String, String)> {
    let probes = Lister::new().list_all();
    let described = probes.into_iter().map(|probe| {
        let serial = probe.serial_number.as_deref().map(|serial| format!(":{serial}")).unwrap_or_default();
        (format!("{:04x}:{:04x}{serial}", probe.vendor_id, probe.product_id), probe.identifier)
    });
    described.collect()
}

/// A target behind a probe.
pub struct Attached {
    interface: Box<dyn ArmDebugInterface>,
    access_port: FullyQualifiedApAddress,
}

impl Reach for Attached {
    fn memory(&mut self) -> io::Result<Box<dyn Memory + '_>> {
        let memory = self.interface.memory_interface(&self.access_port).map_err(io::Error::other)?;
        Ok(Box::new(Target(memory)))
    }
}

struct Target<'a>(Box<dyn ArmMemoryInterface + 'a>);

impl Memory for Target<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read(address, bytes).map_err(io::Error::other)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(address, bytes).map_err(io::Error::other)
    }
}

/// Opens the probe, and finds the channel.
pub fn open(address: &RttAddress) -> io::Result<RttPort<Attached>> {
    let lister = Lister::new();
    let probe = match &address.probe {
        Some(name) => {
            let selector: DebugProbeSelector = name.parse().map_err(io::Error::other)?;
            lister.open(selector).map_err(io::Error::other)?
        }
        None => match lister.list_all().as_slice() {
            [only] => only.open().map_err(io::Error::other)?,
            [] => return Err(io::Error::new(io::ErrorKind::NotFound, "there is no debug probe, or none that may be opened")),
            several => {
                let message = format!("there are {} debug probes; name one of `traceconv record --list`", several.len());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        },
    };
    RttPort::open(attach(probe, address)?, &address.place, address.channel)
}

/// Attaches through a probe.
fn attach(mut probe: Probe, address: &RttAddress) -> io::Result<Attached> {
    probe.select_protocol(if address.is_jtag { WireProtocol::Jtag } else { WireProtocol::Swd }).map_err(io::Error::other)?;
    if let Some(speed) = address.speed_khz {
        probe.set_speed(speed).map_err(io::Error::other)?;
    }
    probe.attach_to_unspecified().map_err(io::Error::other)?;
    let interface = probe.try_into_arm_debug_interface(DefaultArmSequence::create());
    let mut interface = interface.map_err(|(_, error)| io::Error::other(error))?;
    interface.select_debug_port(DpAddress::Default).map_err(io::Error::other)?;
    Ok(Attached { interface, access_port: FullyQualifiedApAddress::v1_with_default_dp(address.access_port) })
}

#[cfg(test)]
mod tests {
    use probe_rs::probe::fake_probe::FakeProbe;

    use super::*;

    /// The library's probe without hardware: its memory is all zeros.
    #[test]
    fn memory_is_read_through_the_librarys_fake_probe() {
        let address = RttAddress::default();
        let mut attached = attach(FakeProbe::with_mocked_core().into_probe(), &address).unwrap();
        let mut bytes = [1; 100];
        attached.memory().unwrap().read(0x2000_0000, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 100]);
        let error = RttPort::open(attached, &address.place, address.channel).err().unwrap().to_string();
        assert!(error.contains("no RTT control block from 0x20000000 to 0x20100000"), "{error}");
    }
}
