/* Cortex-M3 and up under FreeRTOS: BASEPRI up to the kernel's own level, from any context and nested, and the cycle counter.
 * Interrupts above configMAX_SYSCALL_INTERRUPT_PRIORITY are never held off and must not record events. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"

#define tband_portTIMESTAMP_HZ configCPU_CLOCK_HZ

#define tband_portTIMESTAMP() ((uint64_t) * (volatile uint32_t *)0xe0001004u)
#define tband_portTIMESTAMP_BITS 32

/* Starts DWT->CYCCNT: first of all. */
static inline void tband_port_init(void) {
    *(volatile uint32_t *)0xe000edfcu |= 1u << 24;
    *(volatile uint32_t *)0xe0001004u = 0;
    *(volatile uint32_t *)0xe0001000u |= 1u;
}

#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = ulPortRaiseBASEPRI()
#define tband_portEXIT_CRITICAL_FROM_ANY() vPortSetBASEPRI(tband_port_key)

#define tband_portNUMBER_OF_CORES 1
#define tband_portGET_CORE_ID() 0

bool tband_sink(const uint8_t *buf, size_t len);
#define tband_portBACKEND_STREAM_DATA(buf, len) tband_sink((buf), (len))

#endif
