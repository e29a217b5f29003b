//! Where a recording comes from, as people write it: `serial:/dev/ttyACM0?baud=921600`, `tcp:localhost:9090`.

use std::fmt;
use std::path::PathBuf;

#[cfg(feature = "record-rtt")]
use super::rtt::Place;

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
    /// A channel of RTT, read by a debug probe.
    #[cfg(feature = "record-rtt")]
    Rtt(RttAddress),
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

/// A channel of RTT and how to reach it.
#[cfg(feature = "record-rtt")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttAddress {
    /// The probe, as `VID:PID` or `VID:PID:SERIAL`; `None`: the only one.
    pub probe: Option<String>,
    /// The number of the channel.
    pub channel: u32,
    /// Where the control block is.
    pub place: Place,
    /// The rate of the debug port; `None`: the probe's own.
    pub speed_khz: Option<u32>,
    /// JTAG instead of SWD.
    pub is_jtag: bool,
    /// The number of the access port of the core's memory.
    pub access_port: u8,
}

#[cfg(feature = "record-rtt")]
impl Default for RttAddress {
    /// The RAM of a Cortex-M begins here. Channel 0 is for text.
    fn default() -> RttAddress {
        let place = Place::Within(0x2000_0000..0x2010_0000);
        RttAddress { probe: None, channel: 1, place, speed_khz: None, is_jtag: false, access_port: 0 }
    }
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
        let kinds = "serial:, tcp:, tcp-listen:, udp:, rtt:, file:, fifo: or -";
        let Some((kind, rest)) = text.split_once(':') else {
            return wrong(format!("`{text}` is no source; {kinds} is expected, e.g. serial:/dev/ttyACM0?baud=921600"));
        };
        if rest.is_empty() && kind != "rtt" {
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
            #[cfg(feature = "record-rtt")]
            "rtt" => rtt(rest).map(Address::Rtt),
            #[cfg(not(feature = "record-rtt"))]
            "rtt" => wrong(
                "this program was built without `rtt:` (the feature record-rtt); tcp:HOST:PORT reads the RTT server of a debugger",
            ),
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
            // It may, or drop; but while it waits, nothing else runs.
            #[cfg(feature = "record-rtt")]
            Address::Rtt(_) => false,
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

/// A number in decimal or with `0x`; k and M may follow.
#[cfg(feature = "record-rtt")]
fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix(['k', 'M']) {
        Some(digits) => (digits, if text.ends_with('k') { 1 << 10 } else { 1 << 20 }),
        None => (text, 1),
    };
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    };
    number?.checked_mul(factor).filter(|&number| number <= 1 << 32)
}

#[cfg(feature = "record-rtt")]
fn rtt(rest: &str) -> Result<RttAddress, AddressError> {
    let (probe, settings) = rest.split_once('?').unwrap_or((rest, ""));
    let mut rtt = RttAddress { probe: (!probe.is_empty()).then(|| probe.to_owned()), ..RttAddress::default() };
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let is_read = match name {
            "channel" => value.parse().map(|channel| rtt.channel = channel).is_ok(),
            "speed" => value.parse().map(|speed| rtt.speed_khz = Some(speed)).is_ok(),
            "ap" => value.parse().map(|port| rtt.access_port = port).is_ok(),
            "at" => number(value).map(|at| rtt.place = Place::At(at)).is_some(),
            "ram" => {
                let range = value.split_once('+').and_then(|(start, len)| Some((number(start)?, number(len)?)));
                range.map(|(start, len)| rtt.place = Place::Within(start..start + len)).is_some()
            }
            "wire" => {
                rtt.is_jtag = value == "jtag";
                matches!(value, "swd" | "jtag")
            }
            _ => false,
        };
        if !is_read {
            let known = "channel=N, at=ADDRESS, ram=ADDRESS+LENGTH (0x20000000+64k), speed=KHZ, wire=swd|jtag, ap=N";
            return wrong(format!("`{setting}` is no setting of rtt:; these are: {known}"));
        }
    }
    Ok(rtt)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Serial(serial) => write!(f, "serial:{}?baud={}", serial.path, serial.baud),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
            Address::TcpListen(address) => write!(f, "tcp-listen:{address}"),
            Address::Udp(address) => write!(f, "udp:{address}"),
            #[cfg(feature = "record-rtt")]
            Address::Rtt(rtt) => write!(f, "rtt:{}?channel={}", rtt.probe.as_deref().unwrap_or_default(), rtt.channel),
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

    #[cfg(feature = "record-rtt")]
    #[test]
    fn channels_of_rtt() {
        assert_eq!(Address::parse("rtt:"), Ok(Address::Rtt(RttAddress::default())));
        let text = "rtt:1366:0101:000123?channel=2&ram=0x24000000+512k&speed=4000&wire=jtag&ap=1";
        let Ok(Address::Rtt(rtt)) = Address::parse(text) else { panic!("not RTT") };
        assert_eq!((rtt.probe.as_deref(), rtt.channel, rtt.speed_khz), (Some("1366:0101:000123"), 2, Some(4000)));
        assert!(rtt.is_jtag && rtt.access_port == 1 && rtt.place == Place::Within(0x2400_0000..0x2408_0000));
        assert_eq!(Address::Rtt(rtt).to_string(), "rtt:1366:0101:000123?channel=2");
        for text in
            ["rtt:?channel=x", "rtt:?ram=5", "rtt:?ram=0xffffffff+0xfffffffffff", "rtt:?at=", "rtt:?wire=usb", "rtt:?chip=a"]
        {
            assert!(Address::parse(text).unwrap_err().to_string().contains("is no setting of rtt:"), "{text}");
        }
    }

    #[cfg(not(feature = "record-rtt"))]
    #[test]
    fn rtt_is_a_feature() {
        assert!(Address::parse("rtt:").unwrap_err().to_string().contains("the feature record-rtt"));
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
