/* A program of a Cortex-M4 that does nothing useful: its ELF file is what the tests of src/symbols/ read. */
#include <stdint.h>

#define READ_ONLY __attribute__((used, section(".rodata.catalog")))

extern uint32_t stack_top;
int pump_step(int flow);
volatile uint32_t pump_ticks;

READ_ONLY const char pump_message[] = "pump: flow %u ml/s, valve \xC3\xB6" "ffnet";
READ_ONLY const char pump_not_text[] = "\xFF\xFE";

static inline __attribute__((always_inline)) int scaled(int raw)
{
    return raw * 3 +
           (int)pump_ticks;
}

__attribute__((noinline)) int pump_read(int channel)
{
    int value = scaled(channel);
    return value / 7;
}

void SysTick_Handler(void)
{
    pump_ticks++;
}

void Pump_IRQHandler(void)
{
    pump_step(pump_read(2));
}

void Default_Handler(void)
{
    for (;;) {
    }
}
void NMI_Handler(void) __attribute__((weak, alias("Default_Handler")));
void HardFault_Handler(void) __attribute__((weak, alias("Default_Handler")));

__attribute__((noreturn)) void Reset_Handler(void)
{
    for (;;) {
        pump_step(pump_read(1));
    }
}

__attribute__((used, section(".isr_vector"))) static void (*const vectors[])(void) = {
    (void (*)(void))&stack_top, Reset_Handler, NMI_Handler, HardFault_Handler,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, SysTick_Handler,
    Default_Handler, Pump_IRQHandler,
};
