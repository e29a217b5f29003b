//! Sources as ports that are read: each opens, gives bytes within a short time or reports that nothing came, and takes commands.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serialport::{DataBits, FlowControl, StopBits};

use super::address::{Address, Parity, SerialAddress};
#[cfg(target_os = "linux")]
use super::line::CountsErrors;
use super::line::LineWatch;
use crate::model::LossKind;

/// How long a port waits for bytes before it reports that nothing came: so long a request to stop may take.
pub(super) const WAIT: Duration = Duration::from_millis(50);

/// The result of one read.
#[derive(Debug)]
pub(super) enum Got {
    Bytes(usize),
    Nothing,
    /// The file began again at its start.
    Restarted,
    End,
}

/// An open source.
pub(super) trait Port: Send {
    /// Reads the bytes that are there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got>;

    /// Sends a command.
    fn send(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "nothing can be sent to this source"))
    }

    /// The errors on the line since the last call.
    fn errors(&mut self) -> Vec<(LossKind, u64)> {
        Vec::new()
    }
}

/// Where a recording comes from.
pub struct Input {
    /// The address.
    pub address: Address,
    /// The stream that is read for [`Address::Standard`].
    pub standard: Option<Box<dyn Read + Send>>,
}

impl Input {
    /// Opens the port; waits for a peer if it listens, until `stop`. The name is that of the source, with the number of a port that the
    /// system chose. `announce` gets a sentence before waiting.
    pub(super) fn open(
        &mut self,
        stop: &AtomicBool,
        announce: &mut dyn FnMut(String),
    ) -> io::Result<Option<(Box<dyn Port>, String)>> {
        let name = self.address.to_string();
        Ok(Some(match &self.address {
            Address::Serial(serial) => (Box::new(SerialLine::open(serial)?), name),
            Address::Tcp(address) => (Box::new(Socket::new(TcpStream::connect(address)?)?), name),
            Address::TcpListen(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                announce(format!("listening on {}", listener.local_addr()?));
                loop {
                    match listener.accept() {
                        Ok((stream, peer)) => {
                            stream.set_nonblocking(false)?;
                            break (Box::new(Socket::new(stream)?), format!("{name} from {peer}"));
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(WAIT),
                        Err(error) => return Err(error),
                    }
                    if stop.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                }
            }
            Address::Udp(address) => {
                let socket = UdpSocket::bind(address)?;
                socket.set_read_timeout(Some(WAIT))?;
                announce(format!("waiting for datagrams on {}", socket.local_addr()?));
                let mut port = Datagrams { socket, peer: None, watch: LineWatch::default() };
                port.errors();
                (Box::new(port), name)
            }
            #[cfg(feature = "record-rtt")]
            Address::Rtt(rtt) => {
                let port = super::probe::open(rtt)?;
                announce(port.description().to_owned());
                (Box::new(port), name)
            }
            Address::File(path) => (Box::new(Growing { file: File::open(path)?, path: path.clone(), at: 0 }), name),
            Address::Fifo(path) => (Box::new(Stream(File::open(path)?)), name),
            Address::Standard => match self.standard.take() {
                Some(stream) => (Box::new(Stream(stream)), name),
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was read to its end")),
            },
        }))
    }
}

/// The serial ports of this machine, and the debug probes if they can be used: sources and descriptions.
///
/// # Errors
/// When the system does not list them.
pub fn list() -> io::Result<Vec<(String, String)>> {
    let ports = serialport::available_ports().map_err(io::Error::from)?;
    let described = ports.into_iter().map(|port| {
        let description = match port.port_type {
            serialport::SerialPortType::UsbPort(usb) => {
                let names =
                    [usb.manufacturer, usb.product, usb.serial_number].into_iter().flatten().collect::<Vec<_>>().join(" ");
                format!("USB {:04x}:{:04x} {names}", usb.vid, usb.pid)
            }
            serialport::SerialPortType::PciPort => "PCI".to_owned(),
            serialport::SerialPortType::BluetoothPort => "Bluetooth".to_owned(),
            serialport::SerialPortType::Unknown => String::new(),
        };
        (format!("serial:{}", port.port_name), description)
    });
    let described: Vec<_> = described.collect();
    #[cfg(feature = "record-rtt")]
    let described =
        [described, super::probe::list().into_iter().map(|(name, text)| (format!("rtt:{name}"), text)).collect()].concat();
    Ok(described)
}

/// Nothing came, or a signal did.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn got(read: io::Result<usize>) -> io::Result<Got> {
    match read {
        Ok(0) => Ok(Got::End),
        Ok(len) => Ok(Got::Bytes(len)),
        Err(error) if is_pause(&error) => Ok(Got::Nothing),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
type NativePort = serialport::TTYPort;
#[cfg(not(unix))]
type NativePort = Box<dyn serialport::SerialPort>;

struct SerialLine {
    port: NativePort,
    watch: LineWatch,
}

impl SerialLine {
    fn open(address: &SerialAddress) -> io::Result<SerialLine> {
        let data_bits = match address.data_bits {
            5 => DataBits::Five,
            6 => DataBits::Six,
            7 => DataBits::Seven,
            _ => DataBits::Eight,
        };
        let parity = match address.parity {
            Parity::None => serialport::Parity::None,
            Parity::Even => serialport::Parity::Even,
            Parity::Odd => serialport::Parity::Odd,
        };
        let builder = serialport::new(&address.path, address.baud)
            .data_bits(data_bits)
            .parity(parity)
            .stop_bits(if address.stop_bits == 2 { StopBits::Two } else { StopBits::One })
            .flow_control(if address.has_flow_control { FlowControl::Hardware } else { FlowControl::None })
            .timeout(WAIT);
        #[cfg(unix)]
        let port = builder.open_native()?;
        #[cfg(not(unix))]
        let port = builder.open()?;
        let mut line = SerialLine { port, watch: LineWatch::default() };
        // Errors before it was opened are not losses of this recording.
        line.errors();
        Ok(line)
    }
}

impl Port for SerialLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        got(self.port.read(buffer))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.port.write_all(bytes)?;
        self.port.flush()
    }

    fn errors(&mut self) -> Vec<(LossKind, u64)> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::{AsRawFd, BorrowedFd};
            // SAFETY: The port owns the descriptor and is borrowed as long as this is.
            let mut counted: BorrowedFd<'_> = unsafe { BorrowedFd::borrow_raw(self.port.as_raw_fd()) };
            let counted: &mut dyn CountsErrors = &mut counted;
            self.watch.look(counted)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = &self.watch;
            Vec::new()
        }
    }
}

struct Socket(TcpStream);

impl Socket {
    fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_read_timeout(Some(WAIT))?;
        stream.set_nodelay(true)?;
        Ok(Socket(stream))
    }
}

impl Port for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        got(self.0.read(buffer))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

struct Datagrams {
    socket: UdpSocket,
    /// Who sent last: commands go there.
    peer: Option<SocketAddr>,
    watch: LineWatch,
}

impl Port for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        match self.socket.recv_from(buffer) {
            Ok((0, _)) => Ok(Got::Nothing),
            Ok((len, peer)) => {
                self.peer = Some(peer);
                Ok(Got::Bytes(len))
            }
            Err(error) if is_pause(&error) => Ok(Got::Nothing),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(peer) = self.peer else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "nothing has come from the target yet"));
        };
        self.socket.send_to(bytes, peer).map(|_| ())
    }

    fn errors(&mut self) -> Vec<(LossKind, u64)> {
        self.watch.look(&mut self.socket)
    }
}

/// A file that grows.
struct Growing {
    file: File,
    path: PathBuf,
    at: u64,
}

impl Port for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        match got(self.file.read(buffer))? {
            Got::End => {
                // Its writer may have begun again, in this file or in another one of the same name.
                let has_begun_again = |metadata: fs::Metadata| metadata.len() < self.at || is_other(&self.file, &metadata);
                if fs::metadata(&self.path).is_ok_and(has_begun_again) {
                    self.file = File::open(&self.path)?;
                    self.at = 0;
                    return Ok(Got::Restarted);
                }
                thread::sleep(WAIT);
                Ok(Got::Nothing)
            }
            Got::Bytes(len) => {
                self.at += len as u64;
                Ok(Got::Bytes(len))
            }
            other => Ok(other),
        }
    }
}

/// Whether a name is that of another file by now.
#[cfg(unix)]
fn is_other(file: &File, named: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|open| (open.dev(), open.ino()) != (named.dev(), named.ino()))
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
fn is_other(_: &File, _: &fs::Metadata) -> bool {
    false
}

/// A FIFO, or standard input: reading waits until there is something.
struct Stream<R>(R);

impl<R: Read + Send> Port for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Got> {
        got(self.0.read(buffer))
    }
}
