//! The names and parameters of events: built in for known kernels, from the recording's modules, and from the text files that
//! SystemView's users keep (`--systemview-desc`).
//!
//! A line of such a file is `ID name parameter=%u, … | Returns %u`. The letter is the kind of the parameter; a longer word is a type that a
//! line `NamedType Word 0=zero 1=one *=%u` defines. Modules describe themselves by a text `M=name, 0 event parameter=%u, 1 event, …`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use super::packet::ID_LIMIT;
use super::record::id;
use crate::model::ObjectOp;

/// The ids of FreeRTOS's functions, by port.
const FREERTOS: &str = include_str!("freertos.txt");
/// The ids of Zephyr's functions.
const ZEPHYR: &str = include_str!("zephyr.txt");
/// Those of its power management up to version 3.0.
const ZEPHYR_POWER_3_0: &str = "155 pm_system_suspend ticks=%u
156 pm_device_runtime_get device=%I
157 pm_device_runtime_put device=%I
158 pm_device_runtime_put_async device=%I
159 pm_device_runtime_enable device=%I
160 pm_device_runtime_disable device=%I
161 syscall name=%s";
/// Those of others.
const OTHERS: &str = include_str!("others.txt");

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Uint,
    Int,
    Hex,
    Task,
    Resource,
    Text,
}

/// The names of the values of a type.
pub type Values = Arc<BTreeMap<i64, Arc<str>>>;

/// A parameter, or a result, whose name is empty.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: Arc<str>,
    pub kind: Kind,
    pub values: Option<Values>,
}

/// The effect of a function, if more of it is drawn than an instant with arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    None,
    Delay,
    DelayUntil,
    Object(ObjectOp),
    /// The fourth argument may say that the item is only looked at.
    Receive,
    Suspend,
    Resume,
    SetPriority,
    /// A task has the priority of one that waits for it, until it has its own again.
    InheritPriority,
    DisinheritPriority,
    /// A task that is ready may move to the list of another priority.
    Inherit,
    DeleteTask,
    /// Zephyr: the running thread will sleep, unless it yields instead, because the time is 0.
    Sleep,
    Yield,
    /// Zephyr: the caller ends the sleep of another thread.
    Wake,
    /// Zephyr: a thread that waits lends its priority to the owner of the mutex, or the owner gets its own one again.
    Lock,
    Unlock,
    /// A function begins, by its address and that of its call; the compiler has instrumented it.
    EnterFunction,
    ExitFunction,
}

impl Role {
    fn of(name: &str) -> Role {
        match name.trim_start_matches("esp_sysview_").trim_end_matches("FromISR") {
            "vTaskDelay" => Role::Delay,
            "vTaskDelayUntil" | "xTaskDelayUntil" => Role::DelayUntil,
            "xQueueGenericSend" | "xQueueGive" => Role::Object(ObjectOp::Send),
            "xQueueGenericReceive" | "xQueueReceive" | "xQueueSemaphoreTake" => Role::Receive,
            "xQueuePeek" => Role::Object(ObjectOp::Peek),
            "vQueueDelete" => Role::Object(ObjectOp::Delete),
            "vTaskSuspend" => Role::Suspend,
            "vTaskResume" | "xTaskResume" => Role::Resume,
            "vTaskPrioritySet" => Role::SetPriority,
            "priority_inherit" => Role::InheritPriority,
            "priority_disinherit" => Role::DisinheritPriority,
            "xTaskPriorityInherit" | "vTaskPriorityInherit" | "vTaskPriorityDisinheritAfterTimeout" => Role::Inherit,
            "vTaskDelete" => Role::DeleteTask,
            "k_sleep" | "k_msleep" | "k_usleep" => Role::Sleep,
            "k_thread_wakeup" | "k_thread_resume" => Role::Wake,
            "k_thread_yield" => Role::Yield,
            "k_thread_suspend" | "tx_thread_suspend" => Role::Suspend,
            "k_thread_abort" | "tx_thread_terminate" => Role::DeleteTask,
            "k_thread_priority_set" => Role::SetPriority,
            "k_mutex_lock" => Role::Lock,
            "k_mutex_unlock" => Role::Unlock,
            "function_enter" => Role::EnterFunction,
            "function_exit" => Role::ExitFunction,
            _ => Role::None,
        }
    }
}

/// A described event.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: Arc<str>,
    pub parameters: Vec<Parameter>,
    pub result: Option<Parameter>,
    pub role: Role,
}

/// The kernel whose ids are in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// In Espressif's port.
    FreeRtosEspressif,
    FreeRtos,
    Zephyr,
    /// One in the table of others, by its name there.
    Other(&'static str),
}

/// The descriptions of a recording, by id.
#[derive(Clone, Debug, Default)]
pub struct Descriptions {
    events: BTreeMap<u16, Description>,
    types: BTreeMap<String, (Kind, Option<Values>)>,
    /// Those of the kernel's version, …
    of_version: BTreeMap<u16, Description>,
    /// … and of the kernel, where there is no other.
    of_kernel: Option<&'static BTreeMap<u16, Description>>,
}

impl Descriptions {
    pub fn get(&self, id: u16) -> Option<&Description> {
        self.events.get(&id).or_else(|| self.of_version.get(&id)).or_else(|| self.of_kernel?.get(&id))
    }

    /// The number of events that are not the kernel's.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The kernel's function of a role, if no other event has its id.
    pub fn kernels_id_of(&self, role: Role) -> Option<u16> {
        let mut all = self.of_kernel?.iter().filter(|(_, event)| event.role == role);
        all.next().map(|(&id, _)| id).filter(|id| !self.events.contains_key(id))
    }

    /// The event of this name, if it is not the kernel's.
    pub fn id_of(&self, name: &str) -> Option<u16> {
        self.events.iter().find_map(|(&id, event)| (&*event.name == name).then_some(id))
    }

    /// Whether there is an event of this role that is not the kernel's.
    pub fn has(&self, role: Role) -> bool {
        self.events.values().any(|event| event.role == role)
    }

    /// Adds the functions of a kernel. Events of the same ids keep their descriptions.
    pub fn add_kernel(&mut self, kernel: Kernel) {
        static ESPRESSIF: LazyLock<BTreeMap<u16, Description>> = LazyLock::new(|| of_freertos(0..1));
        static SEGGER: LazyLock<BTreeMap<u16, Description>> = LazyLock::new(|| of_freertos(1..3));
        static OF_ZEPHYR: LazyLock<BTreeMap<u16, Description>> = LazyLock::new(|| {
            let mut all = Descriptions::default();
            all.add_file(ZEPHYR);
            all.events
        });
        static OF_OTHERS: LazyLock<BTreeMap<&str, BTreeMap<u16, Description>>> = LazyLock::new(|| {
            let described = |section: &'static str| {
                let (name, lines) = section.split_once('\n')?;
                let mut all = Descriptions::default();
                all.add_file(lines);
                Some((name.trim(), all.events))
            };
            OTHERS.split("\n=").skip(1).filter_map(described).collect()
        });
        self.of_kernel = match kernel {
            Kernel::FreeRtosEspressif => Some(&ESPRESSIF),
            Kernel::FreeRtos => Some(&SEGGER),
            Kernel::Zephyr => Some(&OF_ZEPHYR),
            Kernel::Other(name) => OF_OTHERS.get(name),
        };
    }

    /// Adds those functions of older versions of Zephyr whose ids others have now. `ended`: the ids whose ends are recorded, which shows the version.
    pub fn add_older_zephyr(&mut self, ended: &BTreeSet<u16>) {
        let mut older = Descriptions::default();
        // Without an end it is no allocation, with one it is not the function that frees.
        if !ended.contains(&78) {
            older.add_event(78, "k_heap_free heap=%I");
        }
        if ended.contains(&79) {
            older.add_event(79, "k_heap_aligned_alloc heap=%I timeout=%u | %p");
        }
        // Naming a thread has no end.
        if ended.contains(&155) {
            older.add_file(ZEPHYR_POWER_3_0);
        }
        self.of_version = older.events;
    }

    /// Adds a file of descriptions, which replace earlier ones of the same ids. Returns how many events it describes.
    pub fn add_file(&mut self, text: &str) -> usize {
        // Types may be defined after their use.
        text.lines().filter(|line| line.trim_start().starts_with("NamedType")).for_each(|line| self.add_type(line));
        text.lines().filter(|line| self.add_line(line)).count()
    }

    fn add_line(&mut self, line: &str) -> bool {
        let line = line.trim();
        let Some((number, rest)) = line.split_once(char::is_whitespace) else { return false };
        let Some(id) = number.parse::<u16>().ok().filter(|id| (id::FIRST_OF_KERNEL..ID_LIMIT).contains(id)) else {
            return false;
        };
        self.add_event(id, rest);
        true
    }

    /// Adds a module's description of itself; events have its `offset`. Returns the module's name.
    pub fn add_module(&mut self, offset: u16, text: &str) -> Option<String> {
        let mut name = None;
        for part in text.split(',').map(str::trim) {
            if let Some(module) = part.strip_prefix("M=") {
                name = Some(module.to_owned());
            } else if let Some((number, rest)) = part.split_once(char::is_whitespace)
                && let Ok(number) = number.parse::<u16>()
                && let Some(id) = offset.checked_add(number).filter(|&id| id < ID_LIMIT)
            {
                self.add_event(id, rest);
            }
        }
        name
    }

    /// Adds the event `name parameter=%u …`.
    fn add_event(&mut self, id: u16, text: &str) {
        let (call, result) = text.split_once('|').unwrap_or((text, ""));
        let mut words = call.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { return };
        let parameters = words.filter_map(|word| {
            let (name, kind) = word.split_once("=%")?;
            Some(self.parameter(name, kind))
        });
        let parameters = parameters.collect();
        let result = result.split('%').nth(1).map(|kind| self.parameter("", kind));
        self.events.insert(id, Description { name: name.into(), parameters, result, role: Role::of(name) });
    }

    fn parameter(&self, name: &str, kind: &str) -> Parameter {
        let word: &str = kind.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("");
        let (kind, values) = match self.types.get(word) {
            Some((kind, values)) => (*kind, values.clone()),
            None => (kind_of(word), None),
        };
        Parameter { name: name.into(), kind, values }
    }

    fn add_type(&mut self, line: &str) {
        let mut words = words(line).into_iter().skip(1);
        let Some(name) = words.next() else { return };
        let (mut kind, mut values) = (Kind::Uint, BTreeMap::new());
        for word in words {
            let Some((value, text)) = word.split_once('=') else { continue };
            let is_hex = value.strip_prefix("0x").or(value.strip_prefix("0X"));
            let number = is_hex.map_or_else(|| value.parse().ok(), |digits| i64::from_str_radix(digits, 16).ok());
            match number {
                Some(number) => {
                    if number < 0 {
                        kind = Kind::Int;
                    }
                    values.insert(number, text.into());
                }
                None if value == "*" => kind = text.split_once('%').map_or(kind, |(_, letter)| kind_of(letter)),
                None => {}
            }
        }
        self.types.insert(name, (kind, Some(Arc::new(values))));
    }
}

/// The functions of FreeRTOS with the ids in these columns of the table: in Espressif's port, in SEGGER's before and since its version 3.6.
fn of_freertos(columns: std::ops::Range<usize>) -> BTreeMap<u16, Description> {
    let mut all = Descriptions::default();
    // Of two functions with one id, the first counts.
    for line in FREERTOS.lines().rev().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(4, ' ');
        let ids: Vec<Option<u16>> = parts.by_ref().take(3).map(|text| text.parse().ok()).collect();
        let Some(rest) = parts.next() else { continue };
        ids.get(columns.clone()).into_iter().flatten().flatten().for_each(|&id| all.add_event(id, rest));
    }
    all.events
}

fn kind_of(letters: &str) -> Kind {
    match letters.chars().next() {
        Some('d' | 'i') => Kind::Int,
        Some('x' | 'X' | 'p') => Kind::Hex,
        Some('t') => Kind::Task,
        Some('I') => Kind::Resource,
        Some('s') => Kind::Text,
        _ => Kind::Uint,
    }
}

/// The words of a line; spaces within quotes do not separate, and the quotes are dropped.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_their_ids() {
        let name = |kernel, id| {
            let mut all = Descriptions::default();
            all.add_kernel(kernel);
            all.get(id).map(|event| event.name.to_string())
        };
        assert_eq!(name(Kernel::FreeRtosEspressif, 34).as_deref(), Some("vTaskDelay"));
        assert_eq!(name(Kernel::FreeRtosEspressif, 35).as_deref(), Some("vTaskDelayUntil"));
        assert_eq!(name(Kernel::FreeRtos, 35).as_deref(), Some("vTaskDelay"));
        assert_eq!(name(Kernel::FreeRtos, 90).as_deref(), Some("xQueueGenericSend"));
        assert_eq!(name(Kernel::FreeRtos, 197).as_deref(), Some("vTaskDelay"));
        assert_eq!(name(Kernel::FreeRtos, 311).as_deref(), Some("xStreamBufferSend"));
        assert_eq!(name(Kernel::Zephyr, 42).as_deref(), Some("k_sem_take"));
        assert_eq!(name(Kernel::Other("threadx"), 99).as_deref(), Some("tx_thread_sleep"));
        assert_eq!(name(Kernel::Other("ucos2"), 49).as_deref(), Some("OSSemPend"));
        assert_eq!(name(Kernel::Other("ucos3"), 50).as_deref(), Some("OSSemPend"));
        assert_eq!(name(Kernel::Other("mynewt"), 93).as_deref(), Some("os_mbuf_free_chain"));
        assert_eq!(name(Kernel::Zephyr, 500), None);
    }

    #[test]
    fn descriptions_of_a_file_replace_the_kernels() {
        for (kernel, id) in [(Kernel::FreeRtosEspressif, 34), (Kernel::FreeRtos, 35), (Kernel::Zephyr, 42)] {
            let mut all = Descriptions::default();
            assert_eq!(all.add_file(&format!("{id} own a=%u")), 1);
            all.add_kernel(kernel);
            assert_eq!(all.get(id).map(|event| &*event.name), Some("own"));
            assert_eq!(all.get(id + 1).map(|event| &*event.name == "own"), Some(false));
        }
    }

    #[test]
    fn files_define_types_and_results() {
        let mut all = Descriptions::default();
        let text = "# a comment\n42 k_sem_take  sem=%I, Timeout=%TimeOut | Returns (void)(%Code)\n7 too_low x=%u\nTaskState 0xBF 1=dummy\n\
                    NamedType TimeOut *=\"%u ticks\" 0=NO_WAIT 0xFFFFFFFF=FOREVER\nNamedType Code *=%i 0=OK -11=EAGAIN\n5000 too_high\n";
        assert_eq!(all.add_file(text), 1);
        let event = all.get(42).expect("it is described");
        assert_eq!((&*event.parameters[0].name, event.parameters[0].kind), ("sem", Kind::Resource));
        let timeout = &event.parameters[1];
        assert_eq!((timeout.kind, timeout.values.as_ref().map(|values| &*values[&0xFFFF_FFFF])), (Kind::Uint, Some("FOREVER")));
        let result = event.result.as_ref().expect("it has a result");
        assert_eq!((result.kind, result.values.as_ref().map(|values| &*values[&-11])), (Kind::Int, Some("EAGAIN")));
    }

    #[test]
    fn modules_describe_themselves() {
        let mut all = Descriptions::default();
        assert_eq!(all.add_module(600, "M=radio, 0 send bytes=%u to=%p, 1 sleep,T=x").as_deref(), Some("radio"));
        assert_eq!(all.get(600).map(|event| (&*event.name, event.parameters.len())), Some(("send", 2)));
        assert_eq!(all.get(601).map(|event| &*event.name), Some("sleep"));
        assert_eq!(all.add_module(65_535, "0 a b=%u"), None);
        assert_eq!(all.len(), 2);
    }
}
