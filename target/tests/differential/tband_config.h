/* The driver: sizes that no test reaches, the rest comes from the command line of the compiler. */
#ifndef TBAND_CONFIG_H_
#define TBAND_CONFIG_H_
#define tband_configENABLE 1
#define tband_configMETADATA_BUF_SIZE 262144
#define tband_configBACKEND_SNAPSHOT_BUF_SIZE 1048576
#endif
