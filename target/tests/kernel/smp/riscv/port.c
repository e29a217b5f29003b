/* The kernel on two harts of QEMU's `virt`, in machine mode: a trap saves all registers on the task's stack, a software interrupt of the
 * CLINT switches tasks, and hart 0 has the tick. Both harts run at the same time, each in a thread of the emulator. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "app.h"

#include "FreeRTOS.h"

#include "task.h"

#define MSIP(hart) (*(volatile uint32_t *)(0x02000000u + 4u * (uint32_t)(hart)))
#define MTIMECMP ((volatile uint32_t *)0x02004000u)
#define MTIME ((volatile uint32_t *)0x0200bff8u)
#define TIMER_CAUSE 0x80000007u
#define SOFTWARE_CAUSE 0x80000003u
#define TICK (10000000u / configTICK_RATE_HZ)

UBaseType_t smp_nesting[2];
volatile UBaseType_t smp_in_isr[2];
/* Stacks of the interrupts: the end of hart 0's, then the end of hart 1's. */
__attribute__((aligned(16))) uint8_t smp_stacks[2][4096];
volatile uint32_t smp_go;
extern void *volatile pxCurrentTCBs[2];

BaseType_t smp_core(void) {
    BaseType_t hart;
    __asm volatile("csrr %0, mhartid" : "=r"(hart));
    return hart;
}

UBaseType_t smp_mask(void) {
    UBaseType_t status;
    __asm volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return status & 8u;
}

void smp_unmask(UBaseType_t mask) { __asm volatile("csrs mstatus, %0" ::"r"(mask & 8u) : "memory"); }

void smp_yield(BaseType_t core) { MSIP(core) = 1; }

void smp_yield_here(void) {
    const UBaseType_t mask = smp_mask();
    const BaseType_t core = smp_core();
    MSIP(core) = 1;
    smp_unmask(mask);
    /* The task may go on another core. */
    while (mask != 0 && MSIP(core) != 0 && smp_core() == core) {
    }
}

/* Recursive, by core. */
static atomic_long owner[2];
static uint32_t count[2];

void smp_lock(BaseType_t which) {
    const long me = smp_core() + 1;
    if (atomic_load(&owner[which]) != me) {
        long none = 0;
        while (!atomic_compare_exchange_weak(&owner[which], &none, me)) {
            none = 0;
        }
    }
    count[which]++;
}

void smp_unlock(BaseType_t which) {
    if (--count[which] == 0) {
        atomic_store(&owner[which], 0);
    }
}

StackType_t *pxPortInitialiseStack(StackType_t *top, TaskFunction_t function, void *argument) {
    top -= 36;
    for (int i = 0; i < 36; i++) {
        top[i] = 0;
    }
    register uint32_t gp __asm("gp");
    register uint32_t tp __asm("tp");
    top[3] = gp;
    top[4] = tp;
    top[10] = (StackType_t)argument;
    top[32] = (StackType_t)function;
    top[33] = 0x1880; /* machine mode, interrupts on after mret */
    return top;
}

static void set_timer(uint32_t low, uint32_t high) {
    MTIMECMP[1] = 0xffffffffu;
    MTIMECMP[0] = low;
    MTIMECMP[1] = high;
}

static void next_tick(void) {
    uint32_t high;
    uint32_t low;
    do {
        high = MTIME[1];
        low = MTIME[0];
    } while (high != MTIME[1]);
    const uint64_t then = ((uint64_t)high << 32 | low) + TICK;
    set_timer((uint32_t)then, (uint32_t)(then >> 32));
}

void smp_trap(uint32_t cause);
void smp_trap(uint32_t cause) {
    const BaseType_t core = smp_core();
    smp_in_isr[core] = 1;
    if (cause == TIMER_CAUSE) {
        tband_isr_enter(7);
        next_tick();
        const UBaseType_t mask = portENTER_CRITICAL_FROM_ISR();
        if (xTaskIncrementTick() != pdFALSE) {
            MSIP(core) = 1;
        }
        portEXIT_CRITICAL_FROM_ISR(mask);
        tband_isr_exit(7);
    } else if (cause == SOFTWARE_CAUSE) {
        MSIP(core) = 0;
        vTaskSwitchContext(core);
    } else {
        uint32_t at;
        __asm volatile("csrr %0, mepc" : "=r"(at));
        (void)printf("hart %ld: trap %lx at %lx\n", core, (unsigned long)cause, (unsigned long)at);
        _Exit(1);
    }
    smp_in_isr[core] = 0;
}

void smp_enter(void);
void smp_leave(void);

static void begin(void) {
    __asm volatile("csrw mtvec, %0\n\tcsrw mie, %1" ::"r"(smp_enter), "r"(smp_core() == 0 ? 0x88u : 0x08u));
    smp_leave();
}

/* Hart 1 waits in start.S until it may. */
void smp_second(void);
void smp_second(void) { begin(); }

BaseType_t xPortStartScheduler(void) {
    (void)smp_mask();
    next_tick();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    smp_go = 1;
    begin();
    return pdFALSE;
}

void vPortEndScheduler(void) {}

void platform_write(const char *name, const void *data, size_t len) {
    FILE *const file = fopen(name, "wb");
    if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0) {
        platform_exit(1);
    }
}

void platform_exit(int status) {
    extern void _exit(int);
    _exit(status);
}

void app_assert(const char *file, int line);
void app_assert(const char *file, int line) {
    (void)printf("%s:%d: assertion\n", file, line);
    platform_exit(1);
}
