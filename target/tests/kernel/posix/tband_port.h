/* The library's port, with a sink in memory. */
#include "../../../port/posix_freertos/tband_port.h"

#include "app.h"

#undef tband_portBACKEND_STREAM_DATA
#define tband_portBACKEND_STREAM_DATA(buf, len) app_sink((buf), (len))
