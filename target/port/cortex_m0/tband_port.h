/* Cortex-M0 and M0+, with FreeRTOS or without: PRIMASK. These cores have no cycle counter, so the clock is a timer of the chip: here a
 * free-running 32-bit one that counts up, such as TIM2 of an STM32L0. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef tband_portTIMESTAMP /* tband_config.h may have one */
/* Clock and address of the timer's counter. */
#define tband_portTIMESTAMP_HZ 32000000u
#define tband_portTIMESTAMP() ((uint64_t) * (volatile uint32_t *)0x40000024u)
#define tband_portTIMESTAMP_BITS 32
#endif

static inline uint32_t tband_port_mask(void) {
    uint32_t key;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(key)::"memory");
    return key;
}

static inline void tband_port_unmask(uint32_t key) { __asm volatile("msr primask, %0" ::"r"(key) : "memory"); }

#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = tband_port_mask()
#define tband_portEXIT_CRITICAL_FROM_ANY() tband_port_unmask(tband_port_key)

#define tband_portNUMBER_OF_CORES 1
#define tband_portGET_CORE_ID() 0

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
