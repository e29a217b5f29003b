/* A sink for the streaming backend: frames wait in a ring until something slower fetches them (UART DMA, USB, a socket). */
#ifndef TBAND_SINK_RING_H_
#define TBAND_SINK_RING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a whole frame, or none of it: true if there is no room. Called by the library, inside its critical section. */
bool tband_sink(const uint8_t *buf, size_t len);

/* The longest run of bytes that is ready, and where it begins; 0 if there is none. From one context only. */
size_t tband_sink_ready(const uint8_t **bytes);

/* Gives `len` of these bytes back after they were sent. */
void tband_sink_sent(size_t len);

#endif
