/* A port of the kernel to two harts of QEMU's RISC-V board `virt`, for the tests: see port.c. */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#include <stdint.h>

typedef uint32_t StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
#define portMAX_DELAY ((TickType_t)0xffffffffu)
#define portTICK_TYPE_IS_ATOMIC 1
#define portSTACK_GROWTH (-1)
#define portTICK_PERIOD_MS ((TickType_t)1)
#define portBYTE_ALIGNMENT 16
#define portPOINTER_SIZE_TYPE uintptr_t
#define portCRITICAL_NESTING_IN_TCB 0

BaseType_t smp_core(void);
void smp_yield(BaseType_t core);
void smp_yield_here(void);
UBaseType_t smp_mask(void);
void smp_unmask(UBaseType_t mask);
void smp_lock(BaseType_t which);
void smp_unlock(BaseType_t which);
extern UBaseType_t smp_nesting[2];
extern volatile UBaseType_t smp_in_isr[2];

#define portGET_CORE_ID() smp_core()
#define portYIELD() smp_yield_here()
#define portYIELD_CORE(core) smp_yield(core)
#define portYIELD_FROM_ISR(woken) ((woken) ? smp_yield(smp_core()) : (void)0)
#define portCHECK_IF_IN_ISR() (smp_in_isr[smp_core()] != 0)
#define portSET_INTERRUPT_MASK() smp_mask()
#define portCLEAR_INTERRUPT_MASK(mask) smp_unmask(mask)
#define portSET_INTERRUPT_MASK_FROM_ISR() smp_mask()
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(mask) smp_unmask(mask)
#define portDISABLE_INTERRUPTS() ((void)smp_mask())
#define portENABLE_INTERRUPTS() smp_unmask(8)
#define portGET_ISR_LOCK(core) smp_lock(1)
#define portRELEASE_ISR_LOCK(core) smp_unlock(1)
#define portGET_TASK_LOCK(core) smp_lock(0)
#define portRELEASE_TASK_LOCK(core) smp_unlock(0)
#define portGET_CRITICAL_NESTING_COUNT(core) (smp_nesting[core])
#define portSET_CRITICAL_NESTING_COUNT(core, count) (smp_nesting[core] = (count))
#define portINCREMENT_CRITICAL_NESTING_COUNT(core) (smp_nesting[core]++)
#define portDECREMENT_CRITICAL_NESTING_COUNT(core) (smp_nesting[core]--)
#define portENTER_CRITICAL() vTaskEnterCritical()
#define portEXIT_CRITICAL() vTaskExitCritical()
#define portENTER_CRITICAL_FROM_ISR() vTaskEnterCriticalFromISR()
#define portEXIT_CRITICAL_FROM_ISR(mask) vTaskExitCriticalFromISR(mask)
void vTaskEnterCritical(void);
void vTaskExitCritical(void);
UBaseType_t vTaskEnterCriticalFromISR(void);
void vTaskExitCriticalFromISR(UBaseType_t mask);
#define portTASK_FUNCTION_PROTO(function, parameters) void function(void *parameters)
#define portTASK_FUNCTION(function, parameters) void function(void *parameters)

#endif
