/* The smallest firmware that ends in a trace, on the host: main.c, tband_config.h, and port/posix/tband_port.h. */
#include <stdio.h>

#include "tband.h"

static FILE *capture;

/* The sink: true if there was no room. */
bool tband_sink(const uint8_t *buf, size_t len);
bool tband_sink(const uint8_t *buf, size_t len) { return fwrite(buf, 1, len, capture) != len; }

enum { MARKER_WORK = 1, VALUE_STEP = 1, TIMER_ISR = 15 };

static void work(int step) {
    tband_evtmarker_begin(MARKER_WORK, step % 2 == 0 ? "even" : "odd");
    for (volatile int i = 0; i < 100000 * (1 + step % 3); i++) {
    }
    tband_valmarker(VALUE_STEP, step);
    tband_evtmarker_end(MARKER_WORK);
}

/* As if a timer interrupted. */
static void timer_isr(void) {
    tband_isr_enter(TIMER_ISR);
    for (volatile int i = 0; i < 20000; i++) {
    }
    tband_isr_exit(TIMER_ISR);
}

int main(void) {
    capture = fopen("trace.bin", "wb");
    if (capture == NULL) {
        return 1;
    }
    tband_evtmarker_name(MARKER_WORK, "work");
    tband_valmarker_name(VALUE_STEP, "step");
    tband_isr_name(TIMER_ISR, "timer");
    (void)tband_start_streaming();
    for (int step = 0; step < 20; step++) {
        work(step);
        timer_isr();
    }
    (void)tband_stop_streaming();
    return fclose(capture) == 0 ? 0 : 1;
}
