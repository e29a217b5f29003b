#include "tband_sink_semihosting.h"

#include <string.h>

static uint8_t tband_semihosting_bytes[1024];
static size_t tband_semihosting_used;
static int tband_semihosting_file = -2; /* not opened yet; -1: cannot be opened */

static int tband_semihosting(int operation, const uint32_t *argument) {
    register int r0 __asm("r0") = operation;
    register const uint32_t *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

bool tband_sink_flush(void) {
    if (tband_semihosting_file == -2) {
        static const char name[] = TBAND_SINK_FILE;
        const uint32_t open[3] = {(uint32_t)(uintptr_t)name, 5 /* wb */, sizeof name - 1};
        tband_semihosting_file = tband_semihosting(0x01, open);
    }
    if (tband_semihosting_file < 0) {
        return true;
    }
    const uint32_t write[3] = {(uint32_t)tband_semihosting_file, (uint32_t)(uintptr_t)tband_semihosting_bytes,
                               (uint32_t)tband_semihosting_used};
    /* Gives what was not written. */
    const bool failed = tband_semihosting_used > 0 && tband_semihosting(0x05, write) != 0;
    tband_semihosting_used = 0;
    return failed;
}

bool tband_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof tband_semihosting_bytes - tband_semihosting_used && tband_sink_flush()) {
        return true;
    }
    if (len > sizeof tband_semihosting_bytes - tband_semihosting_used) {
        return true;
    }
    memcpy(tband_semihosting_bytes + tband_semihosting_used, buf, len);
    tband_semihosting_used += len;
    return false;
}
