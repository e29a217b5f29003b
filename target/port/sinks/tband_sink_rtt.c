#include "tband_sink_rtt.h"

struct tband_rtt_block tband_rtt;
static uint8_t tband_rtt_text[TBAND_RTT_TEXT_SIZE];
/* With the slack of the last word that is copied. */
static uint8_t tband_rtt_trace[TBAND_RTT_SIZE + 3u];
static uint8_t tband_rtt_down[TBAND_RTT_DOWN_SIZE];

static void tband_rtt_set_up(struct tband_rtt_channel *channel, const char *name, uint8_t *bytes, uint32_t size, uint32_t flags) {
    channel->name = name;
    channel->bytes = bytes;
    channel->size = size;
    channel->write = 0;
    channel->read = 0;
    channel->flags = flags;
}

void tband_sink_init(void) {
    /* The mark complemented, so that memory holds it only where the control block is; its first byte last of all. */
    static const uint8_t mark[10] = {0xac, 0xba, 0xb8, 0xb8, 0xba, 0xad, 0xdf, 0xad, 0xab, 0xab};
    (void)memset(&tband_rtt, 0, sizeof tband_rtt);
    tband_rtt.up_channels = TBAND_RTT_UP_CHANNELS;
    tband_rtt.down_channels = 1;
    tband_rtt_set_up(&tband_rtt.up[0], "Terminal", tband_rtt_text, sizeof tband_rtt_text, TBAND_RTT_TRIM);
    tband_rtt_set_up(&tband_rtt.up[TBAND_RTT_TRACE], "tband", tband_rtt_trace, TBAND_RTT_SIZE, TBAND_RTT_MODE);
    tband_rtt_set_up(&tband_rtt.down[0], "Terminal", tband_rtt_down, sizeof tband_rtt_down, TBAND_RTT_SKIP);
    volatile char *const id = tband_rtt.id;
    for (size_t i = sizeof mark; i-- > 0;) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        id[i] = (char)(uint8_t)~mark[i];
    }
}

size_t tband_rtt_write(unsigned int number, const void *data, size_t len) {
    struct tband_rtt_channel *const channel = &tband_rtt.up[number];
    const uint8_t *const bytes = (const uint8_t *)data;
    size_t done = 0;
    if (channel->size == 0) {
        return 0; /* not set up */
    }
    for (;;) {
        uint32_t at = channel->write;
        const uint32_t read = channel->read;
        const uint32_t room = (read > at ? read - at : channel->size - at + read) - 1u;
        if (len - done > room && channel->flags == TBAND_RTT_SKIP) {
            return 0;
        }
        uint32_t n = len - done < room ? (uint32_t)(len - done) : room;
        const uint32_t first = n < channel->size - at ? n : channel->size - at;
        memcpy(channel->bytes + at, bytes + done, (size_t)first);
        memcpy(channel->bytes, bytes + done + first, (size_t)(n - first));
        at += n;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        channel->write = at < channel->size ? at : at - channel->size;
        done += (size_t)n;
        if (done == len || channel->flags != TBAND_RTT_BLOCK) {
            return done;
        }
    }
}

size_t tband_rtt_read(void *data, size_t len) {
    struct tband_rtt_channel *const channel = &tband_rtt.down[0];
    uint32_t at = channel->read;
    const uint32_t end = channel->write;
    size_t n = 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    while (n < len && at != end) {
        ((uint8_t *)data)[n++] = channel->bytes[at++];
        at = at < channel->size ? at : 0;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    channel->read = at;
    return n;
}

bool tband_sink_rarely(const uint8_t *buf, uint32_t len) {
#if TBAND_RTT_MODE != 0 /* TBAND_RTT_SKIP */
    return tband_rtt_write(TBAND_RTT_TRACE, buf, (size_t)len) != (size_t)len;
#else
    struct tband_rtt_channel *const channel = &tband_rtt.up[TBAND_RTT_TRACE];
    const uint32_t at = channel->write;
    const uint32_t read = channel->read;
    /* One byte stays free, and whole words are copied at the wrap too: interrupts are held off. */
    const uint32_t room = read > at ? read - at : TBAND_RTT_SIZE - at + read;
    if (channel->size == 0 || len + 3u >= room) {
        return true;
    }
    const uint32_t first = len < TBAND_RTT_SIZE - at ? len : TBAND_RTT_SIZE - at;
    tband_sink_copy(channel->bytes + at, buf, first);
    if (first < len) {
        tband_sink_copy(channel->bytes, buf + first, len - first);
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    channel->write = at + len < TBAND_RTT_SIZE ? at + len : at + len - TBAND_RTT_SIZE;
    return false;
#endif
}
