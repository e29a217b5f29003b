//! From parcels to records in file order: what is left to do where the decoders had to stop.

use std::ops::Range;

use super::held::hold;
use crate::format::Detail;
use crate::format::syst::decode::{Context, Decoder, Notice, Records, Stored};
use crate::format::syst::part::Joiner;
use crate::format::syst::scan::Found;
use crate::format::syst::stp::ahead::add_frame;
use crate::format::syst::stp::tpiu::Deframer;
use crate::format::syst::stp::{NibbleOrder, Sink, Stream};
use crate::format::syst::{Settings, StpPart, Transport, TransportPart};

/// What says how messages arrive.
const FORMAT: &str = "the input's format";

/// One input's way to records.
#[derive(Default)]
pub struct Feed {
    way: Way,
    decoder: Decoder,
    end_bytes: u64,
    is_done: bool,
}

#[derive(Default)]
enum Way {
    #[default]
    Text,
    Raw(Box<Joiner>),
    Stp(Box<Stp>),
}

struct Stp {
    stream: Stream,
    records: Records,
    joined: Joined,
    order: (NibbleOrder, &'static str),
    deframer: Option<(Deframer, u8)>,
    bytes: Vec<u8>,
    origins: Vec<u64>,
}

/// The order of records of which some were decoded ahead.
#[derive(Default)]
struct Joined {
    /// Those decoded ahead, in order.
    ahead: Vec<u32>,
    /// How many others there are.
    own: usize,
    /// Runs: whether they were decoded ahead, and where they end among those of their sort.
    runs: Vec<(bool, usize)>,
    sorted: Vec<Stored>,
    /// Records of many runs.
    all: Records,
}

/// The records of more runs than these are copied behind each other: each change of tables costs a copy of all of a part's texts. A
/// healthy stream has two runs, for messages are given on in the order in which they began.
const RUNS_LIMIT: usize = 4;

impl Joined {
    fn clear(&mut self) {
        self.ahead.clear();
        self.runs.clear();
        self.own = 0;
    }

    #[inline]
    fn add(&mut self, is_ahead: bool) {
        let end = if is_ahead { self.ahead.len() } else { self.own };
        match self.runs.last_mut() {
            Some((last, to)) if *last == is_ahead => *to = end,
            _ => self.runs.push((is_ahead, end)),
        }
    }

    /// Gives all records in order.
    fn each(&mut self, own: &Records, ahead: &mut Records, mut each: impl FnMut(&Records, Range<usize>)) {
        let is_in_order = self.ahead.iter().enumerate().all(|(place, &record)| place == record as usize);
        if !is_in_order {
            self.sorted.clear();
            self.sorted.extend(self.ahead.iter().filter_map(|&record| ahead.stored.get(record as usize)));
            std::mem::swap(&mut self.sorted, &mut ahead.stored);
        }
        let many = self.runs.len() > RUNS_LIMIT;
        if many {
            self.all.reset(own.base.min(ahead.base));
        }
        let mut from = [0, 0];
        for &(is_ahead, to) in &self.runs {
            let records = if is_ahead { &*ahead } else { own };
            let range = std::mem::replace(&mut from[usize::from(is_ahead)], to)..to;
            if many {
                hold(&mut self.all, records, records.stored.get(range).unwrap_or(&[]));
            } else {
                each(records, range);
            }
        }
        if many {
            each(&self.all, 0..self.all.stored.len());
        }
    }
}

/// Puts the messages of a stream into records, and takes note of those that are there already.
struct IntoRecords<'a> {
    records: &'a mut Records,
    decoder: &'a Decoder,
    joined: &'a mut Joined,
}

impl IntoRecords<'_> {
    #[inline]
    fn added(&mut self) {
        self.joined.own = self.records.stored.len();
        self.joined.add(false);
    }
}

impl Sink for IntoRecords<'_> {
    #[inline]
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        add_frame(self.records, self.decoder, frame, context, is_whole);
        self.added();
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.records.add_notice(notice, value, context);
        self.added();
    }

    #[inline]
    fn ahead(&mut self, record: u32) {
        self.joined.ahead.push(record);
        self.joined.add(true);
    }
}

impl Feed {
    pub fn new(transport: Transport, settings: &Settings, found: &Found, decoder: Decoder) -> Feed {
        let way = match transport {
            Transport::Text => Way::Text,
            Transport::Raw => Way::Raw(Box::new(Joiner::new())),
            Transport::Stp => {
                let order = match settings.nibble_order {
                    Some(order) => (order, "--stp-nibbles"),
                    None => (found.stp.order(), "inferred: read so, more messages are legal"),
                };
                let deframer = found.tpiu.map(|source| (Deframer::new(source), source));
                Way::Stp(Box::new(Stp {
                    stream: Stream::new(order.0),
                    records: Records::default(),
                    joined: Joined::default(),
                    order,
                    deframer,
                    bytes: Vec::new(),
                    origins: Vec::new(),
                }))
            }
        };
        Feed { way, decoder, end_bytes: 0, is_done: false }
    }

    /// Takes the next part of `input`. `each` gets records, and which of them count.
    pub fn take(&mut self, input: &[u8], part: &mut TransportPart, mut each: impl FnMut(&Records, Range<usize>)) {
        match (&mut self.way, part) {
            (Way::Text, TransportPart::Text(part)) => {
                (self.end_bytes, self.is_done) = (part.end as u64, part.is_last);
                each(&part.records, 0..part.records.stored.len());
            }
            (Way::Raw(joiner), TransportPart::Raw(part)) => {
                self.end_bytes = part.input_len() as u64;
                let (before, records, first) = joiner.join(part, input, &self.decoder);
                each(before, 0..before.stored.len());
                each(records, first..records.stored.len());
                self.is_done = part.is_last();
                if self.is_done
                    && let Some(lost) = joiner.finish(part.input_len())
                {
                    each(lost, 0..lost.stored.len());
                }
            }
            (Way::Stp(stp), TransportPart::Stp(part)) => {
                self.end_bytes = (part.start + part.bytes().len()) as u64;
                self.is_done = part.is_last;
                let Stp { stream, records, joined, deframer, bytes, origins, .. } = &mut **stp;
                // Messages of before the part may end in it: their places count from the start.
                records.reset(stream.oldest_offset());
                joined.clear();
                let mut sink = IntoRecords { records, decoder: &self.decoder, joined };
                let StpPart { padded, ahead, start, is_last } = part;
                let own = StpPart::unpadded(padded);
                match deframer {
                    None => stream.push_part(own, ahead, *is_last, &mut sink),
                    Some((deframer, _)) => {
                        bytes.clear();
                        origins.clear();
                        deframer.push(own, *start as u64, bytes, origins);
                        stream.push(bytes, origins, *is_last, &mut sink);
                    }
                }
                stp.joined.each(&stp.records, &mut ahead.records, each);
            }
            // The decoder and this stage were made for the same transport.
            _ => unreachable!("a part of another transport"),
        }
    }

    /// Whether the input has ended.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// How much of the input has been taken, in bytes.
    pub fn end_bytes(&self) -> u64 {
        self.end_bytes
    }

    /// What is known about the transport.
    pub fn details(&self) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        match &self.way {
            Way::Text => vec![detail("transport", "text".into(), FORMAT)],
            Way::Raw(_) => vec![detail("transport", "raw bytes".into(), FORMAT)],
            Way::Stp(stp) => {
                let (transport, transport_source) = match &stp.deframer {
                    Some((_, source)) => (
                        format!("STPv2 of source {source} in CoreSight frames"),
                        "inferred: taken apart, the frames have an STP stream with messages",
                    ),
                    None => ("STPv2".to_owned(), FORMAT),
                };
                let (order, source) = stp.order;
                let order = match order {
                    NibbleOrder::Msb => "most significant first",
                    NibbleOrder::Lsb => "least significant first",
                };
                vec![detail("transport", transport, transport_source), detail("nibble order", order.into(), source)]
            }
        }
    }
}
