#include "tband_sink_dma.h"

#include <string.h>

#include "tband_port.h"

/* With several cores also the library's lock, as tband_sink() is called under it. */
#if !defined(tband_portNUMBER_OF_CORES) || tband_portNUMBER_OF_CORES == 1
#undef tband_portSPINLOCK_ACQUIRE
#undef tband_portSPINLOCK_RELEASE
#define tband_portSPINLOCK_ACQUIRE() ((void)0)
#define tband_portSPINLOCK_RELEASE() ((void)0)
#elif !defined(tband_portSPINLOCK_ACQUIRE)
#include <stdatomic.h>
extern atomic_flag tband_spinlock;
#define tband_portSPINLOCK_ACQUIRE()                                                                                         \
    do {                                                                                                                     \
    } while (atomic_flag_test_and_set_explicit(&tband_spinlock, memory_order_acquire))
#define tband_portSPINLOCK_RELEASE() atomic_flag_clear_explicit(&tband_spinlock, memory_order_release)
#endif

static uint8_t tband_dma_bytes[2][TBAND_SINK_DMA_SIZE];
/* The buffer that events fill, and how full it is; whether the other one is being sent. All inside the critical section. */
static uint8_t tband_dma_filling;
static size_t tband_dma_used;
static bool tband_dma_sending;

static void tband_dma_swap(void) {
    const uint8_t *const bytes = tband_dma_bytes[tband_dma_filling];
    const size_t len = tband_dma_used;
    tband_dma_filling ^= 1u;
    tband_dma_used = 0;
    tband_dma_sending = true;
    tband_sink_dma_start(bytes, len);
}

bool tband_sink(const uint8_t *buf, size_t len) {
    if (len > TBAND_SINK_DMA_SIZE - tband_dma_used) {
        return true;
    }
    memcpy(&tband_dma_bytes[tband_dma_filling][tband_dma_used], buf, len);
    tband_dma_used += len;
    if (!tband_dma_sending) {
        tband_dma_swap();
    }
    return false;
}

void tband_sink_dma_done(void) {
    tband_portENTER_CRITICAL_FROM_ANY();
    tband_portSPINLOCK_ACQUIRE();
    tband_dma_sending = false;
    if (tband_dma_used > 0) {
        tband_dma_swap();
    }
    tband_portSPINLOCK_RELEASE();
    tband_portEXIT_CRITICAL_FROM_ANY();
}
