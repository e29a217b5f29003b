/* The library's port, with a sink in memory. */
#include "app.h"

#define tband_portBACKEND_STREAM_DATA(buf, len) app_sink((buf), (len))
#include "../../../port/posix_freertos/tband_port.h"
