/* Zephyr's hooks, called as its scheduler calls them: what is recorded is which thread runs, and when interrupts are active. */
#include <stdio.h>
#include <string.h>

#include <zephyr/irq.h>
#include <zephyr/kernel.h>

#include "../decode.h"
#include "tband.h"

void sys_trace_thread_create_user(struct k_thread *thread);
void sys_trace_thread_abort_user(struct k_thread *thread);
void sys_trace_thread_name_set_user(struct k_thread *thread);
void sys_trace_thread_switched_in_user(void);
void sys_trace_thread_switched_out_user(void);
void sys_trace_isr_enter_user(void);
void sys_trace_isr_exit_user(void);

static struct k_thread *current;
static unsigned int locked;
static uint8_t capture[1 << 16];
static size_t capture_len;

k_tid_t k_current_get(void) { return current; }
const char *k_thread_name_get(k_tid_t thread) { return thread->name; }
uint32_t k_cycle_get_32(void) {
    static uint32_t now;
    return now += 10;
}
int sys_clock_hw_cycles_per_sec(void) { return 64000000; }
unsigned int irq_lock(void) { return locked++; }
void irq_unlock(unsigned int key) { locked = key; }

bool tband_sink(const uint8_t *buf, size_t len) {
    if (len > sizeof capture - capture_len) {
        return true;
    }
    memcpy(capture + capture_len, buf, len);
    capture_len += len;
    return false;
}

static void run(struct k_thread *thread) {
    sys_trace_thread_switched_out_user();
    current = thread;
    sys_trace_thread_switched_in_user();
    sys_trace_isr_enter_user();
    sys_trace_isr_exit_user();
}

/* Ids of events, see FORMAT.md. */
enum { ISR_ENTER = 4, ISR_EXIT, NAME, BEGIN = 8, END };

int main(void) {
    struct k_thread idle = {"idle"}, sensor = {""}, nameless = {NULL}, late = {"late"}, more[CONFIG_TBAND_THREADS];
    unsigned int failures = 0, spans[4] = {0}, interrupts = 0, others = 0;
    memset(more, 0, sizeof more);
    current = &idle;
    sys_trace_thread_create_user(&idle);
    sys_trace_thread_create_user(&sensor);
    sensor.name = "sensor";
    sys_trace_thread_name_set_user(&sensor);
    failures += tband_start_streaming() != 0;
    for (unsigned int i = 0; i < 50; i++) {
        run(&sensor);
        run(&nameless);
        run(&idle);
    }
    /* The place of a thread that was ended, or ended itself, is free again. */
    sys_trace_thread_abort_user(&nameless);
    run(&late);
    sys_trace_thread_abort_user(&late);
    run(&idle);
    for (unsigned int i = 0; i < CONFIG_TBAND_THREADS; i++) {
        sys_trace_thread_create_user(&more[i]);
    }
    /* No room for the last of them. */
    run(&more[CONFIG_TBAND_THREADS - 1]);
    (void)tband_stop_streaming();
    struct decoder d = {0};
    static struct event e;
    char names[3][20] = {"", "", ""};
    uint64_t open = 0;
    for (size_t at = 0; decode_next(&d, capture, capture_len, &at, &e);) {
        const uint64_t thread = e.field[0] - CONFIG_TBAND_THREAD_MARKERS;
        if (e.id == BEGIN || e.id == END || e.id == NAME) {
            failures += thread >= CONFIG_TBAND_THREADS;
        }
        switch (e.id) {
        case NAME:
            if (thread < 3 && e.text_len < sizeof names[0]) {
                memcpy(names[thread], e.text, e.text_len);
            }
            break;
        case BEGIN:
            failures += open != 0;
            open = e.field[0];
            spans[thread < 3 ? thread : 3]++;
            break;
        case END:
            /* The first end belongs to what ran before the recording. */
            failures += open != e.field[0] && spans[1] != 0;
            open = 0;
            break;
        case ISR_ENTER:
        case ISR_EXIT:
            interrupts++;
            break;
        default:
            others++;
            break;
        }
    }
    failures += spans[0] != 51 || spans[1] != 50 || spans[2] != 51 || spans[3] != 0 || interrupts != 2 * 153;
    failures += strcmp(names[0], "idle") != 0 || strcmp(names[1], "sensor") != 0 || strcmp(names[2], "late") != 0;
    failures += d.malformed + d.lost_frames + locked + (others == 0);
    printf("Zephyr: %u runs of threads, %u interrupt events, %u failures\n", spans[0] + spans[1] + spans[2], interrupts, failures);
    return failures == 0 ? 0 : 1;
}
