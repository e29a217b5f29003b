/* Tonbandgerät-compatible tracer for bare-metal and FreeRTOS firmware.
 *
 * The only header to include, in application code and at the end of FreeRTOSConfig.h. The user provides two headers:
 * tband_config.h (settings, see README.md; may be empty) and tband_port.h (clock, critical section, sink).
 *
 * What the comments below mean by
 *
 * any context   tasks, interrupts and critical sections, on any core, before and after the scheduler starts. Not from interrupts
 *               that the port's critical section does not hold off.
 * a task        a task, or main() before the scheduler starts. Never an interrupt, never inside a critical section.
 * event cost    the time and the stack of one event: README.md, "What it costs", has the figures. Interrupts are held off only for
 *               its second half.
 *
 * Functions that return int return 0 if all went well and a negative number if nothing happened. A sink, a backend and every
 * function inside the library that takes a frame return true if the frame was *dropped*. */
#ifndef TBAND_H_
#define TBAND_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* Applications of the original library rely on these. */
#if defined(__STDC_HOSTED__) && __STDC_HOSTED__ == 1
#include <stdlib.h>
#endif

#include "tband_config.h"
#include "tband_config_check.h"

#ifdef __cplusplus
extern "C" {
#endif

#if tband_configENABLE == 1

#include "tband_events.h"

/* ---- Recording ------------------------------------------------------------------------------------------------------- */

/** True while events are recorded. Any context; a load. */
bool tband_tracing_enabled(void);
/** True when no core records any more: buffers may be read. Any context; a load. */
bool tband_tracing_finished(void);
/** The same for one core, as all cores start and stop together. Any context; a load. */
bool tband_tracing_backend_finished(unsigned int core_id);
/** Events lost since boot because the backend had no room, modulo 2^32. Any context; a load (several cores: the lock). */
uint32_t tband_dropped_events(void);
/** Plain format: writes the resolution of the clock to the metadata buffer. Starting a recording does it if this was not called.
 * Superset: nothing, as every sync has it. Any context; event cost. */
void tband_gather_system_metadata(void);

#if tband_configUSE_METADATA_BUF == 1
/** The names that one core keeps since boot. Belongs in front of a snapshot. NULL: there is no such core. The content grows
 * while names are given; read it when no core gives any. Any context. */
const volatile uint8_t *tband_get_metadata_buf(unsigned int core_id);
/** Valid bytes of it, 0 to tband_configMETADATA_BUF_SIZE. Any context; a load (several cores: the lock). */
size_t tband_get_metadata_buf_amnt(unsigned int core_id);
/** Metadata frames that did not fit: raise tband_configMETADATA_BUF_SIZE. Also reported in every recording. Any context. */
uint32_t tband_metadata_dropped(void);
#endif

/* The functions that start a recording send names and the state of the kernel's objects, one object at a time: some 100 frames with
 * 30 objects, which the sink must have room for. Interrupts are held off for one frame at a time. */

#if tband_configUSE_BACKEND_STREAMING == 1
/** Sends the metadata buffer and the current state, then events as they happen. 0; -1: it streams already; -2: the sink dropped
 * metadata, and nothing is recorded. A task. */
int tband_start_streaming(void);
/** The same without the metadata buffer, for a receiver that has it already. 0; -1: it streams already. A task. */
int tband_restart_streaming(void);
/** Ends the stream. 0; -1: it did not stream. Any context; event cost. */
int tband_stop_streaming(void);
#endif

#if tband_configUSE_BACKEND_SNAPSHOT == 1
/** Records until the buffer of one core is full. 0; -1: it records already. A task. */
int tband_trigger_snapshot(void);
/** Stops before that. 0; -1: it did not record. Any context; event cost. */
int tband_stop_snapshot(void);
/** Empties the buffers. 0; -1: it still records. Any context. */
int tband_reset_snapshot(void);
/** A core's buffer. NULL: there is no such core. Any context. */
const volatile uint8_t *tband_get_core_snapshot_buf(unsigned int core_id);
/** Valid bytes of it; 0 while it records. Any context. */
size_t tband_get_core_snapshot_buf_amnt(unsigned int core_id);
#endif

#if tband_configUSE_BACKEND_POST_MORTEM == 1
/** Empties the ring and records until stopped, keeping the newest frames. What an earlier run left is gone: read it first.
 * 0; -1: it records already. A task. */
int tband_start_post_mortem(void);
/** Stops. 0; -1: it did not record. Any context; event cost. */
int tband_stop_post_mortem(void);
/** Bytes of the recording in the ring, also of one that a reset ended; 0 if there is none or while recording. A task. */
size_t tband_post_mortem_size(void);
/** Copies up to `len` bytes from `offset` of the recording, which is a complete capture file; returns how many. A task. */
size_t tband_post_mortem_read(size_t offset, void *dst, size_t len);
/** Forgets the recording. 0; -1: it still records. A task. */
int tband_clear_post_mortem(void);
#endif

#if tband_configUSE_BACKEND_EXTERNAL == 1
/** Provided by the user: takes one frame; true if it was dropped. Called inside the critical section, by one core at a time. */
bool tband_submit_to_backend(uint8_t *buf, size_t len, bool is_metadata);
#endif

/* ---- Interrupts (ids are per core) ----------------------------------------------------------------------------------- */

#if tband_configISR_TRACE_ENABLE == 1
/** Names interrupt `id` of the core that calls. The text is cut at tband_configMAX_STR_LEN bytes. Any context; event cost. */
void tband_isr_name(uint32_t id, const char *name);
/** First thing in a handler. Any context; event cost. */
void tband_isr_enter(uint32_t id);
/** Last thing in a handler, before it asks for a task switch. Any context; event cost. */
void tband_isr_exit(uint32_t id);
#endif

/* ---- Markers (ids are global) ---------------------------------------------------------------------------------------- */

#if tband_configMARKER_TRACE_ENABLE == 1
/** Names event marker `id`. Texts are cut at tband_configMAX_STR_LEN bytes. Any context; event cost. */
void tband_evtmarker_name(uint32_t id, const char *name);
/** An instant with a text; NULL is the empty text. Any context; event cost. */
void tband_evtmarker(uint32_t id, const char *msg);
/** A span begins; spans of one id nest. Any context; event cost. */
void tband_evtmarker_begin(uint32_t id, const char *msg);
/** The innermost open span of the id ends. Any context; event cost. */
void tband_evtmarker_end(uint32_t id);
/** Names value marker `id`. Any context; event cost. */
void tband_valmarker_name(uint32_t id, const char *name);
/** A value over time. Any context; event cost. */
void tband_valmarker(uint32_t id, int64_t val);
#endif

/* ---- Functions ------------------------------------------------------------------------------------------------------- */

/** Excludes a function from tracing. */
#define TBAND_NO_TRACE __attribute__((no_instrument_function))
#if tband_configFUNCTION_TRACE_ENABLE == 1
/** From now on only functions from the one address up to the other are recorded; before the first call all are. Any context, but not
 * while functions are recorded: their ends would be missing. */
void tband_functions_between(const void *from, const void *to);
#endif

/* ---- FreeRTOS -------------------------------------------------------------------------------------------------------- */

#if tband_configFREERTOS_TRACE_ENABLE == 1
/** Records which tasks are the idle tasks and the timer task. The library does it when the scheduler starts; a call is harmless. A task. */
void tband_freertos_scheduler_started(void);
/** Records the least free stack of every known task. It walks the stacks with the scheduler suspended, so not too often. A task. */
void tband_freertos_sample_stacks(void);
#if tband_configMARKER_TRACE_ENABLE == 1
/** Markers of the task that runs on this core; their ids are per task. Tasks only; event cost. */
void tband_freertos_task_evtmarker_name(uint32_t id, const char *name);
void tband_freertos_task_evtmarker(uint32_t id, const char *msg);
void tband_freertos_task_evtmarker_begin(uint32_t id, const char *msg);
void tband_freertos_task_evtmarker_end(uint32_t id);
void tband_freertos_task_valmarker_name(uint32_t id, const char *name);
void tband_freertos_task_valmarker(uint32_t id, int64_t val);
#endif
#endif

#endif /* tband_configENABLE */

/* ---- What a setting leaves out costs nothing ------------------------------------------------------------------------- */

#if tband_configENABLE == 0
/* Functions, so that no compiler warns of a call whose value is not used. */
static inline bool tband_tracing_enabled(void) { return false; }
static inline bool tband_tracing_finished(void) { return true; }
static inline bool tband_tracing_backend_finished(unsigned int core_id) {
    (void)core_id;
    return true;
}
static inline uint32_t tband_dropped_events(void) { return 0; }
static inline void tband_gather_system_metadata(void) {}
static inline const volatile uint8_t *tband_get_metadata_buf(unsigned int core_id) {
    (void)core_id;
    return NULL;
}
static inline size_t tband_get_metadata_buf_amnt(unsigned int core_id) {
    (void)core_id;
    return 0;
}
static inline uint32_t tband_metadata_dropped(void) { return 0; }
static inline int tband_start_streaming(void) { return 0; }
static inline int tband_restart_streaming(void) { return 0; }
static inline int tband_stop_streaming(void) { return 0; }
static inline int tband_trigger_snapshot(void) { return 0; }
static inline int tband_stop_snapshot(void) { return 0; }
static inline int tband_reset_snapshot(void) { return 0; }
static inline const volatile uint8_t *tband_get_core_snapshot_buf(unsigned int core_id) {
    (void)core_id;
    return NULL;
}
static inline size_t tband_get_core_snapshot_buf_amnt(unsigned int core_id) {
    (void)core_id;
    return 0;
}
static inline int tband_start_post_mortem(void) { return 0; }
static inline int tband_stop_post_mortem(void) { return 0; }
static inline size_t tband_post_mortem_size(void) { return 0; }
static inline size_t tband_post_mortem_read(size_t offset, void *dst, size_t len) {
    (void)offset;
    (void)dst;
    (void)len;
    return 0;
}
static inline int tband_clear_post_mortem(void) { return 0; }
#endif

#if tband_configENABLE == 0
#define TBAND_NO_TRACE
#endif
#if tband_configENABLE == 0 || tband_configFUNCTION_TRACE_ENABLE == 0
#define tband_functions_between(from, to) ((void)(from), (void)(to))
#endif

#if tband_configENABLE == 0 || tband_configISR_TRACE_ENABLE == 0
#define tband_isr_name(id, name) ((void)(id), (void)(name))
#define tband_isr_enter(id) ((void)(id))
#define tband_isr_exit(id) ((void)(id))
#endif

#if tband_configENABLE == 0 || tband_configMARKER_TRACE_ENABLE == 0
#define tband_evtmarker_name(id, name) ((void)(id), (void)(name))
#define tband_evtmarker(id, msg) ((void)(id), (void)(msg))
#define tband_evtmarker_begin(id, msg) ((void)(id), (void)(msg))
#define tband_evtmarker_end(id) ((void)(id))
#define tband_valmarker_name(id, name) ((void)(id), (void)(name))
#define tband_valmarker(id, val) ((void)(id), (void)(val))
#endif

#if tband_configENABLE == 0 || tband_configFREERTOS_TRACE_ENABLE == 0
#define tband_freertos_scheduler_started() ((void)0)
#define tband_freertos_sample_stacks() ((void)0)
#endif

#if tband_configENABLE == 0 || tband_configFREERTOS_TRACE_ENABLE == 0 || tband_configMARKER_TRACE_ENABLE == 0
#define tband_freertos_task_evtmarker_name(id, name) ((void)(id), (void)(name))
#define tband_freertos_task_evtmarker(id, msg) ((void)(id), (void)(msg))
#define tband_freertos_task_evtmarker_begin(id, msg) ((void)(id), (void)(msg))
#define tband_freertos_task_evtmarker_end(id) ((void)(id))
#define tband_freertos_task_valmarker_name(id, name) ((void)(id), (void)(name))
#define tband_freertos_task_valmarker(id, val) ((void)(id), (void)(val))
#endif

/* ---- Functions as spans ---------------------------------------------------------------------------------------------- */

#if tband_configENABLE == 1 && tband_configMARKER_TRACE_ENABLE == 1
/* Names event marker `id` after the calling function, once. */
#define TBAND_FN_NAME(id)                                                                                                    \
    do {                                                                                                                     \
        static bool tband_fn_is_named = false;                                                                               \
        if (!tband_fn_is_named) {                                                                                            \
            tband_fn_is_named = true;                                                                                        \
            tband_evtmarker_name((id), __func__);                                                                            \
        }                                                                                                                    \
    } while (0)
#else
#define TBAND_FN_NAME(id) ((void)(id))
#endif

/* An instant in event marker `id`, which gets the calling function's name. */
#define tband_fn(id)                                                                                                         \
    do {                                                                                                                     \
        TBAND_FN_NAME(id);                                                                                                   \
        tband_evtmarker((id), "");                                                                                           \
    } while (0)
/* The same as a span: begin as a statement of its own where the function begins, end before each return. The span knows its marker:
 * tband_fn_end() is in the block of tband_fn_begin() or within it. */
#define tband_fn_begin(id)                                                                                                   \
    const uint32_t tband_fn_id = (id);                                                                                       \
    TBAND_FN_NAME(tband_fn_id);                                                                                              \
    tband_evtmarker_begin(tband_fn_id, "")
#define tband_fn_end() tband_evtmarker_end(tband_fn_id)
/* Elsewhere, with the marker's id. */
#define tband_fn_end_of(id) tband_evtmarker_end(id)

#include "tband_log.h"

#if tband_configENABLE == 1 && tband_configFREERTOS_TRACE_ENABLE == 1
#include "tband_freertos.h"
#else
#define tband_freertos_queue_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_binary_semaphore_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_counting_semaphore_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_mutex_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_recursive_mutex_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_queue_set_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_stream_buffer_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_message_buffer_name(handle, name) ((void)(handle), (void)(name))
#define tband_freertos_event_group_name(handle, name) ((void)(handle), (void)(name))
#endif

#ifdef __cplusplus
}
#endif

/* Applications use tband_portNUMBER_OF_CORES. Not from within FreeRTOSConfig.h, where a port that needs the kernel's headers
 * cannot be read yet. */
#if tband_configENABLE == 1 && tband_configFREERTOS_TRACE_ENABLE == 0 && !defined(INC_FREERTOS_H) && !defined(__cplusplus)
#include "tband_port.h"
#endif

#endif
