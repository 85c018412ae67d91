# cython: boundscheck=True, wraparound=False
"""The packets of a recording that are written now and then: snapshots, tracks, and their extension.

Events, of which there are millions, are writer.pyx's. Every function returns one serialised field
`packet` of the Trace message, tag and length included; what to say is
formats/perfetto/write/writer.py's.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tracetime._kernels.common.encode cimport (
    LONGEST_TAG, LONGEST_VARINT, WIRE_BYTES, put_double, put_number, put_tag, put_varint, unzigzag,
    zigzag,
)
from tracetime._kernels.perfetto.extension cimport (
    Extension, WallBound, read_extension, read_wall_bound,
)
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED64, VARINT, Field, Span, is_set, load_bytes, load_number, next_field, read_field,
    read_varint, span_of,
)
from tracetime._kernels.perfetto.packet cimport baked_policy, digest_of

cdef enum:
    CARRIED_BLOCK = 1
    CARRIED_SEAL = 2
    USUAL_TICK_US = 10000
    PACKET_TAG = 0x0A
    CARRIES_READINGS = 2

PROCESS, THREAD, CUSTOM, COUNTER = range(4)


cdef class Message:
    """A message under construction."""

    cdef bytearray content

    def __cinit__(self):
        self.content = bytearray()

    cdef int number(self, uint32_t field, uint64_t value) except -1:
        cdef uint8_t scratch[LONGEST_TAG + LONGEST_VARINT]
        cdef uint8_t *end = put_number(scratch, field, value)
        self.content += scratch[:end - scratch]
        return 0

    cdef int real(self, uint32_t field, double value) except -1:
        cdef uint8_t scratch[LONGEST_TAG + 8]
        cdef uint8_t *end = put_double(scratch, field, value)
        self.content += scratch[:end - scratch]
        return 0

    cdef int data(self, uint32_t field, value) except -1:
        cdef uint8_t scratch[LONGEST_TAG + LONGEST_VARINT]
        cdef uint8_t *end = put_varint(put_tag(scratch, field, WIRE_BYTES), <uint64_t>len(value))
        self.content += scratch[:end - scratch]
        self.content += value
        return 0

    cdef int text(self, uint32_t field, str value) except -1:
        return self.data(field, value.encode("utf-8", "replace"))

    cdef int message(self, uint32_t field, Message value) except -1:
        return self.data(field, value.content)

    cdef int packed(self, uint32_t field, values, bint zigzagged) except -1:
        cdef uint8_t scratch[LONGEST_VARINT]
        cdef uint8_t *end
        cdef bytearray content = bytearray()
        cdef int64_t value
        for one in values:
            value = one
            end = put_varint(scratch, zigzag(value) if zigzagged else <uint64_t>value)
            content += scratch[:end - scratch]
        return self.data(field, content)

    cdef bytes packet(self):
        cdef Message trace = Message()
        trace.message(TRACE_PACKET, self)
        return bytes(trace.content)


def state_packet(
    uint32_t sequence, uint32_t flags, bint first, bint dropped, uint32_t clock,
    uint32_t machine=0,
):
    """A packet that starts a packet sequence's incremental state anew.

    first: whether it is the first of its sequence; dropped: whether packets before it were lost.
    clock: in which the sequence's timestamps are read where a packet does not say; 0 for none.
    machine: of the sequence, its machine_id; 0 for the host.
    """
    cdef Message packet = Message()
    cdef Message defaults = Message()
    packet.number(PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence)
    if machine:
        packet.number(PACKET_MACHINE_ID, machine)
    packet.number(PACKET_SEQUENCE_FLAGS, flags)
    if first:
        packet.number(PACKET_FIRST_PACKET_ON_SEQUENCE, 1)
    if dropped:
        packet.number(PACKET_PREVIOUS_PACKET_DROPPED, 1)
    if clock:
        defaults.number(DEFAULTS_TIMESTAMP_CLOCK_ID, clock)
        packet.message(PACKET_TRACE_PACKET_DEFAULTS, defaults)
    return packet.packet()


# wide: the fields of one message
def track_packet(
    uint32_t sequence, uint64_t uuid, uint64_t parent, int kind, str name, int64_t pid,
    int64_t tid, str unit, uint32_t machine=0,
):
    """A TrackDescriptor: of a process, a thread, a track by its own name, or a counter.

    Custom tracks are not merged with others of their name, as they would be unasked.
    """
    cdef Message packet = Message()
    cdef Message track = Message()
    cdef Message inner = Message()
    track.number(TRACK_DESCRIPTOR_UUID, uuid)
    if parent:
        track.number(TRACK_DESCRIPTOR_PARENT_UUID, parent)
    if kind == PROCESS:
        inner.number(PROCESS_DESCRIPTOR_PID, <uint64_t>pid)
        if name:
            inner.text(PROCESS_DESCRIPTOR_PROCESS_NAME, name)
        track.message(TRACK_DESCRIPTOR_PROCESS, inner)
    elif kind == THREAD:
        inner.number(THREAD_DESCRIPTOR_PID, <uint64_t>pid)
        inner.number(THREAD_DESCRIPTOR_TID, <uint64_t>tid)
        if name:
            inner.text(THREAD_DESCRIPTOR_THREAD_NAME, name)
        track.message(TRACK_DESCRIPTOR_THREAD, inner)
    else:
        track.text(TRACK_DESCRIPTOR_NAME, name)
        if kind == COUNTER:
            if unit:
                inner.text(COUNTER_UNIT_NAME, unit)
            track.message(TRACK_DESCRIPTOR_COUNTER, inner)
        track.number(TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, SIBLING_MERGE_BEHAVIOR_NONE)
    packet.message(PACKET_TRACK_DESCRIPTOR, track)
    packet.number(PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence)
    if machine:
        packet.number(PACKET_MACHINE_ID, machine)
    return packet.packet()


def snapshot_packet(uint32_t sequence, uint32_t primary, list clocks, bytes extension):
    """A ClockSnapshot with its extension (none where that is empty).

    clocks: (clock id, reading, unit_multiplier_ns); primary: `primary_trace_clock`, or 0.
    """
    cdef Message packet = Message()
    cdef Message snapshot = Message()
    cdef Message clock
    cdef int64_t reading
    for number, value, unit_ns in clocks:
        clock = Message()
        reading = value
        clock.number(SNAPSHOT_CLOCK_CLOCK_ID, number)
        clock.number(SNAPSHOT_CLOCK_TIMESTAMP, <uint64_t>reading)
        if unit_ns != 1:
            clock.number(SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS, unit_ns)
        snapshot.message(SNAPSHOT_CLOCKS, clock)
    if primary:
        snapshot.number(SNAPSHOT_PRIMARY_TRACE_CLOCK, primary)
    packet.message(PACKET_CLOCK_SNAPSHOT, snapshot)
    packet.number(PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence)
    if extension:
        packet.data(PACKET_TRACETIME_SNAPSHOT, extension)
    return packet.packet()


# wide: the fields of one message
def encode_domain(
    uint32_t clock, str name, tuple rate, uint32_t valid_bits, str oscillator, double tick_ns,
    max_drift_ppm, wander_ppm, bint disciplined,
):
    """A Domain: what one clock is. rate: (numerator, denominator) of ns_per_tick, or None."""
    cdef Message domain = Message()
    domain.number(EXT_DOMAIN_CLOCK_ID, clock)
    if name:
        domain.text(EXT_DOMAIN_NAME, name)
    if rate is not None:
        domain.number(EXT_DOMAIN_NS_PER_TICK_NUMERATOR, rate[0])
        domain.number(EXT_DOMAIN_NS_PER_TICK_DENOMINATOR, rate[1])
    domain.number(EXT_DOMAIN_VALID_BITS, valid_bits)
    if oscillator:
        domain.text(EXT_DOMAIN_OSCILLATOR, oscillator)
    domain.real(EXT_DOMAIN_TICK_NS, tick_ns)
    if max_drift_ppm is not None:
        domain.real(EXT_DOMAIN_MAX_DRIFT_PPM, max_drift_ppm)
    if wander_ppm is not None:
        domain.real(EXT_DOMAIN_WANDER_PPM, wander_ppm)
    domain.number(EXT_DOMAIN_DISCIPLINED, disciplined)
    return bytes(domain.content)


# wide: the fields of one message
def encode_extension(
    reference, list centres, list halves, list raws, kernel_clock, list domains,
    uint64_t events_dropped, wall_bound=None,
):
    """A TracetimeSnapshot.

    reference: index of the clock that the others were bracketed by; None leaves it, centres and
    half-widths out. kernel_clock: numbers in the order of their fields, or None. domains: what
    `encode_domain` made. wall_bound: earliest_ns, latest_ns and the number of the service, or None.
    """
    cdef Message message = Message()
    cdef Message kernel, bound
    cdef int64_t number
    if reference is not None:
        message.number(EXT_REFERENCE, reference)
        message.packed(EXT_CENTRE_NS, centres, True)
        message.packed(EXT_HALF_WIDTH_NS, halves, False)
    if any(raws):
        message.packed(EXT_RAW_MINUS_READING, raws, True)
    if kernel_clock is not None:
        kernel = Message()
        for field, one in enumerate(kernel_clock, EXT_KERNEL_FREQUENCY_SCALED):
            number = one
            if number != (USUAL_TICK_US if field == EXT_KERNEL_TICK_US else 0):
                kernel.number(field, zigzag(number))
        message.message(EXT_KERNEL_CLOCK, kernel)
    for domain in domains:
        message.data(EXT_DOMAINS, domain)
    if events_dropped:
        message.number(EXT_EVENTS_DROPPED, events_dropped)
    if wall_bound is not None:
        bound = Message()
        earliest, latest, source = wall_bound
        bound.number(EXT_BOUND_EARLIEST_NS, zigzag(earliest))
        bound.number(EXT_BOUND_LATEST_NS, zigzag(latest))
        bound.number(EXT_BOUND_SOURCE, source)
        message.message(EXT_WALL_BOUND, bound)
    return bytes(message.content)


def boot_packet(bytes boot_id, uint32_t machine=0, suspended_ns=None):
    """A packet that says which boot of its machine the clocks of the trace count from.

    machine: its machine_id; 0 for the host. suspended_ns: how long it was suspended in that boot.
    """
    cdef Message packet = Message()
    cdef Message extension = Message()
    extension.data(EXT_BOOT_ID, boot_id)
    if suspended_ns is not None:
        extension.number(EXT_SUSPENDED_NS, suspended_ns)
    if machine:
        packet.number(PACKET_MACHINE_ID, machine)
    packet.message(PACKET_TRACETIME_SNAPSHOT, extension)
    return packet.packet()


def baked_packet(int policy, bytes carried=None, uint32_t machine=0):
    """A packet that says that the trace is baked, by the policy of that number.

    machine: the packet's machine_id. carried: what clocks of its sources read; empty in the first packet of a trace that has this.
    """
    cdef Message packet = Message()
    cdef Message extension = Message()
    extension.number(EXT_BAKED, <uint64_t>policy)
    if carried is not None and not carried:
        extension.number(EXT_CARRIES_SOURCE, CARRIES_READINGS)
    elif carried is not None:
        extension.data(EXT_CARRIED, carried)
    if machine:
        packet.number(PACKET_MACHINE_ID, machine)
    packet.message(PACKET_TRACETIME_SNAPSHOT, extension)
    return packet.packet()


def remote_sync_packet(uint32_t machine, uint32_t clock, list synced_clocks, list rounds):
    """A RemoteClockSync of one clock.

    machine: the client's machine_id; synced_clocks: (the client's reading, then the host's), ns;
    rounds: of the extension, each (sent, received, replied, returned), ns.
    """
    cdef Message packet = Message()
    cdef Message extension = Message()
    cdef Message sync = Message()
    cdef Message synced
    for client, host in synced_clocks:
        synced = Message()
        synced.message(SYNCED_CLIENT_CLOCKS, one_clock(clock, client))
        synced.message(SYNCED_HOST_CLOCKS, one_clock(clock, host))
        sync.message(REMOTE_SYNC_SYNCED_CLOCKS, synced)
    packet.number(PACKET_MACHINE_ID, machine)
    packet.message(PACKET_REMOTE_CLOCK_SYNC, sync)
    if rounds:
        client, host = synced_clocks[0]
        extension.packed(EXT_ROUNDS_NS, [
            number for sent, received, replied, returned in rounds
            for number in (sent - host, received - client, replied - received, returned - sent)
        ], True)
        packet.message(PACKET_TRACETIME_SNAPSHOT, extension)
    return packet.packet()


cdef Message one_clock(uint32_t number, int64_t reading):
    """A ClockSnapshot of one clock."""
    cdef Message snapshot = Message()
    cdef Message clock = Message()
    clock.number(SNAPSHOT_CLOCK_CLOCK_ID, number)
    clock.number(SNAPSHOT_CLOCK_TIMESTAMP, <uint64_t>reading)
    snapshot.message(SNAPSHOT_CLOCKS, clock)
    return snapshot


def machine_packet(uint32_t machine, str name):
    """A SystemInfo that says what a machine is called. machine: its machine_id; 0 for the host."""
    cdef Message packet = Message()
    cdef Message info = Message()
    info.text(SYSTEM_INFO_MACHINE_NAME, name)
    if machine:
        packet.number(PACKET_MACHINE_ID, machine)
    packet.message(PACKET_SYSTEM_INFO, info)
    return packet.packet()


# Reading them back. The bytes are a file's, and hostile.

cdef Span span_in(const uint8_t[::1] data):
    cdef Span s
    s.data = NULL
    s.end = NULL
    if data.shape[0]:
        s.data = &data[0]
        s.end = s.data + data.shape[0]
    return s


cdef list unpack(Span packed, bint zigzagged):
    cdef const uint8_t *at = packed.data
    cdef uint64_t value
    found = []
    while at < packed.end:
        at = read_varint(at, packed.end, &value)
        if at == NULL:
            return None
        found.append(unzigzag(value) if zigzagged else <int64_t>value)
    return found


def decode_extension(const uint8_t[::1] data not None):
    """(reference, centres, halves, raws, kernel clock, domains, dropped, wall bound), or None.

    As `encode_extension` takes them; None where the message is malformed.
    """
    cdef Extension e
    cdef Span message = span_in(data)
    cdef const uint8_t *at
    cdef Field f
    cdef WallBound bound
    if not read_extension(message, &e):
        return None
    arrays = unpack(e.centres, True), unpack(e.halves, False), unpack(e.raws, True)
    if None in arrays:
        return None
    kernel_clock = None
    if e.kernel_clock.data != NULL:
        numbers = dict.fromkeys(range(EXT_KERNEL_FREQUENCY_SCALED, EXT_KERNEL_TAI_S + 1), 0)
        numbers[EXT_KERNEL_TICK_US] = USUAL_TICK_US
        at = e.kernel_clock.data
        while at < e.kernel_clock.end:
            at = read_field(at, e.kernel_clock.end, &f)
            if at == NULL:
                return None
            if f.wire == VARINT and f.number in numbers:
                numbers[f.number] = unzigzag(f.value)
        kernel_clock = tuple(numbers.values())
    domains = []
    at = message.data
    while at < message.end:
        at = read_field(at, message.end, &f)
        if f.number == EXT_DOMAINS and f.wire == BYTES:
            domains.append(<bytes>(<const char *>f.data)[:<Py_ssize_t>f.value])
    reference = e.reference if e.has_reference else None
    wall_bound = None
    if read_wall_bound(e.wall_bound, &bound):
        wall_bound = bound.earliest_ns, bound.latest_ns, bound.source
    return reference, *arrays, kernel_clock, domains, e.events_dropped, wall_bound


def decode_domain(const uint8_t[::1] data not None):
    """(clock, name, rate, valid_bits, oscillator, tick_ns, max_drift_ppm, wander_ppm, disciplined).

    As `encode_domain` takes them, None for what is not there; None where it is malformed. Numbers
    are as the file has them: the caller checks whether they make sense.
    """
    cdef Span message = span_in(data)
    cdef const uint8_t *at = message.data
    cdef Field f
    cdef double real
    found = {}
    while at < message.end:
        at = read_field(at, message.end, &f)
        if at == NULL:
            return None
        if f.wire == BYTES:
            found[f.number] = (<bytes>(<const char *>f.data)[:<Py_ssize_t>f.value]).decode(
                "utf-8", "replace"
            )
        elif f.wire == FIXED64:
            memcpy(&real, &f.value, sizeof(real))
            found[f.number] = real
        elif f.wire == VARINT:
            found[f.number] = f.value
    rate = (
        found.get(EXT_DOMAIN_NS_PER_TICK_NUMERATOR), found.get(EXT_DOMAIN_NS_PER_TICK_DENOMINATOR)
    )
    return (
        found.get(EXT_DOMAIN_CLOCK_ID), found.get(EXT_DOMAIN_NAME),
        None if None in rate else rate, found.get(EXT_DOMAIN_VALID_BITS),
        found.get(EXT_DOMAIN_OSCILLATOR), found.get(EXT_DOMAIN_TICK_NS),
        found.get(EXT_DOMAIN_MAX_DRIFT_PPM), found.get(EXT_DOMAIN_WANDER_PPM),
        found.get(EXT_DOMAIN_DISCIPLINED),
    )


def whole_packets(const uint8_t[::1] data not None, int64_t end):
    """How many of the first `end` bytes of a serialised Trace are whole packets."""
    cdef const uint8_t *start, *at, *next, *last
    cdef uint64_t tag, size
    if not 0 <= end <= data.shape[0]:
        raise IndexError("end must lie within data")
    if end == 0:
        return 0
    start = &data[0]
    last = start + end
    at = start
    while at < last:
        next = read_varint(at, last, &tag)
        if next == NULL:
            break
        next = read_varint(next, last, &size)
        if next == NULL or size > <uint64_t>(last - next):
            break
        at = next + size
    return at - start


def events_in(const uint8_t[::1] data not None):
    """How many events the whole packets in `data`, a part of a serialised Trace, hold."""
    cdef Span packets = span_in(data)
    cdef Span packet, rest = packets, rest_of_packet
    cdef Field f, g
    cdef int64_t n = 0
    while next_field(&rest, &f):
        if f.wire != BYTES:
            continue
        packet = span_of(&f)
        rest_of_packet = packet
        while next_field(&rest_of_packet, &g):
            if g.number == PACKET_TRACK_EVENT:
                n += 1
                break
    return n


def carries_readings(const uint8_t[::1] beginning not None):
    """Whether the first packet of a file says that others say what clocks of its sources read."""
    cdef const uint8_t *at, *end
    cdef uint64_t size
    cdef Span packet, extension
    cdef bint found
    if beginning.shape[0] < 2 or beginning[0] != PACKET_TAG:
        return False
    end = &beginning[0] + beginning.shape[0]
    at = read_varint(&beginning[0] + 1, end, &size)
    if at == NULL or size > <uint64_t>(end - at):
        return False
    packet.data = at
    packet.end = at + size
    extension = load_bytes(packet, PACKET_TRACETIME_SNAPSHOT)
    if not is_set(extension) or not baked_policy(extension):
        return False
    return load_number(extension, EXT_CARRIES_SOURCE, &found) == CARRIES_READINGS


cdef class Sealer:
    """Adds a seal after each block of what packets carry: it shows what has changed a file since.

    policy, machine: as of `baked_packet`.
    """

    cdef int policy
    cdef uint32_t machine
    cdef uint64_t digest

    def __cinit__(self, int policy, uint32_t machine=0):
        self.policy = policy
        self.machine = machine

    def write(self, bytes data not None):
        """Packets with the seals; whole ones, which follow those of the calls before."""
        cdef Span packets = span_in(data)
        cdef Span rest = packets, packet, carried
        cdef const uint8_t *copied = packets.data
        cdef Field f
        cdef bytearray out = bytearray()
        while next_field(&rest, &f):
            packet = span_of(&f)
            if packet.end == packet.data:
                # Readers are not shown these.
                continue
            self.digest = digest_of(packet, self.digest)
            carried = load_bytes(load_bytes(packet, PACKET_TRACETIME_SNAPSHOT), EXT_CARRIED)
            if is_set(carried) and carried.end > carried.data and carried.data[0] == CARRIED_BLOCK:
                out += copied[:rest.data - copied]
                out += self.seal()
                copied = rest.data
        if not out:
            return data
        return bytes(out + copied[:packets.end - copied])

    def seal(self):
        """A seal of the packets since the last one."""
        cdef uint64_t digest = self.digest
        self.digest = 0
        return baked_packet(
            self.policy, bytes([CARRIED_SEAL]) + digest.to_bytes(8, "little"), self.machine
        )


cdef bytearray without(Span message, tuple fields, dict inside):
    """A message without some fields. inside: of fields that are messages, those that they lose."""
    cdef Span rest = message
    cdef const uint8_t *before
    cdef Field f
    cdef Message out = Message()
    before = rest.data
    while next_field(&rest, &f):
        if f.number in inside and f.wire == BYTES:
            out.data(f.number, bytes(without(span_of(&f), inside[f.number], {})))
        elif f.number not in fields:
            out.content += before[:rest.data - before]
        before = rest.data
    return out.content


def stripped(const uint8_t[::1] data not None):
    """Packets without what they carry of sources, and without ids of boots and names of machines."""
    cdef Span rest = span_in(data), packet
    cdef const uint8_t *copied = rest.data
    cdef const uint8_t *before = rest.data
    cdef Field f
    cdef bytearray out = bytearray()
    while next_field(&rest, &f):
        packet = span_of(&f)
        if f.number == TRACE_PACKET and (
            is_set(load_bytes(packet, PACKET_TRACETIME_SNAPSHOT))
            or is_set(load_bytes(packet, PACKET_SYSTEM_INFO))
        ):
            out += copied[:before - copied]
            made = bytes(without(packet, (), {
                PACKET_TRACETIME_SNAPSHOT: (EXT_BOOT_ID, EXT_CARRIED, EXT_CARRIES_SOURCE),
                PACKET_SYSTEM_INFO: (SYSTEM_INFO_MACHINE_NAME,),
            }))
            out += put_packet(made)
            copied = rest.data
        before = rest.data
    if copied == NULL:
        return b""
    return bytes(out + copied[:before - copied])


cdef bytes put_packet(bytes content):
    cdef Message trace = Message()
    trace.data(TRACE_PACKET, content)
    return bytes(trace.content)
