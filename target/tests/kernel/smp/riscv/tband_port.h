/* Two harts with one clock, mtime: the library's port for RISC-V with its default lock, an atomic flag, and a sink in memory. */
#include "app.h"

#define tband_portNUMBER_OF_CORES 2
#define tband_portGET_CORE_ID() smp_core()
#define tband_portBACKEND_STREAM_DATA(buf, len) app_sink((buf), (len))
#include "FreeRTOS.h"

#include "../../../../port/riscv/tband_port.h"
