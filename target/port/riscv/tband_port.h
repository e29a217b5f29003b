/* RISC-V, one hart in machine mode, with FreeRTOS or without, with or without the A extension: mstatus.MIE, and mtime of the CLINT
 * (memory-mapped at 0x0200BFF8 on SiFive chips and on QEMU's `virt`) as the clock. */
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
/* Set both for the chip: 10 MHz on QEMU's `virt`, often 32768 Hz on hardware; then rather use mcycle. */
#ifndef TBAND_PORT_MTIME
#define TBAND_PORT_MTIME 0x0200bff8u
#endif
#ifndef tband_portTIMESTAMP_HZ
#define tband_portTIMESTAMP_HZ 10000000u
#endif
/* The low word. The library extends it, as long as there is an event at least once per wrap. */
#define tband_portTIMESTAMP() ((uint64_t) * (volatile uint32_t *)TBAND_PORT_MTIME)
#define tband_portTIMESTAMP_BITS 32
#endif

static inline uint32_t tband_port_mask(void) {
    unsigned long status;
    __asm volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return (uint32_t)status & 8u;
}

static inline void tband_port_unmask(uint32_t key) { __asm volatile("csrs mstatus, %0" ::"r"(key) : "memory"); }

#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = tband_port_mask()
#define tband_portEXIT_CRITICAL_FROM_ANY() tband_port_unmask(tband_port_key)

#ifndef tband_portNUMBER_OF_CORES
#define tband_portNUMBER_OF_CORES 1
#define tband_portGET_CORE_ID() 0
#endif

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
