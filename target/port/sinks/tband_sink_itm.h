/* A sink for the streaming backend: the ITM of a Cortex-M3 and up, out of the SWO pin. A debugger (or the firmware) sets up the pin
 * and enables the stimulus port; without that, frames are dropped. Record SWO with the probe's own tool and convert the file.
 *
 * #define tband_portSINK_HEADER "tband_sink_itm.h" in tband_config.h; there is no .c file. A frame waits for the ITM's FIFO inside
 * the critical section: at 2 MBaud an event takes some 40 µs there. For more than a few thousand events per second use RTT. */
#ifndef TBAND_SINK_ITM_H_
#define TBAND_SINK_ITM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_ITM_PORT
#define TBAND_ITM_PORT 1u /* stimulus port, 0 to 31 */
#endif

#ifndef TBAND_ITM_BASE
#define TBAND_ITM_BASE 0xe0000000u
#endif

/* Takes a word, a half word or a byte, by the width of the access. Reads as 1 when it can. */
#define TBAND_ITM_STIMULUS (TBAND_ITM_BASE + 4u * TBAND_ITM_PORT)

/** Takes a whole frame, or none of it: true if the ITM is off or has no room for its first word. */
static inline bool tband_sink(const uint8_t *buf, size_t len) {
    const bool is_on = (*(volatile uint32_t *)(TBAND_ITM_BASE + 0xe80u) & 1u) != 0 &&
                       (*(volatile uint32_t *)(TBAND_ITM_BASE + 0xe00u) >> TBAND_ITM_PORT & 1u) != 0;
    if (!is_on || *(volatile uint32_t *)TBAND_ITM_STIMULUS == 0) {
        return true;
    }
    while (len > 0) {
        while (*(volatile uint32_t *)TBAND_ITM_STIMULUS == 0) {
        }
        if (len >= 4) {
            uint32_t word;
            (void)memcpy(&word, buf, 4);
            *(volatile uint32_t *)TBAND_ITM_STIMULUS = word;
            buf += 4;
            len -= 4;
        } else {
            *(volatile uint8_t *)TBAND_ITM_STIMULUS = *buf++;
            len--;
        }
    }
    return false;
}

#ifdef __cplusplus
}
#endif

#endif
