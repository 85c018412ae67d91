# The payload of a packet whose items have timestamps of their own.

from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, load_bytes, next_field, nothing, span_of,
)
from tracetime._kernels.perfetto.fields cimport *
from tracetime._kernels.perfetto.packet cimport Packet


cdef inline Span inner_of(Packet *p) noexcept nogil:
    """The payload whose items Perfetto reads at once; of several payloads the first such.

    `inner_field` becomes its number. Of AndroidLogPacket and PowerRails the last one is read.
    """
    cdef Span rest = p.whole
    cdef Field f
    if p.payloads <= 1:
        return p.inner
    while next_field(&rest, &f):
        if f.wire == BYTES and is_inner(f.number):
            p.inner_field = f.number
            if f.number == PACKET_ANDROID_LOG or f.number == PACKET_POWER_RAILS:
                return load_bytes(p.whole, f.number)
            return span_of(&f)
    return nothing()
