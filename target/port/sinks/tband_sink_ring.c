#include "tband_sink_ring.h"

#include "tband_port.h"

_Static_assert((TBAND_SINK_SIZE & (TBAND_SINK_SIZE - 1u)) == 0, "TBAND_SINK_SIZE must be a power of two.");

struct tband_sink_ring tband_sink_ring;

bool tband_sink_rarely(const uint8_t *buf, uint32_t len) {
    const uint32_t head = tband_sink_ring.put;
    /* Whole words at the wrap too: interrupts are held off. */
    if (len + TBAND_SINK_SLACK > TBAND_SINK_SIZE - (head - tband_sink_ring.got)) {
        return true;
    }
    const uint32_t at = head & (TBAND_SINK_SIZE - 1u);
    const uint32_t first = len < TBAND_SINK_SIZE - at ? len : TBAND_SINK_SIZE - at;
    tband_sink_copy(&tband_sink_ring.bytes[at], buf, first);
    if (first < len) {
        tband_sink_copy(tband_sink_ring.bytes, buf + first, len - first);
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tband_sink_ring.put = head + len;
    return false;
}

/* Cores of 8 and 16 bits read and write a count in pieces, so nothing may come in between. */
#if __SIZEOF_INT__ == 2
#define TBAND_SINK_ENTER() tband_portENTER_CRITICAL_FROM_ANY()
#define TBAND_SINK_EXIT() tband_portEXIT_CRITICAL_FROM_ANY()
#else
#define TBAND_SINK_ENTER() ((void)0)
#define TBAND_SINK_EXIT() ((void)0)
#endif

size_t tband_sink_ready(const uint8_t **bytes) {
    const uint32_t tail = tband_sink_ring.got;
    uint32_t used;
    {
        TBAND_SINK_ENTER();
        used = tband_sink_ring.put - tail;
        TBAND_SINK_EXIT();
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint32_t at = tail & (TBAND_SINK_SIZE - 1u);
    *bytes = &tband_sink_ring.bytes[at];
    return (size_t)(used < TBAND_SINK_SIZE - at ? used : TBAND_SINK_SIZE - at);
}

void tband_sink_sent(size_t len) {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    TBAND_SINK_ENTER();
    tband_sink_ring.got += (uint32_t)len;
    TBAND_SINK_EXIT();
}
