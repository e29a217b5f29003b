//! From the target's ids to the entities of each session, and the names of events.
//!
//! Cores share a kernel, so all inputs share these. Everything that the first pass found is made at once, in a fixed order: it does not
//! matter which input comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::descriptions::{Description, Descriptions, Kernel, Kind, Role, Values};
use super::super::functions::{self, ModuleEvents};
use super::super::hooks::Hooks;
use super::super::packet::Reading;
use super::super::scan::{HEAP_EVENT, HEAP_MODULE, Init, Named, ScanFacts, Setup};
use super::names::Names;
use crate::clock::SESSIONS_LIMIT;
use crate::model::{
    CoreId, Entities, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner, NameId, Object, ObjectId, ObjectKind, RecentMap,
    RecordedWaits, Session, Task, TaskId, TaskKind, lossy,
};
use crate::symbols::{Symbols, exception_name};

/// More names are looked up each time.
const NAMES_LIMIT: usize = 1 << 16;

/// The end of the names of variables that hold all tasks of a function in embassy.
const EMBASSY_POOL: &str = "::POOL";

/// A timer is part of a thread only if it is this near to the thread's begin, in units of ids.
const WITHIN_THREAD: u32 = 512;

/// The numbers of lanes, by purpose.
mod lane {
    pub const MARKERS: u32 = 0;
    pub const TIMERS: u32 = 1 << 28;
    pub const DATA: u32 = 2 << 28;
    pub const CALLS: u32 = 3 << 28;
    pub const LOG: u32 = 4 << 28;
    pub const FUNCTIONS: u32 = 5 << 28;
}

fn lane_number(base: u32, id: u32) -> u32 {
    base.wrapping_add(id & 0x0FFF_FFFF)
}

/// The entities of one session.
#[derive(Default)]
pub struct Ids {
    tasks: RecentMap<TaskId>,
    idle: RecentMap<TaskId>,
    isrs: RecentMap<IsrId>,
    objects: RecentMap<ObjectId>,
    lanes: RecentMap<LaneId>,
    /// By purpose and task.
    task_lanes: RecentMap<LaneId>,
}

/// A described event, with its names as handles.
pub struct Labelled {
    pub name: Option<NameId>,
    pub role: Role,
    pub from_isr: bool,
    /// Name, kind and values of each parameter, then of the result.
    pub parameters: Vec<(Option<NameId>, Kind, Option<Values>)>,
    pub result: Option<(Kind, Option<Values>)>,
    /// Whether its end is recorded.
    pub has_end: bool,
}

/// How far from the begins of threads the timers are that end their waits: most timers are there, and at least two.
fn timeouts_at<'a>(tasks: &[u32], timers: impl Iterator<Item = &'a u32>) -> Option<u32> {
    let mut timers_at: BTreeMap<u32, usize> = BTreeMap::new();
    for &timer in timers {
        let before = tasks.partition_point(|&task| task < timer).checked_sub(1);
        let distance = before.and_then(|before| tasks.get(before)).map(|&task| timer - task);
        if let Some(distance) = distance.filter(|&distance| distance < WITHIN_THREAD) {
            *timers_at.entry(distance).or_default() += 1;
        }
    }
    // Of several, the nearest.
    timers_at.into_iter().filter(|&(_, timers)| timers > 1).rev().max_by_key(|&(_, timers)| timers).map(|(distance, _)| distance)
}

/// The name of NuttX's idle task, if it has one core: SystemView's packet for an idle core is what its hooks record of it.
const NUTTX_IDLE: &[u8] = b"Idle_Task";

/// The facts about the recording as a whole.
pub struct Shared {
    /// The configuration of each session.
    inits: Vec<Init>,
    pub descriptions: Descriptions,
    pub kernel: Option<Kernel>,
    /// The values of the system's description, by key.
    pub system: BTreeMap<String, String>,
    /// The operating system whose hooks record.
    pub hooks: Hooks,
    /// The id that embassy's executor names instead of that of each task without a name.
    pub nobody: Option<u32>,
    /// Which waits of tasks are recorded.
    pub waits: RecordedWaits,
    /// The names of modules, by event offset.
    pub modules: BTreeMap<u32, String>,
    /// The first id of the heap module.
    pub heap_offset: Option<u16>,
    /// The events of modules that are not described.
    pub unnamed: Vec<u16>,
    /// Whether calls of functions are recorded, and the first id of their events if only the program shows that.
    pub has_functions: bool,
    pub inferred_functions: Option<u16>,
    pub names: Names,
    /// The program, whose variables name what has no name.
    symbols: Option<Arc<Symbols>>,
    /// Those of tasks and resources that were used, as handles, if they have one.
    name_ids: RecentMap<Option<NameId>>,
    ended: BTreeSet<u16>,
    /// The event that says after the fact that a task has inherited a priority.
    pub inherit: Option<u16>,
    tasks: Vec<u32>,
    /// How far from the begin of an RT-Thread's thread the timer is that ends its waits, in units of ids.
    timeouts_at: Option<u32>,
    /// The id of the idle task, if it is known.
    pub idle_task: Option<u32>,
    interrupts: Vec<(CoreId, u32)>,
    cores: Vec<CoreId>,
    /// By id, while they are not taken.
    labels: Vec<Option<Box<Labelled>>>,
    sessions: Vec<Ids>,
    /// Purpose, id and kind.
    lanes: Vec<(u32, u32, LaneKind)>,
    data_types: BTreeMap<u32, u32>,
}

/// The configuration of each session: the one after its start, or else that of the session before.
fn inits_of(setups: &[Setup]) -> Vec<Init> {
    let first = setups.iter().find_map(|setup| setup.facts.init).unwrap_or_default();
    let sessions = setups.iter().map(|setup| setup.restarts().count()).max().unwrap_or(0).min(SESSIONS_LIMIT as usize - 1);
    let mut inits = vec![first];
    let mut starts: Vec<_> = setups.iter().map(Setup::restarts).collect();
    for _ in 0..sessions {
        // Each input is one session further.
        let found: Vec<Option<Init>> = starts.iter_mut().map(|starts| starts.next().and_then(|start| start.init)).collect();
        let init = found.into_iter().flatten().find(|init| init.rate().is_some());
        inits.push(init.or(inits.last().copied()).unwrap_or(first));
    }
    inits
}

impl Shared {
    /// The configuration in a session.
    pub fn init(&self, session: u32) -> Init {
        self.inits.get(session as usize).or(self.inits.last()).copied().unwrap_or_default()
    }

    pub fn new(setups: &[Setup]) -> Shared {
        let facts = || setups.iter().map(|setup| &setup.facts);
        let inits = inits_of(setups);
        let mut system = BTreeMap::new();
        for text in facts().flat_map(|facts| &facts.descriptions) {
            for item in lossy(text).split(',') {
                // NuttX sends the device of a board without a host name as `D=`.
                if let Some((key, value)) = item.split_once('=').filter(|(_, value)| !value.trim().is_empty()) {
                    system.entry(key.trim().to_owned()).or_insert_with(|| value.trim().to_owned());
                }
            }
        }
        let os = system.get("O").map(String::as_str).unwrap_or_default();
        let hooks = match Hooks::of(os) {
            Hooks::Other if facts().any(|facts| facts.nobody().is_some()) => Hooks::Embassy,
            hooks => hooks,
        };
        let nobody = facts().find_map(|facts| facts.nobody()).filter(|_| hooks == Hooks::Embassy);
        let is_espressif = setups.iter().any(|setup| setup.reading == Reading::CoreBit);
        let kernel = if is_espressif { Some(Kernel::FreeRtosEspressif) } else { hooks.kernel(os) };
        // Where the hooks record it, no task was made ready.
        let is_recorded = |facts: &ScanFacts| if hooks.stop_for_any_cause() { facts.has_wake_ups } else { facts.has_readiness };
        let has_readiness = is_espressif || hooks.record_readiness() || facts().any(is_recorded);
        let waits = match hooks.record_waits(facts().any(|facts| facts.has_causes)) {
            true => RecordedWaits::All,
            false if has_readiness => RecordedWaits::Ends,
            false => RecordedWaits::Nothing,
        };
        let mut descriptions = Descriptions::default();
        for (_, text) in setups.first().map(|setup| setup.options.descriptions.as_slice()).unwrap_or(&[]) {
            descriptions.add_file(text);
        }
        let (mut modules, mut heap_offset) = (BTreeMap::new(), None);
        for (&offset, text) in
            facts().flat_map(|facts| &facts.modules).flat_map(|(offset, texts)| texts.iter().map(move |text| (offset, text)))
        {
            let Ok(first) = u16::try_from(offset) else { continue };
            if memchr::memmem::find(text, HEAP_MODULE).is_some() {
                heap_offset = heap_offset.or(Some(first));
            }
            if let Some(name) = descriptions.add_module(first, &lossy(text)) {
                modules.insert(offset, name);
            }
            if text.starts_with(functions::MODULE) {
                descriptions.add_module(first, functions::EVENTS);
            }
        }
        let ended: BTreeSet<u16> = facts().flat_map(|facts| facts.ended.iter().copied()).collect();
        let mut module_events = ModuleEvents::default();
        facts().for_each(|facts| module_events.append(facts.module_events.clone()));
        let symbols = setups.first().and_then(|setup| setup.options.program.as_ref()).map(|program| program.symbols.clone());
        let heap_of_file = descriptions.id_of(HEAP_EVENT).map(|id| id..=id.saturating_add(1));
        // ESP-IDF's file says that the first module is the heap, whatever it is.
        let is_described = |id| descriptions.get(id).is_some() && !heap_of_file.as_ref().is_some_and(|heap| heap.contains(&id));
        let inferred_functions = symbols.as_deref().and_then(|symbols| module_events.functions(symbols, is_described));
        if let Some(first) = inferred_functions {
            descriptions.add_module(first, functions::EVENTS);
        }
        let heap_offset = heap_offset.or_else(|| descriptions.id_of(HEAP_EVENT));
        if let Some(first) = heap_offset {
            descriptions.add_module(first, "0 heap_alloc addr=%p size=%u, 1 heap_free addr=%p");
        }
        if let Some(kernel) = kernel {
            descriptions.add_kernel(kernel);
        }
        if kernel == Some(Kernel::Zephyr) {
            descriptions.add_older_zephyr(&ended);
        }
        let unnamed = module_events.ids().filter(|&id| descriptions.get(id).is_none()).collect();
        let has_functions = descriptions.has(Role::EnterFunction);
        let mut lanes = Vec::new();
        let mut add = |base, id, kind| lanes.push((base, id, kind));
        facts().flat_map(|facts| &facts.markers).for_each(|&id| add(lane::MARKERS, id, LaneKind::Events));
        facts().flat_map(|facts| &facts.timers).for_each(|&id| add(lane::TIMERS, id, LaneKind::Events));
        facts().flat_map(|facts| &facts.data).for_each(|&id| add(lane::DATA, id, LaneKind::Values));
        let mut cores: Vec<CoreId> = setups.iter().flat_map(Setup::cores).collect();
        cores.sort_unstable();
        cores.dedup();
        for base in [lane::CALLS, lane::FUNCTIONS].into_iter().take(1 + usize::from(has_functions)) {
            cores.iter().for_each(|core| add(base, u32::from(core.0), LaneKind::Events));
        }
        add(lane::LOG, 0, LaneKind::Log);
        let idle_task = match (setups, kernel) {
            ([setup], Some(Kernel::FreeRtos)) => setup.facts.idle_task(),
            ([setup], _) if hooks == Hooks::NuttX => setup.facts.named_idle_task(NUTTX_IDLE),
            _ => None,
        };
        let mut tasks: Vec<u32> = facts().flat_map(|facts| facts.tasks.keys()).copied().collect();
        tasks.retain(|&task| Some(task) != idle_task && Some(task) != nobody);
        tasks.sort_unstable();
        tasks.dedup();
        let mut interrupts: Vec<(CoreId, u32)> = Vec::new();
        for setup in setups {
            interrupts.extend(setup.facts.interrupts.iter().map(|&(bit, number)| (setup.core_of(bit), number)));
        }
        interrupts.sort_unstable();
        interrupts.dedup();
        let inherit = descriptions.kernels_id_of(Role::Inherit).filter(|event| !ended.contains(event));
        Shared {
            inits,
            descriptions,
            kernel,
            system,
            hooks,
            nobody,
            waits,
            modules,
            heap_offset,
            unnamed,
            has_functions,
            inferred_functions,
            names: Names::new(setups),
            symbols,
            name_ids: RecentMap::default(),
            ended,
            inherit,
            timeouts_at: timeouts_at(&tasks, facts().flat_map(|facts| &facts.timers)).filter(|_| hooks == Hooks::RtThread),
            tasks,
            idle_task,
            interrupts,
            cores,
            labels: Vec::new(),
            sessions: Vec::new(),
            lanes,
            data_types: facts().flat_map(|facts| &facts.data_types).map(|(&data, &kind)| (data, kind)).collect(),
        }
    }

    /// The registered type of a sampled value: unsigned, signed, or with a fraction.
    pub fn data_type(&self, data: u32) -> Option<u32> {
        self.data_types.get(&data).copied()
    }

    /// The name of a task or resource: the recorded one, or that of the variable that it is in the program.
    fn name(&self, kind: Named, id: u32, session: u32, life: u32) -> Option<Arc<str>> {
        self.recorded(kind, id, session, life).or_else(|| self.variable(self.init(session).address(id.into())))
    }

    /// The recorded name. µC/OS-II calls everything `?` that has none, and Zephyr each thread by its address and that of its entry.
    fn recorded(&self, kind: Named, id: u32, session: u32, life: u32) -> Option<Arc<str>> {
        let name = self.names.get(kind, id, session, life).filter(|name| !matches!(&**name, "" | "?"))?;
        let is_address = self.hooks == Hooks::Zephyr
            && kind == Named::Task
            && name
                .strip_prefix("T0x")
                .and_then(|name| name.split_once("E0x"))
                .is_some_and(|(address, _)| u64::from_str_radix(address, 16) == Ok(self.init(session).address(id.into())));
        Some(name).filter(|_| !is_address)
    }

    /// The thread whose wait this timer ends: RT-Thread records no more of it.
    pub fn timed_out(&self, timer: u32) -> Option<u32> {
        let task = timer.checked_sub(self.timeouts_at?)?;
        self.tasks.binary_search(&task).is_ok().then_some(task)
    }

    /// How many timers end waits of threads.
    pub fn timeouts(&self) -> usize {
        let is_timeout = |&&(base, id, _): &&(u32, u32, LaneKind)| base == lane::TIMERS && self.timed_out(id).is_some();
        self.lanes.iter().filter(is_timeout).count()
    }

    /// The variable that begins at an address. Of embassy's, which has room for several tasks of one function, any part.
    fn variable(&self, address: u64) -> Option<Arc<str>> {
        let (name, offset) = self.symbols.as_ref()?.data_at(address)?;
        match name.strip_suffix(EMBASSY_POOL) {
            Some(function) => Some(function.into()),
            None => Some(Arc::from(name)).filter(|_| offset == 0),
        }
    }

    /// How many tasks have no recorded name, but are variables of the program.
    pub fn variables(&self) -> usize {
        let is_variable = |&&task: &&u32| {
            self.recorded(Named::Task, task, 0, 0).is_none() && self.variable(self.init(0).address(task.into())).is_some()
        };
        self.tasks.iter().filter(is_variable).count()
    }

    pub fn task_names(&self) -> usize {
        let is_named = |task| self.hooks != Hooks::Zephyr || self.recorded(Named::Task, task, 0, 0).is_some();
        self.names.ids(Named::Task).iter().filter(|&&task| Some(task) != self.nobody && is_named(task)).count()
    }

    /// Makes the entities of all sessions up to this one.
    pub fn prepare(&mut self, session: u32, entities: &mut Entities) {
        while self.sessions.len() <= session as usize && self.sessions.len() < SESSIONS_LIMIT as usize {
            let session = self.sessions.len() as u32;
            self.sessions.push(Ids::default());
            // Hostile input reaches the limits of entities; then the rest is not tried.
            'tasks: for number in self.tasks.clone() {
                for life in 0..self.names.lives(number, session) {
                    let Some(task) = self.task(number, life, session, entities) else { break 'tasks };
                    self.call_lane(CoreId(0), Some(task), session, entities);
                    if self.has_functions {
                        self.function_lane(CoreId(0), Some(task), session, entities);
                    }
                }
            }
            for core in self.cores.clone() {
                self.idle(core, session, entities);
            }
            for (core, number) in self.interrupts.clone() {
                if self.isr(core, number, session, entities).is_none() {
                    break;
                }
            }
            for &(base, id, kind) in &self.lanes {
                let (number, name) = (lane_number(base, id), self.lane_name(base, id, session));
                let lane = Lane { number, name: Some(name.into()), owner: LaneOwner::Firmware, kind, session };
                let (Some(lane), Some(ids)) = (entities.add_lane(lane), self.sessions.last_mut()) else { break };
                ids.lanes.insert(u64::from(number), lane);
            }
            for resource in self.names.ids(Named::Resource) {
                if self.object(resource, session, entities).is_none() {
                    break;
                }
            }
            self.describe_session(session, entities);
        }
    }

    fn lane_name(&self, base: u32, id: u32, session: u32) -> String {
        let named = |kind| self.names.get(kind, id, session, 0);
        let name = |kind, noun| named(kind).map_or_else(|| format!("{noun} {id}"), |name| name.to_string());
        match base {
            lane::MARKERS => name(Named::Marker, "marker"),
            lane::TIMERS => {
                let resource = |id| format!("0x{:08X}", self.init(session).address(u64::from(id)));
                let task = self.timed_out(id);
                let waits = task
                    .map(|task| self.name(Named::Task, task, session, 0).map_or_else(|| resource(task), |name| name.to_string()));
                match (waits, named(Named::Resource)) {
                    (Some(task), _) => format!("timeout of {task}"),
                    (None, Some(name)) => format!("timer {name}"),
                    (None, None) => format!("timer {}", resource(id)),
                }
            }
            lane::DATA => name(Named::Data, "data"),
            lane::CALLS => format!("calls outside of tasks, core {id}"),
            lane::FUNCTIONS => format!("functions outside of tasks, core {id}"),
            _ => "messages".to_owned(),
        }
    }

    fn describe_session(&self, session: u32, entities: &mut Entities) {
        let keys = [("N", "application"), ("D", "device"), ("C", "core"), ("O", "operating system")];
        let details = keys.iter().filter_map(|(key, name)| Some((Arc::from(*name), Arc::from(self.system.get(*key)?.as_str()))));
        let name = self.system.get("O").map(|os| Arc::from(os.as_str()));
        let described = Session { name, details: details.collect(), priorities: self.hooks.priorities() };
        entities.describe_session(session, described);
    }

    fn ids(&mut self, session: u32) -> Option<&mut Ids> {
        self.sessions.get_mut(session as usize)
    }

    pub fn task(&mut self, id: u32, life: u32, session: u32, entities: &mut Entities) -> Option<TaskId> {
        let key = u64::from(life) << 32 | u64::from(id);
        if let Some(task) = self.ids(session)?.tasks.get(key) {
            return Some(task);
        }
        let name = self.name(Named::Task, id, session, life);
        let kind = match name.as_deref() {
            Some(name) if name.starts_with("IDLE") || name == "idle" => TaskKind::Idle,
            Some("Tmr Svc") => TaskKind::TimerService,
            _ => TaskKind::Normal,
        };
        let task = entities.add_task(Task {
            number: self.init(session).address(id.into()) as u32,
            name,
            kind,
            session,
            waits: self.waits,
        })?;
        self.ids(session)?.tasks.insert(key, task);
        Some(task)
    }

    /// The task of an id, if something was recorded of it.
    pub fn seen_task(&mut self, id: u32, life: u32, session: u32) -> Option<TaskId> {
        self.ids(session)?.tasks.get(u64::from(life) << 32 | u64::from(id))
    }

    pub fn idle(&mut self, core: CoreId, session: u32, entities: &mut Entities) -> Option<TaskId> {
        if let Some(task) = self.ids(session)?.idle.get(u64::from(core.0)) {
            return Some(task);
        }
        let (name, kind) = (Some("IDLE".into()), TaskKind::Idle);
        let idle = Task { number: u32::from(core.0), name, kind, session, waits: RecordedWaits::Ends };
        let task = entities.add_task(idle)?;
        self.ids(session)?.idle.insert(u64::from(core.0), task);
        Some(task)
    }

    pub fn isr(&mut self, core: CoreId, number: u32, session: u32, entities: &mut Entities) -> Option<IsrId> {
        let key = u64::from(core.0) << 32 | u64::from(number);
        if let Some(isr) = self.ids(session)?.isrs.get(key) {
            return Some(isr);
        }
        // SystemView numbers interrupts of ARM's microcontrollers as exceptions.
        // Zephyr records interrupts of those only, and the architecture as the last word.
        let is_zephyrs = || self.hooks == Hooks::Zephyr && self.system.get("D").is_some_and(|device| device.ends_with(" arm"));
        let is_arm = self.system.get("C").is_some_and(|core| core.to_ascii_lowercase().contains("cortex-m")) || is_zephyrs();
        let exception = || exception_name(number).filter(|_| is_arm).map(Arc::from);
        let name = self.names.get(Named::Interrupt, number, session, 0).or_else(exception);
        let isr = entities.add_isr(Isr { number, name, core, session })?;
        self.ids(session)?.isrs.insert(key, isr);
        Some(isr)
    }

    pub fn object(&mut self, id: u32, session: u32, entities: &mut Entities) -> Option<ObjectId> {
        if let Some(object) = self.ids(session)?.objects.get(u64::from(id)) {
            return Some(object);
        }
        let name = self.name(Named::Resource, id, session, 0);
        let number = self.init(session).address(id.into()) as u32;
        let object = Object { number, name, kind: ObjectKind::Unknown, session, giving_is_unrecorded: false };
        let object = entities.add_object(object)?;
        self.ids(session)?.objects.insert(u64::from(id), object);
        Some(object)
    }

    /// The name of a resource or task, for arguments.
    #[inline]
    pub fn name_of(&mut self, kind: Kind, id: u32, life: u32, session: u32, entities: &mut Entities) -> Option<NameId> {
        let kind = if kind == Kind::Task { Named::Task } else { Named::Resource };
        let key = u64::from(session) << 33 | u64::from(kind == Named::Task) << 32 | u64::from(id);
        match self.name_ids.get(key) {
            // Another life than the first is rare.
            Some(known) if life == 0 => known,
            _ => self.new_name(kind, id, life, session, key, entities),
        }
    }

    #[cold]
    fn new_name(&mut self, kind: Named, id: u32, life: u32, session: u32, key: u64, entities: &mut Entities) -> Option<NameId> {
        let name = self.name(kind, id, session, life);
        let name = name.and_then(|name| entities.add_name(&name));
        if life == 0 && self.name_ids.len() < NAMES_LIMIT {
            self.name_ids.insert(key, name);
        }
        name
    }

    /// The name of a marker.
    pub fn marker_name(&self, id: u32, session: u32) -> String {
        self.lane_name(lane::MARKERS, id, session)
    }

    pub fn marker(&mut self, id: u32, session: u32) -> Option<LaneId> {
        self.lane(lane::MARKERS, id, session)
    }

    pub fn timer(&mut self, id: u32, session: u32) -> Option<LaneId> {
        self.lane(lane::TIMERS, id, session)
    }

    pub fn data(&mut self, id: u32, session: u32) -> Option<LaneId> {
        self.lane(lane::DATA, id, session)
    }

    pub fn log(&mut self, session: u32) -> Option<LaneId> {
        self.lane(lane::LOG, 0, session)
    }

    fn lane(&mut self, base: u32, id: u32, session: u32) -> Option<LaneId> {
        self.ids(session)?.lanes.get(u64::from(lane_number(base, id)))
    }

    /// The lane of the calls of a task, or of those outside of tasks.
    pub fn call_lane(&mut self, core: CoreId, task: Option<TaskId>, session: u32, entities: &mut Entities) -> Option<LaneId> {
        self.code_lane((lane::CALLS, "calls"), core, task, session, entities)
    }

    /// The lane of the functions of a task, or of those outside of tasks.
    pub fn function_lane(&mut self, core: CoreId, task: Option<TaskId>, session: u32, entities: &mut Entities) -> Option<LaneId> {
        self.code_lane((lane::FUNCTIONS, "functions"), core, task, session, entities)
    }

    fn code_lane(
        &mut self,
        (base, name): (u32, &str),
        core: CoreId,
        task: Option<TaskId>,
        session: u32,
        entities: &mut Entities,
    ) -> Option<LaneId> {
        let Some(task) = task else { return self.lane(base, u32::from(core.0), session) };
        let key = u64::from(base) << 32 | task.index() as u64;
        if let Some(lane) = self.ids(session)?.task_lanes.get(key) {
            return Some(lane);
        }
        let owner = LaneOwner::Task(task);
        let lane = Lane { number: base, name: Some(name.into()), owner, kind: LaneKind::Events, session };
        let lane = entities.add_lane(lane)?;
        self.ids(session)?.task_lanes.insert(key, lane);
        Some(lane)
    }

    /// The names of an event, to be put back after use.
    #[inline]
    pub fn take_label(&mut self, id: u16, entities: &mut Entities) -> Box<Labelled> {
        match self.labels.get_mut(usize::from(id)).and_then(Option::take) {
            Some(label) => label,
            None => Box::new(self.new_label(id, entities)),
        }
    }

    #[inline]
    pub fn put_back(&mut self, id: u16, label: Box<Labelled>) {
        let id = usize::from(id);
        if self.labels.len() <= id {
            self.labels.resize_with(id + 1, || None);
        }
        self.labels[id] = Some(label);
    }

    #[cold]
    fn new_label(&mut self, id: u16, entities: &mut Entities) -> Labelled {
        let has_end = self.ended.contains(&id);
        match self.descriptions.get(id) {
            Some(Description { name, parameters, result, role }) => Labelled {
                name: entities.add_name(name),
                role: *role,
                from_isr: name.ends_with("FromISR"),
                parameters: parameters.iter().map(|one| (entities.add_name(&one.name), one.kind, one.values.clone())).collect(),
                result: result.as_ref().map(|one| (one.kind, one.values.clone())),
                has_end,
            },
            None => {
                let name = entities.add_name(&self.unknown_name(id));
                Labelled { name, role: Role::None, from_isr: false, parameters: Vec::new(), result: None, has_end }
            }
        }
    }

    /// Whether no other function is called within this one, and its end may be missing.
    pub fn is_leaf(&self, event: u16) -> bool {
        let name = self.descriptions.get(event).map(|described| &*described.name);
        matches!(name, Some("k_thread_suspend" | "k_thread_resume"))
    }

    /// The name of an event without a description.
    pub fn unknown_name(&self, id: u16) -> String {
        match self.modules.range(..=u32::from(id)).next_back() {
            Some((offset, module)) => format!("{module}: event {}", u32::from(id) - offset),
            None => format!("event {id}"),
        }
    }
}
