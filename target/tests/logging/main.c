/* Messages on the host, in C and in C++: writes trace.bin, and said.txt with what their texts must be. */
#include <string.h>

#include "say.h"

#include "tband_port.h"

static FILE *trace, *said;
static unsigned int failures;

bool tband_sink(const uint8_t *buf, size_t len) {
    failures += fwrite(buf, 1, len, trace) != len;
    return false;
}

void note(int severity, const char *text) { failures += fprintf(said, "%d %s\n", severity, text) < 0; }

int main(void) {
    trace = fopen("trace.bin", "wb");
    said = fopen("said.txt", "wb");
    if (trace == NULL || said == NULL) {
        return 2;
    }
    tband_log(TBAND_LOG_INFO, "before the recording %d", 1);
    (void)tband_start_streaming();
    for (int n = 0; n < 300; n += 7) {
        say_all(n);
    }
    (void)tband_stop_streaming();
    failures += fclose(trace) != 0 || fclose(said) != 0 || tband_dropped_events() != 0;
    return failures == 0 ? 0 : 1;
}
