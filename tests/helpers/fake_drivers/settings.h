/* What the fake drivers share: settings that tests make by name, and a device's clock, which is a
   known function of MONOTONIC_RAW. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SETTINGS = 128, NAME_BYTES = 64 };
static struct { char name[NAME_BYTES]; long long value; } settings[MOST_SETTINGS];
static int n_settings;

long long fake_get(const char *name) {
    for (int i = 0; i < n_settings; i++)
        if (!strcmp(settings[i].name, name)) return settings[i].value;
    return 0;
}

void fake_set(const char *name, long long value) {
    for (int i = 0; i < n_settings; i++)
        if (!strcmp(settings[i].name, name)) {
            settings[i].value = value;
            return;
        }
    if (n_settings == MOST_SETTINGS) abort();
    strncpy(settings[n_settings].name, name, NAME_BYTES - 1);
    settings[n_settings++].value = value;
}

void fake_reset(void) { n_settings = 0; }

static void count(const char *name, int by) { fake_set(name, fake_get(name) + by); }

static long long clock_ns(int number) {
    struct timespec t;
    clock_gettime(number, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long raw_ns(void) { return clock_ns(CLOCK_MONOTONIC_RAW); }

__attribute__((unused)) static void pass_ns(long long span) {
    for (long long end = raw_ns() + span; raw_ns() < end;) {}
}

/* The device's clock now: `ahead_ns` and MONOTONIC_RAW, `ppm` faster since it read 0, in steps of
   `step_ns`; 0 while it is `dark`, and `back_ns` less from its reading number `back_at` on. */
__attribute__((unused)) static uint64_t device_ns(void) {
    long long raw = raw_ns(), step = fake_get("step_ns");
    count("reads", 1);
    if (fake_get("dark")) return 0;
    long long shown = raw + raw / 1000000 * fake_get("ppm") + fake_get("ahead_ns");
    if (fake_get("back_at") && fake_get("reads") >= fake_get("back_at"))
        shown -= fake_get("back_ns");
    return step ? shown - shown % step : shown;
}

/* The error that a test wants of this function: from its call number `NAME@` on, all or none. */
static int error_of(const char *name) {
    char key[NAME_BYTES];
    long long code = fake_get(name);
    strncpy(key, name, NAME_BYTES - 3);
    key[NAME_BYTES - 3] = 0;
    count(strcat(key, "#"), 1);
    long long calls = fake_get(key);
    key[strlen(key) - 1] = '@';
    return calls >= fake_get(key) ? (int)code : 0;
}
