/* Cost measurement: bare metal, PRIMASK, a 32-bit counter, a sink that copies into a ring. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel/qemu/board.h"

bool ring_put(const uint8_t *buf, size_t len);

static inline uint32_t port_mask(void) {
    uint32_t key;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(key)::"memory");
    return key;
}

static inline void port_unmask(uint32_t key) { __asm volatile("msr primask, %0" ::"r"(key) : "memory"); }

#ifdef MEASURE_MASKED
/* The time with interrupts masked, less what it takes to look at the clock twice. */
extern uint32_t masked_ticks;
#define tband_portENTER_CRITICAL_FROM_ANY()                                                                                  \
    const uint32_t port_key = port_mask();                                                                                   \
    const uint32_t port_then = TIMER0->value
#define tband_portEXIT_CRITICAL_FROM_ANY()                                                                                   \
    masked_ticks += port_then - TIMER0->value;                                                                               \
    port_unmask(port_key)
#else
#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t port_key = port_mask()
#define tband_portEXIT_CRITICAL_FROM_ANY() port_unmask(port_key)
#endif

/* In nanoseconds, so that the gaps between events take two bytes, as they do in real firmware. */
#ifdef CLOCK_64
extern volatile uint32_t clock_high;
#define tband_portTIMESTAMP() ((uint64_t)clock_high << 32 | (uint32_t)(~TIMER1->value * 40u))
#else
#define tband_portTIMESTAMP() ((uint64_t)(uint32_t)(~TIMER1->value * 40u))
#define tband_portTIMESTAMP_BITS 32
#endif
#define tband_portTIMESTAMP_HZ 1000000000u
#define tband_portNUMBER_OF_CORES 1
#define tband_portGET_CORE_ID() 0
#define tband_portBACKEND_STREAM_DATA(buf, len) ring_put((buf), (len))

#endif
