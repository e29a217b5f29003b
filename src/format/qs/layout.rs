//! The layout of records in bytes, from the target's sizes and version.
//!
//! The offset and width of every field are computed once, so that reading a field is a load and a mask.

use super::record::{Code, Field, IDS_END, Kind, SPECS, user_base};

/// The sizes of the target's configurable types, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Time stamp.
    pub time: u8,
    /// Object pointer.
    pub object: u8,
    /// Function pointer.
    pub function: u8,
    /// Signal.
    pub signal: u8,
    /// Event size.
    pub event_size: u8,
    /// Event queue counter.
    pub queue: u8,
    /// Memory pool counter.
    pub pool: u8,
    /// Memory pool block size. No record has it.
    pub block: u8,
    /// Time event counter.
    pub time_event: u8,
}

impl Default for Sizes {
    /// The default sizes of `qspy`.
    fn default() -> Sizes {
        Sizes { time: 4, object: 4, function: 4, signal: 2, event_size: 2, queue: 1, pool: 2, block: 2, time_event: 4 }
    }
}

impl Sizes {
    /// The letters of `qspy` for the sizes, in the order in which they are written: `T4O4F4S2E2Q1P2B2C4`.
    pub const LETTERS: [char; 9] = ['T', 'O', 'F', 'S', 'E', 'Q', 'P', 'B', 'C'];

    /// All sizes, in the order of [`Sizes::LETTERS`].
    #[must_use]
    pub fn all(&self) -> [u8; 9] {
        let &Sizes { time, object, function, signal, event_size, queue, pool, block, time_event } = self;
        [time, object, function, signal, event_size, queue, pool, block, time_event]
    }

    /// The size of a letter.
    pub fn get_mut(&mut self, letter: char) -> Option<&mut u8> {
        let Sizes { time, object, function, signal, event_size, queue, pool, block, time_event } = self;
        let all = [time, object, function, signal, event_size, queue, pool, block, time_event];
        all.into_iter().nth(Sizes::index(letter)?)
    }

    /// The number of a letter among [`Sizes::LETTERS`].
    #[must_use]
    pub fn index(letter: char) -> Option<usize> {
        Sizes::LETTERS.iter().position(|&other| other == letter.to_ascii_uppercase())
    }

    /// Whether a size is legal for a letter.
    #[must_use]
    pub fn is_legal(letter: char, size: u8) -> bool {
        matches!(size, 1 | 2 | 4) || (size == 8 && matches!(letter.to_ascii_uppercase(), 'O' | 'F'))
    }

    /// Sets the sizes from a text like `T4O4F4S2E2Q1P2B2C4`: letters in any order, missing ones unchanged.
    ///
    /// # Errors
    /// Why the text is invalid.
    pub fn apply(&mut self, text: &str) -> Result<(), String> {
        let mut chars = text.chars().filter(|c| !c.is_whitespace() && *c != ',');
        while let Some(letter) = chars.next() {
            let size = chars.next().and_then(|digit| digit.to_digit(10)).and_then(|size| u8::try_from(size).ok());
            let Some(place) = self.get_mut(letter) else {
                return Err(format!("{letter:?} is not one of the letters T, O, F, S, E, Q, P, B and C"));
            };
            match size {
                Some(size) if Sizes::is_legal(letter, size) => *place = size,
                _ => return Err(format!("{letter} must be followed by its size: 1, 2 or 4 (O and F also 8)")),
            }
        }
        Ok(())
    }

    /// The width of a field in bytes; `None` for a text.
    #[must_use]
    pub fn width(&self, code: Code) -> Option<u8> {
        match code {
            Code::U8 => Some(1),
            Code::U16 => Some(2),
            Code::U32 => Some(4),
            _ => code.configured().map(|index| self.all()[index]),
        }
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Sizes::LETTERS.iter().zip(self.all()).try_for_each(|(letter, size)| write!(f, "{letter}{size}"))
    }
}

/// The configuration of a target: its sizes and its version of QP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Sizes.
    pub sizes: Sizes,
    /// Version, e.g. 812 for 8.1.2.
    pub version: u16,
    /// The lowest id of application records.
    pub user_base: u8,
}

impl Config {
    /// The configuration of a version.
    #[must_use]
    pub fn new(sizes: Sizes, version: u16) -> Config {
        Config { sizes, version, user_base: user_base(version) }
    }
}

/// The largest number of fields of a record.
pub const FIELDS_MAX: usize = 8;

/// The length of the longest fixed part of a record, in bytes.
pub const FIXED_MAX: usize = 40;

/// The valid lengths of a record's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This number of bytes.
    Exact(u8),
    /// This number of bytes, and a text with its zero after them.
    Text(u8),
    /// At least this number of bytes. The rest must be checked by kind.
    Rest(u8),
}

/// The place of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Its offset in the data, in bytes.
    pub offset: u8,
    /// Its width; 0: not in this version or record, or of variable length.
    pub width: u8,
}

/// The place of a field that a record does not have in any version.
const MISSING: Slot = Slot { offset: u8::MAX, width: 0 };

/// The places of the fields of a record, by [`Field`].
type Slots = [Slot; Field::COUNT];

/// The layout of one record.
#[derive(Clone, Copy, Debug)]
pub struct RecordLayout {
    /// The kind of record.
    pub kind: Kind,
    /// The length of its data.
    pub length: Length,
    /// The width of the time stamp at its start; 0: it has none.
    pub time_width: u8,
}

/// The layout of all records.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The configuration that it was made from.
    pub config: Config,
    by_id: Box<[Option<RecordLayout>; 256]>,
    /// The records of other versions, by id.
    of_others: Vec<(u8, RecordLayout)>,
    by_kind: Box<[Slots; Kind::COUNT]>,
}

impl Layout {
    /// The layout of a configuration.
    #[must_use]
    pub fn new(config: Config) -> Layout {
        let by_kind = Box::new([[MISSING; Field::COUNT]; Kind::COUNT]);
        let mut layout = Layout { config, by_id: Box::new([None; 256]), of_others: Vec::new(), by_kind };
        for spec in SPECS {
            // A record that this version does not have is laid out as in the nearest one that has it.
            let version = spec.nearest(config.version);
            let mut slots = [MISSING; Field::COUNT];
            let mut offset = 0u8;
            let mut length = None;
            for field in spec.fields {
                let slot = &mut slots[field.field as usize];
                *slot = Slot::default();
                if !field.is_sent_by(version) {
                    continue;
                }
                let width = config.sizes.width(field.code);
                *slot = Slot { offset, width: width.unwrap_or(0) };
                match field.code {
                    Code::Text => length = Some(Length::Text(offset)),
                    Code::Rest => length = Some(Length::Rest(offset)),
                    _ => offset = offset.saturating_add(width.unwrap_or(0)),
                }
            }
            let time_width = if spec.is_timed(version) { config.sizes.time } else { 0 };
            let record = RecordLayout { kind: spec.kind, length: length.unwrap_or(Length::Exact(offset)), time_width };
            layout.by_kind[spec.kind as usize] = slots;
            if !spec.is_sent_by(config.version) {
                if spec.id < config.user_base {
                    layout.of_others.push((spec.id, record));
                }
                continue;
            }
            if spec.kind == Kind::User {
                for id in config.user_base..IDS_END {
                    layout.set(id, record);
                }
            } else if spec.id < config.user_base {
                layout.set(spec.id, record);
            }
        }
        layout
    }

    fn set(&mut self, id: u8, record: RecordLayout) {
        self.by_id[usize::from(id)] = Some(record);
    }

    /// The layout of the record of an id; `None` for an id that this version does not have.
    #[inline]
    #[must_use]
    pub fn of_id(&self, id: u8) -> Option<&RecordLayout> {
        self.by_id[usize::from(id)].as_ref()
    }

    /// The layouts that the record of an id has in other versions only.
    pub fn of_other_versions(&self, id: u8) -> impl Iterator<Item = &RecordLayout> {
        self.of_others.iter().filter(move |(other, _)| *other == id).map(|(_, record)| record)
    }

    /// The fields of a record.
    #[inline]
    #[must_use]
    pub fn fields<'a>(&'a self, kind: Kind, data: &'a [u8]) -> Fields<'a> {
        Fields { slots: &self.by_kind[kind as usize], data }
    }

    /// The fields of fixed width of a record, which begins a window of bytes: fast to read.
    #[inline]
    #[must_use]
    pub fn fixed_fields<'a>(&'a self, kind: Kind, window: &'a [u8; WINDOW_BYTES]) -> FixedFields<'a> {
        FixedFields { slots: &self.by_kind[kind as usize], window }
    }
}

/// The fields of one record.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    slots: &'a Slots,
    data: &'a [u8],
}

#[inline]
fn slot_of(slots: &Slots, field: Field) -> Slot {
    let slot = slots[field as usize];
    debug_assert!(slot != MISSING, "the record has no field {field:?}");
    slot
}

/// The fields of fixed width of one record. The bytes after the record are others.
#[derive(Clone, Copy, Debug)]
pub struct FixedFields<'a> {
    slots: &'a Slots,
    window: &'a [u8; WINDOW_BYTES],
}

impl FixedFields<'_> {
    /// The number in a field; 0 if this version does not send the field.
    #[inline]
    #[must_use]
    pub fn uint(self, field: Field) -> u64 {
        let Slot { offset, width } = slot_of(self.slots, field);
        let offset = usize::from(offset) % (WINDOW_BYTES - 8);
        let word = self.window.get(offset..).and_then(|rest| rest.first_chunk());
        low_bytes(word.map_or(0, |word| u64::from_le_bytes(*word)), width)
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn slot(&self, field: Field) -> Slot {
        slot_of(self.slots, field)
    }

    /// The number in a field; 0 if this version does not send the field.
    #[inline]
    #[must_use]
    pub fn uint(&self, field: Field) -> u64 {
        let Slot { offset, width } = self.slot(field);
        load(self.data, usize::from(offset), width)
    }

    /// Whether this version sends a field of fixed width.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.slot(field).width > 0
    }

    /// The bytes from a field to the record's end.
    #[must_use]
    pub fn rest(&self, field: Field) -> &'a [u8] {
        self.data.get(usize::from(self.slot(field).offset)..).unwrap_or(&[])
    }

    /// The text in a field, without its zero. Not necessarily UTF-8.
    #[must_use]
    pub fn text(&self, field: Field) -> &'a [u8] {
        let rest = self.rest(field);
        rest.strip_suffix(&[0]).unwrap_or(rest)
    }
}

/// By width; widths that do not occur have none.
const MASKS: [u64; 16] = [0, 0xFF, 0xFFFF, 0xFF_FFFF, 0xFFFF_FFFF, 0, 0, 0, u64::MAX, 0, 0, 0, 0, 0, 0, 0];

/// With this number of bytes, no field of fixed width needs a check of its own: it starts within the first 64.
pub const WINDOW_BYTES: usize = 72;
const _: () = assert!(FIXED_MAX <= WINDOW_BYTES - 8);

/// A little-endian number of up to 8 bytes. Bytes after the end of the data count as 0.
#[inline]
#[must_use]
pub fn load(data: &[u8], offset: usize, width: u8) -> u64 {
    let rest = data.get(offset..).unwrap_or(&[]);
    let word = match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    low_bytes(word, width)
}

/// The lowest `width` bytes of a word.
#[inline]
#[must_use]
pub fn low_bytes(word: u64, width: u8) -> u64 {
    word & MASKS[usize::from(width) % MASKS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_qspy_has_them() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.to_string(), "T4O4F4S2E2Q1P2B2C4");
        sizes.apply("O8 F8,e4").unwrap();
        assert_eq!(sizes.to_string(), "T4O8F8S2E4Q1P2B2C4");
        assert!(sizes.apply("T8").is_err() && sizes.apply("X1").is_err() && sizes.apply("Q").is_err());
    }

    #[test]
    fn the_longest_record_has_its_room() {
        let sizes =
            Sizes { time: 4, object: 8, function: 8, signal: 4, event_size: 4, queue: 4, pool: 4, block: 4, time_event: 4 };
        let layout = Layout::new(Config::new(sizes, 815));
        for id in 0..IDS_END {
            let Some(record) = layout.of_id(id) else { continue };
            let (Length::Exact(len) | Length::Text(len) | Length::Rest(len)) = record.length;
            assert!(usize::from(len) <= FIXED_MAX, "{:?}: {len}", record.kind);
        }
    }

    #[test]
    fn versions_have_their_own_records() {
        let kind = |version, id| Layout::new(Config::new(Sizes::default(), version)).of_id(id).map(|record| record.kind);
        assert_eq!(kind(719, 54), Some(Kind::SchedResume));
        assert_eq!(kind(720, 54), Some(Kind::EnumDict));
        assert_eq!((kind(549, 54), kind(550, 54)), (None, Some(Kind::SchedResume)));
        assert_eq!((kind(559, 50), kind(560, 50)), (Some(Kind::QkMutexLock), Some(Kind::SchedLock)));
        assert_eq!((kind(582, 68), kind(590, 68)), (Some(Kind::PeekAddress), Some(Kind::PeekData)));
        let status = |version| Layout::new(Config::new(Sizes::default(), version)).of_id(66).map(|record| record.length);
        assert_eq!((status(582), status(590)), (Some(Length::Exact(5)), Some(Length::Exact(1))));
        assert_eq!(kind(803, 81), None);
        assert_eq!(kind(804, 81), Some(Kind::DeferAttempt));
        assert_eq!(kind(583, 70), Some(Kind::User));
        assert_eq!(kind(660, 70), None);
        assert_eq!(kind(690, 70), Some(Kind::Run));
        assert_eq!(kind(815, 43), None);
        assert_eq!(kind(815, 125), None);
    }

    #[test]
    fn fields_are_where_the_sizes_put_them() {
        // A post of QP 8.1.2 on a 32-bit target.
        let data = [0x66, 0x12, 0x28, 0x00, 0xf4, 0x49, 0x00, 0x08, 0x0a, 0x00, 0x18, 0x0f, 0x00, 0x20, 0x00, 0x00, 0x0a, 0x0b];
        let layout = Layout::new(Config::new(Sizes::default(), 812));
        assert_eq!(layout.of_id(14).map(|record| record.length), Some(Length::Exact(18)));
        let fields = layout.fields(Kind::Post, &data);
        let all: Vec<u64> = Kind::Post.spec().fields.iter().map(|field| fields.uint(field.field)).collect();
        assert_eq!(all, [2_626_150, 0x0800_49F4, 10, 0x2000_0F18, 0, 0, 10, 11]);
        assert_eq!(layout.of_id(61).map(|record| record.length), Some(Length::Text(4)));
        let old = Layout::new(Config::new(Sizes::default(), 410));
        assert!(
            !old.fields(Kind::Post, &data).has(Field::Sender)
                && old.of_id(31).map(|record| record.length) == Some(Length::Exact(4))
        );
    }
}
