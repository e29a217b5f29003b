#include <stdio.h>

#include "../app.h"
#include "FreeRTOS.h"
#include "task.h"
#include "board.h"

uint32_t platform_mask;

void platform_write(const char *name, const void *data, size_t len) { board_write_file(name, data, len); }

void platform_exit(int status) { board_exit(status); }

void app_assert(const char *file, int line);
void app_assert(const char *file, int line) {
    static char text[200];
    (void)snprintf(text, sizeof text, "%s:%d: assertion\n", file, line);
    board_print(text);
    board_exit(1);
}

/* printf goes to the debugger's console. */
int _write(int file, const char *text, int len);
int _write(int file, const char *text, int len) {
    static char line[200];
    (void)file;
    for (int at = 0; at < len;) {
        int n = 0;
        while (at < len && n < (int)sizeof line - 1) {
            line[n++] = text[at++];
        }
        line[n] = '\0';
        board_print(line);
    }
    return len;
}

/* A second interrupt, of higher priority than the tick: nests in it. */
void platform_start_interrupt(void) {
    tband_isr_name(16 + TIMER0_IRQ, "TIMER0");
    TIMER0->reload = TIMER0->value = TIMER_HZ / 1700u;
    TIMER0->ctrl = 9; /* enabled, interrupt */
    ((volatile uint8_t *)0xe000e400u)[TIMER0_IRQ] = 4 << 5;
    *(volatile uint32_t *)0xe000e100u = 1u << TIMER0_IRQ;
}

/* What else an application does in it. */
void app_interrupt(void);
__attribute__((weak)) void app_interrupt(void) {}

void Timer0_Handler(void);
void Timer0_Handler(void) {
    tband_isr_enter(16 + TIMER0_IRQ);
    TIMER0->intstatus = 1;
    static uint32_t count;
    tband_valmarker(4, (int64_t)++count);
    app_interrupt();
    tband_isr_exit(16 + TIMER0_IRQ);
}

#if __ARM_ARCH != 8
void xPortSysTickHandler(void);
void SysTick_Handler(void);
void SysTick_Handler(void) { xPortSysTickHandler(); }
#endif

void platform_reset(void) {
    *(volatile uint32_t *)0xe000ed0cu = 0x05fa0004u;
    for (;;) {
    }
}

#ifdef APP_RESET
/* Did the last run leave a recording? */
static void save_last_words(void) {
    static uint8_t capture[1 << 16];
    const size_t len = tband_post_mortem_read(0, capture, sizeof capture);
    if (len > 0) {
        (void)printf("after a reset: %lu bytes\n", (unsigned long)len);
        platform_write("capture.bin", capture, len);
        (void)tband_clear_post_mortem();
        platform_exit(tband_post_mortem_size() == 0 ? 0 : 1);
    }
}
#endif

int main(void) {
#ifdef APP_RESET
    save_last_words();
#endif
    TIMER1->reload = TIMER1->value = UINT32_MAX;
    TIMER1->ctrl = 1;
    app_run();
    return 1;
}
