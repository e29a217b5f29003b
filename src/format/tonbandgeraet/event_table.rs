//! Generated from target/events.toml by `cargo xtask codegen`: do not edit.
//!
//! The table of events, for the macros of `record.rs`. A line is: the id, the format that has the event and who sends it, its
//! name on the wire and here, its time stamp if it has one, and its fields in the order of the wire. `T` is text, or bytes with a check.

/// Calls a macro with all events.
macro_rules! event_table {
    ($records:ident) => {
        $records! {
            0x00 plain base core_id CoreId [ts: u64] { core_id: u32 }
            0x01 plain base dropped_evt_cnt DroppedEvtCnt [ts: u64] { cnt: u32 }
            0x02 plain base ts_resolution_ns TsResolutionNs [] { ns_per_ts: u64 }
            0x03 plain base isr_name IsrName [] { isr_id: u32, name: T }
            0x04 plain base isr_enter IsrEnter [ts: u64] { isr_id: u32 }
            0x05 plain base isr_exit IsrExit [ts: u64] { isr_id: u32 }
            0x06 plain base evtmarker_name EvtmarkerName [] { evtmarker_id: u32, name: T }
            0x07 plain base evtmarker Evtmarker [ts: u64] { evtmarker_id: u32, msg: T }
            0x08 plain base evtmarker_begin EvtmarkerBegin [ts: u64] { evtmarker_id: u32, msg: T }
            0x09 plain base evtmarker_end EvtmarkerEnd [ts: u64] { evtmarker_id: u32 }
            0x0A plain base valmarker_name ValmarkerName [] { valmarker_id: u32, name: T }
            0x0B plain base valmarker Valmarker [ts: u64] { valmarker_id: u32, val: i64 }
            0x0C superset base sync Sync [] { fields: T }
            0x0D superset base metadata_dropped MetadataDropped [ts: u64] { cnt: u32 }
            0x0E superset base state_end StateEnd [ts: u64] { missing: u32 }
            0x0F superset base core_isr_name CoreIsrName [] { core_id: u32, isr_id: u32, name: T }
            0x10 superset freertos task_state TaskState [ts: u64] { task_id: u32, state: TaskState, priority: u32 }
            0x11 superset freertos mutex_holder MutexHolder [ts: u64] { queue_id: u32, task_id: u32 }
            0x12 superset freertos queue_capacity QueueCapacity [ts: u64] { queue_id: u32, length: u32, item_bytes: u32 }
            0x13 superset freertos mutex_depth MutexDepth [ts: u64] { queue_id: u32, depth: u32 }
            0x14 superset freertos queue_deleted QueueDeleted [ts: u64] { queue_id: u32 }
            0x15 superset freertos task_base_priority TaskBasePriority [ts: u64] { task_id: u32, priority: u32 }
            0x16 superset freertos task_running TaskRunning [ts: u64] { task_id: u32 }
            0x20 superset freertos stream_created StreamCreated [ts: u64] { stream_id: u32, kind: StreamKind, size_bytes: u32 }
            0x21 superset freertos stream_name StreamName [] { stream_id: u32, name: T }
            0x22 superset freertos stream_send StreamSend [ts: u64] { stream_id: u32, bytes: u32, bytes_after: u32 }
            0x23 superset freertos stream_send_from_isr StreamSendFromIsr [ts: u64] { stream_id: u32, bytes: u32, bytes_after: u32 }
            0x24 superset freertos stream_receive StreamReceive [ts: u64] { stream_id: u32, bytes: u32, bytes_after: u32 }
            0x25 superset freertos stream_receive_from_isr StreamReceiveFromIsr [ts: u64] { stream_id: u32, bytes: u32, bytes_after: u32 }
            0x26 superset freertos stream_reset StreamReset [ts: u64] { stream_id: u32 }
            0x27 superset freertos stream_deleted StreamDeleted [ts: u64] { stream_id: u32 }
            0x28 superset freertos curtask_block_on_stream_send CurtaskBlockOnStreamSend [ts: u64] { stream_id: u32, ticks_to_wait: u32 }
            0x29 superset freertos curtask_block_on_stream_receive CurtaskBlockOnStreamReceive [ts: u64] { stream_id: u32, ticks_to_wait: u32 }
            0x2A superset freertos stream_level StreamLevel [ts: u64] { stream_id: u32, bytes: u32 }
            0x2B superset freertos stream_state StreamState [ts: u64] { stream_id: u32, kind: StreamKind, size_bytes: u32 }
            0x30 superset freertos task_notify TaskNotify [ts: u64] { task_id: u32, index: u32, value: u32 }
            0x31 superset freertos task_notify_from_isr TaskNotifyFromIsr [ts: u64] { task_id: u32, index: u32, value: u32 }
            0x32 superset freertos curtask_block_on_notify CurtaskBlockOnNotify [ts: u64] { index: u32, ticks_to_wait: u32 }
            0x33 superset freertos curtask_notify_received CurtaskNotifyReceived [ts: u64] { index: u32, value: u32 }
            0x38 superset freertos event_group_created EventGroupCreated [ts: u64] { event_group_id: u32 }
            0x39 superset freertos event_group_name EventGroupName [] { event_group_id: u32, name: T }
            0x3A superset freertos event_group_set EventGroupSet [ts: u64] { event_group_id: u32, bits: u32, bits_after: u32 }
            0x3B superset freertos event_group_set_from_isr EventGroupSetFromIsr [ts: u64] { event_group_id: u32, bits: u32 }
            0x3C superset freertos event_group_clear EventGroupClear [ts: u64] { event_group_id: u32, bits: u32, bits_after: u32 }
            0x3D superset freertos event_group_clear_from_isr EventGroupClearFromIsr [ts: u64] { event_group_id: u32, bits: u32 }
            0x3E superset freertos curtask_block_on_event_group CurtaskBlockOnEventGroup [ts: u64] { event_group_id: u32, bits: u32, ticks_to_wait: u32 }
            0x3F superset freertos event_group_wait_end EventGroupWaitEnd [ts: u64] { event_group_id: u32, bits_after: u32, timed_out: u8 }
            0x40 superset freertos event_group_deleted EventGroupDeleted [ts: u64] { event_group_id: u32 }
            0x41 superset freertos event_group_bits EventGroupBits [ts: u64] { event_group_id: u32, bits: u32 }
            0x48 superset freertos timer_created TimerCreated [ts: u64] { timer_id: u32, period_ticks: u32, auto_reload: u8 }
            0x49 superset freertos timer_name TimerName [] { timer_id: u32, name: T }
            0x4A superset freertos timer_command TimerCommand [ts: u64] { timer_id: u32, command: u32, value: u32 }
            0x4B superset freertos timer_command_received TimerCommandReceived [ts: u64] { timer_id: u32, command: u32, value: u32 }
            0x4C superset freertos timer_expired TimerExpired [ts: u64] { timer_id: u32 }
            0x4D superset freertos timer_command_failed TimerCommandFailed [ts: u64] { timer_id: u32, command: u32, value: u32 }
            0x4E superset freertos timer_state TimerState [ts: u64] { timer_id: u32, period_ticks: u32, flags: u8 }
            0x50 superset freertos task_stack TaskStack [ts: u64] { task_id: u32, free_bytes: u32 }
            0x51 superset freertos heap_alloc HeapAlloc [ts: u64] { address: u64, bytes: u32 }
            0x52 superset freertos heap_free HeapFree [ts: u64] { address: u64, bytes: u32 }
            0x54 plain freertos task_switched_in TaskSwitchedIn [ts: u64] { task_id: u32 }
            0x55 plain freertos task_to_rdy_state TaskToRdyState [ts: u64] { task_id: u32 }
            0x56 plain freertos task_resumed TaskResumed [ts: u64] { task_id: u32 }
            0x57 plain freertos task_resumed_from_isr TaskResumedFromIsr [ts: u64] { task_id: u32 }
            0x58 plain freertos task_suspended TaskSuspended [ts: u64] { task_id: u32 }
            0x59 plain freertos curtask_delay CurtaskDelay [ts: u64] { ticks: u32 }
            0x5A plain freertos curtask_delay_until CurtaskDelayUntil [ts: u64] { time_to_wake: u32 }
            0x5B plain freertos task_priority_set TaskPrioritySet [ts: u64] { task_id: u32, priority: u32 }
            0x5C plain freertos task_priority_inherit TaskPriorityInherit [ts: u64] { task_id: u32, priority: u32 }
            0x5D plain freertos task_priority_disinherit TaskPriorityDisinherit [ts: u64] { task_id: u32, priority: u32 }
            0x5E plain freertos task_created TaskCreated [ts: u64] { task_id: u32 }
            0x5F plain freertos task_name TaskName [] { task_id: u32, name: T }
            0x60 plain freertos task_is_idle_task TaskIsIdleTask [] { task_id: u32, core_id: u32 }
            0x61 plain freertos task_is_timer_task TaskIsTimerTask [] { task_id: u32 }
            0x62 plain freertos task_deleted TaskDeleted [ts: u64] { task_id: u32 }
            0x63 plain freertos queue_created QueueCreated [ts: u64] { queue_id: u32 }
            0x64 plain freertos queue_name QueueName [] { queue_id: u32, name: T }
            0x65 plain freertos queue_kind QueueKind [] { queue_id: u32, kind: QueueKind }
            0x66 plain freertos queue_send QueueSend [ts: u64] { queue_id: u32, len_after: u32 }
            0x67 plain freertos queue_send_from_isr QueueSendFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
            0x68 plain freertos queue_overwrite QueueOverwrite [ts: u64] { queue_id: u32, len_after: u32 }
            0x69 plain freertos queue_overwrite_from_isr QueueOverwriteFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
            0x6A plain freertos queue_receive QueueReceive [ts: u64] { queue_id: u32, len_after: u32 }
            0x6B plain freertos queue_receive_from_isr QueueReceiveFromIsr [ts: u64] { queue_id: u32, len_after: u32 }
            0x6C plain freertos queue_reset QueueReset [ts: u64] { queue_id: u32 }
            0x6D plain freertos curtask_block_on_queue_peek CurtaskBlockOnQueuePeek [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
            0x6E plain freertos curtask_block_on_queue_send CurtaskBlockOnQueueSend [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
            0x6F plain freertos curtask_block_on_queue_receive CurtaskBlockOnQueueReceive [ts: u64] { queue_id: u32, ticks_to_wait: u32 }
            0x70 plain freertos queue_cur_length QueueCurLength [ts: u64] { queue_id: u32, length: u32 }
            0x71 superset base function_enter FunctionEnter [ts: u64] { delta: i64 }
            0x72 superset base function_exit FunctionExit [ts: u64] { delta: i64 }
            0x73 superset base address_base AddressBase [] { address: u64 }
            0x74 superset base log Log [ts: u64] { format: u32, arguments: T }
            0x7A plain freertos task_evtmarker_name TaskEvtmarkerName [] { evtmarker_id: u32, task_id: u32, name: T }
            0x7B plain freertos task_evtmarker TaskEvtmarker [ts: u64] { evtmarker_id: u32, msg: T }
            0x7C plain freertos task_evtmarker_begin TaskEvtmarkerBegin [ts: u64] { evtmarker_id: u32, msg: T }
            0x7D plain freertos task_evtmarker_end TaskEvtmarkerEnd [ts: u64] { evtmarker_id: u32 }
            0x7E plain freertos task_valmarker_name TaskValmarkerName [] { valmarker_id: u32, task_id: u32, name: T }
            0x7F plain freertos task_valmarker TaskValmarker [ts: u64] { valmarker_id: u32, val: i64 }
        }
    };
}

/// Calls a macro with all enumerations: names here and on the wire, and numbers.
macro_rules! enum_table {
    ($enums:ident) => {
        $enums! {
            #[doc = "The kind of a queue. Semaphores and mutexes are queues in FreeRTOS."]
            QueueKind {
                Queue queue = 0
                CountingSemaphore counting_semaphore = 1
                BinarySemaphore binary_semaphore = 2
                Mutex mutex = 3
                RecursiveMutex recursive_mutex = 4
                QueueSet queue_set = 5
            }
            #[doc = "The kind of a stream buffer."]
            StreamKind {
                StreamBuffer stream_buffer = 0
                MessageBuffer message_buffer = 1
                BatchingBuffer batching_buffer = 2
            }
            #[doc = "The state of a task when a recording starts."]
            TaskState {
                Running running = 0
                Ready ready = 1
                Blocked blocked = 2
                Suspended suspended = 3
                Deleted deleted = 4
            }
        }
    };
}

/// Calls a macro with the fields of events that are too wide for a record.
macro_rules! wide_table {
    ($wide:ident) => {
        $wide! {
            SyncFields { magic: u8, version: u8, flags: u8, cores: u32, core: u32, seq: u32, dropped: u32, clock_num: u32, clock_den: u32, ts: u64 }
        }
    };
}

pub(super) use {enum_table, event_table, wide_table};
