//! Reads the text that the host program `qspy` prints, and prints our records in the same form: both must be equal, line by line.
//!
//! Wrong output of qspy, and names that it could not know yet, are listed as exceptions and counted.

use std::collections::BTreeMap;

use traceconv::format::{FieldValue, RecordView};

/// A field's value in its valid spellings. The first is by name, if there is one.
type Spellings = Vec<String>;

/// A record, in the words of qspy.
pub struct Said {
    /// Its fields, by their name.
    fields: BTreeMap<String, Spellings>,
    record: String,
    ticks: Option<u64>,
}

impl Said {
    pub fn of(view: &RecordView<'_>) -> Said {
        let mut fields: BTreeMap<String, Spellings> = BTreeMap::new();
        let text = |value: &FieldValue<'_>| match value {
            FieldValue::Uint(value) => value.to_string(),
            FieldValue::Int(value) => value.to_string(),
            FieldValue::Float(value) => value.to_string(),
            FieldValue::List(values) => format!("{values:?}"),
            FieldValue::Text(text) => (*text).to_owned(),
            FieldValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" "),
        };
        for (name, value) in view.fields {
            match name.strip_suffix("_name") {
                Some(field) => fields.entry(field.to_owned()).or_default().insert(0, text(value)),
                None => fields.entry((*name).to_owned()).or_default().push(text(value)),
            }
        }
        Said { fields, record: view.record.to_owned(), ticks: view.ticks }
    }

    fn get(&self, field: &str) -> &str {
        self.fields.get(field).and_then(|spellings| spellings.first()).map_or("", String::as_str)
    }

    /// The value without a name.
    fn raw(&self, field: &str) -> &str {
        self.fields.get(field).and_then(|spellings| spellings.last()).map_or("", String::as_str)
    }

    /// A signal of an object, which qspy writes with the object if the signal has no name of its own.
    fn signal(&self, field: &str, object: &str, is_raw: bool) -> String {
        let has_name = self.fields.get(field).is_some_and(|spellings| spellings.len() > 1);
        let number: u64 = self.raw(field).parse().unwrap_or(0);
        match (has_name && !is_raw, object) {
            (true, _) => self.get(field).to_owned(),
            (false, "") => format!("{number:08}"),
            (false, object) => format!("{number:08},Obj={}", self.raw(object)),
        }
    }

    /// The line that qspy prints for this record, without the time. `is_raw`: as if no names were known.
    pub fn line(&self, is_raw: bool) -> Option<String> {
        let own = |field: &str| if is_raw { self.raw(field).to_owned() } else { self.get(field).to_owned() };
        let event =
            |object: &str| format!("Evt<Sig={},Pool={},Ref={}>", self.signal("sig", object, is_raw), own("pool"), own("ref_ctr"));
        let step = |word: &str| format!("{word} Obj={},State={}", own("obj"), own("state"));
        let two = |word: &str| format!("{word} Obj={},State={}->{}", own("obj"), own("source"), own("target"));
        let timed = |word: &str, state: &str| {
            format!("{word} Obj={},Sig={},State={}", own("obj"), self.signal("sig", "obj", is_raw), own(state))
        };
        let rate = own("rate");
        let timer = |word: &str| {
            format!("TE{rate}-{word} Obj={},AO={},Tim={},Int={}", own("te"), own("ao"), own("ticks"), own("interval"))
        };
        let next = |word: &str| format!("{word} Pri={}->{}", own("previous"), own("next"));
        let sync = |word: &str, first: &str, second: &str, names: (&str, &str)| {
            format!("{word} {},{}={},{}={}", own("obj"), names.0, own(first), names.1, own(second))
        };
        Some(match self.record.as_str() {
            "EMPTY" => return None,
            "QEP_STATE_ENTRY" => step("===RTC===> St-Entry"),
            "QEP_STATE_EXIT" => step("===RTC===> St-Exit "),
            "QEP_STATE_INIT" => two("===RTC===> St-Init "),
            "QEP_TRAN_HIST" => two("===RTC===> St-Hist "),
            "QEP_TRAN_EP" => two("===RTC===> St-EP   "),
            "QEP_TRAN_XP" => two("===RTC===> St-XP   "),
            "QEP_UNHANDLED" => timed("===RTC===> St-Unhnd", "state"),
            "QEP_INIT_TRAN" => step("Init===>"),
            "QEP_INTERN_TRAN" => timed("=>Intern", "source"),
            "QEP_TRAN" => format!("{}->{}", timed("===>Tran", "source"), own("target")),
            "QEP_IGNORED" => timed("=>Ignore", "state"),
            "QEP_DISPATCH" => timed("Disp===>", "state"),
            "QF_ACTIVE_DEFER" => format!("AO-Defer Obj={},Que={},{}", own("ao"), own("queue"), event("ao")),
            "QF_ACTIVE_DEFER_ATTEMPT" => format!("AO-DefrA Obj={},Que={},{}", own("ao"), own("queue"), event("ao")),
            "QF_ACTIVE_RECALL" => format!("AO-RCall Obj={},Que={},{}", own("ao"), own("queue"), event("ao")),
            "QF_ACTIVE_RECALL_ATTEMPT" => format!("AO-RCllA Obj={},Que={}", own("ao"), own("queue")),
            "QF_ACTIVE_SUBSCRIBE" => format!("AO-Subsc Obj={},Sig={}", own("ao"), self.signal("sig", "ao", is_raw)),
            "QF_ACTIVE_UNSUBSCRIBE" => format!("AO-Unsub Obj={},Sig={}", own("ao"), self.signal("sig", "ao", is_raw)),
            "QF_ACTIVE_POST" => format!(
                "AO-Post  Sdr={},Obj={},{},Que<Free={},Min={}>",
                own("sender"),
                own("ao"),
                event("ao"),
                own("free"),
                own("min")
            ),
            "QF_ACTIVE_POST_ATTEMPT" => format!(
                "AO-PostA Sdr={},Obj={},{},Que<Free={},Mar={}>",
                own("sender"),
                own("ao"),
                event("ao"),
                own("free"),
                own("margin")
            ),
            "QF_ACTIVE_POST_LIFO" => {
                format!("AO-LIFO  Obj={},{},Que<Free={},Min={}>", own("ao"), event("ao"), own("free"), own("min"))
            }
            "QF_ACTIVE_GET" => format!("AO-Get   Obj={},{},Que<Free={}>", own("ao"), event("ao"), own("free")),
            "QF_ACTIVE_GET_LAST" => format!("AO-GetL  Obj={},{}", own("ao"), event("ao")),
            "QF_EQUEUE_POST" => {
                format!("EQ-Post  Obj={},{},Que<Free={},Min={}>", own("queue"), event("queue"), own("free"), own("min"))
            }
            "QF_EQUEUE_POST_ATTEMPT" => {
                format!("EQ-PostA Obj={},{},Que<Free={},Mar={}>", own("queue"), event("queue"), own("free"), own("margin"))
            }
            "QF_EQUEUE_POST_LIFO" => {
                format!("EQ-LIFO Obj={},{},Que<Free={},Min={}>", own("queue"), event("queue"), own("free"), own("min"))
            }
            "QF_EQUEUE_GET" => format!("EQ-Get   Obj={},{},Que<Free={}>", own("queue"), event("queue"), own("free")),
            "QF_EQUEUE_GET_LAST" => format!("EQ-GetL  Obj={},{}", own("queue"), event("queue")),
            "QF_NEW_ATTEMPT" => format!("QF-NewA  Sig={},Size={}", self.signal("sig", "", is_raw), own("size")),
            "QF_NEW" => format!("QF-New   Sig={},Size={}", self.signal("sig", "", is_raw), own("size")),
            "QF_MPOOL_GET" => format!("MP-Get   Obj={},Free={},Min={}", own("obj"), own("free"), own("min")),
            "QF_MPOOL_GET_ATTEMPT" => format!("MP-GetA  Obj={},Free={},Mar={}", own("obj"), own("free"), own("margin")),
            "QF_MPOOL_PUT" => format!("MP-Put   Obj={},Free={}", own("obj"), own("free")),
            "QF_PUBLISH" => format!("QF-Pub   Sdr={},{}", own("sender"), event("")),
            "QF_NEW_REF" => format!("QF-NewRf {}", event("")),
            "QF_DELETE_REF" => format!("QF-DelRf {}", event("")),
            "QF_GC_ATTEMPT" => format!("QF-gcA   {}", event("")),
            "QF_GC" => format!("QF-gc    {}", event("")),
            "QF_TICK" => format!("Tick<{rate}>  Ctr={:010}", own("count").parse::<u64>().ok()?),
            "QF_TIMEEVT_ARM" => timer("Arm "),
            "QF_TIMEEVT_DISARM" => timer("Dis "),
            "QF_TIMEEVT_REARM" => format!("{},Was={}", timer("Rarm"), own("was_armed")),
            "QF_TIMEEVT_AUTO_DISARM" => format!("TE{rate}-ADis Obj={},AO={}", own("te"), own("ao")),
            "QF_TIMEEVT_DISARM_ATTEMPT" => format!("TE{rate}-DisA Obj={},AO={}", own("te"), own("ao")),
            "QF_TIMEEVT_POST" => {
                format!("TE{rate}-Post Obj={},Sig={},AO={}", own("te"), self.signal("sig", "ao", is_raw), own("ao"))
            }
            "QF_CRIT_ENTRY" => format!("QF-CritE Nest={}", own("nesting")),
            "QF_CRIT_EXIT" => format!("QF-CritX Nest={}", own("nesting")),
            "QF_ISR_ENTRY" => format!("QF-IsrE  Nest={},Pri={}", own("nesting"), own("prio")),
            "QF_ISR_EXIT" => format!("QF-IsrX  Nest={},Pri={}", own("nesting"), own("prio")),
            "SCHED_PREEMPT" => next("Sch-Pre "),
            "SCHED_RESTORE" => next("Sch-Rest"),
            "SCHED_NEXT" => next("Sch-Next"),
            "SCHED_IDLE" => format!("Sch-Idle Pri={}->0", own("previous")),
            "SCHED_LOCK" => format!("Sch-Lock Ceil={}->{}", own("previous_ceiling"), own("ceiling")),
            "SCHED_UNLOCK" => format!("Sch-Unlk Ceil={}->{}", own("previous_ceiling"), own("ceiling")),
            "ENUM_DICT" => {
                let group = own("group").parse::<u64>().ok()? & 7;
                format!("Enum-Dic {:03},Grp={group}->{}", own("value").parse::<u64>().ok()?, own("name"))
            }
            "TEST_PAUSED" => "TstPause".to_owned(),
            "TEST_PROBE_GET" => format!("TstProbe Fun={},Data={}", own("function"), own("data")),
            "SIG_DICT" => {
                let number = self.raw("sig").parse::<u64>().ok()?;
                let object = self.raw("obj").replace("NULL", "0x00000000");
                format!("Sig-Dict {number:08},Obj={object}->{}", self.dictionary_name())
            }
            "OBJ_DICT" => format!("Obj-Dict {}->{}", self.raw("obj"), self.dictionary_name()),
            "FUN_DICT" => format!("Fun-Dict {}->{}", self.raw("function"), self.dictionary_name()),
            "USR_DICT" => format!("Usr-Dict {:08}->{}", own("record_id").parse::<u64>().ok()?, self.dictionary_name()),
            "TARGET_INFO" => {
                let word = if own("reset") == "1" { "Trg-RST " } else { "Trg-Info" };
                let build: String = own("build").chars().filter(char::is_ascii_digit).skip(2).collect();
                let (date, time) = build.split_at(6);
                format!("{word} QP-Ver={},Build={date}_{time}", own("version").replace('.', ""))
            }
            "TARGET_DONE" => format!("Trg-Done {}", self.get("command")),
            "RX_STATUS" => match own("status").parse::<u64>().ok()? {
                0..128 => format!("Trg-Ack  {}", self.get("command")),
                // An error's number is printed as that of a command, if there is one.
                status => match traceconv::format::qs::record::command_name(status as u8 & 0x7F) {
                    Some(name) => format!("Trg-ERR  {name}"),
                    None => format!("Trg-ERR  0x{:02X}", status & 0x7F),
                },
            },
            "QUERY_DATA" => self.query(&own, is_raw)?,
            "PEEK_DATA" => self.peek(&own)?,
            "ASSERT_FAIL" => format!("=ASSERT= Mod={},Loc={}", own("module"), own("location")),
            "QF_RUN" => "QF_RUN".to_owned(),
            "SEM_TAKE" => sync("Sem-Take", "thread", "count", ("Thr", "Cnt")),
            "SEM_BLOCK" => sync("Sem-Blk ", "thread", "count", ("Thr", "Cnt")),
            "SEM_SIGNAL" => sync("Sem-Sgnl", "thread", "count", ("Thr", "Cnt")),
            "SEM_BLOCK_ATTEMPT" => sync("Sem-BlkA", "thread", "count", ("Thr", "Cnt")),
            "MTX_LOCK" => sync("Mtx-Lock", "holder", "nesting", ("Hldr", "Nest")),
            "MTX_UNLOCK" => sync("Mtx-Unlk", "holder", "nesting", ("Hldr", "Nest")),
            "MTX_LOCK_ATTEMPT" => sync("Mtx-LckA", "holder", "nesting", ("Hldr", "Nest")),
            "MTX_UNLOCK_ATTEMPT" => sync("Mtx-UlkA", "holder", "nesting", ("Hldr", "Nest")),
            "MTX_BLOCK" => sync("Mtx-Blk ", "holder", "thread", ("Hldr", "Thr")),
            "MTX_BLOCK_ATTEMPT" => sync("Mtx-BlkA", "holder", "thread", ("Hldr", "Thr")),
            "USER" => self.user(is_raw),
            _ => return None,
        })
    }

    /// The name that a dictionary record gives: a field called `name`, which here looks like the name of a field without one.
    fn dictionary_name(&self) -> &str {
        self.get("name")
    }

    fn query(&self, own: &dyn Fn(&str) -> String, is_raw: bool) -> Option<String> {
        Some(match own("query").as_str() {
            "0" => format!("Query-SM Obj={},State={}", own("obj"), own("state")),
            "1" => format!("Query-AO Pri={},Que<Use={},Free={},Min={}>", own("prio"), own("used"), own("free"), own("min")),
            "2" => format!(
                "Query-MP Obj={},Use={},Free={},Min={},Size={}",
                own("obj"),
                own("used"),
                own("free"),
                own("min"),
                own("size")
            ),
            "3" => format!("Query-EQ Obj={},Use={},Free={},Min={}", own("obj"), own("used"), own("free"), own("min")),
            "4" => {
                let flags = own("flags").parse::<u64>().ok()?;
                format!(
                    "Query-TE Obj={},Rate={},Sig={},Tim={},Int={},Flags=0x{:02X}",
                    own("te"),
                    flags & 15,
                    self.signal("sig", "ao", is_raw),
                    own("ticks"),
                    own("interval"),
                    flags & 0xF0
                )
            }
            "5" => "Query-AP".to_owned(),
            "7" => format!(
                "Query-EP Id={},Use={},Free={},Min={},Size={}",
                own("id"),
                own("used"),
                own("free"),
                own("min"),
                own("size")
            ),
            _ => return None,
        })
    }

    fn peek(&self, own: &dyn Fn(&str) -> String) -> Option<String> {
        let size: usize = own("size").parse().ok()?;
        let bytes: Vec<String> = own("data").split(' ').map(str::to_owned).collect();
        let items: Vec<String> = bytes.chunks(size).map(|item| item.iter().rev().cloned().collect::<String>()).collect();
        Some(format!("Trg-Peek Offs={},Size={size},Num={},Data=<{}>", own("memory_offset"), items.len(), items.join(",")))
    }

    /// An application record; spaces between its values are not compared, for they depend on widths that are presentation only.
    fn user(&self, is_raw: bool) -> String {
        let id: u32 = self.raw("id").parse().unwrap_or(0);
        let name = match (self.fields.get("name"), id) {
            (Some(name), _) => name[0].clone(),
            (None, 124) => "QUTEST_ON_POST".to_owned(),
            (None, id) => format!("USER+{:03}", id - 100),
        };
        let mut line = name;
        for number in 0.. {
            let field = format!("v{number}");
            let Some(spellings) = self.fields.get(&field) else { break };
            let object = format!("{field}_obj");
            let value = if self.fields.contains_key(&object) {
                match (is_raw, self.raw(&object)) {
                    // A signal of an object is printed with it, whether it has a name or not.
                    (_, "NULL") => self.signal(&field, "", is_raw),
                    (_, _) => format!("{},Obj={}", self.signal(&field, "", is_raw), self.get(&object)),
                }
            } else if self.fields.contains_key(&format!("{field}_group")) && spellings.len() == 1 {
                format!("{:03}", self.raw(&field).parse::<u32>().unwrap_or(0))
            } else {
                spellings[0].clone()
            };
            line = format!("{line} {value}");
        }
        line
    }

    /// The time as qspy prints it; blanks for a record without one.
    pub fn time(&self) -> Option<u64> {
        self.ticks
    }

    pub fn is_user(&self) -> bool {
        self.record == "USER"
    }
}

/// A record as qspy printed it.
pub struct Printed {
    pub time: Option<u64>,
    pub text: String,
}

/// The records in a text of qspy, in order. Its own messages, and those about rejected frames, are left out.
pub fn records(text: &str) -> Vec<Printed> {
    let mut all = Vec::new();
    let body = text.lines().skip_while(|line| !line.contains("<COMMS>"));
    for line in body {
        if line.trim_start().starts_with('<') || line.trim().is_empty() || line.starts_with("QSPY Done") {
            continue;
        }
        if line.starts_with("===RTC===>") {
            all.push(Printed { time: None, text: line.to_owned() });
            continue;
        }
        let Some((time, rest)) = line.split_at_checked(11) else { continue };
        let time = time.trim();
        // The global object of a signal is printed as zeros, not as NULL.
        let text = rest.replace("0x0000000000000000", "0x00000000");
        all.push(Printed { time: time.parse().ok(), text });
    }
    all
}

impl Said {
    /// The line as qspy prints it while some names are not known yet: each subset of names that matters.
    pub fn partly_named(&self) -> Vec<String> {
        let named: Vec<&String> = self.fields.iter().filter(|(_, spellings)| spellings.len() > 1).map(|(name, _)| name).collect();
        (1..1u32 << named.len().min(6))
            .filter_map(|without| {
                let fields = self.fields.iter().map(|(name, spellings)| {
                    let is_without = named.iter().position(|other| *other == name).is_some_and(|bit| without >> bit & 1 != 0);
                    let kept = if is_without { spellings[spellings.len() - 1..].to_vec() } else { spellings.clone() };
                    (name.clone(), kept)
                });
                Said { fields: fields.collect(), record: self.record.clone(), ticks: self.ticks }.line(false)
            })
            .collect()
    }

    /// The line with one added to the same fields as by qspy.
    pub fn one_too_many(&self) -> Option<String> {
        if !self.record.starts_with("QF_TIMEEVT") {
            return None;
        }
        let fields = self.fields.iter().map(|(name, spellings)| {
            let more = |text: &String| match name.as_str() {
                "rate" | "was_armed" => (text.parse::<u64>().unwrap_or(0) + 1).to_string(),
                _ => text.clone(),
            };
            (name.clone(), spellings.iter().map(more).collect())
        });
        Said { fields: fields.collect(), record: self.record.clone(), ticks: self.ticks }.line(false)
    }

    /// Whether it has a text that the target does not escape correctly.
    pub fn has_unescaped_text(&self) -> bool {
        let has_text = self.record.ends_with("_DICT") || matches!(self.record.as_str(), "USER" | "ASSERT_FAIL");
        has_text && self.fields.values().flatten().any(|text| text.contains(['~', '}']))
    }
}
