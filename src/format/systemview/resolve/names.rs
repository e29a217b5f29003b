//! The names of things in each session, and the lives of tasks.
//!
//! A name is valid for its whole session, also before it was said: after a restart another program may run, with other names for the same ids.
//! In a session the last name is taken, or that of the session before. But a task that is created again with another name is another task: its id
//! has several *lives*. So it is, without that, if packets are missing between the two names: kernels do not change the names of tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::scan::{Name, Named, Setup, Use};

/// A name, from where to where it was said, and where a task of this name was created if another one had the id before.
struct Said {
    first: u64,
    last: u64,
    text: Arc<str>,
    begins: Option<u64>,
}

/// The names in an input.
struct InputNames {
    /// Where each session begins.
    starts: Vec<u64>,
    /// In file order.
    names: BTreeMap<(Named, u32), Vec<Said>>,
}

/// All names of a recording.
pub struct Names(Vec<InputNames>);

/// Where lives begin, in file order, with the ids of their tasks.
pub type Lives = std::iter::Peekable<std::vec::IntoIter<(u64, u32)>>;

/// The names of a thing. `unnamed`: where it was used before the first one, as another task whose name is not recorded. `has_gaps`: whether missing
/// packets between two names make them those of two tasks.
fn said(kind: Named, names: &[Name], unnamed: Option<u64>, has_gaps: bool) -> Vec<Said> {
    let mut all: Vec<Said> = unnamed.map(|at| Said { first: at, last: at, text: "".into(), begins: None }).into_iter().collect();
    // Where the present life begins among these.
    let mut life = 0;
    // The name of the life before it.
    let mut before: Option<Arc<str>> = None;
    let mut end_life = |all: &mut Vec<Said>, life: usize| {
        let text = all.last().map(|last| last.text.clone());
        if let Some(first) = all.get_mut(life).filter(|_| text == before) {
            first.begins = None;
        }
        before = text;
    };
    for name in names {
        let last = all.last().map(|last| last.last);
        let is_between = |&at: &u64| kind == Named::Task && last.is_some_and(|last| last < at);
        let gap = name.gap.filter(|_| has_gaps);
        let begins = name.created.filter(is_between).or(gap.filter(is_between));
        if begins.is_some() {
            end_life(&mut all, life);
            life = all.len();
        }
        let text = String::from_utf8_lossy(&name.text).into();
        all.push(Said { first: name.first, last: name.last, text, begins });
    }
    end_life(&mut all, life);
    all
}

impl InputNames {
    fn new(setup: &Setup) -> InputNames {
        let facts = &setup.facts;
        let starts: Vec<u64> = std::iter::once(0).chain(setup.restarts().map(|start| start.offset)).collect();
        let session = |at: u64| starts.partition_point(|&start| start <= at);
        let said = |(&(kind, id), names): (&(Named, u32), &Vec<Name>)| {
            let used = facts.tasks.get(&id).filter(|_| kind == Named::Task).map(|&Use { first, .. }| first);
            let created = names.first().and_then(|name| name.created);
            let unnamed = used.zip(created).filter(|&(used, created)| used < created && session(used) == session(created));
            ((kind, id), said(kind, names, unnamed.map(|(used, _)| used), facts.damaged == 0))
        };
        let names = facts.names.iter().map(said).collect();
        InputNames { starts, names }
    }

    /// The names of a thing that were said before the end of a session, and how many of them before it.
    fn until(&self, key: (Named, u32), session: u32) -> (&[Said], usize) {
        let said = self.names.get(&key).map_or(&[][..], Vec::as_slice);
        let session = session as usize;
        let start = self.starts.get(session).copied().unwrap_or(u64::MAX);
        let end = self.starts.get(session.saturating_add(1)).copied().unwrap_or(u64::MAX);
        let until = said.get(..said.partition_point(|one| one.first < end)).unwrap_or(&[]);
        (until, until.partition_point(|one| one.last < start))
    }

    /// Those that were said in a session, with the number of the life.
    fn within(&self, key: (Named, u32), session: u32) -> impl Iterator<Item = (u32, &Said)> {
        let (until, before) = self.until(key, session);
        let mut life = 0;
        until.get(before..).unwrap_or(&[]).iter().enumerate().map(move |(index, said)| {
            life += u32::from(index > 0 && said.begins.is_some());
            (life, said)
        })
    }

    fn lives(&self) -> Lives {
        let mut begins = Vec::new();
        for (&(_, id), said) in &self.names {
            for (one, next) in said.iter().zip(said.iter().skip(1)) {
                let session = self.starts.partition_point(|&start| start <= next.first);
                let start = session.checked_sub(1).and_then(|session| self.starts.get(session)).copied().unwrap_or(0);
                begins.extend(next.begins.filter(|_| one.last >= start).map(|begins| (begins, id)));
            }
        }
        begins.sort_unstable();
        begins.into_iter().peekable()
    }
}

impl Names {
    pub fn new(setups: &[Setup]) -> Names {
        Names(setups.iter().map(InputNames::new).collect())
    }

    /// The name of a thing in a session, in one of its lives.
    pub fn get(&self, kind: Named, id: u32, session: u32, life: u32) -> Option<Arc<str>> {
        let key = (kind, id);
        let within =
            |input: &InputNames| input.within(key, session).filter(|one| one.0 == life).last().map(|one| one.1.text.clone());
        let before = |input: &InputNames| input.until(key, session).0.last().map(|one| one.text.clone());
        let any = |input: &InputNames| Some(input.names.get(&key)?.first()?.text.clone());
        let all = || self.0.iter();
        all().find_map(within).or_else(|| all().find_map(before)).or_else(|| all().find_map(any))
    }

    /// How many tasks have this id in a session, one after the other.
    pub fn lives(&self, task: u32, session: u32) -> u32 {
        let last = |input: &InputNames| input.within((Named::Task, task), session).last().map_or(0, |one| one.0);
        1 + self.0.iter().map(last).max().unwrap_or(0)
    }

    /// Where lives begin in an input.
    pub fn lives_of_input(&self, input: usize) -> Lives {
        self.0.get(input).map(InputNames::lives).unwrap_or_else(|| Vec::new().into_iter().peekable())
    }

    /// The ids of the things of a kind that have a name.
    pub fn ids(&self, kind: Named) -> Vec<u32> {
        let keys = self.0.iter().flat_map(|input| input.names.keys());
        let mut ids: Vec<u32> = keys.filter(|key| key.0 == kind).map(|key| key.1).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
