//! The table of records: what each is called, which versions of QP send it under which id, and its fields in the order of the wire.
//!
//! This is a table. Its source is the target's code from QP 4.0 to 8.1.5 and the host parser `qspy`; names are those of the QS
//! reference manual without their prefix `QS_`.

/// What a field is on the wire: fixes its width, or has it fixed by the target's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A time stamp.
    Time,
    /// The address of an object: state machine, active object, queue, pool, time event, mutex. 0 is none.
    Object,
    /// The address of a function: a state handler, mostly. 0 is none.
    Function,
    /// A signal whose object is field number `.0` of the record; no field of that number: not told.
    Signal(u8),
    /// The size of an event, in bytes.
    EventSize,
    /// A number of places of an event queue.
    QueueCounter,
    /// A number of blocks of a memory pool.
    PoolCounter,
    /// A number of clock ticks.
    TimeCounter,
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// A text that ends with a zero. Always the last field.
    Text,
    /// Whatever else there is: what it means depends on the fields before it. Always the last field.
    Rest,
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub code: Code,
    /// The first QP version that sends it, e.g. 420 for 4.2.0.
    pub from: u16,
    /// The first QP version that no longer sends it.
    pub until: u16,
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Which one.
    pub kind: Kind,
    /// Its id.
    pub id: u8,
    /// Its name.
    pub name: &'static str,
    /// The first QP version that sends it.
    pub from: u16,
    /// The first QP version that no longer sends it under this id and in this form.
    pub until: u16,
    /// Its fields.
    pub fields: &'static [Field],
}

/// No version is as high.
pub const NEVER: u16 = u16::MAX;

/// A signal whose object the record does not tell.
const NO_OBJECT: u8 = u8::MAX;

macro_rules! code {
    (time) => {
        Code::Time
    };
    (object) => {
        Code::Object
    };
    (function) => {
        Code::Function
    };
    (signal) => {
        Code::Signal(NO_OBJECT)
    };
    (signal_of $object:literal) => {
        Code::Signal($object)
    };
    (event_size) => {
        Code::EventSize
    };
    (queue) => {
        Code::QueueCounter
    };
    (pool) => {
        Code::PoolCounter
    };
    (ticks) => {
        Code::TimeCounter
    };
    (u8) => {
        Code::U8
    };
    (u16) => {
        Code::U16
    };
    (u32) => {
        Code::U32
    };
    (text) => {
        Code::Text
    };
    (rest) => {
        Code::Rest
    };
}

macro_rules! bound {
    ($default:expr) => {
        $default
    };
    ($default:expr, $version:literal) => {
        $version
    };
}

macro_rules! records {
    ($($kind:ident $name:literal = $id:literal [$($from:literal)? .. $($until:literal)?]
        { $($field:ident: $code:ident $($object:literal)? $(since $since:literal)? $(before $before:literal)?),* })*) => {
        /// Which record. The same id may be another record in another version of QP.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind { $($kind,)* }

        /// All records, by [`Kind`].
        pub static SPECS: &[Spec] = &[$(Spec {
            kind: Kind::$kind,
            id: $id,
            name: $name,
            from: bound!(0 $(, $from)?),
            until: bound!(NEVER $(, $until)?),
            fields: &[$(Field {
                name: stringify!($field),
                code: code!($code $($object)?),
                from: bound!(0 $(, $since)?),
                until: bound!(NEVER $(, $before)?),
            }),*],
        }),*];
    };
}

records! {
    Empty "EMPTY" = 0 [..] {}
    StateEntry "QEP_STATE_ENTRY" = 1 [..] { obj: object, state: function }
    StateExit "QEP_STATE_EXIT" = 2 [..] { obj: object, state: function }
    StateInit "QEP_STATE_INIT" = 3 [..] { obj: object, source: function, target: function }
    InitTran "QEP_INIT_TRAN" = 4 [..] { time: time, obj: object, state: function }
    InternTran "QEP_INTERN_TRAN" = 5 [..] { time: time, sig: signal_of 2, obj: object, source: function }
    Tran "QEP_TRAN" = 6 [..] { time: time, sig: signal_of 2, obj: object, source: function, target: function }
    Ignored "QEP_IGNORED" = 7 [..] { time: time, sig: signal_of 2, obj: object, state: function }
    Dispatch "QEP_DISPATCH" = 8 [..] { time: time, sig: signal_of 2, obj: object, state: function }
    Unhandled "QEP_UNHANDLED" = 9 [..] { sig: signal_of 1, obj: object, state: function }
    Defer "QF_ACTIVE_DEFER" = 10 [620..]
        { time: time, ao: object, queue: object, sig: signal_of 1, pool: u8, ref_ctr: u8 }
    ActiveAdd "QF_ACTIVE_ADD" = 10 [..620] { time: time, ao: object, prio: u8 }
    Recall "QF_ACTIVE_RECALL" = 11 [620..]
        { time: time, ao: object, queue: object, sig: signal_of 1, pool: u8, ref_ctr: u8 }
    ActiveRemove "QF_ACTIVE_REMOVE" = 11 [..620] { time: time, ao: object, prio: u8 }
    Subscribe "QF_ACTIVE_SUBSCRIBE" = 12 [..] { time: time, sig: signal_of 2, ao: object }
    Unsubscribe "QF_ACTIVE_UNSUBSCRIBE" = 13 [..] { time: time, sig: signal_of 2, ao: object }
    Post "QF_ACTIVE_POST" = 14 [..]
        { time: time, sender: object since 420, sig: signal_of 3, ao: object, pool: u8 since 420, ref_ctr: u8, free: queue,
          min: queue }
    PostLifo "QF_ACTIVE_POST_LIFO" = 15 [..]
        { time: time, sig: signal_of 2, ao: object, pool: u8 since 420, ref_ctr: u8, free: queue, min: queue }
    Get "QF_ACTIVE_GET" = 16 [..] { time: time, sig: signal_of 2, ao: object, pool: u8 since 420, ref_ctr: u8, free: queue }
    GetLast "QF_ACTIVE_GET_LAST" = 17 [..] { time: time, sig: signal_of 2, ao: object, pool: u8 since 420, ref_ctr: u8 }
    RecallAttempt "QF_ACTIVE_RECALL_ATTEMPT" = 18 [620..] { time: time, ao: object, queue: object }
    QueueInit "QF_EQUEUE_INIT" = 18 [..620] { queue: object, length: queue }
    QueuePost "QF_EQUEUE_POST" = 19 [..]
        { time: time, sig: signal_of 2, queue: object, pool: u8 since 420, ref_ctr: u8, free: queue, min: queue }
    QueuePostLifo "QF_EQUEUE_POST_LIFO" = 20 [..]
        { time: time, sig: signal_of 2, queue: object, pool: u8 since 420, ref_ctr: u8, free: queue, min: queue }
    QueueGet "QF_EQUEUE_GET" = 21 [..]
        { time: time, sig: signal_of 2, queue: object, pool: u8 since 420, ref_ctr: u8, free: queue }
    QueueGetLast "QF_EQUEUE_GET_LAST" = 22 [..] { time: time, sig: signal_of 2, queue: object, pool: u8 since 420, ref_ctr: u8 }
    NewAttempt "QF_NEW_ATTEMPT" = 23 [691..] { time: time, size: event_size, sig: signal }
    PoolInit "QF_MPOOL_INIT" = 23 [..620] { obj: object, blocks: pool }
    PoolGet "QF_MPOOL_GET" = 24 [..] { time: time, obj: object, free: pool, min: pool }
    PoolPut "QF_MPOOL_PUT" = 25 [..] { time: time, obj: object, free: pool }
    Publish "QF_PUBLISH" = 26 [..] { time: time, sender: object since 420, sig: signal, pool: u8 since 420, ref_ctr: u8 }
    NewRef "QF_NEW_REF" = 27 [620..] { time: time, sig: signal, pool: u8, ref_ctr: u8 }
    New "QF_NEW" = 28 [..] { time: time, size: event_size, sig: signal }
    GcAttempt "QF_GC_ATTEMPT" = 29 [..] { time: time, sig: signal, pool: u8 since 420, ref_ctr: u8 }
    Gc "QF_GC" = 30 [..] { time: time, sig: signal, pool: u8 since 420, ref_ctr: u8 }
    Tick "QF_TICK" = 31 [..] { count: ticks, rate: u8 since 500 }
    TimeArm "QF_TIMEEVT_ARM" = 32 [..]
        { time: time, te: object, ao: object, ticks: ticks, interval: ticks, rate: u8 since 500 }
    TimeAutoDisarm "QF_TIMEEVT_AUTO_DISARM" = 33 [..] { te: object, ao: object, rate: u8 since 500 }
    TimeDisarmAttempt "QF_TIMEEVT_DISARM_ATTEMPT" = 34 [..] { time: time, te: object, ao: object, rate: u8 since 500 }
    TimeDisarm "QF_TIMEEVT_DISARM" = 35 [..]
        { time: time, te: object, ao: object, ticks: ticks, interval: ticks, rate: u8 since 500 }
    TimeRearm "QF_TIMEEVT_REARM" = 36 [..]
        { time: time, te: object, ao: object, ticks: ticks, interval: ticks, rate: u8 since 500, was_armed: u8 }
    TimePost "QF_TIMEEVT_POST" = 37 [..] { time: time, te: object, sig: signal_of 3, ao: object, rate: u8 since 500 }
    DeleteRef "QF_DELETE_REF" = 38 [620..] { time: time, sig: signal, pool: u8, ref_ctr: u8 }
    TimeCounter "QF_TIMEEVT_CTR" = 38 [..620]
        { time: time, te: object, ao: object, ticks: ticks, interval: ticks, rate: u8 since 500 }
    CritEntry "QF_CRIT_ENTRY" = 39 [..] { time: time, nesting: u8 }
    CritExit "QF_CRIT_EXIT" = 40 [..] { time: time, nesting: u8 }
    IsrEntry "QF_ISR_ENTRY" = 41 [..] { time: time, nesting: u8, prio: u8 }
    IsrExit "QF_ISR_EXIT" = 42 [..] { time: time, nesting: u8, prio: u8 }
    PostAttempt "QF_ACTIVE_POST_ATTEMPT" = 45 [..]
        { time: time, sender: object, sig: signal_of 3, ao: object, pool: u8, ref_ctr: u8, free: queue, margin: queue }
    QueuePostAttempt "QF_EQUEUE_POST_ATTEMPT" = 46 [..]
        { time: time, sig: signal_of 2, queue: object, pool: u8, ref_ctr: u8, free: queue, margin: queue }
    PoolGetAttempt "QF_MPOOL_GET_ATTEMPT" = 47 [..] { time: time, obj: object, free: pool, margin: pool }
    SchedPreempt "SCHED_PREEMPT" = 48 [712..] { time: time, next: u8, previous: u8 }
    MutexCeilingLock "MUTEX_LOCK" = 48 [..712] { time: time, start: u8, ceiling: u8 }
    SchedRestore "SCHED_RESTORE" = 49 [712..] { time: time, next: u8, previous: u8 }
    MutexCeilingUnlock "MUTEX_UNLOCK" = 49 [..712] { time: time, start: u8, ceiling: u8 }
    SchedLock "SCHED_LOCK" = 50 [..] { time: time, previous_ceiling: u8, ceiling: u8 }
    SchedUnlock "SCHED_UNLOCK" = 51 [..] { time: time, previous_ceiling: u8, ceiling: u8 }
    SchedNext "SCHED_NEXT" = 52 [..] { time: time, next: u8, previous: u8 }
    SchedIdle "SCHED_IDLE" = 53 [..] { time: time, previous: u8 }
    EnumDict "ENUM_DICT" = 54 [720..] { value: u8, group: u8, name: text }
    SchedResume "SCHED_RESUME" = 54 [..720] { time: time, next: u8, previous: u8 }
    TranHist "QEP_TRAN_HIST" = 55 [..] { obj: object, source: function, target: function }
    TranEp "QEP_TRAN_EP" = 56 [..] { obj: object, source: function, target: function }
    TranXp "QEP_TRAN_XP" = 57 [..] { obj: object, source: function, target: function }
    TestPaused "TEST_PAUSED" = 58 [..] {}
    TestProbeGet "TEST_PROBE_GET" = 59 [..] { time: time, function: function, data: u32 }
    SigDict "SIG_DICT" = 60 [..] { sig: signal_of 1, obj: object, name: text }
    ObjDict "OBJ_DICT" = 61 [..] { obj: object, name: text }
    FunDict "FUN_DICT" = 62 [..] { function: function, name: text }
    UsrDict "USR_DICT" = 63 [..] { record: u8, name: text }
    TargetInfo "TARGET_INFO" = 64 [..] { info: rest }
    TargetDone "TARGET_DONE" = 65 [..] { time: time, command: u8 }
    RxStatus "RX_STATUS" = 66 [..] { time: time before 580, status: u8 }
    QueryData "QUERY_DATA" = 67 [636..] { time: time, query: u8, data: rest }
    PeekData "PEEK_DATA" = 68 [..] { time: time, offset: u16, size: u8, items: u8, data: rest }
    AssertFail "ASSERT_FAIL" = 69 [..] { time: time, location: u16, module: text }
    Run "QF_RUN" = 70 [690..] {}
    SemTake "SEM_TAKE" = 71 [710..] { time: time, obj: object, thread: u8, count: u8 }
    SemBlock "SEM_BLOCK" = 72 [710..] { time: time, obj: object, thread: u8, count: u8 }
    SemSignal "SEM_SIGNAL" = 73 [710..] { time: time, obj: object, thread: u8, count: u8 }
    SemBlockAttempt "SEM_BLOCK_ATTEMPT" = 74 [710..] { time: time, obj: object, thread: u8, count: u8 }
    MutexLock "MTX_LOCK" = 75 [710..] { time: time, obj: object, holder: u8, nesting: u8 }
    MutexBlock "MTX_BLOCK" = 76 [710..] { time: time, obj: object, holder: u8, thread: u8 }
    MutexUnlock "MTX_UNLOCK" = 77 [710..] { time: time, obj: object, holder: u8, nesting: u8 }
    MutexLockAttempt "MTX_LOCK_ATTEMPT" = 78 [710..] { time: time, obj: object, holder: u8, nesting: u8 }
    MutexBlockAttempt "MTX_BLOCK_ATTEMPT" = 79 [710..] { time: time, obj: object, holder: u8, thread: u8 }
    MutexUnlockAttempt "MTX_UNLOCK_ATTEMPT" = 80 [710..] { time: time, obj: object, holder: u8, nesting: u8 }
    DeferAttempt "QF_ACTIVE_DEFER_ATTEMPT" = 81 [804..]
        { time: time, ao: object, queue: object, sig: signal_of 1, pool: u8, ref_ctr: u8 }
    User "USER" = 100 [..] { time: time, data: rest }
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Kind::User as usize + 1;

    /// Its line of the table.
    #[inline]
    #[must_use]
    pub fn spec(self) -> &'static Spec {
        &SPECS[self as usize]
    }
}

impl Spec {
    /// Its fields in a version of QP.
    pub fn fields_in(&self, version: u16) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().filter(move |field| (field.from..field.until).contains(&version))
    }

    /// Whether it begins with a time stamp in a version of QP.
    #[must_use]
    pub fn is_timed(&self, version: u16) -> bool {
        self.fields_in(version).next().is_some_and(|field| field.code == Code::Time)
    }
}

/// The lowest id of application records.
#[must_use]
pub fn user_base(version: u16) -> u8 {
    if version < 660 { 70 } else { 100 }
}

/// One more than the highest id of a record.
pub const IDS_END: u8 = 125;

/// The name of a command that the host sends to the target: records 0 to 16 of the reverse direction.
#[must_use]
pub fn command_name(command: u8) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "QS_RX_INFO",
        "QS_RX_COMMAND",
        "QS_RX_RESET",
        "QS_RX_TICK",
        "QS_RX_PEEK",
        "QS_RX_POKE",
        "QS_RX_FILL",
        "QS_RX_TEST_SETUP",
        "QS_RX_TEST_TEARDOWN",
        "QS_RX_TEST_PROBE",
        "QS_RX_GLB_FILTER",
        "QS_RX_LOC_FILTER",
        "QS_RX_AO_FILTER",
        "QS_RX_CURR_OBJ",
        "QS_RX_TEST_CONTINUE",
        "QS_RX_QUERY_CURR",
        "QS_RX_EVENT",
    ];
    NAMES.get(usize::from(command)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for (index, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.kind as usize, index, "{}", spec.name);
            assert!(spec.from < spec.until && spec.fields.len() <= 8, "{}", spec.name);
            let last = spec.fields.len().saturating_sub(1);
            for (number, field) in spec.fields.iter().enumerate() {
                assert!(number == last || !matches!(field.code, Code::Text | Code::Rest), "{}: {}", spec.name, field.name);
                if let Code::Signal(object) = field.code
                    && object != NO_OBJECT
                {
                    assert_eq!(spec.fields[usize::from(object)].code, Code::Object, "{}", spec.name);
                }
            }
        }
        assert_eq!(SPECS.len(), Kind::COUNT);
    }

    #[test]
    fn an_id_is_one_record_in_each_version() {
        for version in [400, 500, 580, 620, 636, 660, 690, 691, 694, 710, 712, 720, 740, 800, 804, 810, 815] {
            let mut ids: Vec<u8> =
                SPECS.iter().filter(|spec| (spec.from..spec.until).contains(&version)).map(|spec| spec.id).collect();
            let count = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), count, "version {version}");
        }
    }
}
