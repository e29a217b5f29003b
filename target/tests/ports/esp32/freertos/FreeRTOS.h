/* A stub: what the ESP32 port uses of ESP-IDF. */
#pragma once
typedef unsigned int UBaseType_t;
#define configNUM_CORES 2
#define portSET_INTERRUPT_MASK_FROM_ISR() 0u
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(level) ((void)(level))
static inline int xPortGetCoreID(void) { return 0; }
