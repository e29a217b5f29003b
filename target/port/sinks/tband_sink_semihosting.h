/* A sink for the streaming backend: a file on the host by semihosting, under QEMU or with a debugger that offers it. Arm cores with
 * a Thumb breakpoint (Cortex-M). Frames are gathered: a call to the host takes long. tband_sink_flush() at the end.
 *
 * #define tband_portSINK_HEADER "tband_sink_semihosting.h" in tband_config.h, tband_sink_semihosting.c in the build. */
#ifndef TBAND_SINK_SEMIHOSTING_H_
#define TBAND_SINK_SEMIHOSTING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tband_config.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TBAND_SINK_FILE
#define TBAND_SINK_FILE "trace.bin"
#endif

/** Takes a frame: true if the file cannot be written. Called by the library, inside its critical section. */
bool tband_sink(const uint8_t *buf, size_t len);
/** Writes what was gathered. True if it could not be written. */
bool tband_sink_flush(void);

#ifdef __cplusplus
}
#endif

#endif
