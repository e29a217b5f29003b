/* The plain format, byte by byte: its events through the library, compared with known frames. Names that belong to a task need the
 * kernel: tests/differential has their frames. */
#include "host.h"

static void compare(int line, const char *hex) {
    char text[2048] = "";
    for (size_t i = 0; i < taken_len && i < 1000; i++) {
        sprintf(text + 2 * i, "%02x", taken[i]);
    }
    checks++;
    if (strcmp(text, hex) != 0) {
        printf("%s:%d: frame is %s, not %s\n", __FILE__, line, text, hex);
        failures++;
    }
}

#define VECTOR(ts, call, hex)                                                                                                \
    do {                                                                                                                     \
        test_clock = (uint64_t)(ts);                                                                                         \
        taken_len = 0;                                                                                                       \
        call;                                                                                                                \
        compare(__LINE__, hex);                                                                                              \
    } while (0)

static void every_event(void) {
    VECTOR(0, tband_emit(TBAND_EVT_CORE_ID, 0, 0, 0), "0101010100");
    VECTOR(1000, tband_emit(TBAND_EVT_CORE_ID, 1, 0, 0), "0104e8070100");
    VECTOR(5, tband_emit(TBAND_EVT_DROPPED_EVT_CNT, 0, 0, 0), "0301050100");
    VECTOR(128, tband_emit(TBAND_EVT_DROPPED_EVT_CNT, 300, 0, 0), "06018001ac0200");
    VECTOR(0, tband_emit(TBAND_EVT_TS_RESOLUTION_NS, 1, 0, 0), "03020100");
    VECTOR(0, tband_emit(TBAND_EVT_TS_RESOLUTION_NS, 10, 0, 0), "03020a00");
    VECTOR(0, tband_emit(TBAND_EVT_TS_RESOLUTION_NS, 1000000000, 0, 0), "07028094ebdc0300");
    VECTOR(0, tband_isr_name(0, "SysTick"), "0203085379735469636b00");
    VECTOR(0, tband_isr_name(15, "SysTick"), "0a030f5379735469636b00");
    VECTOR(0, tband_isr_name(15, NULL), "03030f00");
    VECTOR(0, tband_isr_enter(0), "0204010100");
    VECTOR(123456789, tband_isr_enter(15), "0704959aef3a0f00");
    VECTOR(123456800, tband_isr_exit(15), "0705a09aef3a0f00");
    VECTOR(0, tband_evtmarker_name(1, "MyEvts"), "0906014d794576747300");
    VECTOR(10012323, tband_evtmarker(1, "hi"), "0907a38de30401686900");
    VECTOR(10012323, tband_evtmarker(1, ""), "0707a38de3040100");
    VECTOR(10012323, tband_evtmarker_begin(300, "work"), "0c08a38de304ac02776f726b00");
    VECTOR(10012400, tband_evtmarker_end(300), "0809f08de304ac0200");
    VECTOR(0, tband_valmarker_name(2, "temp"), "070a0274656d7000");
    VECTOR(77, tband_valmarker(2, 0), "040b4d020100");
    VECTOR(77, tband_valmarker(2, 1), "050b4d020200");
    VECTOR(77, tband_valmarker(2, -1), "050b4d020300");
    VECTOR(77, tband_valmarker(2, 63), "050b4d027e00");
    VECTOR(77, tband_valmarker(2, 64), "060b4d02800100");
    VECTOR(77, tband_valmarker(2, -64), "060b4d02810100");
    VECTOR(77, tband_valmarker(2, 1000000), "070b4d0280897a00");
    VECTOR(77, tband_valmarker(2, -1000000), "070b4d0281897a00");
    VECTOR(UINT64_MAX, tband_valmarker(UINT32_MAX, INT64_MAX), "1b0bffffffffffffffffff01ffffffff0ffeffffffffffffffff0100");
    VECTOR(UINT64_MAX, tband_valmarker(UINT32_MAX, INT64_MIN+1), "1b0bffffffffffffffffff01ffffffff0fffffffffffffffffff0100");
    VECTOR(UINT64_MAX, tband_valmarker(UINT32_MAX, INT64_MIN), "120bffffffffffffffffff01ffffffff0f0100");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_SWITCHED_IN, 3, 0, 0), "0654c0c4070300");
    VECTOR(10012323, tband_emit(TBAND_EVT_TASK_TO_RDY_STATE, 555, 0, 0), "0855a38de304ab0400");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_RESUMED, 3, 0, 0), "0656c0c4070300");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_RESUMED_FROM_ISR, 3, 0, 0), "0657c0c4070300");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_SUSPENDED, 3, 0, 0), "0658c0c4070300");
    VECTOR(123456, tband_emit(TBAND_EVT_CURTASK_DELAY, 100, 0, 0), "0659c0c4076400");
    VECTOR(123456, tband_emit(TBAND_EVT_CURTASK_DELAY_UNTIL, UINT32_MAX, 0, 0), "0a5ac0c407ffffffff0f00");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_PRIORITY_SET, 3, 7, 0), "075bc0c407030700");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_PRIORITY_INHERIT, 3, 7, 0), "075cc0c407030700");
    VECTOR(1212121212, tband_emit(TBAND_EVT_TASK_PRIORITY_DISINHERIT, 101, 42, 0), "095dfc80fec104652a00");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_CREATED, 3, 0, 0), "065ec0c4070300");
    VECTOR(0, tband_emit_text(TBAND_EVT_TASK_NAME, 3, 0, "worker"), "095f03776f726b657200");
    VECTOR(0, tband_emit(TBAND_EVT_TASK_IS_IDLE_TASK, 4, 0, 0), "0360040100");
    VECTOR(0, tband_emit(TBAND_EVT_TASK_IS_TIMER_TASK, 5, 0, 0), "03610500");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_DELETED, 3, 0, 0), "0662c0c4070300");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_CREATED, 9, 0, 0), "0663c0c4070900");
    VECTOR(0, tband_emit_text(TBAND_EVT_QUEUE_NAME, 101, 0, "test1212"), "0b6465746573743132313200");
    VECTOR(0, tband_emit(TBAND_EVT_QUEUE_KIND, 9, 0, 0), "0365090100");
    VECTOR(0, tband_emit(TBAND_EVT_QUEUE_KIND, 9, 4, 0), "0465090400");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_SEND, 9, 4, 0), "0766c0c407090400");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_SEND_FROM_ISR, 9, 4, 0), "0767c0c407090400");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_OVERWRITE, 9, 1, 0), "0768c0c407090100");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_OVERWRITE_FROM_ISR, 9, 1, 0), "0769c0c407090100");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_RECEIVE, 9, 0, 0), "066ac0c407090100");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_RECEIVE_FROM_ISR, 9, 3, 0), "076bc0c407090300");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_RESET, 9, 0, 0), "066cc0c4070900");
    VECTOR(123456, tband_emit(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_PEEK, 9, UINT32_MAX, 0), "0b6dc0c40709ffffffff0f00");
    VECTOR(123456, tband_emit(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_SEND, 9, 10, 0), "076ec0c407090a00");
    VECTOR(123456, tband_emit(TBAND_EVT_CURTASK_BLOCK_ON_QUEUE_RECEIVE, 9, 0, 0), "066fc0c407090100");
    VECTOR(123456, tband_emit(TBAND_EVT_QUEUE_CUR_LENGTH, 9, 0, 0), "0670c0c407090100");
    VECTOR(123456, tband_emit_text(TBAND_EVT_TASK_EVTMARKER, 1, 0, "PING"), "0a7bc0c4070150494e4700");
    VECTOR(123456, tband_emit_text(TBAND_EVT_TASK_EVTMARKER_BEGIN, 1, 0, "run"), "097cc0c4070172756e00");
    VECTOR(123456, tband_emit(TBAND_EVT_TASK_EVTMARKER_END, 1, 0, 0), "067dc0c4070100");
    VECTOR(123456, tband_emit_value(TBAND_EVT_TASK_VALMARKER, 2, -5), "077fc0c407020b00");
}

#if TBAND_LONG_FRAMES
/* Around the end of a COBS block. */
static void long_texts(void) {
    static char text[301];
    for (size_t n = 248; n <= 256; n++) {
        memset(text, 'A', n);
        text[n] = '\0';
        uint8_t expected[300];
        size_t len = 0;
        const size_t block = n + 3 < 254 ? n + 3 : 254;
        expected[len++] = (uint8_t)(block + 1);
        expected[len++] = 7;
        expected[len++] = 1;
        expected[len++] = 1;
        memset(expected + len, 'A', block - 3);
        len += block - 3;
        if (n + 3 > 254) {
            expected[len++] = (uint8_t)(n + 3 - 254 + 1);
            memset(expected + len, 'A', n + 3 - 254);
            len += n + 3 - 254;
        }
        expected[len++] = 0;
        test_clock = 1;
        taken_len = 0;
        tband_evtmarker(1, text);
        CHECK_EQUAL(taken_len, len);
        CHECK(memcmp(taken, expected, len) == 0);
    }
}
#endif

int main(void) {
    test_clock = 1;
    CHECK_EQUAL(tband_start_streaming(), 0);
    every_event();
#if TBAND_LONG_FRAMES
    long_texts();
#endif
    return report("plain vectors");
}
