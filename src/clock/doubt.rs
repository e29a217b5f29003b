//! Breaks in time that can be read in two ways.

use super::Cause;
use super::runs::{Choice, Way};
use crate::model::{Rate, Ticks};

/// A break whose best two explanations are nearly as likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    taken: Choice,
    rival: Rival,
}

/// The explanation that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    Choice(Choice),
    /// The same silence, longer by any number of ranges of the counter, of this number of ticks.
    Wraps(u64),
}

impl Doubt {
    pub(super) fn new(taken: Choice, rival: Rival) -> Doubt {
        Doubt { taken, rival }
    }

    /// Both readings, as a clause. `rate`: of the counter.
    #[must_use]
    pub fn text(&self, rate: Rate) -> String {
        let time = |ticks: u64| rate.to_nanos(Ticks(ticks)).unwrap_or_default();
        let reading = |choice: Choice| match choice {
            Choice::Line(Way::Forward(ticks)) => format!("a step of {}", time(ticks)),
            Choice::Line(Way::Back(ticks)) => format!("a step of {} back", time(ticks)),
            Choice::Line(Way::Restart) => "a restart of the target".to_owned(),
            Choice::Beside(Cause::Moved, _) => "a moved piece of the file".to_owned(),
            Choice::Beside(Cause::Repeated, _) => "a repeated piece of the file".to_owned(),
            Choice::Beside(Cause::Foreign, _) => "time stamps of another core".to_owned(),
            Choice::Beside(..) => "damaged time stamps".to_owned(),
        };
        let rival = match self.rival {
            Rival::Choice(choice) => reading(choice),
            Rival::Wraps(modulus) => format!("one that is longer by any number of {}", time(modulus)),
        };
        format!("{}, which is taken, or {rival}", reading(self.taken))
    }
}
