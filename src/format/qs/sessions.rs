//! From the facts of the first pass to sessions: where each starts, how the target sends in it, what it calls things, and where
//! all that is known from.

use std::sync::Arc;

use super::decode::Segment;
use super::dic::Dictionary;
use super::infer::Inferred;
use super::info::TargetInfo;
use super::layout::{Config, Layout, Sizes};
use super::names::Names;
use super::record::Kind;
use super::scan::ScanFacts;

/// How many sessions are told apart. Damage can look like a reset.
const SESSIONS_LIMIT: usize = 1 << 12;

/// What the user says of the target.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Letters and sizes.
    pub sizes: Vec<(char, u8)>,
    /// The version of QP.
    pub version: Option<u16>,
    /// A dictionary file.
    pub dictionary: Option<Arc<Dictionary>>,
}

/// Where a fact is known from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The target told it.
    Target,
    /// The target told it in another session of the same recording.
    OtherSession,
    /// A dictionary file.
    File,
    /// An option.
    Option,
    /// Found out from the records.
    Inferred,
    /// Nothing tells it.
    Default,
}

impl Source {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Source::Target => "told by the target",
            Source::OtherSession => "told by the target in another session",
            Source::File => "told by the dictionary file",
            Source::Option => "given by an option",
            Source::Inferred => "inferred from the records",
            Source::Default => "assumed, nothing tells it",
        }
    }
}

/// A session of the target, from one reset to the next.
#[derive(Clone, Debug)]
pub struct Session {
    /// Where it starts in the input, in bytes.
    pub start: u64,
    /// What the target told of itself.
    pub info: Option<TargetInfo>,
    /// How the target sends.
    pub layout: Arc<Layout>,
    /// Where each size is known from, in the order of [`Sizes::LETTERS`].
    pub sizes_from: [Source; 9],
    /// Where the version is known from.
    pub version_from: Source,
    /// What things are called.
    pub names: Names,
}

/// All sessions of a recording.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// In file order; the first starts at 0.
    pub all: Vec<Arc<Session>>,
    /// What was found out from the records, if nobody told.
    pub inferred: Option<Inferred>,
}

impl Sessions {
    /// Puts the facts together.
    #[must_use]
    pub fn new(facts: &ScanFacts, told: &Told) -> Sessions {
        let mut starts = Starts::of(facts, told.version);
        let known: Option<TargetInfo> = starts.0.iter().find_map(|start| start.info);
        let inferred = match known {
            Some(_) => None,
            None => facts.evidence.as_ref().and_then(|evidence| evidence.infer(None, told_version(told))),
        };
        let session = |start| Arc::new(session_of(start, known, told, inferred.as_ref()));
        let all: Vec<Arc<Session>> = starts.0.drain(..).map(session).collect();
        let mut sessions = Sessions { all, inferred };
        sessions.name(facts, told);
        sessions
    }

    /// What the decoder needs.
    #[must_use]
    pub fn segments(&self) -> Vec<Segment> {
        let segment = |(index, session): (usize, &Arc<Session>)| Segment {
            start: session.start,
            layout: session.layout.clone(),
            session: index as u32,
        };
        self.all.iter().enumerate().map(segment).collect()
    }

    fn name(&mut self, facts: &ScanFacts, told: &Told) {
        let mut index = 0;
        for entry in &facts.metadata {
            while self.all.get(index + 1).is_some_and(|next| next.start <= entry.offset) {
                index += 1;
            }
            let Some(session) = self.all.get_mut(index) else { return };
            let layout = session.layout.clone();
            let data = facts.bytes(entry.data);
            let mut body = vec![0, entry.id];
            body.extend_from_slice(data);
            body.push(0);
            let Ok(record) = super::decode::verify(&layout, &body) else { continue };
            if record.kind != Kind::TargetInfo {
                Arc::make_mut(session).names.learn(record.kind, &layout, data);
            }
        }
        if let Some(dictionary) = &told.dictionary {
            self.all.iter_mut().for_each(|session| Arc::make_mut(session).names.fill_from(&dictionary.names));
        }
    }
}

fn told_version(told: &Told) -> Option<u16> {
    told.dictionary.as_ref().and_then(|dictionary| dictionary.version).or(told.version)
}

/// Where a session starts, and what the target told.
#[derive(Clone, Copy)]
struct Start {
    offset: u64,
    info: Option<TargetInfo>,
}

struct Starts(Vec<Start>);

impl Starts {
    fn of(facts: &ScanFacts, version: Option<u16>) -> Starts {
        let mut starts = vec![Start { offset: 0, info: None }];
        // What comes before the first sound frame belongs to the first session.
        let begins_at = facts.first_frame.unwrap_or(0);
        let empty_is_reset = version.is_some_and(|version| version < 550);
        for entry in &facts.metadata {
            if starts.len() >= SESSIONS_LIMIT {
                break;
            }
            if entry.id == 0 && empty_is_reset && entry.offset > begins_at {
                starts.push(Start { offset: entry.offset, info: None });
            }
            if entry.id != 64 {
                continue;
            }
            let Some(info) = TargetInfo::read(facts.bytes(entry.data)) else { continue };
            let offset = entry.empty_before.unwrap_or(entry.offset);
            let Some(last) = starts.last_mut() else { break };
            let is_same = last.info.is_some_and(|known| known.config() == info.config() && known.build == info.build);
            if info.is_reset && entry.offset > begins_at {
                starts.push(Start { offset, info: Some(info) });
            } else if last.info.is_none() {
                // Late, but it holds for the whole session.
                last.info = Some(info);
            } else if !is_same {
                starts.push(Start { offset, info: Some(info) });
            }
        }
        Starts(starts)
    }
}

fn session_of(start: Start, known: Option<TargetInfo>, told: &Told, inferred: Option<&Inferred>) -> Session {
    let mut config = Config::new(Sizes::default(), inferred.map_or(740, |inferred| inferred.config.version));
    let mut sizes_from = [Source::Default; 9];
    let mut version_from = if inferred.is_some() { Source::Inferred } else { Source::Default };
    let told_by = start.info.map(|info| (info, Source::Target)).or(known.map(|info| (info, Source::OtherSession)));
    if let Some((info, from)) = told_by {
        config = info.config();
        version_from = from;
        for (place, nibble) in sizes_from.iter_mut().zip(info.nibbles) {
            *place = if nibble == 0 { Source::Default } else { from };
        }
    } else {
        let dictionary = told.dictionary.as_deref();
        let inferred_sizes = inferred.map(|inferred| {
            let letters = Sizes::LETTERS.into_iter().zip(inferred.config.sizes.all());
            letters.filter(|(letter, _)| !inferred.open.contains(letter) && *letter != 'B').collect::<Vec<_>>()
        });
        // From the least to the most trusted.
        let layers = [
            (inferred_sizes.as_deref().unwrap_or(&[]), Source::Inferred),
            (told.sizes.as_slice(), Source::Option),
            (dictionary.map_or(&[][..], |dictionary| dictionary.sizes.as_slice()), Source::File),
        ];
        for (sizes, from) in layers {
            for &(letter, size) in sizes {
                let index = Sizes::LETTERS.iter().position(|&other| other == letter);
                if let (Some(place), Some(index)) = (config.sizes.get_mut(letter), index) {
                    *place = size;
                    if let Some(place) = sizes_from.get_mut(index) {
                        *place = from;
                    }
                }
            }
        }
        let version = [(told.version, Source::Option), (dictionary.and_then(|dictionary| dictionary.version), Source::File)];
        for (version, from) in version {
            if let Some(version) = version {
                config = Config::new(config.sizes, version);
                version_from = from;
            }
        }
    }
    Session {
        start: start.offset,
        info: start.info,
        layout: Arc::new(Layout::new(config)),
        sizes_from,
        version_from,
        names: Names::default(),
    }
}
