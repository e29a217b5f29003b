#include "app.h"

#include <stdio.h>
#include <string.h>

#include "FreeRTOS.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"

#ifndef APP_ROUNDS
#define APP_ROUNDS 12
#endif
/* The round in which the recording starts; 0: before there is anything; -1: before the scheduler starts. */
#ifndef APP_START_ROUND
#define APP_START_ROUND 0
#endif

/* ---- What older kernels lack ------------------------------------------------------------------------------------------------- */

#define KERNEL (tskKERNEL_VERSION_MAJOR * 100 + tskKERNEL_VERSION_MINOR)
#if KERNEL < 1004
/* One notification per task: each task here waits for one only. */
#define xTaskNotifyGiveIndexed(task, index) xTaskNotifyGive(task)
#define ulTaskNotifyTakeIndexed(index, clear, ticks) ulTaskNotifyTake(clear, ticks)
#endif

/* ---- The log: what the application knows by itself --------------------------------------------------------------------------
 *
 * Each note is one line of text, and its number goes into the trace as a value marker, so that a checker can hold what the trace
 * says at that point against the note:
 *   run TASK              this task runs
 *   level OBJECT N        this queue or semaphore holds N items
 *   hold MUTEX TASK       this task holds the mutex (or - for nobody)
 *   stream OBJECT N       this buffer holds N bytes
 *   bits GROUP N          these event bits are set
 *   priority TASK N       this task's current priority
 *   wait TASK EVENT       the task's next event that says what it waits for is this one */

#define NOTE_MARKER 99
static char log_text[160 * 1024];
static size_t log_len;
static uint32_t notes;

static void note(const char *kind, const char *what, const char *detail, long number) {
    taskENTER_CRITICAL();
    if (log_len + 80 < sizeof log_text) {
        int n = detail != NULL ? snprintf(log_text + log_len, 80, "%s %s %s\n", kind, what, detail)
                               : snprintf(log_text + log_len, 80, "%s %s %ld\n", kind, what, number);
        log_len += (size_t)n;
        tband_valmarker(NOTE_MARKER, (int64_t)notes);
        notes++;
    }
    taskEXIT_CRITICAL();
}

static const char *me(void) { return pcTaskGetName(NULL); }

static void note_run(void) { note("run", me(), "", 0); }

static void note_wait(const char *event) { note("wait", me(), event, 0); }

static void note_level(const char *name, QueueHandle_t queue) {
    taskENTER_CRITICAL();
    note("level", name, NULL, (long)uxQueueMessagesWaiting(queue));
    taskEXIT_CRITICAL();
}

static void note_hold(const char *name, SemaphoreHandle_t mutex) {
    taskENTER_CRITICAL();
    const TaskHandle_t holder = xSemaphoreGetMutexHolder(mutex);
    note("hold", name, holder != NULL ? pcTaskGetName(holder) : "-", 0);
    taskEXIT_CRITICAL();
}

static void note_stream(const char *name, StreamBufferHandle_t stream) {
    taskENTER_CRITICAL();
    note("stream", name, NULL, (long)xStreamBufferBytesAvailable(stream));
    taskEXIT_CRITICAL();
}

static void note_bits(const char *name, EventGroupHandle_t group) {
    taskENTER_CRITICAL();
    note("bits", name, NULL, (long)xEventGroupGetBitsFromISR(group));
    taskEXIT_CRITICAL();
}

static void note_priority(TaskHandle_t task) {
    taskENTER_CRITICAL();
    note("priority", pcTaskGetName(task), NULL, (long)uxTaskPriorityGet(task));
    taskEXIT_CRITICAL();
}

/* ---- Objects ------------------------------------------------------------------------------------------------------------------- */

static QueueHandle_t jobs, mailbox, irq_queue;
static SemaphoreHandle_t ready, slots, lock, nested;
static QueueSetHandle_t set;
static StreamBufferHandle_t bytes;
static MessageBufferHandle_t messages;
static EventGroupHandle_t flags;
static TimerHandle_t periodic, once;
static TaskHandle_t worker, holder, urgent, sleeper;
static volatile bool interrupts_on;
static volatile uint32_t timer_calls;

static void timer_called(TimerHandle_t timer) {
    (void)timer;
    timer_calls++;
    tband_fn_begin(7);
    tband_fn_end();
}

/* ---- Tasks ---------------------------------------------------------------------------------------------------------------------- */

/* Takes what the conductor hands out, by every means in turn. */
static void worker_task(void *arg) {
    (void)arg;
    tband_freertos_task_evtmarker_name(1, "step");
    tband_freertos_task_valmarker_name(2, "jobs done");
    char buf[64];
    uint32_t done = 0;
    for (;;) {
        note_wait("curtask_block_on_queue_receive");
        QueueSetMemberHandle_t member = xQueueSelectFromSet(set, portMAX_DELAY);
        note_run();
        tband_freertos_task_evtmarker_begin(1, "set");
        uint32_t job;
        if (member == jobs) {
            xQueueReceive(jobs, &job, 0);
            note_level("jobs", jobs);
        } else {
            xSemaphoreTake(ready, 0);
            note_level("ready", ready);
        }
        tband_freertos_task_evtmarker_end(1);
        done++;
        tband_freertos_task_valmarker(2, (int64_t)done);
        if (done % 2 == 0) {
            note_wait("curtask_block_on_stream_receive");
            (void)xStreamBufferReceive(bytes, buf, sizeof buf, portMAX_DELAY);
            note_run();
            note_stream("bytes", bytes);
            note_wait("curtask_block_on_stream_receive");
            (void)xMessageBufferReceive(messages, buf, sizeof buf, portMAX_DELAY);
            note_run();
            note_stream("messages", messages);
            note_wait("curtask_block_on_notify");
            (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
            note_run();
            note_wait("curtask_block_on_event_group");
            (void)xEventGroupWaitBits(flags, 0x5, pdTRUE, pdTRUE, portMAX_DELAY);
            note_run();
            note_bits("flags", flags);
        }
    }
}

/* Low priority: holds the lock for long, so that it inherits. */
static void holder_task(void *arg) {
    (void)arg;
    TickType_t wake = xTaskGetTickCount();
    UBaseType_t own = 1;
    for (;;) {
        xSemaphoreTake(lock, portMAX_DELAY);
        note_hold("lock", lock);
        xTaskNotifyGiveIndexed(urgent, 1);
        note_priority(NULL);
        /* While it has inherited one: now lower, now higher than that. */
        own = own == 1 ? 2 : own == 2 ? 5 : 1;
        vTaskPrioritySet(NULL, own);
        note_priority(NULL);
        xSemaphoreGive(lock);
        note_run();
        note_priority(NULL);
        xSemaphoreTakeRecursive(nested, portMAX_DELAY);
        xSemaphoreTakeRecursive(nested, portMAX_DELAY);
        note_hold("nested", nested);
        xSemaphoreGiveRecursive(nested);
        xSemaphoreGiveRecursive(nested);
        note_hold("nested", nested);
        note_wait("curtask_delay_until");
        vTaskDelayUntil(&wake, 7);
        note_run();
    }
}

/* High priority: wants the lock while the holder has it. */
static void urgent_task(void *arg) {
    (void)arg;
    for (;;) {
        note_wait("curtask_block_on_notify");
        (void)ulTaskNotifyTakeIndexed(1, pdTRUE, portMAX_DELAY);
        note_run();
        note_wait("curtask_block_on_queue_receive");
        xSemaphoreTake(lock, portMAX_DELAY);
        note_run();
        note_hold("lock", lock);
        xSemaphoreGive(lock);
        note_hold("lock", lock);
    }
}

static void sleeper_task(void *arg) {
    (void)arg;
    for (;;) {
        note_run();
        vTaskSuspend(NULL);
        note_run();
        uint32_t value;
        note_wait("curtask_block_on_queue_peek");
        (void)xQueuePeek(mailbox, &value, portMAX_DELAY);
        note_run();
        note_level("mailbox", mailbox);
        tband_freertos_task_evtmarker(1, "peeked");
    }
}

static void short_lived_task(void *arg) {
    (void)arg;
    note_run();
    vTaskDelete(NULL);
}

/* Waits for an event group that does not live on: either its end wakes the task, or a bit does, and then it ends the group itself. */
static void group_waiter_task(void *arg) {
    const EventGroupHandle_t group = arg;
    note_run();
    if (xEventGroupWaitBits(group, 1, pdTRUE, pdFALSE, portMAX_DELAY) != 0) {
        vEventGroupDelete(group);
    }
    note_run();
    vTaskDelete(NULL);
}

static void irq_task(void *arg) {
    (void)arg;
    uint32_t value;
    for (;;) {
        note_wait("curtask_block_on_queue_receive");
        (void)xQueueReceive(irq_queue, &value, portMAX_DELAY);
        note_run();
        note_level("irq_queue", irq_queue);
    }
}

static void start_recording(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    (void)tband_start_streaming();
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    (void)tband_trigger_snapshot();
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    (void)tband_start_post_mortem();
#endif
}

static uint8_t capture[1 << 20 >> (sizeof(void *) == 4 ? 2 : 0)];
static size_t capture_len;

#if tband_configUSE_BACKEND_STREAMING == 1 && tband_configCOMPAT == 0
/* A buffer of which bytes are read while the library records that some were written: as by a task that comes in between. */
static StaticStreamBuffer_t *robbed;
static void rob(void) {
    static StaticStreamBuffer_t stream;
    memset(&stream, 0, sizeof stream);
    stream.uxDummy1[2] = 100;
    tband_hook_stream_created(&stream, 0, 99);
    tband_hook_stream_name(&stream, "robbed");
    stream.uxDummy1[1] = 5;
    robbed = &stream;
    tband_hook_stream(TBAND_EVT_STREAM_SEND, (uint32_t)stream.uxDummy4, &stream, 5);
    note("stream", "robbed", NULL, 2);
    tband_hook_stream_deleted(&stream, (uint32_t)stream.uxDummy4);
}
#endif

bool app_sink(const uint8_t *buf, size_t len) {
#if tband_configUSE_BACKEND_STREAMING == 1 && tband_configCOMPAT == 0
    if (robbed != NULL) {
        robbed->uxDummy1[0] = 3;
        robbed = NULL;
    }
#endif
#if defined(APP_CHECKS_MASK) && tband_configCOMPAT == 0
    /* Bits that are read after the kernel is done with them must not be old ones when they are recorded: nobody may come in between. */
    configASSERT((buf[1] & 0x7fu) != (TBAND_EVT_EVENT_GROUP_WAIT_END & 0x7fu) || platform_mask != 0);
#endif
#ifdef APP_REFUSE
    /* Now and then one or more frames in a row. */
    static uint32_t frames, refused;
    frames++;
    if (frames % 97 == 0 || refused > 0) {
        refused = refused > 0 ? refused - 1 : frames % 13;
        return true;
    }
#endif
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

#if tband_configUSE_BACKEND_EXTERNAL == 1
bool tband_submit_to_backend(uint8_t *buf, size_t len, bool is_metadata) {
    (void)is_metadata;
    return app_sink(buf, len);
}
#endif

static void end_recording(void) {
#ifdef APP_RESET
    /* What a watchdog would do. The next boot saves what the ring holds. */
    interrupts_on = false;
    platform_write("log.txt", log_text, log_len);
    platform_reset();
#endif
#if tband_configUSE_BACKEND_STREAMING == 1
#if tband_configCOMPAT == 0
    rob();
#endif
    (void)tband_stop_streaming();
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    (void)tband_stop_snapshot();
    for (size_t i = 0; i < tband_get_metadata_buf_amnt(0); i++) {
        capture[capture_len++] = tband_get_metadata_buf(0)[i];
    }
    for (size_t i = 0; i < tband_get_core_snapshot_buf_amnt(0); i++) {
        capture[capture_len++] = tband_get_core_snapshot_buf(0)[i];
    }
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    (void)tband_stop_post_mortem();
    capture_len = tband_post_mortem_read(0, capture, sizeof capture);
#endif
    interrupts_on = false;
    platform_write("capture.bin", capture, capture_len);
    platform_write("log.txt", log_text, log_len);
    printf("%lu notes, %lu bytes, %lu dropped\n", (unsigned long)notes, (unsigned long)capture_len,
           (unsigned long)tband_dropped_events());
#if tband_configUSE_METADATA_BUF == 1
    printf("metadata: %lu bytes, %lu dropped\n", (unsigned long)tband_get_metadata_buf_amnt(0),
           (unsigned long)tband_metadata_dropped());
#endif
    platform_exit(0);
}

static void short_lived_objects(void) {
    tband_fn(8);
    const QueueHandle_t queue = xQueueCreate(3, 4);
    vQueueDelete(queue);
    const StreamBufferHandle_t stream = xStreamBufferCreate(10, 2);
    (void)xStreamBufferSend(stream, "x", 1, 0);
    (void)xStreamBufferReset(stream);
    vStreamBufferDelete(stream);
    for (uint32_t is_set = 0; is_set < 2; is_set++) {
        const EventGroupHandle_t group = xEventGroupCreate();
        (void)xTaskCreate(group_waiter_task, "waiter", configMINIMAL_STACK_SIZE, group, 5, NULL);
        if (is_set != 0) {
            (void)xEventGroupSetBits(group, 1);
        } else {
            vEventGroupDelete(group);
        }
    }
    const TimerHandle_t timer = xTimerCreate("passing", 10, pdFALSE, NULL, timer_called);
    (void)xTimerDelete(timer, 0);
}

/* Drives the others, round by round. */
static void conductor_task(void *arg) {
    (void)arg;
    for (uint32_t round = 1; round <= APP_ROUNDS; round++) {
        note_run();
        if (round == APP_START_ROUND) {
            /* With things going on: a held mutex, items, bits, bytes. */
            uint32_t job = 0;
            xSemaphoreTake(lock, portMAX_DELAY);
            (void)xQueueSend(irq_queue, &job, 0);
            xEventGroupSetBits(flags, 0x10);
            start_recording();
            note_hold("lock", lock);
            note_bits("flags", flags);
            note_level("jobs", jobs);
            note_level("slots", slots);
            note_stream("bytes", bytes);
            note_priority(NULL);
            xSemaphoreGive(lock);
        }
        tband_evtmarker_begin(1, "round");
        const uint32_t job = round;
        (void)xQueueSend(jobs, &job, 0);
        note_level("jobs", jobs);
        (void)xSemaphoreGive(ready);
        note_level("ready", ready);
        note_wait("curtask_delay");
        vTaskDelay(2);
        note_run();
        (void)xStreamBufferSend(bytes, "hello", 5, portMAX_DELAY);
        (void)xMessageBufferSend(messages, "message", 7, portMAX_DELAY);
        (void)xTaskNotifyGive(worker);
        (void)xEventGroupSetBits(flags, 0x1);
        (void)xEventGroupClearBits(flags, 0x10);
        (void)xEventGroupSetBits(flags, 0x4);
        note_bits("flags", flags);
        vTaskResume(sleeper);
        (void)xQueueOverwrite(mailbox, &job);
        note_level("mailbox", mailbox);
        (void)xQueueOverwrite(mailbox, &job);
        note_level("mailbox", mailbox);
        (void)xQueueReset(mailbox);
#if KERNEL >= 1100
        /* Before that the kernel has no hook for it. */
        note_level("mailbox", mailbox);
#endif
        (void)xSemaphoreTake(slots, 0);
        note_level("slots", slots);
        note_wait("curtask_block_on_queue_receive");
        while (xSemaphoreTake(slots, 1) == pdPASS) {
            note_level("slots", slots);
            note_wait("curtask_block_on_queue_receive");
        }
        note_run();
        (void)xSemaphoreGive(slots);
        (void)xSemaphoreGive(slots);
        note_level("slots", slots);
        (void)xTaskCreate(short_lived_task, "short", configMINIMAL_STACK_SIZE, NULL, 5, NULL);
        void *const memory = pvPortMalloc(100 + round);
        vPortFree(memory);
        short_lived_objects();
        (void)xTimerStart(once, 0);
        if (round == 3) {
            (void)xTimerChangePeriod(periodic, 5, 0);
            vTaskPrioritySet(holder, 2);
            note_priority(holder);
        }
        tband_freertos_sample_stacks();
        tband_valmarker(3, -(int64_t)round * 1000000);
        note_wait("curtask_delay");
        vTaskDelay(6);
        tband_evtmarker_end(1);
    }
    end_recording();
}

void app_tick(void) {
    static uint32_t count;
    BaseType_t woken = pdFALSE;
    tband_isr_enter(15);
    count++;
    if (interrupts_on && count % 4 == 0) {
        (void)xQueueSendFromISR(irq_queue, &count, &woken);
    }
    if (interrupts_on && count % 9 == 0) {
        (void)xStreamBufferSendFromISR(bytes, "isr", 3, &woken);
        vTaskNotifyGiveFromISR(worker, &woken);
        (void)xEventGroupSetBitsFromISR(flags, 0x2, &woken);
    }
    tband_isr_exit(15);
    portYIELD_FROM_ISR(woken);
}

void vApplicationTickHook(void) { app_tick(); }

/* A static queue that is not deleted before its memory gets another one, again and again: it is one object. */
static void remade_queue(void) {
    static StaticQueue_t queue;
    for (uint32_t i = 0; i < tband_configFREERTOS_MAX_OBJECTS; i++) {
        tband_hook_queue_created(&queue);
    }
    tband_hook_queue_deleted(&queue, (uint32_t)queue.uxDummy8);
}

void app_run(void) {
    tband_gather_system_metadata();
    tband_isr_name(15, "SysTick");
    tband_evtmarker_name(1, "rounds");
    tband_valmarker_name(3, "negative");
    tband_valmarker_name(NOTE_MARKER, "notes");
    if (APP_START_ROUND == 0) {
        start_recording();
    } else {
        remade_queue();
    }
    jobs = xQueueCreate(4, sizeof(uint32_t));
    mailbox = xQueueCreate(1, sizeof(uint32_t));
    irq_queue = xQueueCreate(5, sizeof(uint32_t));
    vQueueAddToRegistry(irq_queue, "irq_queue");
    ready = xSemaphoreCreateBinary();
    slots = xSemaphoreCreateCounting(4, 2);
    lock = xSemaphoreCreateMutex();
    nested = xSemaphoreCreateRecursiveMutex();
    set = xQueueCreateSet(5);
    (void)xQueueAddToSet(jobs, set);
    (void)xQueueAddToSet(ready, set);
    bytes = xStreamBufferCreate(100, 1);
    messages = xMessageBufferCreate(100);
    flags = xEventGroupCreate();
    periodic = xTimerCreate("periodic", 3, pdTRUE, NULL, timer_called);
    once = xTimerCreate("once", 1, pdFALSE, NULL, timer_called);
    tband_freertos_queue_name(jobs, "jobs");
    tband_freertos_queue_name(mailbox, "mailbox");
    tband_freertos_binary_semaphore_name(ready, "ready");
    tband_freertos_counting_semaphore_name(slots, "slots");
    tband_freertos_mutex_name(lock, "lock");
    tband_freertos_recursive_mutex_name(nested, "nested");
    tband_freertos_queue_set_name(set, "set");
    tband_freertos_stream_buffer_name(bytes, "bytes");
    tband_freertos_message_buffer_name(messages, "messages");
    tband_freertos_event_group_name(flags, "flags");
    (void)xTaskCreate(conductor_task, "conductor", configMINIMAL_STACK_SIZE * 2, NULL, 2, NULL);
    (void)xTaskCreate(worker_task, "worker", configMINIMAL_STACK_SIZE * 2, NULL, 3, &worker);
    (void)xTaskCreate(holder_task, "holder", configMINIMAL_STACK_SIZE * 2, NULL, 1, &holder);
    (void)xTaskCreate(urgent_task, "urgent", configMINIMAL_STACK_SIZE * 2, NULL, 4, &urgent);
    (void)xTaskCreate(sleeper_task, "sleeper", configMINIMAL_STACK_SIZE * 2, NULL, 5, &sleeper);
    (void)xTaskCreate(irq_task, "irq", configMINIMAL_STACK_SIZE * 2, NULL, 5, NULL);
    (void)xTimerStart(periodic, 0);
    /* Before the scheduler does, this does nothing. */
    tband_freertos_scheduler_started();
    if (APP_START_ROUND < 0) {
        start_recording();
    }
    interrupts_on = true;
    platform_start_interrupt();
    vTaskStartScheduler();
}
