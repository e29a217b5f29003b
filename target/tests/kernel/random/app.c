/* Tasks, interrupts and timers that do what they like with every kind of object, by a seed. Now and then one of them takes down what the
 * kernel says of all tasks and objects, with interrupts masked: a line of the log, whose number is a value marker in the recording.
 *
 *   T task state priority   R running, r ready, B blocked, S suspended
 *   Q queue level           of queues, semaphores and queue sets
 *   M mutex task            who holds it, - for nobody
 *   S stream bytes, E group bits, I timer armed
 *   N task number           what an unprivileged task said last */
#include <stdio.h>
#include <string.h>

#include "app.h"

#include "FreeRTOS.h"

#include "event_groups.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "stream_buffer.h"
#include "task.h"
#include "timers.h"
#if configUSE_CO_ROUTINES == 1
#include "croutine.h"
#endif

#ifdef __arm__
#include "board.h"
#define CLOCK() TIMER1->value
#else
#define CLOCK() (*(volatile uint32_t *)0x0200bff8u)
#endif
/* Several cores: there is no interrupt but the tick, and bytes are written and read outside the kernel's locks. */
#if defined(configNUMBER_OF_CORES) && configNUMBER_OF_CORES > 1
#define CORES configNUMBER_OF_CORES
#else
#define CORES 1
#endif

/* An MPU: some tasks are unprivileged. They see the memory of the application, but not that of the kernel, of the tracer, and of the log. */
#ifdef TEST_MPU
#ifndef TEST_DIRECT
#include "tband_unprivileged.h"
#endif
void platform_create_restricted(TaskFunction_t task, const char *name, uint32_t i, UBaseType_t priority, TaskHandle_t *handle);
#define HIDDEN __attribute__((section(".bss.hidden")))
#define PRIVILEGED portPRIVILEGE_BIT
/* Which tasks, as bits, and what they do. */
#define UNPRIVILEGED 0x38u
#define UNPRIVILEGED_ACTIONS 0x1f6du
#else
#define HIDDEN
#define PRIVILEGED 0u
#define UNPRIVILEGED 0u
#define UNPRIVILEGED_ACTIONS 0u
#endif

#define KERNEL (tskKERNEL_VERSION_MAJOR * 100 + tskKERNEL_VERSION_MINOR)
#ifndef RANDOM_SEED
#define RANDOM_SEED 1
#endif
/* How many lines are taken down. */
#ifndef RANDOM_LINES
#define RANDOM_LINES 4000
#endif
/* Which of `actions` below are done, as bits. */
#ifndef RANDOM_ACTIONS
#define RANDOM_ACTIONS 0xffffffffu
#endif

#if KERNEL < 1004
/* One notification per task. */
#define INDEX 0
#define notify_give_isr(task, index, woken) vTaskNotifyGiveFromISR(task, woken)
#define notify(task, index, value, action) xTaskNotify(task, value, action)
#define notify_take(index, clear, ticks) ulTaskNotifyTake(clear, ticks)
#define notify_wait(index, entry, leave, ticks) xTaskNotifyWait(entry, leave, NULL, ticks)
#else
#define INDEX (pick(2))
#define notify_give_isr(task, index, woken) vTaskNotifyGiveIndexedFromISR(task, index, woken)
#define notify(task, index, value, action) xTaskNotifyIndexed(task, index, value, action)
#define notify_take(index, clear, ticks) ulTaskNotifyTakeIndexed(index, clear, ticks)
#define notify_wait(index, entry, leave, ticks) xTaskNotifyWaitIndexed(index, entry, leave, NULL, ticks)
#endif

/* ---- The recording and the log ------------------------------------------------------------------------------------------------- */

#ifndef RANDOM_BYTES
#define RANDOM_BYTES (1600 * 1024)
#endif
static uint8_t capture[RANDOM_BYTES] HIDDEN;
static size_t capture_len HIDDEN;
static char log_text[RANDOM_BYTES] HIDDEN;
static size_t log_len HIDDEN;
static uint32_t lines HIDDEN;

bool app_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

static uint32_t random_state = RANDOM_SEED * 2654435761u + 1u;

/* From 0 to below `n`; from tasks and interrupts. */
static uint32_t pick(uint32_t n) {
    uint32_t x = random_state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    random_state = x + CLOCK() % 3u;
    return x % n;
}

static TickType_t some_ticks(void) {
    const uint32_t n = pick(10);
    return n == 9 ? portMAX_DELAY : n < 3 ? 0 : n - 2;
}

static void work(uint32_t n) {
    for (volatile uint32_t i = pick(n); i > 0; i--) {
    }
}

/* ---- Objects ---------------------------------------------------------------------------------------------------------------------- */

#define TASKS 6u
static TaskHandle_t tasks[TASKS], observer, victim;
static volatile bool victim_holds;
static QueueHandle_t q0, q1, mailbox;
static SemaphoreHandle_t binary, count, member, m0, m1, nested;
static QueueSetHandle_t set;
static StreamBufferHandle_t stream, message, batch, of_isr;
static EventGroupHandle_t e0, e1;
static TimerHandle_t repeated, once;
static volatile bool runs;
#if configUSE_CO_ROUTINES == 1
static QueueHandle_t of_routines;
#endif

static void put(char kind, const char *name) {
    log_text[log_len++] = kind;
    log_text[log_len++] = ' ';
    const size_t len = strlen(name);
    memcpy(log_text + log_len, name, len);
    log_len += len;
}

static void put_number(uint32_t number) {
    char digits[12];
    int n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    log_text[log_len++] = ' ';
    while (n > 0) {
        log_text[log_len++] = digits[--n];
    }
}

static void end(void) { log_text[log_len++] = ';'; }

#if CORES > 1
extern void *volatile pxCurrentTCBs[CORES];
#endif

static void put_task(TaskHandle_t task) {
    if (task == NULL) {
        return;
    }
    TaskStatus_t status;
    vTaskGetInfo(task, &status, pdFALSE, eInvalid);
#if CORES > 1
    /* The kernel says so no more once it has asked the task's core to switch. */
    for (uint32_t core = 0; core < CORES; core++) {
        status.eCurrentState = pxCurrentTCBs[core] == task ? eRunning : status.eCurrentState;
    }
#endif
    put('T', status.pcTaskName);
    log_text[log_len++] = ' ';
    log_text[log_len++] = "RrBSDI"[status.eCurrentState];
    put_number((uint32_t)status.uxCurrentPriority);
    end();
}

static void put_level(const char *name, QueueHandle_t queue) {
    put('Q', name);
    put_number((uint32_t)uxQueueMessagesWaiting(queue));
    end();
}

static void put_holder(const char *name, SemaphoreHandle_t mutex) {
    const TaskHandle_t holder = xSemaphoreGetMutexHolder(mutex);
    put('M', name);
    log_text[log_len++] = ' ';
    const char *const text = holder != NULL ? pcTaskGetName(holder) : "-";
    memcpy(log_text + log_len, text, strlen(text));
    log_len += strlen(text);
    end();
}

static void put_stream(const char *name, StreamBufferHandle_t of) {
    put('S', name);
    put_number((uint32_t)xStreamBufferBytesAvailable(of));
    end();
}

static void put_bits(const char *name, EventGroupHandle_t group) {
    put('E', name);
    put_number((uint32_t)xEventGroupGetBitsFromISR(group));
    end();
}

static void put_timer(const char *name, TimerHandle_t timer) {
    put('I', name);
    put_number(xTimerIsTimerActive(timer) != pdFALSE ? 1u : 0u);
    end();
}

/* Whether the task that calls may do everything. */
static bool is_privileged(void) {
    uint32_t control = 0;
#ifdef TEST_MPU
    __asm volatile("mrs %0, control" : "=r"(control));
#endif
    return (control & 1u) == 0;
}

/* What unprivileged tasks say: who they are, a number each, and one of them messages, which are in `said` as well. */
#define MESSAGES 100
static uint32_t numbers[TASKS], messages;
static char said[MESSAGES * 40];
static size_t said_len;

static void say(uint32_t me) {
    char text[40] = "t";
    text[1] = (char)('0' + me);
    tband_evtmarker(me, text);
    tband_valmarker(90 + me, (int64_t)numbers[me] + 1);
    numbers[me]++;
#if tband_configLOG_ENABLE == 1
    if (me == TASKS - 1 && messages < MESSAGES) {
        messages++;
        tband_log(TBAND_LOG_INFO, "%s says %u, %d", text, (unsigned)messages, -(int)numbers[me]);
        said_len += (size_t)snprintf(said + said_len, sizeof said - said_len, "3 %s says %u, %d\n", text, (unsigned)messages, -(int)numbers[me]);
    }
#endif
}

/* A line of the log. From tasks. Unprivileged tasks must not mask interrupts. */
static void take_down(void) {
    if (!is_privileged()) {
        return;
    }
    taskENTER_CRITICAL();
    if (runs && log_len + 1000 < sizeof log_text) {
        tband_valmarker(99, (int64_t)lines);
        lines++;
        for (uint32_t i = 0; i < TASKS; i++) {
            put_task(tasks[i]);
        }
        put_task(observer);
        put_task(victim);
        put_level("q0", q0);
        put_level("q1", q1);
        put_level("mailbox", mailbox);
        put_level("binary", binary);
        put_level("count", count);
        put_level("member", member);
        put_level("set", set);
        put_holder("m0", m0);
        put_holder("m1", m1);
        put_holder("nested", nested);
        if (CORES == 1) {
            put_stream("stream", stream);
            put_stream("message", message);
            put_stream("of_isr", of_isr);
            if (batch != NULL) {
                put_stream("batch", batch);
            }
        }
        put_bits("e0", e0);
        put_bits("e1", e1);
        put_timer("repeated", repeated);
        put_timer("once", once);
        for (uint32_t i = 0; i < TASKS; i++) {
            if (UNPRIVILEGED >> i & 1u) {
                put('N', (const char[]){'t', (char)('0' + i), 0});
                put_number(numbers[i]);
                end();
            }
        }
#if configUSE_CO_ROUTINES == 1
        put_level("of_routines", of_routines);
#endif
        log_text[log_len - 1] = '\n';
    }
    taskEXIT_CRITICAL();
}

/* ---- What tasks do ------------------------------------------------------------------------------------------------------------------ */

static void pended(void *a, uint32_t b) {
    (void)a;
    (void)b;
    work(50);
    if (pick(4) == 0) {
        take_down();
    }
}

static void timer_called(TimerHandle_t timer) {
    (void)timer;
    work(100);
    if (pick(4) == 0) {
        take_down();
    }
}

static void queues(uint32_t me) {
    uint32_t item = me;
    switch (pick(4)) {
    case 0:
        (void)xQueueSend(q0, &item, some_ticks());
        break;
    case 1:
        (void)xQueueSendToFront(q0, &item, some_ticks());
        break;
    case 2:
        (void)xQueueReceive(q0, &item, some_ticks());
        break;
    default:
        (void)xQueuePeek(q0, &item, some_ticks());
        break;
    }
}

static void mailboxes(uint32_t me) {
    uint32_t item = me;
    switch (pick(5)) {
    case 0:
    case 1:
        (void)xQueueOverwrite(mailbox, &item);
        break;
    case 2:
        (void)xQueueReceive(mailbox, &item, some_ticks());
        break;
    case 3:
        (void)xQueuePeek(mailbox, &item, some_ticks());
        break;
    default:
#if KERNEL >= 1100
        /* Before that there is no hook for it. */
        (void)xQueueReset(mailbox);
#endif
        break;
    }
}

static void semaphores(uint32_t me) {
    (void)me;
    switch (pick(4)) {
    case 0:
        (void)xSemaphoreGive(binary);
        break;
    case 1:
        (void)xSemaphoreTake(binary, some_ticks());
        break;
    case 2:
        (void)xSemaphoreGive(count);
        break;
    default:
        (void)xSemaphoreTake(count, some_ticks());
        break;
    }
}

static void sets(uint32_t me) {
    uint32_t item = me;
    switch (pick(4)) {
    case 0:
        (void)xQueueSend(q1, &item, some_ticks() % 3u);
        break;
    case 1:
        (void)xSemaphoreGive(member);
        break;
    default: {
        const QueueSetMemberHandle_t found = xQueueSelectFromSet(set, some_ticks());
        if (pick(2) == 0) {
            take_down();
        }
        if (found == q1) {
            (void)xQueueReceive(q1, &item, 0);
        } else if (found == member) {
            (void)xSemaphoreTake(member, 0);
        }
        break;
    }
    }
}

static void prioritise(uint32_t me) {
    (void)me;
    vTaskPrioritySet(tasks[pick(TASKS)], 1 + pick(5));
}

static void mutexes(uint32_t me) {
    if (xSemaphoreTake(m0, some_ticks()) != pdPASS) {
        return;
    }
    take_down();
    work(300);
    if (pick(3) == 0) {
        prioritise(me);
    }
    if (pick(2) == 0 && xSemaphoreTake(m1, 1 + pick(4)) == pdPASS) {
        if (pick(3) == 0) {
            vTaskDelay(pick(3));
        }
        if (pick(3) == 0) {
            vTaskPrioritySet(NULL, 1 + pick(5));
        }
        take_down();
        if (pick(2) == 0) {
            (void)xSemaphoreGive(m0);
            take_down();
            (void)xSemaphoreGive(m1);
            return;
        }
        (void)xSemaphoreGive(m1);
        take_down();
    }
    if (pick(4) == 0) {
        /* So long that some tasks give up, while others go on waiting. */
        vTaskDelay(pick(8));
    }
    (void)xSemaphoreGive(m0);
}

static void nesting(uint32_t me) {
    (void)me;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 3; i++) {
        taken += xSemaphoreTakeRecursive(nested, some_ticks()) == pdPASS ? 1u : 0u;
        work(100);
    }
    if (pick(2) == 0) {
        take_down();
    }
    while (taken-- > 0) {
        (void)xSemaphoreGiveRecursive(nested);
    }
}

static void notifications(uint32_t me) {
    static const eNotifyAction what[] = {eNoAction, eSetBits, eIncrement, eSetValueWithOverwrite, eSetValueWithoutOverwrite};
    switch (pick(4)) {
    case 0:
    case 1:
        (void)notify(tasks[pick(TASKS)], INDEX, me, what[pick(5)]);
        break;
    case 2:
        (void)notify_take(INDEX, (BaseType_t)pick(2), some_ticks());
        break;
    default:
        (void)notify_wait(INDEX, pick(4), pick(4), some_ticks());
        break;
    }
}

static void suspends(uint32_t me) {
    switch (pick(5)) {
    case 0:
        vTaskSuspend(tasks[pick(TASKS)]);
        break;
    case 1:
        vTaskSuspend(NULL);
        break;
    case 2:
        (void)xTaskAbortDelay(tasks[(me + 1 + pick(TASKS - 1)) % TASKS]);
        break;
    default:
        vTaskResume(tasks[(me + 1 + pick(TASKS - 1)) % TASKS]);
        break;
    }
}

/* One writer and one reader of each. */
static void streams(uint32_t me) {
    char bytes[40];
    memset(bytes, 'x', sizeof bytes);
    const size_t n = 1 + pick(12);
    switch (me) {
    case 0:
        (void)xStreamBufferSend(stream, bytes, n, some_ticks());
        break;
    case 1:
        if (pick(20) == 0) {
            (void)xStreamBufferReset(stream);
        } else {
            (void)xStreamBufferReceive(stream, bytes, pick(2) == 0 ? n : sizeof bytes, some_ticks());
        }
        break;
    case 2:
        (void)xMessageBufferSend(message, bytes, n, some_ticks());
        break;
    case 3:
        (void)xMessageBufferReceive(message, bytes, sizeof bytes, some_ticks());
        break;
    case 4:
        if (batch != NULL && pick(2) == 0) {
            (void)xStreamBufferSend(batch, bytes, n, some_ticks());
        } else {
            (void)xStreamBufferReceive(of_isr, bytes, n, some_ticks());
        }
        break;
    default:
        if (batch != NULL) {
            (void)xStreamBufferReceive(batch, bytes, sizeof bytes, some_ticks());
        }
        break;
    }
}

static void groups(uint32_t me) {
    const EventGroupHandle_t group = pick(2) == 0 ? e0 : e1;
    switch (pick(6)) {
    case 0:
    case 1:
        (void)xEventGroupSetBits(group, 1 + pick(15));
        break;
    case 2:
        (void)xEventGroupClearBits(group, pick(16));
        break;
    case 3:
    case 4:
        (void)xEventGroupWaitBits(group, 1 + pick(15), (BaseType_t)pick(2), (BaseType_t)pick(2), some_ticks());
        break;
    default:
        (void)xEventGroupSync(e1, 0x100u << me % 2u, 0x300u, some_ticks());
        break;
    }
}

static void timers(uint32_t me) {
    (void)me;
    const TimerHandle_t timer = pick(2) == 0 ? repeated : once;
    switch (pick(5)) {
    case 0:
        (void)xTimerStart(timer, pick(2));
        break;
    case 1:
        (void)xTimerStop(timer, pick(2));
        break;
    case 2:
        (void)xTimerReset(timer, pick(2));
        break;
    case 3:
        (void)xTimerChangePeriod(timer, 1 + pick(6), pick(2));
        break;
    default:
        if (is_privileged()) {
            (void)xTimerPendFunctionCall(pended, NULL, 0, pick(2));
        }
        break;
    }
}

static void delays(uint32_t me) {
    (void)me;
    if (pick(2) == 0) {
        vTaskDelay(pick(4));
    } else {
        TickType_t wake = xTaskGetTickCount();
        vTaskDelayUntil(&wake, 1 + pick(4));
    }
}

/* Interrupts and ticks come while no task may be switched to. */
static void holds_scheduler(uint32_t me) {
    (void)me;
    vTaskSuspendAll();
    work(3000);
    take_down();
    work(500);
    (void)xTaskResumeAll();
}

static void computes(uint32_t me) {
    (void)me;
    work(2000);
    if (pick(4) == 0) {
        taskYIELD();
    }
}

#if CORES > 1
/* Where tasks may run, and whether others may take their core. */
static void places(uint32_t me) {
    (void)me;
    const TaskHandle_t task = tasks[pick(TASKS)];
    switch (pick(4)) {
    case 0:
        vTaskCoreAffinitySet(task, 1u << pick(CORES));
        break;
#if configUSE_TASK_PREEMPTION_DISABLE == 1
    case 1:
        vTaskPreemptionDisable(NULL);
        work(500);
        take_down();
        vTaskPreemptionEnable(NULL);
        break;
    case 2:
        vTaskPreemptionDisable(task);
        work(200);
        vTaskPreemptionEnable(task);
        break;
#endif
    default:
        vTaskCoreAffinitySet(task, (1u << CORES) - 1u);
        break;
    }
}
#endif

/* What ticks are missing is made up for. The kernel does not allow it while another core has the scheduler suspended. */
static void ticks_jump(uint32_t me) {
    (void)me;
#if KERNEL >= 1003 && CORES == 1
    (void)xTaskCatchUpTicks(1 + pick(3));
#endif
}

static void (*const actions[])(uint32_t me) = {
    queues,   mailboxes, semaphores, sets,   mutexes, nesting, notifications,   suspends,
    streams,  groups,    timers,     delays, computes, prioritise, holds_scheduler, ticks_jump,
#if CORES > 1
    places,   places,
#endif
};
#define ACTIONS (sizeof actions / sizeof *actions)

static void act(uint32_t me) {
    uint32_t action;
    const uint32_t may = (UNPRIVILEGED >> me & 1u) != 0 ? RANDOM_ACTIONS & UNPRIVILEGED_ACTIONS : RANDOM_ACTIONS;
    do {
        action = pick(ACTIONS);
    } while ((may >> action & 1u) == 0);
    actions[action](me);
    if (pick(3) == 0) {
        take_down();
    }
}

static void worker(void *arg) {
    const uint32_t me = (uint32_t)(uintptr_t)arg;
    for (;;) {
        act(me);
        if ((UNPRIVILEGED >> me & 1u) != 0) {
            say(me);
        }
    }
}

/* Ends by itself, or is ended while it waits. It is never one of two tasks that share a buffer. */
static void short_lived(void *arg) {
    (void)arg;
    uint32_t item = 0;
    for (uint32_t i = 0; i < 6; i++) {
        switch (pick(6)) {
        case 0:
            (void)xQueueReceive(q0, &item, some_ticks());
            break;
        case 1:
            if (CORES > 1) {
                /* It is ended at any time. */
                break;
            }
            victim_holds = true;
            if (xSemaphoreTake(m0, pick(5)) == pdPASS) {
                take_down();
                (void)xSemaphoreGive(m0);
            }
            victim_holds = false;
            break;
        case 2:
            (void)notify_take(INDEX, pdTRUE, some_ticks());
            break;
        case 3:
            (void)xEventGroupWaitBits(e0, 1 + pick(15), pdTRUE, pdTRUE, some_ticks());
            break;
        case 4:
            (void)xSemaphoreTake(binary, some_ticks());
            break;
        default:
            vTaskDelay(pick(5));
            break;
        }
        take_down();
    }
    taskENTER_CRITICAL();
    const bool is_doomed = victim != xTaskGetCurrentTaskHandle();
    victim = is_doomed ? victim : NULL;
    taskEXIT_CRITICAL();
    if (is_doomed) {
        /* The observer is about to end it. */
        vTaskSuspend(NULL);
    }
    vTaskDelete(NULL);
}

#ifdef TEST_MASKED
uint32_t platform_masked;
#endif

static void save(void) {
    runs = false;
#ifdef TEST_MASKED
    /* A count of the timer is 2.5 instructions. */
    (void)printf("interrupts held off for %lu instructions at most\n", (unsigned long)(platform_masked * 5u / 2u));
    if (platform_masked * 5u / 2u > TEST_MASKED) {
        platform_exit(1);
    }
#endif
    (void)tband_stop_streaming();
    platform_write("capture.bin", capture, capture_len);
    platform_write("log.txt", log_text, log_len);
    if (said_len > 0) {
        platform_write("said.txt", said, said_len);
    }
    (void)printf("%lu lines, %lu bytes, %lu dropped, %lu ticks\n", (unsigned long)lines, (unsigned long)capture_len,
                 (unsigned long)tband_dropped_events(), (unsigned long)xTaskGetTickCount());
    platform_exit(tband_dropped_events() == 0 ? 0 : 1);
}

static void observes(void *arg) {
    (void)arg;
    for (uint32_t round = 0; lines < RANDOM_LINES; round++) {
        (void)notify_take(0, pdTRUE, 1 + pick(3));
        take_down();
        const TaskHandle_t task = tasks[pick(TASKS)];
        switch (pick(6)) {
        case 0:
        case 1:
            vTaskResume(task);
            break;
        case 2:
            (void)xTaskAbortDelay(task);
            break;
        case 3:
            if (victim == NULL) {
                static uint32_t number;
                char name[8];
                (void)snprintf(name, sizeof name, "v%lu", (unsigned long)number++ % 1000u);
                (void)xTaskCreate(short_lived, name, configMINIMAL_STACK_SIZE * 2, NULL, PRIVILEGED | (1 + pick(5)), &victim);
            } else {
                taskENTER_CRITICAL();
                const TaskHandle_t dead = victim_holds ? NULL : victim;
                if (dead != NULL) {
                    victim = NULL;
                }
                taskEXIT_CRITICAL();
                if (dead != NULL) {
                    vTaskDelete(dead);
                }
            }
            break;
        default:
            break;
        }
        take_down();
    }
    save();
}

/* ---- Interrupts ------------------------------------------------------------------------------------------------------------------- */

void app_interrupt(void);
void app_interrupt(void) {
    BaseType_t woken = pdFALSE;
    uint32_t item = 77;
#ifdef __arm__
    TIMER0->reload = 500 + pick(12000);
#endif
    if (!runs) {
        return;
    }
    switch (pick(16)) {
    case 0:
        (void)xQueueSendFromISR(q0, &item, &woken);
        break;
    case 1:
        (void)xQueueReceiveFromISR(q0, &item, &woken);
        break;
    case 2:
        (void)xSemaphoreGiveFromISR(binary, &woken);
        break;
    case 3:
        (void)xSemaphoreGiveFromISR(count, &woken);
        break;
    case 4:
        (void)xSemaphoreTakeFromISR(count, &woken);
        break;
    case 5:
        if ((RANDOM_ACTIONS & 2u) != 0) {
            (void)xQueueOverwriteFromISR(mailbox, &item, &woken);
        }
        break;
    case 6:
    case 7:
        notify_give_isr(tasks[pick(TASKS)], INDEX, &woken);
        break;
    case 8:
        (void)xStreamBufferSendFromISR(of_isr, "12345", 1 + pick(5), &woken);
        break;
    case 9:
        (void)xEventGroupSetBitsFromISR(e0, 1 + pick(15), &woken);
        break;
    case 10:
        (void)xEventGroupClearBitsFromISR(e0, pick(15));
        break;
    case 11:
        if (pick(2) == 0) {
            (void)xTimerResetFromISR(repeated, &woken);
        } else {
            (void)xTimerChangePeriodFromISR(once, 1 + pick(4), &woken);
        }
        break;
    case 12:
        (void)xTimerPendFunctionCallFromISR(pended, NULL, 0, &woken);
        break;
    case 13:
        woken |= xTaskResumeFromISR(tasks[pick(TASKS)]);
        break;
    case 14:
        if ((RANDOM_ACTIONS & 8u) != 0) {
            (void)xSemaphoreGiveFromISR(member, &woken);
        }
        break;
    default:
        notify_give_isr(observer, 0, &woken);
        break;
    }
    portYIELD_FROM_ISR(woken);
}

/* An interrupt between the hook of a reset and the reset. */
void app_asserted(const char *function) {
#ifdef __arm__
    if (runs && strcmp(function, "xQueueGenericReset") == 0) {
        *(volatile uint32_t *)0xe000e200u = 1u << TIMER0_IRQ;
    }
#endif
}

void app_tick(void);
void app_tick(void) {}
void vApplicationTickHook(void);
void vApplicationTickHook(void) {
#ifndef __arm__
    app_interrupt();
#endif
}

#if configUSE_CO_ROUTINES == 1
static void sender_routine(CoRoutineHandle_t xHandle, UBaseType_t index) {
    static BaseType_t result;
    static uint32_t item;
    (void)index;
    crSTART(xHandle);
    for (;;) {
        crQUEUE_SEND(xHandle, of_routines, &item, pick(3), &result);
        take_down();
        crDELAY(xHandle, pick(2));
    }
    crEND();
}

static void receiver_routine(CoRoutineHandle_t xHandle, UBaseType_t index) {
    static BaseType_t result;
    static uint32_t item;
    (void)index;
    crSTART(xHandle);
    for (;;) {
        crQUEUE_RECEIVE(xHandle, of_routines, &item, pick(3), &result);
        take_down();
        crDELAY(xHandle, pick(3));
    }
    crEND();
}

void vApplicationIdleHook(void);
void vApplicationIdleHook(void) { vCoRoutineSchedule(); }
#endif

void app_run(void) {
    tband_isr_name(15, "SysTick");
    tband_valmarker_name(99, "notes");
    (void)tband_start_streaming();
    q0 = xQueueCreate(3, sizeof(uint32_t));
    q1 = xQueueCreate(2, sizeof(uint32_t));
    mailbox = xQueueCreate(1, sizeof(uint32_t));
    binary = xSemaphoreCreateBinary();
    count = xSemaphoreCreateCounting(4, 2);
    member = xSemaphoreCreateBinary();
    m0 = xSemaphoreCreateMutex();
    m1 = xSemaphoreCreateMutex();
    nested = xSemaphoreCreateRecursiveMutex();
    set = xQueueCreateSet(3);
    (void)xQueueAddToSet(q1, set);
    (void)xQueueAddToSet(member, set);
    stream = xStreamBufferCreate(30, 7);
    message = xMessageBufferCreate(40);
    of_isr = xStreamBufferCreate(20, 4);
#if KERNEL >= 1101
    batch = xStreamBatchingBufferCreate(40, 9);
    tband_freertos_stream_buffer_name(batch, "batch");
#endif
    e0 = xEventGroupCreate();
    e1 = xEventGroupCreate();
    repeated = xTimerCreate("repeated", 3, pdTRUE, NULL, timer_called);
    once = xTimerCreate("once", 2, pdFALSE, NULL, timer_called);
    tband_freertos_queue_name(q0, "q0");
    tband_freertos_queue_name(q1, "q1");
    tband_freertos_queue_name(mailbox, "mailbox");
    tband_freertos_binary_semaphore_name(binary, "binary");
    tband_freertos_counting_semaphore_name(count, "count");
    tband_freertos_binary_semaphore_name(member, "member");
    tband_freertos_mutex_name(m0, "m0");
    tband_freertos_mutex_name(m1, "m1");
    tband_freertos_recursive_mutex_name(nested, "nested");
    tband_freertos_queue_set_name(set, "set");
    tband_freertos_stream_buffer_name(stream, "stream");
    tband_freertos_message_buffer_name(message, "message");
    tband_freertos_stream_buffer_name(of_isr, "of_isr");
    tband_freertos_event_group_name(e0, "e0");
    tband_freertos_event_group_name(e1, "e1");
#if configUSE_CO_ROUTINES == 1
    of_routines = xQueueCreate(2, sizeof(uint32_t));
    tband_freertos_queue_name(of_routines, "of_routines");
    (void)xCoRoutineCreate(sender_routine, 0, 0);
    (void)xCoRoutineCreate(receiver_routine, 1, 0);
#endif
    for (uint32_t i = 0; i < TASKS; i++) {
        char name[4] = {'t', (char)('0' + i), 0, 0};
        #ifdef TEST_MPU
        if ((UNPRIVILEGED >> i & 1u) != 0) {
            platform_create_restricted(worker, name, i, 1 + i % 5u, &tasks[i]);
            continue;
        }
#endif
        (void)xTaskCreate(worker, name, configMINIMAL_STACK_SIZE * 2, (void *)(uintptr_t)i, PRIVILEGED | (1 + i % 5u), &tasks[i]);
    }
    (void)xTaskCreate(observes, "observer", configMINIMAL_STACK_SIZE * 2, NULL, PRIVILEGED | (configMAX_PRIORITIES - 1), &observer);
    runs = true;
#ifdef __arm__
    platform_start_interrupt();
#endif
    vTaskStartScheduler();
}

#ifndef __arm__
int main(void) {
    app_run();
    return 1;
}
#endif
