/* The FreeRTOS kernel's trace macros. Included by tband.h; never include it directly.
 *
 * The macros are expanded inside the kernel's own files, where its structures and local variables are visible: that is how a
 * hook knows, say, for how long a task is going to wait. Ids are in the number fields that the kernel keeps for tracers. */
#ifndef TBAND_FREERTOS_H_
#define TBAND_FREERTOS_H_

/* In FreeRTOSConfig.h, before the kernel's own files miss the fields. */
#if defined(INC_FREERTOS_H) && (!defined(configUSE_TRACE_FACILITY) || configUSE_TRACE_FACILITY != 1)
#error "FreeRTOS tracing keeps its ids in the kernel's trace fields: set configUSE_TRACE_FACILITY to 1 in FreeRTOSConfig.h, above tband.h."
#endif

/* A time-stamped event or metadata with up to three integers, as many as the event has. */
void tband_emit(uint32_t event, uint32_t a, uint32_t b, uint32_t c);
/* A time-stamped event with one integer. */
void tband_emit_one(uint32_t event, uint32_t a);

/* What the hooks call. Each ..._created gives the new object its id, in the number that the kernel keeps for tracers. */
void tband_hook_task_created(void *task, void *number, const char *name, uint32_t priority);
void tband_hook_task_deleted(void *task, uint32_t task_id);
void tband_hook_task_switched_in(uint32_t task_id);
/* The holder of a mutex is about to get another priority, and has it. */
void tband_hook_gives_up(uint32_t task_id, const void *priority);
void tband_hook_gave_up(void);
void tband_hook_queue_created(void *queue);
void tband_hook_queue_deleted(void *queue, uint32_t queue_id);
void tband_hook_queue_send(uint32_t event, uint32_t queue_id, uint32_t level, uint32_t length);
void tband_hook_queue_name(void *queue, const char *name);
void tband_hook_queue_registered(void *queue, const char *name);
#if tband_configCOMPAT == 0
void tband_hook_stream_created(void *stream, uint32_t kind, uint32_t size_bytes);
void tband_hook_stream_deleted(void *stream, uint32_t stream_id);
/* Bytes were written or read. */
void tband_hook_stream(uint32_t event, uint32_t stream_id, const void *stream, uint32_t bytes);
void tband_hook_event_group_created(void *event_group);
void tband_hook_event_group_deleted(void *event_group, uint32_t event_group_id);
/* The end of a wait, with the bits, unless the event group was deleted. */
void tband_hook_event_group_left(const void *event_group, uint32_t timed_out);
void tband_hook_timer_created(void *timer, const char *name, uint32_t period_ticks, uint32_t auto_reload);
void tband_hook_timer_command_sent(const void *timer, uint32_t command, uint32_t value, bool is_queued);
void tband_hook_timer_command(void *timer, uint32_t timer_id, uint32_t command, uint32_t value);
void tband_hook_heap(uint32_t event, const void *address, size_t bytes);
void tband_hook_stream_name(void *stream, const char *name);
void tband_hook_event_group_name(void *event_group, const char *name);
#endif

/* With an MPU an object may have a number as its handle. Only the kernel knows what it stands for: asked for the level or the number of an object,
 * it passes by here. */
extern const void *tband_asked;
#define TBAND_ASKED(object)                                                                                                  \
    do {                                                                                                                     \
        if (portUSING_MPU_WRAPPERS == 1) {                                                                                   \
            tband_asked = (object);                                                                                          \
        }                                                                                                                    \
    } while (0)
#define traceENTER_uxQueueMessagesWaiting(xQueue_) TBAND_ASKED(xQueue_)
#define traceENTER_xStreamBufferIsEmpty(xStream_) TBAND_ASKED(xStream_)
#define traceENTER_uxEventGroupGetNumber(xGroup_) TBAND_ASKED(xGroup_)

/* ---- Names given by the application ---------------------------------------------------------------------------------- */

#define tband_freertos_queue_name(handle, name) tband_hook_queue_name((handle), (name))
#define tband_freertos_binary_semaphore_name(handle, name) tband_hook_queue_name((handle), (name))
#define tband_freertos_counting_semaphore_name(handle, name) tband_hook_queue_name((handle), (name))
#define tband_freertos_mutex_name(handle, name) tband_hook_queue_name((handle), (name))
#define tband_freertos_recursive_mutex_name(handle, name) tband_hook_queue_name((handle), (name))
#define tband_freertos_queue_set_name(handle, name) tband_hook_queue_name((handle), (name))

#if tband_configCOMPAT == 0
#define tband_freertos_stream_buffer_name(handle, name) tband_hook_stream_name((handle), (name))
#else
#define tband_freertos_stream_buffer_name(handle, name) ((void)(handle), (void)(name))
#endif
#define tband_freertos_message_buffer_name(handle, name) tband_freertos_stream_buffer_name(handle, name)

#if tband_configCOMPAT == 0
#define tband_freertos_event_group_name(handle, name) tband_hook_event_group_name((handle), (name))
#else
#define tband_freertos_event_group_name(handle, name) ((void)(handle), (void)(name))
#endif

/* ---- Tasks: ids and names always, so that names are complete ---------------------------------------------------------- */

#define traceTASK_CREATE(pxNewTCB)                                                                                           \
    tband_hook_task_created((pxNewTCB), &(pxNewTCB)->uxTaskNumber, (pxNewTCB)->pcTaskName, (uint32_t)(pxNewTCB)->uxPriority)
#define traceTASK_DELETE(pxTCB) tband_hook_task_deleted((pxTCB), (uint32_t)(pxTCB)->uxTaskNumber)
#define traceTASK_SWITCHED_IN() tband_hook_task_switched_in((uint32_t)pxCurrentTCB->uxTaskNumber)

/* How long a task is going to wait. For ever is the greatest number, however wide the kernel's ticks are. */
#define TBAND_TICKS_TO_WAIT (xTicksToWait == portMAX_DELAY ? UINT32_MAX : (uint32_t)xTicksToWait)

#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define traceMOVED_TASK_TO_READY_STATE(pxTCB)                                                                                \
    do {                                                                                                                     \
        if (TBAND_GIVES_UP()) {                                                                                              \
            tband_hook_gave_up();                                                                                            \
        }                                                                                                                    \
        tband_emit_one(TBAND_EVT_TASK_TO_RDY_STATE, (uint32_t)(pxTCB)->uxTaskNumber);                                        \
    } while (0)
/* While the scheduler is suspended, a task that is made ready is on no ready list: the kernel moves it there when the scheduler goes on. But who
 * made it ready is who does so now. Kernels before V11 have no hook for it, but for notifications. */
#define TBAND_READY_IF_PENDING(pxTCB)                                                                                        \
    do {                                                                                                                     \
        if (uxSchedulerSuspended != 0u) {                                                                                    \
            traceMOVED_TASK_TO_READY_STATE(pxTCB);                                                                           \
        }                                                                                                                    \
    } while (0)
#define traceENTER_xTaskRemoveFromEventList(pxEventList_)                                                                    \
    TBAND_READY_IF_PENDING((const TCB_t *)listGET_OWNER_OF_HEAD_ENTRY(pxEventList_))
#define traceTASK_RESUME(pxTCB) tband_emit_one(TBAND_EVT_TASK_RESUMED, (uint32_t)(pxTCB)->uxTaskNumber)
#define traceTASK_RESUME_FROM_ISR(pxTCB) tband_emit_one(TBAND_EVT_TASK_RESUMED_FROM_ISR, (uint32_t)(pxTCB)->uxTaskNumber)
#define traceTASK_SUSPEND(pxTCB) tband_emit_one(TBAND_EVT_TASK_SUSPENDED, (uint32_t)(pxTCB)->uxTaskNumber)
#define traceTASK_DELAY() tband_emit_one(TBAND_EVT_CURTASK_DELAY, (uint32_t)xTicksToDelay)
#define traceTASK_DELAY_UNTIL(xTimeToWake) tband_emit_one(TBAND_EVT_CURTASK_DELAY_UNTIL, (uint32_t)(xTimeToWake))
#define TBAND_PRIORITY_SET(event, pxTCB, uxPriority_)                                                                        \
    tband_emit((event), (uint32_t)(pxTCB)->uxTaskNumber, (uint32_t)(uxPriority_), 0)
/* A task that has inherited a priority keeps it, and returns to the one that is set; from V11 on a higher one counts at once. Called
 * before the kernel does so. */
#if defined(configUSE_MUTEXES) && configUSE_MUTEXES == 1
#if tband_configCOMPAT == 0
#define TBAND_BASE_PRIORITY_SET(pxTCB, uxPriority_) TBAND_PRIORITY_SET(TBAND_EVT_TASK_BASE_PRIORITY, pxTCB, uxPriority_)
#else
/* The priority that it has, again: the kernel puts a task that is ready on its list again, which does not mean that it was not. */
#define TBAND_BASE_PRIORITY_SET(pxTCB, uxPriority_) TBAND_PRIORITY_SET(TBAND_EVT_TASK_PRIORITY_SET, pxTCB, (pxTCB)->uxPriority)
#endif
#define traceTASK_PRIORITY_SET(pxTCB, uxPriority_)                                                                           \
    do {                                                                                                                     \
        if ((pxTCB)->uxBasePriority == (pxTCB)->uxPriority ||                                                                \
            (tskKERNEL_VERSION_MAJOR >= 11 && (uxPriority_) > (pxTCB)->uxPriority)) {                                        \
            TBAND_PRIORITY_SET(TBAND_EVT_TASK_PRIORITY_SET, pxTCB, uxPriority_);                                             \
        } else {                                                                                                             \
            TBAND_BASE_PRIORITY_SET(pxTCB, uxPriority_);                                                                     \
        }                                                                                                                    \
    } while (0)
#else
#define traceTASK_PRIORITY_SET(pxTCB, uxPriority_) TBAND_PRIORITY_SET(TBAND_EVT_TASK_PRIORITY_SET, pxTCB, uxPriority_)
#endif
#define traceTASK_PRIORITY_INHERIT(pxTCB, uxPriority_)                                                                       \
    tband_emit(TBAND_EVT_TASK_PRIORITY_INHERIT, (uint32_t)(pxTCB)->uxTaskNumber, (uint32_t)(uxPriority_), 0)
/* Where a task gives up waiting for a mutex, its holder keeps the priority of those that still wait, but kernels before V10.4 say that it
 * returns to its own. They have set the true one where they next pass by a macro, in the same critical section: whether the holder is
 * ready, and so moved to another list, or not. */
#define TBAND_GIVES_UP() (sizeof(__func__) == sizeof("vTaskPriorityDisinheritAfterTimeout"))
#define traceTASK_PRIORITY_DISINHERIT(pxTCB, uxPriority_)                                                                    \
    do {                                                                                                                     \
        if (TBAND_GIVES_UP() && tskKERNEL_VERSION_MAJOR == 10 && tskKERNEL_VERSION_MINOR < 4) {                              \
            tband_hook_gives_up((uint32_t)(pxTCB)->uxTaskNumber, &(pxTCB)->uxPriority);                                      \
        } else {                                                                                                             \
            tband_emit(TBAND_EVT_TASK_PRIORITY_DISINHERIT, (uint32_t)(pxTCB)->uxTaskNumber, (uint32_t)(uxPriority_), 0);     \
        }                                                                                                                    \
    } while (0)
#ifndef mtCOVERAGE_TEST_MARKER
#define mtCOVERAGE_TEST_MARKER()                                                                                             \
    do {                                                                                                                     \
        if (TBAND_GIVES_UP()) {                                                                                              \
            tband_hook_gave_up();                                                                                            \
        }                                                                                                                    \
    } while (0)
#endif
#endif

/* ---- Queues, semaphores, mutexes, queue sets -------------------------------------------------------------------------- */

#define traceQUEUE_CREATE(pxQueue_) tband_hook_queue_created(pxQueue_)
#define traceQUEUE_DELETE(pxQueue_) tband_hook_queue_deleted((pxQueue_), (uint32_t)(pxQueue_)->uxQueueNumber)
#define traceQUEUE_REGISTRY_ADD(xQueue_, pcQueueName_) tband_hook_queue_registered((xQueue_), (pcQueueName_))

#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define TBAND_QUEUE_BLOCK(event, pxQueue_)                                                                                   \
    tband_emit((event), (uint32_t)(pxQueue_)->uxQueueNumber, TBAND_TICKS_TO_WAIT, 0)
#define traceBLOCKING_ON_QUEUE_PEEK(pxQueue_) TBAND_QUEUE_BLOCK(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_PEEK, pxQueue_)
#define traceBLOCKING_ON_QUEUE_SEND(pxQueue_) TBAND_QUEUE_BLOCK(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_SEND, pxQueue_)
#define traceBLOCKING_ON_QUEUE_RECEIVE(pxQueue_) TBAND_QUEUE_BLOCK(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_RECEIVE, pxQueue_)
#endif

#if tband_configFREERTOS_QUEUE_TRACE_ENABLE == 1
#define traceCREATE_COUNTING_SEMAPHORE()                                                                                     \
    tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, (uint32_t)((Queue_t *)xHandle)->uxQueueNumber, (uint32_t)uxInitialCount, 0)
/* The hooks run before the kernel counts the item. A full queue that takes an item is a mailbox whose item is replaced. */
#define TBAND_QUEUE_SEND(event, pxQueue_)                                                                                    \
    tband_hook_queue_send((event), (uint32_t)(pxQueue_)->uxQueueNumber, (uint32_t)(pxQueue_)->uxMessagesWaiting,             \
                          (uint32_t)(pxQueue_)->uxLength)
#define traceQUEUE_SEND(pxQueue_) TBAND_QUEUE_SEND(TBAND_EVT_QUEUE_SEND, pxQueue_)
#define traceQUEUE_SEND_FROM_ISR(pxQueue_) TBAND_QUEUE_SEND(TBAND_EVT_QUEUE_SEND_FROM_ISR, pxQueue_)
#define traceQUEUE_SET_SEND(pxQueue_) TBAND_QUEUE_SEND(TBAND_EVT_QUEUE_SEND, pxQueue_)
#define TBAND_QUEUE_RECEIVE(event, pxQueue_)                                                                                 \
    tband_emit((event), (uint32_t)(pxQueue_)->uxQueueNumber,                                                                 \
               (pxQueue_)->uxMessagesWaiting > 0 ? (uint32_t)(pxQueue_)->uxMessagesWaiting - 1u : 0u, 0)
#define traceQUEUE_RECEIVE(pxQueue_) TBAND_QUEUE_RECEIVE(TBAND_EVT_QUEUE_RECEIVE, pxQueue_)
#define traceQUEUE_RECEIVE_FROM_ISR(pxQueue_) TBAND_QUEUE_RECEIVE(TBAND_EVT_QUEUE_RECEIVE_FROM_ISR, pxQueue_)
/* The kernel resets a queue also while it creates it, before the queue has an id: only later resets are events. Kernels before V11
 * have no hook for it. Nobody comes in between the hook and the reset, for which the kernel has a critical section within this one. */
#define traceENTER_xQueueGenericReset(xQueue_, xNewQueue_)                                                                   \
    do {                                                                                                                     \
        if ((xNewQueue_) == pdFALSE) {                                                                                       \
            taskENTER_CRITICAL();                                                                                            \
            tband_emit_one(TBAND_EVT_QUEUE_RESET, (uint32_t)(xQueue_)->uxQueueNumber);                                       \
        }                                                                                                                    \
    } while (0)
#define traceRETURN_xQueueGenericReset(xReturn_)                                                                             \
    do {                                                                                                                     \
        if (xNewQueue == pdFALSE) {                                                                                          \
            taskEXIT_CRITICAL();                                                                                             \
        }                                                                                                                    \
    } while (0)
/* Co-routines use queues without the other hooks. Kernels before V11 have none for them. Nobody comes in between. */
#define TBAND_QUEUE_LEVEL(pxQueue_)                                                                                          \
    do {                                                                                                                     \
        const UBaseType_t tband_mask = (UBaseType_t)portSET_INTERRUPT_MASK_FROM_ISR();                                       \
        tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, (uint32_t)(pxQueue_)->uxQueueNumber, (uint32_t)(pxQueue_)->uxMessagesWaiting, \
                   0);                                                                                                       \
        portCLEAR_INTERRUPT_MASK_FROM_ISR(tband_mask);                                                                       \
    } while (0)
#define traceRETURN_xQueueCRSend(xReturn_) TBAND_QUEUE_LEVEL(xQueue)
#define traceRETURN_xQueueCRReceive(xReturn_) TBAND_QUEUE_LEVEL(xQueue)
#define traceRETURN_xQueueCRSendFromISR(xReturn_) TBAND_QUEUE_LEVEL(xQueue)
#define traceRETURN_xQueueCRReceiveFromISR(xReturn_) TBAND_QUEUE_LEVEL(xQueue)

#if tband_configCOMPAT == 0
/* Called before the kernel counts a nested take, and only then is the holder the running task already. */
#define traceTAKE_MUTEX_RECURSIVE(pxMutex)                                                                                   \
    do {                                                                                                                     \
        if ((pxMutex)->u.xSemaphore.xMutexHolder == xTaskGetCurrentTaskHandle()) {                                           \
            tband_emit(TBAND_EVT_MUTEX_DEPTH, (uint32_t)(pxMutex)->uxQueueNumber,                                            \
                       (uint32_t)(pxMutex)->u.xSemaphore.uxRecursiveCallCount + 1u, 0);                                      \
        }                                                                                                                    \
    } while (0)
/* Called before the kernel counts down; the last give is a queue_send. */
#define traceGIVE_MUTEX_RECURSIVE(pxMutex)                                                                                   \
    do {                                                                                                                     \
        if ((pxMutex)->u.xSemaphore.uxRecursiveCallCount > 1u) {                                                             \
            tband_emit(TBAND_EVT_MUTEX_DEPTH, (uint32_t)(pxMutex)->uxQueueNumber,                                            \
                       (uint32_t)(pxMutex)->u.xSemaphore.uxRecursiveCallCount - 1u, 0);                                      \
        }                                                                                                                    \
    } while (0)
#endif
#endif

/* ---- Stream and message buffers ---------------------------------------------------------------------------------------- */

#if tband_configCOMPAT == 0
#define traceSTREAM_BUFFER_CREATE(pxStream, xType)                                                                           \
    tband_hook_stream_created((pxStream), (uint32_t)(xType), (uint32_t)(pxStream)->xLength - 1u)
#define traceSTREAM_BUFFER_DELETE(xStream) tband_hook_stream_deleted((xStream), (uint32_t)(xStream)->uxStreamBufferNumber)
#if tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE == 1
#define TBAND_STREAM(event, xStream, xBytes)                                                                                 \
    tband_hook_stream((event), (uint32_t)(xStream)->uxStreamBufferNumber, (xStream), (uint32_t)(xBytes))
#define traceSTREAM_BUFFER_SEND(xStream, xBytes) TBAND_STREAM(TBAND_EVT_STREAM_SEND, xStream, xBytes)
#define traceSTREAM_BUFFER_SEND_FROM_ISR(xStream, xBytes) TBAND_STREAM(TBAND_EVT_STREAM_SEND_FROM_ISR, xStream, xBytes)
#define traceSTREAM_BUFFER_RECEIVE(xStream, xBytes) TBAND_STREAM(TBAND_EVT_STREAM_RECEIVE, xStream, xBytes)
#define traceSTREAM_BUFFER_RECEIVE_FROM_ISR(xStream, xBytes) TBAND_STREAM(TBAND_EVT_STREAM_RECEIVE_FROM_ISR, xStream, xBytes)
#define traceSTREAM_BUFFER_RESET(xStream) tband_emit_one(TBAND_EVT_STREAM_RESET, (uint32_t)(xStream)->uxStreamBufferNumber)
#define traceSTREAM_BUFFER_RESET_FROM_ISR(xStream) traceSTREAM_BUFFER_RESET(xStream)
#endif
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define TBAND_STREAM_BLOCK(event, xStream)                                                                                   \
    tband_emit((event), (uint32_t)(xStream)->uxStreamBufferNumber, TBAND_TICKS_TO_WAIT, 0)
#define traceBLOCKING_ON_STREAM_BUFFER_SEND(xStream) TBAND_STREAM_BLOCK(TBAND_EVT_CURTASK_BLOCK_ON_STREAM_SEND, xStream)
#define traceBLOCKING_ON_STREAM_BUFFER_RECEIVE(xStream)                                                                      \
    TBAND_STREAM_BLOCK(TBAND_EVT_CURTASK_BLOCK_ON_STREAM_RECEIVE, xStream)
#endif
#endif

/* ---- Direct-to-task notifications --------------------------------------------------------------------------------------- */

/* Kernels before V10.4 have one notification per task, and no index in these macros. */
#if tband_configCOMPAT == 0
#define TBAND_NOTIFY_INDEX(...) (__VA_ARGS__ + 0)
#define TBAND_NOTIFY_VALUE(task, ...)                                                                                        \
    ((uint32_t)((const volatile uint32_t *)&(task)->ulNotifiedValue)[TBAND_NOTIFY_INDEX(__VA_ARGS__)])
#if tband_configFREERTOS_NOTIFY_TRACE_ENABLE == 1
#define TBAND_NOTIFY(event, ...)                                                                                             \
    tband_emit((event), (uint32_t)pxTCB->uxTaskNumber, (uint32_t)TBAND_NOTIFY_INDEX(__VA_ARGS__),                            \
               TBAND_NOTIFY_VALUE(pxTCB, __VA_ARGS__))
#define traceTASK_NOTIFY(...) TBAND_NOTIFY(TBAND_EVT_TASK_NOTIFY, __VA_ARGS__)
#define TBAND_NOTIFY_FROM_ISR(...) TBAND_NOTIFY(TBAND_EVT_TASK_NOTIFY_FROM_ISR, __VA_ARGS__)
#define traceTASK_NOTIFY_TAKE(...)                                                                                           \
    tband_emit(TBAND_EVT_CURTASK_NOTIFY_RECEIVED, (uint32_t)TBAND_NOTIFY_INDEX(__VA_ARGS__),                                 \
               TBAND_NOTIFY_VALUE(pxCurrentTCB, __VA_ARGS__), 0)
#define traceTASK_NOTIFY_WAIT(...) traceTASK_NOTIFY_TAKE(__VA_ARGS__)
#endif
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define traceTASK_NOTIFY_TAKE_BLOCK(...)                                                                                     \
    tband_emit(TBAND_EVT_CURTASK_BLOCK_ON_NOTIFY, (uint32_t)TBAND_NOTIFY_INDEX(__VA_ARGS__), TBAND_TICKS_TO_WAIT, 0)
#define traceTASK_NOTIFY_WAIT_BLOCK(...) traceTASK_NOTIFY_TAKE_BLOCK(__VA_ARGS__)
#endif
#endif
#ifndef TBAND_NOTIFY_FROM_ISR
#define TBAND_NOTIFY_FROM_ISR(...) ((void)0)
#endif
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define traceTASK_NOTIFY_FROM_ISR(...)                                                                                       \
    do {                                                                                                                     \
        TBAND_NOTIFY_FROM_ISR(__VA_ARGS__);                                                                                  \
        if (ucOriginalNotifyState == taskWAITING_NOTIFICATION) {                                                             \
            TBAND_READY_IF_PENDING(pxTCB);                                                                                   \
        }                                                                                                                    \
    } while (0)
#else
#define traceTASK_NOTIFY_FROM_ISR(...) TBAND_NOTIFY_FROM_ISR(__VA_ARGS__)
#endif
#define traceTASK_NOTIFY_GIVE_FROM_ISR(...) traceTASK_NOTIFY_FROM_ISR(__VA_ARGS__)

/* ---- Event groups --------------------------------------------------------------------------------------------------------- */

#if tband_configCOMPAT == 0
#define traceEVENT_GROUP_CREATE(pxGroup) tband_hook_event_group_created(pxGroup)
#define traceEVENT_GROUP_DELETE(xGroup) tband_hook_event_group_deleted((xGroup), (uint32_t)(xGroup)->uxEventGroupNumber)
#if tband_configFREERTOS_TASK_TRACE_ENABLE == 1
#define TBAND_EVENT_GROUP_BLOCK(xGroup, uxBits)                                                                              \
    tband_emit(TBAND_EVT_CURTASK_BLOCK_ON_EVENT_GROUP, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)(uxBits),           \
               TBAND_TICKS_TO_WAIT)
#define traceEVENT_GROUP_WAIT_BITS_BLOCK(xGroup, uxBits) TBAND_EVENT_GROUP_BLOCK(xGroup, uxBits)
#define traceEVENT_GROUP_SYNC_BLOCK(xGroup, uxSet, uxBits) TBAND_EVENT_GROUP_BLOCK(xGroup, uxBits)
#endif
#if tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE == 1
/* Called before the bits change. Tasks whose wait they end may have bits cleared, and no other task runs in between: so say what will be left, as
 * the kernel is going to find it. */
#define traceEVENT_GROUP_SET_BITS(xGroup, uxBits)                                                                            \
    do {                                                                                                                     \
        const EventBits_t tband_bits = (xGroup)->uxEventBits | (uxBits);                                                     \
        EventBits_t tband_left = tband_bits;                                                                                 \
        const ListItem_t *tband_item = listGET_HEAD_ENTRY(&(xGroup)->xTasksWaitingForBits);                                  \
        for (; tband_item != listGET_END_MARKER(&(xGroup)->xTasksWaitingForBits); tband_item = listGET_NEXT(tband_item)) {   \
            const EventBits_t tband_waits = listGET_LIST_ITEM_VALUE(tband_item);                                             \
            const EventBits_t tband_wanted = (EventBits_t)(tband_waits & (EventBits_t)~eventEVENT_BITS_CONTROL_BYTES);       \
            const EventBits_t tband_found = tband_wanted & tband_bits;                                                       \
            if ((tband_waits & eventCLEAR_EVENTS_ON_EXIT_BIT) != 0u && tband_found != 0u &&                                  \
                (tband_found == tband_wanted || (tband_waits & eventWAIT_FOR_ALL_BITS) == 0u)) {                             \
                tband_left &= ~tband_wanted;                                                                                 \
            }                                                                                                                \
        }                                                                                                                    \
        tband_emit(TBAND_EVT_EVENT_GROUP_SET, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)(uxBits),                    \
                   (uint32_t)tband_bits);                                                                                    \
        if (tband_left != tband_bits) {                                                                                      \
            tband_emit(TBAND_EVT_EVENT_GROUP_BITS, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)tband_left, 0);         \
        }                                                                                                                    \
    } while (0)
#define traceEVENT_GROUP_CLEAR_BITS(xGroup, uxBits)                                                                          \
    tband_emit(TBAND_EVT_EVENT_GROUP_CLEAR, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)(uxBits),                      \
               (uint32_t)((xGroup)->uxEventBits & ~(EventBits_t)(uxBits)))
#define traceEVENT_GROUP_SET_BITS_FROM_ISR(xGroup, uxBits)                                                                   \
    tband_emit(TBAND_EVT_EVENT_GROUP_SET_FROM_ISR, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)(uxBits), 0)
#define traceEVENT_GROUP_CLEAR_BITS_FROM_ISR(xGroup, uxBits)                                                                 \
    tband_emit(TBAND_EVT_EVENT_GROUP_CLEAR_FROM_ISR, (uint32_t)(xGroup)->uxEventGroupNumber, (uint32_t)(uxBits), 0)
/* What ended the wait may be that the group was deleted. */
#define TBAND_EVENT_GROUP_END(xGroup, xTimeout)                                                                              \
    tband_hook_event_group_left((xGroup), (xTimeout) != pdFALSE ? 1u : 0u)
#define traceEVENT_GROUP_WAIT_BITS_END(xGroup, uxBits, xTimeout) TBAND_EVENT_GROUP_END(xGroup, xTimeout)
#define traceEVENT_GROUP_SYNC_END(xGroup, uxSet, uxBits, xTimeout) TBAND_EVENT_GROUP_END(xGroup, xTimeout)
#endif
#endif

/* ---- Software timers ------------------------------------------------------------------------------------------------------ */

#if tband_configCOMPAT == 0 && tband_configFREERTOS_TIMER_TRACE_ENABLE == 1
#define traceTIMER_CREATE(pxTimer_)                                                                                          \
    tband_hook_timer_created((pxTimer_), (pxTimer_)->pcTimerName, (uint32_t)(pxTimer_)->xTimerPeriodInTicks,                 \
                             ((pxTimer_)->ucStatus & tmrSTATUS_IS_AUTORELOAD) != 0u ? 1u : 0u)
/* Called after the timer task could run, which may have deleted the timer. */
#define traceTIMER_COMMAND_SEND(xTimer_, xCommand, xValue, xOk)                                                              \
    tband_hook_timer_command_sent((xTimer_), (uint32_t)(xCommand), (uint32_t)(xValue), (xOk) != pdFAIL)
#define traceTIMER_COMMAND_RECEIVED(pxTimer_, xCommand, xValue)                                                              \
    tband_hook_timer_command((pxTimer_), (uint32_t)(pxTimer_)->uxTimerNumber, (uint32_t)(xCommand), (uint32_t)(xValue))
#define traceTIMER_EXPIRED(pxTimer_) tband_emit_one(TBAND_EVT_TIMER_EXPIRED, (uint32_t)(pxTimer_)->uxTimerNumber)
#endif

/* ---- Heap ------------------------------------------------------------------------------------------------------------------- */

#if tband_configCOMPAT == 0 && tband_configFREERTOS_HEAP_TRACE_ENABLE == 1
#define traceMALLOC(pvAddress, xBytes) tband_hook_heap(TBAND_EVT_HEAP_ALLOC, (pvAddress), (xBytes))
#define traceFREE(pvAddress, xBytes) tband_hook_heap(TBAND_EVT_HEAP_FREE, (pvAddress), (xBytes))
#endif

#endif
