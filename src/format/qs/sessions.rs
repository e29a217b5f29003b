//! From the facts of the first pass to sessions: the start, configuration and names of each, and their sources.

use std::sync::Arc;

use super::decode::{Segment, is_valid};
use super::dic::Dictionary;
use super::infer::Inferred;
use super::info::TargetInfo;
use super::layout::{Config, Layout, Sizes};
use super::names::Names;
use super::pieces::CopiedPieces;
use super::record::{Field, Kind};
use super::scan::ScanFacts;
use crate::clock::SESSIONS_LIMIT;
use crate::format::program::{ElfFile, NamedFunctions};
use crate::model::Certainty;

/// The user's options for the target.
#[derive(Clone, Debug, Default)]
pub struct TargetOptions {
    /// Letters and sizes.
    pub sizes: Vec<(char, u8)>,
    /// The version of QP.
    pub version: Option<u16>,
    /// A dictionary file.
    pub dictionary: Option<Arc<Dictionary>>,
    /// The program that ran.
    pub program: Option<ElfFile>,
    /// Whether no other program is taken.
    pub is_match_required: bool,
}

/// The source of a fact, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A TARGET_INFO record of the session.
    Target,
    /// A TARGET_INFO record of another session in the recording.
    OtherSession,
    /// A dictionary file.
    File,
    /// An option.
    Option,
    /// The records.
    Inferred,
    /// No source: the default.
    Default,
}

impl Source {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Source::Target => "recorded in the capture",
            Source::OtherSession => "recorded in another session of the capture",
            Source::File => "given by an option: the dictionary file",
            Source::Option => "given by an option",
            Source::Inferred => "inferred from the records",
            Source::Default => "assumed",
        }
    }

    /// The evidence for a fact, for people.
    #[must_use]
    pub fn evidence(self) -> &'static str {
        if self == Source::Default { "no record says it" } else { self.text() }
    }

    /// How sure it makes the fact.
    #[must_use]
    pub fn certainty(self) -> Certainty {
        match self {
            Source::Target | Source::OtherSession | Source::File | Source::Option => Certainty::Known,
            Source::Inferred => Certainty::Inferred,
            Source::Default => Certainty::Assumed,
        }
    }
}

/// A session of the target, from one reset to the next.
#[derive(Clone, Debug)]
pub struct Session {
    /// Where it starts in the input, in bytes.
    pub start: u64,
    /// The content of its TARGET_INFO record.
    pub info: Option<TargetInfo>,
    /// The layout of its records.
    pub layout: Arc<Layout>,
    /// The source of each size, in the order of [`Sizes::LETTERS`].
    pub size_sources: [Source; 9],
    /// The source of the version.
    pub version_source: Source,
    /// The names from its dictionaries.
    pub names: Names,
    /// Priorities and the addresses of their active objects, as far as they are known before their first event.
    pub priorities: Vec<(u8, u64)>,
}

/// All sessions of a recording.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// In file order; the first starts at 0.
    pub all: Vec<Arc<Session>>,
    /// The configuration inferred from the records, if it was not recorded.
    pub inferred: Option<Inferred>,
    /// Copies of pieces of the recording in which the target starts up.
    pub copies: CopiedPieces,
    /// The functions that dictionaries name, looked up in the program.
    pub named_functions: NamedFunctions,
}

impl Sessions {
    /// Makes the sessions of a recording.
    #[must_use]
    pub fn new(facts: &ScanFacts, options: &TargetOptions) -> Sessions {
        let starts = starts(facts);
        let known: Option<TargetInfo> = starts.iter().find_map(|start| start.info);
        let inferred = match known {
            Some(_) => None,
            None => facts.evidence.as_ref().and_then(|evidence| evidence.infer(None, given_version(options))),
        };
        let session = |start| Arc::new(session_of(start, known, options, inferred.as_ref()));
        let all: Vec<Arc<Session>> = starts.into_iter().map(session).collect();
        let (copies, named_functions) = (facts.copies.clone(), NamedFunctions::default());
        let mut sessions = Sessions { all, inferred, copies, named_functions };
        sessions.add_names(facts, options);
        sessions.add_priorities(facts);
        sessions
    }

    /// The number of the session at a place.
    #[must_use]
    pub fn at(&self, offset: u64) -> usize {
        self.all.partition_point(|session| session.start <= offset).saturating_sub(1)
    }

    /// The segments for the decoder.
    #[must_use]
    pub fn segments(&self) -> Vec<Segment> {
        let segment = |(index, session): (usize, &Arc<Session>)| Segment {
            start: session.start,
            layout: session.layout.clone(),
            session: index as u32,
        };
        self.all.iter().enumerate().map(segment).collect()
    }

    fn add_priorities(&mut self, facts: &ScanFacts) {
        for &(priority, get) in &facts.first_gets {
            let index = self.at(get.offset);
            let Some(session) = self.all.get_mut(index) else { continue };
            let data = facts.bytes(get.data);
            let kind = if get.id == 16 { Kind::Get } else { Kind::GetLast };
            let object = session.layout.fields(kind, data).uint(Field::Ao);
            Arc::make_mut(session).priorities.push((priority, object));
        }
    }

    fn add_names(&mut self, facts: &ScanFacts, options: &TargetOptions) {
        for entry in &facts.metadata {
            let index = self.at(entry.offset);
            let Some(session) = self.all.get_mut(index) else { return };
            let layout = session.layout.clone();
            let data = facts.bytes(entry.data);
            // Records that name nothing are ignored.
            if let Some(record) = layout.of_id(entry.id).filter(|record| is_valid(&layout, record, data)) {
                Arc::make_mut(session).names.learn(record.kind, &layout, data);
            }
        }
        if let Some(dictionary) = &options.dictionary {
            self.all.iter_mut().for_each(|session| Arc::make_mut(session).names.fill_from(&dictionary.names));
        }
        if let Some(program) = &options.program {
            self.use_program(program);
        }
    }

    /// Names the others by the program, unless it is another one than the one that ran in the session. Sessions without
    /// named functions are judged by all others.
    fn use_program(&mut self, program: &ElfFile) {
        let found: Vec<NamedFunctions> = self.all.iter().map(|session| session.names.look_up(&program.symbols)).collect();
        found.iter().for_each(|one| self.named_functions.append(one));
        for (session, own) in self.all.iter_mut().zip(&found) {
            let judged = if own.is_empty() { &self.named_functions } else { own };
            if judged.contradiction().is_none() {
                Arc::make_mut(session).names.use_program(&program.symbols);
            }
        }
    }
}

fn given_version(options: &TargetOptions) -> Option<u16> {
    options.dictionary.as_ref().and_then(|dictionary| dictionary.version).or(options.version)
}

/// The start of a session, and its TARGET_INFO.
#[derive(Clone, Copy)]
struct Start {
    offset: u64,
    info: Option<TargetInfo>,
}

fn starts(facts: &ScanFacts) -> Vec<Start> {
    let mut starts = vec![Start { offset: 0, info: None }];
    // Bytes before the first valid frame belong to the first session.
    let begins_at = facts.first_frame.unwrap_or(0);
    for entry in facts.metadata.iter().filter(|entry| facts.copies.end_at(entry.offset).is_none()) {
        if starts.len() >= SESSIONS_LIMIT as usize {
            break;
        }
        // The TARGET_INFO after it may be lost, and old targets send none.
        if entry.id == 0 && entry.offset > begins_at {
            starts.push(Start { offset: entry.offset, info: None });
        }
        if entry.id != 64 {
            continue;
        }
        let Some(info) = TargetInfo::read(facts.bytes(entry.data)) else { continue };
        let offset = entry.empty_before.unwrap_or(entry.offset);
        let Some(last) = starts.last_mut() else { break };
        let is_same = last.info.is_some_and(|known| known.config() == info.config() && known.build == info.build);
        if info.is_reset && entry.offset > begins_at && offset != last.offset {
            starts.push(Start { offset, info: Some(info) });
        } else if last.info.is_none() {
            // Late, but valid for the whole session.
            last.info = Some(info);
        } else if !is_same {
            starts.push(Start { offset, info: Some(info) });
        }
    }
    starts
}

fn session_of(start: Start, known: Option<TargetInfo>, options: &TargetOptions, inferred: Option<&Inferred>) -> Session {
    let mut config = Config::new(Sizes::default(), inferred.map_or(740, |inferred| inferred.config.version));
    let mut size_sources = [Source::Default; 9];
    let mut version_source = if inferred.is_some() { Source::Inferred } else { Source::Default };
    let reported = start.info.map(|info| (info, Source::Target)).or(known.map(|info| (info, Source::OtherSession)));
    if let Some((info, from)) = reported {
        config = info.config();
        version_source = from;
        for (place, nibble) in size_sources.iter_mut().zip(info.nibbles) {
            *place = if nibble == 0 { Source::Default } else { from };
        }
    } else {
        let dictionary = options.dictionary.as_deref();
        let inferred_sizes = inferred.map(|inferred| {
            let letters = Sizes::LETTERS.into_iter().zip(inferred.config.sizes.all());
            letters.filter(|(letter, _)| !inferred.open.contains(letter) && *letter != 'B').collect::<Vec<_>>()
        });
        // From the least to the most trusted.
        let layers = [
            (inferred_sizes.as_deref().unwrap_or(&[]), Source::Inferred),
            (options.sizes.as_slice(), Source::Option),
            (dictionary.map_or(&[][..], |dictionary| dictionary.sizes.as_slice()), Source::File),
        ];
        for (sizes, from) in layers {
            for &(letter, size) in sizes {
                if let (Some(place), Some(index)) = (config.sizes.get_mut(letter), Sizes::index(letter)) {
                    (*place, size_sources[index]) = (size, from);
                }
            }
        }
        let version = [(options.version, Source::Option), (dictionary.and_then(|dictionary| dictionary.version), Source::File)];
        for (version, from) in version {
            if let Some(version) = version {
                config = Config::new(config.sizes, version);
                version_source = from;
            }
        }
    }
    Session {
        start: start.offset,
        info: start.info,
        layout: Arc::new(Layout::new(config)),
        size_sources,
        version_source,
        names: Names::default(),
        priorities: Vec::new(),
    }
}
