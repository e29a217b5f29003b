/* Firmware written against the documentation of the original library alone: it compiles unchanged. */
#include <stdio.h>

#include "tband.h"

#define MARKER_SENSOR 0
#define MARKER_DSP 1
#define MARKER_BUF 0
#define TICK_ISR_ID 15

volatile bool snapshot_full = false;

static uint64_t now;
uint64_t platform_ts(void);
uint64_t platform_ts(void) { return now += 7; }

static void setup(void) {
    tband_gather_system_metadata();
    tband_evtmarker_name(MARKER_SENSOR, "sensor");
    tband_evtmarker_name(MARKER_DSP, "dsp");
    tband_valmarker_name(MARKER_BUF, "buf");
    tband_isr_name(TICK_ISR_ID, "tick");
}

static void systick_isr(void) {
    tband_isr_enter(TICK_ISR_ID);
    tband_evtmarker(MARKER_SENSOR, "rdy");
    tband_isr_exit(TICK_ISR_ID);
}

static void collect(void) {
    tband_fn_begin(7);
    tband_valmarker(MARKER_BUF, 20);
    tband_fn_end();
}

static void sensor_do_work(void) {
    tband_evtmarker_begin(MARKER_SENSOR, "acq");
    collect();
    tband_evtmarker_end(MARKER_SENSOR);
    tband_evtmarker_begin(MARKER_DSP, "");
    tband_evtmarker_begin(MARKER_DSP, "fft");
    tband_fn(8);
    tband_evtmarker_end(MARKER_DSP);
    tband_evtmarker_end(MARKER_DSP);
}

static void transmit(FILE *file, const volatile uint8_t *buf, size_t len) {
    for (size_t i = 0; i < len; i++) {
        (void)fputc(buf[i], file);
    }
}

int main(void) {
    setup();
    if (tband_trigger_snapshot() != 0) {
        return 1;
    }
    while (!snapshot_full) {
        systick_isr();
        sensor_do_work();
    }
    while (!tband_tracing_finished()) {
    }
    FILE *const file = fopen("trace.bin", "wb");
    if (file == NULL) {
        return 1;
    }
    for (unsigned int core = 0; core < tband_portNUMBER_OF_CORES; core++) {
        transmit(file, tband_get_metadata_buf(core), tband_get_metadata_buf_amnt(core));
        transmit(file, tband_get_core_snapshot_buf(core), tband_get_core_snapshot_buf_amnt(core));
    }
    return fclose(file) == 0 ? 0 : 1;
}
