// The header in C++17, used as firmware uses it.
#include "tband.h"

int main() {
    tband_gather_system_metadata();
    tband_isr_name(1, "isr");
    tband_isr_enter(1);
    tband_isr_exit(1);
    tband_fn(5);
    tband_fn_begin(6);
    tband_fn_end();
    tband_evtmarker(1, "text");
    tband_valmarker(2, -5);
    return tband_tracing_enabled() ? 1 : 0;
}
