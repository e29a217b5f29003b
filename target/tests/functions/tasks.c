/* Functions and messages of two tasks on an emulated Cortex-M4, compiled with -finstrument-functions. Writes capture.bin, said.txt with
 * the messages' texts, and called.txt: which task called which function. */
#include <string.h>

#include "app.h"

#include "FreeRTOS.h"

#include "task.h"

#include "../logging/say.h"

static uint8_t capture[1 << 18];
static size_t capture_len;
static char said[1 << 17];
static size_t said_len;
static char called[1 << 15];
static size_t called_len;

TBAND_NO_TRACE bool app_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

void vApplicationTickHook(void);
TBAND_NO_TRACE void vApplicationTickHook(void) {}

TBAND_NO_TRACE static void add(char *to, size_t *len, size_t size, const char *what, const char *text) {
    *len += (size_t)snprintf(to + *len, size - *len, "%s %s\n", what, text);
}

void note(int severity, const char *text) {
    const char number[2] = {(char)('0' + severity), '\0'};
    add(said, &said_len, sizeof said, number, text);
}

TBAND_NO_TRACE static void call(const char *function) {
    taskENTER_CRITICAL();
    add(called, &called_len, sizeof called, pcTaskGetName(NULL), function);
    taskEXIT_CRITICAL();
}

__attribute__((noinline)) static void inner(void) {
    call("inner");
    /* The other task runs meanwhile. */
    vTaskDelay(1);
}

__attribute__((noinline)) static void outer(int n) {
    call("outer");
    for (int i = 0; i < n % 3; i++) {
        inner();
    }
}

static volatile int running = 2;

TBAND_NO_TRACE static void task(void *arg) {
    const int first = (int)(uintptr_t)arg;
    for (int n = first; n < first + 20; n++) {
        outer(n);
        vTaskSuspendAll();
        say_all(n);
        (void)xTaskResumeAll();
    }
    taskENTER_CRITICAL();
    running--;
    taskEXIT_CRITICAL();
    if (running > 0) {
        vTaskSuspend(NULL);
    }
    (void)tband_stop_streaming();
    platform_write("capture.bin", capture, capture_len);
    platform_write("said.txt", said, said_len);
    platform_write("called.txt", called, called_len);
    platform_exit(tband_dropped_events() == 0 && said_len < sizeof said && called_len < sizeof called ? 0 : 1);
}

TBAND_NO_TRACE void app_run(void) {
    (void)xTaskCreate(task, "alpha", 1000, (void *)0, 1, NULL);
    (void)xTaskCreate(task, "beta", 1000, (void *)100, 1, NULL);
    (void)tband_start_streaming();
    vTaskStartScheduler();
}
