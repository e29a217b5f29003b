/* Host tests: checks, the recording sink, and the port's other half. */
#ifndef TEST_HOST_H_
#define TEST_HOST_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/tband_internal.h"
#include "decode.h"

#define CHECK(condition)                                                                                                     \
    do {                                                                                                                     \
        checks++;                                                                                                            \
        if (!(condition)) {                                                                                                  \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                   \
            failures++;                                                                                                      \
        }                                                                                                                    \
    } while (0)
#define CHECK_EQUAL(a, b)                                                                                                    \
    do {                                                                                                                     \
        const unsigned long long a_ = (unsigned long long)(a);                                                               \
        const unsigned long long b_ = (unsigned long long)(b);                                                               \
        checks++;                                                                                                            \
        if (a_ != b_) {                                                                                                      \
            printf("%s:%d: %s is %llu (0x%llx), not %llu (0x%llx)\n", __FILE__, __LINE__, #a, a_, a_, b_, b_);               \
            failures++;                                                                                                      \
        }                                                                                                                    \
    } while (0)

static unsigned int checks;
static unsigned int failures;

uint64_t test_clock;
unsigned int test_core;
unsigned int test_full_callbacks;
static unsigned int critical_depth;

/* What the sink took, and how many frames it is going to refuse. */
static uint8_t taken[1 << 22];
static size_t taken_len;
static unsigned int refuse;
static unsigned int refused;

void test_enter_critical(void) {
    CHECK(critical_depth == 0);
    critical_depth++;
}

/* What happens as soon as interrupts are let in again. */
static void (*on_exit_critical)(void);

void test_exit_critical(void) {
    CHECK(critical_depth == 1);
    critical_depth--;
    if (on_exit_critical != NULL) {
        on_exit_critical();
    }
}

static bool take(const uint8_t *buf, size_t len) {
    CHECK(critical_depth == 1);
    CHECK(len >= 2 && buf[len - 1] == 0 && memchr(buf, 0, len) == buf + len - 1);
    if (refuse > 0) {
        refuse--;
        refused++;
        return true;
    }
    CHECK(taken_len + len <= sizeof taken);
    memcpy(taken + taken_len, buf, len);
    taken_len += len;
    return false;
}

bool test_sink(const uint8_t *buf, size_t len) { return take(buf, len); }

#if tband_configUSE_BACKEND_EXTERNAL == 1
bool tband_submit_to_backend(uint8_t *buf, size_t len, bool is_metadata) {
    (void)is_metadata;
    return take(buf, len);
}
#endif

static inline uint64_t random_u64(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static inline int report(const char *what) {
    printf("%-28s %7u checks, %u failed\n", what, checks, failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
