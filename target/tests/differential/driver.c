/* A program that does with the library what a script on its standard input says, and writes what was recorded to its standard
 * output. A script has one command per line:
 *   clock TICKS | core N | refuse 0|1     the time, the core that runs, whether the sink refuses
 *   start | stop                          the recording
 *   sent COUNT                            as if COUNT more frames had been sent
 *   numbers EVENT A B C                   an event, with as many numbers as it has
 *   text EVENT A B HEX|null               a text; in hex it is followed by what is no longer part of it, unless it ends with 00
 *   value EVENT A VALUE                   a signed value
 *   log FORMAT TYPE ARGUMENT ...          a message; texts in hex after an x
 *   delta EVENT VALUE | wide EVENT NUMBER | heap EVENT ADDRESS BYTES
 * Events that application code sends by a function of the API are sent by it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/tband_internal.h"

uint64_t driver_clock;
uint32_t driver_core;
static bool refuses;

static void fail(const char *what, const char *line) {
    (void)fprintf(stderr, "%s: %s\n", what, line);
    exit(2);
}

static void output(const volatile uint8_t *bytes, size_t len) {
    if (fwrite((const uint8_t *)bytes, 1, len, stdout) != len) {
        fail("cannot write", "frames");
    }
}

bool driver_sink(const uint8_t *buf, size_t len) {
    if (!refuses) {
        output(buf, len);
    }
    return refuses;
}

#if tband_configUSE_BACKEND_EXTERNAL == 1
bool tband_submit_to_backend(uint8_t *buf, size_t len, bool is_metadata) {
    (void)is_metadata;
    return driver_sink(buf, len);
}
#endif

static int start(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    return tband_start_streaming();
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    return tband_trigger_snapshot();
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    return tband_start_post_mortem();
#else
    return 0;
#endif
}

static int stop(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    return tband_stop_streaming();
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    const int status = tband_stop_snapshot();
    for (unsigned int core = 0; core < TBAND_CORES; core++) {
        output(tband_get_metadata_buf(core), tband_get_metadata_buf_amnt(core));
        output(tband_get_core_snapshot_buf(core), tband_get_core_snapshot_buf_amnt(core));
    }
    return status;
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    const int status = tband_stop_post_mortem();
    uint8_t piece[7];
    size_t at = 0;
    size_t n;
    while ((n = tband_post_mortem_read(at, piece, sizeof piece)) > 0) {
        output(piece, n);
        at += n;
    }
    return at == tband_post_mortem_size() ? status : -3;
#else
    return 0;
#endif
}

static void numbers(uint32_t event, uint32_t a, uint32_t b, uint32_t c) {
    switch (event) {
    case TBAND_EVT_ISR_ENTER: tband_isr_enter(a); break;
    case TBAND_EVT_ISR_EXIT: tband_isr_exit(a); break;
    case TBAND_EVT_EVTMARKER_END: tband_evtmarker_end(a); break;
#if tband_configFREERTOS_TRACE_ENABLE == 1
    case TBAND_EVT_TASK_SWITCHED_IN:
        /* The kernel is not here: who runs is what the script says. */
        TBAND_STORE(tband_freertos_current[tband_core()], a);
#if TBAND_TRACES_TASKS
        TBAND_STORE(tband.told_running[tband_core()], 1);
#endif
        tband_emit(event, a, b, c);
        break;
#endif
    default: tband_emit(event, a, b, c); break;
    }
}

static void text(uint32_t event, uint32_t a, uint32_t b, const char *bytes) {
    switch (event) {
    case TBAND_EVT_ISR_NAME: tband_isr_name(a, bytes); break;
    /* Of the core that calls. */
    case TBAND_EVT_CORE_ISR_NAME: tband_isr_name(b, bytes); break;
    case TBAND_EVT_EVTMARKER_NAME: tband_evtmarker_name(a, bytes); break;
    case TBAND_EVT_EVTMARKER: tband_evtmarker(a, bytes); break;
    case TBAND_EVT_EVTMARKER_BEGIN: tband_evtmarker_begin(a, bytes); break;
    case TBAND_EVT_VALMARKER_NAME: tband_valmarker_name(a, bytes); break;
    default: tband_emit_text(event, a, b, bytes); break;
    }
}

/* Turns hex digits into bytes, in place. */
static const char *from_hex(char *digits) {
    size_t n = 0;
    for (; digits[2 * n] != '\0'; n++) {
        const char pair[3] = {digits[2 * n], digits[2 * n + 1], '\0'};
        digits[n] = (char)strtoul(pair, NULL, 16);
    }
    return digits;
}

static bool is(const char *word, const char *other) { return strcmp(word, other) == 0; }

#if tband_configLOG_ENABLE == 1
/* A message: as words if it can be. */
static void message(char *at) {
    const uint32_t format = (uint32_t)strtoul(at, &at, 10);
    uint64_t values[8] = {0};
    uint32_t types = 0;
    uint32_t count = 0;
    bool are_words = true;
    while (*at != '\0') {
        const uint32_t type = (uint32_t)strtoul(at, &at, 10);
        types |= type << (3u * count);
        at++;
        if (type == TBAND_LOG_TEXT) {
            /* Its digits become its bytes, up to the next space or the end. */
            char *const digits = at + 1;
            at += strcspn(at, " ");
            const char after = *at;
            *at = '\0';
            size_t n = strlen(digits) / 2;
            values[count++] = (uint64_t)(uintptr_t)(n == 0 ? "" : from_hex(digits));
            if (n != 0) {
                digits[n] = '\0';
            }
            *at = after;
        } else {
            values[count++] = strtoull(at, &at, 10);
        }
        are_words = are_words && type != TBAND_LOG_TEXT && type != TBAND_LOG_DOUBLE && values[count - 1] <= UINT32_MAX;
    }
    if (are_words && count <= 2) {
        tband_log_words(format, types, (uint32_t)values[0], (uint32_t)values[1]);
    } else {
        tband_log_wide(format, types, values);
    }
}
#endif

static void command(char *line) {
    char word[16] = "";
    int rest = 0;
    uint64_t n[4] = {0};
    (void)sscanf(line, "%15s %n", word, &rest);
    char *at = line + rest;
    const size_t most = is(word, "text") ? 3 : is(word, "value") ? 2 : is(word, "delta") ? 1 : 4;
    for (size_t i = 0; i < most && *at != '\0'; i++) {
        n[i] = strtoull(at, &at, 10);
        at += *at == ' ';
    }
    const uint32_t event = (uint32_t)n[0];
    if (is(word, "clock")) {
        driver_clock = n[0];
    } else if (is(word, "core")) {
        driver_core = (uint32_t)n[0];
    } else if (is(word, "refuse")) {
        refuses = n[0] != 0;
    } else if (is(word, "sent")) {
        tband.channel[0].seq += (uint32_t)n[0];
    } else if (is(word, "start")) {
        if (start() != 0) {
            fail("cannot start", line);
        }
    } else if (is(word, "stop")) {
        if (stop() != 0) {
            fail("cannot stop", line);
        }
    } else if (is(word, "numbers")) {
        numbers(event, (uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3]);
    } else if (is(word, "text")) {
        text(event, (uint32_t)n[1], (uint32_t)n[2], is(at, "null") ? NULL : from_hex(at));
    } else if (is(word, "value")) {
        const int64_t value = strtoll(at, NULL, 10);
        if (event == TBAND_EVT_VALMARKER) {
            tband_valmarker((uint32_t)n[1], value);
        } else {
            tband_emit_value(event, (uint32_t)n[1], value);
        }
#if tband_configFREERTOS_TRACE_ENABLE == 1 && tband_configCOMPAT == 0
    } else if (is(word, "heap")) {
        tband_emit_address(event, n[1], (uint32_t)n[2]);
#endif
#if tband_configFUNCTION_TRACE_ENABLE == 1
    } else if (is(word, "delta")) {
        const int64_t value = strtoll(at, NULL, 10);
        const uint64_t bits = (uint64_t)value;
        tband_emit_wide(event, value < 0 ? ((0u - bits) << 1) | 1u : bits << 1);
    } else if (is(word, "wide")) {
        tband_emit_wide(event, n[1]);
    } else if (is(word, "log")) {
        message(line + rest);
#endif
    } else {
        fail("unknown command", line);
    }
}

int main(void) {
    static char script[1 << 24];
    /* All of it first: who writes the script does not read before it is written. */
    script[fread(script, 1, sizeof script - 1, stdin)] = '\0';
    for (char *line = strtok(script, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        command(line);
    }
    return fflush(stdout) == 0 ? 0 : 2;
}
