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
#define TBAND_DEPTH_OF tband_current_task()
#else
#define TBAND_DEPTHS TBAND_CORES
#define TBAND_DEPTH_OF tband_core()
#endif
/* How deep each task, or core, is. Only it changes the number, and interrupts on it, which leave it as it was. */
static uint16_t tband_function_depths[TBAND_DEPTHS];
#endif

/* Whether a function is recorded: it is in the range, and not too deep. Before an enter `step` is 1, before an exit 0xffff. */
TBAND_NO_TRACE static bool tband_takes_function(const void *function, uint16_t step) {
    if ((uintptr_t)function - tband_functions_low >= tband_functions_bytes) {
        return false;
    }
#if tband_configFUNCTION_MAX_DEPTH > 0
    const uint32_t place = TBAND_DEPTH_OF;
    if (place >= TBAND_DEPTHS) {
        /* Created after as many tasks as are counted. */
        return false;
    }
    const uint16_t before = tband_function_depths[place];
    const uint16_t after = (uint16_t)(before + step);
    tband_function_depths[place] = after;
    if ((before < after ? before : after) >= tband_configFUNCTION_MAX_DEPTH) {
        return false;
    }
#else
    (void)step;
#endif
    return TBAND_RECORDS();
}

TBAND_NO_TRACE static void tband_function(uint32_t event, const void *function) {
    /* Addresses are near this one, so that they take few bytes. It is kept like a name; where names are not kept it comes again and
     * again. */
    static tband_word base_in;
    const uintptr_t base = (uintptr_t)&tband_tracing_enabled;
    const uint32_t in = TBAND_LOAD(base_in);
    if (in == 0) {
        tband_emit_wide(TBAND_EVT_ADDRESS_BASE, base);
    }
    if (in == 0 || tband_configUSE_METADATA_BUF == 0) {
        TBAND_STORE(base_in, (in + 1u) & 0xffu);
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
    if (tband_takes_function(function, 1)) {
        tband_function(TBAND_EVT_FUNCTION_ENTER, function);
    }
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)caller;
    if (tband_takes_function(function, UINT16_MAX)) {
        tband_function(TBAND_EVT_FUNCTION_EXIT, function);
    }
}

#endif
