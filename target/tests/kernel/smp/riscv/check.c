/* A recording of app.c: each marker is on the core that it names, and of the task that runs there by the switches before it. */
#include <stdio.h>
#include <string.h>

#include "../../../decode.h"

static uint8_t capture[1 << 22];
static char names[32][24];

int main(int argc, char **argv) {
    FILE *const file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    const size_t len = file != NULL ? fread(capture, 1, sizeof capture, file) : 0;
    struct decoder d = {0};
    static struct event e;
    unsigned int events[2] = {0}, markers = 0, wrong = 0, ticks = 0, back = 0, on[32] = {0};
    uint64_t running[2] = {0}, last = 0;
    /* Names first: they hold for what is before them too. */
    for (size_t at = 0; decode_next(&d, capture, len, &at, &e);) {
        if (e.id == 0x5f && e.field[0] < 32) {
            memcpy(names[e.field[0]], e.text, e.text_len < 23 ? e.text_len : 23);
        }
    }
    memset(&d, 0, sizeof d);
    for (size_t at = 0; decode_next(&d, capture, len, &at, &e);) {
        const uint32_t core = e.core & 1;
        if (e.id == 0x0c || e.id == 0x5f) {
            continue;
        }
        events[core]++;
        back += e.time < last;
        last = e.time;
        if (e.id == 0x54 || e.id == 0x16) {
            running[core] = e.field[0];
        } else if (e.id == 0x04) {
            ticks += core == 0;
        } else if (e.id == 0x07) {
            const char *const name = running[core] < 32 ? names[running[core]] : "?";
            markers++;
            wrong += e.field[0] != core + 1 || strlen(name) != e.text_len || memcmp(name, e.text, e.text_len) != 0;
            on[running[core] & 31] |= 1u << core;
        }
    }
    unsigned int moved = 0;
    for (int i = 0; i < 32; i++) {
        moved += on[i] == 3;
    }
    printf("%u events on core 0, %u on core 1, %u ticks; %u markers, %u wrong; %u tasks ran on both cores; %u malformed, %u lost, %u back in time\n",
           events[0], events[1], ticks, markers, wrong, moved, d.malformed, d.lost_frames, back);
    return events[0] > 1000 && events[1] > 1000 && markers == 3600 && wrong == 0 && moved == 4 && d.malformed + d.lost_frames + back == 0 ? 0 : 1;
}
