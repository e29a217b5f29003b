//! What it means that a task stops, by the packets after that one: some hooks record it at each switch, or before each interrupt.

use super::super::descriptions::Role;
use super::super::hooks::Hooks;
use super::super::packet::{Framing, Packet};
use super::super::record::{Fields, id};
use super::InputResolver;
use super::handles::Shared;

/// A task that moves within the list of ready tasks leaves and enters it within this fraction of a second.
const MOVES_PER_SECOND: u64 = 20_000;

/// What a packet says of a task that stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// It stops running, or waits.
    #[default]
    Said,
    /// It stops running because the next packet lets another one run.
    Followed,
    /// Nothing, nor does this number of packets after it.
    Nothing(u8),
    /// Nothing. The next packet names the task that runs after the interrupts, and the one after that says nothing.
    Due,
}

impl InputResolver {
    /// What a packet means that says that a task stops running, or stops being ready. Its fields, and where it ends.
    #[cold]
    pub(super) fn stop(&self, packet: u16, mut fields: Fields<'_>, bytes: &[u8], end: usize, shared: &Shared) -> Stop {
        let read = |at: usize| Framing::new(self.reading).read(bytes, at);
        let is_switch = |next: Packet| matches!(next.id, id::TASK_START_EXEC | id::IDLE);
        let is_event = |event, role| shared.descriptions.kernels_id_of(role) == Some(event);
        let changes_priority = |event| is_event(event, Role::InheritPriority) || is_event(event, Role::DisinheritPriority);
        let hooks = shared.hooks;
        match (packet, hooks) {
            // Mynewt records so that another task was removed, without its id.
            (id::TASK_STOP_EXEC, Hooks::Mynewt) => Stop::Nothing(0),
            (id::TASK_STOP_EXEC, _) => match read(end) {
                // NuttX records that the task stops before each interrupt, and which task goes on after it.
                Some(next) if next.id == id::ISR_ENTER && hooks == Hooks::NuttX => Stop::Nothing(0),
                Some(next) if is_switch(next) => Stop::Followed,
                // Zephyr records the idle thread too. Interrupts may come between the two packets.
                _ if hooks == Hooks::Zephyr => Stop::Followed,
                _ => Stop::Said,
            },
            // RT-Thread's scheduler records it of each task that it switches from. In an interrupt, it records that the next task becomes ready
            // and the interrupt once more, instead of the switch; version 4 records no switch at the interrupt's end either.
            (id::TASK_STOP_READY, Hooks::RtThread) => match read(end) {
                Some(next) if is_switch(next) => Stop::Nothing(0),
                Some(next) if next.id == id::TASK_START_READY => {
                    let after = read(end.saturating_add(usize::from(next.bytes)));
                    if after.is_some_and(|after| after.id == id::ISR_ENTER) { Stop::Due } else { Stop::Said }
                }
                _ => Stop::Said,
            },
            // µC/OS takes a task from the list of ready tasks, and adds it again, when its priority changes. µC/OS-II records both, µC/OS-III
            // which priority a mutex then gives to the task or takes from it.
            (id::TASK_STOP_READY, Hooks::MicroCos) => match read(end) {
                Some(next) if next.delta.saturating_mul(MOVES_PER_SECOND) >= self.clock.hz => Stop::Said,
                Some(next) if next.id == id::TASK_START_READY && next.fields(bytes, end).long() == fields.long() => {
                    Stop::Nothing(1)
                }
                Some(next) if next.id >= id::FIRST_OF_KERNEL && changes_priority(next.id) => Stop::Nothing(0),
                _ => Stop::Said,
            },
            _ => Stop::Said,
        }
    }
}
