/* Nothing but the documented macros of the original library. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

uint64_t platform_ts(void);
extern volatile bool snapshot_full;

#define tband_portTIMESTAMP() platform_ts()
#define tband_portTIMESTAMP_RESOLUTION_NS (10)
#define tband_portENTER_CRITICAL_FROM_ANY()
#define tband_portEXIT_CRITICAL_FROM_ANY()
#define tband_portNUMBER_OF_CORES (1)
#define tband_portGET_CORE_ID() (0)
#define tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK() snapshot_full = true
#define tband_portNOINIT
