/* The MiniProfiler target on the host: known packets byte for byte, and calls of instrumented functions with a clock of the test's.
 * Writes what it sent to capture.bin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../miniprofiler/miniprofiler.h"

#define APART __attribute__((no_instrument_function))

static uint32_t now_us = 0xffffff00u; /* wraps during the test */
static uint8_t sent[1 << 20];
static size_t sent_len;
static unsigned int failures;

APART uint32_t miniprofiler_time_us(void) { return now_us; }

APART void miniprofiler_send(const uint8_t *bytes, size_t len) {
    memcpy(sent + sent_len, bytes, len);
    sent_len += len;
}

APART static void command(uint8_t number, uint8_t damage) {
    uint8_t bytes[12] = {0x55, number};
    bytes[11] = (uint8_t)(0x55 + number + damage);
    for (size_t i = 0; i < sizeof bytes; i++) {
        miniprofiler_receive(bytes[i]);
    }
}

APART static void expect(const char *what, const char *hex) {
    for (size_t i = 0; i < sent_len || hex[2 * i] != '\0'; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        if (i >= sent_len || hex[2 * i] == '\0' || strtoul(digits, NULL, 16) != sent[i]) {
            printf("%s: byte %zu is wrong\n", what, i);
            failures++;
            break;
        }
    }
    sent_len = 0;
}

/* Instrumented: 300 calls of leaf in 100 of branch in one of trunk. */
static void leaf(uint32_t us) { now_us += us; }
static void branch(uint32_t i) {
    leaf(1 + i % 5);
    now_us += 2;
    leaf(0);
    leaf(3);
    miniprofiler_poll();
}
static void trunk(void) {
    for (uint32_t i = 0; i < 100; i++) {
        branch(i);
    }
}
static void deep(unsigned int more) {
    now_us++;
    if (more > 0) {
        deep(more - 1);
    }
}

APART int main(void) {
    const struct miniprofiler_info info = {168000000u, 1000000u, 0xdeadbeefu, "v1.0.0"};
    miniprofiler_init(&info);
    command(5, 0);
    miniprofiler_poll();
    expect("metadata", "aa55031c00007a030a40420f00efbeadde76312e302e3000000000000000000000e0a90a");
    command(6, 0);
    miniprofiler_poll();
    expect("configuration", "aa55020000d8da0a");
    /* Noise before it, and one that is damaged, cost nobody else. */
    miniprofiler_receive(0x55);
    miniprofiler_receive('x');
    command(2, 1);
    command(4, 0);
    miniprofiler_poll();
    expect("reset", "aa55010000" "88830a");
    /* Nothing is recorded before START. */
    leaf(1);
    miniprofiler_poll();
    expect("nothing", "");
    command(5, 0);
    command(1, 0);
    miniprofiler_poll();
    trunk();
    /* Deeper than is measured: the innermost are only counted. */
    deep(MINIPROFILER_DEPTH + 10);
    miniprofiler_poll();
    miniprofiler_poll();
    miniprofiler_poll();
    command(3, 0);
    command(2, 0);
    miniprofiler_poll();
    const uint32_t captured = 1 + 100 + 300 + MINIPROFILER_DEPTH;
    const uint8_t *const status = sent + sent_len - 8 - 18;
    const uint32_t says = (uint32_t)status[10] | (uint32_t)status[11] << 8 | (uint32_t)status[12] << 16;
    if (status[2] != 4 || says != captured || status[5] != 1 || status[6] != 0) {
        printf("%lu calls captured, not %lu\n", (unsigned long)says, (unsigned long)captured);
        failures++;
    }
    leaf(1);
    FILE *const file = fopen("capture.bin", "wb");
    if (file == NULL || fwrite(sent, 1, sent_len, file) != sent_len || fclose(file) != 0) {
        failures++;
    }
    printf("miniprofiler: %lu calls, %zu bytes, %u failed\n", (unsigned long)captured, sent_len, failures);
    return failures == 0 ? 0 : 1;
}
