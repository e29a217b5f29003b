/* Encoder: events become frames, frames get their time and go to the metadata buffer and the backend. */
#include "tband_internal.h"

#if tband_configENABLE == 1

struct tband_state tband;

#if tband_configFREERTOS_TRACE_ENABLE == 1
const struct tband_rtos *tband_rtos;
tband_word tband_freertos_current[TBAND_CORES];
#endif

#if TBAND_CORES > 1
#ifdef ATOMIC_FLAG_INIT
atomic_flag tband_spinlock = ATOMIC_FLAG_INIT;
#endif
#endif

static struct tband_channel *tband_channel_of(uint32_t core) {
#if TBAND_CHANNELS > 1
    return &tband.channel[core];
#else
    (void)core;
    return &tband.channel[0];
#endif
}

/* A counter, for the application. One core reads a word at once; several need the lock. */
static uint32_t tband_read_counter(const uint32_t *counter) {
    uint32_t value;
    TBAND_LOCK_CORES();
    value = *counter;
    TBAND_UNLOCK_CORES();
    return value;
}

/* ---- Framing ------------------------------------------------------------------------------------------------------------- */

#if TBAND_LONG_FRAMES
/* COBS of the payload in place: the code of the first block goes in front of it, those of zero bytes take their places, and
 * after 254 bytes without one a byte is inserted. Returns the new end. */
static uint8_t *tband_cobs(uint8_t *payload, uint8_t *end) {
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
static uint32_t tband_end_fields(const uint8_t *frame, struct tband_cursor *c) {
    tband_mark_zero(c);
    return frame[TBAND_HEAD - 1u];
}

/* Bytes from `start` up to `end`. */
struct tband_span {
    uint8_t *start;
    uint8_t *end;
};

/* Puts the id and the COBS code in front of `payload` and the 00 after `end`. */
static inline struct tband_span tband_close(uint32_t id, uint8_t *payload, uint8_t *fields, uint8_t *end, uint32_t gap) {
    *--payload = (uint8_t)id;
#if TBAND_LONG_FRAMES
    (void)fields;
    (void)gap;
    end = tband_cobs(payload, end);
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
    const struct tband_span frame = {payload, end + 1};
    return frame;
}

/* Hands a frame to the backend. True: dropped. */
static inline bool tband_send(uint32_t core, struct tband_span frame, bool is_metadata) {
    return tband_backend_write(core, frame.start, (size_t)(frame.end - frame.start), is_metadata);
}

/* ---- Time ---------------------------------------------------------------------------------------------------------------- */

/* Extended to 64 bits by what was recorded last: by any core, if each has a channel. */
static inline uint64_t tband_now(const struct tband_channel *channel) {
#if tband_portTIMESTAMP_BITS == 64
    (void)channel;
    return tband_portTIMESTAMP();
#elif TBAND_CHANNELS > 1
    (void)channel;
    tband.clock += ((uint32_t)tband_portTIMESTAMP() - (uint32_t)tband.clock) & TBAND_CLOCK_MASK;
    return tband.clock;
#else
    return channel->last + (((uint32_t)tband_portTIMESTAMP() - (uint32_t)channel->last) & TBAND_CLOCK_MASK);
#endif
}

/* Counts a lost event and has the loss reported before the next one. */
static void tband_count_loss(struct tband_channel *channel) {
    tband.dropped++;
    channel->sync_in = 0;
#if TBAND_TRACES_TASKS
    /* A switch may have been among what is lost. */
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        TBAND_STORE(tband.told_running[core], 0);
    }
#endif
}

/* What becomes of a frame. */
enum tband_fate { TBAND_TAKEN, TBAND_DROPPED, TBAND_NEEDS_SYNC };

#if tband_configCOMPAT == 1

/* ---- Plain format: absolute timestamps, a drop counter every so often ------------------------------------------------------ */

/* With the period off, the next counter is as good as never due, except after a loss. */
#define TBAND_SYNC_PERIOD (tband_configTRACE_DROP_CNT_EVERY > 0 ? (uint32_t)tband_configTRACE_DROP_CNT_EVERY : UINT32_MAX)

static bool tband_send_at(uint32_t core, uint64_t time, uint32_t event, uint8_t *frame, uint8_t *end, uint32_t gap) {
    uint8_t *const fields = frame + TBAND_HEAD;
    uint8_t digits[TBAND_TIME_MAX];
    uint8_t *at = digits;
    while (time > 0x7fu) {
        *at++ = (uint8_t)(time | 0x80u);
        time >>= 7;
    }
    *at++ = (uint8_t)time;
    const size_t n = (size_t)(at - digits);
    memcpy(fields - n, digits, n);
    return tband_send(core, tband_close(event & 0xffu, fields - n, fields, end, gap), false);
}

static bool tband_send_u32_at(uint32_t core, uint64_t time, uint32_t event, uint32_t value) {
    uint8_t frame[TBAND_FRAME_SIZE(5u)];
    struct tband_cursor c = tband_begin(frame);
    tband_put_u32(&c, value);
    const uint32_t gap = tband_end_fields(frame, &c);
    return tband_send_at(core, time, event, frame, c.at, gap);
}

static bool tband_send_drop_counter(struct tband_channel *channel, uint32_t core) {
    if (tband_send_u32_at(core, channel->last, TBAND_EVT_DROPPED_EVT_CNT, tband.dropped)) {
        return true;
    }
    channel->sync_in = TBAND_SYNC_PERIOD;
    return false;
}

/* What has to be in front of a frame of this core. */
static enum tband_fate tband_prepare(struct tband_channel *channel, uint32_t core) {
#if TBAND_CORES > 1
    if (channel->core != core) {
        if (tband_send_u32_at(core, channel->last, TBAND_EVT_CORE_ID, core)) {
            return TBAND_DROPPED;
        }
        channel->core = core;
    }
#else
    (void)channel;
    (void)core;
#endif
    return TBAND_TAKEN;
}

static enum tband_fate tband_submit(struct tband_channel *channel, uint32_t core, uint32_t event, uint8_t *frame, uint8_t *end,
                                    uint32_t gap) {
    channel->last = tband_now(channel);
    if (tband_prepare(channel, core) == TBAND_DROPPED || (channel->sync_in == 0 && tband_send_drop_counter(channel, core)) ||
        tband_send_at(core, channel->last, event, frame, end, gap)) {
        return TBAND_DROPPED;
    }
    channel->sync_in--;
    return TBAND_TAKEN;
}

#else

/* ---- Superset: delta timestamps, sync frames ------------------------------------------------------------------------------- */

/* Bits of a delta timestamp that say the core. */
#if TBAND_CORES > 8
#define TBAND_CORE_BITS 4u
#elif TBAND_CORES > 4
#define TBAND_CORE_BITS 3u
#elif TBAND_CORES > 2
#define TBAND_CORE_BITS 2u
#elif TBAND_CORES > 1
#define TBAND_CORE_BITS 1u
#else
#define TBAND_CORE_BITS 0u
#endif
#define TBAND_SEQ_BITS 2u
/* The largest delta whose wire value fits into 32 bits. A longer silence is bridged by a sync. */
#define TBAND_DELTA_MAX ((UINT32_MAX >> (TBAND_SEQ_BITS + TBAND_CORE_BITS)) - 1u)

#if tband_configUSE_BACKEND_STREAMING == 1
#define TBAND_BACKEND_NUMBER 0u
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
#define TBAND_BACKEND_NUMBER 1u
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
#define TBAND_BACKEND_NUMBER 2u
#else
#define TBAND_BACKEND_NUMBER 3u
#endif

/* A sync has no time in front of its fields, so its frame needs less room there than others. */
#define TBAND_SYNC_SIZE (TBAND_FRAME_SIZE(TBAND_SYNC_FIELDS) - TBAND_TIME_MAX)
/* Fields of a sync: three bytes, the number of cores and the core (a byte each), four u32, the time. */
#define TBAND_SYNC_FIELDS (3u + 2u + 4u * 5u + 10u)

/* All of a sync but its last field, the time. */
static void tband_begin_sync(struct tband_cursor *c, uint32_t core, uint32_t flags, uint32_t seq, uint32_t dropped) {
    flags |= (tband_configFREERTOS_TRACE_ENABLE == 1 ? TBAND_SYNC_FREERTOS : 0u) |
             (TBAND_BACKEND_NUMBER << TBAND_SYNC_BACKEND_SHIFT);
    *c->at++ = 0x54u;
    *c->at++ = 1u;
    tband_put_u32(c, flags);
    *c->at++ = TBAND_CORES;
    tband_put_u32(c, core);
    tband_put_u32(c, seq);
    tband_put_u32(c, dropped);
    tband_put_u32(c, (uint32_t)(TBAND_NS_NUM));
    tband_put_u32(c, (uint32_t)(TBAND_NS_DEN));
}

/* Sends a sync frame with the time `channel->last`. True: dropped. */
static bool tband_end_sync(struct tband_channel *channel, uint32_t core, uint8_t *frame, struct tband_cursor *c) {
    tband_put_u64(c, channel->last);
    tband_mark_zero(c);
    if (tband_send(core, tband_close(TBAND_EVT_SYNC, frame + 2, frame + 2, c->at, frame[1]), false)) {
        return true;
    }
    channel->begun = true;
    channel->seq++;
    channel->sync_in = tband_configSYNC_EVERY;
    return false;
}

/* All of it at once: where a recording starts or stops. Under the lock. */
static bool tband_sync_here(struct tband_channel *channel, uint32_t core, uint32_t flags) {
    uint8_t frame[TBAND_SYNC_SIZE];
    struct tband_cursor c = {frame + 2, frame + 1};
    tband_begin_sync(&c, core, flags | (channel->begun ? 0u : TBAND_SYNC_START), channel->seq, tband.dropped);
    return tband_end_sync(channel, core, frame, &c);
}

static enum tband_fate tband_prepare(struct tband_channel *channel, uint32_t core) {
    (void)core;
    return channel->sync_in == 0 ? TBAND_NEEDS_SYNC : TBAND_TAKEN;
}

static inline enum tband_fate tband_submit(struct tband_channel *channel, uint32_t core, uint32_t event, uint8_t *frame,
                                           uint8_t *end, uint32_t gap) {
    uint8_t *const fields = frame + TBAND_HEAD;
    const uint64_t time = tband_now(channel);
    const uint64_t delta = time - channel->last;
    /* Also if the frame gets lost: then a sync precedes the next one, and no delta counts from here. */
    channel->last = time;
    if (channel->sync_in == 0 || delta > TBAND_DELTA_MAX) {
        /* Also when the clock went backwards: the sync says so. */
        channel->sync_in = 0;
        return TBAND_NEEDS_SYNC;
    }
    /* Never zero, so that there is no zero byte in front of the fields. */
    uint32_t v = ((uint32_t)delta << (TBAND_SEQ_BITS + TBAND_CORE_BITS)) + (core << TBAND_SEQ_BITS) +
                 (channel->seq & ((1u << TBAND_SEQ_BITS) - 1u)) + 1u;
    uint8_t *payload = fields - 1;
    if (v > 0x7fu) {
        for (uint32_t rest = v >> 14; rest != 0; rest >>= 7) {
            payload--;
        }
        uint8_t *at = --payload;
        do {
            *at++ = (uint8_t)(v | 0x80u);
            v >>= 7;
        } while (v > 0x7fu);
    }
    fields[-1] = (uint8_t)v;
    if (tband_send(core, tband_close((event & 0x7fu) | 0x80u, payload, fields, end, gap), false)) {
        return TBAND_DROPPED;
    }
    channel->seq++;
    channel->sync_in--;
    return TBAND_TAKEN;
}

#endif

/* ---- Who runs --------------------------------------------------------------------------------------------------------------- */

#if TBAND_TELLS_RUNNING
/* Records the task that runs on each core. Under the lock. */
static void tband_tell_running(void) {
#if TBAND_CORES > 1
    /* Other cores store who runs there, then look whether that is recorded: either they see that it is, or this sees the task. */
    atomic_thread_fence(memory_order_seq_cst);
#endif
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        const uint32_t task = TBAND_LOAD(tband_freertos_current[core]);
        if (task != 0) {
            struct tband_channel *const channel = tband_channel_of(core);
            uint8_t frame[TBAND_FRAME_SIZE(5u)];
            struct tband_cursor at = tband_begin(frame);
            tband_put_u32(&at, task);
            /* The plain format has only the event for it. */
            const uint32_t event = tband_configCOMPAT == 1 ? TBAND_EVT_TASK_SWITCHED_IN : TBAND_EVT_TASK_RUNNING;
            const uint32_t gap = tband_end_fields(frame, &at);
            enum tband_fate fate = tband_submit(channel, core, event, frame, at.at, gap);
#if tband_configCOMPAT == 0
            if (fate == TBAND_NEEDS_SYNC && !tband_sync_here(channel, core, 0)) {
                fate = tband_submit(channel, core, event, frame, at.at, gap);
            }
#endif
            if (fate == TBAND_TAKEN) {
                TBAND_STORE(tband.told_running[core], 1);
            } else {
                tband_count_loss(channel);
            }
        }
    }
}
#endif

/* ---- Syncs, in critical sections of their own --------------------------------------------------------------------------------- */

#if tband_configCOMPAT == 0
/* Sends the sync that is due on this core's channel. Its frame is made before the critical section, of what is known then: if that
 * changed meanwhile, so does the frame. True: dropped, and counted as a lost event if `counts`. Not under the lock. */
static TBAND_NOINLINE bool tband_sync(bool is_timed, bool counts) {
    for (;;) {
        uint8_t frame[TBAND_SYNC_SIZE];
        const uint32_t core = tband_core();
        struct tband_channel *const channel = tband_channel_of(core);
        struct tband_cursor c = {frame + 2, frame + 1};
        uint32_t flags;
        uint32_t seq;
        uint32_t dropped;
        bool changed = false;
        bool is_dropped = false;
        {
            /* Interrupts may change these in between, as long as what is compared below is what is in the frame. */
            TBAND_LOCK_CORES();
            seq = *(const volatile uint32_t *)&channel->seq;
            dropped = *(const volatile uint32_t *)&tband.dropped;
            flags = *(const volatile bool *)&channel->begun ? 0u : TBAND_SYNC_START;
            TBAND_UNLOCK_CORES();
        }
        tband_begin_sync(&c, core, flags, seq, dropped);
        {
            TBAND_LOCK();
            /* Another core, or an interrupt, may have sent it or ended the recording. */
            if (channel->sync_in == 0 && TBAND_ACCEPTS()) {
                /* A recording begins with number 0 and a sync, so the flags are right if the number is. */
                changed = channel->seq != seq || tband.dropped != dropped || tband_core() != core;
                if (!changed) {
                    if (is_timed) {
                        channel->last = tband_now(channel);
                    }
                    is_dropped = tband_end_sync(channel, core, frame, &c);
                    if (is_dropped && counts) {
                        tband_count_loss(channel);
                    }
#if TBAND_TELLS_RUNNING && tband_configUSE_BACKEND_POST_MORTEM == 1
                    if (tband.running_due) {
                        tband.running_due = false;
                        tband_tell_running();
                    }
#endif
                }
            }
            TBAND_UNLOCK();
        }
        if (!changed) {
            return is_dropped;
        }
    }
}
#endif

/* ---- The beginning and the end of a recording ------------------------------------------------------------------------------ */

static enum tband_fate tband_commit_metadata(struct tband_channel *channel, uint32_t core, uint32_t event,
                                             struct tband_span frame);

#if tband_configCOMPAT == 1 || (TBAND_REPEATS && tband_configFREERTOS_TRACE_ENABLE == 1)
/* A frame without a timestamp. */
static struct tband_span tband_close_untimed(uint32_t event, uint8_t *frame, struct tband_cursor end) {
    const uint32_t gap = tband_end_fields(frame, &end);
    uint8_t *const fields = frame + TBAND_HEAD;
    return tband_close(event & 0xffu, fields, fields, end.at, gap);
}
#endif

#if tband_configCOMPAT == 1
/* In the superset every sync has it. Under the lock. */
static void tband_tell_clock(void) {
    uint8_t frame[TBAND_FRAME_SIZE(10u)];
    struct tband_cursor at = tband_begin(frame);
    const uint32_t core = tband_core();
    tband_put_u64(&at, (uint64_t)(tband_portTIMESTAMP_RESOLUTION_NS));
    tband.told_clock = true;
    (void)tband_commit_metadata(tband_channel_of(core), core, TBAND_EVT_TS_RESOLUTION_NS,
                                tband_close_untimed(TBAND_EVT_TS_RESOLUTION_NS, frame, at));
}
#endif

void tband_start_channels(void) {
#if tband_configCOMPAT == 1
    if (!tband.told_clock) {
        tband_tell_clock();
    }
#endif
    const uint64_t time = tband_now(&tband.channel[0]);
    for (uint32_t i = 0; i < TBAND_CHANNELS; i++) {
        struct tband_channel *const channel = &tband.channel[i];
        channel->last = time;
        channel->seq = 0;
        channel->sync_in = 0;
        channel->begun = false;
#if tband_configCOMPAT == 1
        /* No loss so far: nothing to report. */
        channel->sync_in = tband.dropped != 0 ? 0 : TBAND_SYNC_PERIOD;
        channel->core = UINT32_MAX;
#endif
    }
#if tband_configCOMPAT == 1 && tband_configUSE_BACKEND_STREAMING == 1
    /* At time 0, as the plain format begins; a loss of it is of no consequence. */
    tband.channel[0].core = 0;
    (void)tband_send_u32_at(0, 0, TBAND_EVT_CORE_ID, 0);
#endif
#if TBAND_REPEATS
    tband.repeat_in = tband_configMETADATA_REPEAT_EVERY + 1u;
    tband.repeat_core = 0;
    tband.repeat_at = 0;
#endif
}

void tband_end_channels(void) {
#if tband_configCOMPAT == 0
    for (uint32_t i = 0; i < TBAND_CHANNELS; i++) {
        struct tband_channel *const channel = &tband.channel[i];
        const uint32_t core = TBAND_CHANNELS > 1 ? i : tband_core();
        channel->last = tband_now(channel);
        (void)tband_sync_here(channel, core, TBAND_SYNC_STOP);
    }
#else
    if (tband.channel[0].sync_in == 0) {
        (void)tband_send_drop_counter(&tband.channel[0], tband_core());
    }
#endif
}

/* ---- Room in the post-mortem ring -------------------------------------------------------------------------------------------- */

/* Before a frame of up to `len` bytes. Each segment can be decoded by itself. */
static inline void tband_make_room(struct tband_channel *channel, size_t len) {
#if tband_configUSE_BACKEND_POST_MORTEM == 1
    if (!tband_post_mortem_reserve(len)) {
        return;
    }
#if tband_configCOMPAT == 1
    channel->core = UINT32_MAX;
#if TBAND_TELLS_RUNNING
    tband_tell_running();
#endif
#else
    channel->sync_in = 0;
#if TBAND_TELLS_RUNNING
    tband.running_due = true;
#endif
#endif
#else
    (void)channel;
    (void)len;
#endif
}

/* ---- Metadata -------------------------------------------------------------------------------------------------------------- */

/* Sends metadata into a recording. */
static enum tband_fate tband_send_metadata(struct tband_channel *channel, uint32_t core, struct tband_span frame) {
    const enum tband_fate before = tband_prepare(channel, core);
    if (before != TBAND_TAKEN) {
        return before;
    }
    if (tband_send(core, frame, true)) {
        return TBAND_DROPPED;
    }
    channel->seq++;
    if (channel->sync_in != 0) {
        /* In the plain format a loss may still be waiting for an event with a time to report it. */
        channel->sync_in--;
    }
    return TBAND_TAKEN;
}

#if tband_configUSE_METADATA_BUF == 1
static uint8_t tband_metadata_buf[TBAND_CORES][tband_configMETADATA_BUF_SIZE + TBAND_SLACK];

/* Keeps a frame for the recordings to come. True: no room. */
static bool tband_keep_metadata(uint32_t core, struct tband_span frame) {
    const uint32_t len = (uint32_t)(frame.end - frame.start);
    const uint32_t used = tband.metadata_used[core];
    if (len > (uint32_t)tband_configMETADATA_BUF_SIZE - used) {
        tband.metadata_dropped++;
        return true;
    }
    memcpy(&tband_metadata_buf[core][used], frame.start, (size_t)len);
    tband.metadata_used[core] = used + len;
#if tband_configUSE_BACKEND_POST_MORTEM == 1
    if (!tband_is(TBAND_IDLE)) {
        tband_post_mortem_keep(core, used, frame.start, len);
    }
#endif
    return false;
}

#if tband_configUSE_BACKEND_STREAMING == 1 || TBAND_REPEATS
/* The frame at `at` of a core's buffer. */
static struct tband_span tband_kept(uint32_t core, uint32_t at) {
    uint8_t *const start = &tband_metadata_buf[core][at];
    uint8_t *end = start;
    /* From code to code of COBS, up to the 00. */
    while (*end != 0) {
        end += *end;
    }
    const struct tband_span frame = {start, end + 1};
    return frame;
}
#endif

const volatile uint8_t *tband_get_metadata_buf(unsigned int core_id) {
    return core_id < TBAND_CORES ? tband_metadata_buf[core_id] : NULL;
}

size_t tband_get_metadata_buf_amnt(unsigned int core_id) {
    return core_id < TBAND_CORES ? (size_t)tband_read_counter(&tband.metadata_used[core_id]) : 0;
}

uint32_t tband_metadata_dropped(void) { return tband_read_counter(&tband.metadata_dropped); }
#endif

static enum tband_fate tband_commit_metadata(struct tband_channel *channel, uint32_t core, uint32_t event,
                                             struct tband_span frame) {
#if tband_configUSE_METADATA_BUF == 1
#if tband_configCOMPAT == 1
    /* Before all names, which may leave no room for it. */
    if (!tband.told_clock) {
        tband_tell_clock();
    }
#endif
    if ((event & TBAND_UNKEPT) == 0) {
        (void)tband_keep_metadata(core, frame);
    }
#else
    (void)event;
#endif
    if (!TBAND_RECORDS()) {
        return TBAND_TAKEN;
    }
    tband_make_room(channel, (size_t)(frame.end - frame.start));
    return tband_send_metadata(channel, core, frame);
}

bool tband_record(bool with_metadata) {
    uint32_t core = 0;
    uint32_t at = 0;
#if tband_configUSE_METADATA_BUF == 0 || tband_configUSE_BACKEND_STREAMING == 0
    (void)with_metadata;
#endif
    for (;;) {
        enum tband_fate fate = TBAND_TAKEN;
        bool done = false;
#if TBAND_TELLS_RUNNING && tband_configCOMPAT == 0 && tband_configUSE_BACKEND_SNAPSHOT == 0
        /* Not together with who runs: that would hold off interrupts for long. A snapshot takes nothing before it records. */
        if (TBAND_LOAD(tband_freertos_current[0]) != 0) {
            (void)tband_sync(false, false);
        }
#endif
        TBAND_LOCK();
#if tband_configUSE_METADATA_BUF == 1 && tband_configUSE_BACKEND_STREAMING == 1
        while (core < TBAND_CORES && (!with_metadata || at == tband.metadata_used[core])) {
            core++;
            at = 0;
        }
        if (core < TBAND_CORES) {
            const struct tband_span frame = tband_kept(core, at);
            fate = tband_send_metadata(tband_channel_of(core), core, frame);
            at += fate == TBAND_TAKEN ? (uint32_t)(frame.end - frame.start) : 0u;
        } else
#endif
        {
            /* In the critical section in which nothing was left: what is named or switched to from now on is recorded. */
            tband_enter_phase(TBAND_RECORDING);
#if TBAND_TELLS_RUNNING
            tband_tell_running();
#endif
            done = true;
        }
        TBAND_UNLOCK();
        if (done) {
            return false;
        }
#if tband_configCOMPAT == 0
        if (fate == TBAND_NEEDS_SYNC) {
            fate = tband_sync(false, false) ? TBAND_DROPPED : TBAND_TAKEN;
        }
#endif
        if (fate == TBAND_DROPPED) {
            return true;
        }
        (void)core;
        (void)at;
    }
}

/* ---- Committing an event ----------------------------------------------------------------------------------------------------- */

#if TBAND_REPEATS
/* Looks at the place whose turn it is, and sends the name there. True: there was none, and there are more places. Under the lock. */
static bool tband_repeat_here(struct tband_channel *channel, uint32_t core) {
    enum tband_fate fate = TBAND_TAKEN;
    bool is_none = false;
#if tband_configUSE_METADATA_BUF == 1
    while (tband.repeat_core < TBAND_CORES && tband.repeat_at == tband.metadata_used[tband.repeat_core]) {
        tband.repeat_core++;
        tband.repeat_at = 0;
    }
    if (tband.repeat_core < TBAND_CORES) {
        const struct tband_span frame = tband_kept(tband.repeat_core, tband.repeat_at);
        const uint32_t len = (uint32_t)(frame.end - frame.start);
        tband_make_room(channel, (size_t)len);
        fate = tband_send_metadata(channel, core, frame);
        tband.repeat_at += fate == TBAND_TAKEN ? len : 0u;
    } else
#endif
    {
        bool more = false;
#if tband_configFREERTOS_TRACE_ENABLE == 1
        struct tband_name name = {0, 0, 0, NULL};
        if (tband_rtos != NULL) {
            more = tband_rtos->name(tband.repeat_at, &name);
            tband.repeat_at += more ? 1u : 0u;
        }
        if (name.event != 0) {
            uint8_t frame[TBAND_FRAME_SIZE(10u + TBAND_TEXT_MAX)];
            struct tband_cursor at = tband_begin(frame);
            tband_put_u32(&at, name.a);
            if (TBAND_FIELDS(name.event) > 1u) {
                tband_put_u32(&at, name.b);
            }
            tband_put_text(&at, name.text);
            tband_make_room(channel, (size_t)(at.at - frame) + 2u);
            fate = tband_send_metadata(channel, core, tband_close_untimed(name.event, frame, at));
        }
        is_none = more && name.event == 0;
#endif
        if (!more) {
            tband.repeat_core = 0;
            tband.repeat_at = 0;
        }
    }
    /* What was dropped has its turn in the next round. */
    if (tband_configSYNC_EVERY == 1 && fate == TBAND_TAKEN && !is_none) {
        /* The sync is that of the event, whose turn would not come before all names were sent. */
        channel->sync_in = 1;
    }
    return is_none;
}

/* The name whose turn it is: so whoever joins in mid-stream has names after a while. Each place is a critical section of its own. */
static TBAND_NOINLINE void tband_repeat(void) {
    bool goes_on = true;
    for (uint32_t i = 0; goes_on && i < 8u; i++) {
        TBAND_LOCK();
        const uint32_t core = tband_core();
        struct tband_channel *const channel = tband_channel_of(core);
        goes_on = TBAND_RECORDS() && channel->sync_in != 0 && (i != 0 || --tband.repeat_in == 0);
        if (goes_on) {
            tband.repeat_in = tband_configMETADATA_REPEAT_EVERY;
            goes_on = tband_repeat_here(channel, core);
        }
        TBAND_UNLOCK();
    }
}
#endif

#if tband_configCOMPAT == 0
/* Before an event: the sync that is due, and now and then a name. True: the sync was dropped, and with it the event. */
static TBAND_NOINLINE bool tband_sync_first(bool is_timed) {
    const bool is_dropped = tband_sync(is_timed, true);
#if TBAND_TELLS_RUNNING && tband_configUSE_BACKEND_STREAMING == 1
    /* After a loss: not in one critical section with the sync, which would hold off interrupts for long. */
    bool is_told = true;
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        is_told = is_told && (TBAND_LOAD(tband.told_running[core]) != 0 || TBAND_LOAD(tband_freertos_current[core]) == 0);
    }
    if (!is_told && !is_dropped) {
        TBAND_LOCK();
        if (TBAND_RECORDS()) {
            tband_tell_running();
        }
        TBAND_UNLOCK();
    }
#endif
#if TBAND_REPEATS
    if (!is_dropped) {
        tband_repeat();
    }
#endif
    return is_dropped;
}
#endif

/* A frame in a critical section: one with a time, or metadata, which has no gap and is kept as well. True: a sync has to be sent
 * first. */
static TBAND_INLINE bool tband_try_here(uint32_t event, uint8_t *frame, struct tband_cursor end) {
    enum tband_fate fate = TBAND_TAKEN;
    const uint32_t gap = tband_end_fields(frame, &end);
    TBAND_LOCK();
    const uint32_t core = tband_core();
    struct tband_channel *const channel = tband_channel_of(core);
    if ((event & TBAND_METADATA) != 0) {
        uint8_t *const fields = frame + TBAND_HEAD;
        fate = tband_commit_metadata(channel, core, event, tband_close(event & 0xffu, fields, fields, end.at, gap));
    } else if (TBAND_RECORDS()) {
        tband_make_room(channel, (size_t)(end.at - frame) + 2u);
        fate = tband_submit(channel, core, event, frame, end.at, gap);
    }
    if (fate == TBAND_DROPPED) {
        tband_count_loss(channel);
    }
    TBAND_UNLOCK();
    return fate == TBAND_NEEDS_SYNC;
}

static TBAND_NOINLINE bool tband_try(uint32_t event, uint8_t *frame, struct tband_cursor end) { return tband_try_here(event, frame, end); }

/* Every function that records makes its frame in one of its own, which returns before a sync is sent: so the two do not add up on
 * the stack. Metadata that comes again was kept already. */
#if tband_configCOMPAT == 0
#define TBAND_SEND(event, ...)                                                                                               \
    while (__VA_ARGS__) {                                                                                                    \
        if (tband_sync_first(((event) & TBAND_METADATA) == 0)) {                                                             \
            break;                                                                                                           \
        }                                                                                                                    \
        (event) |= ((event) & TBAND_METADATA) != 0 ? TBAND_UNKEPT : 0u;                                                      \
    }
#else
#define TBAND_SEND(event, ...) (void)(__VA_ARGS__);
#endif

#ifndef __OPTIMIZE_SIZE__
static TBAND_INLINE bool tband_try_one(uint32_t event, uint32_t a) {
    uint8_t frame[TBAND_FRAME_SIZE(5u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, a);
    return tband_try_here(event, frame, at);
}

/* Most events, so with less to decide. */
void tband_emit_one(uint32_t event, uint32_t a) {
    if (TBAND_RECORDS()) {
        event &= 0xffu;
        TBAND_SEND(event, tband_try_one(event, a))
    }
}
#else
void tband_emit_one(uint32_t event, uint32_t a) { tband_emit(event, a, 0, 0); }
#endif

static TBAND_APART bool tband_try_integers(uint32_t event, uint32_t a, uint32_t b, uint32_t c) {
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
    return tband_try(event, frame, at);
}

void tband_emit(uint32_t event, uint32_t a, uint32_t b, uint32_t c) {
    if (tband_wants(event)) {
        TBAND_SEND(event, tband_try_integers(event, a, b, c))
    }
}

/* Two integers and a text have only names that belong to a task or a core. */
#define TBAND_NAMES_BELONG (tband_configFREERTOS_TRACE_ENABLE == 1 || TBAND_CORES > 1)

static TBAND_APART bool tband_try_text(uint32_t event, uint32_t a, uint32_t b, const char *text) {
    uint8_t frame[TBAND_FRAME_SIZE((TBAND_NAMES_BELONG ? 10u : 5u) + TBAND_TEXT_MAX)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, a);
    if (TBAND_NAMES_BELONG && TBAND_FIELDS(event) > 1u) {
        tband_put_u32(&at, b);
    }
    tband_put_text(&at, text);
    return tband_try(event, frame, at);
}

void tband_emit_text(uint32_t event, uint32_t a, uint32_t b, const char *text) {
    if (tband_wants(event)) {
        TBAND_SEND(event, tband_try_text(event, a, b, text))
    }
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

void tband_isr_enter(uint32_t id) { tband_emit_one(TBAND_EVT_ISR_ENTER, id); }

void tband_isr_exit(uint32_t id) { tband_emit_one(TBAND_EVT_ISR_EXIT, id); }
#endif

#if tband_configMARKER_TRACE_ENABLE == 1
/* Sign and magnitude: the sign in the lowest bit. INT64_MIN, whose magnitude has no room, comes out as 1. */
static TBAND_APART bool tband_try_value(uint32_t event, uint32_t id, uint64_t value) {
    uint8_t frame[TBAND_FRAME_SIZE(15u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, id);
    tband_put_u64(&at, value);
    return tband_try(event, frame, at);
}

void tband_emit_value(uint32_t event, uint32_t id, int64_t value) {
    if (TBAND_RECORDS()) {
        const uint64_t bits = (uint64_t)value;
        const uint64_t wire = value < 0 ? ((0u - bits) << 1) | 1u : bits << 1;
        event &= 0xffu;
        TBAND_SEND(event, tband_try_value(event, id, wire))
    }
}

void tband_evtmarker_name(uint32_t id, const char *name) { tband_emit_text(TBAND_EVT_EVTMARKER_NAME, id, 0, name); }

void tband_evtmarker(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_EVTMARKER, id, 0, msg); }

void tband_evtmarker_begin(uint32_t id, const char *msg) { tband_emit_text(TBAND_EVT_EVTMARKER_BEGIN, id, 0, msg); }

void tband_evtmarker_end(uint32_t id) { tband_emit_one(TBAND_EVT_EVTMARKER_END, id); }

void tband_valmarker_name(uint32_t id, const char *name) { tband_emit_text(TBAND_EVT_VALMARKER_NAME, id, 0, name); }

void tband_valmarker(uint32_t id, int64_t val) { tband_emit_value(TBAND_EVT_VALMARKER, id, val); }
#endif

#if tband_configFREERTOS_TRACE_ENABLE == 1 && tband_configCOMPAT == 0
static TBAND_APART bool tband_try_address(uint32_t event, uint64_t address, uint32_t bytes) {
    uint8_t frame[TBAND_FRAME_SIZE(15u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u64(&at, address);
    tband_put_u32(&at, bytes);
    return tband_try(event, frame, at);
}

void tband_emit_address(uint32_t event, uint64_t address, uint32_t bytes) {
    if (TBAND_RECORDS()) {
        event &= 0xffu;
        TBAND_SEND(event, tband_try_address(event, address, bytes))
    }
}
#endif

#if tband_configFUNCTION_TRACE_ENABLE == 1
static TBAND_APART bool tband_try_wide(uint32_t event, uint64_t value) {
    uint8_t frame[TBAND_FRAME_SIZE(10u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u64(&at, value);
    return tband_try(event, frame, at);
}

void tband_emit_wide(uint32_t event, uint64_t value) {
    if (tband_wants(event)) {
        TBAND_SEND(event, tband_try_wide(event, value))
    }
}
#endif

#if tband_configLOG_ENABLE == 1
/* Messages are frequent: for speed with all of it inlined. */
#ifdef __OPTIMIZE_SIZE__
#define TBAND_TRY_OFTEN tband_try
#else
#define TBAND_TRY_OFTEN tband_try_here
#endif

static TBAND_APART bool tband_try_words(uint32_t event, uint32_t format, uint32_t types, uint32_t a, uint32_t b) {
    uint8_t frame[TBAND_FRAME_SIZE(20u)];
    struct tband_cursor at = tband_begin(frame);
    tband_put_u32(&at, format);
    if (types != 0) {
        tband_put_u32(&at, types);
        tband_put_u32(&at, a);
        if (types > 7u) {
            tband_put_u32(&at, b);
        }
    }
    return TBAND_TRY_OFTEN(event, frame, at);
}

void tband_log_words(uint32_t format, uint32_t types, uint32_t a, uint32_t b) {
    if (TBAND_RECORDS()) {
        uint32_t event = TBAND_EVT_LOG & 0xffu;
        TBAND_SEND(event, tband_try_words(event, format, types, a, b))
    }
}

static bool tband_try_wide_arguments(uint32_t event, uint32_t format, uint32_t types, const uint64_t *arguments) {
    uint8_t frame[TBAND_FRAME_SIZE(10u + 8u * 10u + TBAND_TEXT_MAX)];
    struct tband_cursor at = tband_begin(frame);
    size_t room = TBAND_TEXT_MAX;
    tband_put_u32(&at, format);
    tband_put_u32(&at, types);
    for (; types != 0; types >>= 3) {
        const uint64_t argument = *arguments++;
        if ((types & 7u) == TBAND_LOG_TEXT) {
            const char *const text = (const char *)(uintptr_t)argument;
            size_t len = 0;
            while (text != NULL && len < room && text[len] != '\0') {
                len++;
            }
            room -= len;
            tband_put_u32(&at, (uint32_t)len);
            if (len != 0) {
                memcpy(at.at, text, len);
                at.at += len;
            }
        } else {
            tband_put_u64(&at, argument);
        }
    }
    return tband_try(event, frame, at);
}

void tband_log_wide(uint32_t format, uint32_t types, const uint64_t *arguments) {
    if (TBAND_RECORDS()) {
        uint32_t event = TBAND_EVT_LOG & 0xffu;
        TBAND_SEND(event, tband_try_wide_arguments(event, format, types, arguments))
    }
}
#endif

void tband_gather_system_metadata(void) {
#if tband_configCOMPAT == 1
    TBAND_LOCK();
    tband_tell_clock();
    TBAND_UNLOCK();
#endif
}

bool tband_tracing_enabled(void) { return TBAND_RECORDS(); }

bool tband_tracing_finished(void) { return tband_is(TBAND_IDLE); }

bool tband_tracing_backend_finished(unsigned int core_id) {
    (void)core_id;
    return tband_is(TBAND_IDLE);
}

uint32_t tband_dropped_events(void) { return tband_read_counter(&tband.dropped); }

#endif /* tband_configENABLE */
