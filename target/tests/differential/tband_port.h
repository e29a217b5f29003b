/* The driver: a clock and a core that the script sets, and a sink that it can make refuse. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern uint64_t driver_clock;
extern uint32_t driver_core;
bool driver_sink(const uint8_t *buf, size_t len);

#if tband_portTIMESTAMP_BITS == 32
/* Above its bits a clock may hold anything. */
#define tband_portTIMESTAMP() ((driver_clock & 0xffffffffu) | 0xabcdef0000000000u)
#else
#define tband_portTIMESTAMP() (driver_clock)
#endif
#define tband_portENTER_CRITICAL_FROM_ANY() ((void)0)
#define tband_portEXIT_CRITICAL_FROM_ANY() ((void)0)
#define tband_portGET_CORE_ID() (driver_core)
#define tband_portBACKEND_STREAM_DATA(buf, len) driver_sink((buf), (len))
#define tband_portNOINIT
#endif
