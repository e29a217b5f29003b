/* A sink for the streaming backend: frames wait in a ring until something slower fetches them (UART DMA, USB, a socket).
 *
 * Fastest where the library can inline it: #define tband_portSINK_HEADER "tband_sink_ring.h" in tband_config.h, and
 * tband_sink_ring.c in the build. One context reads, for instance a task of low priority:
 *
 *     const uint8_t *bytes;
 *     for (;;) {
 *         const size_t n = tband_sink_ready(&bytes);
 *         uart_write(bytes, n);
 *         tband_sink_sent(n);
 *         vTaskDelay(1);
 *     }
 */
#ifndef TBAND_SINK_RING_H_
#define TBAND_SINK_RING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_SINK_SIZE
#define TBAND_SINK_SIZE 4096u /* bytes, a power of two */
#endif

/* The last bytes of a frame are copied as a whole word: up to three more than it has. */
#define TBAND_SINK_SLACK 3u

struct tband_sink_ring {
    /* Bytes put in and taken out so far. Each has one writer (the library's lock sees to it). */
    volatile uint32_t put;
    volatile uint32_t got;
    uint8_t bytes[TBAND_SINK_SIZE + TBAND_SINK_SLACK];
};
extern struct tband_sink_ring tband_sink_ring;

/* A frame that reaches the end of the memory, or for which there is no room. */
bool tband_sink_rarely(const uint8_t *buf, uint32_t len);

/* Few words: not as a call of memcpy(). The last one may be up to three bytes more than `len`, which is not 0. */
static inline void tband_sink_copy(uint8_t *to, const uint8_t *from, uint32_t len) {
    const uint8_t *const end = to + len;
    do {
        (void)memcpy(to, from, 4);
        to += 4;
        from += 4;
        __asm volatile("" : "+r"(to));
    } while (to < end);
}

/** Takes a whole frame, or none of it: true if there is no room. Called by the library, inside its critical section. It may read
 * three bytes beyond the frame, which the library's frames have. */
static inline bool tband_sink(const uint8_t *buf, size_t size) {
    const uint32_t len = (uint32_t)size;
    const uint32_t head = tband_sink_ring.put;
    const uint32_t at = head & (TBAND_SINK_SIZE - 1u);
    if (len + TBAND_SINK_SLACK > TBAND_SINK_SIZE - (head - tband_sink_ring.got) ||
        len + TBAND_SINK_SLACK > TBAND_SINK_SIZE - at) {
        return tband_sink_rarely(buf, len);
    }
    tband_sink_copy(&tband_sink_ring.bytes[at], buf, len);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tband_sink_ring.put = head + len;
    return false;
}

/** The longest run of bytes that is ready, and where it begins; 0 if nothing is. From one context only. */
size_t tband_sink_ready(const uint8_t **bytes);

/** Gives `len` of these bytes back after they were sent. */
void tband_sink_sent(size_t len);

#ifdef __cplusplus
}
#endif

#endif
