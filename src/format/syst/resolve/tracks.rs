//! The tracks of senders: their groups, names and open functions.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::format::syst::collateral::{Collateral, Sender};
use crate::format::syst::decode::{PartSender, Records, SenderKey};
use crate::format::syst::decoded::{Key, NameRef, RecordKind, SourceRef, Stored, name_of_unknown};
use crate::format::syst::record::{Guid, SEVERITIES};
use crate::model::{
    Entities, Exit, GradeId, Group, GroupId, Lane, LaneId, LaneKind, LaneOwner, LogGrade, NameId, OpenFunctions, Source, SourceId,
};
use crate::printf::escape;
use crate::symbols::Symbols;

/// A track of a sender.
#[derive(Debug)]
pub struct Track {
    /// Its lane.
    pub lane: LaneId,
    /// The group it is in.
    pub group: GroupId,
    /// Open functions, by the hashes of their names.
    open: OpenFunctions,
}

impl Track {
    /// A function begins. False if there are too many.
    pub fn enter(&mut self, name: &str) -> bool {
        self.open.enter(hash(name))
    }

    /// A function ends.
    pub fn exit(&mut self, name: &str) -> Exit {
        self.open.exit(hash(name))
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// The key of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum GroupKey {
    Guid(Guid),
    /// A client of the collateral, and the master it is on.
    Client(u32, Option<u16>),
    /// Senders without GUID on one master.
    Master(u16),
    Module(u8),
    /// Short messages without a sender.
    Short,
    /// The stream itself.
    Stream,
}

/// Tracks that belong to no sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Console text.
    Console,
    /// Notices of the transport.
    Transport,
    /// Malformed messages and those with wrong checksums.
    Errors,
    /// Clock messages.
    Clock,
}

/// All tracks, and handles of names and source places.
#[derive(Default)]
pub struct Tracks {
    /// A sender was assigned to a client only because there is no other.
    pub assumes_client: bool,
    symbols: Option<Arc<Symbols>>,
    groups: FxHashMap<GroupKey, GroupId>,
    /// The first group of each client, for its messages without sender.
    group_of_client: FxHashMap<u32, GroupId>,
    tracks: Vec<Track>,
    track_of: FxHashMap<PartSenderKey, usize>,
    specials: FxHashMap<Special, LaneId>,
    counters: FxHashMap<(GroupId, u32), LaneId>,
    /// Of each format of the collateral. Side by side, because a message needs both.
    entries: Vec<(Option<NameId>, Option<SourceId>)>,
    /// Of catalog ids whose format is not known.
    unknown_ids: FxHashMap<u64, NameId>,
    words: FxHashMap<&'static str, NameId>,
    /// By [`Key::index`].
    keys: Vec<Option<NameId>>,
    severities: [Option<(NameId, NameId)>; 8],
    /// Of messages, failed assertions, and wrong use of the library; for each severity, and without one.
    categories: [[Option<NameId>; SEVERITIES.len() + 1]; 3],
    /// Both together, by class and severity.
    grades: [[Option<GradeId>; SEVERITIES.len()]; 3],
    // Index: number in the part.
    part_tracks: Vec<Option<usize>>,
    part_names: Vec<Option<NameId>>,
    part_sources: Vec<Option<Option<SourceId>>>,
}

type PartSenderKey = (SenderKey, Option<u32>);

impl Tracks {
    pub fn new(entries: usize, symbols: Option<Arc<Symbols>>) -> Tracks {
        Tracks { symbols, entries: vec![(None, None); entries], ..Tracks::default() }
    }

    /// Records of another part come: its numbers start again.
    pub fn begin_part(&mut self, records: &Records) {
        self.part_tracks.clear();
        self.part_tracks.resize(records.senders.len(), None);
        self.part_names.clear();
        self.part_names.resize(records.names.len(), None);
        self.part_sources.clear();
        self.part_sources.resize(records.sources.len(), None);
    }

    /// A new session has tracks of its own.
    pub fn forget_session(&mut self) {
        self.groups.clear();
        self.group_of_client.clear();
        self.tracks.clear();
        self.track_of.clear();
        self.specials.clear();
        self.counters.clear();
    }

    /// Closes all functions.
    pub fn close_all(&mut self) {
        self.tracks.iter_mut().for_each(|track| track.open.clear());
    }

    /// The track of a record's sender; `None` at the limit.
    #[inline]
    pub fn track(
        &mut self,
        records: &Records,
        stored: &Stored,
        session: u32,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<&mut Track> {
        let number = stored.sender as usize;
        let index = match self.part_tracks.get(number) {
            Some(Some(index)) => *index,
            _ => self.learn_track(records, number, session, collateral, entities)?,
        };
        self.tracks.get_mut(index)
    }

    #[cold]
    fn learn_track(
        &mut self,
        records: &Records,
        number: usize,
        session: u32,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<usize> {
        let index = self.find_track(records.senders.get(number)?, session, collateral, entities)?;
        *self.part_tracks.get_mut(number)? = Some(index);
        Some(index)
    }

    fn find_track(
        &mut self,
        sender: &PartSender,
        session: u32,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<usize> {
        let client = sender.found.map(|found| found.client);
        self.assumes_client |= sender.found.is_some_and(|found| found.only_one);
        if let Some(&index) = self.track_of.get(&(sender.key, client)) {
            return Some(index);
        }
        let group = self.group_of(sender, session, collateral, entities)?;
        let mut name = match sender.key.sender {
            Sender::Guid(_) => format!("unit {}", sender.key.unit),
            Sender::Module(module) => match client.and_then(|client| collateral.get(client)?.module(module)) {
                Some(name) => format!("{name}:unit{}", sender.key.unit),
                None => format!("mod{module}:unit{}", sender.key.unit),
            },
            Sender::Unknown => "short".to_owned(),
        };
        if let Some((master, channel)) = sender.key.place {
            name.push_str(&format!(" m{master}:c{channel}"));
        }
        let number = u32::try_from(self.tracks.len()).unwrap_or(u32::MAX);
        let lane = add_lane(entities, number, &name, group, LaneKind::Log, session)?;
        self.tracks.push(Track { lane, group, open: OpenFunctions::default() });
        self.track_of.insert((sender.key, client), self.tracks.len() - 1);
        Some(self.tracks.len() - 1)
    }

    fn group_of(
        &mut self,
        sender: &PartSender,
        session: u32,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<GroupId> {
        let master = sender.key.place.map(|(master, _)| master);
        let found = sender.found;
        let client_name = found.and_then(|found| collateral.get(found.client)).map(|client| client.name.as_str());
        if let (Sender::Unknown, Some(found)) = (sender.key.sender, found)
            && let Some(&group) = self.group_of_client.get(&found.client)
        {
            return Some(group);
        }
        let on = |master: Option<u16>| master.map_or(String::new(), |master| format!(" m{master}"));
        let (key, name) = match (sender.key.sender, found, master) {
            (Sender::Guid(guid), ..) => {
                let label = found.and_then(|found| collateral.get(found.client)?.label(guid));
                let mut name = format!("{} ", client_name.unwrap_or("SyS-T"));
                match label {
                    Some(label) => name.push_str(label),
                    None => escape::push_guid(&guid, &mut name),
                }
                (GroupKey::Guid(guid), name)
            }
            (_, Some(found), _) => {
                (GroupKey::Client(found.client, master), format!("{}{}", client_name.unwrap_or("SyS-T"), on(master)))
            }
            (_, None, Some(master)) => (GroupKey::Master(master), format!("SyS-T master {master}")),
            (Sender::Module(module), None, None) => (GroupKey::Module(module), format!("SyS-T module {module}")),
            (Sender::Unknown, None, None) => (GroupKey::Short, "SyS-T short messages".to_owned()),
        };
        let description = match sender.key.sender {
            Sender::Guid(guid) => {
                let mut text = "SyS-T client ".to_owned();
                escape::push_guid(&guid, &mut text);
                text
            }
            _ => "SyS-T senders without GUID".to_owned(),
        };
        let group = self.group(key, &name, &description, session, entities)?;
        if let Some(found) = found {
            self.group_of_client.entry(found.client).or_insert(group);
        }
        Some(group)
    }

    fn group(&mut self, key: GroupKey, name: &str, description: &str, session: u32, entities: &mut Entities) -> Option<GroupId> {
        if let Some(&group) = self.groups.get(&key) {
            return Some(group);
        }
        let rank = if key == GroupKey::Stream { u32::MAX } else { u32::try_from(self.groups.len()).unwrap_or(u32::MAX) };
        let group = entities.add_group(Group {
            name: name.into(),
            parent: None,
            description: Some(description.into()),
            rank,
            is_process: true,
            session,
        })?;
        self.groups.insert(key, group);
        Some(group)
    }

    /// A track that belongs to no sender.
    pub fn special(&mut self, special: Special, session: u32, entities: &mut Entities) -> Option<LaneId> {
        if let Some(&lane) = self.specials.get(&special) {
            return Some(lane);
        }
        let description = "Console text, notices of the transport, and messages that could not be decoded";
        let group = self.group(GroupKey::Stream, "SyS-T stream", description, session, entities)?;
        let (number, name) = match special {
            Special::Console => (0, "console"),
            Special::Transport => (1, "transport"),
            Special::Errors => (2, "decode errors"),
            Special::Clock => (3, "clock"),
        };
        let lane = add_lane(entities, number, name, group, LaneKind::Log, session)?;
        self.specials.insert(special, lane);
        Some(lane)
    }

    /// The counter of a short format, or of all values of a group (`entry` beyond all).
    pub fn counter(&mut self, group: GroupId, entry: u32, name: &str, session: u32, entities: &mut Entities) -> Option<LaneId> {
        if let Some(&lane) = self.counters.get(&(group, entry)) {
            return Some(lane);
        }
        let number = u32::try_from(self.counters.len()).unwrap_or(u32::MAX);
        let lane = add_lane(entities, number, name, group, LaneKind::Values, session)?;
        self.counters.insert((group, entry), lane);
        Some(lane)
    }

    /// The name of a record, if it has one.
    #[inline]
    pub fn name(
        &mut self,
        records: &Records,
        stored: &Stored,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<NameId> {
        match stored.name {
            NameRef::Body => None,
            NameRef::Entry(entry) => {
                let (known, _) = self.entries.get_mut(entry as usize)?;
                if known.is_none() {
                    *known = entities.add_name(&collateral.entry(entry)?.details.label);
                }
                *known
            }
            NameRef::Local(local) => {
                let known = self.part_names.get_mut(local as usize)?;
                if known.is_none() {
                    *known = entities.add_name(records.names.get(local as usize)?);
                }
                *known
            }
            NameRef::CatalogId => self.name_of_unknown(stored.value, entities),
        }
    }

    /// The name of catalog messages with an id whose format is not known.
    #[inline(never)]
    pub fn name_of_unknown(&mut self, id: u64, entities: &mut Entities) -> Option<NameId> {
        if let Some(known) = self.unknown_ids.get(&id) {
            return Some(*known);
        }
        let name = entities.add_name(&name_of_unknown(id))?;
        self.unknown_ids.insert(id, name);
        Some(name)
    }

    /// The place in the source code that a record was sent from.
    #[inline(always)]
    pub fn source(
        &mut self,
        records: &Records,
        source: SourceRef,
        collateral: &Collateral,
        entities: &mut Entities,
    ) -> Option<SourceId> {
        match source {
            SourceRef::None => None,
            SourceRef::Entry(entry) => {
                let (_, known) = self.entries.get_mut(entry as usize)?;
                if known.is_none() {
                    let (file, line) = collateral.entry(entry)?.details.source.as_ref()?;
                    *known = entities.add_source(Source { file: file.clone(), function: None, line: *line });
                }
                *known
            }
            SourceRef::Local(local) => {
                let known = self.part_sources.get_mut(local as usize)?;
                *known.get_or_insert_with(|| {
                    let place = records.sources.get(local as usize)?;
                    if let (Some(address), Some(symbols)) = (place.location.address(), &self.symbols) {
                        let frames = symbols.frames_at(address);
                        let frame = frames.first()?;
                        let function = Some(frame.function.into());
                        // Without debug information the function is all that is known.
                        let (file, line) = frame.place.map_or(("??", 0), |place| (place.file, place.line));
                        return entities.add_source(Source { file: file.into(), function, line });
                    }
                    let (file, line) = place.location.file_line()?;
                    let path = collateral.get(place.client?)?.file(file)?;
                    entities.add_source(Source { file: path.into(), function: None, line })
                })
            }
        }
    }

    /// A word that names args.
    pub fn word(&mut self, word: &'static str, entities: &mut Entities) -> Option<NameId> {
        if let Some(&name) = self.words.get(word) {
            return Some(name);
        }
        let name = entities.add_name(word)?;
        self.words.insert(word, name);
        Some(name)
    }

    /// The name of the severity's arg, and its value.
    pub fn severity(&mut self, severity: u8, entities: &mut Entities) -> Option<(NameId, NameId)> {
        let index = usize::from(severity & 7);
        if self.severities[index].is_none() {
            self.severities[index] = self.word("severity", entities).zip(self.word(SEVERITIES[index], entities));
        }
        self.severities[index]
    }

    /// A message's severity and category.
    #[inline]
    pub fn grade(&mut self, kind: RecordKind, severity: u8, entities: &mut Entities) -> Option<GradeId> {
        match self.grades[class(kind)][usize::from(severity & 7)] {
            Some(grade) => Some(grade),
            None => self.learn_grade(kind, severity, entities),
        }
    }

    #[cold]
    fn learn_grade(&mut self, kind: RecordKind, severity: u8, entities: &mut Entities) -> Option<GradeId> {
        let (name, value) = self.severity(severity, entities)?;
        let category = self.category(kind, Some(severity), entities)?;
        let grade = entities.add_grade(LogGrade { name, severity: value, category });
        self.grades[class(kind)][usize::from(severity & 7)] = grade;
        grade
    }

    /// The category of a message. `severity`: if it has one.
    pub fn category(&mut self, kind: RecordKind, severity: Option<u8>, entities: &mut Entities) -> Option<NameId> {
        let class = class(kind);
        let severity = severity.map_or(SEVERITIES.len(), |severity| usize::from(severity & 7));
        if self.categories[class][severity].is_none() {
            let mut name = "syst".to_owned();
            if let Some(severity) = SEVERITIES.get(severity) {
                name.push(',');
                name.push_str(&severity.to_ascii_lowercase());
            }
            name.push_str(["", ",assert", ",syst_error"][class]);
            self.categories[class][severity] = entities.add_name(&name);
        }
        self.categories[class][severity]
    }

    /// The name of an argument.
    #[inline]
    pub fn key(&mut self, key: Key, entities: &mut Entities) -> Option<NameId> {
        match self.keys.get(key.index()) {
            Some(Some(name)) => Some(*name),
            _ => self.learn_key(key, entities),
        }
    }

    #[cold]
    fn learn_key(&mut self, key: Key, entities: &mut Entities) -> Option<NameId> {
        let name = match key.name() {
            Ok(word) => self.word(word, entities),
            Err(place) => entities.add_name(&format!("args.{place}")),
        };
        if self.keys.len() <= key.index() {
            self.keys.resize(key.index() + 1, None);
        }
        self.keys[key.index()] = name;
        name
    }
}

/// An index of [`Tracks::categories`].
#[inline]
fn class(kind: RecordKind) -> usize {
    match kind {
        RecordKind::Assert => 1,
        RecordKind::InvalidParam => 2,
        _ => 0,
    }
}

fn add_lane(entities: &mut Entities, number: u32, name: &str, group: GroupId, kind: LaneKind, session: u32) -> Option<LaneId> {
    let name: Option<Arc<str>> = Some(name.into());
    entities.add_lane(Lane { number, name, owner: LaneOwner::Group(group), kind, session })
}
