//! The captures under `testdata/tsp`: one for each behaviour.

use traceconv::format::tsp::encode::{object_list, packet, packet_of};
use traceconv::format::tsp::generate::{Damage, GenerateOptions, TimerKind};
use traceconv::format::tsp::record::ListEntry;

use crate::common::golden::Capture;
use crate::run::generated_with;

/// A stream of packets, as a target sends it.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub bytes: Vec<u8>,
    packet_id: u8,
    tick: u16,
    timer: u16,
}

impl Stream {
    /// The next packet, 20 counts after the one before.
    pub fn put(&mut self, id: u8, data: &[u8]) -> &mut Stream {
        self.timer += 20;
        packet(&packet_of(self.packet_id, id, self.tick, self.timer, data), &mut self.bytes);
        self.packet_id = self.packet_id.wrapping_add(1);
        self
    }

    /// A tick: its hook still has the old count.
    pub fn tick(&mut self) -> &mut Stream {
        self.timer = 0;
        packet(&packet_of(self.packet_id, 44, self.tick, self.timer, &[]), &mut self.bytes);
        self.packet_id = self.packet_id.wrapping_add(1);
        self.tick = self.tick.wrapping_add(1);
        self
    }

    pub fn list(&mut self, type_number: u8, entries: &[(u8, &str)]) -> &mut Stream {
        let entries: Vec<ListEntry<'_>> =
            entries.iter().map(|&(number, name)| ListEntry { number, name: name.as_bytes() }).collect();
        object_list(self.packet_id, type_number, &entries, &mut self.bytes);
        self.packet_id = self.packet_id.wrapping_add(1);
        self
    }

    /// The time at which the timer has its last value, so that its period is known.
    fn full_tick(&mut self) -> &mut Stream {
        self.timer = 959;
        self.put(6, &[1]).put(2, &[1]).tick()
    }

    /// N packets are lost on the way.
    fn lose(&mut self, packets: u8) -> &mut Stream {
        self.packet_id = self.packet_id.wrapping_add(packets);
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Stream {
        self.bytes.extend(bytes);
        self
    }
}

/// All six lists.
fn lists(stream: &mut Stream) {
    stream.list(0, &[(1, "Queue"), (2, "log")]).list(1, &[(1, "Queue")]).list(2, &[(1, "Queue")]).list(3, &[(1, "Queue")]);
    stream.list(4, &[(1, "Queue")]).list(5, &[(1, "main"), (2, "worker"), (3, "IDLE")]);
}

fn every_id() -> Vec<u8> {
    let mut stream = Stream::default();
    lists(&mut stream);
    stream.put(35, &[1]).put(11, &[1]).put(12, &[1]).put(35, &[2]).put(11, &[2]).put(12, &[2]);
    stream.put(13, &[1]).put(13, &[1]).put(15, &[1]).put(23, &[1, 1]).put(13, &[1]).put(21, &[]);
    stream.put(13, &[1]).put(15, &[1]).put(23, &[4, 1]).put(14, &[3]).put(16, &[]).put(22, &[]).put(36, &[]);
    stream.put(2, &[1]).full_tick();
    // Taken twice and given twice.
    stream.put(19, &[4, 1]).put(25, &[4, 1]).put(19, &[4, 1]).put(17, &[4, 1]).put(17, &[4, 1]).put(23, &[4, 1]);
    stream.put(18, &[4, 1]).put(20, &[4, 1]);
    // A mutex with inheritance.
    stream.put(25, &[1, 1]).put(6, &[1]).put(2, &[2]).put(11, &[1]).put(12, &[1]).put(7, &[1, 5]).put(9, &[1, 1]);
    stream.put(6, &[2]).put(2, &[1]).put(8, &[1, 2]).put(11, &[1]).put(12, &[1]).put(23, &[1, 1]).put(11, &[2]).put(12, &[2]);
    stream.put(6, &[1]).put(2, &[2]).put(25, &[1, 1]).put(23, &[1, 1]).tick();
    for id in 23..=33 {
        stream.put(id, &[0, 1]);
    }
    stream.put(10, &[0, 1]).put(6, &[2]).put(2, &[3]).put(4, &[]);
    (stream.tick, stream.timer) = (4, 0);
    stream.put(3, &[3]).tick().put(5, &[]).put(11, &[1]).put(12, &[1]).put(6, &[3]).put(2, &[1]);
    stream.put(29, &[3, 1]).put(31, &[2, 1]).put(24, &[0, 1]).put(28, &[2, 1]);
    stream.put(40, &[1, 4]).put(11, &[1]).put(12, &[1]).put(50, &[4, 0x10]).put(51, &[0, 80]).put(34, &[]);
    stream.put(41, &[2]).put(42, &[2]).put(11, &[2]).put(12, &[2]).put(43, &[2]).put(102, &[]).tick();
    stream.put(38, &[1, 0, 10]).put(6, &[1]).put(2, &[2]).put(39, &[2, 1, 0x2C]).put(6, &[2]).put(2, &[3]);
    for round in 0..3 {
        stream.tick().put(73, &[]).put(74, &[round]).put(75, &[7, 0xA0]).put(76, &[1, 2, 3]).put(77, &[round]);
        stream.put(0, &[]).put(1, &[9]).put(45, &[round, 1]).put(52, &[1, 2]).put(70, &[1]).put(99, &[round, round, 5]);
    }
    stream.tick().put(37, &[2]).put(6, &[3]).put(2, &[1]).full_tick();
    stream.bytes
}

/// The bytes of the preamble at the worst places.
fn preamble_inside() -> Vec<u8> {
    let fields = |tick: u16, timer: u16| Stream { tick, timer: timer - 20, ..Stream::default() };
    let mut all = Vec::new();
    let awkward = [
        (fields(0xFDFE, 0xFF10), 2, &[1][..]),
        (fields(0xFDFE, 0xFFFD), 23, &[0xFE, 0xFF]),
        (fields(0xFDFD, 0xFEFF), 39, &[0xFD, 0xFE, 0xFF]),
        (fields(0xFDFE, 0xFDFE), 2, &[0xFF]),
        (fields(0xFDFE, 0xFFFF), 44, &[]),
        (fields(0xFDFF, 0xFDFD), 38, &[2, 0xFD, 0xFE]),
        (fields(0xFE00, 0xFDFE), 50, &[0xFF, 0xFD]),
        (fields(0xFE00, 0xFDFE), 6, &[0xFF]),
    ];
    for (packet_id, (mut stream, id, data)) in (0..).zip(awkward) {
        stream.packet_id = packet_id;
        stream.put(id, data);
        all.extend(stream.bytes);
    }
    all
}

fn host_bytes() -> Vec<u8> {
    let mut stream = Stream::default();
    stream.put(2, &[1]).raw(&[0x97]);
    lists(&mut stream);
    stream.raw(&[0x98, 0x44, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]).put(2, &[2]).raw(&[1, 2, 3]).put(2, &[1]);
    stream.full_tick().put(6, &[1]).put(2, &[2]).put(6, &[2]).raw(&[0x97, 0xFF, 0xFF]).put(2, &[1]).put(6, &[1]);
    stream.bytes
}

fn lost_packets() -> Vec<u8> {
    let mut stream = Stream::default();
    lists(&mut stream);
    stream.put(2, &[1]).full_tick().put(25, &[1, 1]).put(4, &[]).lose(3).put(11, &[2]).put(12, &[2]).tick().put(2, &[2]);
    // Bytes vanish within a packet.
    stream.put(39, &[2, 0, 5]);
    stream.bytes.truncate(stream.bytes.len() - 4);
    stream.put(6, &[2]).put(2, &[3]).full_tick().full_tick().put(23, &[1, 1]);
    // The capture ends within a packet.
    stream.bytes.pop();
    stream.bytes.drain(..5);
    stream.bytes
}

fn fifo_full() -> Vec<u8> {
    let mut stream = Stream::default();
    stream.put(2, &[1]).full_tick().put(6, &[1]).put(2, &[2]).tick();
    stream.put(9, &[0, 1]).put(6, &[2]).put(2, &[1]).full_tick().full_tick().put(6, &[1]);
    // Events lost two ticks ago are reported only now.
    let now = (stream.tick, stream.timer);
    (stream.tick, stream.timer) = (2, 300);
    stream.put(101, &[]).put(101, &[]).put(101, &[]);
    (stream.tick, stream.timer) = now;
    stream.put(2, &[2]).full_tick().put(101, &[]).put(101, &[]);
    stream.bytes
}

fn deleted_objects() -> Vec<u8> {
    let mut stream = Stream::default();
    stream.list(5, &[(1, "main"), (2, "oneshot"), (3, "keepalive")]).put(2, &[1]).full_tick().put(37, &[2]);
    // The tracer loses the number of the entry after the deleted one.
    stream.list(5, &[(1, "main"), (2, "oneshot"), (0, "keepalive")]).put(6, &[1]).put(2, &[3]).full_tick();
    stream.bytes
}

fn restart() -> Vec<u8> {
    let mut stream = Stream { tick: 5000, ..Stream::default() };
    stream.put(2, &[1]).full_tick().full_tick().put(25, &[1, 1]).full_tick().lose(100);
    (stream.packet_id, stream.tick, stream.timer) = (0, 0, 0);
    stream.put(35, &[1]).put(11, &[1]).put(12, &[1]).put(35, &[2]).put(2, &[2]).full_tick().put(6, &[2]).put(2, &[1]).full_tick();
    stream.bytes
}

fn generated(timer: TimerKind, is_tickless: bool, damage: Damage) -> Vec<u8> {
    generated_with(&GenerateOptions { bytes: 12_000, seed: 3, timer, is_tickless, damage, ..GenerateOptions::default() })
}

/// Streams as received from the line.
pub fn streams() -> Vec<Capture> {
    let mut all = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| all.push(Capture { name: name.to_owned(), bytes });
    add("every_id", every_id());
    add("preamble_inside", preamble_inside());
    add("host_bytes", host_bytes());
    add("lost_packets", lost_packets());
    add("fifo_full", fifo_full());
    add("deleted_objects", deleted_objects());
    add("restart", restart());
    add("generated", generated(TimerKind::Up1MHz, false, Damage::None));
    add("generated_tickless", generated(TimerKind::Up1MHz, true, Damage::None));
    add("generated_down", generated(TimerKind::Down93, false, Damage::None));
    add("generated_no_timer", generated(TimerKind::Nothing, false, Damage::None));
    add("generated_bytes_lost", generated(TimerKind::Up1MHz, false, Damage::Bytes));
    add("generated_flips", generated(TimerKind::Up1MHz, false, Damage::Flips));
    all
}

/// The measurement that the viewer would save of a stream: without object lists among the packets, and without ids unknown to it.
pub fn save(stream: &[u8]) -> Vec<u8> {
    use traceconv::format::tsp::decode::{Decoder, Lengths, Packets, list_entries};
    let mut lengths = Lengths::default();
    for (id, len) in [(73, 0), (74, 0), (75, 2)] {
        assert!(lengths.give(id, len));
    }
    let records = Decoder::new(Packets::new(lengths.clone()), lengths).records(stream, 0..stream.len());
    let mut names = std::collections::BTreeMap::<&str, std::collections::BTreeMap<String, String>>::new();
    let mut payloads = std::collections::BTreeMap::new();
    for packet in records.packets() {
        if packet.id == 151 {
            let types = ["QUEUE", "MUTEX", "COUNTING_SEMAPHORE", "BINARY_SEMAPHORE", "RECURSIVE_MUTEX", "TASK"];
            let names = names.entry(types[usize::from(packet.data[0])]).or_default();
            for entry in list_entries(&records, packet) {
                names.insert(entry.number.to_string(), String::from_utf8_lossy(entry.name).into_owned());
            }
            continue;
        }
        let [tick_high, tick_low] = packet.tick.to_be_bytes();
        let [timer_high, timer_low] = packet.timer.to_be_bytes();
        let mut payload = serde_json::json!({ "payloadHead": {
            "packetID": packet.packet_id, "informationID": packet.id,
            "tickCountHigh": tick_high, "tickCountLow": tick_low, "timerByteHigh": timer_high, "timerByteLow": timer_low,
        } });
        for (number, byte) in packet.bytes().iter().enumerate() {
            payload[format!("data{}", number + 1)] = (*byte).into();
        }
        payloads.insert(format!("PayloadNumber{:07}", payloads.len()), payload);
    }
    let file = serde_json::json!({ "SnifferObjectList": names, "SnifferPayload": payloads, "SnifferVersion": 0.1 });
    serde_json::to_vec_pretty(&file).expect("it is JSON")
}

/// Measurements as the viewer saves them.
pub fn saved() -> Vec<Capture> {
    let whole = save(&generated_with(&GenerateOptions { bytes: 3_000, seed: 3, ..GenerateOptions::default() }));
    let mut damaged =
        String::from_utf8(whole.clone()).expect("JSON is text").replacen("\"packetID\": 40", "\"packetID\": 4000", 1);
    // As texts, the keys would be in another order.
    damaged = damaged.replacen("PayloadNumber0000100", "PayloadNumber10000100", 1);
    let mark = "\"PayloadNumber0000050\": {\"payloadHead\": {\"packetID\": 9, \"informationID\": 148, \
        \"tickCountHigh\": 0, \"tickCountLow\": 0, \"timerByteHigh\": 0, \"timerByteLow\": 0}},\n";
    let at = damaged.find("\"PayloadNumber0000050\"").expect("it is there");
    damaged.insert_str(at, mark);
    vec![
        Capture { name: "saved".to_owned(), bytes: whole },
        Capture { name: "saved_damaged".to_owned(), bytes: damaged.into_bytes() },
    ]
}
