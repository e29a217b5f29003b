/* ARM_CM4F, or a Cortex-M with an MPU, under FreeRTOS: raises BASEPRI, from any context and nested; the clock is a 32-bit timer that counts down. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdint.h>

#include "FreeRTOS.h"

#include "app.h"
#include "board.h"

#define tband_portTIMESTAMP() ((uint64_t)(uint32_t)~TIMER1->value)
#define tband_portTIMESTAMP_BITS 32
#define tband_portTIMESTAMP_HZ TIMER_HZ
/* Only where the application looks at it: otherwise the library is as large and as fast as in firmware. */
#ifdef APP_CHECKS_MASK
#define tband_portENTER_CRITICAL_FROM_ANY() const uint32_t tband_port_mask = platform_mask = portSET_INTERRUPT_MASK_FROM_ISR()
#else
#define tband_portENTER_CRITICAL_FROM_ANY()                                                                                  \
    const uint32_t tband_port_mask = portSET_INTERRUPT_MASK_FROM_ISR();                                                      \
    PLATFORM_MASKED()
#endif
#ifdef TEST_MASKED
/* The longest time with interrupts masked, in counts of the timer. */
extern uint32_t platform_masked;
#define PLATFORM_MASKED() const uint32_t platform_then = TIMER1->value
#define tband_portEXIT_CRITICAL_FROM_ANY()                                                                                   \
    const uint32_t platform_took = platform_then - TIMER1->value;                                                            \
    platform_masked = platform_took > platform_masked ? platform_took : platform_masked;                                     \
    portCLEAR_INTERRUPT_MASK_FROM_ISR(tband_port_mask)
#else
#define PLATFORM_MASKED() ((void)0)
#define tband_portEXIT_CRITICAL_FROM_ANY() portCLEAR_INTERRUPT_MASK_FROM_ISR(tband_port_mask)
#endif
#define tband_portNUMBER_OF_CORES 1
#define tband_portGET_CORE_ID() 0
#define tband_portBACKEND_STREAM_DATA(buf, len) app_sink((buf), (len))

#endif
