/* A sink for the streaming backend: SEGGER RTT, channel 1, read by a debug probe while the target runs. Needs SEGGER's RTT sources.
 *
 * In SKIP mode a frame that has no room is not begun, so frames stay whole. The library's critical section stands in for the lock
 * of RTT, hence the ...NoLock function. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "SEGGER_RTT.h"

#define CHANNEL 1u

bool tband_sink(const uint8_t *buf, size_t len);
void tband_sink_init(void);

static uint8_t up_buffer[4096];

void tband_sink_init(void) {
    (void)SEGGER_RTT_ConfigUpBuffer(CHANNEL, "tband", up_buffer, sizeof up_buffer, SEGGER_RTT_MODE_NO_BLOCK_SKIP);
}

bool tband_sink(const uint8_t *buf, size_t len) {
    return SEGGER_RTT_WriteSkipNoLock(CHANNEL, buf, (unsigned int)len) == 0;
}
