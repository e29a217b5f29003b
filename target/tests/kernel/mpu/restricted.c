/* Unprivileged tasks: a stack each, the memory of the application, and the clock. */
#include "FreeRTOS.h"

#include "task.h"

#include "board.h"

#define TASKS 6
#define WORDS 512
extern uint32_t shared_begin[], shared_size[];
static StackType_t stacks[TASKS][WORDS] __attribute__((section(".stacks"), aligned(WORDS * 4)));

void platform_create_restricted(TaskFunction_t task, const char *name, uint32_t i, UBaseType_t priority, TaskHandle_t *handle);
void platform_create_restricted(TaskFunction_t task, const char *name, uint32_t i, UBaseType_t priority, TaskHandle_t *handle) {
    static TaskParameters_t parameters;
    parameters.pvTaskCode = task;
    parameters.pcName = name;
    parameters.usStackDepth = WORDS;
    parameters.pvParameters = (void *)(uintptr_t)i;
    parameters.uxPriority = priority;
    parameters.puxStackBuffer = stacks[i];
    parameters.xRegions[0].pvBaseAddress = shared_begin;
    parameters.xRegions[0].ulLengthInBytes = (uint32_t)shared_size;
#if __ARM_ARCH == 8
    parameters.xRegions[0].ulParameters = tskMPU_REGION_READ_WRITE | tskMPU_REGION_EXECUTE_NEVER;
    parameters.xRegions[1].pvBaseAddress = TIMER1;
    parameters.xRegions[1].ulLengthInBytes = 32;
    parameters.xRegions[1].ulParameters = tskMPU_REGION_READ_ONLY | tskMPU_REGION_EXECUTE_NEVER | tskMPU_REGION_DEVICE_MEMORY;
#else
    /* All tasks may use peripherals. */
    parameters.xRegions[0].ulParameters = portMPU_REGION_READ_WRITE | portMPU_REGION_EXECUTE_NEVER;
#endif
    (void)xTaskCreateRestricted(&parameters, handle);
}
