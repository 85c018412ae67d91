/* An OpenCL driver with its loader, as far as tracetime calls it: CL/cl.h, version 2.1. */
#include "settings.h"
#include <stdio.h>

typedef int32_t code;
enum { INVALID_VALUE = -30, DEVICE_NOT_FOUND = -1 };

typedef struct { uint64_t start, end; long long done_ns; } event;

static code answer(const void *value, size_t length, size_t size, void *out, size_t *needed) {
    if (needed) *needed = fake_get("long_answers") ? (size_t)1 << 40 : length;
    if (out) {
        if (size < length) return INVALID_VALUE;
        memcpy(out, value, length);
    }
    return 0;
}

static code listed(long long there, uint32_t most, void **out, uint32_t *found) {
    if (found) *found = (uint32_t)there;
    for (uint32_t i = 0; out && i < most; i++) out[i] = (void *)(uintptr_t)(0x7f0000000001 + i);
    return 0;
}

code clGetPlatformIDs(uint32_t most, void **out, uint32_t *found) {
    code failed = error_of("clGetPlatformIDs");
    return failed ? failed : listed(1, most, out, found);
}

code clGetPlatformInfo(void *platform, uint32_t number, size_t size, void *out, size_t *needed) {
    uint64_t resolution = (uint64_t)fake_get("host_step_ns");
    return number == 0x0905 ? answer(&resolution, 8, size, out, needed) : INVALID_VALUE;
}

code clGetDeviceIDs(void *platform, uint64_t kind, uint32_t most, void **out, uint32_t *found) {
    code failed = error_of("clGetDeviceIDs");
    if (failed) return failed;
    return fake_get("devices") ? listed(fake_get("devices"), most, out, found) : DEVICE_NOT_FOUND;
}

code clGetDeviceInfo(void *device, uint32_t number, size_t size, void *out, size_t *needed) {
    char text[64];
    uint64_t resolution = (uint64_t)fake_get("resolution_ns");
    unsigned char uuid[16] = {0xab, 0xcd, 1};
    uint32_t place[4] = {0, 0x65, 0, 1};
    switch (number) {
    case 0x1025: return answer(&resolution, 8, size, out, needed);
    case 0x102b: return answer("Fake (TM) Device\0junk", 21, size, out, needed);
    case 0x102f:
        snprintf(text, sizeof text, "OpenCL %lld.%lld fake", fake_get("major"), fake_get("minor"));
        return answer(text, strlen(text) + 1, size, out, needed);
    case 0x106a: return fake_get("uuid") ? answer(uuid, 16, size, out, needed) : INVALID_VALUE;
    case 0x410f: return fake_get("pci") ? answer(place, 16, size, out, needed) : INVALID_VALUE;
    }
    return INVALID_VALUE;
}

static void *made(const char *name, code *failed) {
    *failed = error_of(name);
    if (*failed || fake_get("nothing")) return NULL;
    count("alive", 1);
    return malloc(1);
}

static code released(void *handle) {
    count("alive", -1);
    free(handle);
    return 0;
}

void *clCreateContext(void *properties, uint32_t devices, void *list, void *notify, void *data,
                      code *failed) {
    return made("clCreateContext", failed);
}
void *clCreateCommandQueue(void *context, void *device, uint64_t properties, code *failed) {
    return made("clCreateCommandQueue", failed);
}
void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, code *failed) {
    return made("clCreateBuffer", failed);
}
code clReleaseContext(void *handle) { return released(handle); }
code clReleaseCommandQueue(void *handle) { return released(handle); }
code clReleaseMemObject(void *handle) { return released(handle); }
code clReleaseEvent(void *handle) { return released(handle); }

code clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                          const void *from, uint32_t waits, void *list, void **out) {
    code failed = error_of("clEnqueueWriteBuffer");
    if (failed) return failed;
    event *one = malloc(sizeof *one);
    pass_ns(fake_get("before_ns"));
    one->start = device_ns();
    pass_ns(fake_get("work_ns"));
    one->end = device_ns() + (uint64_t)fake_get("end_shift_ns");
    one->done_ns = raw_ns() + fake_get("after_ns");
    count("alive", 1);
    *out = one;
    return 0;
}

code clFlush(void *queue) { return error_of("clFlush"); }

code clGetEventInfo(void *handle, uint32_t number, size_t size, void *out, size_t *needed) {
    code failed = error_of("clGetEventInfo");
    if (failed) return failed;
    int32_t status = raw_ns() < ((event *)handle)->done_ns ? 1 : (int32_t)fake_get("status");
    return answer(&status, 4, size, out, needed);
}

code clGetEventProfilingInfo(void *handle, uint32_t number, size_t size, void *out,
                             size_t *needed) {
    code failed = error_of("clGetEventProfilingInfo");
    event *one = handle;
    if (failed) return failed;
    return answer(number == 0x1282 ? &one->start : &one->end, 8, size, out, needed);
}

code clGetDeviceAndHostTimer(void *device, uint64_t *shown, uint64_t *host) {
    code failed = error_of("clGetDeviceAndHostTimer");
    if (failed) return failed;
    pass_ns(fake_get("before_ns"));
    *shown = device_ns() + (uint64_t)fake_get("timer_shift_ns");
    *host = (uint64_t)clock_ns((int)fake_get("host_clock"));
    pass_ns(fake_get("after_ns"));
    return 0;
}

code clGetHostTimer(void *device, uint64_t *host) {
    *host = (uint64_t)clock_ns((int)fake_get("host_clock"));
    return 0;
}
