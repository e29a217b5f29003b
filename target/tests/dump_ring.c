/* Makes the memory of a target that was reset while it recorded: the ring as the post-mortem backend left it, on standard output.
 * From target/, one line for each image in ../testdata/memory:
 *
 *   gcc -std=c11 -Dtband_configUSE_BACKEND_POST_MORTEM=1 -Dtband_configBACKEND_POST_MORTEM_BUF_SIZE=2048 \
 *       -Dtband_configBACKEND_POST_MORTEM_SEGMENTS=4 -Dtband_configMETADATA_BUF_SIZE=100 -Dtband_configMAX_STR_LEN=16 \
 *       -DTEST_CORES=1 -Iinclude -Itests/host tests/dump_ring.c -o dump_ring && ./dump_ring EVENTS NAME >IMAGE
 *
 * one_core: 1000 events of "north"; other_core: 700 of "south"; two_cores: TEST_CORES=2, 1000 of "both"; unfilled: 20 of "few";
 * plain: tband_configCOMPAT=1, 1000 of "plain". */
#include "../src/tband.c"

#include "../src/tband_backend.c"

#include <stdio.h>
#include <stdlib.h>

uint64_t test_clock = 1000;
unsigned int test_core;
unsigned int test_full_callbacks;

void test_enter_critical(void) {}
void test_exit_critical(void) {}

int main(int argc, char **argv) {
    const long events = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    tband_valmarker_name(1, argc > 2 ? argv[2] : "value");
    for (test_core = 0; test_core < TEST_CORES; test_core++) {
        tband_isr_name(3, "TIMER");
    }
    test_core = 0;
    if (tband_start_post_mortem() != 0) {
        return 1;
    }
    for (long n = 1; n <= events; n++) {
        test_core = (unsigned int)n % TEST_CORES;
        test_clock += 40;
        tband_isr_enter(3);
        test_clock += 10;
        tband_valmarker(1, n);
        test_clock += 10;
        tband_isr_exit(3);
    }
    fwrite(&ring, 1, sizeof ring, stdout);
    return 0;
}
