/* Settings of the crate: streaming into a ring. */
#define tband_configENABLE 1
#define tband_configUSE_BACKEND_STREAMING 1
#define tband_portSINK_HEADER "tband_sink_ring.h"
