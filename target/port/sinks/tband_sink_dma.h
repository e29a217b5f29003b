/* A sink for the streaming backend: two buffers, of which DMA sends one (to a UART, SPI, USB) while events fill the other.
 *
 * #define tband_portSINK_HEADER "tband_sink_dma.h" in tband_config.h, tband_sink_dma.c in the build. The firmware provides
 * tband_sink_dma_start(), and calls tband_sink_dma_done() in the interrupt at the end of a transfer. On an STM32 with its HAL:
 *
 *     void tband_sink_dma_start(const uint8_t *bytes, size_t len) { HAL_UART_Transmit_DMA(&huart2, bytes, len); }
 *     void HAL_UART_TxCpltCallback(UART_HandleTypeDef *uart) { if (uart == &huart2) { tband_sink_dma_done(); } }
 */
#ifndef TBAND_SINK_DMA_H_
#define TBAND_SINK_DMA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_SINK_DMA_SIZE
#define TBAND_SINK_DMA_SIZE 1024u /* bytes of each buffer */
#endif

/** Provided by the firmware: begins to send. Called inside the critical section; returns at once. */
void tband_sink_dma_start(const uint8_t *bytes, size_t len);

/** The transfer has ended: sends what has come meanwhile. From its interrupt, which the critical section must hold off. */
void tband_sink_dma_done(void);

/** Takes a whole frame, or none of it: true if there is no room. Called by the library, inside its critical section. */
bool tband_sink(const uint8_t *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
