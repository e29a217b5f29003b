/* Cost measurement: defaults, streaming. */
#ifndef TBAND_CONFIG_H_
#define TBAND_CONFIG_H_
#define tband_configENABLE 1
#ifndef tband_configUSE_BACKEND_STREAMING /* the command line may say otherwise */
#define tband_configUSE_BACKEND_STREAMING 1
#endif
#endif
