//! Events → track operations. All state machines are here, once, shared by every format.

mod op;

pub use op::{
    Arg, ArgValue, Block, Flow, NameRef, Op, OpKind, PrevState, SchedRows, SwitchRow, Track, TrackId, TrackKind, Unit, WakingRow,
};
