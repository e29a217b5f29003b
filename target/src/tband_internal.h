/* What the library's own files share. Words used here:
 *
 * frame     one event on the wire: COBS of `id [time] fields`, then 00
 * channel   a chronological sequence of frames with one time base and one frame counter: the stream, or one core's snapshot
 * sync      the superset's frame that carries the absolute time and everything else needed to decode what follows
 *
 * A function that takes a frame returns true if it was dropped, as the port's sink does. */
#ifndef TBAND_INTERNAL_H_
#define TBAND_INTERNAL_H_

#include <string.h>

#include "tband.h"

#if tband_configENABLE == 1

#include "tband_port.h"

/* Here a word such as `yes` is an error as well: the preprocessor takes it for 0. */
#define TBAND_IS_SWITCH(setting) _Static_assert((setting) == 0 || (setting) == 1, #setting " must be 0 or 1.")
TBAND_IS_SWITCH(tband_configCOMPAT);
TBAND_IS_SWITCH(tband_configMARKER_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configISR_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFUNCTION_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configLOG_ENABLE);
TBAND_IS_SWITCH(tband_configUSE_METADATA_BUF);
TBAND_IS_SWITCH(tband_configFREERTOS_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_TASK_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_QUEUE_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_NOTIFY_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_TIMER_TRACE_ENABLE);
TBAND_IS_SWITCH(tband_configFREERTOS_HEAP_TRACE_ENABLE);

#ifndef tband_portTIMESTAMP
#error "tband_port.h must define tband_portTIMESTAMP(): the clock, as uint64_t."
#endif
#if !defined(tband_portTIMESTAMP_RESOLUTION_NS) && !defined(tband_portTIMESTAMP_HZ)
#error "tband_port.h must define tband_portTIMESTAMP_RESOLUTION_NS (nanoseconds per tick) or tband_portTIMESTAMP_HZ."
#endif
#if !defined(tband_portENTER_CRITICAL_FROM_ANY) || !defined(tband_portEXIT_CRITICAL_FROM_ANY)
#error "tband_port.h must define tband_portENTER_CRITICAL_FROM_ANY() and tband_portEXIT_CRITICAL_FROM_ANY()."
#endif
#ifndef tband_portNUMBER_OF_CORES
#define tband_portNUMBER_OF_CORES 1
#endif
#ifndef tband_portGET_CORE_ID
#if tband_portNUMBER_OF_CORES > 1
#error "tband_port.h must define tband_portGET_CORE_ID(): there are several cores."
#endif
#define tband_portGET_CORE_ID() 0
#endif
#if tband_portNUMBER_OF_CORES < 1 || tband_portNUMBER_OF_CORES > 16
#error "tband_portNUMBER_OF_CORES must be 1 to 16."
#endif
#if tband_configUSE_BACKEND_STREAMING == 1 && !defined(tband_portBACKEND_STREAM_DATA)
#error "The streaming backend needs tband_portBACKEND_STREAM_DATA(buf, len) in tband_port.h or tband_config.h."
#endif
#ifndef tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK
#define tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK() ((void)0)
#endif
/* Where the post-mortem ring lives: memory that start-up code does not clear. */
#ifndef tband_portNOINIT
#define tband_portNOINIT __attribute__((section(".noinit")))
#endif
/* How many low bits of tband_portTIMESTAMP() count. Up to 32 the library extends the clock itself, as long as an event is
 * recorded (or lost) at least once per wrap. */
#ifndef tband_portTIMESTAMP_BITS
#define tband_portTIMESTAMP_BITS 64
#endif
#if tband_portTIMESTAMP_BITS != 64 && (tband_portTIMESTAMP_BITS < 8 || tband_portTIMESTAMP_BITS > 32)
#error "tband_portTIMESTAMP_BITS must be 8 to 32, or 64."
#endif
#define TBAND_CLOCK_MASK (UINT32_MAX >> (32 - tband_portTIMESTAMP_BITS))
/* Nanoseconds per tick as a fraction: exact where an integer is not. */
#ifdef tband_portTIMESTAMP_HZ
/* In lower terms where that is easy: every sync has the fraction. */
#define TBAND_HZ_UNIT                                                                                                        \
    ((tband_portTIMESTAMP_HZ) % 1000000u == 0 ? 1000000u : (tband_portTIMESTAMP_HZ) % 1000u == 0 ? 1000u : 1u)
#define TBAND_NS_NUM (1000000000u / TBAND_HZ_UNIT)
#define TBAND_NS_DEN ((tband_portTIMESTAMP_HZ) / TBAND_HZ_UNIT)
#ifndef tband_portTIMESTAMP_RESOLUTION_NS
#define tband_portTIMESTAMP_RESOLUTION_NS ((UINT64_C(1000000000) + (tband_portTIMESTAMP_HZ) / 2u) / (tband_portTIMESTAMP_HZ))
#if tband_configCOMPAT == 1
/* A clock that is only known when the firmware runs passes. */
#ifdef __cplusplus
#define TBAND_CLOCK_IF_KNOWN 1000000000u
#else
#define TBAND_CLOCK_IF_KNOWN                                                                                                 \
    __builtin_choose_expr(__builtin_constant_p(tband_portTIMESTAMP_HZ), (uint64_t)(tband_portTIMESTAMP_HZ), UINT64_C(1000000000))
#endif
#define TBAND_NS_ROUNDED ((UINT64_C(1000000000) + TBAND_CLOCK_IF_KNOWN / 2u) / TBAND_CLOCK_IF_KNOWN)
/* What all ticks of a second are off, in nanoseconds. */
#define TBAND_NS_OFF                                                                                                         \
    (TBAND_NS_ROUNDED * TBAND_CLOCK_IF_KNOWN > UINT64_C(1000000000)                                                          \
         ? TBAND_NS_ROUNDED * TBAND_CLOCK_IF_KNOWN - UINT64_C(1000000000)                                                    \
         : UINT64_C(1000000000) - TBAND_NS_ROUNDED * TBAND_CLOCK_IF_KNOWN)
_Static_assert(TBAND_NS_OFF <= 10000000u,
               "The plain format has whole nanoseconds per tick only, and none is within 1 % of this clock: divide the clock, "
               "use the superset (tband_configCOMPAT 0), or accept the error by setting tband_portTIMESTAMP_RESOLUTION_NS.");
#endif
#endif
#else
#define TBAND_NS_NUM (tband_portTIMESTAMP_RESOLUTION_NS)
#define TBAND_NS_DEN 1u
#endif

/* Keeps what happens now and then, and its stack, out of what happens always. */
#define TBAND_NOINLINE __attribute__((noinline))
#define TBAND_INLINE inline __attribute__((always_inline))
#ifdef __OPTIMIZE_SIZE__
#define TBAND_APART TBAND_NOINLINE
#else
#define TBAND_APART inline
#endif

#define TBAND_CORES tband_portNUMBER_OF_CORES
#define TBAND_METADATA 0x1000u
/* Beside an event: metadata that the kernel knows, and that is sent again when a recording starts. */
#define TBAND_UNKEPT 0x2000u
#define TBAND_FIELDS(event) (((event) >> 8) & 0xfu)

/* ---- Mutual exclusion ------------------------------------------------------------------------------------------------ */

#if TBAND_CORES > 1
#include <stdatomic.h>
/* A word that any core may look at without the lock. */
typedef _Atomic uint32_t tband_word;
#define TBAND_LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)
#define TBAND_STORE(word, value) atomic_store_explicit(&(word), (value), memory_order_relaxed)
#ifndef tband_portSPINLOCK_ACQUIRE
#if !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_4) && !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_1)
#error                                                                                                                       \
    "These cores have no atomic exchange: tband_port.h must define tband_portSPINLOCK_ACQUIRE() and tband_portSPINLOCK_RELEASE(), see port/rp2040."
#endif
extern atomic_flag tband_spinlock;
#define tband_portSPINLOCK_ACQUIRE()                                                                                         \
    do {                                                                                                                     \
    } while (atomic_flag_test_and_set_explicit(&tband_spinlock, memory_order_acquire))
#define tband_portSPINLOCK_RELEASE() atomic_flag_clear_explicit(&tband_spinlock, memory_order_release)
#endif
#else
/* One core needs no atomic access, which small ones do not have. */
typedef volatile uint32_t tband_word;
#define TBAND_LOAD(word) (word)
#define TBAND_STORE(word, value) ((word) = (value))
#undef tband_portSPINLOCK_ACQUIRE
#undef tband_portSPINLOCK_RELEASE
#define tband_portSPINLOCK_ACQUIRE() ((void)0)
#define tband_portSPINLOCK_RELEASE() ((void)0)
#endif

/* First the interrupts of this core, then the other cores. The port's macro may declare variables: both are in one block. */
#define TBAND_LOCK()                                                                                                         \
    tband_portENTER_CRITICAL_FROM_ANY();                                                                                     \
    tband_portSPINLOCK_ACQUIRE()
#define TBAND_UNLOCK()                                                                                                       \
    tband_portSPINLOCK_RELEASE();                                                                                            \
    tband_portEXIT_CRITICAL_FROM_ANY()

/* Around what one core reads, or writes, at once: only other cores are excluded. */
#if TBAND_CORES > 1
#define TBAND_LOCK_CORES() TBAND_LOCK()
#define TBAND_UNLOCK_CORES() TBAND_UNLOCK()
#else
#define TBAND_LOCK_CORES() ((void)0)
#define TBAND_UNLOCK_CORES() ((void)0)
#endif

static inline uint32_t tband_core(void) {
#if TBAND_CORES > 1
    return (uint32_t)tband_portGET_CORE_ID();
#else
    return 0;
#endif
}

/* ---- Building a frame -------------------------------------------------------------------------------------------------- */

/* Frames longer than one COBS block need the general encoder. */
#define TBAND_LONG_FRAMES (tband_configMAX_STR_LEN > (tband_configLOG_ENABLE == 1 ? 150 : 230))

#if tband_configCOMPAT == 1
#define TBAND_TIME_MAX 10u
#else
#define TBAND_TIME_MAX 5u
#endif
/* Room in front of the fields for the COBS code, the id and the time, which are put there last. */
#define TBAND_HEAD (2u + TBAND_TIME_MAX)
#define TBAND_TEXT_MAX ((size_t)(tband_configMAX_STR_LEN))
/* A sink may read a frame by whole words. */
#define TBAND_SLACK 3u
/* A frame whose fields take at most `bytes`, with the final 00. */
#define TBAND_FRAME_SIZE(bytes) (TBAND_HEAD + (bytes) + 1u + TBAND_SLACK + (TBAND_LONG_FRAMES ? (bytes) / 254u + 1u : 0u))

/* The fields of a frame are written front to back. `code` is the place of the last zero byte (at first: the byte in front of
 * the fields), where the distance to the next zero is written: that is all of COBS while a frame fits into one block. */
struct tband_cursor {
    uint8_t *at;
    uint8_t *code;
};

static inline struct tband_cursor tband_begin(uint8_t *frame) {
    struct tband_cursor c = {frame + TBAND_HEAD, frame + TBAND_HEAD - 1};
    return c;
}

/* Marks the byte at the cursor, which is zero or the end. */
static inline void tband_mark_zero(struct tband_cursor *c) {
#if !TBAND_LONG_FRAMES
    *c->code = (uint8_t)(c->at - c->code);
    c->code = c->at;
#else
    (void)c;
#endif
}

static inline void tband_put_u32(struct tband_cursor *c, uint32_t v) {
    uint8_t *at = c->at;
    while (v > 0x7fu) {
        *at++ = (uint8_t)(v | 0x80u);
        v >>= 7;
    }
    *at = (uint8_t)v;
    c->at = at;
    if (v == 0) {
        /* Only the value 0 has a zero byte. */
        tband_mark_zero(c);
    }
    c->at = at + 1;
}

static inline void tband_put_u64(struct tband_cursor *c, uint64_t v) {
    while ((uint32_t)(v >> 32) != 0) {
        *c->at++ = (uint8_t)((uint32_t)v | 0x80u);
        v >>= 7;
    }
    tband_put_u32(c, (uint32_t)v);
}

static inline void tband_put_text(struct tband_cursor *c, const char *text) {
    if (text != NULL) {
        uint8_t *at = c->at;
        const uint8_t *const end = at + TBAND_TEXT_MAX;
        while (at != end && *text != '\0') {
            *at++ = (uint8_t)*text++;
        }
        c->at = at;
    }
}

/* ---- Sending it ---------------------------------------------------------------------------------------------------------- */

/* An event with as many of the integers as it has. */
void tband_emit(uint32_t event, uint32_t a, uint32_t b, uint32_t c);
/* An event with one integer. */
void tband_emit_one(uint32_t event, uint32_t a);
/* One or two integers and a string. */
void tband_emit_text(uint32_t event, uint32_t a, uint32_t b, const char *text);
/* One integer and a signed value. */
void tband_emit_value(uint32_t event, uint32_t id, int64_t value);

/* An address and a size. */
void tband_emit_address(uint32_t event, uint64_t address, uint32_t bytes);

/* One integer of 64 bits. */
void tband_emit_wide(uint32_t event, uint64_t value);

struct tband_channel {
    uint64_t last;      /* time of the last event, ticks */
    uint32_t seq;       /* frames since the recording started */
    uint32_t sync_in;   /* frames until a sync (plain format: a drop counter) is due; 0: before the next frame */
#if tband_configCOMPAT == 1
    uint32_t core;      /* the core that the last frame belongs to */
#endif
    bool begun;         /* the first sync of the recording was sent */
};

enum tband_phase { TBAND_IDLE, TBAND_STARTING, TBAND_RECORDING };

/* Flags of a sync frame. */
#define TBAND_SYNC_FREERTOS 0x01u
#define TBAND_SYNC_START 0x02u
#define TBAND_SYNC_STOP 0x04u
#define TBAND_SYNC_BACKEND_SHIFT 4u

#if tband_configUSE_BACKEND_SNAPSHOT == 1
#define TBAND_CHANNELS TBAND_CORES
#else
#define TBAND_CHANNELS 1
#endif

/* Whether it is recorded who runs: where a recording begins, and where frames that said it may be missing. */
#define TBAND_TRACES_TASKS (tband_configFREERTOS_TRACE_ENABLE == 1 && tband_configFREERTOS_TASK_TRACE_ENABLE == 1)
#define TBAND_TELLS_RUNNING (TBAND_TRACES_TASKS && tband_configUSE_BACKEND_EXTERNAL == 0)
/* Whether names are sent again from time to time. */
#define TBAND_REPEATS                                                                                                        \
    (tband_configCOMPAT == 0 && tband_configMETADATA_REPEAT_EVERY > 0 &&                                                     \
     (tband_configUSE_METADATA_BUF == 1 || tband_configFREERTOS_TRACE_ENABLE == 1))

struct tband_state {
    struct tband_channel channel[TBAND_CHANNELS];
#if tband_portTIMESTAMP_BITS < 64 && TBAND_CHANNELS > 1
    uint64_t clock; /* the port's clock, extended */
#endif
    uint32_t dropped;
    uint32_t metadata_dropped;
    tband_word phase; /* enum tband_phase; changed under the lock, also looked at without it */
#if tband_configUSE_METADATA_BUF == 1
    uint32_t metadata_used[TBAND_CORES];
#endif
#if TBAND_REPEATS
    uint32_t repeat_in;   /* syncs until a name is repeated */
    uint32_t repeat_core; /* the next one: in which metadata buffer, and where; after them those that the kernel knows */
    uint32_t repeat_at;
#endif
#if TBAND_TRACES_TASKS
    tband_word told_running[TBAND_CORES]; /* 0: who runs there has to be recorded even if it is the same task */
#endif
#if TBAND_TELLS_RUNNING && tband_configUSE_BACKEND_POST_MORTEM == 1 && tband_configCOMPAT == 0
    bool running_due; /* a segment of the ring began: who runs follows its sync */
#endif
#if tband_configCOMPAT == 1
    bool told_clock;
#endif
};

extern struct tband_state tband;

static inline bool tband_is(enum tband_phase phase) { return TBAND_LOAD(tband.phase) == (uint32_t)phase; }

static inline void tband_enter_phase(enum tband_phase phase) { TBAND_STORE(tband.phase, (uint32_t)phase); }

/* Whether events are recorded, and whether frames are sent at all, as at the start of a recording. The external backend is never off. */
#if tband_configUSE_BACKEND_EXTERNAL == 1
#define TBAND_RECORDS() (true)
#define TBAND_ACCEPTS() (true)
#else
#define TBAND_RECORDS() tband_is(TBAND_RECORDING)
#define TBAND_ACCEPTS() (!tband_is(TBAND_IDLE))
#endif

/* Whether an event goes anywhere at all. */
static inline bool tband_wants(uint32_t event) {
    return TBAND_RECORDS() ||
           (tband_configUSE_METADATA_BUF == 1 && (event & (TBAND_METADATA | TBAND_UNKEPT)) == TBAND_METADATA);
}

/* Begins every channel of a new recording. Under the lock. */
void tband_start_channels(void);
/* Last words of every channel. Under the lock. */
void tband_end_channels(void);
/* From now on events are recorded; in the same critical section, who runs. Before that the metadata buffers, one frame at a time.
 * True: not all of them was taken. Not under the lock. */
bool tband_record(bool with_metadata);

#if tband_configFREERTOS_TRACE_ENABLE == 1
/* A name that the kernel knows. */
struct tband_name {
    uint32_t event; /* 0: none at this place */
    uint32_t a;
    uint32_t b;
    const char *text; /* NULL: an event of two integers */
};

/* What tband_freertos.c does for the rest. NULL before the kernel made its first object, and in firmware without that file. */
struct tband_rtos {
    /* Sends names and state of every known object. Not under the lock. */
    void (*dump)(void);
    /* The name at place `i` of all; false after the last. Under the lock. */
    bool (*name)(uint32_t i, struct tband_name *name);
};
extern const struct tband_rtos *tband_rtos;

/* Id of the task that runs on each core; 0 before the first. Each core writes its own, any may look. */
extern tband_word tband_freertos_current[TBAND_CORES];

/* Id of the task that calls. With several cores it must not move to another one meanwhile. */
static inline uint32_t tband_current_task(void) {
    uint32_t task;
    TBAND_LOCK_CORES();
    task = TBAND_LOAD(tband_freertos_current[tband_core()]);
    TBAND_UNLOCK_CORES();
    return task;
}
#endif

/* ---- Backends ------------------------------------------------------------------------------------------------------------ */

/* Takes one frame. True: dropped. Under the lock. */
#if tband_configUSE_BACKEND_STREAMING == 1
static inline bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)core;
    (void)is_metadata;
    return tband_portBACKEND_STREAM_DATA((const uint8_t *)frame, len);
}
#elif tband_configUSE_BACKEND_EXTERNAL == 1
static inline bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata) {
    (void)core;
    return tband_submit_to_backend(frame, len, is_metadata);
}
#else
bool tband_backend_write(uint32_t core, uint8_t *frame, size_t len, bool is_metadata);
#endif
#if tband_configUSE_BACKEND_POST_MORTEM == 1
/* Makes room for a frame of up to `len` bytes. True: a new segment was begun, which needs a sync. */
bool tband_post_mortem_reserve(size_t len);
/* Puts a copy of new metadata into the ring. */
void tband_post_mortem_keep(uint32_t core, uint32_t offset, const uint8_t *bytes, uint32_t len);
#endif

#endif /* tband_configENABLE */

#endif
