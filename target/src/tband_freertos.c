/* Behind the FreeRTOS hooks: ids, names, who runs, and the state of all objects when a recording starts. */
#include "tband_internal.h"

#if tband_configENABLE == 1 && tband_configFREERTOS_TRACE_ENABLE == 1

#include "FreeRTOS.h"

#include "event_groups.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

#if configUSE_TRACE_FACILITY != 1
#error "FreeRTOS tracing keeps its ids in the kernel's trace fields: set configUSE_TRACE_FACILITY to 1 in FreeRTOSConfig.h."
#endif
#if configNUMBER_OF_CORES > TBAND_CORES
#error "tband_portNUMBER_OF_CORES is lower than configNUMBER_OF_CORES: the kernel runs on cores that the tracer does not know."
#endif

/* ---- Ids and the object table --------------------------------------------------------------------------------------------- */

enum object_kind { TASK, QUEUE, STREAM, EVENT_GROUP, TIMER, KINDS };

atomic_uint tband_freertos_current[TBAND_CORES];
/* Ids given so far, per kind: counted from 1 in order of creation, never used again. */
static uint32_t last_id[KINDS];

/* Whether objects are remembered: only the state dump needs them. */
#define REMEMBER (tband_configCOMPAT == 0 && tband_configFREERTOS_MAX_OBJECTS > 0)

#if REMEMBER
/* Under the lock, kinds too. */
static const void *objects[tband_configFREERTOS_MAX_OBJECTS];
static uint8_t kinds[tband_configFREERTOS_MAX_OBJECTS];
/* Living objects that found no place. */
static uint32_t objects_missing;

/* Puts `to` where `from` stands. */
static void remember(const void *from, const void *to, enum object_kind kind) {
    for (size_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        if (objects[i] == from) {
            objects[i] = to;
            kinds[i] = (uint8_t)kind;
            return;
        }
    }
    objects_missing += to != NULL ? 1u : UINT32_MAX;
}
#endif

static uint32_t created(enum object_kind kind, const void *object) {
    uint32_t id;
    (void)object;
    TBAND_LOCK();
    id = ++last_id[kind];
#if REMEMBER
    remember(NULL, object, kind);
#endif
    TBAND_UNLOCK();
    return id;
}

static void deleted(const void *object) {
#if REMEMBER
    TBAND_LOCK();
    remember(object, NULL, KINDS);
    TBAND_UNLOCK();
#else
    (void)object;
#endif
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------------------ */

uint32_t tband_hook_task_created(void *task, const char *name, uint32_t priority) {
    const uint32_t id = created(TASK, task);
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_TASK_CREATED, id, 0, 0);
    tband_emit(TBAND_EVT_TASK_PRIORITY_SET, id, priority, 0);
#else
    (void)priority;
#endif
    tband_emit_text(TBAND_EVT_TASK_NAME, id, 0, name);
    return id;
}

void tband_hook_task_deleted(void *task, uint32_t task_id) {
    deleted(task);
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_TASK_DELETED, task_id, 0, 0);
#else
    (void)task_id;
#endif
}

/* The kernel calls it with this core's interrupts masked, so the core cannot change in between. */
void tband_hook_task_switched_in(uint32_t task_id) {
    atomic_store_explicit(&tband_freertos_current[tband_core()], task_id, memory_order_relaxed);
#if TBAND_CORES > 1
    /* The counterpart stands in tband_tell_running(). */
    atomic_thread_fence(memory_order_seq_cst);
#endif
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_TASK_SWITCHED_IN, task_id, 0, 0);
#endif
}

void tband_freertos_scheduler_started(void) {
    static bool told;
    if (told) {
        return;
    }
    told = true;
#if INCLUDE_xTaskGetIdleTaskHandle == 1
    for (uint32_t core = 0; core < configNUMBER_OF_CORES; core++) {
#if configNUMBER_OF_CORES > 1
        const TaskHandle_t idle = xTaskGetIdleTaskHandleForCore((BaseType_t)core);
#else
        const TaskHandle_t idle = xTaskGetIdleTaskHandle();
#endif
        tband_emit(TBAND_EVT_TASK_IS_IDLE_TASK, (uint32_t)uxTaskGetTaskNumber(idle), core, 0);
    }
#endif
#if configUSE_TIMERS == 1
    tband_emit(TBAND_EVT_TASK_IS_TIMER_TASK, (uint32_t)uxTaskGetTaskNumber(xTimerGetTimerDaemonTaskHandle()), 0, 0);
#endif
}

/* ---- Queues, semaphores, mutexes --------------------------------------------------------------------------------------------- */

/* From the kernel's queue type to QueueKind: base, mutex, counting, binary, recursive, set. */
static uint32_t queue_kind(uint32_t queue_type) { return queue_type < 6u ? (0x542130u >> (4u * queue_type)) & 0xfu : 0u; }

uint32_t tband_hook_queue_created(void *queue, uint32_t queue_type, uint32_t length, uint32_t item_bytes) {
    const uint32_t id = created(QUEUE, queue);
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_QUEUE_CREATED, id, 0, 0);
#endif
    tband_emit(TBAND_EVT_QUEUE_KIND, id, queue_kind(queue_type), 0);
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
#if tband_configCOMPAT == 0
    tband_emit(TBAND_EVT_QUEUE_CAPACITY, id, length, item_bytes);
#endif
    tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, id, 0, 0);
#endif
    (void)length;
    (void)item_bytes;
    return id;
}

void tband_hook_queue_deleted(void *queue, uint32_t queue_id) {
    deleted(queue);
#if tband_configCOMPAT == 0 && tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_QUEUE_DELETED, queue_id, 0, 0);
#else
    (void)queue_id;
#endif
}

void tband_hook_queue_send(uint32_t event, uint32_t queue_id, uint32_t level, uint32_t length) {
    if (level < length) {
        level++;
    } else {
        /* queue_overwrite and queue_overwrite_from_isr stand two after their send. */
        event += TBAND_EVT_QUEUE_OVERWRITE - TBAND_EVT_QUEUE_SEND;
    }
    tband_emit(event, queue_id, level, 0);
}

void tband_hook_queue_name(void *queue, const char *name) {
    tband_emit_text(TBAND_EVT_QUEUE_NAME, (uint32_t)uxQueueGetQueueNumber((QueueHandle_t)queue), 0, name);
}

/* ---- The objects that the plain format does not know ------------------------------------------------------------------------------ */

#if tband_configCOMPAT == 0

#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
uint32_t tband_hook_stream_created(void *stream, uint32_t kind, uint32_t size_bytes) {
    const uint32_t id = created(STREAM, stream);
    tband_emit(TBAND_EVT_STREAM_CREATED, id, kind, size_bytes);
    return id;
}

void tband_hook_stream_deleted(void *stream, uint32_t stream_id) {
    deleted(stream);
    tband_emit(TBAND_EVT_STREAM_DELETED, stream_id, 0, 0);
}

void tband_hook_stream_name(void *stream, const char *name) {
    tband_emit_text(TBAND_EVT_STREAM_NAME, (uint32_t)uxStreamBufferGetStreamBufferNumber((StreamBufferHandle_t)stream), 0,
                    name);
}
#endif

#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
uint32_t tband_hook_event_group_created(void *event_group) {
    const uint32_t id = created(EVENT_GROUP, event_group);
    tband_emit(TBAND_EVT_EVENT_GROUP_CREATED, id, 0, 0);
    return id;
}

void tband_hook_event_group_deleted(void *event_group, uint32_t event_group_id) {
    deleted(event_group);
    tband_emit(TBAND_EVT_EVENT_GROUP_DELETED, event_group_id, 0, 0);
}

void tband_hook_event_group_name(void *event_group, const char *name) {
    tband_emit_text(TBAND_EVT_EVENT_GROUP_NAME, (uint32_t)uxEventGroupGetNumber(event_group), 0, name);
}
#endif

#if tband_configFREERTOS_TIMER_TRACE_ENABLE == 1
uint32_t tband_hook_timer_created(void *timer, const char *name, uint32_t period_ticks, uint32_t auto_reload) {
    const uint32_t id = created(TIMER, timer);
    tband_emit(TBAND_EVT_TIMER_CREATED, id, period_ticks, auto_reload);
    tband_emit_text(TBAND_EVT_TIMER_NAME, id, 0, name);
    return id;
}

void tband_hook_timer_command(void *timer, uint32_t timer_id, uint32_t command, uint32_t value) {
    if (command == (uint32_t)tmrCOMMAND_DELETE) {
        deleted(timer);
    }
    tband_emit(TBAND_EVT_TIMER_COMMAND_RECEIVED, timer_id, command, value);
}
#endif

#if tband_configFREERTOS_HEAP_TRACE_ENABLE == 1
void tband_hook_heap(uint32_t event, const void *address, size_t bytes) {
    if (!tband_wants(event)) {
        return;
    }
    uint8_t frame[TBAND_FRAME_SIZE(15u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u64(&at, (uintptr_t)address);
    tband_put_u32(&at, (uint32_t)bytes);
    tband_commit(event, frame, at);
}
#endif

#endif

/* ---- Task-local markers ------------------------------------------------------------------------------------------------------- */

#if tband_configMARKER_TRACE_ENABLE == 1
static uint32_t current_task(void) {
    return atomic_load_explicit(&tband_freertos_current[tband_core()], memory_order_relaxed);
}

void tband_freertos_task_evtmarker_name(uint32_t id, const char *name) {
    tband_emit_text(TBAND_EVT_TASK_EVTMARKER_NAME, id, current_task(), name);
}

void tband_freertos_task_evtmarker(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_TASK_EVTMARKER, id, 0, msg); }

void tband_freertos_task_evtmarker_begin(uint32_t id, const char *msg) {
    tband_emit_text(TBAND_EVT_TASK_EVTMARKER_BEGIN, id, 0, msg);
}

void tband_freertos_task_evtmarker_end(uint32_t id) { tband_emit(TBAND_EVT_TASK_EVTMARKER_END, id, 0, 0); }

void tband_freertos_task_valmarker_name(uint32_t id, const char *name) {
    tband_emit_text(TBAND_EVT_TASK_VALMARKER_NAME, id, current_task(), name);
}

void tband_freertos_task_valmarker(uint32_t id, int64_t val) { tband_emit_value(TBAND_EVT_TASK_VALMARKER, id, val); }
#endif

/* ---- State dump ------------------------------------------------------------------------------------------------------------------ */

#if REMEMBER

#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
static void dump_task(TaskHandle_t task) {
    const uint32_t id = (uint32_t)uxTaskGetTaskNumber(task);
#if INCLUDE_uxTaskPriorityGet == 1
    const uint32_t priority = (uint32_t)uxTaskPriorityGet(task);
#else
    const uint32_t priority = 0;
#endif
    tband_emit(TBAND_EVT_TASK_STATE, id, (uint32_t)eTaskGetState(task), priority);
#if INCLUDE_uxTaskPriorityGet == 1 && configUSE_MUTEXES == 1
    const uint32_t base = (uint32_t)uxTaskBasePriorityGet(task);
    if (base != priority) {
        tband_emit(TBAND_EVT_TASK_BASE_PRIORITY, id, base, 0);
    }
#endif
}
#endif

#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
static void dump_queue(QueueHandle_t queue) {
    const uint32_t id = (uint32_t)uxQueueGetQueueNumber(queue);
    tband_emit(TBAND_EVT_QUEUE_CAPACITY, id, (uint32_t)uxQueueGetQueueLength(queue), (uint32_t)uxQueueGetQueueItemSize(queue));
    tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, id, (uint32_t)uxQueueMessagesWaiting(queue), 0);
#if configUSE_MUTEXES == 1 && INCLUDE_xSemaphoreGetMutexHolder == 1
    const uint32_t type = ucQueueGetQueueType(queue);
    if (type == queueQUEUE_TYPE_MUTEX || type == queueQUEUE_TYPE_RECURSIVE_MUTEX) {
        const TaskHandle_t holder = xQueueGetMutexHolder(queue);
        if (holder != NULL) {
            tband_emit(TBAND_EVT_MUTEX_HOLDER, id, (uint32_t)uxTaskGetTaskNumber(holder), 0);
        }
    }
#endif
}
#endif

/* The object at a place of the table; NULL: none. */
static void *object_at(size_t i, enum object_kind *kind) {
    const void *object;
    TBAND_LOCK();
    object = objects[i];
    *kind = (enum object_kind)kinds[i];
    TBAND_UNLOCK();
    return (void *)(uintptr_t)object;
}

/* What it is like now. */
static void dump_object(void *handle, enum object_kind kind) {
    switch (kind) {
    case TASK:
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
        dump_task((TaskHandle_t)handle);
#endif
        break;
    case QUEUE:
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
        dump_queue((QueueHandle_t)handle);
#endif
        break;
    case STREAM:
#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
        tband_emit(TBAND_EVT_STREAM_LEVEL, (uint32_t)uxStreamBufferGetStreamBufferNumber((StreamBufferHandle_t)handle),
                   (uint32_t)xStreamBufferBytesAvailable((StreamBufferHandle_t)handle), 0);
#endif
        break;
    case EVENT_GROUP:
#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
        tband_emit(TBAND_EVT_EVENT_GROUP_BITS, (uint32_t)uxEventGroupGetNumber(handle),
                   (uint32_t)xEventGroupGetBitsFromISR((EventGroupHandle_t)handle), 0);
#endif
        break;
    case TIMER:
#if tband_configFREERTOS_TIMER_TRACE_ENABLE == 1
        tband_emit(TBAND_EVT_TIMER_STATE, (uint32_t)uxTimerGetTimerNumber((TimerHandle_t)handle),
                   (uint32_t)xTimerGetPeriod((TimerHandle_t)handle),
                   (uxTimerGetReloadMode((TimerHandle_t)handle) != 0 ? 1u : 0u) |
                       (xTimerIsTimerActive((TimerHandle_t)handle) != pdFALSE ? 2u : 0u));
#endif
        break;
    default:
        break;
    }
}

/* One object at a time: within the kernel's own critical section its state cannot change before it is sent, and interrupts are
 * held off only for the time of one object. */
void tband_freertos_dump_state(void) {
    for (size_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        enum object_kind kind = KINDS;
        taskENTER_CRITICAL();
        void *const object = object_at(i, &kind);
        if (object != NULL) {
            dump_object(object, kind);
        }
        taskEXIT_CRITICAL();
    }
    tband_emit(TBAND_EVT_STATE_END, objects_missing, 0, 0);
}

#if INCLUDE_uxTaskGetStackHighWaterMark == 1
static TaskHandle_t task_at(size_t i) {
    enum object_kind kind = KINDS;
    void *const object = object_at(i, &kind);
    return kind == TASK ? (TaskHandle_t)object : NULL;
}
#endif

void tband_freertos_sample_stacks(void) {
#if INCLUDE_uxTaskGetStackHighWaterMark == 1
    for (size_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        if (task_at(i) != NULL) {
            /* Not to be deleted while its stack is looked at; interrupts go on. */
            vTaskSuspendAll();
            const TaskHandle_t task = task_at(i);
            if (task != NULL) {
                tband_emit(TBAND_EVT_TASK_STACK, (uint32_t)uxTaskGetTaskNumber(task),
                           (uint32_t)uxTaskGetStackHighWaterMark(task) * (uint32_t)sizeof(StackType_t), 0);
            }
            (void)xTaskResumeAll();
        }
    }
#endif
}

#else

void tband_freertos_dump_state(void) {}

void tband_freertos_sample_stacks(void) {}

#endif

#endif
