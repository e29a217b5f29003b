//! Cutting a stream of packets that begin with a sync word.
//!
//! There is no delimiter, and the bytes of the sync word may also occur inside a packet, as data. So whether a packet starts at a
//! position depends on the packet before it. The packets of an input form a *chain* that starts at 0: after each packet comes the
//! next one, and after bytes that are not a valid packet comes the next sync word. Reading from the middle may give another
//! chain.
//!
//! A **verified cut** is a position that *every* chain visits, whatever its start before the cut. So the chain from 0 visits it
//! too, and a part that starts there gives the same packets as the whole input. Packets have a maximum length, so only starts
//! within that number of bytes matter. They are followed side by side ([`meeting`]); on sane input they meet within a few
//! packets.
//!
//! On hostile input they may never meet (two chains of packets, each inside the payloads of the other), and parts must stay
//! bounded. So there is one more rule, for whole inputs and parts alike: if the chains from before a multiple of
//! [`Grammar::RESYNC_BYTES`] do not meet within that number of bytes after it, reading restarts at that multiple. This is a
//! **forced start**. It depends only on the input. A packet that would extend beyond a forced start is not valid. [`stretches`]
//! returns the stretches of a part between forced starts.
//!
//! How a format uses this: `Recording::cut` calls [`cut`]. `Decode::decode` goes through the [`stretches`] of its part, and in
//! each of them follows the chain from the start; a packet that extends beyond the end of the stretch is damage.
//!
//! Cost of a cut: each sync word within [`Grammar::MAX_PACKET_BYTES`] before it is judged once, except those that do not claim to
//! extend beyond it ([`Grammar::may_reach_beyond`]). So is each sync word between the cut and the meeting, at most
//! [`Grammar::RESYNC_BYTES`] after it. Judging must cost no more than a small constant, or a flood of sync words becomes slow. If
//! a packet is validated by a checksum over a long payload, make the grammar a value for one region that holds the running
//! checksums of its bytes. The checksum of a payload follows from those at its two ends.

use std::collections::BTreeSet;
use std::ops::Range;

/// The rules by which packets follow each other. The answers depend only on the input.
pub trait Grammar {
    /// The maximum length of a packet in bytes, sync word included.
    const MAX_PACKET_BYTES: usize;

    /// Where chains do not meet, reading restarts at multiples of this. Much longer than a packet.
    const RESYNC_BYTES: usize;

    /// The first sync word at or after `at`; the input's length without one. In a stretch without sync words that is longer than
    /// [`Grammar::RESYNC_BYTES`], an answer may be a position in it that depends only on the input, at most that far after `at`:
    /// otherwise each part of an input without sync words costs a search up to its end.
    fn sync(&self, input: &[u8], at: usize) -> usize;

    /// Where reading continues after the sync word at `at`, to be found by [`Grammar::sync`] from there: after the packet if it
    /// is valid, otherwise within the sync word or after it. Several positions if the choice depends on a rule that is not known
    /// yet; the cut is then valid for each of them. All are in `at + 1 ..= at + MAX_PACKET_BYTES`.
    fn next(&self, input: &[u8], at: usize, each: impl FnMut(usize));

    /// False if no position of [`Grammar::next`] at `at` is beyond `end`, whether the packet is valid or not. The length that a
    /// packet claims may show that without judging it.
    #[inline]
    fn may_reach_beyond(&self, _input: &[u8], _at: usize, _end: usize) -> bool {
        true
    }

    /// The first sync word from `from` on that [may reach](Grammar::may_reach_beyond) beyond `end`; a position from `end` on without one.
    fn sync_reaching(&self, input: &[u8], from: usize, end: usize) -> usize {
        let mut start = self.sync(input, from);
        while start < end && !self.may_reach_beyond(input, start, end) {
            start = self.sync(input, start + 1);
        }
        start
    }
}

/// The first position from `at` on, before `end`, that every chain visits which started before it.
fn meeting<G: Grammar>(grammar: &G, input: &[u8], at: usize, end: usize) -> Option<usize> {
    // The positions of the chains that have reached `at` or gone beyond it.
    let mut positions = BTreeSet::new();
    let mut from = at.saturating_sub(G::MAX_PACKET_BYTES);
    if from == 0 && at > 0 {
        // This near to the start of the input the chain itself can be followed.
        let mut starts = BTreeSet::from([grammar.sync(input, 0)]);
        while let Some(start) = starts.pop_first() {
            if start >= at {
                positions.insert(start);
            } else {
                grammar.next(input, start, |next| _ = starts.insert(grammar.sync(input, next.max(start + 1))));
            }
        }
    } else {
        positions.insert(grammar.sync(input, at));
        loop {
            let start = grammar.sync_reaching(input, from, at);
            if start >= at {
                break;
            }
            // Every position before `at` is also a start itself.
            grammar.next(input, start, |next| {
                if next > at {
                    positions.insert(grammar.sync(input, next));
                }
            });
            from = start + 1;
        }
    }
    loop {
        let first = positions.pop_first()?;
        if first >= end && end < input.len() {
            return None;
        }
        if positions.is_empty() {
            return Some(first);
        }
        grammar.next(input, first, |next| _ = positions.insert(grammar.sync(input, next.max(first + 1))));
    }
}

/// Where reading restarts at `block`, a multiple of [`Grammar::RESYNC_BYTES`], or soon after it. The second value says whether
/// the start is forced.
fn start_at<G: Grammar>(grammar: &G, input: &[u8], block: usize) -> (usize, bool) {
    match meeting(grammar, input, block, block.saturating_add(G::RESYNC_BYTES)) {
        Some(start) => (start, false),
        None => (block, true),
    }
}

/// The first verified cut or forced start at or after `at`, less than twice [`Grammar::RESYNC_BYTES`] after it. (In a longer
/// stretch without sync words, a forced start cuts no packet in two.)
#[must_use]
pub fn cut<G: Grammar>(grammar: &G, input: &[u8], at: usize) -> usize {
    if at == 0 || at >= input.len() {
        return at.min(input.len());
    }
    let block = at.next_multiple_of(G::RESYNC_BYTES);
    // After a forced start other chains continue, which this does not know.
    let near = if block > at { meeting(grammar, input, at, block) } else { None };
    match near {
        Some(near) => near,
        None if block >= input.len() => input.len(),
        None => start_at(grammar, input, block).0,
    }
}

/// The stretches of the part `range`, which lies between two cuts of the same grammar: in each of them packets follow each other
/// from its start. If the cuts left positions open ([`Grammar::next`]), the part can be read with any of them.
pub fn stretches<'a, G: Grammar>(
    grammar: &'a G,
    input: &'a [u8],
    range: Range<usize>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let end = range.end.min(input.len());
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let start = at;
        let mut block = start.saturating_add(1).next_multiple_of(G::RESYNC_BYTES);
        while block < end && !start_at(grammar, input, block).1 {
            block += G::RESYNC_BYTES;
        }
        at = block.min(end);
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets `S S kind len payload`, at most 20 bytes long. Kind 3 does not record its length: `unknown`, if known.
    struct Toy {
        unknown: Option<u8>,
    }

    const SYNC: u8 = 0xA5;

    impl Toy {
        /// Where a packet at `at` ends for a payload of `len` bytes: another one or the end must follow.
        fn end(input: &[u8], at: usize, len: u8) -> Option<usize> {
            let end = at + 4 + usize::from(len);
            let follows = input.get(end..)?;
            (len <= 16 && (follows.starts_with(&[SYNC, SYNC]) || follows.is_empty())).then_some(end)
        }

        /// The packets of a part that was cut by `cutter`, and the bytes outside of packets.
        fn read(&self, cutter: &Toy, input: &[u8], range: Range<usize>) -> (Vec<Range<usize>>, Vec<usize>) {
            let (mut packets, mut lost) = (Vec::new(), Vec::new());
            for stretch in stretches(cutter, input, range) {
                let mut at = stretch.start;
                while at < stretch.end {
                    let mut next = None;
                    if self.sync(input, at) == at {
                        self.next(input, at, |to| assert!(next.replace(to).is_none(), "two ways to go on"));
                    }
                    match next.filter(|&next| next > at + 1 && next <= stretch.end) {
                        Some(next) => {
                            packets.push(at..next);
                            at = next;
                        }
                        None => {
                            lost.push(at);
                            at += 1;
                        }
                    }
                }
            }
            (packets, lost)
        }
    }

    impl Grammar for Toy {
        const MAX_PACKET_BYTES: usize = 20;
        const RESYNC_BYTES: usize = 64;

        fn may_reach_beyond(&self, input: &[u8], at: usize, end: usize) -> bool {
            match (input.get(at + 2), input.get(at + 3)) {
                (Some(3), _) | (None, _) | (_, None) => true,
                (Some(_), Some(&len)) => at + 4 + usize::from(len) > end,
            }
        }

        fn sync(&self, input: &[u8], at: usize) -> usize {
            let found = input.get(at..).and_then(|rest| rest.windows(2).position(|pair| pair == [SYNC, SYNC]));
            found.map_or(input.len(), |index| at + index)
        }

        fn next(&self, input: &[u8], at: usize, mut each: impl FnMut(usize)) {
            let lens = match (input.get(at + 2), input.get(at + 3), self.unknown) {
                (Some(3), Some(_), None) => 0..=16,
                (Some(3), Some(_), Some(len)) => len..=len,
                (Some(_), Some(&len), _) => len..=len,
                _ => return each(at + 1),
            };
            let mut may_be_none = true;
            for len in lens.clone() {
                if let Some(end) = Toy::end(input, at, len) {
                    each(end);
                    may_be_none = lens.end() > lens.start();
                }
            }
            if may_be_none {
                each(at + 1);
            }
        }
    }

    /// Parts at any positions, cut with or without knowing the length of kind 3, read as the whole does.
    fn check(input: &[u8], unknown: u8, wanted: &[usize]) -> Result<(), TestCaseError> {
        let known = Toy { unknown: Some(unknown) };
        for cutter in [Toy { unknown: None }, Toy { unknown: Some(unknown) }] {
            let whole = known.read(&cutter, input, 0..input.len());
            let mut cuts: Vec<usize> = wanted.iter().map(|&at| cut(&cutter, input, at)).collect();
            for (&at, &cut) in wanted.iter().zip(&cuts) {
                prop_assert!(cut >= at.min(input.len()) && cut <= input.len());
                prop_assert!(cut <= at + 128, "cut {} for {}", cut, at);
            }
            cuts.push(0);
            cuts.push(input.len());
            cuts.sort_unstable();
            let mut parts = (Vec::new(), Vec::new());
            for pair in cuts.windows(2) {
                let (packets, lost) = known.read(&cutter, input, pair[0]..pair[1]);
                parts.0.extend(packets);
                parts.1.extend(lost);
            }
            prop_assert_eq!(&parts, &whole);
        }
        Ok(())
    }

    #[test]
    fn a_sane_stream_is_cut_between_packets() {
        let mut input = Vec::new();
        let mut ends = vec![0];
        for len in [4u8, 0, 9, 16, 2, 1].repeat(40) {
            input.extend([SYNC, SYNC, 1, len]);
            // The payload begins with bytes that look like a sync word.
            input.extend([SYNC, SYNC, 7].iter().cycle().take(usize::from(len)));
            ends.push(input.len());
        }
        let toy = Toy { unknown: None };
        for at in 0..=input.len() {
            let cut = cut(&toy, &input, at);
            assert!(ends.contains(&cut) && cut <= at + 60, "{at}: {cut}");
        }
        assert_eq!(stretches(&toy, &input, 0..input.len()).count(), 1);
    }

    #[test]
    fn chains_that_never_meet_are_forced_to() {
        // Each packet of six bytes is also the payload of another one.
        let input = [SYNC, SYNC, 2].repeat(100);
        let nested: Vec<u8> = input.chunks(3).flat_map(|sync| [sync, &[2]].concat()).collect();
        let toy = Toy { unknown: Some(0) };
        let mut crossing = Vec::new();
        for _ in 0..200 {
            crossing.extend([SYNC, SYNC, 1, 4]);
        }
        for input in [&input, &nested, &crossing] {
            let forced = stretches(&toy, input, 0..input.len()).count();
            for at in 0..input.len() {
                assert!(cut(&toy, input, at) <= at + 128);
            }
            check(input, 0, &(0..input.len()).step_by(7).collect::<Vec<_>>()).unwrap();
            assert!(forced == 1 || input == &crossing);
        }
        assert!(stretches(&toy, &crossing, 0..crossing.len()).count() > 5);
    }

    /// Valid packets (also with packets in their payload), sync words, headers that claim much, noise.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => Just(SYNC), 1 => Just(3u8), 2 => 0u8..18, 1 => any::<u8>()];
        let piece = prop_oneof![
            3 => (1u8..4, prop::collection::vec(byte.clone(), 0..17)).prop_map(|(kind, payload)| {
                [&[SYNC, SYNC, kind, payload.len() as u8], &payload[..]].concat()
            }),
            2 => (0usize..6, 1u8..4, 0u8..17).prop_map(|(times, kind, len)| [SYNC, SYNC, kind, len].repeat(times)),
            1 => prop::collection::vec(byte, 0..12),
            1 => Just(vec![0; 90]),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

        #[test]
        fn parts_read_as_the_whole(
            input in hostile(),
            period in prop::option::of((1usize..30, 1usize..60)),
            unknown in 0u8..17,
            wanted in prop::collection::vec(0usize..1200, 0..12),
        ) {
            // Repeated, some of it makes chains that never meet.
            let input = match period {
                Some((len, times)) => input.get(..len).unwrap_or(&input).repeat(times),
                None => input,
            };
            check(&input, unknown, &wanted)?;
        }
    }
}
