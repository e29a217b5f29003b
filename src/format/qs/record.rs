//! The table of records: names, the versions of QP that send each record and its id, and the fields in the order of the wire.
//!
//! The source of the table is the target's code from QP 4.0 to 8.1.5 and the host parser `qspy`; names are those of the QS
//! reference manual without their prefix `QS_`.

/// The type of a field on the wire. Its width is fixed, or configured by the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A time stamp.
    Time,
    /// The address of an object: state machine, active object, queue, pool, time event, mutex. 0: no object.
    Object,
    /// The address of a function, usually a state handler. 0: no function.
    Function,
    /// A signal. The field of the record with the signal's object; `None`: the record has no such field.
    Signal(Option<Field>),
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
    /// The rest of the data. Its meaning depends on the fields before it. Always the last field.
    Rest,
}

impl Code {
    /// The number of its size among those that targets configure, in the order of [`Sizes::LETTERS`](super::layout::Sizes::LETTERS).
    #[must_use]
    pub fn configured(self) -> Option<usize> {
        Some(match self {
            Code::Time => 0,
            Code::Object => 1,
            Code::Function => 2,
            Code::Signal(_) => 3,
            Code::EventSize => 4,
            Code::QueueCounter => 5,
            Code::PoolCounter => 6,
            Code::TimeCounter => 8,
            Code::U8 | Code::U16 | Code::U32 | Code::Text | Code::Rest => return None,
        })
    }
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Its name.
    pub field: Field,
    /// Its type.
    pub code: Code,
    /// The first QP version that sends it, e.g. 420 for 4.2.0.
    pub from: u16,
    /// The first QP version that no longer sends it.
    pub until: u16,
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The kind of record.
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
    pub fields: &'static [FieldSpec],
}

/// Higher than all versions.
pub const NEVER: u16 = u16::MAX;

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
        Code::Signal(None)
    };
    (signal_of $object:ident) => {
        Code::Signal(Some(Field::$object))
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

macro_rules! field_names {
    ($($field:ident $name:literal,)*) => {
        /// The name of a field. In all records, the same name is the same kind of fact.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Field { $($field,)* }

        impl Field {
            const ALL: &[Field] = &[$(Field::$field,)*];

            /// The number of names.
            pub const COUNT: usize = Field::ALL.len();

            /// The name in lower case, as `dump` shows it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Field::$field => $name,)* }
            }
        }
    };
}

macro_rules! records {
    ($($kind:ident $name:literal = $id:literal [$($from:literal)? .. $($until:literal)?]
        { $($field:ident: $code:ident $(($object:ident))? $(since $since:literal)? $(before $before:literal)?),* })*) => {
        /// The kind of a record. The same id may mean different records in different versions of QP.
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
            fields: &[$(FieldSpec {
                field: Field::$field,
                code: code!($code $($object)?),
                from: bound!(0 $(, $since)?),
                until: bound!(NEVER $(, $before)?),
            }),*],
        }),*];
    };
}

field_names! {
    Obj "obj",
    State "state",
    Source "source",
    Target "target",
    Time "time",
    Sig "sig",
    Ao "ao",
    Queue "queue",
    Pool "pool",
    RefCtr "ref_ctr",
    Prio "prio",
    Sender "sender",
    Free "free",
    Min "min",
    Length "length",
    Size "size",
    Blocks "blocks",
    Count "count",
    Rate "rate",
    Te "te",
    Ticks "ticks",
    Interval "interval",
    WasArmed "was_armed",
    Nesting "nesting",
    Margin "margin",
    Next "next",
    Previous "previous",
    Start "start",
    Ceiling "ceiling",
    PreviousCeiling "previous_ceiling",
    Value "value",
    Group "group",
    Name "name",
    Function "function",
    Data "data",
    Record "record_id",
    Info "info",
    Command "command",
    Status "status",
    Query "query",
    Offset "memory_offset",
    Items "items",
    Location "location",
    Module "module",
    Thread "thread",
    Holder "holder",
}

records! {
    Empty "EMPTY" = 0 [..] {}
    StateEntry "QEP_STATE_ENTRY" = 1 [..] { Obj: object, State: function }
    StateExit "QEP_STATE_EXIT" = 2 [..] { Obj: object, State: function }
    StateInit "QEP_STATE_INIT" = 3 [..] { Obj: object, Source: function, Target: function }
    InitTran "QEP_INIT_TRAN" = 4 [..] { Time: time, Obj: object, State: function }
    InternTran "QEP_INTERN_TRAN" = 5 [..] { Time: time, Sig: signal_of(Obj), Obj: object, Source: function }
    Tran "QEP_TRAN" = 6 [..] { Time: time, Sig: signal_of(Obj), Obj: object, Source: function, Target: function }
    Ignored "QEP_IGNORED" = 7 [..] { Time: time, Sig: signal_of(Obj), Obj: object, State: function }
    Dispatch "QEP_DISPATCH" = 8 [..] { Time: time, Sig: signal_of(Obj), Obj: object, State: function }
    Unhandled "QEP_UNHANDLED" = 9 [..] { Sig: signal_of(Obj), Obj: object, State: function }
    Defer "QF_ACTIVE_DEFER" = 10 [620..]
        { Time: time, Ao: object, Queue: object, Sig: signal_of(Ao), Pool: u8, RefCtr: u8 }
    ActiveAdd "QF_ACTIVE_ADD" = 10 [..620] { Time: time, Ao: object, Prio: u8 }
    Recall "QF_ACTIVE_RECALL" = 11 [620..]
        { Time: time, Ao: object, Queue: object, Sig: signal_of(Ao), Pool: u8, RefCtr: u8 }
    ActiveRemove "QF_ACTIVE_REMOVE" = 11 [..620] { Time: time, Ao: object, Prio: u8 }
    Subscribe "QF_ACTIVE_SUBSCRIBE" = 12 [..] { Time: time, Sig: signal_of(Ao), Ao: object }
    Unsubscribe "QF_ACTIVE_UNSUBSCRIBE" = 13 [..] { Time: time, Sig: signal_of(Ao), Ao: object }
    Post "QF_ACTIVE_POST" = 14 [..]
        { Time: time, Sender: object since 420, Sig: signal_of(Ao), Ao: object, Pool: u8 since 420, RefCtr: u8, Free: queue,
          Min: queue }
    PostLifo "QF_ACTIVE_POST_LIFO" = 15 [..]
        { Time: time, Sig: signal_of(Ao), Ao: object, Pool: u8 since 420, RefCtr: u8, Free: queue, Min: queue }
    Get "QF_ACTIVE_GET" = 16 [..] { Time: time, Sig: signal_of(Ao), Ao: object, Pool: u8 since 420, RefCtr: u8, Free: queue }
    GetLast "QF_ACTIVE_GET_LAST" = 17 [..] { Time: time, Sig: signal_of(Ao), Ao: object, Pool: u8 since 420, RefCtr: u8 }
    RecallAttempt "QF_ACTIVE_RECALL_ATTEMPT" = 18 [620..] { Time: time, Ao: object, Queue: object }
    QueueInit "QF_EQUEUE_INIT" = 18 [..620] { Queue: object, Length: queue }
    QueuePost "QF_EQUEUE_POST" = 19 [..]
        { Time: time, Sig: signal_of(Queue), Queue: object, Pool: u8 since 420, RefCtr: u8, Free: queue, Min: queue }
    QueuePostLifo "QF_EQUEUE_POST_LIFO" = 20 [..]
        { Time: time, Sig: signal_of(Queue), Queue: object, Pool: u8 since 420, RefCtr: u8, Free: queue, Min: queue }
    QueueGet "QF_EQUEUE_GET" = 21 [..]
        { Time: time, Sig: signal_of(Queue), Queue: object, Pool: u8 since 420, RefCtr: u8, Free: queue }
    QueueGetLast "QF_EQUEUE_GET_LAST" = 22 [..] { Time: time, Sig: signal_of(Queue), Queue: object, Pool: u8 since 420, RefCtr: u8 }
    NewAttempt "QF_NEW_ATTEMPT" = 23 [691..] { Time: time, Size: event_size, Sig: signal }
    PoolInit "QF_MPOOL_INIT" = 23 [..620] { Obj: object, Blocks: pool }
    PoolGet "QF_MPOOL_GET" = 24 [..] { Time: time, Obj: object, Free: pool, Min: pool }
    PoolPut "QF_MPOOL_PUT" = 25 [..] { Time: time, Obj: object, Free: pool }
    Publish "QF_PUBLISH" = 26 [..] { Time: time, Sender: object since 420, Sig: signal, Pool: u8 since 420, RefCtr: u8 }
    NewRef "QF_NEW_REF" = 27 [620..] { Time: time, Sig: signal, Pool: u8, RefCtr: u8 }
    New "QF_NEW" = 28 [..] { Time: time, Size: event_size, Sig: signal }
    GcAttempt "QF_GC_ATTEMPT" = 29 [..] { Time: time, Sig: signal, Pool: u8 since 420, RefCtr: u8 }
    Gc "QF_GC" = 30 [..] { Time: time, Sig: signal, Pool: u8 since 420, RefCtr: u8 }
    Tick "QF_TICK" = 31 [..] { Count: ticks, Rate: u8 since 500 }
    TimeArm "QF_TIMEEVT_ARM" = 32 [..]
        { Time: time, Te: object, Ao: object, Ticks: ticks, Interval: ticks, Rate: u8 since 500 }
    TimeAutoDisarm "QF_TIMEEVT_AUTO_DISARM" = 33 [..] { Te: object, Ao: object, Rate: u8 since 500 }
    TimeDisarmAttempt "QF_TIMEEVT_DISARM_ATTEMPT" = 34 [..] { Time: time, Te: object, Ao: object, Rate: u8 since 500 }
    TimeDisarm "QF_TIMEEVT_DISARM" = 35 [..]
        { Time: time, Te: object, Ao: object, Ticks: ticks, Interval: ticks, Rate: u8 since 500 }
    TimeRearm "QF_TIMEEVT_REARM" = 36 [..]
        { Time: time, Te: object, Ao: object, Ticks: ticks, Interval: ticks, Rate: u8 since 500, WasArmed: u8 }
    TimePost "QF_TIMEEVT_POST" = 37 [..] { Time: time, Te: object, Sig: signal_of(Ao), Ao: object, Rate: u8 since 500 }
    DeleteRef "QF_DELETE_REF" = 38 [620..] { Time: time, Sig: signal, Pool: u8, RefCtr: u8 }
    TimeCounter "QF_TIMEEVT_CTR" = 38 [..620]
        { Time: time, Te: object, Ao: object, Ticks: ticks, Interval: ticks, Rate: u8 since 500 }
    CritEntry "QF_CRIT_ENTRY" = 39 [..] { Time: time, Nesting: u8 }
    CritExit "QF_CRIT_EXIT" = 40 [..] { Time: time, Nesting: u8 }
    IsrEntry "QF_ISR_ENTRY" = 41 [..] { Time: time, Nesting: u8, Prio: u8 }
    IsrExit "QF_ISR_EXIT" = 42 [..] { Time: time, Nesting: u8, Prio: u8 }
    PostAttempt "QF_ACTIVE_POST_ATTEMPT" = 45 [..]
        { Time: time, Sender: object, Sig: signal_of(Ao), Ao: object, Pool: u8, RefCtr: u8, Free: queue, Margin: queue }
    QueuePostAttempt "QF_EQUEUE_POST_ATTEMPT" = 46 [..]
        { Time: time, Sig: signal_of(Queue), Queue: object, Pool: u8, RefCtr: u8, Free: queue, Margin: queue }
    PoolGetAttempt "QF_MPOOL_GET_ATTEMPT" = 47 [..] { Time: time, Obj: object, Free: pool, Margin: pool }
    SchedPreempt "SCHED_PREEMPT" = 48 [712..] { Time: time, Next: u8, Previous: u8 }
    MutexCeilingLock "MUTEX_LOCK" = 48 [590..712] { Time: time, Start: u8, Ceiling: u8 }
    SchedRestore "SCHED_RESTORE" = 49 [712..] { Time: time, Next: u8, Previous: u8 }
    MutexCeilingUnlock "MUTEX_UNLOCK" = 49 [590..712] { Time: time, Start: u8, Ceiling: u8 }
    QkMutexLock "QK_MUTEX_LOCK" = 50 [..560] { Time: time, Start: u8, Ceiling: u8 }
    SchedLock "SCHED_LOCK" = 50 [560..] { Time: time, PreviousCeiling: u8, Ceiling: u8 }
    QkMutexUnlock "QK_MUTEX_UNLOCK" = 51 [..560] { Time: time, Start: u8, Ceiling: u8 }
    SchedUnlock "SCHED_UNLOCK" = 51 [560..] { Time: time, PreviousCeiling: u8, Ceiling: u8 }
    SchedNext "SCHED_NEXT" = 52 [..] { Time: time, Next: u8, Previous: u8 }
    SchedIdle "SCHED_IDLE" = 53 [..] { Time: time, Previous: u8 }
    EnumDict "ENUM_DICT" = 54 [720..] { Value: u8, Group: u8, Name: text }
    SchedResume "SCHED_RESUME" = 54 [550..720] { Time: time, Next: u8, Previous: u8 }
    TranHist "QEP_TRAN_HIST" = 55 [..] { Obj: object, Source: function, Target: function }
    TranEp "QEP_TRAN_EP" = 56 [..] { Obj: object, Source: function, Target: function }
    TranXp "QEP_TRAN_XP" = 57 [..] { Obj: object, Source: function, Target: function }
    TestPaused "TEST_PAUSED" = 58 [..] {}
    TestProbeGet "TEST_PROBE_GET" = 59 [..] { Time: time, Function: function, Data: u32 }
    SigDict "SIG_DICT" = 60 [..] { Sig: signal_of(Obj), Obj: object, Name: text }
    ObjDict "OBJ_DICT" = 61 [..] { Obj: object, Name: text }
    FunDict "FUN_DICT" = 62 [..] { Function: function, Name: text }
    UsrDict "USR_DICT" = 63 [420..] { Record: u8, Name: text }
    OldAssert "ASSERT" = 63 [..420] { Time: time, Location: u16, Module: text }
    TargetInfo "TARGET_INFO" = 64 [550..] { Info: rest }
    OldEmpty "QS_EMPTY" = 64 [..550] {}
    TargetDone "TARGET_DONE" = 65 [..] { Time: time, Command: u8 }
    RxStatus "RX_STATUS" = 66 [..] { Time: time before 590, Status: u8 }
    QueryData "QUERY_DATA" = 67 [636..] { Time: time, Query: u8, Data: rest }
    PeekAddress "PEEK_DATA" = 68 [..590] { Time: time, Obj: object, Items: u8, Data: rest }
    PeekData "PEEK_DATA" = 68 [590..] { Time: time, Offset: u16, Size: u8, Items: u8, Data: rest }
    AssertFail "ASSERT_FAIL" = 69 [..] { Time: time, Location: u16, Module: text }
    Run "QF_RUN" = 70 [690..] {}
    SemTake "SEM_TAKE" = 71 [710..] { Time: time, Obj: object, Thread: u8, Count: u8 }
    SemBlock "SEM_BLOCK" = 72 [710..] { Time: time, Obj: object, Thread: u8, Count: u8 }
    SemSignal "SEM_SIGNAL" = 73 [710..] { Time: time, Obj: object, Thread: u8, Count: u8 }
    SemBlockAttempt "SEM_BLOCK_ATTEMPT" = 74 [710..] { Time: time, Obj: object, Thread: u8, Count: u8 }
    MutexLock "MTX_LOCK" = 75 [710..] { Time: time, Obj: object, Holder: u8, Nesting: u8 }
    MutexBlock "MTX_BLOCK" = 76 [710..] { Time: time, Obj: object, Holder: u8, Thread: u8 }
    MutexUnlock "MTX_UNLOCK" = 77 [710..] { Time: time, Obj: object, Holder: u8, Nesting: u8 }
    MutexLockAttempt "MTX_LOCK_ATTEMPT" = 78 [710..] { Time: time, Obj: object, Holder: u8, Nesting: u8 }
    MutexBlockAttempt "MTX_BLOCK_ATTEMPT" = 79 [710..] { Time: time, Obj: object, Holder: u8, Thread: u8 }
    MutexUnlockAttempt "MTX_UNLOCK_ATTEMPT" = 80 [710..] { Time: time, Obj: object, Holder: u8, Nesting: u8 }
    DeferAttempt "QF_ACTIVE_DEFER_ATTEMPT" = 81 [804..]
        { Time: time, Ao: object, Queue: object, Sig: signal_of(Ao), Pool: u8, RefCtr: u8 }
    User "USER" = 100 [..] { Time: time, Data: rest }
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = Kind::User as usize + 1;

    /// Its row in the table.
    #[inline]
    #[must_use]
    pub fn spec(self) -> &'static Spec {
        &SPECS[self as usize]
    }
}

impl FieldSpec {
    /// Whether a version of QP sends it.
    #[must_use]
    pub fn is_sent_by(&self, version: u16) -> bool {
        (self.from..self.until).contains(&version)
    }
}

impl Spec {
    /// Whether a version of QP sends it.
    #[must_use]
    pub fn is_sent_by(&self, version: u16) -> bool {
        (self.from..self.until).contains(&version)
    }

    /// The version nearest to `version` that sends it.
    #[must_use]
    pub fn nearest(&self, version: u16) -> u16 {
        version.clamp(self.from, self.until - 1)
    }

    /// Its fields in a version of QP.
    pub fn fields_in(&self, version: u16) -> impl Iterator<Item = &'static FieldSpec> + use<> {
        self.fields.iter().filter(move |field| field.is_sent_by(version))
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

/// The error in a status, of a command that the target could not read, in QP 6.0 to 8.1. QP 5 has other codes.
#[must_use]
pub fn error_text(status: u8, version: u16) -> Option<&'static str> {
    Some(match status {
        _ if version < 600 => return None,
        0xC1 => "wrong checksum",
        0xC2 => "unexpected sequence number",
        0xC3 => "unknown command",
        0xC5 | 0xC7 => "unexpected state",
        0xD0 => "bad frame",
        _ => return None,
    })
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
                assert!(number == last || !matches!(field.code, Code::Text | Code::Rest), "{}: {:?}", spec.name, field.field);
                if let Code::Signal(Some(object)) = field.code {
                    let object = spec.fields.iter().find(|field| field.field == object);
                    assert!(object.is_some_and(|object| object.code == Code::Object), "{}", spec.name);
                }
                assert!(spec.fields.iter().filter(|other| other.field == field.field).count() == 1, "{}", spec.name);
            }
        }
        assert_eq!(SPECS.len(), Kind::COUNT);
    }

    #[test]
    fn an_id_is_one_record_in_each_version() {
        for version in [400, 420, 500, 550, 580, 620, 636, 660, 690, 691, 694, 710, 712, 720, 740, 800, 804, 810, 815] {
            let mut ids: Vec<u8> = SPECS.iter().filter(|spec| spec.is_sent_by(version)).map(|spec| spec.id).collect();
            let count = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), count, "version {version}");
        }
    }
}
