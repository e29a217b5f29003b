/* Host tests: a clock that the test sets, a sink that the test can make refuse, and a critical section that notices misuse. */
#ifndef TBAND_PORT_H_
#define TBAND_PORT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern uint64_t test_clock;
extern unsigned int test_core;
extern unsigned int test_full_callbacks;

bool test_sink(const uint8_t *buf, size_t len);
void test_enter_critical(void);
void test_exit_critical(void);

#define tband_portTIMESTAMP() (test_clock)
#ifdef TEST_HZ
#define tband_portTIMESTAMP_HZ TEST_HZ
#else
#define tband_portTIMESTAMP_RESOLUTION_NS (25)
#endif
#define tband_portENTER_CRITICAL_FROM_ANY() test_enter_critical()
#define tband_portEXIT_CRITICAL_FROM_ANY() test_exit_critical()
#ifndef TEST_CORES
#define TEST_CORES 1
#endif
#define tband_portNUMBER_OF_CORES TEST_CORES
#define tband_portGET_CORE_ID() (test_core)
#define tband_portBACKEND_STREAM_DATA(buf, len) test_sink((buf), (len))
#define tband_portBACKEND_SNAPSHOT_BUF_FULL_CALLBACK() (test_full_callbacks++)
/* The host's memory does not survive a reset: the test restores it. */
#define tband_portNOINIT

#endif
