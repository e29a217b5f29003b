/* Messages of all kinds, by tband_log() and by the C library's own printf: note() gets each text, for comparison. */
#ifndef SAY_H_
#define SAY_H_

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "tband.h"

/* Provided by the program. */
TBAND_NO_TRACE void note(int severity, const char *text);

#define SAY(severity, ...)                                                                                                   \
    do {                                                                                                                     \
        static char say_text[400];                                                                                           \
        tband_log(severity, __VA_ARGS__);                                                                                    \
        (void)snprintf(say_text, sizeof say_text, __VA_ARGS__);                                                              \
        note(severity, say_text);                                                                                            \
    } while (0)

enum say_color { SAY_RED = -1, SAY_GREEN = 7 };

TBAND_NO_TRACE static void say_all(int n) {
    static const char constant[] = "constant";
    char local[8] = "local";
    const double numbers[] = {0.0, -0.0, 1.5, -1e-9, 3.14159265358979, 1e300, DBL_MIN, 1.0 / 3.0};
    volatile short narrow = (short)-n;
    const float single = 0.1f * (float)n;
    SAY(TBAND_LOG_VERBOSE, "nothing");
    SAY(TBAND_LOG_DEBUG, "100%% of %d", n);
    SAY(TBAND_LOG_INFO, "%d + %d = %i", n, -n, n - n);
    SAY(TBAND_LOG_WARNING, "%u %o %x %X %#x %c", (unsigned)n, (unsigned)n, UINT_MAX, 0xBEEFu, 0xBEEFu, 'a' + n % 26);
    SAY(TBAND_LOG_ERROR, "%d %d %u", INT_MIN, INT_MAX, UINT_MAX);
    SAY(TBAND_LOG_FATAL, "%ld %lu %lld %llu", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX);
    SAY(TBAND_LOG_INFO, "%hd %hhd %hu", narrow, (signed char)n, (unsigned short)n);
#ifndef __arm__
    /* The C library of that compiler does not know these. */
    SAY(TBAND_LOG_INFO, "%zu %td %jd %a", sizeof local, &local[7] - local, (intmax_t)-n, numbers[n % 8]);
#endif
    SAY(TBAND_LOG_INFO, "%s, %s and %s", constant, local, "");
    SAY(TBAND_LOG_INFO, "%-8s|%8s|%.2s|", local, local, local);
    SAY(TBAND_LOG_INFO, "%5d|%-5d|%05d|%+d|% d|%.3d", n, n, n, n, n, n);
    SAY(TBAND_LOG_INFO, "%*d|%-*d|%.*f", 6, n, 6, n, 3, numbers[n % 8]);
    SAY(TBAND_LOG_INFO, "%f %.0f %e %g", numbers[n % 8], numbers[(n + 1) % 8], numbers[(n + 2) % 8], numbers[(n + 3) % 8]);
    SAY(TBAND_LOG_INFO, "%f and %d", (double)single, n);
    SAY(TBAND_LOG_INFO, "%" PRIu32 " of %" PRId32 ", %" PRIx8, UINT32_MAX, INT32_MIN, UINT8_MAX);
    SAY(TBAND_LOG_INFO, "%d %d", (int)SAY_RED, SAY_GREEN);
    SAY(TBAND_LOG_INFO, "%p", (void *)local);
    SAY(TBAND_LOG_INFO, "%d %d %d %d %d %d %d %d", n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7);
    if (n % 2 == 0)
        SAY(TBAND_LOG_DEBUG, "even");
    else
        SAY(TBAND_LOG_DEBUG, "odd");
    /* Texts are cut, all together at tband_configMAX_STR_LEN (20) bytes. */
    tband_log(TBAND_LOG_INFO, "%s-%s", "twelve bytes", "are not twenty bytes");
    note(TBAND_LOG_INFO, "twelve bytes-are not ");
    tband_log(TBAND_LOG_INFO, "%f", single);
    char whole[24];
    (void)snprintf(whole, sizeof whole, "%f", (double)single);
    note(TBAND_LOG_INFO, whole);
    /* An argument is evaluated once. */
    int once = n;
    tband_log(TBAND_LOG_INFO, "%d of %f", once++, (double)n);
    (void)snprintf(whole, sizeof whole, "%d of %f", n, (double)n);
    note(TBAND_LOG_INFO, whole);
    tband_log(TBAND_LOG_INFO, "%d", once);
    (void)snprintf(whole, sizeof whole, "%d", n + 1);
    note(TBAND_LOG_INFO, whole);
    (void)snprintf(local, sizeof local, "%.4f", (double)single);
    SAY(TBAND_LOG_INFO, "%s", local);
}

#endif
