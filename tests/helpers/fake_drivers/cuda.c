/* NVIDIA's driver, as far as tracetime calls it: cuda.h. A device reads its clock as a GPU would that
   runs the kernel; the addresses that it writes to are not those of the host. */
#include "settings.h"
#include <stdio.h>

typedef int result;
enum { INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_PTX = 218,
       NOT_FOUND = 500, NOT_READY = 600 };

static const uint64_t DEVICE_SIDE = (uint64_t)1 << 56;
static _Thread_local int current;
static char a_context, a_kernel;

static result made(const char *name, void **out, size_t size) {
    result failed = error_of(name);
    if (failed) return failed;
    count("alive", 1);
    *out = malloc(size);
    return 0;
}

static result released(void *handle) {
    if (!current) return INVALID_CONTEXT;
    count("alive", -1);
    free(handle);
    return 0;
}

result cuInit(unsigned flags) { return error_of("cuInit"); }

result cuGetErrorString(result code, const char **out) {
    *out = code == NO_DEVICE ? "no CUDA-capable device is detected" : NULL;
    return code == NO_DEVICE ? 0 : INVALID_VALUE;
}

result cuDeviceGetCount(int *out) {
    *out = (int)fake_get("devices");
    return error_of("cuDeviceGetCount");
}

result cuDeviceGet(int *out, int ordinal) {
    *out = 7 + ordinal;
    return error_of("cuDeviceGet");
}

result cuDeviceGetName(char *out, int size, int device) {
    snprintf(out, (size_t)size, "Fake GPU %d", device - 7);
    return 0;
}

result cuDeviceGetUuid_v2(unsigned char *out, int device) {
    memset(out, 0xa0 + device - 7, 16);
    return 0;
}

result cuDevicePrimaryCtxRetain(void **out, int device) {
    result failed = error_of("cuDevicePrimaryCtxRetain");
    if (failed) return failed;
    count("alive", 1);
    *out = &a_context;
    return 0;
}

result cuDevicePrimaryCtxRelease_v2(int device) {
    count("alive", -1);
    return 0;
}

result cuCtxPushCurrent_v2(void *context) {
    if (context != &a_context) return INVALID_CONTEXT;
    current++;
    return error_of("cuCtxPushCurrent_v2");
}

result cuCtxPopCurrent_v2(void **out) {
    *out = &a_context;
    return current-- ? 0 : INVALID_CONTEXT;
}

result cuModuleLoadData(void **out, const char *image) {
    if (!current) return INVALID_CONTEXT;
    if (strncmp(image, ".version ", 9) || !strstr(image, ".entry stamp(")) return INVALID_PTX;
    return made("cuModuleLoadData", out, 1);
}

result cuModuleUnload(void *handle) { return released(handle); }

result cuModuleGetFunction(void **out, void *module, const char *name) {
    *out = &a_kernel;
    return strcmp(name, "stamp") ? NOT_FOUND : error_of("cuModuleGetFunction");
}

result cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
    return flags == 3 ? made("cuMemHostAlloc", out, bytes) : INVALID_VALUE;
}

result cuMemHostGetDevicePointer_v2(uint64_t *out, void *memory, unsigned flags) {
    *out = (uint64_t)(uintptr_t)memory + DEVICE_SIDE;
    return error_of("cuMemHostGetDevicePointer_v2");
}

result cuMemFreeHost(void *memory) { return released(memory); }

result cuStreamCreate(void **out, unsigned flags) { return made("cuStreamCreate", out, 1); }

result cuStreamDestroy_v2(void *handle) { return released(handle); }

static long long done_ns;

result cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
    result failed = error_of("cuLaunchKernel");
    if (failed) return failed;
    if (!current) return INVALID_CONTEXT;
    if (kernel != &a_kernel || gx * gy * gz * bx * by * bz != 1) return INVALID_VALUE;
    uint64_t *out = (uint64_t *)(uintptr_t)(*(uint64_t *)arguments[0] - DEVICE_SIDE);
    unsigned left = *(unsigned *)arguments[1];
    pass_ns(fake_get("before_ns"));
    for (unsigned i = 0; i < left && !fake_get("idle"); i++) {
        out[i] = device_ns();
        pass_ns(fake_get("work_ns"));
    }
    if (!fake_get("idle")) out[left - 1] += (uint64_t)fake_get("end_shift_ns");
    done_ns = raw_ns() + fake_get("after_ns");
    return 0;
}

result cuStreamQuery(void *stream) {
    result failed = error_of("cuStreamQuery");
    if (failed) return failed;
    return raw_ns() < done_ns ? NOT_READY : 0;
}
