/* What the tests use of MPS2 AN386, or of AN505 in secure state, and of semihosting. */
#ifndef BOARD_H_
#define BOARD_H_

#include <stddef.h>
#include <stdint.h>

struct cmsdk_timer {
    volatile uint32_t ctrl, value, reload, intstatus;
};
#if __ARM_ARCH == 8
#define TIMER0 ((struct cmsdk_timer *)0x50000000u)
#define TIMER1 ((struct cmsdk_timer *)0x50001000u)
#define TIMER0_IRQ 3
#define TIMER_HZ 20000000u
#else
#define TIMER0 ((struct cmsdk_timer *)0x40000000u)
#define TIMER1 ((struct cmsdk_timer *)0x40001000u)
#define TIMER0_IRQ 8
#define TIMER_HZ 25000000u
#endif

static inline int semihosting(int operation, const void *argument) {
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline void board_write_file(const char *name, const void *data, size_t len) {
    const char *n = name;
    size_t name_len = 0;
    while (n[name_len] != '\0') {
        name_len++;
    }
    const uint32_t open[3] = {(uint32_t)name, 5 /* wb */, (uint32_t)name_len};
    const int file = semihosting(0x01, open);
    const uint32_t write[3] = {(uint32_t)file, (uint32_t)data, (uint32_t)len};
    (void)semihosting(0x05, write);
    const uint32_t close[1] = {(uint32_t)file};
    (void)semihosting(0x02, close);
}

static inline void board_print(const char *text) { (void)semihosting(0x04, text); }

static inline void board_exit(int status) {
    const uint32_t argument[2] = {0x20026 /* application exit */, (uint32_t)status};
    (void)semihosting(0x20, argument);
}

#endif
