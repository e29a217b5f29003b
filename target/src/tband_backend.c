/* Backends: where frames go, and how a recording starts and stops. */
#include "tband_internal.h"

#if tband_configENABLE == 1

#if tband_configUSE_BACKEND_POST_MORTEM == 1
#include <stdatomic.h>
#endif

/* ---- Taking a frame ---------------------------------------------------------------------------------------------------- */

#if tband_configUSE_BACKEND_SNAPSHOT == 1

static uint8_t tband_snapshot_buf[TBAND_CORES][tband_configBACKEND_SNAPSHOT_BUF_SIZE];
static size_t tband_snapshot_used[TBAND_CORES];

bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)is_metadata;
    if (!tband_is(TBAND_RECORDING)) {
        return false;
    }
    if (len > (size_t)tband_configBACKEND_SNAPSHOT_BUF_SIZE - tband_snapshot_used[core]) {
        /* The recording ends here, on every core; nothing is lost of it. */
        tband_enter_phase(TBAND_IDLE);
        tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK();
        return false;
    }
    memcpy(&tband_snapshot_buf[core][tband_snapshot_used[core]], frame, len);
    tband_snapshot_used[core] += len;
    return false;
}

#elif tband_configUSE_BACKEND_POST_MORTEM == 1

#define TBAND_SEGMENTS (tband_configBACKEND_POST_MORTEM_SEGMENTS)
#define TBAND_SEGMENT_BYTES (tband_configBACKEND_POST_MORTEM_BUF_SIZE / TBAND_SEGMENTS)
#if tband_configUSE_METADATA_BUF == 1
#define TBAND_METADATA_BYTES tband_configMETADATA_BUF_SIZE
#else
#define TBAND_METADATA_BYTES 0
#endif
/* The longest sync. A segment begins with one and, of every core, the task that runs (in the plain format with a core_id). */
#define TBAND_SYNC_BYTES 40
#define TBAND_RUNNING_BYTES (tband_configCOMPAT == 1 ? 40 : 12)
#if TBAND_SEGMENT_BYTES < 2 * TBAND_SYNC_BYTES + TBAND_RUNNING_BYTES * TBAND_CORES + tband_configMAX_STR_LEN + 40
#error                                                                                                                       \
    "tband_configBACKEND_POST_MORTEM_BUF_SIZE is too small for this many cores: raise it, or lower tband_configBACKEND_POST_MORTEM_SEGMENTS."
#endif

/* FORMAT.md, "The post-mortem ring", describes this layout for readers of a RAM dump. Counters are volatile and written after
 * what they count, so that a reset at any time leaves whole frames. */
struct tband_ring {
    volatile uint32_t magic[4];
    uint32_t cores;
    uint32_t metadata_bytes; /* room for metadata, per core */
    uint32_t segments;
    uint32_t segment_bytes;
    volatile uint32_t begun; /* segments begun since the start; the newest is (begun - 1) % segments */
    volatile uint32_t metadata_used[TBAND_CORES];
    volatile uint32_t used[TBAND_SEGMENTS];
    uint8_t metadata[TBAND_CORES][TBAND_METADATA_BYTES + (TBAND_METADATA_BYTES == 0)];
    uint8_t data[TBAND_SEGMENTS][TBAND_SEGMENT_BYTES];
};

static struct tband_ring tband_ring tband_portNOINIT;

/* Written complemented here, so that a memory image holds the magic only where the ring is. */
static const uint32_t tband_magic_complement[4] = {~0x4e424154u, ~0x474e4952u, ~0x7463c3a5u, ~1u};

static uint32_t tband_newest_segment(void) { return (tband_ring.begun - 1u) % TBAND_SEGMENTS; }

static void tband_begin_segment(void) {
    const uint32_t next = tband_ring.begun % TBAND_SEGMENTS;
    /* Instead of 0 a number that leads to the same place, and of which there are segments before it. */
    const uint32_t begun = tband_ring.begun != UINT32_MAX ? tband_ring.begun + 1u : TBAND_SEGMENTS + UINT32_MAX % TBAND_SEGMENTS + 1u;
    tband_ring.used[next] = 0;
    atomic_signal_fence(memory_order_seq_cst);
    tband_ring.begun = begun;
}

bool tband_post_mortem_reserve(size_t len) {
    if (len + TBAND_SYNC_BYTES <= TBAND_SEGMENT_BYTES - tband_ring.used[tband_newest_segment()]) {
        return false;
    }
    tband_begin_segment();
    return true;
}

bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)core;
    (void)is_metadata;
    const uint32_t i = tband_newest_segment();
    const uint32_t used = tband_ring.used[i];
    if (len > TBAND_SEGMENT_BYTES - used) {
        return true;
    }
    memcpy(&tband_ring.data[i][used], frame, len);
    atomic_signal_fence(memory_order_seq_cst);
    tband_ring.used[i] = used + (uint32_t)len;
    return false;
}

#if tband_configUSE_METADATA_BUF == 1
void tband_post_mortem_keep(uint32_t core, uint32_t offset, const uint8_t *bytes, uint32_t len) {
    memcpy(&tband_ring.metadata[core][offset], bytes, len);
    atomic_signal_fence(memory_order_seq_cst);
    tband_ring.metadata_used[core] = offset + len;
}
#endif

/* Makes the ring empty and valid. */
static void tband_clear_ring(void) {
    tband_ring.magic[0] = 0;
    tband_ring.cores = TBAND_CORES;
    tband_ring.metadata_bytes = TBAND_METADATA_BYTES;
    tband_ring.segments = TBAND_SEGMENTS;
    tband_ring.segment_bytes = TBAND_SEGMENT_BYTES;
    tband_ring.begun = 0;
    for (uint32_t i = 0; i < TBAND_SEGMENTS; i++) {
        tband_ring.used[i] = 0;
    }
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        tband_ring.metadata_used[core] = 0;
#if tband_configUSE_METADATA_BUF == 1
        /* Not tband_get_metadata_buf_amnt(), which takes the lock that is held here. */
        tband_post_mortem_keep(core, 0, (const uint8_t *)tband_get_metadata_buf(core), tband.metadata_used[core]);
#endif
    }
    tband_begin_segment();
    atomic_signal_fence(memory_order_seq_cst);
    for (size_t i = 4; i-- > 0;) {
        tband_ring.magic[i] = ~tband_magic_complement[i];
    }
}

/* Whether the memory holds a ring that this firmware wrote, now or before a reset. */
static bool tband_ring_is_valid(void) {
    for (size_t i = 0; i < 4; i++) {
        if (tband_ring.magic[i] != ~tband_magic_complement[i]) {
            return false;
        }
    }
    if (tband_ring.cores != TBAND_CORES || tband_ring.metadata_bytes != TBAND_METADATA_BYTES || tband_ring.segments != TBAND_SEGMENTS ||
        tband_ring.segment_bytes != TBAND_SEGMENT_BYTES || tband_ring.begun == 0) {
        return false;
    }
    for (uint32_t i = 0; i < TBAND_SEGMENTS; i++) {
        if (tband_ring.used[i] > TBAND_SEGMENT_BYTES) {
            return false;
        }
    }
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        if (tband_ring.metadata_used[core] > TBAND_METADATA_BYTES) {
            return false;
        }
    }
    return true;
}

/* The recording as pieces: metadata of each core, then the segments from the oldest to the newest. */
#define TBAND_PIECES (TBAND_CORES + TBAND_SEGMENTS)

static const uint8_t *tband_piece(uint32_t i, size_t *len) {
    if (i < TBAND_CORES) {
        *len = tband_ring.metadata_used[i];
        return tband_ring.metadata[i];
    }
    i -= TBAND_CORES;
    /* Before the ring is full the oldest segment is the first. */
    const uint32_t slot = tband_ring.begun > TBAND_SEGMENTS ? (tband_ring.begun + i) % TBAND_SEGMENTS : i;
    *len = i < tband_ring.begun ? tband_ring.used[slot] : 0;
    return tband_ring.data[slot];
}

/* Whether there is a recording that nobody writes. */
static bool tband_ring_rests(void) {
    bool idle;
    TBAND_LOCK_CORES();
    idle = tband_is(TBAND_IDLE);
    TBAND_UNLOCK_CORES();
    return idle && tband_ring_is_valid();
}

size_t tband_post_mortem_read(size_t offset, void *dst, size_t len) {
    if (!tband_ring_rests()) {
        return 0;
    }
    size_t done = 0;
    for (uint32_t i = 0; i < TBAND_PIECES && done < len; i++) {
        size_t there = 0;
        const uint8_t *const bytes = tband_piece(i, &there);
        if (offset >= there) {
            offset -= there;
            continue;
        }
        const size_t rest = there - offset;
        const size_t n = rest < len - done ? rest : len - done;
        memcpy((uint8_t *)dst + done, bytes + offset, n);
        done += n;
        offset = 0;
    }
    return done;
}

size_t tband_post_mortem_size(void) {
    if (!tband_ring_rests()) {
        return 0;
    }
    size_t size = 0;
    for (uint32_t i = 0; i < TBAND_PIECES; i++) {
        size_t there = 0;
        (void)tband_piece(i, &there);
        size += there;
    }
    return size;
}

#endif

/* ---- Starting and stopping ---------------------------------------------------------------------------------------------- */

#if tband_configUSE_BACKEND_EXTERNAL == 0

/* Sends what is true now, so that a recording begun in mid-run is complete. */
static void tband_dump_state(void) {
#if tband_configCOMPAT == 1
    if (tband_configUSE_METADATA_BUF == 0) {
        tband_gather_system_metadata();
    }
#else
#if tband_configUSE_METADATA_BUF == 1
    const uint32_t dropped = tband_metadata_dropped();
    if (dropped != 0) {
        tband_emit(TBAND_EVT_METADATA_DROPPED, dropped, 0, 0);
    }
#endif
#endif
#if tband_configFREERTOS_TRACE_ENABLE == 1
    const struct tband_rtos *rtos;
    {
        TBAND_LOCK_CORES();
        rtos = tband_rtos;
        TBAND_UNLOCK_CORES();
    }
    if (rtos != NULL) {
        rtos->dump();
    }
#endif
}

static int tband_start(bool with_metadata) {
    bool idle;
    TBAND_LOCK();
    idle = tband_is(TBAND_IDLE);
    if (idle) {
        tband_enter_phase(TBAND_STARTING);
        tband_start_channels();
#if tband_configUSE_BACKEND_POST_MORTEM == 1
        tband_clear_ring();
#endif
    }
    TBAND_UNLOCK();
    if (!idle) {
        return -1;
    }
    if (tband_record(with_metadata)) {
        tband_enter_phase(TBAND_IDLE);
        return -2;
    }
    tband_dump_state();
    return 0;
}

static int tband_stop(void) {
    bool recorded;
    TBAND_LOCK();
    recorded = tband_is(TBAND_RECORDING);
    if (recorded) {
        tband_end_channels();
        tband_enter_phase(TBAND_IDLE);
    }
    TBAND_UNLOCK();
    return recorded ? 0 : -1;
}

#endif

#if tband_configUSE_BACKEND_STREAMING == 1

int tband_start_streaming(void) { return tband_start(true); }

int tband_restart_streaming(void) { return tband_start(false); }

int tband_stop_streaming(void) { return tband_stop(); }

#elif tband_configUSE_BACKEND_SNAPSHOT == 1

int tband_trigger_snapshot(void) { return tband_start(false); }

int tband_stop_snapshot(void) { return tband_stop(); }

int tband_reset_snapshot(void) {
    bool idle;
    TBAND_LOCK();
    idle = tband_is(TBAND_IDLE);
    if (idle) {
        memset(tband_snapshot_used, 0, sizeof tband_snapshot_used);
    }
    TBAND_UNLOCK();
    return idle ? 0 : -1;
}

const volatile uint8_t *tband_get_core_snapshot_buf(unsigned int core_id) {
    return core_id < TBAND_CORES ? tband_snapshot_buf[core_id] : NULL;
}

size_t tband_get_core_snapshot_buf_amnt(unsigned int core_id) {
    size_t used = 0;
    TBAND_LOCK();
    if (core_id < TBAND_CORES && tband_is(TBAND_IDLE)) {
        used = tband_snapshot_used[core_id];
    }
    TBAND_UNLOCK();
    return used;
}

#elif tband_configUSE_BACKEND_POST_MORTEM == 1

int tband_start_post_mortem(void) { return tband_start(false); }

int tband_stop_post_mortem(void) { return tband_stop(); }

int tband_clear_post_mortem(void) {
    bool idle;
    TBAND_LOCK();
    idle = tband_is(TBAND_IDLE);
    if (idle) {
        tband_ring.magic[0] = 0;
    }
    TBAND_UNLOCK();
    return idle ? 0 : -1;
}

#endif

#endif /* tband_configENABLE */
