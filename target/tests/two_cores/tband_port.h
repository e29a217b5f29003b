/* A thread has no interrupts: only the library's spinlock excludes. */
#include "two_cores_port.h"

#define tband_portTIMESTAMP() two_cores_now()
#define tband_portTIMESTAMP_RESOLUTION_NS (1)
#define tband_portENTER_CRITICAL_FROM_ANY() ((void)0)
#define tband_portEXIT_CRITICAL_FROM_ANY() ((void)0)
#define tband_portNUMBER_OF_CORES 2
#define tband_portGET_CORE_ID() (two_cores_id)
#define tband_portBACKEND_STREAM_DATA(buf, len) two_cores_sink((buf), (len))
