/* Instructions and stack per event on an emulated Cortex-M4, where (with -icount shift=5) an instruction takes 32 ns and a timer
 * counts every 40 ns. Each event is recorded many times, with a gap whose length changes, so that the mean is exact. */
#include <stdio.h>
#include <string.h>

#include "tband.h"

#include "../kernel/qemu/board.h"
#include "tband_port.h"

#define EVENTS 4000u
/* Instructions, in tenths, per count of the timer. */
#define TENTHS 125u

uint32_t masked_ticks;
uint32_t masked_most;

#ifdef tband_portSINK_HEADER
/* Bytes so far; what is ready is taken at once. */
#ifdef TBAND_SINK_RING_H_
static uint32_t drain(void) {
    static uint32_t taken;
    const uint8_t *bytes;
    size_t n;
    while ((n = tband_sink_ready(&bytes)) > 0) {
        tband_sink_sent(n);
        taken += n;
    }
    return taken;
}
#else
static uint32_t drain(void) {
    static uint32_t taken;
    struct tband_rtt_channel *const channel = &tband_rtt.up[TBAND_RTT_TRACE];
    taken += (channel->write - channel->read + channel->size) % channel->size;
    channel->read = channel->write;
    return taken;
}
#endif
#else
static uint8_t ring[4096];
static uint32_t ring_head;
static uint32_t ring_free = UINT32_MAX;

/* A sink as firmware may have it: room, wrap, copy; not inlined. */
bool ring_put(const uint8_t *buf, size_t len) {
    if (len > ring_free) {
        return true;
    }
    uint32_t head = ring_head;
    for (size_t i = 0; i < len; i++) {
        ring[head++ & (sizeof ring - 1u)] = buf[i];
    }
    ring_head = head;
    return false;
}

static uint32_t drain(void) { return ring_head; }
#endif

int _write(int file, const char *text, int len);
int _write(int file, const char *text, int len) {
    static char line[256];
    (void)file;
    int n = 0;
    while (n < len && n < (int)sizeof line - 1) {
        line[n] = text[n];
        n++;
    }
    line[n] = '\0';
    board_print(line);
    return len;
}

__attribute__((noinline)) static void nothing(uint32_t i) { __asm volatile("" ::"r"(i)); }
__attribute__((noinline)) static void isr_enter(uint32_t i) { tband_isr_enter(15 + (i & 1)); }
__attribute__((noinline)) static void evtmarker(uint32_t i) { tband_evtmarker(1 + (i & 1), "hello"); }
__attribute__((noinline)) static void evtmarker_end(uint32_t i) { tband_evtmarker_end(1 + (i & 1)); }
__attribute__((noinline)) static void valmarker(uint32_t i) { tband_valmarker(2, (int64_t)(1000 + i)); }

#if tband_configLOG_ENABLE == 1
__attribute__((noinline)) static void log_0(uint32_t i) {
    (void)i;
    tband_log(TBAND_LOG_INFO, "nothing");
}
__attribute__((noinline)) static void log_2(uint32_t i) { tband_log(TBAND_LOG_INFO, "%lu of %d", i & 63u, -1); }
__attribute__((noinline)) static void log_wide(uint32_t i) { tband_log(TBAND_LOG_INFO, "%lu of %s", i & 63u, "hello"); }
#endif

static void pause(uint32_t i) {
    for (uint32_t n = 0; n < i % 97u; n++) {
        __asm volatile("nop");
    }
}

/* Counts of the timer for all events; the gaps between them as well. */
static uint32_t run(void (*event)(uint32_t)) {
    uint32_t ticks = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        const uint32_t start = TIMER0->value;
        event(i);
        pause(i);
        ticks += start - TIMER0->value;
        (void)drain();
    }
    return ticks;
}

/* Bytes of stack below this call: painted before, looked at after. */
#define PAINTED 512u
__attribute__((noinline)) static uint32_t stack_of(void (*event)(uint32_t)) {
    volatile uint8_t *sp;
    __asm volatile("mov %0, sp" : "=r"(sp));
    uint32_t most = 0;
    for (uint32_t i = 0; i < 250u; i++) {
        for (uint32_t n = 1; n <= PAINTED; n++) {
            sp[-(int32_t)n] = 0xa5;
        }
        event(i);
        uint32_t n = PAINTED;
        while (n > most && sp[-(int32_t)n] == 0xa5) {
            n--;
        }
        most = n;
        (void)drain();
    }
    return most;
}

static uint32_t instructions(uint32_t ticks) { return (ticks * TENTHS + 50u) / 100u; }

static void measure(const char *name, void (*event)(uint32_t), uint32_t empty) {
    const uint32_t before = drain();
    masked_ticks = 0;
    masked_most = 0;
    const uint32_t ticks = run(event) - empty;
    const uint32_t bytes = drain() - before;
    printf("%-14s %lu instructions, %lu masked, %lu at most, %lu bytes of stack, %lu.%02lu bytes\n", name,
           (unsigned long)((instructions(ticks) + EVENTS / 2) / EVENTS),
           (unsigned long)((instructions(masked_ticks) + EVENTS / 2) / EVENTS), (unsigned long)instructions(masked_most),
           (unsigned long)(stack_of(event) - stack_of(nothing)), (unsigned long)(bytes / EVENTS),
           (unsigned long)(bytes * 100u / EVENTS % 100u));
}

int main(void) {
    TIMER0->reload = TIMER0->value = UINT32_MAX;
    TIMER0->ctrl = 1;
    TIMER1->reload = TIMER1->value = UINT32_MAX;
    TIMER1->ctrl = 1;
#if defined(TBAND_SINK_RTT_H_)
    tband_sink_init();
#endif
    /* Names to repeat. */
    tband_evtmarker_name(1, "a marker");
    tband_isr_name(15, "SysTick");
    (void)tband_start_streaming();
    const uint32_t empty = run(nothing);
    measure("isr_enter", isr_enter, empty);
    measure("evtmarker", evtmarker, empty);
    measure("evtmarker_end", evtmarker_end, empty);
    measure("valmarker", valmarker, empty);
#if tband_configLOG_ENABLE == 1
    measure("log_0", log_0, empty);
    measure("log_2", log_2, empty);
    measure("log_wide", log_wide, empty);
#endif
    board_exit(0);
    return 0;
}

void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);
void Timer0_Handler(void);
void SVC_Handler(void) {}
void PendSV_Handler(void) {}
void SysTick_Handler(void) {}
void Timer0_Handler(void) {}
