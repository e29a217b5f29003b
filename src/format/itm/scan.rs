//! The first pass: which time stamps there are, and the content of the ports.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::InputOptions;
use super::decode::{Decoder, FramedReader, Records, Wrapping};
use super::highs::Highs;
use super::probe::{judge, may_be_text, other_streams, wrapping_of};
use super::resolve::Resolver;
use super::texts::Sequences;
use crate::format::{Part, Recording, SAMPLE_BYTES, Stages};
use crate::frame::swo::{Packet, Packets, each_packet};
use crate::frame::sync;
use crate::model::Ledger;

/// Cortex-M's counter of local time has 21 bits; longer steps are damage if they are rare.
pub const LOCAL_COUNTER: u32 = 1 << 21;

/// Packets are damage if they are at most this fraction of all: time stamps of a kind, page packets, steps of local time beyond the usual counter.
pub const RARE: u64 = 1000;

/// Whether packets are more than damage makes up.
pub fn are_used(count: u64, others: u64) -> bool {
    count > others / RARE
}

/// A port in the part before its first page packet: the page is that of the part before.
const EARLIER_PAGE: u16 = 1 << 15;

/// The first pass over a recording.
pub(super) struct Scanner {
    options: Vec<InputOptions>,
    wrappings: Vec<OnceLock<Wrapping>>,
}

impl Scanner {
    pub(super) fn new(options: Vec<InputOptions>) -> Scanner {
        Scanner { wrappings: vec![OnceLock::new(); options.len()], options }
    }

    fn wrapping(&self, input: usize, bytes: &[u8]) -> Wrapping {
        let head = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        let found = || match self.options.get(input).and_then(|options| options.source) {
            Some(source) => wrapping_of(head, source),
            None => judge(head).0,
        };
        self.wrappings.get(input).map_or(Wrapping::default(), |wrapping| *wrapping.get_or_init(found))
    }
}

/// The writes to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// The number of writes of one byte, and of more.
    pub writes: [u64; 2],
    /// Of these, writes whose bytes may all be parts of a text.
    pub texts: [u64; 2],
    /// Which of these bytes are.
    pub sequences: Sequences,
    /// Whether there are ends of lines.
    pub has_lines: bool,
}

impl PortFacts {
    /// Takes those of the writes after these.
    fn merge(&mut self, next: &PortFacts) {
        for wide in 0..2 {
            self.writes[wide] += next.writes[wide];
            self.texts[wide] += next.texts[wide];
        }
        self.sequences.merge(&next.sequences);
        self.has_lines |= next.has_lines;
    }
}

/// The facts about a part, or about the input so far.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// The number of local time stamps, and of those whose step is longer than the usual counter.
    pub locals: [u64; 2],
    /// The number of global time stamps.
    pub globals: u64,
    /// The high bits of the global time.
    pub highs: Highs,
    /// Ports by number.
    pub ports: BTreeMap<u16, PortFacts>,
    /// The number of samples of the program counter, of exceptions, of other packets of the DWT.
    pub samples: u64,
    pub exceptions: u64,
    pub hardware: u64,
    /// The number of synchronisation packets.
    pub syncs: u64,
    /// The last page, if one was chosen.
    page: Option<u8>,
    /// The number of page packets.
    pages: u64,
    /// The wrapping, and the reader of a framed stream.
    pub wrapping: Wrapping,
    framed: Box<FramedReader>,
    /// The sources that are not read although they are ITM streams.
    pub other_streams: Vec<u8>,
}

impl ScanFacts {
    /// The number of packets that are not time stamps.
    pub fn packets(&self) -> u64 {
        self.writes() + self.samples + self.exceptions + self.hardware
    }

    /// Whether the target has more than 32 ports: where pages are chosen, that happens again and again. A few page packets are damage, and each
    /// would move all writes after it to other ports.
    pub fn has_pages(&self) -> bool {
        are_used(self.pages, self.writes())
    }

    fn writes(&self) -> u64 {
        self.ports.values().map(|port| port.writes[0] + port.writes[1]).sum()
    }

    /// Without pages, what seemed to be written to other pages was written to the first one.
    fn merge_pages(&mut self) {
        for (port, more) in std::mem::take(&mut self.ports) {
            self.ports.entry(port & 31).or_default().merge(&more);
        }
    }

    #[inline(always)]
    fn add(&mut self, packet: Packet) {
        match packet {
            Packet::Sync => self.syncs += 1,
            Packet::LocalTime { ticks, .. } => {
                self.locals[0] += 1;
                self.locals[1] += u64::from(ticks > LOCAL_COUNTER);
            }
            Packet::GlobalLow { .. } | Packet::GlobalHigh { .. } => {
                self.globals += 1;
                self.highs.add(packet);
            }
            Packet::Page { page } => {
                self.page = Some(page);
                self.pages += 1;
            }
            Packet::Port { port, bytes, value } => {
                let page = self.page.map_or(EARLIER_PAGE, |page| u16::from(page) * 32);
                let facts = self.ports.entry(page | u16::from(port)).or_default();
                let wide = usize::from(bytes > 1);
                facts.writes[wide] += 1;
                let bytes = &value.to_le_bytes()[..usize::from(bytes)];
                facts.texts[wide] += u64::from(bytes.iter().all(|&byte| may_be_text(byte)));
                facts.sequences.add(bytes, wide == 1);
                facts.has_lines |= bytes.contains(&b'\n') || bytes.contains(&b'\r');
            }
            Packet::Hardware { id: 1, .. } => self.exceptions += 1,
            Packet::Hardware { id: 2, .. } => self.samples += 1,
            Packet::Hardware { .. } => self.hardware += 1,
            Packet::Zero | Packet::Overflow => {}
        }
    }

    fn merge(&mut self, next: ScanFacts) {
        self.locals = [self.locals[0] + next.locals[0], self.locals[1] + next.locals[1]];
        self.globals += next.globals;
        self.highs.merge(next.highs);
        self.samples += next.samples;
        self.exceptions += next.exceptions;
        self.hardware += next.hardware;
        self.syncs += next.syncs;
        let page = u16::from(self.page.unwrap_or(0)) * 32;
        // The writes to a port before the first page packet come before those after it.
        let (earlier, later): (Vec<_>, Vec<_>) = next.ports.into_iter().partition(|(port, _)| port & EARLIER_PAGE != 0);
        for (port, more) in earlier.into_iter().chain(later) {
            let port = if port & EARLIER_PAGE == 0 { port } else { page | port & 31 };
            self.ports.entry(port).or_default().merge(&more);
        }
        self.pages += next.pages;
        self.page = next.page.or(self.page);
        self.wrapping = next.wrapping;
    }
}

/// The facts about a part, or the part itself if it can only be read in file order.
pub(super) enum PartFacts {
    Read(Box<ScanFacts>),
    Framed { range: (usize, usize), wrapping: Wrapping },
}

impl Recording for Scanner {
    type PartFacts = PartFacts;
    type Facts = ScanFacts;
    type Decoder = Decoder;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        // A framed stream is read in file order. Which input this is is not known; a cut of packets is as good there.
        sync::cut(&Packets, input, at)
    }

    fn scan(&self, input: usize, part: Part<'_>) -> PartFacts {
        let wrapping = self.wrapping(input, part.input);
        let Wrapping::Bare(start) = wrapping else {
            return PartFacts::Framed { range: (part.start, part.end), wrapping };
        };
        let mut facts = Box::new(ScanFacts { wrapping, ..ScanFacts::default() });
        each_packet(part.input, start.clamp(part.start, part.end)..part.end, |_, found| {
            if let Ok((packet, _)) = found {
                facts.add(packet);
            }
        });
        PartFacts::Read(facts)
    }

    fn join(&self, bytes: &[u8], facts: &mut ScanFacts, next: PartFacts) {
        match next {
            PartFacts::Read(next) => facts.merge(*next),
            PartFacts::Framed { range: (start, end), wrapping } => {
                facts.wrapping = wrapping;
                let Wrapping::Framed(source, first) = wrapping else { return };
                if start == 0 {
                    facts.other_streams = other_streams(bytes, source, first);
                }
                facts.page.get_or_insert(0);
                let mut records = Records::default();
                facts.framed.read(source, first, Part::new(bytes, start..end), &mut records);
                records.packets.iter().filter_map(|record| record.packet.ok()).for_each(|packet| facts.add(packet));
            }
        }
    }

    fn finish(self, mut facts: Vec<ScanFacts>, _ledgers: &mut [Ledger]) -> Stages<Decoder, Resolver> {
        facts.iter_mut().filter(|facts| !facts.has_pages()).for_each(ScanFacts::merge_pages);
        let decode = Decoder(facts.iter().map(|facts| facts.wrapping).collect());
        let resolve = Resolver::new(&self.options, facts);
        Stages { cores: resolve.cores(), decode, resolve }
    }
}

impl ScanFacts {
    /// The number of bytes of each other source in the frames.
    pub fn others(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.framed.others.iter().copied().enumerate().filter(|(source, bytes)| *source < 0x70 && *bytes > 0)
    }
}
