//! Records in file order → events of the common model.
//!
//! - [`input`]: sequence numbers, damage, sessions;
//! - [`clock`]: the time;
//! - [`view`]: the records as they are.

pub mod clock;
pub mod input;
pub mod view;

use crate::format::{Facts, Parcel, RecordView, Resolve, Resolved};
use crate::model::{Ledger, Rate};

use super::decode::Records;
use super::sessions::Sessions;
use input::Input;
use view::{ViewFields, show_invalid};

/// Turns records into events.
pub struct Resolver {
    inputs: Vec<Input>,
    facts: Facts,
}

impl Resolver {
    pub fn new(inputs: Vec<Sessions>, clock: (Rate, &'static str), facts: Facts) -> Resolver {
        let inputs = inputs.into_iter().map(|sessions| Input::new(sessions, clock.0)).collect();
        Resolver { inputs, facts: Facts { clock: Some(clock), ..facts } }
    }
}

impl Resolve for Resolver {
    fn resolve(&mut self, _input: usize, records: Parcel, _out: &mut Resolved<'_>) -> Option<Parcel> {
        Some(records)
    }

    fn finish(&mut self, _input: usize, _out: &mut Resolved<'_>) {}

    fn dump(&mut self, input: usize, records: Parcel, ledger: &mut Ledger, out: &mut dyn FnMut(&RecordView<'_>) -> bool) {
        if let (Some(input), Ok(records)) = (self.inputs.get_mut(input), records.downcast::<Records>()) {
            dump_part(input, &records, ledger, out);
        }
    }

    fn facts(&self) -> Facts {
        Facts { sessions: self.inputs.iter().map(|input| input.sessions_begun).max().unwrap_or(1), ..self.facts.clone() }
    }
}

/// Lists the records of a part. False: no more are wanted.
fn dump_part(input: &mut Input, records: &Records, ledger: &mut Ledger, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
    input.enter_part(records, ledger);
    let mut damage = records.damage.iter().peekable();
    let mut segments = records.segments.iter().peekable();
    for number in 0..=records.frames.len() {
        while let Some(bad) = damage.next_if(|bad| bad.index as usize <= number) {
            let shows_run = bad.seq.is_some() && input.run.is_some();
            if shows_run && !show_run(input, ledger, bad.seq, records.base + u64::from(bad.offset), out) {
                return false;
            }
            input.take_damage(records, bad, ledger);
            let offset = records.base + u64::from(bad.offset);
            if bad.seq.is_some() && !show_invalid(offset, records.bytes(bad.raw), bad.reason, bad.seq, out) {
                return false;
            }
        }
        let Some(stored) = records.frames.get(number) else { break };
        let offset = records.base + u64::from(stored.offset);
        if input.run.is_some() && !show_run(input, ledger, Some(stored.seq), offset, out) {
            return false;
        }
        while let Some(&(_, segment)) = segments.next_if(|segment| segment.0 as usize <= number) {
            input.enter_session(segment as usize, offset, ledger);
        }
        if !input.is_next(stored.seq) {
            input.take_odd(stored.seq, Some(stored.kind), offset, ledger);
        }
        input.gap = None;
        if stored.is_timed {
            input.take_time(records.base, stored, ledger);
        }
        let session = input.present();
        let fields = ViewFields::of(records, stored, &session.layout, &session.names);
        let ticks = stored.is_timed.then_some(u64::from(stored.time));
        let nanos = stored.is_timed.then_some(input.clock.now().0);
        if !fields.show(stored.kind.spec().name, offset, (ticks, nanos), out) {
            return false;
        }
    }
    // A part ends behind a sound frame, within a run that goes on, or with the input.
    records.goes_on || input.run.is_none() || show_run(input, ledger, None, 0, out)
}

/// Shows a run of damage, which ends before a sound frame or with the input.
fn show_run(
    input: &mut Input,
    ledger: &mut Ledger,
    seq: Option<u8>,
    offset: u64,
    out: &mut dyn FnMut(&RecordView<'_>) -> bool,
) -> bool {
    let Some(run) = input.run.clone() else { return true };
    match seq {
        Some(seq) => input.end_run_before(seq, offset, ledger),
        None => drop(input.end_run(None, ledger)),
    }
    show_invalid(run.offset, &run.raw, run.reason, None, out)
}
