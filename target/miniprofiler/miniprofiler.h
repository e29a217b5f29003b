/* A target for the MiniProfiler protocol, apart from the tracer: how long each function call took, by GCC's instrumentation.
 *
 * Compile the firmware with -finstrument-functions and miniprofiler.c without; exclude interrupt handlers and what runs often with
 * __attribute__((no_instrument_function)) or -finstrument-functions-exclude-file-list. The host starts and stops profiling by
 * commands; `traceconv --elf firmware.elf` reads what the target answers.
 *
 * One core, no RTOS, or one task: calls of different tasks would not nest. */
#ifndef MINIPROFILER_H_
#define MINIPROFILER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MINIPROFILER_RECORDS
#define MINIPROFILER_RECORDS 128u /* completed calls that wait to be sent: 14 bytes each */
#endif
#ifndef MINIPROFILER_DEPTH
#define MINIPROFILER_DEPTH 32u /* calls within each other that are measured: 8 bytes each */
#endif

/** What the target says of itself. */
struct miniprofiler_info {
    uint32_t mcu_clock_hz;
    uint32_t timer_hz; /* of miniprofiler_time_us(): 1000000 */
    uint32_t build_id; /* CRC-32 of the ELF file's .text, or 0 */
    const char *version; /* up to 16 bytes */
};

/* Provided by the firmware; neither is instrumented. */

/** Microseconds, wrapping at 2^32. Called on every enter and exit of a function. */
uint32_t miniprofiler_time_us(void);
/** Sends bytes to the host; called by miniprofiler_poll() only, and may take its time. */
void miniprofiler_send(const uint8_t *bytes, size_t len);

/** First of all. */
void miniprofiler_init(const struct miniprofiler_info *info);
/** A byte from the host. From an interrupt or from the loop. */
void miniprofiler_receive(uint8_t byte);
/** Answers commands and sends completed calls, at most 16 in a packet. From the main loop, as often as possible. */
void miniprofiler_poll(void);

#ifdef __cplusplus
}
#endif

#endif
