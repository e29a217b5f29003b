// The header in C++17, used as firmware uses it.
#include "tband.h"

// Of inline functions and templates there is one in the program.
inline void note(int n) { tband_log(TBAND_LOG_INFO, "%d", n); }
template <class T> void note_all(const T *list, int n) {
    for (int i = 0; i < n; i++) {
        tband_log(TBAND_LOG_DEBUG, "%d of %d: %d", i, n, static_cast<int>(list[i]));
    }
}

int main() {
    enum { RED, GREEN };
    const char list[] = "abc";
    note(1);
    note_all(list, 3);
    note_all("", 0);
    tband_log(TBAND_LOG_WARNING, "plain");
    tband_log(TBAND_LOG_WARNING, "%s %c %f %p %lu %lld %d %d", list, list[0], 0.5, static_cast<const void *>(list), 1ul, -1ll, GREEN, true);
    tband_gather_system_metadata();
    tband_isr_name(1, "isr");
    tband_isr_enter(1);
    tband_isr_exit(1);
    tband_fn(5);
    tband_fn_begin(6);
    tband_fn_end();
    tband_evtmarker(1, "text");
    tband_valmarker(2, -5);
#if tband_configENABLE == 0
    // As a statement, as the application has it.
    tband_start_streaming();
    tband_stop_streaming();
    tband_dropped_events();
    tband_get_metadata_buf(0);
#endif
    return tband_tracing_enabled() ? 1 : 0;
}
