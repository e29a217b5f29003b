/* Zephyr on one core: irq_lock(), from any context and nested, and the hardware cycle counter as the clock. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#include <zephyr/irq.h>
#include <zephyr/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The counter is extended by the library, as long as there is an event at least once per wrap. */
#define tband_portTIMESTAMP_HZ ((uint32_t)sys_clock_hw_cycles_per_sec())
#define tband_portTIMESTAMP() ((uint64_t)k_cycle_get_32())
#define tband_portTIMESTAMP_BITS 32

#define tband_portENTER_CRITICAL_FROM_ANY() const unsigned int tband_port_key = irq_lock()
#define tband_portEXIT_CRITICAL_FROM_ANY() irq_unlock(tband_port_key)

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
