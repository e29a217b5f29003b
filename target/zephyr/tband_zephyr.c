/* Zephyr's tracing hooks (CONFIG_TRACING_USER): threads and interrupts.
 *
 * A thread is an event marker, with its name; each time that it runs is a span. Only Zephyr's public interface is used. */
#include <zephyr/irq.h>
#include <zephyr/kernel.h>

#include "tband.h"

#if tband_configENABLE == 1 && tband_configMARKER_TRACE_ENABLE == 1 && tband_configISR_TRACE_ENABLE == 1

#ifndef CONFIG_TBAND_THREADS
#define CONFIG_TBAND_THREADS 32
#endif
#ifndef CONFIG_TBAND_THREAD_MARKERS
#define CONFIG_TBAND_THREAD_MARKERS 1000
#endif
/* The interrupt that is active. */
#ifndef TBAND_ZEPHYR_IRQ
#if defined(__arm__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
static inline uint32_t tband_zephyr_irq(void) {
    uint32_t number;
    __asm volatile("mrs %0, ipsr" : "=r"(number));
    return number;
}
#define TBAND_ZEPHYR_IRQ() tband_zephyr_irq()
#else
#define TBAND_ZEPHYR_IRQ() 0u
#endif
#endif

/* Provided by Zephyr as weak functions that do nothing; declared in its tracing_user.h, which is not on every include path. */
void sys_trace_thread_create_user(struct k_thread *thread);
void sys_trace_thread_abort_user(struct k_thread *thread);
void sys_trace_thread_name_set_user(struct k_thread *thread);
void sys_trace_thread_switched_in_user(void);
void sys_trace_thread_switched_out_user(void);
void sys_trace_isr_enter_user(void);
void sys_trace_isr_exit_user(void);

/* Changed with interrupts locked. A thread's place is its marker's number. */
static struct k_thread *tband_zephyr_threads[CONFIG_TBAND_THREADS];

/* The place of a thread, or of the first free one for NULL; CONFIG_TBAND_THREADS: none. */
static uint32_t tband_zephyr_place(const struct k_thread *thread) {
    uint32_t i = 0;
    while (i < CONFIG_TBAND_THREADS && tband_zephyr_threads[i] != thread) {
        i++;
    }
    return i;
}

/* The marker of a thread, which gets one, and its name. False: there is no room. */
static bool tband_zephyr_marker(struct k_thread *thread, bool is_renamed, uint32_t *id) {
    const unsigned int key = irq_lock();
    uint32_t place = tband_zephyr_place(thread);
    if (place == CONFIG_TBAND_THREADS) {
        place = tband_zephyr_place(NULL);
        is_renamed = place < CONFIG_TBAND_THREADS;
    }
    if (place < CONFIG_TBAND_THREADS) {
        tband_zephyr_threads[place] = thread;
    }
    irq_unlock(key);
    *id = CONFIG_TBAND_THREAD_MARKERS + place;
    if (is_renamed) {
        const char *const name = k_thread_name_get(thread);
        if (name != NULL && name[0] != '\0') {
            tband_evtmarker_name(*id, name);
        }
    }
    return place < CONFIG_TBAND_THREADS;
}

void sys_trace_thread_create_user(struct k_thread *thread) {
    uint32_t id;
    (void)tband_zephyr_marker(thread, true, &id);
}

void sys_trace_thread_name_set_user(struct k_thread *thread) { sys_trace_thread_create_user(thread); }

/* Ends the span of a thread that runs. `forgets`: the thread has ended, and its place is free. */
static void tband_zephyr_end(const struct k_thread *thread, bool forgets) {
    const unsigned int key = irq_lock();
    const uint32_t place = tband_zephyr_place(thread);
    if (place < CONFIG_TBAND_THREADS) {
        if (thread == k_current_get()) {
            tband_evtmarker_end(CONFIG_TBAND_THREAD_MARKERS + place);
        }
        if (forgets) {
            tband_zephyr_threads[place] = NULL;
        }
    }
    irq_unlock(key);
}

void sys_trace_thread_abort_user(struct k_thread *thread) { tband_zephyr_end(thread, true); }

void sys_trace_thread_switched_in_user(void) {
    uint32_t id;
    if (tband_zephyr_marker(k_current_get(), false, &id)) {
        tband_evtmarker_begin(id, "");
    }
}

void sys_trace_thread_switched_out_user(void) { tband_zephyr_end(k_current_get(), false); }

void sys_trace_isr_enter_user(void) { tband_isr_enter(TBAND_ZEPHYR_IRQ()); }

void sys_trace_isr_exit_user(void) { tband_isr_exit(TBAND_ZEPHYR_IRQ()); }

#endif
