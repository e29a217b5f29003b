//! From parcels to records in file order: what is left to do where the decoders had to stop.

use crate::format::sys_t::decode::{Context, Decoder, Notice, Records};
use crate::format::sys_t::part::{Joiner, RawPart};
use crate::format::sys_t::record::{Malformed, Marks};
use crate::format::sys_t::scan::Found;
use crate::format::sys_t::stp::tpiu::Deframer;
use crate::format::sys_t::stp::{NibbleOrder, Sink, Stream};
use crate::format::sys_t::{Settings, StpBytes, TextPart, Transport};
use crate::format::{Detail, Parcel};

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
    order: (NibbleOrder, &'static str),
    deframer: Option<(Deframer, u8)>,
    bytes: Vec<u8>,
    origins: Vec<u64>,
}

/// Puts the messages of a stream into records.
struct IntoRecords<'a> {
    records: &'a mut Records,
    decoder: &'a Decoder,
}

impl Sink for IntoRecords<'_> {
    #[inline]
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        if !is_whole && frame.len() < 4 {
            return self.records.add_malformed(Malformed::TooShort, frame, context);
        }
        self.records.add_frame(self.decoder, frame, context);
        if !is_whole && let Some(stored) = self.records.stored.last_mut() {
            stored.marks.add(Marks::TRUNCATED);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.records.add_notice(notice, value, context);
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
                    order,
                    deframer,
                    bytes: Vec::new(),
                    origins: Vec::new(),
                }))
            }
        };
        Feed { way, decoder, end_bytes: 0, is_done: false }
    }

    /// Takes the next parcel. `each` gets records, and from which one on they count. Gives the parcel back for its memory.
    pub fn take(&mut self, parcel: Parcel, mut each: impl FnMut(&Records, usize)) -> Option<Parcel> {
        match &mut self.way {
            Way::Text => {
                let part = parcel.downcast::<TextPart>().ok()?;
                (self.end_bytes, self.is_done) = (part.end as u64, part.is_last);
                each(&part.records, 0);
                Some(part)
            }
            Way::Raw(joiner) => {
                let part = parcel.downcast::<RawPart>().ok()?;
                self.end_bytes = part.input_len() as u64;
                let (before, records, first) = joiner.join(&part, &self.decoder);
                each(before, 0);
                each(records, first);
                self.is_done = part.is_last();
                if self.is_done
                    && let Some(lost) = joiner.finish(part.input_len())
                {
                    each(lost, 0);
                }
                Some(part)
            }
            Way::Stp(stp) => {
                let part = parcel.downcast::<StpBytes>().ok()?;
                self.end_bytes = (part.start + part.bytes.len()) as u64;
                self.is_done = part.is_last;
                let Stp { stream, records, deframer, bytes, origins, .. } = &mut **stp;
                // Messages of before the part may end in it: their places count from the start.
                records.reset(stream.oldest_offset());
                let mut sink = IntoRecords { records, decoder: &self.decoder };
                match deframer {
                    None => stream.push(&part.bytes, &[], part.is_last, &mut sink),
                    Some((deframer, _)) => {
                        bytes.clear();
                        origins.clear();
                        deframer.push(&part.bytes, part.start as u64, bytes, origins);
                        stream.push(bytes, origins, part.is_last, &mut sink);
                    }
                }
                each(&stp.records, 0);
                Some(part)
            }
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
            Way::Text => vec![detail("transport", "text".into(), "told by the capture")],
            Way::Raw(_) => vec![detail("transport", "raw bytes".into(), "inferred")],
            Way::Stp(stp) => {
                let transport = match &stp.deframer {
                    Some((_, source)) => format!("STPv2 of source {source} in CoreSight frames"),
                    None => "STPv2".to_owned(),
                };
                let (order, source) = stp.order;
                let order = match order {
                    NibbleOrder::Msb => "most significant first",
                    NibbleOrder::Lsb => "least significant first",
                };
                vec![detail("transport", transport, "told by the capture"), detail("nibble order", order.into(), source)]
            }
        }
    }
}
