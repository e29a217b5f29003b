/* As little of a kernel as possible: tasks that yield. No timers, mutexes, event groups or stream buffers, and none of the optional
 * functions. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#define configUSE_PREEMPTION 0
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configCPU_CLOCK_HZ 25000000
#define configTICK_RATE_HZ 1000
#define configMAX_PRIORITIES 3
#define configMINIMAL_STACK_SIZE 256
#define configTOTAL_HEAP_SIZE (16 * 1024)
#define configUSE_16_BIT_TICKS 0
#define configUSE_MUTEXES 0
#define configUSE_TIMERS 0
#define configUSE_EVENT_GROUPS 0
#define configUSE_STREAM_BUFFERS 0
#define configUSE_TASK_NOTIFICATIONS 0
#define configUSE_TRACE_FACILITY 1
#define configKERNEL_INTERRUPT_PRIORITY (7 << 5)
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (2 << 5)
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define INCLUDE_vTaskDelay 1

void app_assert(const char *file, int line);
#define configASSERT(x) ((x) ? (void)0 : app_assert(__FILE__, __LINE__))

#ifndef __ASSEMBLER__
#include "tband.h"
#endif

#endif
