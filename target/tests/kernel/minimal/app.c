/* Two tasks of a cooperative kernel that mostly sleep: the idle task yields all the time, which is no switch. */
#include <string.h>

#include "app.h"

#include "FreeRTOS.h"

#include "task.h"

static uint8_t capture[1 << 20];
static size_t capture_len;

bool app_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

void app_tick(void) {}

static void sleeper_task(void *arg) {
    for (int i = 0; i < 100; i++) {
        vTaskDelay((TickType_t)(uintptr_t)arg);
    }
    (void)tband_stop_streaming();
    platform_write("capture.bin", capture, capture_len);
    platform_write("log.txt", "", 0);
    platform_exit(tband_dropped_events() == 0 ? 0 : 1);
}

void app_run(void) {
    (void)xTaskCreate(sleeper_task, "short", configMINIMAL_STACK_SIZE, (void *)3, 1, NULL);
    (void)xTaskCreate(sleeper_task, "long", configMINIMAL_STACK_SIZE, (void *)5, 2, NULL);
    (void)tband_start_streaming();
    vTaskStartScheduler();
}
