/* What port/zephyr and zephyr/tband_zephyr.c use of Zephyr, declared for a test on the host. */
#ifndef ZEPHYR_KERNEL_H_
#define ZEPHYR_KERNEL_H_

#include <stdint.h>

struct k_thread {
    const char *name;
};
typedef struct k_thread *k_tid_t;

k_tid_t k_current_get(void);
const char *k_thread_name_get(k_tid_t thread);
uint32_t k_cycle_get_32(void);
int sys_clock_hw_cycles_per_sec(void);

#endif
