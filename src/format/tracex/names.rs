//! The names of events and of their information fields: those of ThreadX, FileX, NetX Duo and USBX, and those that a file gives to user
//! events.

use rustc_hash::FxHashMap;

/// The documented events, one a line: id, name, and names of fields (`-`: not used).
const DOCUMENTED: &str = include_str!("events.txt");

/// The first event that is the application's own.
pub const FIRST_OF_USER: u32 = 4096;

/// The last event.
pub const LAST: u32 = 65535;

/// The ids of the events that mean something to the timeline.
#[allow(missing_docs)]
pub mod id {
    pub const THREAD_RESUME: u32 = 1;
    pub const THREAD_SUSPEND: u32 = 2;
    pub const ISR_ENTER: u32 = 3;
    pub const ISR_EXIT: u32 = 4;
    pub const TIME_SLICE: u32 = 5;
    pub const RUNNING: u32 = 6;
    pub const BLOCK_ALLOCATE: u32 = 10;
    pub const BLOCK_POOL_CREATE: u32 = 11;
    pub const BLOCK_RELEASE: u32 = 17;
    pub const BYTE_ALLOCATE: u32 = 20;
    pub const BYTE_POOL_CREATE: u32 = 21;
    pub const BYTE_RELEASE: u32 = 27;
    pub const EVENT_FLAGS_CREATE: u32 = 30;
    pub const EVENT_FLAGS_GET: u32 = 32;
    pub const EVENT_FLAGS_SET: u32 = 36;
    pub const MUTEX_DELETE: u32 = 51;
    pub const MUTEX_GET: u32 = 52;
    pub const MUTEX_PUT: u32 = 57;
    pub const QUEUE_CREATE: u32 = 60;
    pub const QUEUE_DELETE: u32 = 61;
    pub const QUEUE_FLUSH: u32 = 62;
    pub const QUEUE_FRONT_SEND: u32 = 63;
    pub const QUEUE_RECEIVE: u32 = 68;
    pub const QUEUE_SEND: u32 = 69;
    pub const SEMAPHORE_CEILING_PUT: u32 = 80;
    pub const SEMAPHORE_CREATE: u32 = 81;
    pub const SEMAPHORE_DELETE: u32 = 82;
    pub const SEMAPHORE_GET: u32 = 83;
    pub const SEMAPHORE_PUT: u32 = 88;
    pub const THREAD_CREATE: u32 = 100;
    pub const THREAD_DELETE: u32 = 101;
    pub const THREAD_PREEMPTION_CHANGE: u32 = 107;
    pub const THREAD_PRIORITY_CHANGE: u32 = 108;
    pub const THREAD_RELINQUISH: u32 = 109;
    pub const THREAD_RESET: u32 = 110;
    pub const THREAD_RESUME_API: u32 = 111;
    pub const THREAD_SLEEP: u32 = 112;
    pub const THREAD_SUSPEND_API: u32 = 114;
    pub const THREAD_TERMINATE: u32 = 115;
    pub const TIMER_ACTIVATE: u32 = 122;
    pub const TIMER_CHANGE: u32 = 123;
    pub const TIMER_CREATE: u32 = 124;
    pub const TIMER_DEACTIVATE: u32 = 125;
    pub const TIMER_DELETE: u32 = 126;

    /// Whether a thread or an object is created.
    #[must_use]
    pub const fn is_creation(id: u32) -> bool {
        matches!(
            id,
            BLOCK_POOL_CREATE
                | BYTE_POOL_CREATE
                | EVENT_FLAGS_CREATE
                | 50
                | QUEUE_CREATE
                | SEMAPHORE_CREATE
                | THREAD_CREATE
                | TIMER_CREATE
        )
    }

    /// Whether a thread or an object is deleted.
    #[must_use]
    pub const fn is_deletion(id: u32) -> bool {
        matches!(id, 12 | 22 | 31 | MUTEX_DELETE | QUEUE_DELETE | SEMAPHORE_DELETE | THREAD_DELETE | TIMER_DELETE)
    }

    /// Whether the threads that wait are put in another order, also within another call.
    #[must_use]
    pub const fn is_prioritize(id: u32) -> bool {
        matches!(id, 16 | 26 | 56 | 67 | 87)
    }
}

/// The names of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNames {
    /// Its name.
    pub name: String,
    /// The names of its fields; an empty one is not used.
    pub fields: Vec<String>,
}

/// The names of all events.
#[derive(Clone, Debug)]
pub struct Names {
    events: FxHashMap<u32, EventNames>,
    /// The files with names, each with the user events that it names.
    files: Vec<(String, Vec<u32>)>,
}

impl Default for Names {
    fn default() -> Names {
        let events = DOCUMENTED.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (id, name) = (words.next()?.parse().ok()?, words.next()?.to_owned());
            let fields = words.map(|field| if field == "-" { String::new() } else { field.to_owned() }).collect();
            Some((id, EventNames { name, fields }))
        });
        Names { events: events.collect(), files: Vec::new() }
    }
}

impl Names {
    /// Adds the user events of a `.trxc` file. Returns how many it names.
    pub fn add_file(&mut self, path: &str, text: &str) -> usize {
        let lines = text.lines().map(str::trim).skip_while(|line| !line.eq_ignore_ascii_case("start")).skip(1);
        let found: Vec<_> = lines.take_while(|line| !line.eq_ignore_ascii_case("end")).filter_map(event_of).collect();
        let count = found.len();
        self.files.push((path.to_owned(), found.iter().map(|(id, _)| *id).collect()));
        self.events.extend(found);
        count
    }

    /// The files with names of which none belongs to an event that occurs, each with the number of its names.
    pub fn unused_files(&self, occurs: impl Fn(u32) -> bool) -> impl Iterator<Item = (&str, usize)> {
        let is_unused = move |ids: &[u32]| !ids.iter().any(|&id| occurs(id));
        self.files.iter().filter(move |(_, ids)| is_unused(ids)).map(|(path, ids)| (path.as_str(), ids.len()))
    }

    /// The names of an event, if it has any.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&EventNames> {
        self.events.get(&id)
    }

    /// The name of an event.
    #[must_use]
    pub fn name(&self, id: u32) -> String {
        match self.get(id) {
            Some(event) => event.name.clone(),
            None if id >= FIRST_OF_USER => format!("user_event_{id}"),
            None => format!("event_{id}"),
        }
    }

    /// The component that an event belongs to.
    #[must_use]
    pub fn component(id: u32) -> &'static str {
        match id {
            200..300 => "FileX",
            300..600 => "NetX",
            600..1000 => "USBX",
            FIRST_OF_USER.. => "user",
            _ => "ThreadX",
        }
    }
}

/// The event of a line: number, name, abbreviation, two colours in parentheses, and names of fields.
fn event_of(line: &str) -> Option<(u32, EventNames)> {
    let mut is_inside = false;
    let mut items = line.split(|c: char| {
        is_inside = (is_inside || c == '(') && c != ')';
        c == ',' && !is_inside
    });
    let id = items.next()?.trim().parse().ok().filter(|id| (FIRST_OF_USER..=LAST).contains(id))?;
    let name = items.next()?.trim().to_owned();
    let fields = items.skip(3).take(4).map(|field| field.trim().to_owned()).collect();
    (!name.is_empty()).then_some((id, EventNames { name, fields }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_events_have_names_and_fields() {
        let names = Names::default();
        assert_eq!(names.events.len(), DOCUMENTED.lines().count());
        assert_eq!(names.events[&id::QUEUE_SEND].fields, ["queue", "source", "wait_option", "enqueued"]);
        assert_eq!(
            (names.name(id::QUEUE_SEND), names.name(7), names.name(5000)),
            ("tx_queue_send".into(), "event_7".into(), "user_event_5000".into())
        );
        assert!(names.events.values().all(|event| event.fields.len() <= 4));
    }

    #[test]
    fn files_name_user_events() {
        let mut names = Names::default();
        let file = "// Comment\nStart\n4096, Sample, SA, (0,0,0), (255, 0, 0), channel, value\n7, no, no\n4097,Bare\nEnd\n4098, late, la\n";
        assert_eq!(names.add_file("a.trxc", file), 2);
        assert_eq!(names.get(4096), Some(&EventNames { name: "Sample".into(), fields: vec!["channel".into(), "value".into()] }));
        assert_eq!((names.name(4097), names.name(4098)), ("Bare".into(), "user_event_4098".into()));
        // A second file may name them again.
        assert_eq!(names.add_file("b.trxc", "Start\n4097,Full\nEnd"), 1);
        assert_eq!(names.name(4097), "Full");
        assert_eq!(names.add_file("c.trxc", "no events"), 0);
    }
}
