//! What TYPE and SUBTYPE mean: looked up for each message.

use super::{Kind, Malformed, Pointers};

/// By TYPE and SUBTYPE: what they mean.
pub(super) static KINDS: [[Result<Kind, Malformed>; 64]; 16] = {
    let mut kinds = [[Err(Malformed::UnknownType); 64]; 16];
    let mut at = 0;
    while at < 16 * 64 {
        kinds[at / 64][at % 64] = kind_of((at / 64) as u32, (at % 64) as u8);
        at += 1;
    }
    kinds
};

const fn kind_of(of_type: u32, subtype: u8) -> Result<Kind, Malformed> {
    use Pointers::{Bits32, Bits64};
    Ok(match (of_type, subtype) {
        (0, 0) => Kind::BuildCompact32,
        (0, 1) => Kind::BuildCompact64,
        (0, 2) => Kind::BuildLong,
        (1, _) => Kind::Short32,
        (7, _) => Kind::Short64,
        (2, 1) => Kind::Generic,
        (2, 2) => Kind::FunctionEnter,
        (2, 3) => Kind::FunctionExit,
        (2, 5) => Kind::InvalidParam,
        (2, 7) => Kind::Assert,
        (2, 11) => Kind::Printf(Bits32),
        (2, 12) => Kind::Printf(Bits64),
        (3, 1) => Kind::Catalog { wide_id: false, pointers: Bits32 },
        (3, 2) => Kind::Catalog { wide_id: true, pointers: Bits32 },
        (3, 5) => Kind::Catalog { wide_id: false, pointers: Bits64 },
        (3, 6) => Kind::Catalog { wide_id: true, pointers: Bits64 },
        (6, protocol) => Kind::Raw(protocol),
        (8, 1) => Kind::ClockSync,
        (9, form @ 0..=15) => Kind::Sbd(form),
        (0 | 2 | 3 | 8 | 9, _) => return Err(Malformed::UnknownSubtype),
        _ => return Err(Malformed::UnknownType),
    })
}
