// As a firmware for the original library has it.
#define tband_configENABLE 1
#define tband_configMAX_STR_LEN 32
#define tband_configTRACE_DROP_CNT_EVERY 50
#define tband_configMARKER_TRACE_ENABLE 1
#define tband_configISR_TRACE_ENABLE 1
#define tband_configUSE_METADATA_BUF 1
#define tband_configMETADATA_BUF_SIZE 256
#define tband_configUSE_BACKEND_SNAPSHOT 1
#define tband_configBACKEND_SNAPSHOT_BUF_SIZE 4096
