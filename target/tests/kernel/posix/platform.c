#include <stdio.h>
#include <stdlib.h>

#include "../app.h"

static const char *folder = ".";

void platform_write(const char *name, const void *data, size_t len) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

void platform_exit(int status) {
    fflush(stdout);
    _Exit(status);
}

void platform_start_interrupt(void) {}

void app_assert(const char *file, int line);
void app_assert(const char *file, int line) {
    printf("%s:%d: assertion\n", file, line);
    platform_exit(1);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        folder = argv[1];
    }
    app_run();
    return 1;
}
