/* A sink for the streaming backend: the UART of Arm's CMSDK, which QEMU's MPS2 boards have and show as a character device
 * (`-serial file:trace.bin`, `-serial pty`, `-serial tcp::4444,server`). On hardware it waits for each byte.
 *
 * #define tband_portSINK_HEADER "tband_sink_cmsdk_uart.h" in tband_config.h; there is no .c file. tband_sink_init() first of all. */
#ifndef TBAND_SINK_CMSDK_UART_H_
#define TBAND_SINK_CMSDK_UART_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_UART_BASE
#define TBAND_UART_BASE 0x40004000u /* UART0 */
#endif

static inline void tband_sink_init(void) {
    *(volatile uint32_t *)(TBAND_UART_BASE + 0x10u) = 16; /* BAUDDIV: as fast as it goes */
    *(volatile uint32_t *)(TBAND_UART_BASE + 0x08u) = 1;  /* CTRL: transmit */
}

/** Takes a frame; never true. */
static inline bool tband_sink(const uint8_t *buf, size_t len) {
    for (size_t i = 0; i < len; i++) {
        while ((*(volatile uint32_t *)(TBAND_UART_BASE + 0x04u) & 1u) != 0) {
        }
        *(volatile uint32_t *)TBAND_UART_BASE = buf[i];
    }
    return false;
}

#ifdef __cplusplus
}
#endif

#endif
