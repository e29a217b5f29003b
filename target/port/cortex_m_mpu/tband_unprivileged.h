/* Markers, values and messages of unprivileged tasks, on a Cortex-M with an MPU (M3, M4, M7, M33, M55) under FreeRTOS. The processor ignores it
 * when such a task masks interrupts, and the MPU keeps it off the tracer's memory: so each call is a supervisor call. Include this file after
 * tband.h where code runs unprivileged. The same code may run in privileged tasks, but not in interrupts.
 *
 * tband_unprivileged.c is SVC_Handler. It hands other supervisor calls to the kernel's handler, which has to be called vPortSVCHandler: so
 * FreeRTOSConfig.h does not rename it, on an M33 or M55 has `#define SVC_Handler vPortSVCHandler`, and sets configCHECK_HANDLER_INSTALLATION
 * to 0. */
#ifndef TBAND_UNPRIVILEGED_H_
#define TBAND_UNPRIVILEGED_H_

#include "tband.h"

/* The number of the supervisor call. The kernel's are 0 to 69 and 100 to 105. */
#ifndef tband_portSVC
#define tband_portSVC 200
#endif

#if tband_configENABLE == 1

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TBAND_SVC_EVTMARKER_NAME,
    TBAND_SVC_EVTMARKER,
    TBAND_SVC_EVTMARKER_BEGIN,
    TBAND_SVC_EVTMARKER_END,
    TBAND_SVC_VALMARKER_NAME,
    TBAND_SVC_VALMARKER,
    TBAND_SVC_TASK_EVTMARKER_NAME,
    TBAND_SVC_TASK_EVTMARKER,
    TBAND_SVC_TASK_EVTMARKER_BEGIN,
    TBAND_SVC_TASK_EVTMARKER_END,
    TBAND_SVC_TASK_VALMARKER_NAME,
    TBAND_SVC_TASK_VALMARKER,
    TBAND_SVC_LOG_WORDS,
    TBAND_SVC_LOG_WIDE
};

static inline void tband_svc(uint32_t call, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    register uint32_t r0 __asm("r0") = a;
    register uint32_t r1 __asm("r1") = b;
    register uint32_t r2 __asm("r2") = c;
    register uint32_t r3 __asm("r3") = d;
    register uint32_t r12 __asm("r12") = call;
    __asm volatile("svc %0" ::"i"(tband_portSVC), "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r12) : "memory");
}

static inline void tband_svc_text(uint32_t call, uint32_t id, const char *text) { tband_svc(call, id, (uint32_t)(uintptr_t)text, 0, 0); }

static inline void tband_svc_value(uint32_t call, uint32_t id, int64_t value) {
    tband_svc(call, id, (uint32_t)(uint64_t)value, (uint32_t)((uint64_t)value >> 32), 0);
}

/* Not in the handler, which calls the library. */
#ifndef TBAND_SVC_HANDLER
#if tband_configMARKER_TRACE_ENABLE == 1
#define tband_evtmarker_name(id, name) tband_svc_text(TBAND_SVC_EVTMARKER_NAME, (id), (name))
#define tband_evtmarker(id, msg) tband_svc_text(TBAND_SVC_EVTMARKER, (id), (msg))
#define tband_evtmarker_begin(id, msg) tband_svc_text(TBAND_SVC_EVTMARKER_BEGIN, (id), (msg))
#define tband_evtmarker_end(id) tband_svc(TBAND_SVC_EVTMARKER_END, (id), 0, 0, 0)
#define tband_valmarker_name(id, name) tband_svc_text(TBAND_SVC_VALMARKER_NAME, (id), (name))
#define tband_valmarker(id, value) tband_svc_value(TBAND_SVC_VALMARKER, (id), (value))
#define tband_freertos_task_evtmarker_name(id, name) tband_svc_text(TBAND_SVC_TASK_EVTMARKER_NAME, (id), (name))
#define tband_freertos_task_evtmarker(id, msg) tband_svc_text(TBAND_SVC_TASK_EVTMARKER, (id), (msg))
#define tband_freertos_task_evtmarker_begin(id, msg) tband_svc_text(TBAND_SVC_TASK_EVTMARKER_BEGIN, (id), (msg))
#define tband_freertos_task_evtmarker_end(id) tband_svc(TBAND_SVC_TASK_EVTMARKER_END, (id), 0, 0, 0)
#define tband_freertos_task_valmarker_name(id, name) tband_svc_text(TBAND_SVC_TASK_VALMARKER_NAME, (id), (name))
#define tband_freertos_task_valmarker(id, value) tband_svc_value(TBAND_SVC_TASK_VALMARKER, (id), (value))
#endif

#if tband_configLOG_ENABLE == 1
#define tband_log_words(format, types, a, b) tband_svc(TBAND_SVC_LOG_WORDS, (format), (types), (a), (b))
#define tband_log_wide(format, types, arguments)                                                                             \
    tband_svc(TBAND_SVC_LOG_WIDE, (format), (types), (uint32_t)(uintptr_t)(arguments), 0)
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
#endif
