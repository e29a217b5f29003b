/* Backends: where frames go, and how a recording starts and stops. */
#include "tband_internal.h"

#if tband_configENABLE == 1

/* ---- Taking a frame ---------------------------------------------------------------------------------------------------- */

#if tband_configUSE_BACKEND_SNAPSHOT == 1

static uint8_t snapshot_buf[TBAND_CORES][tband_configBACKEND_SNAPSHOT_BUF_SIZE];
static size_t snapshot_used[TBAND_CORES];

bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)is_metadata;
    if (!tband_is(TBAND_RECORDING)) {
        return false;
    }
    if (len > (size_t)tband_configBACKEND_SNAPSHOT_BUF_SIZE - snapshot_used[core]) {
        /* The recording ends here, on every core; nothing is lost of it. */
        tband_enter_phase(TBAND_IDLE);
        tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK();
        return false;
    }
    memcpy(&snapshot_buf[core][snapshot_used[core]], frame, len);
    snapshot_used[core] += len;
    return false;
}

#elif tband_configUSE_BACKEND_POST_MORTEM == 1

#define SEGMENTS (tband_configBACKEND_POST_MORTEM_SEGMENTS)
#define SEGMENT_BYTES (tband_configBACKEND_POST_MORTEM_BUF_SIZE / SEGMENTS)
#if tband_configUSE_METADATA_BUF == 1
#define METADATA_BYTES tband_configMETADATA_BUF_SIZE
#else
#define METADATA_BYTES 0
#endif
/* The longest sync. A segment begins with one and, of every core, the task that runs (in the plain format with a core_id). */
#define SYNC_BYTES 60
#define RUNNING_BYTES (tband_configCOMPAT == 1 ? 40 : 12)
#if SEGMENT_BYTES < SYNC_BYTES + RUNNING_BYTES * TBAND_CORES + tband_configMAX_STR_LEN + 40
#error                                                                                                                       \
    "tband_configBACKEND_POST_MORTEM_BUF_SIZE is too small for this many cores: raise it, or lower tband_configBACKEND_POST_MORTEM_SEGMENTS."
#endif

/* FORMAT.md, "The post-mortem ring", describes this layout for readers of a RAM dump. Counters are volatile and written after
 * what they count, so that a reset at any time leaves whole frames. */
struct ring {
    volatile uint32_t magic[4];
    uint32_t cores;
    uint32_t metadata_bytes; /* room for metadata, per core */
    uint32_t segments;
    uint32_t segment_bytes;
    volatile uint32_t begun; /* segments begun since the start; the newest is (begun - 1) % segments */
    volatile uint32_t metadata_used[TBAND_CORES];
    volatile uint32_t used[SEGMENTS];
    uint8_t metadata[TBAND_CORES][METADATA_BYTES + (METADATA_BYTES == 0)];
    uint8_t data[SEGMENTS][SEGMENT_BYTES];
};

static struct ring ring tband_portNOINIT;

/* Written complemented here, so that a memory image holds the magic only where the ring is. */
static const uint32_t magic_complement[4] = {~0x4e424154u, ~0x474e4952u, ~0x7463c3a5u, ~1u};

static uint32_t newest(void) { return (ring.begun - 1u) % SEGMENTS; }

static void begin_segment(void) {
    const uint32_t next = ring.begun % SEGMENTS;
    /* Instead of 0 a number that leads to the same place, and of which there are segments before it. */
    const uint32_t begun = ring.begun != UINT32_MAX ? ring.begun + 1u : SEGMENTS + UINT32_MAX % SEGMENTS + 1u;
    ring.used[next] = 0;
    atomic_signal_fence(memory_order_seq_cst);
    ring.begun = begun;
}

bool tband_post_mortem_reserve(size_t len) {
    if (len + SYNC_BYTES <= SEGMENT_BYTES - ring.used[newest()]) {
        return false;
    }
    begin_segment();
    return true;
}

bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)core;
    (void)is_metadata;
    const uint32_t i = newest();
    const uint32_t used = ring.used[i];
    if (len > SEGMENT_BYTES - used) {
        return true;
    }
    memcpy(&ring.data[i][used], frame, len);
    atomic_signal_fence(memory_order_seq_cst);
    ring.used[i] = used + (uint32_t)len;
    return false;
}

#if tband_configUSE_METADATA_BUF == 1
void tband_post_mortem_keep(uint32_t core, uint32_t offset, const uint8_t *bytes, uint32_t len) {
    memcpy(&ring.metadata[core][offset], bytes, len);
    atomic_signal_fence(memory_order_seq_cst);
    ring.metadata_used[core] = offset + len;
}
#endif

/* Makes the ring empty and valid. */
static void clear_ring(void) {
    ring.magic[0] = 0;
    ring.cores = TBAND_CORES;
    ring.metadata_bytes = METADATA_BYTES;
    ring.segments = SEGMENTS;
    ring.segment_bytes = SEGMENT_BYTES;
    ring.begun = 0;
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        ring.used[i] = 0;
    }
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        ring.metadata_used[core] = 0;
#if tband_configUSE_METADATA_BUF == 1
        /* Not tband_get_metadata_buf_amnt(), which takes the lock that is held here. */
        tband_post_mortem_keep(core, 0, (const uint8_t *)tband_get_metadata_buf(core), tband.metadata_used[core]);
#endif
    }
    begin_segment();
    atomic_signal_fence(memory_order_seq_cst);
    for (size_t i = 4; i-- > 0;) {
        ring.magic[i] = ~magic_complement[i];
    }
}

/* Whether what stands in memory is a ring that this firmware wrote, now or before a reset. */
static bool ring_is_valid(void) {
    for (size_t i = 0; i < 4; i++) {
        if (ring.magic[i] != ~magic_complement[i]) {
            return false;
        }
    }
    if (ring.cores != TBAND_CORES || ring.metadata_bytes != METADATA_BYTES || ring.segments != SEGMENTS ||
        ring.segment_bytes != SEGMENT_BYTES || ring.begun == 0) {
        return false;
    }
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        if (ring.used[i] > SEGMENT_BYTES) {
            return false;
        }
    }
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        if (ring.metadata_used[core] > METADATA_BYTES) {
            return false;
        }
    }
    return true;
}

/* The recording as pieces: metadata of each core, then the segments from the oldest to the newest. */
#define PIECES (TBAND_CORES + SEGMENTS)

static const uint8_t *piece(uint32_t i, size_t *len) {
    if (i < TBAND_CORES) {
        *len = ring.metadata_used[i];
        return ring.metadata[i];
    }
    i -= TBAND_CORES;
    /* Before the ring is full the oldest segment is the first. */
    const uint32_t slot = ring.begun > SEGMENTS ? (ring.begun + i) % SEGMENTS : i;
    *len = i < ring.begun ? ring.used[slot] : 0;
    return ring.data[slot];
}

size_t tband_post_mortem_read(size_t offset, void *dst, size_t len) {
    if (!tband_is(TBAND_IDLE) || !ring_is_valid()) {
        return 0;
    }
    size_t done = 0;
    for (uint32_t i = 0; i < PIECES && done < len; i++) {
        size_t there = 0;
        const uint8_t *const bytes = piece(i, &there);
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
    if (!tband_is(TBAND_IDLE) || !ring_is_valid()) {
        return 0;
    }
    size_t size = 0;
    for (uint32_t i = 0; i < PIECES; i++) {
        size_t there = 0;
        (void)piece(i, &there);
        size += there;
    }
    return size;
}

#endif

/* ---- Starting and stopping ---------------------------------------------------------------------------------------------- */

#if tband_configUSE_BACKEND_EXTERNAL == 0

/* Sends what is true now, so that a recording begun in mid-run is complete. */
static void dump_state(void) {
#if tband_configCOMPAT == 1
    if (tband_configUSE_METADATA_BUF == 0) {
        tband_gather_system_metadata();
    }
#else
    if (tband.metadata_dropped != 0) {
        tband_emit(TBAND_EVT_METADATA_DROPPED, tband.metadata_dropped, 0, 0);
    }
#endif
#if tband_configFREERTOS_TRACE_ENABLE == 1
    tband_freertos_dump_state();
#endif
}

/* From now on. Between this and who runs no task can be switched to. */
static void record(void) {
#if TBAND_TELLS_RUNNING
    TBAND_LOCK();
    tband_enter_phase(TBAND_RECORDING);
    tband_tell_running();
    TBAND_UNLOCK();
#else
    tband_enter_phase(TBAND_RECORDING);
#endif
}

static int start(bool with_metadata) {
    bool idle;
    TBAND_LOCK();
    idle = tband_is(TBAND_IDLE);
    if (idle) {
        tband_enter_phase(TBAND_STARTING);
        tband_start_channels();
#if tband_configUSE_BACKEND_POST_MORTEM == 1
        clear_ring();
#endif
    }
    TBAND_UNLOCK();
    if (!idle) {
        return -1;
    }
#if tband_configUSE_BACKEND_STREAMING == 1
    if (with_metadata && !tband_send_kept_metadata()) {
        tband_enter_phase(TBAND_IDLE);
        return -2;
    }
#else
    (void)with_metadata;
#endif
    record();
    dump_state();
    return 0;
}

static int stop(void) {
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

int tband_start_streaming(void) { return start(true); }

int tband_restart_streaming(void) { return start(false); }

int tband_stop_streaming(void) { return stop(); }

#elif tband_configUSE_BACKEND_SNAPSHOT == 1

int tband_trigger_snapshot(void) { return start(false); }

int tband_stop_snapshot(void) { return stop(); }

int tband_reset_snapshot(void) {
    bool idle;
    TBAND_LOCK();
    idle = tband_is(TBAND_IDLE);
    if (idle) {
        memset(snapshot_used, 0, sizeof snapshot_used);
    }
    TBAND_UNLOCK();
    return idle ? 0 : -1;
}

const volatile uint8_t *tband_get_core_snapshot_buf(unsigned int core_id) {
    return core_id < TBAND_CORES ? snapshot_buf[core_id] : NULL;
}

size_t tband_get_core_snapshot_buf_amnt(unsigned int core_id) {
    size_t used = 0;
    TBAND_LOCK();
    if (core_id < TBAND_CORES && tband_is(TBAND_IDLE)) {
        used = snapshot_used[core_id];
    }
    TBAND_UNLOCK();
    return used;
}

#elif tband_configUSE_BACKEND_POST_MORTEM == 1

int tband_start_post_mortem(void) { return start(false); }

int tband_stop_post_mortem(void) { return stop(); }

int tband_clear_post_mortem(void) {
    if (!tband_is(TBAND_IDLE)) {
        return -1;
    }
    ring.magic[0] = 0;
    return 0;
}

#endif

#endif /* tband_configENABLE */
