/* The library's port, with a sink in memory. */
#include "app.h"

#define tband_portBACKEND_STREAM_DATA(buf, len) app_sink((buf), (len))
#include "../../../port/riscv/tband_port.h"
