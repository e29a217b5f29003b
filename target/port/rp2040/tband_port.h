/* RP2040: two Cortex-M0+ cores, which have no atomic exchange, so one of the chip's 32 hardware spinlocks excludes the other
 * core; the shared microsecond timer is the clock. With FreeRTOS SMP the kernel uses other spinlocks than this one. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TIMERAWL: the low 32 bits, without the latch that reading TIMELR and TIMEHR shares between the cores. */
#define tband_portTIMESTAMP() ((uint64_t) * (volatile uint32_t *)0x40054028u)
#define tband_portTIMESTAMP_BITS 32
#define tband_portTIMESTAMP_HZ 1000000u

static inline uint32_t tband_port_mask(void) {
    uint32_t key;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(key)::"memory");
    return key;
}

static inline void tband_port_unmask(uint32_t key) { __asm volatile("msr primask, %0" ::"r"(key) : "memory"); }

#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = tband_port_mask()
#define tband_portEXIT_CRITICAL_FROM_ANY() tband_port_unmask(tband_port_key)

/* SIO spinlock 24 (free for applications): reading takes it, 0 means that somebody else has it; writing gives it back. */
#define TBAND_PORT_SPINLOCK ((volatile uint32_t *)(0xd0000100u + 4u * 24u))
#define tband_portSPINLOCK_ACQUIRE()                                                                                         \
    do {                                                                                                                     \
        while (*TBAND_PORT_SPINLOCK == 0) {                                                                                  \
        }                                                                                                                    \
        __asm volatile("dmb" ::: "memory");                                                                                  \
    } while (0)
#define tband_portSPINLOCK_RELEASE()                                                                                         \
    do {                                                                                                                     \
        __asm volatile("dmb" ::: "memory");                                                                                  \
        *TBAND_PORT_SPINLOCK = 1;                                                                                            \
    } while (0)

#define tband_portNUMBER_OF_CORES 2
#define tband_portGET_CORE_ID() (*(volatile uint32_t *)0xd0000000u) /* SIO CPUID */

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
