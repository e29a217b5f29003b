/* A decoder for tests, written from FORMAT.md and apart from the library: it shares nothing with it but the event table. */
#ifndef TEST_DECODE_H_
#define TEST_DECODE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    uint8_t id;
    uint32_t core;
    uint64_t time;
    uint64_t field[10]; /* integers in wire order */
    unsigned int fields;
    int64_t value; /* of a value marker */
    char text[1100];
    size_t text_len;
};

struct decoder {
    bool synced;        /* superset: a sync has been seen */
    uint64_t time;
    uint32_t core;
    uint32_t seq;       /* number of the next frame */
    uint32_t cores;
    uint32_t lost_frames; /* sequence breaks noticed */
    uint32_t malformed;
    uint32_t syncs;
    uint32_t dropped;   /* as the last sync or drop counter said */
};

/* Decodes the frame that begins at `*at`; moves `*at` after its 00. False: nothing left, or only an unfinished frame.
 * A malformed frame is counted, with `event->id` 0xff. */
bool decode_next(struct decoder *d, const uint8_t *data, size_t len, size_t *at, struct event *event);

/* The name of an event. */
const char *event_name(uint8_t id);

#endif
