/* The port of the crate: the critical section is that of the crate `critical-section`, the clock the firmware's own. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdint.h>

#include "tband_config.h"

#include tband_portSINK_HEADER

/* Defined in Rust. */
uint32_t tband_rust_enter(void);
void tband_rust_leave(uint32_t key);
uint64_t tband_rust_now(void);
extern const uint32_t tband_rust_clock_hz;

#define tband_portTIMESTAMP() tband_rust_now()
#define tband_portTIMESTAMP_HZ tband_rust_clock_hz
#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_key = tband_rust_enter()
#define tband_portEXIT_CRITICAL_FROM_ANY() tband_rust_leave(tband_port_key)
#define tband_portBACKEND_STREAM_DATA(buf, len) tband_sink((buf), (len))

#endif
