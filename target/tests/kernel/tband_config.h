/* The backend and the format come from the command line of the compiler. */
#ifndef TBAND_CONFIG_H_
#define TBAND_CONFIG_H_
#define tband_configENABLE 1
#define tband_configFREERTOS_TRACE_ENABLE 1
#ifndef tband_configMETADATA_BUF_SIZE
#define tband_configMETADATA_BUF_SIZE 1024
#endif
#ifndef tband_configBACKEND_SNAPSHOT_BUF_SIZE
#define tband_configBACKEND_SNAPSHOT_BUF_SIZE 32768
#endif
#endif
