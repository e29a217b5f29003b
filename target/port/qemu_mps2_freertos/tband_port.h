/* QEMU's MPS2 boards (mps2-an385, -an386) under FreeRTOS: BASEPRI, and TIMER1, which counts down from 2^32 at 25 MHz, as the clock.
 * Call tband_port_init() first. Frames go out of UART0 (port/sinks/tband_sink_cmsdk_uart.h). */
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

#define tband_portTIMESTAMP_HZ 25000000u
#define tband_portTIMESTAMP() ((uint64_t)(uint32_t) ~*(volatile uint32_t *)0x40001004u)
#define tband_portTIMESTAMP_BITS 32

static inline void tband_port_init(void) {
    *(volatile uint32_t *)0x40001008u = 0xffffffffu; /* RELOAD */
    *(volatile uint32_t *)0x40001004u = 0xffffffffu; /* VALUE */
    *(volatile uint32_t *)0x40001000u = 1;           /* CTRL: enable */
}

#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = ulPortRaiseBASEPRI()
#define tband_portEXIT_CRITICAL_FROM_ANY() vPortSetBASEPRI(tband_port_key)

#ifndef tband_portSINK_HEADER
#define tband_portSINK_HEADER "tband_sink_cmsdk_uart.h"
#endif

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
