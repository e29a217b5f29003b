//! How the hooks of operating systems use the library, where they do not do as its documentation says.
//!
//! *(Sources: SEGGER's `SEGGER_SYSVIEW_ThreadX.c`, `_uCOSIII.c`, `_uCOSII.c` and `_MicriumOSKernel.c`; NuttX's `drivers/segger/note_sysview.c`;
//! RT-Thread's `SEGGER_SYSVIEW_RTThread.c`; Zephyr's `subsys/tracing/sysview`; Apache Mynewt's `sys/sysview`;
//! embassy's `embassy-executor/src/raw/trace.rs`.)*

use super::descriptions::Kernel;
use super::record::id;
use super::scan::SystemTime;
use crate::model::PriorityOrder;

/// The operating system whose hooks record, by the system's description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hooks {
    /// One without a peculiarity, or none.
    #[default]
    Other,
    FreeRtos,
    Zephyr,
    EmbOs,
    NuttX,
    ThreadX,
    RtThread,
    /// µC/OS-II and -III, and Micrium OS.
    MicroCos,
    Mynewt,
    Embassy,
}

/// The systems by parts of their names in lower case.
const NAMES: [(&str, Hooks); 12] = [
    ("freertos", Hooks::FreeRtos),
    ("zephyr", Hooks::Zephyr),
    ("embos", Hooks::EmbOs),
    ("nuttx", Hooks::NuttX),
    ("threadx", Hooks::ThreadX),
    ("rtthread", Hooks::RtThread),
    ("rt-thread", Hooks::RtThread),
    ("ucos", Hooks::MicroCos),
    ("c/os", Hooks::MicroCos),
    ("micrium", Hooks::MicroCos),
    ("mynewt", Hooks::Mynewt),
    ("embassy", Hooks::Embassy),
];

/// Products of 32 bits of ticks and 1000 begin again here, in microseconds.
const WRAP_US: u64 = 1 << 32;

/// How long the clock of the system may show the same time, in microseconds: whole seconds, and ticks of 100 Hz or more that are taken for milliseconds.
const SECOND_US: u64 = 1_000_000;
const TICK_US: u64 = 20_000;

impl Hooks {
    /// The system of this name.
    #[must_use]
    pub fn of(os: &str) -> Hooks {
        let os = os.to_ascii_lowercase();
        NAMES.iter().find(|(name, _)| os.contains(name)).map_or(Hooks::Other, |&(_, hooks)| hooks)
    }

    /// The kernel whose ids these hooks have.
    #[must_use]
    pub fn kernel(self, os: &str) -> Option<Kernel> {
        let is_second = || os.to_ascii_lowercase().split("os-").nth(1).is_some_and(|version| version.trim() == "ii");
        Some(match self {
            Hooks::FreeRtos => Kernel::FreeRtos,
            Hooks::Zephyr => Kernel::Zephyr,
            Hooks::NuttX => Kernel::Other("nuttx"),
            Hooks::ThreadX => Kernel::Other("threadx"),
            Hooks::MicroCos => Kernel::Other(if is_second() { "ucos2" } else { "ucos3" }),
            Hooks::Mynewt => Kernel::Other("mynewt"),
            Hooks::EmbOs | Hooks::RtThread | Hooks::Embassy | Hooks::Other => return None,
        })
    }

    /// Whether they record each task that begins to wait, where it leaves the list of ready tasks, or its state at each switch: those of ThreadX do the
    /// second if there are causes.
    #[must_use]
    pub fn record_waits(self, has_causes: bool) -> bool {
        self == Hooks::Mynewt || self == Hooks::ThreadX && has_causes
    }

    /// Whether a task that stops being ready may only stop running: hooks that are made for ThreadX's notifications of switches do not know more.
    #[must_use]
    pub fn stop_for_any_cause(self) -> bool {
        self == Hooks::ThreadX
    }

    /// Whether they record each task that becomes ready.
    #[must_use]
    pub fn record_readiness(self) -> bool {
        matches!(self, Hooks::FreeRtos | Hooks::Zephyr | Hooks::Embassy)
    }

    /// Whether a task is ready where it is created. They record that it is created, and not that it becomes ready.
    #[must_use]
    pub fn create_ready(self) -> bool {
        matches!(self, Hooks::MicroCos | Hooks::Mynewt)
    }

    /// Whether a task may start while another one runs, and the end of the inner one lets the outer one go on: an executor in an interrupt does so.
    #[must_use]
    pub fn nest(self) -> bool {
        matches!(self, Hooks::Embassy | Hooks::Other)
    }

    /// Which priorities are higher.
    #[must_use]
    pub fn priorities(self) -> PriorityOrder {
        match self {
            Hooks::FreeRtos | Hooks::EmbOs | Hooks::NuttX => PriorityOrder::Ascending,
            Hooks::Zephyr | Hooks::ThreadX | Hooks::RtThread | Hooks::MicroCos | Hooks::Mynewt => PriorityOrder::Descending,
            Hooks::Embassy | Hooks::Other => PriorityOrder::Unknown,
        }
    }

    /// A time of the system in the unit that it should have. Zephyr sends the counter of the time stamps, and RT-Thread milliseconds.
    #[must_use]
    pub fn time(self, time: SystemTime) -> SystemTime {
        match (self, time) {
            (Hooks::Zephyr, SystemTime::Microseconds(cycles)) => SystemTime::Cycles(cycles as u32),
            (Hooks::RtThread, SystemTime::Microseconds(ms)) => SystemTime::Microseconds(ms.saturating_mul(1000)),
            _ => time,
        }
    }

    /// How long the system's clock may show the same time, in microseconds.
    #[must_use]
    pub fn clock_step_us(self) -> u64 {
        match self {
            Hooks::ThreadX => SECOND_US,
            Hooks::MicroCos => TICK_US,
            _ => 0,
        }
    }

    /// Whether a clock that shows this time, and goes on for this time, may begin again without a restart.
    #[must_use]
    pub fn clock_wraps(self, us: u64, passed_us: u64) -> bool {
        matches!(self, Hooks::RtThread | Hooks::MicroCos) && us.saturating_add(passed_us) >= WRAP_US
    }

    /// Whether a packet says that a task stops where it does not: nearly all record that a task stops being ready as the library says.
    #[inline]
    #[must_use]
    pub fn stop_otherwise(self, packet: u16) -> bool {
        packet == id::TASK_STOP_EXEC || matches!(self, Hooks::RtThread | Hooks::MicroCos)
    }

    /// Whether the used part of a stack is filled in: some leave what was in memory there.
    #[must_use]
    pub fn know_used_stack(self) -> bool {
        !matches!(self, Hooks::NuttX | Hooks::Zephyr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_their_descriptions() {
        let described = [
            "FreeRTOS V11",
            "embOS_Ultra",
            "ThreadX",
            "RTThread",
            "uCOS-III",
            "Micrium OS Kernel",
            "Apache Mynewt",
            "embassy",
            "",
        ];
        use Hooks::{EmbOs, Embassy, FreeRtos, MicroCos, Mynewt, Other, RtThread, ThreadX};
        assert_eq!(described.map(Hooks::of), [FreeRtos, EmbOs, ThreadX, RtThread, MicroCos, MicroCos, Mynewt, Embassy, Other]);
        let second = ["uCOS-II", "uCOS-III", "uC/OS-II", "Micrium OS Kernel"].map(|os| MicroCos.kernel(os));
        assert_eq!(second, ["ucos2", "ucos3", "ucos2", "ucos3"].map(|name| Some(Kernel::Other(name))));
    }

    #[test]
    fn clocks_begin_again() {
        assert!(Hooks::MicroCos.clock_wraps(4_294_000_000, 1_000_000));
        assert!(!Hooks::MicroCos.clock_wraps(4_000_000_000, 1_000_000));
        assert!(!Hooks::ThreadX.clock_wraps(4_294_000_000, 1_000_000));
    }
}
