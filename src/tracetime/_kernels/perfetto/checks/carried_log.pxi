# What a trace carries of its sources: docs/tracetime_extension.proto, `carried`.

cdef class CarriedLog(PacketObserver):
    """Keeps what packets carry, and the numbers of these packets."""

    cdef readonly list packets
    cdef readonly list contents

    def __cinit__(self):
        self.packets = []
        self.contents = []

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef Span carried
        if not is_set(p.message.tracetime_snapshot) or p.message.n_data:
            return False
        carried = load_bytes(p.message.tracetime_snapshot, EXT_CARRIED)
        if is_set(carried):
            with gil:
                self.packets.append(p.packet)
                self.contents.append(
                    PyBytes_FromStringAndSize(<char *>carried.data, carried.end - carried.data)
                )
        return False
