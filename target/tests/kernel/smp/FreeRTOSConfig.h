/* The configuration of the other kernel tests, for two cores. */
#ifndef SMP_CONFIG_H
#define SMP_CONFIG_H

#define configNUMBER_OF_CORES 2
#ifndef configRUN_MULTIPLE_PRIORITIES
#define configRUN_MULTIPLE_PRIORITIES 1
#endif
#define configUSE_CORE_AFFINITY 1
#ifndef configUSE_TASK_PREEMPTION_DISABLE
#define configUSE_TASK_PREEMPTION_DISABLE 0
#endif
#define configUSE_PASSIVE_IDLE_HOOK 0
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 0
#include "../FreeRTOSConfig.h"

#endif
