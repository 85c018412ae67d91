/* The virtual counter of 64-bit Arm processors, which Linux lets programs read. */
#ifndef TT_ARM_COUNTER_H
#define TT_ARM_COUNTER_H
#include <stdint.h>
#if defined(__aarch64__) && defined(__GNUC__)
#define TT_ARM_COUNTER 1
/* The counter may be read early or late: barriers keep the read between the readings of the
   reference around it. */
static inline int64_t tt_arm_counter(void) {
    uint64_t v;
    __asm__ __volatile__("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(v) : : "memory");
    return (int64_t)v;
}
/* Ticks a second, as the firmware says. */
static inline int64_t tt_arm_counter_hz(void) {
    uint64_t v;
    __asm__ __volatile__("mrs %0, cntfrq_el0" : "=r"(v));
    return (int64_t)(v & 0xFFFFFFFFu);
}
#else
#define TT_ARM_COUNTER 0
static inline int64_t tt_arm_counter(void) { return 0; }
static inline int64_t tt_arm_counter_hz(void) { return 0; }
#endif
#endif
