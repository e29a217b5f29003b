/* Calls of the library at random, and what was recorded, decoded by another implementation, compared with them. Part of
 * test_library.c, which includes the library's sources. */
#ifndef TEST_CALLS_H_
#define TEST_CALLS_H_

#include "host.h"

/* ---- What was called ----------------------------------------------------------------------------------------------------- */

#define MOST 60000u
static struct event *called;
static size_t calls;

#define STREAMS (tband_configUSE_BACKEND_STREAMING == 1 || tband_configUSE_BACKEND_EXTERNAL == 1)

static void start_backend(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    CHECK_EQUAL(tband_start_streaming(), 0);
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    CHECK_EQUAL(tband_reset_snapshot(), 0);
    CHECK_EQUAL(tband_trigger_snapshot(), 0);
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    CHECK_EQUAL(tband_start_post_mortem(), 0);
#endif
}

static void stop_backend(void) {
#if tband_configUSE_BACKEND_STREAMING == 1
    CHECK_EQUAL(tband_stop_streaming(), 0);
    CHECK_EQUAL(tband_stop_streaming(), -1);
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    (void)tband_stop_snapshot();
    CHECK_EQUAL(tband_stop_snapshot(), -1);
#elif tband_configUSE_BACKEND_POST_MORTEM == 1
    CHECK_EQUAL(tband_stop_post_mortem(), 0);
    CHECK_EQUAL(tband_stop_post_mortem(), -1);
#endif
}

/* As after a reset, RAM that is not cleared excepted. */
static void forget_everything(void) {
    memset(&tband, 0, sizeof tband);
#if tband_configUSE_METADATA_BUF == 1
    memset(tband_metadata_buf, 0xee, sizeof tband_metadata_buf);
#endif
    taken_len = 0;
    refuse = 0;
    refused = 0;
    calls = 0;
    test_full_callbacks = 0;
    test_core = 0;
    test_clock = 1000;
}

static struct event *expect(uint32_t event) {
    CHECK(calls < MOST);
    struct event *const e = &called[calls++];
    memset(e, 0, sizeof *e);
    e->id = (uint8_t)event;
    e->core = test_core;
    e->time = test_clock;
    return e;
}

/* A number of any length, with the extremes among them. */
static uint64_t any_number(unsigned int bits) {
    const uint64_t r = random_u64();
    switch (r % 8) {
    case 0: return 0;
    case 1: return bits == 64 ? UINT64_MAX : UINT32_MAX;
    case 2: return UINT64_C(1) << (r >> 8) % bits;
    default: return (random_u64() >> (64 - bits)) >> (r >> 8) % bits;
    }
}

static void any_text(char *text, size_t size) {
    const size_t len = random_u64() % size;
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)(1 + random_u64() % 255);
    }
    text[len] = '\0';
}

static void text_event(uint32_t event, uint32_t id, const char *text, void (*function)(uint32_t, const char *)) {
    struct event *const e = expect(event);
    e->fields = 1;
    e->field[0] = id;
    e->text_len = text == NULL ? 0 : strlen(text);
    if (e->text_len > tband_configMAX_STR_LEN) {
        e->text_len = tband_configMAX_STR_LEN;
    }
    if (text != NULL) {
        memcpy(e->text, text, e->text_len);
    }
    function(id, text);
}

static void value_event(uint32_t id, int64_t value) {
    struct event *const e = expect(TBAND_EVT_VALMARKER);
    e->fields = 1;
    e->field[0] = id;
    e->value = value;
    tband_valmarker(id, value);
}

static void integer_event(uint32_t event, uint32_t a, uint32_t b, uint32_t c) {
    struct event *const e = expect(event);
    const uint32_t values[3] = {a, b, c};
    e->fields = TBAND_FIELDS(event);
    for (unsigned int i = 0; i < e->fields; i++) {
        e->field[i] = values[i];
    }
    tband_emit(event, a, b, c);
}

static void any_event(void) {
    static const uint32_t integers[] = {TBAND_EVT_QUEUE_RECEIVE, TBAND_EVT_TASK_NOTIFY, TBAND_EVT_QUEUE_CAPACITY,
                                        TBAND_EVT_TASK_SWITCHED_IN, TBAND_EVT_STREAM_SEND};
    static char text[2 * tband_configMAX_STR_LEN + 2];
    const uint32_t id = (uint32_t)any_number(32);
    any_text(text, sizeof text);
    switch (random_u64() % 8) {
    case 0:
        expect(TBAND_EVT_ISR_ENTER)->field[0] = id;
        called[calls - 1].fields = 1;
        tband_isr_enter(id);
        break;
    case 1:
        expect(TBAND_EVT_ISR_EXIT)->field[0] = id;
        called[calls - 1].fields = 1;
        tband_isr_exit(id);
        break;
    case 2: text_event(TBAND_EVT_EVTMARKER, id, text, tband_evtmarker); break;
    case 3: text_event(TBAND_EVT_EVTMARKER_BEGIN, id, random_u64() % 4 == 0 ? NULL : text, tband_evtmarker_begin); break;
    case 4:
        expect(TBAND_EVT_EVTMARKER_END)->field[0] = id;
        called[calls - 1].fields = 1;
        tband_evtmarker_end(id);
        break;
    case 5: value_event(id, (int64_t)any_number(64)); break;
    default:
        integer_event(integers[random_u64() % 5], id, (uint32_t)any_number(32), (uint32_t)any_number(32));
        break;
    }
}

/* Mostly short steps; sometimes none, sometimes silence for hours. */
static void any_step(void) {
    switch (random_u64() % 64) {
    case 0:
        test_clock += any_number(tband_portTIMESTAMP_BITS < 64 ? tband_portTIMESTAMP_BITS - 1 : 40) &
                      ((UINT64_C(1) << (tband_portTIMESTAMP_BITS < 64 ? tband_portTIMESTAMP_BITS : 40)) - 1u);
        break;
    case 1: case 2: case 3: break;
    default: test_clock += random_u64() % 5000; break;
    }
#if TBAND_CORES > 1
    test_core = (unsigned int)(random_u64() % TBAND_CORES);
#endif
}

/* ---- What was recorded --------------------------------------------------------------------------------------------------- */

static struct event *recorded;
static size_t records;
static struct decoder decoder;
static uint32_t loss_reports;

/* Not events of the application. */
static bool is_housekeeping(const struct event *e) {
    return e->id == 0x00 || e->id == 0x01 || e->id == 0x02 || e->id == 0x0c || e->id == 0x0d;
}

static void decode_all(const uint8_t *data, size_t len) {
    memset(&decoder, 0, sizeof decoder);
    loss_reports = 0;
    size_t at = 0;
    uint32_t said = 0;
    static struct event e;
    while (decode_next(&decoder, data, len, &at, &e)) {
        loss_reports += decoder.dropped != said;
        said = decoder.dropped;
        if (e.id != 0xff && !is_housekeeping(&e) && records < MOST) {
            recorded[records++] = e;
        }
    }
    CHECK_EQUAL(at, len);
    CHECK_EQUAL(decoder.malformed, 0);
}

static bool same(const struct event *a, const struct event *b) {
    return a->id == b->id && a->core == b->core && a->time == b->time && a->fields == b->fields && a->value == b->value &&
           a->text_len == b->text_len && memcmp(a->field, b->field, sizeof a->field) == 0 &&
           memcmp(a->text, b->text, a->text_len) == 0;
}

static void show(const char *what, const struct event *e) {
    printf("  %s: %s core %u time %llu field %llu\n", what, event_name(e->id), e->core, (unsigned long long)e->time,
           (unsigned long long)e->field[0]);
}

/* Whether the recorded events are those called, from `from` on. */
static void compare_from(size_t from, uint32_t core) {
    size_t i = from;
    for (size_t r = 0; r < records; r++, i++) {
        while (i < calls && core != UINT32_MAX && called[i].core != core) {
            i++;
        }
        checks++;
        if (i >= calls || !same(&recorded[r], &called[i])) {
            printf("%s: record %zu differs\n", __FILE__, r);
            show("recorded", &recorded[r]);
            if (i < calls) {
                show("called", &called[i]);
            }
            failures++;
            return;
        }
    }
}

#if !STREAMS || tband_configUSE_METADATA_BUF == 1
static uint8_t capture[1 << 22];
#endif

/* Decodes what the backend holds and compares it: everything, the oldest (snapshot) or the newest (post-mortem). */
static void compare_with_backend(void) {
    records = 0;
#if STREAMS
    decode_all(taken, taken_len);
    CHECK_EQUAL(records, calls);
    compare_from(0, UINT32_MAX);
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    size_t all = 0;
    for (uint32_t core = 0; core < TBAND_CORES; core++) {
        const size_t len = tband_get_core_snapshot_buf_amnt(core);
        for (size_t i = 0; i < len; i++) {
            capture[i] = tband_get_core_snapshot_buf(core)[i];
        }
        records = 0;
        decode_all(capture, len);
        compare_from(0, core);
        all += records;
    }
    CHECK(all > 0 || tband_configBACKEND_SNAPSHOT_BUF_SIZE < 100);
#else
    const size_t size = tband_post_mortem_size();
    CHECK_EQUAL(tband_post_mortem_read(0, capture, sizeof capture), size);
    decode_all(capture, size);
    CHECK(records > 0 && records <= calls);
    compare_from(calls - records, UINT32_MAX);
#endif
    CHECK_EQUAL(decoder.lost_frames, 0);
}

#endif
