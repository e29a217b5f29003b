/* Encoder: events become frames, frames get their time and go to the metadata buffer and the backend. */
#include "tband_internal.h"

#if tband_configENABLE == 1

struct tband_state tband;

#if TBAND_CORES > 1
#ifdef ATOMIC_FLAG_INIT
atomic_flag tband_spinlock = ATOMIC_FLAG_INIT;
#endif
#endif

static struct tband_channel *channel_of(uint32_t core) {
#if TBAND_CHANNELS > 1
    return &tband.channel[core];
#else
    (void)core;
    return &tband.channel[0];
#endif
}

/* A counter, for the application. One core reads a word at once; several need the lock. */
static uint32_t look(const uint32_t *counter) {
#if TBAND_CORES > 1
    uint32_t value;
    TBAND_LOCK();
    value = *counter;
    TBAND_UNLOCK();
    return value;
#else
    return *counter;
#endif
}

/* ---- Framing ------------------------------------------------------------------------------------------------------------- */

#if TBAND_LONG_FRAMES
/* COBS of the payload in place: the code of the first block goes in front of it, those of zero bytes take their places, and
 * after 254 bytes without one a byte is inserted. Returns the new end. */
static uint8_t *cobs(uint8_t *payload, uint8_t *end) {
    uint8_t *code = payload - 1;
    for (uint8_t *at = payload; at != end; at++) {
        if (at - code == 0xff) {
            memmove(at + 1, at, (size_t)(end - at));
            end++;
            *code = 0xff;
            code = at;
        } else if (*at == 0) {
            *code = (uint8_t)(at - code);
            code = at;
        }
    }
    *code = (uint8_t)(end - code);
    return end;
}
#endif

/* Ends the fields; returns the distance from the byte in front of them to the first zero byte in them, or to their end. */
static uint32_t end_fields(const uint8_t *frame, struct tband_cursor *c) {
    tband_mark_zero(c);
    return frame[TBAND_HEAD - 1u];
}

struct span {
    uint8_t *start;
    uint8_t *end;
};

/* Puts the id and the COBS code in front of `payload` and the 00 behind `end`. */
static inline struct span close_frame(uint32_t id, uint8_t *payload, uint8_t *fields, uint8_t *end, uint32_t gap) {
    *--payload = (uint8_t)id;
#if TBAND_LONG_FRAMES
    (void)fields;
    (void)gap;
    end = cobs(payload, end);
    payload--;
#else
    uint32_t code = gap + (uint32_t)(fields - payload);
#if tband_configCOMPAT == 1
    /* In the plain format the time and the id (core_id) can be zero. */
    if (payload + 1 != fields && fields[-1] == 0) {
        fields[-1] = (uint8_t)gap;
        code = (uint32_t)(fields - payload);
    }
    if (id == 0) {
        payload[0] = (uint8_t)(code - 1u);
        code = 1;
    }
#endif
    *--payload = (uint8_t)code;
#endif
    *end = 0;
    const struct span frame = {payload, end + 1};
    return frame;
}

/* Hands a frame to the backend. True: taken. */
static inline bool send(uint32_t core, struct span frame, bool is_metadata) {
    return !tband_backend_write(core, frame.start, (size_t)(frame.end - frame.start), is_metadata);
}

/* A frame without a timestamp. */
static struct span close_untimed(uint32_t event, uint8_t *frame, struct tband_cursor end) {
    const uint32_t gap = end_fields(frame, &end);
    uint8_t *const fields = frame + TBAND_HEAD;
    return close_frame(event & 0xffu, fields, fields, end.at, gap);
}

/* ---- Time ---------------------------------------------------------------------------------------------------------------- */

/* Extended to 64 bits by what was recorded last: by any core, if each has a channel. */
static uint64_t now(const struct tband_channel *channel) {
#if tband_portTIMESTAMP_BITS == 64
    (void)channel;
    return tband_portTIMESTAMP();
#elif TBAND_CHANNELS > 1
    (void)channel;
    tband.clock += (uint32_t)((uint32_t)tband_portTIMESTAMP() - (uint32_t)tband.clock);
    return tband.clock;
#else
    return channel->last + (uint32_t)((uint32_t)tband_portTIMESTAMP() - (uint32_t)channel->last);
#endif
}

/* Counts a lost event and has the loss reported before the next one. */
static void lost(struct tband_channel *channel) {
    tband.dropped++;
    channel->sync_in = 0;
}

#if tband_configCOMPAT == 1

/* ---- Plain format: absolute timestamps, a drop counter every so often ------------------------------------------------------ */

/* With the period off, the next counter is as good as never due, except after a loss. */
#define SYNC_PERIOD (tband_configTRACE_DROP_CNT_EVERY > 0 ? (uint32_t)tband_configTRACE_DROP_CNT_EVERY : UINT32_MAX)

static bool send_at(uint32_t core, uint64_t time, uint32_t event, uint8_t *frame, struct tband_cursor end) {
    const uint32_t gap = end_fields(frame, &end);
    uint8_t *const fields = frame + TBAND_HEAD;
    uint8_t digits[TBAND_TIME_MAX];
    struct tband_cursor t = {digits, digits};
    while (time > 0x7fu) {
        *t.at++ = (uint8_t)(time | 0x80u);
        time >>= 7;
    }
    *t.at++ = (uint8_t)time;
    const size_t n = (size_t)(t.at - digits);
    memcpy(fields - n, digits, n);
    return send(core, close_frame(event & 0xffu, fields - n, fields, end.at, gap), false);
}

static bool send_u32_at(uint32_t core, uint64_t time, uint32_t event, uint32_t value) {
    uint8_t frame[TBAND_FRAME_SIZE(5u)];
    struct tband_cursor c = tband_begin(frame);
    tband_put_u32(&c, value);
    return send_at(core, time, event, frame, c);
}

static bool sync_plain(struct tband_channel *channel, uint32_t core) {
    if (!send_u32_at(core, channel->last, TBAND_EVT_DROPPED_EVT_CNT, tband.dropped)) {
        return false;
    }
    channel->sync_in = SYNC_PERIOD;
    return true;
}

/* What has to stand before a frame of this core. */
static bool prepare(struct tband_channel *channel, uint32_t core) {
#if TBAND_CORES > 1
    if (channel->core != core) {
        if (!send_u32_at(core, channel->last, TBAND_EVT_CORE_ID, core)) {
            return false;
        }
        channel->core = core;
    }
#else
    (void)channel;
    (void)core;
#endif
    return true;
}

static bool submit(struct tband_channel *channel, uint32_t core, uint32_t event, uint8_t *frame, struct tband_cursor end) {
    channel->last = now(channel);
    if (!prepare(channel, core) || (channel->sync_in == 0 && !sync_plain(channel, core)) ||
        !send_at(core, channel->last, event, frame, end)) {
        return false;
    }
    channel->sync_in--;
    return true;
}

#else

/* ---- Superset: delta timestamps, sync frames ------------------------------------------------------------------------------- */

/* Bits of a delta timestamp that say the core. */
#if TBAND_CORES > 8
#define CORE_BITS 4u
#elif TBAND_CORES > 4
#define CORE_BITS 3u
#elif TBAND_CORES > 2
#define CORE_BITS 2u
#elif TBAND_CORES > 1
#define CORE_BITS 1u
#else
#define CORE_BITS 0u
#endif
#define SEQ_BITS 2u
/* The largest delta whose wire value fits into 32 bits. A longer silence is bridged by a sync. */
#define DELTA_MAX ((UINT32_MAX >> (SEQ_BITS + CORE_BITS)) - 1u)

#if tband_configUSE_BACKEND_STREAMING == 1
#define BACKEND_NUMBER 0u
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
#define BACKEND_NUMBER 1u
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
#define BACKEND_NUMBER 2u
#else
#define BACKEND_NUMBER 3u
#endif

/* Sends a sync frame with the time `channel->last`. */
static bool send_sync(struct tband_channel *channel, uint32_t core, uint32_t flags) {
    uint8_t frame[TBAND_FRAME_SIZE(3u + 7u * 5u + 10u)];
    struct tband_cursor c = tband_begin(frame);
    if (!channel->begun) {
        flags |= TBAND_SYNC_START;
    }
    flags |= (tband_configFREERTOS_TRACE_ENABLE == 1 ? TBAND_SYNC_FREERTOS : 0u) | (BACKEND_NUMBER << TBAND_SYNC_BACKEND_SHIFT);
    const uint32_t values[] = {0x54u, 1u, flags, TBAND_CORES, core, channel->seq, tband.dropped,
                               (uint32_t)(tband_portTIMESTAMP_NS_NUM), (uint32_t)(tband_portTIMESTAMP_NS_DEN)};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        tband_put_u32(&c, values[i]);
    }
    tband_put_u64(&c, channel->last);
    if (!send(core, close_untimed(TBAND_EVT_SYNC, frame, c), false)) {
        return false;
    }
    channel->begun = true;
    channel->seq++;
    channel->sync_in = tband_configSYNC_EVERY;
    return true;
}

static bool prepare(struct tband_channel *channel, uint32_t core) {
    return channel->sync_in != 0 || send_sync(channel, core, 0);
}

static bool submit(struct tband_channel *channel, uint32_t core, uint32_t event, uint8_t *frame, struct tband_cursor end) {
    const uint32_t gap = end_fields(frame, &end);
    uint8_t *const fields = frame + TBAND_HEAD;
    const uint64_t time = now(channel);
    uint64_t delta = time - channel->last;
    /* Also if the frame gets lost: then a sync stands before the next one, and no delta counts from here. */
    channel->last = time;
    if (channel->sync_in == 0 || delta > DELTA_MAX) {
        /* Also when the clock went backwards: the sync says so. */
        if (!send_sync(channel, core, 0)) {
            return false;
        }
        delta = 0;
    }
    /* Never zero, so that there is no zero byte in front of the fields. */
    uint32_t v = ((uint32_t)delta << (SEQ_BITS + CORE_BITS)) + (core << SEQ_BITS) + (channel->seq & ((1u << SEQ_BITS) - 1u)) + 1u;
    uint8_t *payload = fields - 1;
    for (uint32_t rest = v >> 7; rest != 0; rest >>= 7) {
        payload--;
    }
    uint8_t *at = payload;
    while (v > 0x7fu) {
        *at++ = (uint8_t)(v | 0x80u);
        v >>= 7;
    }
    *at = (uint8_t)v;
    if (!send(core, close_frame((event & 0x7fu) | 0x80u, payload, fields, end.at, gap), false)) {
        return false;
    }
    channel->seq++;
    channel->sync_in--;
    return true;
}

#endif

/* ---- The beginning and the end of a recording ------------------------------------------------------------------------------ */

#if tband_configCOMPAT == 1
/* In the superset every sync tells it. */
static void tell_clock(void) {
    uint8_t frame[TBAND_FRAME_SIZE(10u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u64(&at, (uint64_t)(tband_portTIMESTAMP_RESOLUTION_NS));
    tband.told_clock = true;
    tband_commit_locked(TBAND_EVT_TS_RESOLUTION_NS, frame, at);
}
#endif

void tband_start_channels(void) {
#if tband_configCOMPAT == 1
    if (!tband.told_clock) {
        tell_clock();
    }
#endif
    const uint64_t time = now(&tband.channel[0]);
    for (uint32_t i = 0; i < TBAND_CHANNELS; i++) {
        struct tband_channel *const channel = &tband.channel[i];
        channel->last = time;
        channel->seq = 0;
        channel->sync_in = 0;
        channel->begun = false;
#if tband_configCOMPAT == 1
        /* No loss so far: nothing to report. */
        channel->sync_in = tband.dropped != 0 ? 0 : SYNC_PERIOD;
        channel->core = UINT32_MAX;
#endif
    }
#if tband_configCOMPAT == 1 && tband_configUSE_BACKEND_STREAMING == 1
    /* At time 0, as the plain format begins; a loss of it is of no consequence. */
    tband.channel[0].core = 0;
    (void)send_u32_at(0, 0, TBAND_EVT_CORE_ID, 0);
#endif
}

void tband_end_channels(void) {
#if tband_configCOMPAT == 0
    for (uint32_t i = 0; i < TBAND_CHANNELS; i++) {
        struct tband_channel *const channel = &tband.channel[i];
        const uint32_t core = TBAND_CHANNELS > 1 ? i : tband_core();
        channel->last = now(channel);
        (void)send_sync(channel, core, TBAND_SYNC_STOP);
    }
#else
    if (tband.channel[0].sync_in == 0) {
        (void)sync_plain(&tband.channel[0], tband_core());
    }
#endif
}

/* ---- Who runs --------------------------------------------------------------------------------------------------------------- */

#if TBAND_TELLS_RUNNING
void tband_tell_running(void) {
#if TBAND_CORES > 1
    /* Other cores store who runs there, then look whether that is recorded: either they see that it is, or this sees the task. */
    atomic_thread_fence(memory_order_seq_cst);
#endif
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        const uint32_t task = atomic_load_explicit(&tband_freertos_current[core], memory_order_relaxed);
        if (task != 0) {
            struct tband_channel *const channel = channel_of(core);
            uint8_t frame[TBAND_FRAME_SIZE(5u)];
            struct tband_cursor at = tband_begin(frame);
            tband_put_u32(&at, task);
            /* The plain format has only the event for it. */
            const uint32_t event = tband_configCOMPAT == 1 ? TBAND_EVT_TASK_SWITCHED_IN : TBAND_EVT_TASK_RUNNING;
            if (!submit(channel, core, event, frame, at)) {
                lost(channel);
            }
        }
    }
}
#endif

/* ---- Room in the post-mortem ring -------------------------------------------------------------------------------------------- */

/* Before a frame of up to `len` bytes. Each segment can be decoded by itself. */
static void make_room(struct tband_channel *channel, size_t len) {
#if tband_configUSE_BACKEND_POST_MORTEM == 1
    if (!tband_post_mortem_reserve(len)) {
        return;
    }
#if tband_configCOMPAT == 1
    channel->core = UINT32_MAX;
#else
    channel->sync_in = 0;
#endif
#if TBAND_TELLS_RUNNING
    tband_tell_running();
#endif
#else
    (void)channel;
    (void)len;
#endif
}

/* ---- Metadata -------------------------------------------------------------------------------------------------------------- */

/* Sends metadata into a recording. */
static bool send_metadata(struct tband_channel *channel, uint32_t core, struct span frame) {
    if (!prepare(channel, core) || !send(core, frame, true)) {
        return false;
    }
    channel->seq++;
    if (channel->sync_in != 0) {
        /* In the plain format a loss may still be waiting for an event with a time to tell it. */
        channel->sync_in--;
    }
    return true;
}

#if tband_configUSE_METADATA_BUF == 1
static uint8_t metadata_buf[TBAND_CORES][tband_configMETADATA_BUF_SIZE];

/* Keeps a frame for the recordings to come. False: no room. */
static bool keep_metadata(uint32_t core, struct span frame) {
    const uint32_t len = (uint32_t)(frame.end - frame.start);
    const uint32_t used = tband.metadata_used[core];
    if (len > (uint32_t)tband_configMETADATA_BUF_SIZE - used) {
        tband.metadata_dropped++;
        return false;
    }
    memcpy(&metadata_buf[core][used], frame.start, len);
    tband.metadata_used[core] = used + len;
#if tband_configUSE_BACKEND_POST_MORTEM == 1
    if (TBAND_RECORDS()) {
        tband_post_mortem_keep(core, used, frame.start, len);
    }
#endif
    return true;
}

#if tband_configUSE_BACKEND_STREAMING == 1
bool tband_send_kept_metadata(void) {
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        uint32_t at = 0;
        bool taken = true;
        bool more = true;
        /* One frame at a time, so that interrupts are not held off for long. More may be added meanwhile. */
        while (taken && more) {
            TBAND_LOCK();
            more = at != tband.metadata_used[core];
            if (more) {
                uint8_t *const start = &metadata_buf[core][at];
                uint8_t *const end = (uint8_t *)memchr(start, 0, tband.metadata_used[core] - at) + 1;
                const struct span frame = {start, end};
                taken = send_metadata(channel_of(core), core, frame);
                at += (uint32_t)(end - start);
            }
            TBAND_UNLOCK();
        }
        if (!taken) {
            return false;
        }
    }
    return true;
}
#endif

const volatile uint8_t *tband_get_metadata_buf(unsigned int core_id) {
    return core_id < TBAND_CORES ? metadata_buf[core_id] : NULL;
}

size_t tband_get_metadata_buf_amnt(unsigned int core_id) {
    return core_id < TBAND_CORES ? look(&tband.metadata_used[core_id]) : 0;
}

uint32_t tband_metadata_dropped(void) { return look(&tband.metadata_dropped); }
#else
bool tband_send_kept_metadata(void) { return true; }
#endif

static void commit_metadata(struct tband_channel *channel, uint32_t core, struct span frame) {
    bool kept = false;
#if tband_configUSE_METADATA_BUF == 1
    kept = keep_metadata(core, frame);
#endif
    /* What is kept in memory goes with a snapshot or post-mortem anyway. */
    if (kept && (tband_configUSE_BACKEND_SNAPSHOT == 1 || tband_configUSE_BACKEND_POST_MORTEM == 1)) {
        return;
    }
    if (TBAND_RECORDS()) {
        make_room(channel, (size_t)(frame.end - frame.start));
        if (!send_metadata(channel, core, frame)) {
            lost(channel);
        }
    }
}

/* ---- Committing an event ----------------------------------------------------------------------------------------------------- */

void tband_commit_locked(uint32_t event, uint8_t *frame, struct tband_cursor end) {
    const uint32_t core = tband_core();
    struct tband_channel *const channel = channel_of(core);
    if ((event & TBAND_METADATA) != 0) {
        commit_metadata(channel, core, close_untimed(event, frame, end));
    } else if (TBAND_RECORDS()) {
        make_room(channel, (size_t)(end.at - frame) + 2u);
        if (!submit(channel, core, event, frame, end)) {
            lost(channel);
        }
    }
}

void tband_commit(uint32_t event, uint8_t *frame, struct tband_cursor end) {
    TBAND_LOCK();
    tband_commit_locked(event, frame, end);
    TBAND_UNLOCK();
}

void tband_emit(uint32_t event, uint32_t a, uint32_t b, uint32_t c) {
    if (!tband_wants(event)) {
        return;
    }
    uint8_t frame[TBAND_FRAME_SIZE(15u)];
    struct tband_cursor at = tband_begin(frame);
    const uint32_t fields = TBAND_FIELDS(event);
    tband_put_u32(&at, a);
    if (fields > 1u) {
        tband_put_u32(&at, b);
        if (fields > 2u) {
            tband_put_u32(&at, c);
        }
    }
    tband_commit(event, frame, at);
}

void tband_emit_text(uint32_t event, uint32_t a, uint32_t b, const char *text) {
    if (!tband_wants(event)) {
        return;
    }
    uint8_t frame[TBAND_FRAME_SIZE(10u + TBAND_TEXT_MAX)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, a);
    if (TBAND_FIELDS(event) > 1u) {
        tband_put_u32(&at, b);
    }
    tband_put_text(&at, text);
    tband_commit(event, frame, at);
}

/* ---- Interrupts, markers, clock ------------------------------------------------------------------------------------------------ */

#if tband_configISR_TRACE_ENABLE == 1
void tband_isr_name(uint32_t id, const char *name) {
#if TBAND_CORES > 1 && tband_configCOMPAT == 0
    tband_emit_text(TBAND_EVT_CORE_ISR_NAME, tband_core(), id, name);
#else
    tband_emit_text(TBAND_EVT_ISR_NAME, id, 0, name);
#endif
}

void tband_isr_enter(uint32_t id) { tband_emit(TBAND_EVT_ISR_ENTER, id, 0, 0); }

void tband_isr_exit(uint32_t id) { tband_emit(TBAND_EVT_ISR_EXIT, id, 0, 0); }
#endif

#if tband_configMARKER_TRACE_ENABLE == 1
/* Sign and magnitude: the sign in the lowest bit. INT64_MIN, whose magnitude has no room, comes out as 1. */
void tband_emit_value(uint32_t event, uint32_t id, int64_t value) {
    if (!tband_wants(event)) {
        return;
    }
    uint8_t frame[TBAND_FRAME_SIZE(15u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, id);
    const uint64_t bits = (uint64_t)value;
    tband_put_u64(&at, value < 0 ? ((0u - bits) << 1) | 1u : bits << 1);
    tband_commit(event, frame, at);
}

void tband_evtmarker_name(uint32_t id, const char *name) { tband_emit_text(TBAND_EVT_EVTMARKER_NAME, id, 0, name); }

void tband_evtmarker(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_EVTMARKER, id, 0, msg); }

void tband_evtmarker_begin(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_EVTMARKER_BEGIN, id, 0, msg); }

void tband_evtmarker_end(uint32_t id) { tband_emit(TBAND_EVT_EVTMARKER_END, id, 0, 0); }

void tband_valmarker_name(uint32_t id, const char *name) { tband_emit_text(TBAND_EVT_VALMARKER_NAME, id, 0, name); }

void tband_valmarker(uint32_t id, int64_t val) { tband_emit_value(TBAND_EVT_VALMARKER, id, val); }
#endif

void tband_gather_system_metadata(void) {
#if tband_configCOMPAT == 1
    TBAND_LOCK();
    tell_clock();
    TBAND_UNLOCK();
#endif
}

bool tband_tracing_enabled(void) { return TBAND_RECORDS(); }

bool tband_tracing_finished(void) { return tband_is(TBAND_IDLE); }

bool tband_tracing_backend_finished(unsigned int core_id) {
    (void)core_id;
    return tband_is(TBAND_IDLE);
}

uint32_t tband_dropped_events(void) { return look(&tband.dropped); }

#endif /* tband_configENABLE */
