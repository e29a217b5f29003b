/* AVR (ATmega), with FreeRTOS or without: the I flag of SREG. The clock is 16-bit Timer 1 at F_CPU / 8, extended by a count of its
 * overflows: put tband_port_overflows++ into TIMER1_OVF_vect. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef F_CPU
#define F_CPU 16000000u
#endif
#define tband_portTIMESTAMP_HZ (F_CPU / 8u)

#define TBAND_PORT_REG(address) (*(volatile uint8_t *)(address))
#define TBAND_PORT_REG16(address) (*(volatile uint16_t *)(address))
extern volatile uint16_t tband_port_overflows;

/* Interrupts are off: an overflow that was not counted yet shows in TIFR1. */
static inline uint64_t tband_port_now(void) {
    uint16_t high = tband_port_overflows;
    uint16_t low = TBAND_PORT_REG16(0x84); /* TCNT1 */
    if ((TBAND_PORT_REG(0x36) & 1u) != 0) { /* TIFR1: TOV1 */
        low = TBAND_PORT_REG16(0x84);
        high++;
    }
    return ((uint64_t)high << 16) | low;
}
#define tband_portTIMESTAMP() tband_port_now()
#define tband_portTIMESTAMP_BITS 32

static inline void tband_port_init(void) {
    TBAND_PORT_REG(0x80) = 0;    /* TCCR1A */
    TBAND_PORT_REG(0x81) = 2;    /* TCCR1B: F_CPU / 8 */
    TBAND_PORT_REG(0x6f) |= 1u;  /* TIMSK1: TOIE1 */
}

static inline uint8_t tband_port_mask(void) {
    const uint8_t key = TBAND_PORT_REG(0x5f); /* SREG */
    __asm volatile("cli" ::: "memory");
    return key;
}

static inline void tband_port_unmask(uint8_t key) {
    __asm volatile("" ::: "memory");
    TBAND_PORT_REG(0x5f) = key;
}

#define tband_portENTER_CRITICAL_FROM_ANY() const uint8_t tband_port_key = tband_port_mask()
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
