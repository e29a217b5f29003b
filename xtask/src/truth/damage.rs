//! Damage to a recording, and which of its bytes survive where.

use std::ops::Range;

use traceconv::format::tonbandgeraet::decode::Decoder;
use traceconv::format::tonbandgeraet::record::Record;

/// The damage to a recording.
#[derive(Clone, Copy)]
pub enum Damage {
    None,
    Flips(u64),
    Deletions,
    Insertions,
    Duplicated,
    Swapped,
    MidStream,
    /// Another recording follows after this share of the first, in percent.
    Restart(usize),
    /// Only the events of the second core of two, without the metadata that the file of the first core has.
    OneCore,
}

/// A byte of the recordings, in order: of the second one, from this on.
pub const SECOND: u64 = 1 << 40;
/// A byte that is not one of them, or is damaged.
const FOREIGN: u64 = u64::MAX;

/// A damaged recording.
pub struct Damaged {
    pub bytes: Vec<u8>,
    /// Where each byte comes from.
    pub origins: Vec<u64>,
    /// Where the damage is, in order.
    pub places: Vec<Range<u64>>,
    /// How many sessions it has.
    pub sessions: u32,
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit.max(1) as u64) as usize
    }
}

/// Damages a recording. `second` is the one that follows after a restart.
pub fn damaged(clean: &[u8], second: &[u8], damage: Damage, seed: u64) -> Damaged {
    let mut random = Random(seed * 0x9E37_79B9 + 1);
    // Each byte, where it comes from, and whether it is where damage is.
    let mut out: Vec<(u8, u64, bool)> = clean.iter().zip(0..).map(|(&byte, origin)| (byte, origin, false)).collect();
    // The start of a recording has the names and sizes that all else needs.
    let from = out.len() / 20;
    match damage {
        Damage::None => {}
        Damage::Flips(count) => {
            for _ in 0..count {
                let at = from + random.below(out.len() - from);
                out[at] = (out[at].0 ^ 1 << random.below(8), FOREIGN, true);
            }
        }
        Damage::Deletions => {
            for _ in 0..10 {
                let (at, len) = (from + random.below(out.len() - from - 100), 1 + random.below(40));
                out.drain(at..at + len);
            }
        }
        Damage::Insertions => {
            for _ in 0..10 {
                let (at, len) = (from + random.below(out.len() - from), 1 + random.below(40));
                let noise: Vec<(u8, u64, bool)> = (0..len).map(|_| (random.below(256) as u8, FOREIGN, true)).collect();
                out.splice(at..at, noise);
            }
        }
        Damage::Duplicated | Damage::Swapped => {
            for _ in 0..3 {
                let len = 300 + random.below(700);
                let at = from + random.below(out.len() - from - 2 * len);
                if let Damage::Swapped = damage {
                    out[at..at + 2 * len].rotate_left(len);
                    out[at..at + 2 * len].iter_mut().for_each(|byte| byte.2 = true);
                } else {
                    let block: Vec<_> = out[at..at + len].iter().map(|byte| (byte.0, FOREIGN, true)).collect();
                    out.splice(at + len..at + len, block);
                }
            }
        }
        Damage::MidStream => drop(out.drain(..clean.len() * 37 / 100 + random.below(64))),
        Damage::Restart(percent) => {
            out.truncate(out.len() * percent / 100);
            out.extend(second.iter().zip(SECOND..).map(|(&byte, origin)| (byte, origin, false)));
        }
        Damage::OneCore => out = of_second_core(&out),
    }
    let mut places: Vec<Range<u64>> = Vec::new();
    let mut expected = 0;
    for (&(_, origin, is_hurt), place) in out.iter().zip(0u64..) {
        let is_cut = origin != expected && !matches!(damage, Damage::OneCore);
        if is_hurt || is_cut {
            match places.last_mut() {
                Some(last) if last.end == place => last.end = place + 1,
                _ => places.push(place..place + u64::from(is_hurt)),
            }
        }
        expected = if origin == FOREIGN { FOREIGN } else { origin + 1 };
    }
    Damaged {
        bytes: out.iter().map(|byte| byte.0).collect(),
        origins: out.iter().map(|byte| byte.1).collect(),
        places,
        sessions: if let Damage::Restart(_) = damage { 2 } else { 1 },
    }
}

/// The events of core 1 of a recording of Tonbandgerät.
fn of_second_core(all: &[(u8, u64, bool)]) -> Vec<(u8, u64, bool)> {
    let decoder = Decoder::plain();
    let (mut core, mut payload, mut out) = (0, Vec::new(), Vec::new());
    for frame in all.split_inclusive(|byte| byte.0 == 0) {
        let bytes: Vec<u8> = frame.iter().map(|byte| byte.0).collect();
        match decoder.record(&bytes, &mut payload) {
            Ok((Record::CoreId { core_id, .. }, _)) => core = core_id,
            Ok((record, _)) if core == 1 && record.ts().is_some() => out.extend_from_slice(frame),
            _ => {}
        }
    }
    out
}
