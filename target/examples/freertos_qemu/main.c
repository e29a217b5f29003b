/* FreeRTOS on QEMU's mps2-an385, recorded out of UART0: a producer and a consumer with a queue, a mutex and a timer interrupt. */
#include "FreeRTOS.h"

#include "queue.h"
#include "semphr.h"
#include "task.h"

#include "tband_port.h"

enum { ISR_SYSTICK = 15, MARKER_BATCH = 1, VALUE_SUM = 1 };

static QueueHandle_t items;
static SemaphoreHandle_t lock;

static void work(int units) {
    for (volatile int i = 0; i < units * 500; i++) {
    }
}

static void producer(void *arg) {
    (void)arg;
    for (int item = 0; item < 100; item++) {
        work(1 + item % 3);
        (void)xQueueSend(items, &item, portMAX_DELAY);
        vTaskDelay(item % 5 == 0 ? 4 : 1);
    }
    (void)tband_stop_streaming();
    /* Semihosting: ends QEMU. */
    register int operation __asm("r0") = 0x18;
    register int reason __asm("r1") = 0x20026;
    __asm volatile("bkpt 0xab" ::"r"(operation), "r"(reason) : "memory");
    vTaskSuspend(NULL);
}

static void consumer(void *arg) {
    int item;
    int64_t sum = 0;
    tband_freertos_task_evtmarker_name(MARKER_BATCH, "batch");
    for (;;) {
        (void)xQueueReceive(items, &item, portMAX_DELAY);
        tband_freertos_task_evtmarker_begin(MARKER_BATCH, item % 2 == 0 ? "even" : "odd");
        (void)xSemaphoreTake(lock, portMAX_DELAY);
        work((int)(intptr_t)arg);
        sum += item;
        (void)xSemaphoreGive(lock);
        tband_valmarker(VALUE_SUM, sum);
        tband_freertos_task_evtmarker_end(MARKER_BATCH);
    }
}

void vApplicationTickHook(void) {
    tband_isr_enter(ISR_SYSTICK);
    tband_isr_exit(ISR_SYSTICK);
}

int main(void) {
    tband_port_init();
    tband_sink_init();
    tband_isr_name(ISR_SYSTICK, "SysTick");
    tband_valmarker_name(VALUE_SUM, "sum");
    (void)tband_start_streaming();
    items = xQueueCreate(4, sizeof(int));
    lock = xSemaphoreCreateMutex();
    tband_freertos_queue_name(items, "items");
    tband_freertos_mutex_name(lock, "lock");
    (void)xTaskCreate(producer, "producer", 256, NULL, 2, NULL);
    (void)xTaskCreate(consumer, "consumer", 256, (void *)4, 3, NULL);
    (void)xTaskCreate(consumer, "helper", 256, (void *)9, 1, NULL);
    vTaskStartScheduler();
    return 1;
}
