# The arguments of slices: those of the entries that they begin and end with, as one object.

cdef joined_args(
    object log, ArgsAt args_at, int64_t entries,
    const int32_t[::1] begin, const int32_t[::1] end, int64_t most,
):
    """The arguments of slices, by the entries of a log that they begin and end with; -1: none.

    As (bool[n], int32[n], uint8[...]): whether there are any, the ends of the texts, and the
    texts, JSON; of the first n slices, which have `most` bytes in all, or a little more.
    """
    cdef int64_t i, n = begin.shape[0]
    cdef Bytes out
    cdef uint8_t[::1] has = (some := np.zeros(n, np.bool_)).view(np.uint8)
    cdef int32_t[::1] ends = (cuts := np.zeros(n, np.int32))
    if end.shape[0] != n:
        raise IndexError("slices have a begin and an end each")
    for i in range(n):
        if not -1 <= begin[i] < entries or not -1 <= end[i] < entries:
            raise IndexError("there are not so many entries")
    out.data, out.n, out.capacity = NULL, 0, 0
    try:
        i = 0
        while i < n and out.n < most:
            if begin[i] >= 0:
                has[i] = put_args(&out, args_at(log, begin[i]), False)
            if end[i] >= 0 and end[i] != begin[i]:
                has[i] |= put_args(&out, args_at(log, end[i]), has[i])
            ends[i] = <int32_t>out.n
            i += 1
        text = copied(np.empty(out.n, np.uint8), out.data)
    finally:
        free(out.data)
    return some[:i], cuts[:i], text


cdef bint put_args(Bytes *out, Span args, bint joined) except -1:
    """Append arguments, into the object before them where there is one."""
    if args.data == args.end:
        return False
    if joined:
        # If both have a key, readers of JSON take the later value.
        out.data[out.n - 1] = c","
        put_bytes(out, args.data + 1, args.end - args.data - 1)
    else:
        put_bytes(out, args.data, args.end - args.data)
    return True
