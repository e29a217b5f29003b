/* An application that uses everything the tracer traces, and keeps its own log of what it did. */
#ifndef APP_H_
#define APP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Provided by the platform. */
void platform_write(const char *name, const void *data, size_t len); /* a whole file */
void platform_exit(int status);
void platform_reset(void);
void platform_start_interrupt(void); /* a second interrupt, if there is one */
#ifdef __arm__
extern uint32_t platform_mask; /* how interrupts were masked before the library masked them */
#endif

/* Runs the application; ends in platform_exit(). */
void app_run(void);
/* The application's part of the tick interrupt. */
void app_tick(void);

/* The streaming sink's memory. */
bool app_sink(const uint8_t *buf, size_t len);

#endif
