/* QEMU's RISC-V board `virt`, one hart: files and texts go through semihosting, in the C library's own way. */
#include <stdio.h>
#include <stdlib.h>

#include "../app.h"

void freertos_risc_v_trap_handler(void);

void platform_write(const char *name, const void *data, size_t len) {
    FILE *const file = fopen(name, "wb");
    if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0) {
        (void)printf("cannot write %s\n", name);
        _Exit(1);
    }
}

void platform_exit(int status) { _Exit(status); }

void platform_start_interrupt(void) {}

void app_assert(const char *file, int line);
void app_assert(const char *file, int line) {
    (void)printf("%s:%d: assertion\n", file, line);
    _Exit(1);
}

int main(void) {
    __asm volatile("csrw mtvec, %0" ::"r"(freertos_risc_v_trap_handler));
    app_run();
    return 1;
}
