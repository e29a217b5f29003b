/* One configuration for the POSIX port and for ARM_CM4F, and for all kernels from V10.2 on. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>
#endif

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#ifndef configUSE_IDLE_HOOK
#define configUSE_IDLE_HOOK 0
#endif
#define configUSE_TICK_HOOK 1
#define configTICK_RATE_HZ 1000
#define configMAX_PRIORITIES 8
#define configMAX_TASK_NAME_LEN 16
#ifndef configUSE_16_BIT_TICKS
#define configUSE_16_BIT_TICKS 0
#endif
#define configIDLE_SHOULD_YIELD 1
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_QUEUE_SETS 1
#define configQUEUE_REGISTRY_SIZE 8
#define configUSE_TASK_NOTIFICATIONS 1
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 2
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY 6
#define configTIMER_QUEUE_LENGTH 10
#define configTIMER_TASK_STACK_DEPTH 512
#define configUSE_EVENT_GROUPS 1
#define configUSE_STREAM_BUFFERS 1
#define configSUPPORT_STATIC_ALLOCATION 0
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configUSE_TRACE_FACILITY 1
#define configCHECK_FOR_STACK_OVERFLOW 0

#ifdef __arm__
#if __ARM_ARCH == 8
#define configCPU_CLOCK_HZ 20000000
#else
#define configCPU_CLOCK_HZ 25000000
#endif
#define configMINIMAL_STACK_SIZE 256
#define configTOTAL_HEAP_SIZE (48 * 1024)
#define configKERNEL_INTERRUPT_PRIORITY (7 << 5)
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (2 << 5)
#define xPortPendSVHandler PendSV_Handler
#ifndef TEST_MPU
#define vPortSVCHandler SVC_Handler
#else
/* The tracer's is SVC_Handler; the kernel's has this name on a Cortex-M33. */
#if __ARM_ARCH == 8
#define SVC_Handler vPortSVCHandler
#define configTOTAL_MPU_REGIONS 16
#else
#define configTOTAL_MPU_REGIONS 8
#endif
#define configCHECK_HANDLER_INSTALLATION 0
#define configTEX_S_C_B_FLASH 7
#define configTEX_S_C_B_SRAM 7
#define configENFORCE_SYSTEM_CALLS_FROM_KERNEL_ONLY 1
#define configALLOW_UNPRIVILEGED_CRITICAL_SECTIONS 0
#define configPROTECTED_KERNEL_OBJECT_POOL_SIZE 40
#define configSYSTEM_CALL_STACK_SIZE 256
#define configENABLE_ACCESS_CONTROL_LIST 0
#endif
#elif defined(__riscv)
/* The CLINT of QEMU's `virt`. */
#define configCPU_CLOCK_HZ 10000000
#define configMTIME_BASE_ADDRESS 0x0200bff8
#define configMTIMECMP_BASE_ADDRESS 0x02004000
#define configISR_STACK_SIZE_WORDS 1024
#define configMINIMAL_STACK_SIZE 512
#define configTOTAL_HEAP_SIZE (96 * 1024)
#else
#define configCPU_CLOCK_HZ 0
#define configMINIMAL_STACK_SIZE 4096
#define configTOTAL_HEAP_SIZE (4 * 1024 * 1024)
#endif

#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelayUntil 1
#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskGetIdleTaskHandle 1
#define INCLUDE_eTaskGetState 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define INCLUDE_xSemaphoreGetMutexHolder 1
#define INCLUDE_xTimerPendFunctionCall 1
#define INCLUDE_xResumeFromISR 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

#ifndef __ASSEMBLER__
void app_assert(const char *file, int line);
void app_asserted(const char *function);
#endif
/* What happens where the kernel asserts something. */
#ifndef TEST_ASSERTED
#define TEST_ASSERTED ((void)0)
#endif
#define configASSERT(x)                                                                                                      \
    do {                                                                                                                     \
        if (!(x)) {                                                                                                          \
            app_assert(__FILE__, __LINE__);                                                                                  \
        }                                                                                                                    \
        TEST_ASSERTED;                                                                                                       \
    } while (0)

/* As target/README.md says. */
#define traceLOW_POWER_IDLE_BEGIN() tband_evtmarker_begin(98, "sleep")
#define traceLOW_POWER_IDLE_END() tband_evtmarker_end(98)

#ifndef __ASSEMBLER__
#include "tband.h"
#endif

#endif
