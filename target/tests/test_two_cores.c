/* Two cores as two threads, one clock, the library's own spinlock; meant to run under ThreadSanitizer. Each core counts, so that
 * the recording shows whether an event was lost, doubled, torn or given to the other core. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "tband.h"

#include "two_cores_port.h"

#define EVENTS 50000u

_Thread_local unsigned int two_cores_id;
static _Atomic uint64_t ticks;
static uint8_t taken[1 << 24];
static size_t taken_len;
static _Atomic bool go;

uint64_t two_cores_now(void) { return atomic_fetch_add_explicit(&ticks, 3, memory_order_relaxed) + 3; }

/* Not atomic on purpose: the library says that it is never called by two cores at a time. */
bool two_cores_sink(const uint8_t *buf, size_t len) {
#ifdef TEST_REFUSE
    static unsigned int refusals;
    if (++refusals % 1000 == 0) {
        return true;
    }
#endif
    if (taken_len + len > sizeof taken) {
        return true;
    }
    memcpy(taken + taken_len, buf, len);
    taken_len += len;
    return false;
}

static void *core(void *arg) {
    two_cores_id = *(const unsigned int *)arg;
    while (!atomic_load(&go)) {
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        tband_valmarker(two_cores_id, (int64_t)i);
        if (i % 1000 == 0) {
            tband_evtmarker_name(i, "a name");
        }
    }
    return NULL;
}

static int start(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    return tband_start_streaming();
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    return tband_start_post_mortem();
#else
    return tband_trigger_snapshot();
#endif
}

static size_t gather(unsigned int id, uint8_t **data) {
#if tband_configUSE_BACKEND_STREAMING == 1
    (void)tband_stop_streaming();
    *data = taken;
    return id == 0 ? taken_len : 0;
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    (void)tband_stop_post_mortem();
    *data = taken;
    taken_len = tband_post_mortem_read(0, taken, sizeof taken);
    return id == 0 ? taken_len : 0;
#else
    (void)tband_stop_snapshot();
    *data = taken;
    const size_t len = tband_get_core_snapshot_buf_amnt(id);
    for (size_t i = 0; i < len; i++) {
        taken[i] = tband_get_core_snapshot_buf(id)[i];
    }
    return len;
#endif
}

int main(void) {
    static const unsigned int ids[2] = {0, 1};
    pthread_t threads[2];
    unsigned int failures = 0;
    for (unsigned int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, core, (void *)(uintptr_t)&ids[i]) != 0) {
            return 2;
        }
    }
    failures += start() != 0;
    failures += start() != -1;
    atomic_store(&go, true);
#if defined TEST_RESTART && tband_configUSE_BACKEND_STREAMING == 1
    /* Recordings end and begin while both cores record. */
    two_cores_id = 0;
    for (unsigned int i = 0; i < 50; i++) {
        failures += tband_stop_streaming() != 0;
        (void)tband_dropped_events();
        failures += (i % 2 == 0 ? tband_restart_streaming() : tband_start_streaming()) != 0;
    }
#endif
    for (unsigned int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    failures += tband_tracing_finished();
    uint64_t next[2] = {0, 0};
    uint32_t missing = 0, wrong = 0, malformed = 0, lost = 0, events = 0, told = 0;
    for (unsigned int id = 0; id < 2; id++) {
        uint8_t *data;
        const size_t len = gather(id, &data);
        struct decoder d = {0};
        static struct event e;
        size_t at = 0;
        uint64_t last = 0;
        while (decode_next(&d, data, len, &at, &e)) {
            events++;
            wrong += e.time < last && e.time != 0;
            last = e.time != 0 ? e.time : last;
            if (e.id == 0x0b) {
                wrong += e.field[0] != e.core || e.value < (int64_t)next[e.core];
                missing += (uint32_t)(e.value - (int64_t)next[e.core]);
                next[e.core] = (uint64_t)e.value + 1;
            }
        }
        malformed += d.malformed + (at != len);
        lost += d.lost_frames;
        told = d.dropped > told ? d.dropped : told;
    }
    missing += (uint32_t)(2u * EVENTS - next[0] - next[1]);
    if (!tband_tracing_finished()) {
        failures++;
    }
    printf("%-28s %u events, %u missing, %u told, %u wrong, %u malformed, %u lost\n", TEST_NAME, events, missing,
           tband_dropped_events(), wrong, malformed, lost);
    /* Refused names are counted as well, but are no values. */
#ifdef TEST_RESTART
    missing = 0;
#endif
    failures += missing > tband_dropped_events() || told != tband_dropped_events() || tband_dropped_events() > missing + 100;
    return failures + wrong + malformed + lost == 0 ? 0 : 1;
}
