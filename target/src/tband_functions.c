/* Functions as events, by the hooks of -finstrument-functions. The sources of this library, the port and what it calls are compiled
 * without that option, or excluded: -finstrument-functions-exclude-file-list=tband. */
#include "tband_internal.h"

#if tband_configENABLE == 1 && tband_configFUNCTION_TRACE_ENABLE == 1

void __cyg_profile_func_enter(void *function, void *caller) TBAND_NO_TRACE;
void __cyg_profile_func_exit(void *function, void *caller) TBAND_NO_TRACE;

/* The range of functions: from an address, a number of bytes. */
static uintptr_t tband_functions_low;
static uintptr_t tband_functions_bytes = UINTPTR_MAX;

TBAND_NO_TRACE void tband_functions_between(const void *from, const void *to) {
    tband_functions_low = (uintptr_t)from;
    tband_functions_bytes = (uintptr_t)to - (uintptr_t)from;
}

#if tband_configFUNCTION_MAX_DEPTH > 0
#if tband_configFREERTOS_TRACE_ENABLE == 1
#define TBAND_DEPTHS (tband_configFUNCTION_TASKS + 1u)
#else
#define TBAND_DEPTHS TBAND_CORES
#endif
static uint16_t tband_function_depths[TBAND_DEPTHS];

/* How deep the running task, or the core, is. Tasks created later than are counted share a place. */
TBAND_NO_TRACE static uint16_t *tband_function_depth(void) {
#if tband_configFREERTOS_TRACE_ENABLE == 1
    const uint32_t task = TBAND_LOAD(tband_freertos_current[tband_core()]);
    return &tband_function_depths[task < TBAND_DEPTHS ? task : 0u];
#else
    return &tband_function_depths[tband_core()];
#endif
}
#endif

TBAND_NO_TRACE static void tband_function(uint32_t event, const void *function) {
    /* Addresses are near this one, so that few bytes tell them. It is kept like a name; where names are not kept it comes again and
     * again. */
    static uint8_t base_in;
    const uintptr_t base = (uintptr_t)&tband_tracing_enabled;
    if (base_in == 0) {
        tband_emit_wide(TBAND_EVT_ADDRESS_BASE, base);
    }
    if (base_in == 0 || tband_configUSE_METADATA_BUF == 0) {
        base_in++;
    }
    const intptr_t delta = (intptr_t)((uintptr_t)function - base);
    const uintptr_t wire = delta < 0 ? ((0u - (uintptr_t)delta) << 1) | 1u : (uintptr_t)delta << 1;
#if UINTPTR_MAX <= UINT32_MAX
    tband_emit_one(event, (uint32_t)wire);
#else
    tband_emit_wide(event, wire);
#endif
}

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if ((uintptr_t)function - tband_functions_low < tband_functions_bytes) {
#if tband_configFUNCTION_MAX_DEPTH > 0
        if ((*tband_function_depth())++ >= tband_configFUNCTION_MAX_DEPTH) {
            return;
        }
#endif
        if (TBAND_RECORDS()) {
            tband_function(TBAND_EVT_FUNCTION_ENTER, function);
        }
    }
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)caller;
    if ((uintptr_t)function - tband_functions_low < tband_functions_bytes) {
#if tband_configFUNCTION_MAX_DEPTH > 0
        if (--(*tband_function_depth()) >= tband_configFUNCTION_MAX_DEPTH) {
            return;
        }
#endif
        if (TBAND_RECORDS()) {
            tband_function(TBAND_EVT_FUNCTION_EXIT, function);
        }
    }
}

#endif
