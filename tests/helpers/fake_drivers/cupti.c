/* CUPTI's timestamp: cupti_activity.h. */
#include "settings.h"

int cuptiGetTimestamp(uint64_t *out) {
    *out = (uint64_t)clock_ns((int)fake_get("clock"));
    return error_of("cuptiGetTimestamp");
}
