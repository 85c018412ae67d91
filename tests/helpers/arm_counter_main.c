/* Prints the counter's ticks a second, then as many lines as its argument says (10) of MONOTONIC_RAW
   (ns), the counter, and MONOTONIC_RAW again, 20 ms apart. */
#include "arm_counter.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long raw_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    int lines = argc > 1 ? atoi(argv[1]) : 10;
    struct timespec pause = {0, 20000000};
    printf("%d %lld\n", TT_ARM_COUNTER, (long long)tt_arm_counter_hz());
    for (int i = 0; i < lines; i++) {
        long long before = raw_ns(), counter = tt_arm_counter(), after = raw_ns();
        printf("%lld %lld %lld\n", before, counter, after);
        nanosleep(&pause, NULL);
    }
    return 0;
}
