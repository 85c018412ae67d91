# The parts of a capture: numbers in either byte order, and options.

cdef enum:
    SECTION = 0x0A0D0D0A
    INTERFACE = 1
    OLD_PACKET = 2
    SIMPLE_PACKET = 3
    STATISTICS = 5
    PACKET = 6
    BYTE_ORDER = 0x1A2B3C4D
    US_MAGIC = 0xA1B2C3D4
    NS_MAGIC = 0xA1B23C4D
    MODIFIED_MAGIC = 0xA1B2CD34     # of Kuznetzov's patch: longer heads of packets

    COMMENT = 1
    INTERFACE_NAME = 2
    RESOLUTION = 9
    TIME_ZONE = 10
    OFFSET = 14
    DROPPED = 5             # of STATISTICS: by the interface
    DROPPED_BY_SYSTEM = 7
    DROPPED_BEFORE = 4      # of PACKET
    UNKNOWN = 0xffff        # drops of OLD_PACKET

    MICROSECONDS = 6        # the resolution of an interface that names none
    NANOSECONDS = 9
    LONGEST_ARGS = 1 << 16

# What is wrong with a file; `FAULTS` of formats/pcapng/reader.py has the words.
cdef enum:
    INCOMPLETE = 1
    BAD_LENGTH = 2
    TOO_LONG = 3
    NO_SECTION = 4
    NO_INTERFACE = 5
    PACKET_TOO_LONG = 6
    TOO_MANY_INTERFACES = 7
    BAD_OPTION = 8
    BAD_VERSION = 9
    MODIFIED_PCAP = 10

cdef struct Option:
    uint16_t code
    const uint8_t *value
    int64_t n


cdef inline uint16_t number16(const uint8_t *p, bint big) noexcept nogil:
    return <uint16_t>(p[0] << 8 | p[1]) if big else <uint16_t>(p[1] << 8 | p[0])


cdef inline uint32_t number32(const uint8_t *p, bint big) noexcept nogil:
    cdef uint32_t first = number16(p, big), second = number16(p + 2, big)
    return first << 16 | second if big else second << 16 | first


cdef inline uint64_t number64(const uint8_t *p, bint big) noexcept nogil:
    cdef uint64_t first = number32(p, big), second = number32(p + 4, big)
    return first << 32 | second if big else second << 32 | first


cdef inline int next_option(
    const uint8_t **at, const uint8_t *end, bint big, Option *option
) noexcept nogil:
    """Read an option, and move behind it: 1, 0 at the end of the options, -1 where it is none."""
    cdef const uint8_t *p = at[0]
    if p == end:
        return 0
    if end - p < 4:
        return -1
    option.code = number16(p, big)
    option.n = number16(p + 2, big)
    option.value = p + 4
    if option.code == 0:
        return 0
    if ((option.n + 3) & ~3) > end - option.value:
        return -1
    at[0] = option.value + ((option.n + 3) & ~3)
    return 1


# Timestamps of a capture in ns: exact, rounded down to whole ns where an interface counts others.

cdef extern from *:
    """
    typedef unsigned __int128 tt_uint128;
    typedef __int128 tt_int128;
    """
    ctypedef unsigned long long uint128 "tt_uint128"
    ctypedef long long int128 "tt_int128"

cdef enum:
    NS_DIGITS = 9
    MOST_DIGITS = 29        # of a resolution of which 2^64 ticks are a ns: 10^(9+20)
    MOST_BITS = 94          # likewise: 2^64 x 10^9 < 2^94

# How an interface counts: a tick is `times` / `parts` ns, and 0 is `offset_s` after 1970.
cdef struct Scale:
    uint64_t times
    uint128 parts
    int64_t offset_s


cdef inline Scale scale_of(uint8_t resolution, int64_t offset_s) noexcept nogil:
    """resolution: if_tsresol, a negative power of 10, or with the top bit of 2."""
    cdef Scale scale
    cdef int n = resolution & 0x7f, i
    scale.times, scale.parts, scale.offset_s = 1, 1, offset_s
    if resolution & 0x80:
        scale.times = 1_000_000_000
        scale.parts <<= min(n, MOST_BITS)
        return scale
    for i in range(n, NS_DIGITS):
        scale.times *= 10
    for i in range(NS_DIGITS, min(n, MOST_DIGITS)):
        scale.parts *= 10
    return scale


cdef inline bint to_ns(
    const Scale *scale, uint64_t ticks, int64_t *ns, int64_t *more
) noexcept nogil:
    """Whether a timestamp fits in int64 ns; it is the end of int64 where it does not.

    more: by how many ns the clock may have read more when it read so many whole ticks.
    """
    cdef uint128 first = <uint128>ticks * scale.times, next = first + scale.times
    cdef uint128 begin = first // scale.parts
    cdef uint128 last = (next - 1) // scale.parts
    cdef int128 whole = <int128>begin + <int128>scale.offset_s * 1_000_000_000
    more[0] = 0
    if whole > INT64_HIGH:
        ns[0] = INT64_HIGH
        return False
    if whole < INT64_LOW:
        ns[0] = INT64_LOW
        return False
    ns[0] = <int64_t>whole
    if whole + <int128>(last - begin) > INT64_HIGH:
        last = begin + <uint128>(INT64_HIGH - whole)
    more[0] = <int64_t>(last - begin)
    return True
