//! Recognising a stream, and whether it is in CoreSight frames.
//!
//! Single packets are weak evidence: many bytes are some header. But a synchronisation packet hardly occurs by chance, and real streams
//! use few ports, have hardly any damage, and most of them have time stamps or packets of the DWT.

use super::decode::Wrapping;
use crate::format::Probe;
use crate::frame::swo::{LOOKAHEAD_BYTES, NoPacket, Packet, each_packet};
use crate::frame::tpiu;
use crate::model::counted;

/// The number of bytes of an input that are inspected.
const SAMPLE_BYTES: usize = 64 << 10;

/// Less than this share of the bytes being packets is another format.
const COVERED_LEAST: f64 = 0.97;

/// Fewer bytes 0xFF at the end may be part of a packet.
const PADDING_LEAST: usize = 16;

/// Fewer packets may occur by chance.
const LEAST_PACKETS: u64 = 16;

/// Before a stream, at least this number of bytes are not part of a packet, and at most this share are: of random bytes it is 82 %, of
/// texts 90 %.
const NOISE_BAD_LEAST: u64 = 16;
const NOISE_COVERED_MOST: f64 = 0.93;

/// A place in a frame is clearly better than another one from this difference of their fits on.
const BETTER_LEAST: i64 = 8;

/// A stream is looked for at this number of synchronisation packets: other bytes may contain one.
const NOISE_SYNCS: usize = 16;

/// The end of a synchronisation packet, which may begin with more zeros.
const SYNC: &[u8] = &[0, 0, 0, 0, 0, 0x80];

/// In frames, no more sources than these occur: an ITM and an ETM for each of two cores, and bytes of no source.
const SOURCES_MAX: usize = 4;

/// Counts of the parts of a stream.
#[derive(Default)]
struct Evidence {
    bytes: usize,
    bad: u64,
    packets: u64,
    syncs: u64,
    times: u64,
    hardware: u64,
    /// Writes to each port.
    ports: [u64; 32],
    single: u64,
    /// Of these, characters of a text.
    letters: u64,
}

/// Whether a byte may be part of a text. Of those from 0x80 on, [`super::texts`] says which are.
pub(super) fn may_be_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x1B | 0x20..=0x7E | 0x80..)
}

/// Whether there are more bytes 0xFF at the end than packets have.
fn is_erased(bytes: &[u8]) -> bool {
    bytes.last_chunk::<PADDING_LEAST>() == Some(&[0xFF; PADDING_LEAST])
}

/// The inspected bytes of an input, without the erased memory after a stream.
fn sample_of(input: &[u8]) -> &[u8] {
    let sample = input.get(..SAMPLE_BYTES).unwrap_or(input);
    let used = sample.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
    if sample.len() - used >= PADDING_LEAST { sample.get(..used).unwrap_or(sample) } else { sample }
}

impl Evidence {
    fn of(stream: &[u8]) -> Evidence {
        let mut all = Evidence { bytes: stream.len(), ..Evidence::default() };
        each_packet(stream, 0..stream.len(), |at, found| {
            all.packets += u64::from(!matches!(found, Ok((Packet::Zero, _)) | Err(_)));
            match found {
                // The first packet may be cut, and so may the last.
                Err(_) if at < LOOKAHEAD_BYTES => {}
                Err(NoPacket::Truncated) | Ok((Packet::Zero | Packet::Overflow | Packet::Page { .. }, _)) => {}
                // Erased memory is no damage of packets.
                Err(NoPacket::Damaged) if is_erased(stream.get(..=at).unwrap_or_default()) => all.bytes -= 1,
                Err(NoPacket::Damaged) => all.bad += 1,
                Ok((Packet::Sync, _)) => all.syncs += 1,
                Ok((Packet::LocalTime { .. } | Packet::GlobalLow { .. } | Packet::GlobalHigh { .. }, _)) => all.times += 1,
                Ok((Packet::Hardware { .. }, _)) => all.hardware += 1,
                Ok((Packet::Port { port, bytes, value }, _)) => {
                    all.ports[usize::from(port & 31)] += 1;
                    all.single += u64::from(bytes == 1);
                    all.letters += u64::from(bytes == 1 && may_be_text(value as u8));
                }
            }
        });
        all
    }

    /// Packets speak for the place of frames, damage against it.
    fn fit(&self) -> i64 {
        self.packets as i64 - 8 * self.bad as i64
    }

    fn covered(&self) -> f64 {
        1.0 - self.bad as f64 / self.bytes.max(1) as f64
    }

    fn probe(&self, place: &str) -> Option<Probe> {
        let covered = self.covered();
        let mut ports = self.ports;
        ports.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let (software, few): (u64, u64) = (ports.iter().sum(), ports.iter().take(4).sum());
        let Evidence { packets, syncs, times, hardware, .. } = *self;
        // A stream without any damage may use many ports.
        let is_flawless = self.bad == 0 && syncs > 0 && (times + hardware) * 3 > packets;
        if packets < LEAST_PACKETS || covered < COVERED_LEAST || (few * 10 < software * 9 && !is_flawless) {
            return None;
        }
        let share = format!("{packets} packets{place}, {:.1} % of the bytes", covered * 100.0);
        if syncs > 0 && times + hardware + syncs > 2 {
            let score = if covered > 0.99 { 96 } else { 80 };
            return Some(Probe { score, reason: format!("{} among {share}", counted(syncs, "synchronisation packet")) });
        }
        if covered > 0.995
            && self.letters >= LEAST_PACKETS
            && self.single == self.letters
            && self.single + times + hardware == packets
        {
            return Some(Probe { score: 78, reason: format!("text on stimulus ports: {share}") });
        }
        // A tenth of single bytes may be binary values of a port.
        if covered > 0.995 && (times + hardware) * 3 > packets && packets >= 2 * LEAST_PACKETS {
            return Some(Probe {
                score: 70,
                reason: format!("{} and {} of the DWT among {share}", counted(times, "time stamp"), counted(hardware, "packet")),
            });
        }
        None
    }
}

/// Where a bare stream begins: after the bytes of a line at another rate or of a boot loader, at a synchronisation packet, if hardly any
/// stream is damaged as much as they are, and the packets after them are not.
fn start_of_stream(sample: &[u8]) -> usize {
    let all = memchr::memmem::find_iter(sample, SYNC).take(NOISE_SYNCS).filter_map(|at| sample.split_at_checked(at));
    let splits: Vec<_> = all.take_while(|(noise, stream)| noise.len() <= stream.len()).collect();
    // Most recordings begin with their stream: then not even the longest piece is damaged.
    if splits.last().is_none_or(|(noise, _)| Evidence::of(noise).bad < NOISE_BAD_LEAST) {
        return 0;
    }
    let is_split = |(noise, stream): &(&[u8], &[u8])| {
        let before = Evidence::of(noise);
        let is_noise = before.bad >= NOISE_BAD_LEAST && before.covered() < NOISE_COVERED_MOST;
        if !is_noise {
            return false;
        }
        let after = Evidence::of(stream.get(..stream.len() / 4).unwrap_or_default());
        after.packets >= LEAST_PACKETS && after.covered() >= COVERED_LEAST
    };
    splits.into_iter().find(is_split).map_or(0, |(noise, _)| noise.len())
}

/// A stream in CoreSight frames.
struct Framed {
    source: u8,
    /// Where the first frame begins.
    start: usize,
    evidence: Evidence,
    /// Why it is a stream, if frames that begin here or at another place show that.
    seen: Option<Probe>,
}

impl Framed {
    /// Whether there are enough packets, and nothing else.
    fn is_whole(&self) -> bool {
        self.evidence.packets >= LEAST_PACKETS && self.evidence.bad == 0
    }

    /// Other places have other packets up to the first full sync word only; a few may occur by chance, so the begin of the input is preferred.
    fn is_better_than(&self, best: &Framed) -> bool {
        let is_at_begin = best.start == 0 && self.start > 0;
        self.evidence.fit() > best.evidence.fit() + if is_at_begin { LEAST_PACKETS as i64 } else { 0 }
    }

    fn at(start: usize, source: u8, stream: &[u8]) -> Framed {
        let evidence = Evidence::of(stream);
        let place = if start > 0 { format!(", the first at byte {start}") } else { String::new() };
        let seen = evidence.probe(&format!(" of source {source} in CoreSight frames{place}"));
        Framed { source, start, evidence, seen }
    }

    /// The better one of two places of the same source. What shows at one that it is a stream holds for both.
    fn or(self, other: Framed) -> Framed {
        let (mut best, worse) = if other.is_better_than(&self) { (other, self) } else { (self, other) };
        best.seen = best.seen.or(worse.seen);
        best
    }
}

/// The most likely stream in CoreSight frames: of this source, or of any. A recording may begin within a frame, or with other bytes before
/// the first full sync word; only the packets show where frames begin, because the bits of a frame's last byte belong to the others.
fn framed(sample: &[u8], wanted: Option<u8>) -> Option<Framed> {
    let after_sync = memchr::memmem::find(sample, &tpiu::FULL_SYNC).map(|at| at + tpiu::FULL_SYNC.len());
    let mut all: Vec<Framed> = Vec::new();
    for start in (0..tpiu::FRAME_BYTES).chain(after_sync) {
        let frames = sample.get(start..).unwrap_or_default();
        let has_few = may_be_frames(frames.get(..frames.len() / 16).unwrap_or_default());
        if wanted.is_none() && !has_few {
            continue;
        }
        let sources = tpiu::sources(frames, 0);
        let has_few = has_few && sources.len() <= SOURCES_MAX;
        if wanted.is_none() && !has_few {
            continue;
        }
        for (source, stream) in sources.iter().filter(|(source, _)| wanted.is_none_or(|wanted| wanted == *source)) {
            let found = Framed::at(start, *source, stream);
            match all.iter().position(|one| one.source == *source) {
                Some(place) => {
                    let before = all.swap_remove(place);
                    all.push(before.or(found));
                }
                None => all.push(found),
            }
        }
        if has_few && start == 0 && all.iter().any(|one| one.evidence.bad == 0 && one.seen.is_some()) {
            break;
        }
    }
    // A source that is a stream for sure comes before one that may be.
    all.into_iter().reduce(|best, one| {
        let is_better = (one.seen.is_some(), one.evidence.fit()) > (best.seen.is_some(), best.evidence.fit());
        if is_better { one } else { best }
    })
}

/// The place in a frame of the first of these bytes, if that is clearly not the one of `now`: bytes were lost before them. The packets of the
/// source show it. The bytes may begin within a sync word, as `now` knows, and within a packet, of which `before` are the bytes so far.
pub(super) fn place_of(bytes: &[u8], source: u8, now: &tpiu::Deframer, before: &[u8]) -> Option<usize> {
    let fit = |mut deframer: tpiu::Deframer, before: &[u8]| {
        let mut stream = before.to_vec();
        deframer.push(source, bytes, 0, &mut stream, &mut Vec::new());
        Evidence::of(&stream).fit()
    };
    let (best, place) = (0..tpiu::FRAME_BYTES).map(|place| (fit(tpiu::Deframer::within_frame(place), &[]), place)).max()?;
    (place != now.place() && best > fit(now.clone(), before) + BETTER_LEAST).then_some(place)
}

/// Whether there are few sources. Other bytes soon name more.
fn may_be_frames(frames: &[u8]) -> bool {
    let (mut deframer, mut seen) = (tpiu::Deframer::new(), 0u128);
    frames.chunks(4 * tpiu::FRAME_BYTES).all(|piece| {
        deframer.each(piece, |source, _, _, _| seen |= 1 << (source & 0x7F));
        let sources = seen & ((1 << tpiu::SOURCES) - 2);
        sources.count_ones() as usize <= SOURCES_MAX
    })
}

/// The wrapping of an input in frames with this source, or without frames.
pub(super) fn wrapping_of(input: &[u8], source: Option<u8>) -> Wrapping {
    let sample = sample_of(input);
    match source {
        Some(source) => {
            // If the named source does not show where frames begin, another one may.
            let named = framed(sample, Some(source));
            let is_clear = named.as_ref().is_some_and(|framed| framed.seen.is_some());
            let other = || framed(sample, None).filter(|framed| framed.seen.is_some());
            let found = if is_clear { named } else { other().or(named) };
            Wrapping::Framed(source, found.map_or(0, |framed| framed.start))
        }
        None => Wrapping::Bare(start_of_stream(sample)),
    }
}

/// The sources in CoreSight frames, except one, that are ITM streams as well: a processor with several cores has an ITM for each.
pub(super) fn other_streams(input: &[u8], source: u8, start: usize) -> Vec<u8> {
    let sources = tpiu::sources(sample_of(input).get(start..).unwrap_or_default(), 0);
    let is_stream = |(other, stream): &(u8, Vec<u8>)| *other != source && Evidence::of(stream).probe("").is_some();
    // After bytes were lost, any bytes name sources.
    let has_few = sources.len() <= SOURCES_MAX;
    sources.iter().filter(|_| has_few).filter(|found| is_stream(found)).map(|(other, _)| *other).collect()
}

/// The wrapping of an input, and the evidence for the format.
pub(super) fn judge(input: &[u8]) -> (Wrapping, Option<Probe>) {
    let sample = sample_of(input);
    let mut in_frames = framed(sample, None);
    if in_frames.as_ref().is_none_or(|framed| framed.seen.is_none()) {
        // Where bytes were lost, the frames after them begin elsewhere: a piece shows which source it is.
        let pieces = sample.chunks(sample.len().div_ceil(4).max(1));
        let piece = pieces.filter_map(|piece| framed(piece, None)).find(|framed| framed.seen.is_some());
        let whole = piece.and_then(|piece| Some(Framed { seen: piece.seen, ..framed(sample, Some(piece.source))? }));
        in_frames = whole.or(in_frames);
    }
    // Of most other formats, a quarter shows that too much is no packet.
    let first = sample.get(..sample.len() / 4).unwrap_or_default();
    let is_hopeless = Evidence::of(first).bad as f64 > (1.0 - COVERED_LEAST) * sample.len() as f64;
    let as_it_is = (!is_hopeless).then(|| Evidence::of(sample).probe("")).flatten();
    let start = start_of_stream(sample);
    let after_noise = || Evidence::of(sample.get(start..)?).probe(&format!(" after {start} other bytes")).filter(|_| start > 0);
    let bare = as_it_is.or_else(after_noise);
    let Some(mut framed) = in_frames else { return (Wrapping::Bare(start), bare) };
    let wrapping = Wrapping::Framed(framed.source, framed.start);
    match (framed.seen.take(), bare) {
        // A stream in frames may also be read without them, the other way round hardly.
        (Some(in_frames), bare) if bare.as_ref().is_none_or(|bare| in_frames.score >= bare.score) => (wrapping, Some(in_frames)),
        // No evidence for the format, which may be given: frames without any damage in them are hardly a coincidence.
        (None, None) if framed.is_whole() && Evidence::of(sample).bad > 0 => (wrapping, None),
        (_, bare) => (Wrapping::Bare(start), bare),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Damage, GenerateOptions, generate_with_truth};
    use super::*;

    /// Texts in writes of four bytes, and no synchronisation packet: too little for the format to be recognised without its name.
    #[test]
    fn frames_are_found_without_evidence_for_the_format() {
        let mut stream = Vec::new();
        for number in 0..60u8 {
            stream.extend([0x03, b'l', b'i', b'n', b'e', 0x01, b' ', 0x02, b'0' + number % 10, b'\n', 0xC0, 0x85, 0x01]);
        }
        let (mut frames, mut bytes) = (Vec::new(), Vec::new());
        tpiu::wrap(&stream, 2, &mut frames);
        for (index, frame) in frames.chunks(tpiu::FRAME_BYTES).enumerate() {
            if index % 12 == 6 {
                bytes.extend(tpiu::FULL_SYNC);
            }
            bytes.extend(frame);
        }
        assert_eq!(judge(&bytes).0, Wrapping::Framed(2, 0));
        assert_eq!(wrapping_of(&bytes, Some(2)), Wrapping::Framed(2, 0));
        // Without frames it is a stream as well.
        assert_eq!(judge(&stream).0, Wrapping::Bare(0));
    }

    /// A byte of the frame before a sync word may seem to name the source, where another frame begins. That source is the present one anyway.
    #[test]
    fn frames_that_name_no_source_stay_where_they_are() {
        let (mut frames, mut stream) = (Vec::new(), Vec::new());
        (0..100u8).for_each(|number| stream.extend([0x01, b'a' + number % 26, 0xC0, 0x85, 0x01]));
        tpiu::wrap(&stream, 1, &mut frames);
        let bytes = [&[0x02, 0x03].repeat(4)[..], &tpiu::FULL_SYNC, &frames[tpiu::FRAME_BYTES..]].concat();
        assert_eq!(place_of(&bytes, 1, &tpiu::Deframer::within_source(1, 8), &[]), None);
    }

    /// Nothing of such a stream but the erased pages is damaged.
    #[test]
    fn erased_pages_within_a_stream_are_no_noise() {
        let (mut stream, _) = generate_with_truth(&GenerateOptions { bytes: 40_000, ..GenerateOptions::default() });
        for page in [1024..2048, 3072..4096] {
            stream[page].fill(0xFF);
        }
        assert_eq!(judge(&stream).0, Wrapping::Bare(0));
    }

    #[test]
    fn a_stream_without_damage_may_use_many_ports() {
        let writes = (0..200u8).flat_map(|number| [((number % 16) << 3) | 1, number, 0x30]);
        let stream: Vec<u8> = SYNC.iter().copied().chain(writes).collect();
        assert!(judge(&stream).1.is_some_and(|probe| probe.score >= 80));
        let damaged: Vec<u8> = stream.iter().copied().chain([0x04]).chain([0x30; 9]).collect();
        assert!(judge(&damaged).1.is_none(), "other files look like a damaged one");
    }

    #[test]
    fn a_stream_from_its_middle_is_no_noise() {
        for damage in [Damage::None, Damage::Flips, Damage::Bytes] {
            for seed in 0..4 {
                let (stream, _) =
                    generate_with_truth(&GenerateOptions { bytes: 40_000, seed, damage, ..GenerateOptions::default() });
                for start in (0..8000).step_by(101) {
                    assert_eq!(start_of_stream(&stream[start..]), 0, "{damage:?} {seed} {start}");
                }
            }
        }
    }
}
