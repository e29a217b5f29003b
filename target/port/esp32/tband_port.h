/* ESP32 and ESP32-S3 (two Xtensa cores), and the single-core chips, under ESP-IDF's FreeRTOS: the interrupt level of the kernel's
 * own critical sections, the library's spinlock between the cores, and the microsecond timer that both share. The library is in flash: interrupts
 * that go on while the flash is written (ESP_INTR_FLAG_IRAM) must not record. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#include "esp_timer.h"
#include "freertos/FreeRTOS.h"

#ifdef __cplusplus
extern "C" {
#endif

#define tband_portTIMESTAMP() ((uint64_t)esp_timer_get_time())
#define tband_portTIMESTAMP_HZ 1000000u

#define tband_portENTER_CRITICAL_FROM_ANY() const UBaseType_t tband_port_key = portSET_INTERRUPT_MASK_FROM_ISR()
#define tband_portEXIT_CRITICAL_FROM_ANY() portCLEAR_INTERRUPT_MASK_FROM_ISR(tband_port_key)

#define tband_portNUMBER_OF_CORES configNUM_CORES
#define tband_portGET_CORE_ID() ((uint32_t)xPortGetCoreID())

/* Streaming backend: true if there was no room. With tband_portSINK_HEADER in tband_config.h it is one of port/sinks, inlined. */
#ifndef tband_portBACKEND_STREAM_DATA
#ifdef tband_portSINK_HEADER
#include tband_portSINK_HEADER
#else
bool tband_sink(const uint8_t *buf, size_t len);
#endif
#define tband_portBACKEND_STREAM_DATA(buf, len) tband_sink((buf), (len))
#endif

#ifdef __cplusplus
}
#endif

#endif
