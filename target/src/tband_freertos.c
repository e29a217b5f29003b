/* Below the FreeRTOS hooks: ids, names, who runs, and the state of all objects when a recording starts. Kernels V10.2 and later.
 *
 * A kernel may be built without timers, event groups or stream buffers, and which functions there are depends on its version. So
 * what is in an object is read from the kernel's public mirror of it (StaticQueue_t and so on), which is the same in all of them. */
/* Part of the kernel: with an MPU its own functions are called, not those that enter it from tasks, which interrupts must not call and
 * which take other handles. */
#define MPU_WRAPPERS_INCLUDED_FROM_API_FILE

#include "tband_config.h"

#if defined(tband_configENABLE) && defined(tband_configFREERTOS_TRACE_ENABLE)
#if tband_configENABLE == 1 && tband_configFREERTOS_TRACE_ENABLE == 1
#include "FreeRTOS.h"
#ifndef TBAND_H_
#error "FreeRTOSConfig.h must include tband.h, as its last line: without it there are no hooks in the kernel, and nothing of it is recorded."
#endif
#endif
#endif

#include "tband_internal.h"

#if tband_configENABLE == 1 && tband_configFREERTOS_TRACE_ENABLE == 1

#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "timers.h"

#if configUSE_TRACE_FACILITY != 1
#error "FreeRTOS tracing keeps its ids in the kernel's trace fields: set configUSE_TRACE_FACILITY to 1 in FreeRTOSConfig.h."
#endif
/* Kernels before V11 run on one core. */
#ifndef configNUMBER_OF_CORES
#define configNUMBER_OF_CORES 1
#endif
#if configNUMBER_OF_CORES > TBAND_CORES
#error "tband_portNUMBER_OF_CORES is lower than configNUMBER_OF_CORES: the kernel runs on cores that the tracer does not know."
#endif

/* ---- Handles of an MPU's wrappers ----------------------------------------------------------------------------------------------- */

/* The wrappers of version 2 give handles that are numbers, and only they know the object: the kernel's hooks see it. From V11 on, which has hooks
 * where the kernel is asked. */
#if portUSING_MPU_WRAPPERS == 1 && tskKERNEL_VERSION_MAJOR >= 11
#if configUSE_MPU_WRAPPERS_V1 == 0
#define TBAND_HANDLES_ARE_NUMBERS 1
#endif
const void *tband_asked;
#endif

#ifdef TBAND_HANDLES_ARE_NUMBERS
#include "event_groups.h"
#include "stream_buffer.h"
/* After those whose types it uses. */
#include "mpu_prototypes.h"

/* The object, from what the application has; NULL: there is none. `ask` makes the kernel look at it. */
#define TBAND_OBJECT(object, ask)                                                                                            \
    do {                                                                                                                     \
        taskENTER_CRITICAL();                                                                                                \
        tband_asked = NULL;                                                                                                  \
        (void)(ask);                                                                                                         \
        (object) = (void *)(uintptr_t)tband_asked;                                                                           \
        taskEXIT_CRITICAL();                                                                                                 \
        if ((object) == NULL) {                                                                                              \
            return;                                                                                                          \
        }                                                                                                                    \
    } while (0)
#else
#define TBAND_OBJECT(object, ask) ((void)0)
#endif

/* ---- Ids and the object table --------------------------------------------------------------------------------------------- */

enum tband_kind { TBAND_TASK, TBAND_QUEUE, TBAND_STREAM, TBAND_EVENT_GROUP, TBAND_TIMER, TBAND_KINDS };

/* Ids given so far, per kind: counted from 1 in order of creation, never used again. */
static uint32_t tband_last_id[TBAND_KINDS];

/* Whether objects are remembered: their names and state are sent when a recording starts. */
#define TBAND_REMEMBERS (tband_configFREERTOS_MAX_OBJECTS > 0)
/* Whether their state is: the plain format has no events for it. */
#define TBAND_DUMPS (TBAND_REMEMBERS && tband_configCOMPAT == 0)
/* What is beside the name of an object that the kernel knows as well. A post-mortem ring has no beginning at which to do so. */
#if TBAND_REMEMBERS && tband_configUSE_BACKEND_POST_MORTEM == 0
#define TBAND_FROM_KERNEL TBAND_UNKEPT
#else
#define TBAND_FROM_KERNEL 0u
#endif

#if TBAND_REMEMBERS
/* Changed under the lock, kinds too. */
static const void *volatile tband_objects[tband_configFREERTOS_MAX_OBJECTS];
static uint8_t tband_kinds[tband_configFREERTOS_MAX_OBJECTS];
/* Living objects that found no place. */
static uint32_t tband_objects_missing;

/* The place of an object, or the first free one for NULL; tband_configFREERTOS_MAX_OBJECTS: none. Not under the lock, which would hold off
 * interrupts for long: whoever has the lock then looks whether it is still so. Nobody else gives this object a place, or takes it away. */
static size_t tband_place(const void *object) {
    size_t i = 0;
    while (i < tband_configFREERTOS_MAX_OBJECTS && tband_objects[i] != object) {
        i++;
    }
    return i;
}

/* Puts an object into its place. True: there is none for it. It may have one before it is created: the kernel does not require that a static
 * object is deleted before its memory gets a new one. */
static bool tband_remember(const void *object, enum tband_kind kind) {
    size_t place = tband_place(object);
    bool is_done = false;
    while (!is_done) {
        if (place == tband_configFREERTOS_MAX_OBJECTS) {
            place = tband_place(NULL);
        }
        TBAND_LOCK();
        if (place == tband_configFREERTOS_MAX_OBJECTS) {
            tband_objects_missing++;
            is_done = true;
        } else if (tband_objects[place] == NULL || tband_objects[place] == object) {
            tband_objects[place] = object;
            tband_kinds[place] = (uint8_t)kind;
            is_done = true;
        }
        TBAND_UNLOCK();
        if (!is_done) {
            /* Another task took it. */
            place = tband_configFREERTOS_MAX_OBJECTS;
        }
    }
    return place == tband_configFREERTOS_MAX_OBJECTS;
}

/* The object at place `i`, and its kind; NULL: none. It is not freed while the caller is in a critical section of the kernel, or keeps its
 * scheduler suspended. */
static void *tband_object_at(uint32_t i, enum tband_kind *kind) {
    void *object;
    TBAND_LOCK_CORES();
    object = (void *)(uintptr_t)tband_objects[i];
    *kind = (enum tband_kind)tband_kinds[i];
    TBAND_UNLOCK_CORES();
    return object;
}
#endif

#if tband_configCOMPAT == 0 && (tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1 || tband_configFREERTOS_TIMER_TRACE_ENABLE == 1)
/* The id of an object, and a value in it, where the kernel calls a hook after other tasks could run and delete the object: then its memory is
 * not read, and the id is 0. If objects found no place, all are taken to live. */
static TBAND_NOINLINE uint32_t tband_id_if_alive(const void *object, enum tband_kind kind, const UBaseType_t *id, const TickType_t *value,
                                                 uint32_t *copy) {
    uint32_t found = 0;
#if TBAND_REMEMBERS
    const size_t place = tband_place(object);
#endif
    TBAND_LOCK();
#if TBAND_REMEMBERS
    if (tband_objects_missing != 0 || (place < tband_configFREERTOS_MAX_OBJECTS && tband_objects[place] == object &&
                                       tband_kinds[place] == (uint8_t)kind))
#endif
    {
        found = (uint32_t)*id;
        *copy = (uint32_t)*value;
    }
    TBAND_UNLOCK();
    (void)object;
    (void)kind;
    return found;
}
#endif

static const struct tband_rtos tband_freertos;

/* A new object gets its number before it is remembered: from then on others look at it. `flag` becomes TBAND_UNKEPT if its name need
 * not be kept. */
static uint32_t tband_created(enum tband_kind kind, const void *object, UBaseType_t *number, uint32_t *flag) {
    uint32_t id;
    (void)object;
    *flag = 0;
    TBAND_LOCK();
    tband_rtos = &tband_freertos;
    id = ++tband_last_id[kind];
    *number = (UBaseType_t)id;
    TBAND_UNLOCK();
#if TBAND_REMEMBERS
    if (!tband_remember(object, kind)) {
        *flag = TBAND_FROM_KERNEL;
    }
#endif
    return id;
}

static void tband_deleted(const void *object) {
#if TBAND_REMEMBERS
    const size_t place = tband_place(object);
    TBAND_LOCK();
    if (place == tband_configFREERTOS_MAX_OBJECTS) {
        tband_objects_missing--;
    } else {
        tband_objects[place] = NULL;
    }
    TBAND_UNLOCK();
#else
    (void)object;
#endif
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------------------ */

void tband_hook_task_created(void *task, void *number, const char *name, uint32_t priority) {
    uint32_t flag;
    const uint32_t id = tband_created(TBAND_TASK, task, (UBaseType_t *)number, &flag);
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_TASK_CREATED, id);
    tband_emit(TBAND_EVT_TASK_PRIORITY_SET, id, priority, 0);
#else
    (void)priority;
#endif
    tband_emit_text(TBAND_EVT_TASK_NAME | flag, id, 0, name);
}

void tband_hook_task_deleted(void *task, uint32_t task_id) {
    tband_deleted(task);
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_TASK_DELETED, task_id);
#else
    (void)task_id;
#endif
}

/* Within a critical section of the kernel. */
#if tskKERNEL_VERSION_MAJOR == 10 && tskKERNEL_VERSION_MINOR < 4
static const UBaseType_t *tband_priority;
static uint32_t tband_priority_task;

void tband_hook_gives_up(uint32_t task_id, const void *priority) {
    tband_priority_task = task_id;
    tband_priority = (const UBaseType_t *)priority;
}

void tband_hook_gave_up(void) {
    if (tband_priority != NULL) {
        tband_emit(TBAND_EVT_TASK_PRIORITY_DISINHERIT, tband_priority_task, (uint32_t)*tband_priority, 0);
        tband_priority = NULL;
    }
}
#else
void tband_hook_gave_up(void) {}
#endif

/* 1 once tasks run. */
static tband_word tband_scheduler_runs;

/* The task of the kernel's own at place `i`: first idle tasks, then the timer task; false after the last. */
static bool tband_service_task(uint32_t i, struct tband_name *name) {
    (void)i;
    (void)name;
    if (TBAND_LOAD(tband_scheduler_runs) == 0) {
        return false;
    }
#if INCLUDE_xTaskGetIdleTaskHandle == 1
    if (i < configNUMBER_OF_CORES) {
#if configNUMBER_OF_CORES > 1
        const TaskHandle_t idle = xTaskGetIdleTaskHandleForCore((BaseType_t)i);
#else
        const TaskHandle_t idle = xTaskGetIdleTaskHandle();
#endif
        const struct tband_name found = {TBAND_EVT_TASK_IS_IDLE_TASK, (uint32_t)uxTaskGetTaskNumber(idle), i, NULL};
        *name = found;
        return true;
    }
    i -= configNUMBER_OF_CORES;
#endif
#if configUSE_TIMERS == 1
    if (i == 0) {
        const TaskHandle_t timer = xTimerGetTimerDaemonTaskHandle();
        const struct tband_name found = {TBAND_EVT_TASK_IS_TIMER_TASK, (uint32_t)uxTaskGetTaskNumber(timer), 0, NULL};
        *name = found;
        return true;
    }
#endif
    return false;
}

/* Sends a name. `flag` is TBAND_UNKEPT or 0. */
static void tband_send_name(const struct tband_name *name, uint32_t flag) {
    if (name->text != NULL) {
        tband_emit_text(name->event | flag, name->a, name->b, name->text);
    } else if (name->event != 0) {
        tband_emit(name->event | flag, name->a, name->b, 0);
    }
}

void tband_freertos_scheduler_started(void) {
    bool is_first;
    if (tband_current_task() == 0) {
        /* It did not start: the kernel's own tasks are not there yet. */
        return;
    }
    {
        TBAND_LOCK_CORES();
        is_first = TBAND_LOAD(tband_scheduler_runs) == 0;
        TBAND_STORE(tband_scheduler_runs, 1);
        TBAND_UNLOCK_CORES();
    }
    if (is_first) {
        struct tband_name name = {0, 0, 0, NULL};
        for (uint32_t i = 0; tband_service_task(i, &name); i++) {
            tband_send_name(&name, TBAND_FROM_KERNEL);
        }
    }
}

/* The kernel calls it with this core's interrupts masked, so the core cannot change in between. */
void tband_hook_task_switched_in(uint32_t task_id) {
    const uint32_t core = tband_core();
#if TBAND_TRACES_TASKS
    /* Not the task that ran before: a yield to oneself is no switch. */
    const bool is_known = TBAND_LOAD(tband_freertos_current[core]) == task_id && TBAND_LOAD(tband.told_running[core]) != 0;
#endif
    TBAND_STORE(tband_freertos_current[core], task_id);
#if TBAND_CORES > 1
    /* The counterpart is in tband_tell_running(). */
    atomic_thread_fence(memory_order_seq_cst);
#endif
#if TBAND_TRACES_TASKS
    if (!is_known) {
        TBAND_STORE(tband.told_running[core], 1);
        tband_emit_one(TBAND_EVT_TASK_SWITCHED_IN, task_id);
    }
#endif
    if (TBAND_LOAD(tband_scheduler_runs) == 0) {
        /* The kernel says once who runs first, when its own tasks exist. */
        tband_freertos_scheduler_started();
    }
}

/* ---- Queues, semaphores, mutexes --------------------------------------------------------------------------------------------- */

/* From the kernel's queue type to QueueKind: base, mutex, counting, binary, recursive, set. */
static uint32_t tband_queue_kind(uint32_t queue_type) { return queue_type < 6u ? (0x542130u >> (4u * queue_type)) & 0xfu : 0u; }

void tband_hook_queue_created(void *queue) {
    StaticQueue_t *const of = (StaticQueue_t *)queue;
    uint32_t flag;
    const uint32_t id = tband_created(TBAND_QUEUE, queue, &of->uxDummy8, &flag);
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_QUEUE_CREATED, id);
#endif
    tband_emit(TBAND_EVT_QUEUE_KIND | flag, id, tband_queue_kind(of->ucDummy9), 0);
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
#if tband_configCOMPAT == 0
    tband_emit(TBAND_EVT_QUEUE_CAPACITY, id, (uint32_t)of->uxDummy4[1], (uint32_t)of->uxDummy4[2]);
#endif
    tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, id, 0, 0);
#endif
}

void tband_hook_queue_deleted(void *queue, uint32_t queue_id) {
    tband_deleted(queue);
#if tband_configCOMPAT == 0 && tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_QUEUE_DELETED, queue_id);
#else
    (void)queue_id;
#endif
}

void tband_hook_queue_send(uint32_t event, uint32_t queue_id, uint32_t level, uint32_t length) {
    if (level < length) {
        level++;
    } else {
        /* queue_overwrite and queue_overwrite_from_isr come two after their send. */
        event += TBAND_EVT_QUEUE_OVERWRITE - TBAND_EVT_QUEUE_SEND;
    }
    tband_emit(event, queue_id, level, 0);
}

void tband_hook_queue_name(void *queue, const char *name) {
    TBAND_OBJECT(queue, MPU_uxQueueMessagesWaiting((QueueHandle_t)queue));
    tband_emit_text(TBAND_EVT_QUEUE_NAME, (uint32_t)((const StaticQueue_t *)queue)->uxDummy8, 0, name);
}

void tband_hook_queue_registered(void *queue, const char *name) {
    uint32_t flag = 0;
#if TBAND_REMEMBERS
    /* The kernel has its name, if the queue has a place. */
    if (tband_objects_missing == 0) {
        flag = TBAND_FROM_KERNEL;
    }
#endif
    tband_emit_text(TBAND_EVT_QUEUE_NAME | flag, (uint32_t)((const StaticQueue_t *)queue)->uxDummy8, 0, name);
}

/* ---- The objects that the plain format does not know ------------------------------------------------------------------------------ */

#if tband_configCOMPAT == 0

void tband_hook_stream_created(void *stream, uint32_t kind, uint32_t size_bytes) {
    uint32_t flag;
    const uint32_t id = tband_created(TBAND_STREAM, stream, &((StaticStreamBuffer_t *)stream)->uxDummy4, &flag);
#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
    tband_emit(TBAND_EVT_STREAM_CREATED, id, kind, size_bytes);
#else
    (void)id;
    (void)kind;
    (void)size_bytes;
#endif
}

void tband_hook_stream_deleted(void *stream, uint32_t stream_id) {
    tband_deleted(stream);
#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_STREAM_DELETED, stream_id);
#else
    (void)stream_id;
#endif
}

#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
/* How many bytes are in it. Volatile: others write and read meanwhile. */
static uint32_t tband_stream_level(const void *stream) {
    const volatile StaticStreamBuffer_t *const of = (const volatile StaticStreamBuffer_t *)stream;
    const size_t tail = of->uxDummy1[0];
    const size_t head = of->uxDummy1[1];
    return (uint32_t)(head >= tail ? head - tail : head + of->uxDummy1[2] - tail);
}

/* The kernel is in no critical section: whoever comes in between and changes the level may have recorded that before this. So the level follows
 * until it is what was recorded last. */
void tband_hook_stream(uint32_t event, uint32_t stream_id, const void *stream, uint32_t bytes) {
    uint32_t level = tband_stream_level(stream);
    tband_emit(event, stream_id, bytes, level);
    for (uint32_t now = tband_stream_level(stream); now != level; now = tband_stream_level(stream)) {
        level = now;
        tband_emit(TBAND_EVT_STREAM_LEVEL, stream_id, level, 0);
    }
}
#endif

void tband_hook_stream_name(void *stream, const char *name) {
    TBAND_OBJECT(stream, MPU_xStreamBufferIsEmpty((StreamBufferHandle_t)stream));
    tband_emit_text(TBAND_EVT_STREAM_NAME, (uint32_t)((const StaticStreamBuffer_t *)stream)->uxDummy4, 0, name);
}

void tband_hook_event_group_created(void *event_group) {
    uint32_t flag;
    const uint32_t id = tband_created(TBAND_EVENT_GROUP, event_group, &((StaticEventGroup_t *)event_group)->uxDummy3, &flag);
#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_EVENT_GROUP_CREATED, id);
#else
    (void)id;
#endif
}

void tband_hook_event_group_deleted(void *event_group, uint32_t event_group_id) {
    tband_deleted(event_group);
#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
    tband_emit_one(TBAND_EVT_EVENT_GROUP_DELETED, event_group_id);
#else
    (void)event_group_id;
#endif
}

#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
void tband_hook_event_group_left(const void *event_group, uint32_t timed_out) {
    const StaticEventGroup_t *const group = (const StaticEventGroup_t *)event_group;
    uint32_t bits;
    /* Or whoever comes in between and changes the bits records that before this. */
    taskENTER_CRITICAL();
    const uint32_t id = tband_id_if_alive(group, TBAND_EVENT_GROUP, &group->uxDummy3, &group->xDummy1, &bits);
    if (id != 0) {
        tband_emit(TBAND_EVT_EVENT_GROUP_WAIT_END, id, bits, timed_out);
    }
    taskEXIT_CRITICAL();
}
#endif

void tband_hook_event_group_name(void *event_group, const char *name) {
    TBAND_OBJECT(event_group, MPU_uxEventGroupGetNumber(event_group));
    tband_emit_text(TBAND_EVT_EVENT_GROUP_NAME, (uint32_t)((const StaticEventGroup_t *)event_group)->uxDummy3, 0, name);
}

#if tband_configFREERTOS_TIMER_TRACE_ENABLE == 1
void tband_hook_timer_created(void *timer, const char *name, uint32_t period_ticks, uint32_t auto_reload) {
    uint32_t flag;
    const uint32_t id = tband_created(TBAND_TIMER, timer, &((StaticTimer_t *)timer)->uxDummy7, &flag);
    tband_emit(TBAND_EVT_TIMER_CREATED, id, period_ticks, auto_reload);
    tband_emit_text(TBAND_EVT_TIMER_NAME | flag, id, 0, name);
}

void tband_hook_timer_command_sent(const void *timer, uint32_t command, uint32_t value, bool is_queued) {
    const StaticTimer_t *const of = (const StaticTimer_t *)timer;
    uint32_t period;
    const uint32_t id = tband_id_if_alive(of, TBAND_TIMER, &of->uxDummy7, &of->xDummy3, &period);
    if (id != 0) {
        tband_emit(is_queued ? TBAND_EVT_TIMER_COMMAND : TBAND_EVT_TIMER_COMMAND_FAILED, id, command, value);
    }
}

void tband_hook_timer_command(void *timer, uint32_t timer_id, uint32_t command, uint32_t value) {
    if (command == (uint32_t)tmrCOMMAND_DELETE) {
        tband_deleted(timer);
    }
    tband_emit(TBAND_EVT_TIMER_COMMAND_RECEIVED, timer_id, command, value);
}
#endif

#if tband_configFREERTOS_HEAP_TRACE_ENABLE == 1
void tband_hook_heap(uint32_t event, const void *address, size_t bytes) {
    tband_emit_address(event, (uintptr_t)address, (uint32_t)bytes);
}
#endif

#endif

/* ---- Task-local markers ------------------------------------------------------------------------------------------------------- */

#if tband_configMARKER_TRACE_ENABLE == 1
void tband_freertos_task_evtmarker_name(uint32_t id, const char *name) {
    tband_emit_text(TBAND_EVT_TASK_EVTMARKER_NAME, id, tband_current_task(), name);
}

void tband_freertos_task_evtmarker(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_TASK_EVTMARKER, id, 0, msg); }

void tband_freertos_task_evtmarker_begin(uint32_t id, const char *msg) {
    tband_emit_text(TBAND_EVT_TASK_EVTMARKER_BEGIN, id, 0, msg);
}

void tband_freertos_task_evtmarker_end(uint32_t id) { tband_emit_one(TBAND_EVT_TASK_EVTMARKER_END, id); }

void tband_freertos_task_valmarker_name(uint32_t id, const char *name) {
    tband_emit_text(TBAND_EVT_TASK_VALMARKER_NAME, id, tband_current_task(), name);
}

void tband_freertos_task_valmarker(uint32_t id, int64_t val) { tband_emit_value(TBAND_EVT_TASK_VALMARKER, id, val); }
#endif

/* ---- Names and state of all objects --------------------------------------------------------------------------------------------- */

#if TBAND_REMEMBERS

/* The name that the kernel has of an object. */
static void tband_name_of(const void *object, enum tband_kind kind, bool second, struct tband_name *name) {
    const struct tband_name none = {0, 0, 0, NULL};
    *name = none;
    switch (kind) {
    case TBAND_TASK:
        if (!second) {
            const TaskHandle_t task = (TaskHandle_t)(uintptr_t)object;
            name->event = TBAND_EVT_TASK_NAME;
            name->a = (uint32_t)uxTaskGetTaskNumber(task);
            name->text = pcTaskGetName(task);
        }
        break;
    case TBAND_QUEUE: {
        const StaticQueue_t *const queue = (const StaticQueue_t *)object;
        name->a = (uint32_t)queue->uxDummy8;
        if (!second) {
            name->event = TBAND_EVT_QUEUE_KIND;
            name->b = tband_queue_kind(queue->ucDummy9);
        } else {
#if configQUEUE_REGISTRY_SIZE > 0
            name->text = pcQueueGetName((QueueHandle_t)(uintptr_t)object);
#endif
            name->event = name->text != NULL ? TBAND_EVT_QUEUE_NAME : 0u;
        }
        break;
    }
#if configUSE_TIMERS == 1 && tband_configCOMPAT == 0
    case TBAND_TIMER:
        if (!second) {
            const StaticTimer_t *const timer = (const StaticTimer_t *)object;
            name->event = timer->pvDummy1 != NULL ? TBAND_EVT_TIMER_NAME : 0u;
            name->a = (uint32_t)timer->uxDummy7;
            name->text = (const char *)timer->pvDummy1;
        }
        break;
#endif
    default:
        break;
    }
}

/* Two places for each object, then one for each task of the kernel's own. */
static bool tband_kernel_name(uint32_t i, struct tband_name *name) {
    if (i >= 2u * tband_configFREERTOS_MAX_OBJECTS) {
        return tband_service_task(i - 2u * tband_configFREERTOS_MAX_OBJECTS, name);
    }
    if (tband_objects[i / 2u] != NULL) {
        tband_name_of(tband_objects[i / 2u], (enum tband_kind)tband_kinds[i / 2u], i % 2u != 0, name);
    }
    return true;
}

#if TBAND_DUMPS
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
static void tband_dump_task(TaskHandle_t task) {
    TaskStatus_t status;
    const uint32_t id = (uint32_t)uxTaskGetTaskNumber(task);
    vTaskGetInfo(task, &status, pdFALSE, eInvalid);
    if (TBAND_LOAD(tband_scheduler_runs) == 0 && status.eCurrentState == eRunning) {
        /* Only the one that the scheduler would begin with now. */
        status.eCurrentState = eReady;
    }
    tband_emit(TBAND_EVT_TASK_STATE, id, (uint32_t)status.eCurrentState, (uint32_t)status.uxCurrentPriority);
#if configUSE_MUTEXES == 1
    if (status.uxBasePriority != status.uxCurrentPriority) {
        tband_emit(TBAND_EVT_TASK_BASE_PRIORITY, id, (uint32_t)status.uxBasePriority, 0);
    }
#endif
}
#endif

#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
static void tband_dump_queue(const StaticQueue_t *queue) {
    const uint32_t id = (uint32_t)queue->uxDummy8;
    tband_emit(TBAND_EVT_QUEUE_CAPACITY, id, (uint32_t)queue->uxDummy4[1], (uint32_t)queue->uxDummy4[2]);
    tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, id, (uint32_t)queue->uxDummy4[0], 0);
    /* A mutex has no memory for items, and its holder in place of the end of it. */
    if (queue->pvDummy1[0] == NULL && queue->pvDummy1[2] != NULL) {
        tband_emit(TBAND_EVT_MUTEX_HOLDER, id, (uint32_t)uxTaskGetTaskNumber((TaskHandle_t)queue->pvDummy1[2]), 0);
    }
}
#endif

/* What it is like now. */
static void tband_dump_object(void *object, enum tband_kind kind) {
    switch (kind) {
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
    case TBAND_TASK:
        tband_dump_task((TaskHandle_t)object);
        break;
#endif
#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
    case TBAND_QUEUE:
        tband_dump_queue((const StaticQueue_t *)object);
        break;
#endif
#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
    case TBAND_STREAM: {
        const StaticStreamBuffer_t *const stream = (const StaticStreamBuffer_t *)object;
        /* The kernel's flags: bit 0 a message buffer, bit 2 a batching buffer. The buffer never holds its last byte. */
        tband_emit(TBAND_EVT_STREAM_STATE, (uint32_t)stream->uxDummy4,
                   (stream->ucDummy3 & 1u) != 0 ? 1u : (stream->ucDummy3 & 4u) != 0 ? 2u : 0u, (uint32_t)stream->uxDummy1[2] - 1u);
        tband_emit(TBAND_EVT_STREAM_LEVEL, (uint32_t)stream->uxDummy4, tband_stream_level(stream), 0);
        break;
    }
#endif
#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
    case TBAND_EVENT_GROUP: {
        const StaticEventGroup_t *const group = (const StaticEventGroup_t *)object;
        tband_emit(TBAND_EVT_EVENT_GROUP_BITS, (uint32_t)group->uxDummy3, (uint32_t)group->xDummy1, 0);
        break;
    }
#endif
#if tband_configFREERTOS_TIMER_TRACE_ENABLE == 1 && configUSE_TIMERS == 1
    case TBAND_TIMER: {
        const StaticTimer_t *const timer = (const StaticTimer_t *)object;
        /* The kernel's status: bit 0 active, bit 2 starts again when it expires. */
        tband_emit(TBAND_EVT_TIMER_STATE, (uint32_t)timer->uxDummy7, (uint32_t)timer->xDummy3,
                   ((timer->ucDummy8 & 4u) >> 2) | ((timer->ucDummy8 & 1u) << 1));
        break;
    }
#endif
    default:
        (void)object;
        break;
    }
}
#endif

/* One object at a time: within the kernel's own critical section its state cannot change before it is sent, and interrupts are
 * held off only for the time of one object. */
static void tband_dump_all(void) {
#if tband_configUSE_BACKEND_POST_MORTEM == 0
    struct tband_name name;
#endif
    for (uint32_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        taskENTER_CRITICAL();
        enum tband_kind kind;
        void *const object = tband_object_at(i, &kind);
        if (object != NULL) {
#if tband_configUSE_BACKEND_POST_MORTEM == 0
            for (uint32_t second = 0; second < 2u; second++) {
                tband_name_of(object, kind, second != 0, &name);
                tband_send_name(&name, TBAND_UNKEPT);
            }
#endif
#if TBAND_DUMPS
            tband_dump_object(object, kind);
#endif
        }
        taskEXIT_CRITICAL();
    }
#if tband_configUSE_BACKEND_POST_MORTEM == 0
    for (uint32_t i = 0; tband_service_task(i, &name); i++) {
        tband_send_name(&name, TBAND_UNKEPT);
    }
#endif
#if TBAND_DUMPS
    uint32_t objects_missing;
    {
        TBAND_LOCK_CORES();
        objects_missing = tband_objects_missing;
        TBAND_UNLOCK_CORES();
    }
    tband_emit_one(TBAND_EVT_STATE_END, objects_missing);
#endif
}

#else

static bool tband_kernel_name(uint32_t i, struct tband_name *name) {
    (void)i;
    (void)name;
    return false;
}

static void tband_dump_all(void) {}

#endif

static const struct tband_rtos tband_freertos = {tband_dump_all, tband_kernel_name};

void tband_freertos_sample_stacks(void) {
#if TBAND_DUMPS && INCLUDE_uxTaskGetStackHighWaterMark == 1
    for (uint32_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        /* Not to be deleted while its stack is looked at; interrupts go on. */
        vTaskSuspendAll();
        enum tband_kind kind;
        const TaskHandle_t task = (TaskHandle_t)tband_object_at(i, &kind);
        if (task != NULL && kind == TBAND_TASK) {
            tband_emit(TBAND_EVT_TASK_STACK, (uint32_t)uxTaskGetTaskNumber(task),
                       (uint32_t)uxTaskGetStackHighWaterMark(task) * (uint32_t)sizeof(StackType_t), 0);
        }
        (void)xTaskResumeAll();
    }
#endif
}

#endif
