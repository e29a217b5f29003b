/* Cost measurement: bare metal, PRIMASK, a 32-bit counter, and one of the shipped sinks, or one that is not inlined. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel/qemu/board.h"

static inline uint32_t port_mask(void) {
    uint32_t key;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(key)::"memory");
    return key;
}

static inline void port_unmask(uint32_t key) { __asm volatile("msr primask, %0" ::"r"(key) : "memory"); }

#ifdef MEASURE_MASKED
/* The longest time with interrupts masked, and all of it. */
extern uint32_t masked_ticks;
extern uint32_t masked_most;
#define tband_portENTER_CRITICAL_FROM_ANY()                                                                                  \
    const uint32_t port_key = port_mask();                                                                                   \
    const uint32_t port_then = TIMER0->value
#define tband_portEXIT_CRITICAL_FROM_ANY()                                                                                   \
    const uint32_t port_ticks = port_then - TIMER0->value;                                                                   \
    masked_ticks += port_ticks;                                                                                              \
    masked_most = port_ticks > masked_most ? port_ticks : masked_most;                                                       \
    port_unmask(port_key)
#else
#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t port_key = port_mask()
#define tband_portEXIT_CRITICAL_FROM_ANY() port_unmask(port_key)
#endif

#define tband_portTIMESTAMP() ((uint64_t)(uint32_t)~TIMER1->value)
#define tband_portTIMESTAMP_BITS 32
#define tband_portTIMESTAMP_HZ TIMER_HZ
#ifdef tband_portSINK_HEADER
#include tband_portSINK_HEADER
#define tband_portBACKEND_STREAM_DATA(buf, len) tband_sink((buf), (len))
#else
bool ring_put(const uint8_t *buf, size_t len);
#define tband_portBACKEND_STREAM_DATA(buf, len) ring_put((buf), (len))
#endif

#endif
