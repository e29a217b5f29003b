/* A sink under random frames and a reader that takes random amounts: what comes out is what went in, whole frames only. TEST_SINK is
 * the sink's header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tband_port.h"

static unsigned int failures;
static uint8_t expected[1 << 22], got[1 << 22];
static size_t expected_len, got_len;

static void check(int holds, const char *what) {
    if (!holds && failures++ < 5) {
        printf("not so: %s\n", what);
    }
}

static uint32_t random_u32(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

#if defined(TBAND_SINK_RING_H_)
static void set_up(void) {}
static void read_some(size_t most) {
    const uint8_t *bytes;
    size_t n = tband_sink_ready(&bytes);
    n = n < most ? n : most;
    memcpy(got + got_len, bytes, n);
    got_len += n;
    tband_sink_sent(n);
}
static size_t room(void) { return TBAND_SINK_SIZE; }
#elif defined(TBAND_SINK_RTT_H_)
/* As a probe does it, by the layout of the public protocol: a mark of 16 bytes, two numbers of channels, then 24 bytes for each (with
 * addresses of 32 bits): name, buffer, size, write, read, flags. */
static void set_up(void) {
    static const uint8_t early[16] = {1};
    check(tband_sink(early, 9) && tband_rtt_write(0, "x", 1) == 0, "nothing is taken before it is set up");
    tband_sink_init();
    check(memcmp(tband_rtt.id, "SEGGER RTT\0\0\0\0\0\0", 16) == 0, "the mark");
    check(offsetof(struct tband_rtt_block, up_channels) == 16 && offsetof(struct tband_rtt_block, up) == 24, "the layout");
    check(tband_rtt.up_channels == 2 && tband_rtt.down_channels == 1, "the channels");
    check(strcmp(tband_rtt.up[1].name, "tband") == 0 && tband_rtt.up[1].size == TBAND_RTT_SIZE, "the channel of the trace");
    check(tband_rtt_write(0, "hello", 5) == 5 && memcmp(tband_rtt.up[0].bytes, "hello", 5) == 0 && tband_rtt.up[0].write == 5, "text");
    static char much[1000];
    check(tband_rtt_write(0, much, sizeof much) == TBAND_RTT_TEXT_SIZE - 6, "text is trimmed");
    char down[20];
    memcpy(tband_rtt.down[0].bytes + 14, "ab", 2);
    tband_rtt.down[0].bytes[0] = 'c';
    tband_rtt.down[0].read = 14;
    tband_rtt.down[0].write = 1;
    check(tband_rtt_read(down, sizeof down) == 3 && memcmp(down, "abc", 3) == 0 && tband_rtt_read(down, 1) == 0, "from the host");
}
static void read_some(size_t most) {
    struct tband_rtt_channel *const channel = &tband_rtt.up[TBAND_RTT_TRACE];
    uint32_t at = channel->read;
    for (; at != channel->write && most > 0; most--) {
        got[got_len++] = channel->bytes[at];
        at = (at + 1) % channel->size;
    }
    channel->read = at;
}
static size_t room(void) { return TBAND_RTT_SIZE - 1; }
#else
static const uint8_t *sending;
static size_t sending_len;
void tband_sink_dma_start(const uint8_t *bytes, size_t len) {
    check(sending == NULL && len > 0 && len <= TBAND_SINK_DMA_SIZE, "one transfer at a time");
    sending = bytes;
    sending_len = len;
}
static void set_up(void) {}
static void read_some(size_t most) {
    if (sending != NULL && most > 20) {
        memcpy(got + got_len, sending, sending_len);
        got_len += sending_len;
        sending = NULL;
        tband_sink_dma_done();
    }
}
static size_t room(void) { return 2 * TBAND_SINK_DMA_SIZE; }
#endif

int main(void) {
    set_up();
    unsigned int dropped = 0, taken = 0;
    while (expected_len < sizeof expected - 2000) {
        uint8_t frame[80];
        const size_t len = 1 + random_u32() % 60;
        for (size_t i = 0; i < sizeof frame; i++) {
            frame[i] = (uint8_t)random_u32();
        }
        const size_t waiting = expected_len - got_len;
        if (tband_sink(frame, len)) {
            dropped++;
            check(waiting + 2 * len + 8 > room() / 2, "dropped for want of room only");
        } else {
            taken++;
            memcpy(expected + expected_len, frame, len);
            expected_len += len;
            check(expected_len - got_len <= room(), "no more than fits");
        }
        read_some(random_u32() % (taken % 5000 < 2500 ? 80 : 40));
    }
    for (int i = 0; i < 1000; i++) {
        read_some(1000);
    }
    check(got_len == expected_len && memcmp(got, expected, got_len) == 0, "what comes out is what went in");
    check(dropped > 10 && taken > 1000, "both happened");
    printf("sink %s, %u dropped: %u checks, %u failed\n", TEST_SINK, dropped, taken, failures);
    return failures == 0 ? 0 : 1;
}
