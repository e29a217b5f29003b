/* Cortex-M3 and up (M4, M7, M33, M55) under FreeRTOS: BASEPRI up to the kernel's own level, from any context and nested, and the
 * cycle counter. Interrupts above configMAX_SYSCALL_INTERRUPT_PRIORITY are never held off and must not record events. On a Cortex-M7
 * r0p1, whose BASEPRI takes effect late (erratum 837070), take PRIMASK as in cortex_m_bare_metal. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#include "FreeRTOS.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The clock, unless tband_config.h has one, as applications of the original library do. */
#ifndef tband_portTIMESTAMP
#define tband_portTIMESTAMP_HZ configCPU_CLOCK_HZ

/* DWT->CYCCNT counts CPU cycles in 32 bits; the library extends it, as long as there is an event at least once per wrap (25 s at
 * 168 MHz). On most chips it stops while the core sleeps (WFI, tickless idle): firmware that sleeps takes a timer that goes on. Call
 * tband_port_init() first. */
#define tband_portTIMESTAMP() ((uint64_t) * (volatile uint32_t *)0xe0001004u)
#define tband_portTIMESTAMP_BITS 32
#endif

static inline void tband_port_init(void) {
    *(volatile uint32_t *)0xe000edfcu |= 1u << 24; /* CoreDebug->DEMCR: TRCENA */
    *(volatile uint32_t *)0xe0001fb0u = 0xc5acce55; /* DWT->LAR: the Cortex-M7 locks it; others ignore this */
    *(volatile uint32_t *)0xe0001004u = 0;         /* DWT->CYCCNT */
    *(volatile uint32_t *)0xe0001000u |= 1u;       /* DWT->CTRL: CYCCNTENA */
}

static inline uint32_t tband_port_mask(void) {
    uint32_t key;
    __asm volatile("mrs %0, basepri" : "=r"(key)::"memory");
    /* Raises it, and never lowers it. */
    __asm volatile("msr basepri_max, %0\n\tisb\n\tdsb" ::"r"(configMAX_SYSCALL_INTERRUPT_PRIORITY) : "memory");
    return key;
}

static inline void tband_port_unmask(uint32_t key) { __asm volatile("msr basepri, %0" ::"r"(key) : "memory"); }

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
