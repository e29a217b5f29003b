/* Vectors and reset of QEMU's mps2-an385; all memory is RAM, so nothing has to be copied. */
#include <stdint.h>
#include <string.h>

extern uint32_t bss_begin[], bss_end[], stack_top[];
int main(void);
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);
void Reset_Handler(void);

void Reset_Handler(void) {
    memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
    (void)main();
    for (;;) {
    }
}

static void Fault_Handler(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top, Reset_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, 0, 0, 0, 0,
    SVC_Handler, 0, 0, PendSV_Handler, SysTick_Handler,
};
