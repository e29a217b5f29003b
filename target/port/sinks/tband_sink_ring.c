#include "tband_sink_ring.h"

#include <stdatomic.h>
#include <string.h>

#ifndef TBAND_SINK_SIZE
#define TBAND_SINK_SIZE 4096u /* a power of two */
#endif
_Static_assert((TBAND_SINK_SIZE & (TBAND_SINK_SIZE - 1u)) == 0, "TBAND_SINK_SIZE must be a power of two.");

static uint8_t ring[TBAND_SINK_SIZE];
/* Bytes put in and taken out so far. One writer (the library's lock sees to it), one reader. */
static atomic_uint put;
static atomic_uint got;

bool tband_sink(const uint8_t *buf, size_t len) {
    const unsigned int head = atomic_load_explicit(&put, memory_order_relaxed);
    const unsigned int used = head - atomic_load_explicit(&got, memory_order_acquire);
    if (len > TBAND_SINK_SIZE - used) {
        return true;
    }
    const size_t at = head & (TBAND_SINK_SIZE - 1u);
    const size_t first = len < TBAND_SINK_SIZE - at ? len : TBAND_SINK_SIZE - at;
    memcpy(&ring[at], buf, first);
    memcpy(ring, buf + first, len - first);
    atomic_store_explicit(&put, head + (unsigned int)len, memory_order_release);
    return false;
}

size_t tband_sink_ready(const uint8_t **bytes) {
    const unsigned int tail = atomic_load_explicit(&got, memory_order_relaxed);
    const unsigned int used = atomic_load_explicit(&put, memory_order_acquire) - tail;
    const size_t at = tail & (TBAND_SINK_SIZE - 1u);
    *bytes = &ring[at];
    return used < TBAND_SINK_SIZE - at ? used : TBAND_SINK_SIZE - at;
}

void tband_sink_sent(size_t len) { atomic_fetch_add_explicit(&got, (unsigned int)len, memory_order_release); }
