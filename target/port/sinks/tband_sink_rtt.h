/* A sink for the streaming backend: RTT, the public protocol by which a debug probe reads a ring in the target's memory while it
 * runs. probe-rs, OpenOCD, pyOCD and J-Link find the control block by its mark; no vendor source is needed.
 *
 * #define tband_portSINK_HEADER "tband_sink_rtt.h" in tband_config.h, tband_sink_rtt.c in the build, and tband_sink_init() first
 * of all. The trace is channel 1; channel 0 is free for text, by tband_rtt_write(). */
#ifndef TBAND_SINK_RTT_H_
#define TBAND_SINK_RTT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_RTT_SIZE
#define TBAND_RTT_SIZE 4096u /* bytes of the trace's channel */
#endif
#ifndef TBAND_RTT_TEXT_SIZE
#define TBAND_RTT_TEXT_SIZE 256u /* bytes of channel 0 */
#endif
#ifndef TBAND_RTT_DOWN_SIZE
#define TBAND_RTT_DOWN_SIZE 16u /* bytes from the host */
#endif

/* What a channel does when there is no room: nothing of the write is taken; as much as fits; or wait for the probe, with interrupts
 * held off, so only with one attached. */
#define TBAND_RTT_SKIP 0u
#define TBAND_RTT_TRIM 1u
#define TBAND_RTT_BLOCK 2u
#ifndef TBAND_RTT_MODE
#define TBAND_RTT_MODE TBAND_RTT_SKIP
#endif

/* The layout is the protocol's. The target writes `write` of an up channel and `read` of a down channel, the probe the others. */
struct tband_rtt_channel {
    const char *name;
    uint8_t *bytes;
    uint32_t size;
    volatile uint32_t write;
    volatile uint32_t read;
    uint32_t flags;
};

#define TBAND_RTT_UP_CHANNELS 2
#define TBAND_RTT_TRACE 1
struct tband_rtt_block {
    char id[16];
    int32_t up_channels;
    int32_t down_channels;
    struct tband_rtt_channel up[TBAND_RTT_UP_CHANNELS];
    struct tband_rtt_channel down[1];
};
/* The name under which debuggers look for it in an ELF file. */
#define tband_rtt _SEGGER_RTT
extern struct tband_rtt_block tband_rtt;

/** Writes the control block: before anything is recorded. */
void tband_sink_init(void);

/** Writes to an up channel: bytes taken. One context per channel; channel 1 is the library's. */
size_t tband_rtt_write(unsigned int channel, const void *data, size_t len);

/** Reads what the host sent. Bytes read. */
size_t tband_rtt_read(void *data, size_t len);

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
    struct tband_rtt_channel *const channel = &tband_rtt.up[TBAND_RTT_TRACE];
    const uint32_t len = (uint32_t)size;
    const uint32_t at = channel->write;
    const uint32_t read = channel->read;
    /* Free bytes in one piece. One byte stays free: a full ring would look empty. The size is 0 until the channel is set up. */
    const uint32_t room = (read > at ? read : channel->size) - at;
    if (len + 3u >= room) {
        return tband_sink_rarely(buf, len);
    }
    tband_sink_copy(channel->bytes + at, buf, len);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    channel->write = at + len;
    return false;
}

#ifdef __cplusplus
}
#endif

#endif
