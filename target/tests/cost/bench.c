/* Instructions per event on an emulated Cortex-M4, where (with -icount shift=0) an instruction takes one nanosecond and the
 * timer ticks every 40 of them. Each event is recorded many times, with a gap whose length changes, so that the mean is exact. */
#include <stdio.h>

#include "tband.h"

#include "../kernel/qemu/board.h"

#define EVENTS 4000u
#define TICK_NS 40u

static uint8_t ring[4096];
static uint32_t ring_head;
static uint32_t ring_free = UINT32_MAX;
uint32_t masked_ticks;
volatile uint32_t clock_high;

/* A sink as firmware has it: room, wrap, copy. */
bool ring_put(const uint8_t *buf, size_t len);
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

static void pause(uint32_t i) {
    for (uint32_t n = 0; n < i % 97u; n++) {
        __asm volatile("nop");
    }
}

/* Nanoseconds for all events; the gaps between them as well. */
static uint32_t run(void (*event)(uint32_t)) {
    const uint32_t start = TIMER0->value;
    for (uint32_t i = 0; i < EVENTS; i++) {
        event(i);
        pause(i);
    }
    return (start - TIMER0->value) * TICK_NS;
}

static void measure(const char *name, void (*event)(uint32_t), uint32_t empty) {
    const uint32_t head = ring_head;
    masked_ticks = 0;
    const uint32_t ns = run(event) - empty;
    printf("%-14s %lu instructions, %lu masked, %lu.%02lu bytes\n", name, (unsigned long)((ns + EVENTS / 2) / EVENTS),
           (unsigned long)((masked_ticks * TICK_NS + EVENTS / 2) / EVENTS), (unsigned long)((ring_head - head) / EVENTS),
           (unsigned long)((ring_head - head) * 100u / EVENTS % 100u));
}

int main(void) {
    TIMER0->reload = TIMER0->value = UINT32_MAX;
    TIMER0->ctrl = 1;
    TIMER1->reload = TIMER1->value = UINT32_MAX;
    TIMER1->ctrl = 1;
    (void)tband_start_streaming();
    const uint32_t empty = run(nothing);
    measure("isr_enter", isr_enter, empty);
    measure("evtmarker", evtmarker, empty);
    measure("evtmarker_end", evtmarker_end, empty);
    measure("valmarker", valmarker, empty);
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
