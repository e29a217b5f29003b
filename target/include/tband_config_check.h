/* Defaults of every setting of tband_config.h, and the combinations that make no sense. Included by tband.h. */
#ifndef TBAND_CONFIG_CHECK_H_
#define TBAND_CONFIG_CHECK_H_

/* 1: record; 0: every call vanishes. */
#ifndef tband_configENABLE
#define tband_configENABLE 0
#endif

/* 1: the plain Tonbandgerät format; 0: the superset that FORMAT.md describes (smaller, and it notices losses). */
#ifndef tband_configCOMPAT
#define tband_configCOMPAT 0
#endif

/* Strings are cut after this number of bytes. */
#ifndef tband_configMAX_STR_LEN
#define tband_configMAX_STR_LEN 20
#endif

/* Plain format: the drop counter is sent after this number of events; 0: only after a loss. */
#ifndef tband_configTRACE_DROP_CNT_EVERY
#define tband_configTRACE_DROP_CNT_EVERY 50
#endif

/* Superset: a sync frame is sent after this number of frames. */
#ifndef tband_configSYNC_EVERY
#define tband_configSYNC_EVERY 100
#endif

#ifndef tband_configMARKER_TRACE_ENABLE
#define tband_configMARKER_TRACE_ENABLE 1
#endif
#ifndef tband_configISR_TRACE_ENABLE
#define tband_configISR_TRACE_ENABLE 1
#endif

/* Superset: functions compiled with -finstrument-functions (src/tband_functions.c). */
#ifndef tband_configFUNCTION_TRACE_ENABLE
#define tband_configFUNCTION_TRACE_ENABLE 0
#endif
/* Calls within each other that are recorded, per task; 0: all. Costs two bytes for each task and core. */
#ifndef tband_configFUNCTION_MAX_DEPTH
#define tband_configFUNCTION_MAX_DEPTH 0
#endif
/* With a depth: tasks whose depth is counted, in order of creation. */
#ifndef tband_configFUNCTION_TASKS
#define tband_configFUNCTION_TASKS 16
#endif

/* Superset: tband_log(), and the least severity that is compiled (TBAND_LOG_VERBOSE, 1, to TBAND_LOG_FATAL, 6). */
#ifndef tband_configLOG_ENABLE
#define tband_configLOG_ENABLE 0
#endif
#ifndef tband_configLOG_LEVEL
#define tband_configLOG_LEVEL 0
#endif

/* Keeps names given before a recording starts; bytes per core. */
#ifndef tband_configUSE_METADATA_BUF
#define tband_configUSE_METADATA_BUF 1
#endif
#ifndef tband_configMETADATA_BUF_SIZE
#define tband_configMETADATA_BUF_SIZE 256
#endif

#ifndef tband_configUSE_BACKEND_STREAMING
#define tband_configUSE_BACKEND_STREAMING 0
#endif
#ifndef tband_configUSE_BACKEND_SNAPSHOT
#define tband_configUSE_BACKEND_SNAPSHOT 0
#endif
#ifndef tband_configUSE_BACKEND_POST_MORTEM
#define tband_configUSE_BACKEND_POST_MORTEM 0
#endif
#ifndef tband_configUSE_BACKEND_EXTERNAL
#define tband_configUSE_BACKEND_EXTERNAL 0
#endif

/* Superset: a kept name is sent again after this number of syncs, one after the other; 0: never. Whoever joins in mid-stream has
 * names after a while. */
#ifndef tband_configMETADATA_REPEAT_EVERY
#if tband_configUSE_BACKEND_STREAMING == 1
#define tband_configMETADATA_REPEAT_EVERY 1
#else
#define tband_configMETADATA_REPEAT_EVERY 0
#endif
#endif

/* Bytes per core. */
#ifndef tband_configBACKEND_SNAPSHOT_BUF_SIZE
#define tband_configBACKEND_SNAPSHOT_BUF_SIZE 32768
#endif
/* Bytes in all, and the number of equal segments they are divided into: the oldest segment is dropped as a whole. */
#ifndef tband_configBACKEND_POST_MORTEM_BUF_SIZE
#define tband_configBACKEND_POST_MORTEM_BUF_SIZE 8192
#endif
#ifndef tband_configBACKEND_POST_MORTEM_SEGMENTS
#define tband_configBACKEND_POST_MORTEM_SEGMENTS 8
#endif

#ifndef tband_configFREERTOS_TRACE_ENABLE
#define tband_configFREERTOS_TRACE_ENABLE 0
#endif
#ifndef tband_configFREERTOS_TASK_TRACE_ENABLE
#define tband_configFREERTOS_TASK_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_QUEUE_TRACE_ENABLE
#define tband_configFREERTOS_QUEUE_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE
#define tband_configFREERTOS_STREAM_BUFFER_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_NOTIFY_TRACE_ENABLE
#define tband_configFREERTOS_NOTIFY_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE
#define tband_configFREERTOS_EVENT_GROUP_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_TIMER_TRACE_ENABLE
#define tband_configFREERTOS_TIMER_TRACE_ENABLE 1
#endif
#ifndef tband_configFREERTOS_HEAP_TRACE_ENABLE
#define tband_configFREERTOS_HEAP_TRACE_ENABLE 1
#endif
/* Tasks, queues, stream buffers and event groups whose state is sent when a recording starts (one pointer of RAM each);
 * 0: send no state. */
#ifndef tband_configFREERTOS_MAX_OBJECTS
#define tband_configFREERTOS_MAX_OBJECTS 32
#endif

#if tband_configENABLE != 0 && tband_configENABLE != 1
#error "tband_configENABLE must be 0 or 1."
#endif

#if tband_configENABLE == 1

#if tband_configUSE_BACKEND_STREAMING + tband_configUSE_BACKEND_SNAPSHOT + tband_configUSE_BACKEND_POST_MORTEM +             \
        tband_configUSE_BACKEND_EXTERNAL !=                                                                                  \
    1
#error                                                                                                                       \
    "Set exactly one of tband_configUSE_BACKEND_STREAMING, _SNAPSHOT, _POST_MORTEM and _EXTERNAL to 1 (and the others to 0)."
#endif
#if tband_configCOMPAT != 0 && tband_configCOMPAT != 1
#error "tband_configCOMPAT must be 0 (superset format) or 1 (plain Tonbandgeraet format)."
#endif
#if tband_configMAX_STR_LEN < 1 || tband_configMAX_STR_LEN > 1024
#error "tband_configMAX_STR_LEN must be 1 to 1024 bytes: a frame is built on the stack."
#endif
#if tband_configTRACE_DROP_CNT_EVERY < 0
#error "tband_configTRACE_DROP_CNT_EVERY must be 0 (off) or a number of events."
#endif
#if tband_configSYNC_EVERY < 1
#error "tband_configSYNC_EVERY must be at least 1: delta timestamps need absolute ones in between."
#endif
#if tband_configFUNCTION_TRACE_ENABLE == 1 && tband_configCOMPAT == 1
#error "tband_configFUNCTION_TRACE_ENABLE needs the superset: the plain format has no events for functions."
#endif
#if tband_configFUNCTION_MAX_DEPTH < 0 || tband_configFUNCTION_MAX_DEPTH > 65535
#error "tband_configFUNCTION_MAX_DEPTH must be 0 (all functions) to 65535."
#endif
#if tband_configFUNCTION_TASKS < 1
#error "tband_configFUNCTION_TASKS must be at least 1."
#endif
#if tband_configLOG_ENABLE == 1 && tband_configCOMPAT == 1
#error "tband_configLOG_ENABLE needs the superset: the plain format has no event for log messages."
#endif
#if tband_configMETADATA_REPEAT_EVERY < 0
#error "tband_configMETADATA_REPEAT_EVERY must be 0 (off) or a number of syncs."
#endif
#if tband_configUSE_METADATA_BUF == 1 && tband_configMETADATA_BUF_SIZE < 1
#error "tband_configMETADATA_BUF_SIZE must be at least 1, or set tband_configUSE_METADATA_BUF to 0."
#endif
#if tband_configUSE_BACKEND_EXTERNAL == 1 && tband_configUSE_METADATA_BUF == 1
/* The external backend gets every metadata frame itself, as documented. */
#undef tband_configUSE_METADATA_BUF
#define tband_configUSE_METADATA_BUF 0
#endif
#if tband_configUSE_BACKEND_SNAPSHOT == 1 && tband_configBACKEND_SNAPSHOT_BUF_SIZE < 1
#error "tband_configBACKEND_SNAPSHOT_BUF_SIZE must be at least 1 byte."
#endif
#if tband_configUSE_BACKEND_POST_MORTEM == 1
#if tband_configBACKEND_POST_MORTEM_SEGMENTS < 2
#error "tband_configBACKEND_POST_MORTEM_SEGMENTS must be at least 2: one is dropped to make room."
#endif
#if tband_configBACKEND_POST_MORTEM_BUF_SIZE / tband_configBACKEND_POST_MORTEM_SEGMENTS <                                    \
    2 * tband_configMAX_STR_LEN + 128 + 64 * tband_configLOG_ENABLE
#error                                                                                                                       \
    "tband_configBACKEND_POST_MORTEM_BUF_SIZE must give each segment at least 2 * tband_configMAX_STR_LEN + 128 bytes (with log messages 64 more): raise it, or lower tband_configBACKEND_POST_MORTEM_SEGMENTS."
#endif
#endif
#if tband_configFREERTOS_TRACE_ENABLE == 1 && tband_configFREERTOS_MAX_OBJECTS < 0
#error "tband_configFREERTOS_MAX_OBJECTS must be 0 (no state dump) or a number of objects."
#endif

#endif /* tband_configENABLE */

#endif
