/* The library under one configuration (settings come from the compiler's command line; run.sh goes through them): what was
 * recorded is decoded by another implementation and compared with what was called (calls.h). */
#include "../src/tband.c"

#include "../src/tband_backend.c"

#include "calls.h"

/* ---- Tests ------------------------------------------------------------------------------------------------------------------ */

static void test_random_events(void) {
    for (unsigned int round = 0; round < 20; round++) {
        forget_everything();
        test_clock = round % 2 == 0 ? 1000 : random_u64() >> (tband_portTIMESTAMP_BITS < 64 ? 65 - tband_portTIMESTAMP_BITS : 8);
        start_backend();
        /* The random walk may fill a recording that cannot take it. */
        const unsigned int number = round < 2 ? 1 + round : 1500;
        for (unsigned int i = 0; i < number; i++) {
            any_step();
            any_event();
        }
        stop_backend();
        compare_with_backend();
    }
}

#if STREAMS
/* Refused frames: counted once, reported once, and no other frame suffers. */
static void test_losses(void) {
    for (unsigned int round = 0; round < 20; round++) {
        forget_everything();
        start_backend();
        uint32_t bursts = 0;
        bool in_burst = false;
        for (unsigned int i = 0; i < 1000; i++) {
            any_step();
            if (random_u64() % 20 == 0) {
                refuse = 1 + (unsigned int)(random_u64() % 5);
            }
            const uint32_t before = tband_dropped_events();
            any_event();
            const uint32_t lost_now = tband_dropped_events() - before;
            CHECK(lost_now <= 1);
            calls -= lost_now;
            /* A burst ends with the first frame that gets through, which reports it, even if what follows is refused again. */
            bursts += lost_now == 1 && !in_burst;
            in_burst = lost_now == 1;
        }
        refuse = 0;
        CHECK_EQUAL(tband_dropped_events(), refused);
        CHECK(refused > 0);
        any_step();
        any_event();
        stop_backend();
        compare_with_backend();
        CHECK_EQUAL(decoder.dropped, refused);
        /* More than one report of a burst only where the report got through and the event after it did not. */
        CHECK(loss_reports >= bursts && loss_reports <= refused);
    }
}

#if tband_configSYNC_EVERY > 50
static void test_report_once(void) {
    forget_everything();
    start_backend();
    for (unsigned int i = 0; i < 30; i++) {
        test_clock += 10;
        any_event();
    }
    refuse = 3;
    for (unsigned int i = 0; i < 3; i++) {
        any_event();
        calls--;
    }
    const uint32_t syncs_expected = tband_configCOMPAT == 1 ? 0 : 1;
    const size_t before = taken_len;
    for (unsigned int i = 0; i < 20; i++) {
        test_clock += 10;
        any_event();
    }
    records = 0;
    size_t at = before;
    unsigned int reports = 0;
    static struct event e;
    struct decoder d = {0};
    d.synced = true;
    d.cores = TBAND_CORES;
    while (decode_next(&d, taken, taken_len, &at, &e)) {
        reports += e.id == 0x01 || e.id == 0x0c;
    }
    CHECK_EQUAL(reports, 1);
    CHECK_EQUAL(d.syncs, syncs_expected);
    CHECK_EQUAL(d.dropped, 3);
}
#endif
#endif

#if STREAMS
/* A name between a loss and the next event does not hide the loss. */
static void test_name_after_loss(void) {
    forget_everything();
    start_backend();
    any_event();
    refuse = 1;
    any_event();
    tband_evtmarker_name(1, "n");
    any_event();
    struct decoder d = {0};
    static struct event e;
    size_t at = 0;
    while (decode_next(&d, taken, taken_len, &at, &e)) {
    }
    CHECK_EQUAL(d.dropped, 1);
    stop_backend();
}
#endif

static void test_texts(void) {
    forget_everything();
    start_backend();
    /* Not terminated: exactly as many bytes as may be looked at. */
    char *const open_end = malloc(tband_configMAX_STR_LEN);
    if (open_end == NULL) {
        exit(2);
    }
    memset(open_end, 'x', tband_configMAX_STR_LEN);
    struct event *e = expect(TBAND_EVT_EVTMARKER);
    e->fields = 1;
    e->field[0] = 3;
    e->text_len = tband_configMAX_STR_LEN;
    memset(e->text, 'x', e->text_len);
    tband_evtmarker(3, open_end);
    free(open_end);
    text_event(TBAND_EVT_EVTMARKER, 0, NULL, tband_evtmarker);
    text_event(TBAND_EVT_EVTMARKER, 0, "", tband_evtmarker);
    text_event(TBAND_EVT_EVTMARKER, UINT32_MAX, "a", tband_evtmarker);
    value_event(0, 0);
    value_event(1, INT64_MIN);
    value_event(2, INT64_MIN + 1);
    value_event(UINT32_MAX, INT64_MAX);
    value_event(4, -1);
    stop_backend();
    if (tband_configUSE_BACKEND_SNAPSHOT == 0 || tband_configBACKEND_SNAPSHOT_BUF_SIZE > 4000) {
        compare_with_backend();
    }
}

/* Counters that reach their end go on at zero. */
static void test_wraps(void) {
    forget_everything();
    start_backend();
    for (unsigned int i = 0; i < TBAND_CHANNELS; i++) {
        tband.channel[i].seq = UINT32_MAX - 20;
        tband.channel[i].sync_in = 0;
    }
    tband.dropped = UINT32_MAX;
#if STREAMS
    taken_len = 0;
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    memset(tband_snapshot_used, 0, sizeof tband_snapshot_used);
#else
    tband_clear_ring();
#endif
    for (unsigned int i = 0; i < 300; i++) {
        any_step();
        any_event();
    }
#if STREAMS
    refuse = 1;
    any_event();
    calls--;
    any_event();
#endif
    stop_backend();
    compare_with_backend();
#if STREAMS
    CHECK_EQUAL(decoder.dropped, 0);
#endif
}

#if tband_configCOMPAT == 0 && STREAMS
/* Only the first sync says that a recording starts, also when its number comes round to 0 again. */
static void test_start_flag(void) {
    forget_everything();
    start_backend();
    any_event();
    tband.channel[0].seq = 0;
    tband.channel[0].sync_in = 0;
    any_event();
    stop_backend();
    struct decoder d = {0};
    static struct event e;
    size_t at = 0;
    unsigned int starts = 0;
    while (decode_next(&d, taken, taken_len, &at, &e)) {
        starts += e.id == 0x0c && (e.field[2] & TBAND_SYNC_START) != 0;
    }
    CHECK_EQUAL(starts, 1);
}
#endif

#if tband_portTIMESTAMP_BITS == 64
/* A clock that goes backwards is recorded as it is. */
static void test_clock_backwards(void) {
    forget_everything();
    start_backend();
    any_event();
    test_clock += 1000000;
    any_event();
    test_clock -= 500000;
    any_event();
    test_clock += 10;
    any_event();
    test_clock = 0;
    any_event();
    stop_backend();
    if (tband_configUSE_BACKEND_SNAPSHOT == 0 || tband_configBACKEND_SNAPSHOT_BUF_SIZE > 4000) {
        compare_with_backend();
    }
}
#endif

#if tband_configUSE_METADATA_BUF == 1
/* Names fill the buffer with whole frames; what finds no room is counted and reported. */
static void test_metadata_overflow(void) {
    forget_everything();
    unsigned int names = 0;
    for (; names < 100; names++) {
        tband_evtmarker_name(names, "some name");
    }
    size_t at = 0;
    uint32_t kept = 0;
    struct decoder d = {0};
    static struct event e;
    const size_t used = tband_get_metadata_buf_amnt(0);
    for (size_t i = 0; i < used; i++) {
        capture[i] = tband_get_metadata_buf(0)[i];
    }
    CHECK(used <= tband_configMETADATA_BUF_SIZE);
    /* The plain format's clock finds room, whatever names there are. */
    CHECK(tband_configCOMPAT == 0 || (decode_next(&d, capture, used, &at, &e) && e.id == 0x02));
    while (decode_next(&d, capture, used, &at, &e)) {
        CHECK_EQUAL(e.id, 0x06);
        CHECK_EQUAL(e.field[0], kept);
        const size_t name_len = tband_configMAX_STR_LEN < 9 ? tband_configMAX_STR_LEN : 9;
        CHECK(e.text_len == name_len && memcmp(e.text, "some name", name_len) == 0);
        kept++;
    }
    CHECK_EQUAL(at, used);
    CHECK_EQUAL(kept + tband_metadata_dropped(), names);
    CHECK(tband_metadata_dropped() == 0 || tband_configMETADATA_BUF_SIZE - used < 14);
    CHECK(tband_get_metadata_buf(TBAND_CORES) == NULL);
    CHECK_EQUAL(tband_get_metadata_buf_amnt(TBAND_CORES), 0);
#if tband_configUSE_BACKEND_STREAMING == 1
    const uint32_t dropped_names = tband_metadata_dropped();
    start_backend();
    stop_backend();
    uint32_t sent = 0;
    uint64_t told = 0;
    at = 0;
    memset(&d, 0, sizeof d);
    while (decode_next(&d, taken, taken_len, &at, &e)) {
        sent += e.id == 0x06;
        told = e.id == 0x0d ? e.field[0] : told;
    }
    CHECK_EQUAL(sent, kept);
    CHECK_EQUAL(told, tband_configCOMPAT == 1 ? 0 : dropped_names);
    CHECK_EQUAL(d.lost_frames, 0);
    CHECK_EQUAL(d.malformed, 0);
    /* Without the names. */
    taken_len = 0;
    CHECK_EQUAL(tband_restart_streaming(), 0);
    CHECK_EQUAL(tband_restart_streaming(), -1);
    CHECK_EQUAL(tband_start_streaming(), -1);
    stop_backend();
    at = 0;
    while (decode_next(&d, taken, taken_len, &at, &e)) {
        CHECK(e.id != 0x06);
    }
    if (kept > 0) {
        refuse = UINT32_MAX;
        CHECK_EQUAL(tband_start_streaming(), -2);
        CHECK(tband_tracing_finished());
        refuse = 0;
        CHECK_EQUAL(tband_start_streaming(), 0);
        stop_backend();
    }
#endif
}

/* The names in a recording without what is kept beside it. */
static unsigned int names_recorded(uint8_t id, uint32_t of) {
    size_t len = 0;
    size_t at = 0;
#if STREAMS
    len = taken_len;
    memcpy(capture, taken, len);
#elif tband_configUSE_BACKEND_SNAPSHOT == 1
    for (size_t i = 0; i < tband_get_core_snapshot_buf_amnt(0); i++) {
        capture[len++] = tband_get_core_snapshot_buf(0)[i];
    }
#else
    len = tband_post_mortem_read(0, capture, sizeof capture);
    for (size_t core = 0; core < TBAND_CORES; core++) {
        at += tband_ring.metadata_used[core];
    }
#endif
    struct decoder d = {0};
    static struct event e;
    unsigned int names = 0;
    while (decode_next(&d, capture, len, &at, &e)) {
        names += (e.id == id || (id == 0x03 && e.id == 0x0f)) && e.field[e.fields - 1] == of;
    }
    CHECK_EQUAL(d.lost_frames, 0);
    CHECK_EQUAL(d.malformed, 0);
    return names;
}

/* A name given while recording is in the recording, whether it is kept or not. */
static void test_late_metadata(void) {
    forget_everything();
    start_backend();
    any_event();
    tband_isr_name(5, "late");
    any_event();
    stop_backend();
    /* With a sync before every event it may also be one that comes again. */
    const unsigned int names = names_recorded(0x03, 5);
    CHECK(names == 1 || (names == 2 && tband_configSYNC_EVERY <= 2) || tband_configBACKEND_SNAPSHOT_BUF_SIZE < 100);
}

#if tband_configUSE_BACKEND_STREAMING == 1
/* A name given by an interrupt between the names that were kept and the first event. */
static unsigned int interrupt_at;

static void name_late(void) {
    /* Once, when all that was kept is sent. */
    if (interrupt_at != 0 && --interrupt_at == 0) {
        tband_evtmarker_name(77, "interrupt");
    }
}

static void test_name_at_start(void) {
    for (unsigned int at = 1; at < 12; at++) {
        forget_everything();
        tband_evtmarker_name(1, "a");
        tband_evtmarker_name(2, "b");
        interrupt_at = at;
        on_exit_critical = name_late;
        start_backend();
        any_event();
        on_exit_critical = NULL;
        stop_backend();
        CHECK(interrupt_at != 0 || tband_metadata_dropped() != 0 || names_recorded(0x06, 77) == 1);
    }
}

#if TBAND_REPEATS
/* Names come again, one with each sync, in turn: not more of them than events. */
static void test_repeats(void) {
    forget_everything();
    tband_evtmarker_name(1, "a");
    tband_evtmarker_name(2, "b");
    start_backend();
    unsigned int events = 0;
    while (tband.channel[0].seq < 10u * (tband_configSYNC_EVERY + 3u)) {
        any_step();
        any_event();
        events++;
    }
    const unsigned int first = names_recorded(0x06, 1);
    const unsigned int second = names_recorded(0x06, 2);
    CHECK(tband_metadata_dropped() != 0 || (first >= 3 && second >= 3 && first - second + 1u <= 2u));
    CHECK(first - 1u + second - 1u <= events);
    stop_backend();
}
#endif
#endif
#endif

#if tband_configUSE_BACKEND_SNAPSHOT == 1
static void test_snapshot(void) {
    forget_everything();
    CHECK(tband_tracing_finished());
    CHECK(!tband_tracing_enabled());
    tband_isr_enter(1);
    CHECK_EQUAL(tband_get_core_snapshot_buf_amnt(0), tband_snapshot_used[0]);
    CHECK_EQUAL(tband_reset_snapshot(), 0);
    CHECK_EQUAL(tband_trigger_snapshot(), 0);
    CHECK_EQUAL(tband_trigger_snapshot(), -1);
    CHECK_EQUAL(tband_reset_snapshot(), -1);
    CHECK_EQUAL(tband_get_core_snapshot_buf_amnt(0), 0);
    for (size_t i = 0; i < tband_configBACKEND_SNAPSHOT_BUF_SIZE; i++) {
        test_clock++;
        tband_isr_enter(1);
    }
    CHECK_EQUAL(test_full_callbacks, 1);
    CHECK_EQUAL(tband_dropped_events(), 0);
    CHECK(tband_tracing_finished() && tband_tracing_backend_finished(0));
    CHECK(tband_get_core_snapshot_buf_amnt(0) <= tband_configBACKEND_SNAPSHOT_BUF_SIZE);
    CHECK(tband_get_core_snapshot_buf(TBAND_CORES) == NULL);
    CHECK_EQUAL(tband_get_core_snapshot_buf_amnt(TBAND_CORES), 0);
    CHECK_EQUAL(tband_stop_snapshot(), -1);
    CHECK_EQUAL(tband_reset_snapshot(), 0);
    CHECK_EQUAL(tband_get_core_snapshot_buf_amnt(0), 0);
}
#endif

#if tband_configUSE_BACKEND_POST_MORTEM == 1
static void test_post_mortem(void) {
    memset(&tband_ring, 0x5a, sizeof tband_ring);
    forget_everything();
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    CHECK_EQUAL(tband_post_mortem_read(0, capture, sizeof capture), 0);
    tband_evtmarker_name(1, "name");
#if tband_configUSE_METADATA_BUF == 1
    /* After the clock of the plain format, a small buffer has no room for it. */
    const bool keeps_name = tband_metadata_dropped() == 0;
#else
    const bool keeps_name = false;
#endif
    start_backend();
    CHECK_EQUAL(tband_start_post_mortem(), -1);
    CHECK_EQUAL(tband_clear_post_mortem(), -1);
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    for (unsigned int i = 0; i < 5000; i++) {
        any_step();
        any_event();
    }
    /* A reset in the middle of a write: bytes without their count. */
    memset(&tband_ring.data[tband_newest_segment()][tband_ring.used[tband_newest_segment()]], 0xab, TBAND_SEGMENT_BYTES - tband_ring.used[tband_newest_segment()]);
    const size_t before = calls;
    memset(&tband, 0, sizeof tband);
    const size_t size = tband_post_mortem_size();
    CHECK(size > TBAND_SEGMENT_BYTES / 2 && size <= tband_configBACKEND_POST_MORTEM_BUF_SIZE + sizeof tband_ring.metadata);
    records = 0;
    CHECK_EQUAL(tband_post_mortem_read(0, capture, sizeof capture), size);
    decode_all(capture, size);
    if (keeps_name) {
        CHECK_EQUAL(recorded[0].id, 0x06);
        memmove(recorded, recorded + 1, --records * sizeof recorded[0]);
    }
    compare_from(before - records, UINT32_MAX);
    CHECK_EQUAL(decoder.lost_frames, 0);
    /* In pieces. */
    static uint8_t pieces[sizeof capture];
    size_t at = 0;
    while (at < size) {
        const size_t n = tband_post_mortem_read(at, pieces + at, 1 + random_u64() % 700);
        CHECK(n > 0);
        at += n;
    }
    CHECK(at == size && memcmp(pieces, capture, size) == 0);
    CHECK_EQUAL(tband_post_mortem_read(size, pieces, 10), 0);
    /* Damaged memory is not a recording. */
    static struct tband_ring copy;
    memcpy(&copy, &tband_ring, sizeof tband_ring);
    tband_ring.used[1] = TBAND_SEGMENT_BYTES + 1;
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    memcpy(&tband_ring, &copy, sizeof tband_ring);
    tband_ring.metadata_used[0] = TBAND_METADATA_BYTES + 1;
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    memcpy(&tband_ring, &copy, sizeof tband_ring);
    tband_ring.segments++;
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    memcpy(&tband_ring, &copy, sizeof tband_ring);
    tband_ring.begun = 0;
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    memcpy(&tband_ring, &copy, sizeof tband_ring);
    CHECK_EQUAL(tband_post_mortem_size(), size);
    CHECK_EQUAL(tband_clear_post_mortem(), 0);
    CHECK_EQUAL(tband_post_mortem_size(), 0);
    /* Wrap of the segment counter: it is set to where few segments are left before it, in the same place of the tband_ring. */
    forget_everything();
    start_backend();
    tband_ring.begun = UINT32_MAX - (UINT32_MAX - tband_ring.begun) % TBAND_SEGMENTS - TBAND_SEGMENTS;
    const uint32_t begun = tband_ring.begun;
    do {
        any_step();
        any_event();
    } while (tband_ring.begun >= begun || tband_ring.begun < 3 * TBAND_SEGMENTS);
    stop_backend();
    compare_with_backend();
    CHECK(records > 8);
}
#endif

int main(void) {
    called = calloc(MOST, sizeof *called);
    recorded = calloc(MOST, sizeof *recorded);
    if (called == NULL || recorded == NULL) {
        return 2;
    }
    test_random_events();
    test_texts();
#if STREAMS
    test_losses();
    test_name_after_loss();
#if tband_configSYNC_EVERY > 50
    test_report_once();
#endif
#endif
    test_wraps();
#if tband_configCOMPAT == 0 && STREAMS
    test_start_flag();
#endif
#if tband_portTIMESTAMP_BITS == 64
    test_clock_backwards();
#endif
#if tband_configUSE_METADATA_BUF == 1
    test_metadata_overflow();
    test_late_metadata();
#if tband_configUSE_BACKEND_STREAMING == 1
    test_name_at_start();
#if TBAND_REPEATS
    test_repeats();
#endif
#endif
#endif
#if tband_configUSE_BACKEND_SNAPSHOT == 1
    test_snapshot();
#endif
#if tband_configUSE_BACKEND_POST_MORTEM == 1
    test_post_mortem();
#endif
    free(called);
    free(recorded);
    return report(TEST_NAME);
}
