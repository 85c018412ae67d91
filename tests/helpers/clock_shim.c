/* clock_gettime with offsets, for LD_PRELOAD: clocks that step, of a process that may not set any.
   $CLOCK_SHIM names a file of int64: which of the rows that follow counts, then rows of 16 offsets
   in ns, by the clock's number. One store of the first moves several clocks at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CLOCKS = 16, ROWS = 16 };

static const volatile int64_t *shared;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCK_SHIM");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *at = mmap(NULL, (1 + ROWS * CLOCKS) * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (at != MAP_FAILED) shared = at;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, t);
    if (failed || shared == NULL || clock < 0 || clock >= CLOCKS) return failed;
    int64_t offset = shared[1 + (shared[0] & (ROWS - 1)) * CLOCKS + clock];
    if (offset) {
        int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + offset;
        t->tv_sec = ns / 1000000000;
        t->tv_nsec = ns % 1000000000;
    }
    return failed;
}
