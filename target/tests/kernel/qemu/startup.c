/* Reset and vectors of the emulated board. */
#include <stdint.h>
#include <string.h>

#include "board.h"

extern uint32_t data_begin[], data_end[], data_load[], bss_begin[], bss_end[], stack_top[];
/* Only some linker scripts have these. */
extern uint32_t hidden_data_begin[] __attribute__((weak)), hidden_data_end[] __attribute__((weak)), hidden_data_load[] __attribute__((weak));
int main(void);
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);
void Timer0_Handler(void);

static void Fault_Handler(void) {
    board_print("fault\n");
    board_exit(1);
    for (;;) {
    }
}

static void Unused_Handler(void) {}

void Reset_Handler(void);
void Reset_Handler(void) {
    memcpy(data_begin, data_load, (size_t)((char *)data_end - (char *)data_begin));
    memcpy(hidden_data_begin, hidden_data_load, (size_t)((char *)hidden_data_end - (char *)hidden_data_begin));
    memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
    /* Floating point. */
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;
    (void)main();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top, Reset_Handler,  Unused_Handler, Fault_Handler,  Fault_Handler,  Fault_Handler, Fault_Handler,
    Unused_Handler,            Unused_Handler, Unused_Handler, Unused_Handler, SVC_Handler,    Unused_Handler,
    Unused_Handler,            PendSV_Handler, SysTick_Handler,
    /* Interrupts 0 to 9. */
    Unused_Handler, Unused_Handler, Unused_Handler, TIMER0_IRQ == 3 ? Timer0_Handler : Unused_Handler, Unused_Handler, Unused_Handler,
    Unused_Handler, Unused_Handler, TIMER0_IRQ == 8 ? Timer0_Handler : Unused_Handler, Unused_Handler,
};
