/* The clocks of POSIX, by their numbers. */
#ifndef TT_POSIX_CLOCK_H
#define TT_POSIX_CLOCK_H
#include <stdint.h>
#if defined(_WIN32)
/* No POSIX clocks: Windows' own is read through Python. */
static inline int tt_posix(int32_t id, int64_t *out) { (void)id; (void)out; return 0; }
#else
#include <time.h>
static inline int tt_posix(int32_t id, int64_t *out) {
    struct timespec t;
    if (clock_gettime((clockid_t)id, &t) != 0) return 0;
    *out = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    return 1;
}
#endif
#endif
