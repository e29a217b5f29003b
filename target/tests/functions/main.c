/* Traced functions on the host: every enter and exit with the function's address, nested, by depth and range as asked for. Writes
 * trace.bin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tband.h"

#include "../decode.h"

static uint8_t taken[1 << 20];
static size_t taken_len;

bool tband_sink(const uint8_t *buf, size_t len);
TBAND_NO_TRACE bool tband_sink(const uint8_t *buf, size_t len) {
    memcpy(taken + taken_len, buf, len);
    taken_len += len;
    return false;
}

/* What must be recorded: addresses, negative at an exit. */
static int64_t expected[10000];
static size_t expected_len;
static unsigned int depth;

#ifndef MAX_DEPTH
#define MAX_DEPTH 1000
#endif

TBAND_NO_TRACE static void note(int64_t sign, void (*function)(int)) {
    depth -= sign < 0;
    if (depth < MAX_DEPTH && tband_tracing_enabled()) {
        expected[expected_len++] = sign * (int64_t)(intptr_t)function;
    }
    depth += sign > 0;
}

void inner(int n);
void middle(int n);
void outer(int n);

/* Not in the trace. */
TBAND_NO_TRACE static int excluded(int n) { return n + 1; }

void inner(int n) {
    note(1, inner);
    (void)excluded(n);
    note(-1, inner);
}

void middle(int n) {
    note(1, middle);
    for (int i = 0; i < n; i++) {
        inner(i);
    }
    note(-1, middle);
}

void outer(int n) {
    note(1, outer);
    if (n == 20) {
        (void)tband_start_streaming();
    }
    middle(n % 4);
    if (n % 3 == 0) {
        outer(n - 1);
    }
    note(-1, outer);
}

TBAND_NO_TRACE int main(void) {
    for (int n = 1; n < 200; n++) {
        outer(n);
    }
    (void)tband_stop_streaming();
    outer(3);
    struct decoder d = {0};
    static struct event e;
    size_t at = 0;
    size_t seen = 0;
    unsigned int wrong = 0;
    uint64_t base = 0;
    while (decode_next(&d, taken, taken_len, &at, &e)) {
        if (e.id == 0x73) {
            base = e.field[0];
        } else if (e.id == 0x71 || e.id == 0x72) {
            const int64_t address = (int64_t)base + e.value;
            wrong += seen >= expected_len || expected[seen] != (e.id == 0x71 ? address : -address);
            seen++;
        }
    }
    FILE *const file = fopen("trace.bin", "wb");
    wrong += file == NULL || fwrite(taken, 1, taken_len, file) != taken_len || fclose(file) != 0;
    wrong += seen != expected_len || seen < 500 || d.malformed != 0 || d.lost_frames != 0;
    printf("functions: %zu checks, %u failed\n", seen, wrong);
    return wrong == 0 ? 0 : 1;
}
