//! Where a recording comes from, as people write it: `serial:/dev/ttyACM0?baud=921600`, `tcp:localhost:9090`.

use std::fmt;
use std::path::PathBuf;

/// The rate of a serial line if none is named.
const BAUD: u32 = 115_200;

/// A source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A serial port.
    Serial(SerialAddress),
    /// A server to connect to, as `host:port`.
    Tcp(String),
    /// An address to listen on for one connection, as `host:port` or a port.
    TcpListen(String),
    /// An address that datagrams are sent to, as `host:port` or a port.
    Udp(String),
    /// A file that another program writes to.
    File(PathBuf),
    /// A FIFO.
    Fifo(PathBuf),
    /// Standard input.
    Standard,
}

/// A serial port and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialAddress {
    /// Its name in the system.
    pub path: String,
    /// Bits per second.
    pub baud: u32,
    /// Data bits: 5 to 8.
    pub data_bits: u8,
    /// Stop bits: 1 or 2.
    pub stop_bits: u8,
    /// The parity bit.
    pub parity: Parity,
    /// Whether the port's RTS and CTS lines stop the sender.
    pub has_flow_control: bool,
}

/// The parity bit of a serial line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// No parity bit.
    None,
    /// It makes the number of ones even.
    Even,
    /// It makes the number of ones odd.
    Odd,
}

/// Why a text is not a source: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

fn wrong<T>(message: impl Into<String>) -> Result<T, AddressError> {
    Err(AddressError(message.into()))
}

impl Address {
    /// Reads a source.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        if text == "-" {
            return Ok(Address::Standard);
        }
        let kinds = "serial:, tcp:, tcp-listen:, udp:, file:, fifo: or -";
        let Some((kind, rest)) = text.split_once(':') else {
            return wrong(format!("`{text}` is no source; {kinds} is expected, e.g. serial:/dev/ttyACM0?baud=921600"));
        };
        if rest.is_empty() {
            return wrong(format!("`{text}` names nothing after the colon"));
        }
        match kind {
            "serial" => serial(rest).map(Address::Serial),
            "tcp" if rest.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_port(port)) => {
                Ok(Address::Tcp(rest.into()))
            }
            "tcp" => wrong(format!("`{text}` is no server; tcp:HOST:PORT is expected, e.g. tcp:localhost:9090")),
            "tcp-listen" => Ok(Address::TcpListen(local(text, rest)?)),
            "udp" => Ok(Address::Udp(local(text, rest)?)),
            "file" => Ok(Address::File(rest.into())),
            "fifo" => Ok(Address::Fifo(rest.into())),
            _ => wrong(format!("`{kind}:` is no kind of source; {kinds} is expected")),
        }
    }

    /// Whether the sender waits when nobody reads, so that a slow disk loses nothing.
    #[must_use]
    pub fn waits(&self) -> bool {
        match self {
            Address::Serial(serial) => serial.has_flow_control,
            Address::Udp(_) => false,
            Address::Tcp(_) | Address::TcpListen(_) | Address::File(_) | Address::Fifo(_) | Address::Standard => true,
        }
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

/// An address of this machine; a port alone is one that only this machine reaches.
fn local(text: &str, rest: &str) -> Result<String, AddressError> {
    match rest.rsplit_once(':') {
        None if is_port(rest) => Ok(format!("127.0.0.1:{rest}")),
        Some((host, port)) if !host.is_empty() && is_port(port) => Ok(rest.to_owned()),
        _ => wrong(format!("`{text}` has no port; PORT or ADDRESS:PORT is expected, e.g. 7701 or 0.0.0.0:7701")),
    }
}

fn serial(rest: &str) -> Result<SerialAddress, AddressError> {
    let (path, settings) = rest.split_once('?').unwrap_or((rest, ""));
    let mut serial = SerialAddress {
        path: path.to_owned(),
        baud: BAUD,
        data_bits: 8,
        stop_bits: 1,
        parity: Parity::None,
        has_flow_control: false,
    };
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let number = || value.parse::<u32>().ok();
        match (name, value) {
            ("baud", _) => match number().filter(|&baud| baud > 0) {
                Some(baud) => serial.baud = baud,
                None => return wrong(format!("`{setting}` is no rate; baud=921600 is an example")),
            },
            ("data", "5" | "6" | "7" | "8") => serial.data_bits = value.parse().unwrap_or(8),
            ("stop", "1" | "2") => serial.stop_bits = value.parse().unwrap_or(1),
            ("parity", "none") => serial.parity = Parity::None,
            ("parity", "even") => serial.parity = Parity::Even,
            ("parity", "odd") => serial.parity = Parity::Odd,
            ("flow", "none") => serial.has_flow_control = false,
            ("flow", "hardware") => serial.has_flow_control = true,
            _ => {
                let known = "baud=N, data=5..8, stop=1|2, parity=none|even|odd, flow=none|hardware";
                return wrong(format!("`{setting}` is no setting of a serial port; these are: {known}"));
            }
        }
    }
    Ok(serial)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Serial(serial) => write!(f, "serial:{}?baud={}", serial.path, serial.baud),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
            Address::TcpListen(address) => write!(f, "tcp-listen:{address}"),
            Address::Udp(address) => write!(f, "udp:{address}"),
            Address::File(path) => write!(f, "file:{}", path.display()),
            Address::Fifo(path) => write!(f, "fifo:{}", path.display()),
            Address::Standard => f.write_str("standard input"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources() {
        let Ok(Address::Serial(serial)) = Address::parse("serial:/dev/ttyACM0?baud=2000000&parity=even&stop=2&flow=hardware")
        else {
            panic!("not a serial port");
        };
        assert_eq!((serial.path.as_str(), serial.baud, serial.data_bits, serial.stop_bits), ("/dev/ttyACM0", 2_000_000, 8, 2));
        assert!(serial.parity == Parity::Even && serial.has_flow_control);
        assert_eq!(Address::parse("serial:COM3").unwrap().to_string(), "serial:COM3?baud=115200");
        assert_eq!(Address::parse("tcp:[::1]:9090"), Ok(Address::Tcp("[::1]:9090".into())));
        assert_eq!(Address::parse("tcp-listen:6601"), Ok(Address::TcpListen("127.0.0.1:6601".into())));
        assert_eq!(Address::parse("udp:0.0.0.0:7701"), Ok(Address::Udp("0.0.0.0:7701".into())));
        assert_eq!(Address::parse("file:a:b"), Ok(Address::File("a:b".into())));
        assert_eq!(Address::parse("-"), Ok(Address::Standard));
    }

    #[test]
    fn wrong_sources_say_why() {
        for (text, part) in [
            ("/dev/ttyACM0", "is no source; serial:"),
            ("usb:1", "`usb:` is no kind of source"),
            ("serial:", "names nothing"),
            ("serial:a?baud=0", "is no rate"),
            ("serial:a?speed=9", "no setting of a serial port"),
            ("serial:a?data=9", "no setting of a serial port"),
            ("tcp:9090", "tcp:HOST:PORT"),
            ("tcp:host:99999", "tcp:HOST:PORT"),
            ("udp:host", "has no port"),
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn only_some_senders_wait() {
        let waits = |text| Address::parse(text).unwrap().waits();
        assert!(waits("tcp:a:1") && waits("-") && waits("serial:a?flow=hardware"));
        assert!(!waits("serial:a") && !waits("udp:1"));
    }
}
