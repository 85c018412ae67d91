# Switches and wakings as they are kept until they are replayed, by machine and CPU.

# A switch from one thread to another, or a waking.
cdef struct SchedEvent:
    int64_t ns
    uint64_t packet
    uint32_t cpu
    int32_t thread              # that is switched to, or woken
    int32_t other               # that is switched from, UNKNOWN; of a waking: its target's cpu
    bint is_waking
    bint sleeps                 # whether the thread that is switched from does not stay runnable
    bint lost                   # whether events of its cpu are missing before it

cdef struct Cpu:
    int64_t begun_ns            # its first event, and its last
    int64_t last_ns
    int64_t drops               # of its machine that it has noticed
    int32_t running             # a thread's index, UNKNOWN
    bint seen
    bint is_target              # whether a waking names it
    bint lost                   # whether its next event follows a gap

# While some cpu's events are missing, both ends included.
cdef struct Gap:
    int64_t first_ns
    int64_t last_ns

cdef struct SchedMachine:
    uint32_t clock
    uint32_t sequence
    bint has_clock
    bint has_too_many_gaps
    int64_t drops               # how often packets of it were dropped
    int64_t replayed_ns
    SchedEvent *events
    int64_t n_events, events_capacity
    Cpu *cpus
    int64_t n_cpus, cpus_capacity
    Gap *gaps
    int64_t n_gaps, gaps_capacity

cdef struct Thread:
    uint64_t key                # machine and tid
    int64_t in_ns               # when it was last switched to
    int64_t before_ns           # and the time before
    uint64_t in_packet
    int64_t waking_ns           # the first one while it runs
    uint64_t waking_packet
    uint32_t waking_cpu
    uint32_t cpu                # that it runs on
    int32_t target
    bint runs
    bint has_in
    bint has_before
    bint has_waking
    bint slept                  # before it was switched to
    bint sleeps
    bint was_woken              # between the last two times that it was switched to
    bint woken                  # since it was switched to
    bint woken_again            # and once more

# A switch to a thread, and the waking that is stamped later.
cdef struct LateWaking:
    uint32_t machine
    int32_t tid
    uint64_t packet
    uint32_t cpu
    int64_t ns
    uint64_t waking_packet
    uint32_t waking_cpu
    int64_t waking_ns
    int64_t before_ns           # no waking is stamped since
    bint certain


cdef enum:
    UNKNOWN = -1
    MOST_EVENTS = 1 << 19
    MOST_THREADS = 1 << 20
    MOST_MACHINES = 64
    MOST_GAPS = 1024
    MOST_FOUND = 1 << 16
    # The states of a task in which it does not run (TASK_REPORT of Linux); what is above says how
    # it was switched.
    NOT_RUNNABLE = 0xff


cdef SchedEvent *new_event(
    SchedMachine *m, uint64_t packet, uint32_t cpu, int64_t ns, bint waking
) except NULL nogil:
    cdef SchedEvent *e
    grow(<void **>&m.events, &m.events_capacity, m.n_events + 1, sizeof(SchedEvent))
    e = &m.events[m.n_events]
    m.n_events += 1
    e.ns = ns
    e.packet = packet
    e.cpu = cpu
    e.other = UNKNOWN
    e.is_waking = waking
    e.sleeps = e.lost = False
    return e


cdef Cpu *cpu_of(SchedMachine *m, uint64_t number) except NULL nogil:
    grow(<void **>&m.cpus, &m.cpus_capacity, <int64_t>number + 1, sizeof(Cpu))
    while m.n_cpus <= <int64_t>number:
        memset(&m.cpus[m.n_cpus], 0, sizeof(Cpu))
        m.cpus[m.n_cpus].running = UNKNOWN
        m.cpus[m.n_cpus].drops = m.drops
        m.n_cpus += 1
    return &m.cpus[number]


cdef int note_gap(SchedMachine *m, int64_t first_ns, int64_t last_ns) except -1 nogil:
    if m.n_gaps >= MOST_GAPS:
        m.has_too_many_gaps = True
        return 0
    grow(<void **>&m.gaps, &m.gaps_capacity, m.n_gaps + 1, sizeof(Gap))
    m.gaps[m.n_gaps].first_ns = first_ns
    m.gaps[m.n_gaps].last_ns = last_ns
    m.n_gaps += 1
    return 0


cdef bint may_miss(const SchedMachine *m, int64_t first_ns, int64_t last_ns) noexcept nogil:
    """Whether events of some CPU may be missing in a span of time, ends included."""
    cdef int64_t i
    for i in range(m.n_cpus):
        if m.cpus[i].seen:
            if m.cpus[i].begun_ns > first_ns or m.cpus[i].last_ns < last_ns:
                return True
        elif m.cpus[i].is_target:
            return True
    for i in range(m.n_gaps):
        if m.gaps[i].first_ns <= last_ns and first_ns <= m.gaps[i].last_ns:
            return True
    return m.has_too_many_gaps
