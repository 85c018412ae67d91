# Work of GPUs in files of PyTorch's profiler, the calls that launch it, those that wait for it, and
# the operators that make the calls. What a category is called, and its arguments, has changed since
# 2021.

cdef enum:
    MOST_LAUNCHES = 1 << 20
    MOST_OPERATORS = 1 << 17    # that are looked at

# What a `Launch` is.
cdef enum:
    IS_CALL = 0
    IS_WORK = 1             # of a GPU
    IS_WAIT = 2             # what the driver says of a call that waits
    IS_OPERATOR = 3

# What a call does, or whether work is a copy to the host.
cdef enum:
    LAUNCHES = 0
    WAITS_FOR_DEVICE = 1
    WAITS_FOR_STREAM = 2
    WAITS_FOR_EVENT = 3
    COPIES = 4              # and returns once that is done
    TO_HOST = 5


cdef bint is_of_gpu(const JsonEvent *event) noexcept nogil:
    """Whether a GPU's clock has stamped an event, or the end of a flow to one that it has."""
    cdef const uint8_t *p = event.cat.data
    cdef int64_t n = event.cat.end - p
    if event.cat.kind != STRING or n < 4:
        return False
    if p[0] == c"a":
        return same(p, n, b"ac2g", 4) and event.phase != c"s"
    return is_work(p, n) or same(p, n, b"gpu_user_annotation", 19)


cdef inline bint is_launch_flow(const JsonEvent *event) noexcept nogil:
    """Whether an event is of a flow from a call to what it launched, as its correlation says, too."""
    cdef const uint8_t *p = event.cat.data
    cdef int64_t n = event.cat.end - p
    return same(p, n, b"ac2g", 4) or same(p, n, b"async_gpu", 9)


cdef inline bint is_work(const uint8_t *p, int64_t n) noexcept nogil:
    return (
        same(p, n, b"kernel", 6) or same(p, n, b"gpu_memcpy", 10) or same(p, n, b"gpu_memset", 10)
        or same(p, n, b"Kernel", 6) or same(p, n, b"Memcpy", 6) or same(p, n, b"Memset", 6)
    )


cdef inline bint is_call(const uint8_t *p, int64_t n) noexcept nogil:
    return (
        same(p, n, b"cuda_runtime", 12) or same(p, n, b"cuda_driver", 11)
        or same(p, n, b"xpu_runtime", 11) or same(p, n, b"privateuse1_runtime", 19)
        or same(p, n, b"Runtime", 7)
    )


cdef bint holds(const Value *name, const char *text, int64_t n) noexcept nogil:
    """Whether a name has a text in it."""
    cdef const uint8_t *p = name.data
    while p + n <= name.end:
        if memcmp(p, text, <size_t>n) == 0:
            return True
        p += 1
    return False


cdef int64_t act_of(const Value *name) noexcept nogil:
    """What a call does, by its name."""
    if name.kind != STRING or holds(name, b"Query", 5) or holds(name, b"WaitEvent", 9) or (
        holds(name, b"Async", 5)
    ):
        return LAUNCHES
    if holds(name, b"Memcpy", 6):
        return COPIES
    if not holds(name, b"Synchronize", 11):
        return LAUNCHES
    if holds(name, b"Stream", 6):
        return WAITS_FOR_STREAM
    if holds(name, b"Event", 5):
        return WAITS_FOR_EVENT
    if holds(name, b"Device", 6) or holds(name, b"Ctx", 3) or holds(name, b"Thread", 6):
        return WAITS_FOR_DEVICE
    return LAUNCHES


cdef inline bint is_failure(const Value *key, const Value *value) noexcept nogil:
    """Whether a member of a call's arguments says that it failed."""
    cdef int64_t n = key.end - key.data
    if not (
        same(key.data, n, b"return_value", 12) or same(key.data, n, b"returnValue", 11)
        or same(key.data, n, b"return value", 12) or same(key.data, n, b"status", 6)
        or same(key.data, n, b"result", 6) or same(key.data, n, b"ret", 3)
    ):
        return False
    if value.kind == STRING:
        return not (holds(value, b"uccess", 6) or same(value.data, value.end - value.data, b"0", 1))
    return number_of(value) != 0


cdef bint read_launch(const JsonEvent *event, int64_t *row) noexcept nogil:
    """The columns of an event, as `KnownNames.launches` has them; False where it is none."""
    cdef const uint8_t *p = event.cat.data, *at = event.args.data + 1
    cdef int64_t n = event.cat.end - p
    cdef Value key, value
    if event.cat.kind != STRING or (
        event.ts.state != TIME_KNOWN and event.ts.state != TIME_OVERFLOWS
    ):
        return False
    if is_call(p, n):
        row[0], row[1] = IS_CALL, act_of(&event.name)
    elif is_work(p, n):
        row[0], row[1] = IS_WORK, TO_HOST if holds(&event.name, b"DtoH", 4) else LAUNCHES
    elif same(p, n, b"cuda_sync", 9):
        row[0], row[1] = IS_WAIT, LAUNCHES
    elif same(p, n, b"cpu_op", 6) or same(p, n, b"Operator", 8):
        row[0], row[1] = IS_OPERATOR, LAUNCHES
    else:
        return False
    row[2] = event.index
    row[3] = event.ts.ns
    row[4] = saturating_add(event.ts.ns, event.dur.ns)
    if event.dur.state != TIME_KNOWN:
        # It ends after it begins; when, nobody knows.
        row[4] = event.ts.ns if row[0] == IS_WORK else INT64_HIGH
    row[5], row[6] = event.pid_number, event.tid_number
    row[7] = row[8] = row[9] = row[10] = row[11] = row[12] = -1
    if event.args.kind != OBJECT:
        return True
    while next_member(&at, event.args.end, &key, &value):
        n = key.end - key.data
        if row[0] == IS_CALL and is_failure(&key, &value):
            return False
        if value.kind != NUMBER:
            continue
        if same(key.data, n, b"External id", 11) or same(key.data, n, b"external id", 11):
            row[12] = number_of(&value)
            if row[0] == IS_OPERATOR:
                break
        elif same(key.data, n, b"correlation", 11):
            row[7] = number_of(&value)
        elif same(key.data, n, b"device", 6):
            row[8] = number_of(&value)
        elif same(key.data, n, b"stream", 6):
            row[9] = number_of(&value)
        elif same(key.data, n, b"wait_on_stream", 14):
            row[10] = number_of(&value)
        elif same(key.data, n, b"wait_on_cuda_event_record_corr_id", 33):
            row[11] = number_of(&value)
    return True
