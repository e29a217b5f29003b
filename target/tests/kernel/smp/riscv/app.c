/* Tasks on two cores at the same time, some of them bound to one, that pass numbers on. Each says now and then on which core it is, with
 * interrupts off: what the recording must say as well. */
#include <stdio.h>
#include <string.h>

#include "app.h"

#include "FreeRTOS.h"

#include "queue.h"
#include "semphr.h"
#include "task.h"

#define ROUNDS 300u
#define WORKERS 6u

static uint8_t capture[1 << 21];
static size_t capture_len;
static QueueHandle_t numbers;
static SemaphoreHandle_t mutex, done;
static uint32_t shared, received;

/* By one core at a time: the library's lock. */
bool app_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

void vApplicationTickHook(void);
void vApplicationTickHook(void) {}

static void say(void) {
    const UBaseType_t mask = smp_mask();
    tband_evtmarker((uint32_t)smp_core() + 1u, pcTaskGetName(NULL));
    smp_unmask(mask);
}

static void worker(void *arg) {
    const uint32_t number = (uint32_t)(uintptr_t)arg;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        /* Most of the time any core; now and then one and then the other, so that these tasks do move. */
        if (number < 4 && round % 50u < 4u) {
            vTaskCoreAffinitySet(NULL, round % 50u == 3u ? 3u : 1u << (round % 2u));
        }
        say();
        (void)xQueueSend(numbers, &round, portMAX_DELAY);
        (void)xSemaphoreTake(mutex, portMAX_DELAY);
        const uint32_t before = shared;
        for (volatile uint32_t i = 0; i < 20u * number; i++) {
        }
        shared = before + 1;
        (void)xSemaphoreGive(mutex);
        say();
        uint32_t taken;
        (void)xQueueReceive(numbers, &taken, portMAX_DELAY);
        __atomic_fetch_add(&received, 1u, __ATOMIC_RELAXED);
        if (round % 16u == number) {
            vTaskDelay(1);
        }
    }
    (void)xSemaphoreGive(done);
    vTaskSuspend(NULL);
}

static void supervisor(void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < WORKERS; i++) {
        (void)xSemaphoreTake(done, portMAX_DELAY);
    }
    (void)tband_stop_streaming();
    (void)printf("%lu rounds, %lu received, %lu bytes, %lu dropped\n", (unsigned long)shared, (unsigned long)received,
                 (unsigned long)capture_len, (unsigned long)tband_dropped_events());
    platform_write("capture.bin", capture, capture_len);
    platform_exit(shared == WORKERS * ROUNDS && received == WORKERS * ROUNDS && tband_dropped_events() == 0 ? 0 : 1);
}

int main(void) {
    static const char *const names[WORKERS] = {"any 1", "any 2", "any 3", "any 4", "first", "second"};
    numbers = xQueueCreate(8, sizeof(uint32_t));
    mutex = xSemaphoreCreateMutex();
    done = xSemaphoreCreateCounting(WORKERS, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        TaskHandle_t task;
        (void)xTaskCreate(worker, names[i], configMINIMAL_STACK_SIZE, (void *)(uintptr_t)i, 1 + i % 2, &task);
        if (i >= 4) {
            vTaskCoreAffinitySet(task, 1u << (i - 4));
        }
    }
    (void)xTaskCreate(supervisor, "supervisor", 1024, NULL, 3, NULL);
    (void)tband_start_streaming();
    vTaskStartScheduler();
    return 1;
}
