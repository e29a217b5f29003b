//! What records mean that are seldom or never in a capture: failed attempts, threads that block, the link to the host.

use crate::model::{ArgValue, Args, EventKind, LaneKind};

use super::super::decode::Stored;
use super::super::layout::Fields;
use super::super::record::Kind;
use super::events::Work;
use super::firmware::{Part, Single, Word, put};

impl Work<'_, '_> {
    pub(super) fn rarer(&mut self, stored: &Stored, fields: &Fields<'_>) -> Option<()> {
        match stored.kind {
            Kind::PostAttempt => {
                self.failure("post", fields, (2, Some(3)), &[(Word::Free, 6), (Word::Margin, 7)]);
                self.not_posted(fields)
            }
            Kind::QueuePostAttempt => self.failure("post", fields, (1, Some(2)), &[(Word::Free, 5), (Word::Margin, 6)]),
            Kind::DeferAttempt => self.failure("defer", fields, (3, Some(1)), &[]),
            Kind::NewAttempt => self.failure("new", fields, (2, None), &[(Word::Size, 1)]),
            Kind::PoolGetAttempt => {
                let object = self.named(fields.uint(1));
                let object = self.firmware.arg(Word::Object, object, self.out.entities);
                let free = self.firmware.arg(Word::Free, ArgValue::Uint(fields.uint(2)), self.out.entities);
                let margin = self.firmware.arg(Word::Margin, ArgValue::Uint(fields.uint(3)), self.out.entities);
                self.instant(Single::Failures, "pool get failed", &[object, free, margin])
            }
            Kind::SemBlockAttempt => self.sync_failure("semaphore", fields),
            Kind::MutexLockAttempt | Kind::MutexBlockAttempt => self.sync_failure("lock", fields),
            Kind::MutexUnlockAttempt => self.sync_failure("unlock", fields),
            Kind::New => self.memory("new", fields, 2, Some((Word::Size, 1))),
            Kind::NewRef => self.memory("reference", fields, 1, Some((Word::Ref, 3))),
            Kind::DeleteRef => self.memory("drop reference", fields, 1, Some((Word::Ref, 3))),
            Kind::Gc => self.memory("recycle", fields, 1, None),
            Kind::GcAttempt => self.memory("keep", fields, 1, Some((Word::Ref, 3))),
            Kind::CritEntry => {
                let lane = self.firmware.single(Single::Critical, self.out.entities)?;
                let label = self.out.entities.add_name("critical section")?;
                self.put_event(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            Kind::CritExit => {
                let lane = self.firmware.single(Single::Critical, self.out.entities)?;
                self.put_event(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            Kind::MutexCeilingLock => {
                let lane = self.firmware.single(Single::Ceiling, self.out.entities)?;
                let label = self.out.entities.add_name(&format!("ceiling {}", fields.uint(2)))?;
                self.put_event(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            Kind::MutexCeilingUnlock => {
                let lane = self.firmware.single(Single::Ceiling, self.out.entities)?;
                self.put_event(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            Kind::SemTake | Kind::SemSignal | Kind::SemBlock => self.semaphore(stored.kind, fields),
            Kind::MutexLock | Kind::MutexBlock | Kind::MutexUnlock => self.mutex(stored.kind, fields),
            Kind::ActiveAdd | Kind::ActiveRemove => {
                let object = self.named(fields.uint(1));
                let object = self.firmware.arg(Word::Object, object, self.out.entities);
                let word = if stored.kind == Kind::ActiveAdd { "active object added" } else { "active object removed" };
                self.instant(Single::HostLink, word, &[object])
            }
            Kind::TestPaused => self.instant(Single::HostLink, "test paused", &[]),
            Kind::Run => self.instant(Single::HostLink, "QF_RUN", &[]),
            Kind::TestProbeGet => {
                let data = self.firmware.arg(Word::Data, ArgValue::Uint(fields.uint(2)), self.out.entities);
                self.instant(Single::HostLink, "test probe", &[data])
            }
            Kind::TargetDone => self.command("done", fields.uint(1)),
            Kind::RxStatus => match fields.uint(1) {
                status @ 0..128 => self.command("acknowledged", status),
                status => self.command("error", status & 0x7F),
            },
            Kind::QueryData => self.instant(Single::HostLink, "query data", &[]),
            Kind::PeekData => {
                let data = self.firmware.arg(Word::Count, ArgValue::Uint(fields.uint(3)), self.out.entities);
                self.instant(Single::HostLink, "peek data", &[data])
            }
            // Names, what the target tells of itself, and what is told by other records as well.
            _ => None,
        }
    }

    pub(super) fn put_event(&mut self, kind: EventKind) -> Option<()> {
        put(self.out.batch, self.firmware.core, self.now, kind);
        Some(())
    }

    /// The active object missed an event.
    fn not_posted(&mut self, fields: &Fields<'_>) -> Option<()> {
        let object = self.object(fields.uint(3))?;
        let signal = self.signal(fields.uint(2), Some(object))?;
        let to = self.firmware.machine(object, self.from, self.out.entities)?;
        let by = self.origin(fields, 1);
        self.put_event(EventKind::NotPosted { to, by, signal })
    }

    /// An attempt of something with an event that failed.
    fn failure(
        &mut self,
        what: &str,
        fields: &Fields<'_>,
        (signal, object): (usize, Option<usize>),
        more: &[(Word, usize)],
    ) -> Option<()> {
        let address = object.map(|object| fields.uint(object));
        let index = address.and_then(|address| self.firmware.tables.object(address));
        let (names, entities) = (&self.from.names, &mut *self.out.entities);
        let signal = self.firmware.tables.signal(fields.uint(signal) as u32, index, names, entities)?;
        let text = format!("{what} failed: {}", self.out.entities.names.get(signal.index())?);
        let mut args = [None; 3];
        if let Some(address) = address {
            let object = self.named(address);
            args[0] = self.firmware.arg(Word::Object, object, self.out.entities);
        }
        for (place, &(word, field)) in args.iter_mut().skip(1).zip(more) {
            *place = self.firmware.arg(word, ArgValue::Uint(fields.uint(field)), self.out.entities);
        }
        self.instant(Single::Failures, &text, &args)
    }

    fn sync_failure(&mut self, what: &str, fields: &Fields<'_>) -> Option<()> {
        let object = self.named(fields.uint(1));
        let object = self.firmware.arg(Word::Object, object, self.out.entities);
        let thread = self.firmware.arg(Word::Thread, ArgValue::Uint(fields.uint(2)), self.out.entities);
        self.instant(Single::Failures, &format!("{what} failed"), &[object, thread])
    }

    /// The life of an event, which is drawn only when asked for.
    fn memory(&mut self, what: &str, fields: &Fields<'_>, signal: usize, more: Option<(Word, usize)>) -> Option<()> {
        let (names, entities) = (&self.from.names, &mut *self.out.entities);
        let signal = self.firmware.tables.signal(fields.uint(signal) as u32, None, names, entities)?;
        let text = format!("{what} {}", self.out.entities.names.get(signal.index())?);
        let more = more.and_then(|(word, field)| self.firmware.arg(word, ArgValue::Uint(fields.uint(field)), self.out.entities));
        self.instant(Single::Memory, &text, &[more])
    }

    fn semaphore(&mut self, kind: Kind, fields: &Fields<'_>) -> Option<()> {
        let object = self.firmware.tables.object(fields.uint(1))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, Part::Sync), self.from, self.out.entities)?;
        let (thread, count) = (fields.uint(2) as u8, fields.uint(3));
        let word = match kind {
            Kind::SemTake => "take",
            Kind::SemSignal => "signal",
            _ => "block",
        };
        let label = self.out.entities.add_name(word)?;
        let count = self.firmware.arg(Word::Count, ArgValue::Uint(count), self.out.entities)?;
        let args = match (kind, self.firmware.arg(Word::Thread, ArgValue::Uint(thread.into()), self.out.entities)) {
            (Kind::SemTake | Kind::SemBlock, Some(thread)) => self.out.batch.add_args(&[count, thread]),
            _ => self.out.batch.add_args(&[count]),
        };
        self.put_event(EventKind::Instant { lane, label: label.into(), args });
        match kind {
            Kind::SemTake => self.unblock(thread),
            Kind::SemBlock => self.block(thread, fields.uint(1)),
            _ => Some(()),
        }
    }

    fn mutex(&mut self, kind: Kind, fields: &Fields<'_>) -> Option<()> {
        let object = self.firmware.tables.object(fields.uint(1))?;
        let lane = self.firmware.lane_of(object, (LaneKind::Events, Part::Sync), self.from, self.out.entities)?;
        let (holder, number) = (fields.uint(2) as u8, fields.uint(3));
        let stretch = self.firmware.stretch;
        match kind {
            Kind::MutexLock => {
                self.unblock(holder);
                let place = self.firmware.tables.objects.get_mut(object)?;
                // Taken again by its holder.
                if number > 1 && place.held_in == Some(stretch) {
                    return Some(());
                }
                if place.held_in.replace(stretch) == Some(stretch) {
                    self.put_event(EventKind::SpanEnd { lane, args: Args::NONE });
                }
                let label = self.out.entities.add_name(&format!("held by priority {holder}"))?;
                self.put_event(EventKind::SpanBegin { lane, label: label.into(), args: Args::NONE })
            }
            Kind::MutexUnlock => {
                let place = self.firmware.tables.objects.get_mut(object)?;
                if number > 0 || place.held_in.take() != Some(stretch) {
                    return Some(());
                }
                self.put_event(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            _ => self.block(number as u8, fields.uint(1)),
        }
    }

    /// A thread waits for an object.
    fn block(&mut self, thread: u8, object: u64) -> Option<()> {
        self.unblock(thread);
        let lane = self.firmware.thread(thread, self.out.entities)?;
        let object = self.named(object);
        let object = self.firmware.arg(Word::Object, object, self.out.entities)?;
        let label = self.out.entities.add_name("blocked")?;
        let args = self.out.batch.add_args(&[object]);
        *self.course.blocked.get_mut(usize::from(thread))? = true;
        self.put_event(EventKind::SpanBegin { lane, label: label.into(), args })
    }

    fn unblock(&mut self, thread: u8) -> Option<()> {
        if std::mem::take(self.course.blocked.get_mut(usize::from(thread))?) {
            let lane = self.firmware.thread(thread, self.out.entities)?;
            self.put_event(EventKind::SpanEnd { lane, args: Args::NONE })?;
        }
        Some(())
    }
}
