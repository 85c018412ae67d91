# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a row says of threads and processes, and what ftrace events are called."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from tracetime._kernels.common.text cimport put_bytes
from tracetime._kernels.perfetto.batch cimport (
    HAS_PID, HAS_TID, TEXT_NAME, TEXT_PROCESS_NAME, TEXT_THREAD_NAME, Batch, RowDetails,
)
from tracetime._kernels.perfetto.directory cimport THREAD, Directory, Text
from tracetime._kernels.perfetto.interning cimport Interned, InternedData


cdef class NameTables:
    """Where names come from, and the batch they go to.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number.
    """

    def __cinit__(self, Directory directory not None, ftrace, InternedData interned, Batch batch):
        cdef int64_t i
        cdef bytes name
        self.directory = directory
        self.interned = interned
        self.batch = batch
        self.texts = <Text *>malloc(<size_t>(directory.n + 1) * sizeof(Text))
        self.n_ftrace = 1 + max(ftrace, default=-1)
        self.ftrace = <Interned *>calloc(<size_t>self.n_ftrace + 1, sizeof(Interned))
        if self.texts == NULL or self.ftrace == NULL:
            raise MemoryError
        for i in range(directory.n):
            self.texts[i] = directory.known[i].name
            self.texts[i].batch = -1
        for number, text in ftrace.items():
            if not 0 <= number < self.n_ftrace:
                raise ValueError("field numbers are not negative")
            name = text.encode()
            self.ftrace[number].iid = self.ftrace_names.n
            self.ftrace[number].text.size = len(name)
            put_bytes(&self.ftrace_names, <const uint8_t *>name, len(name))
        for number in ftrace:
            self.ftrace[number].text.data = self.ftrace_names.data + self.ftrace[number].iid
            self.ftrace[number].text.batch = -1

    def __dealloc__(self):
        free(self.texts)
        free(self.ftrace)
        free(self.ftrace_names.data)

    cdef int set_known(self, int column, int32_t index, RowDetails *w) except -1 nogil:
        if index >= 0:
            w.codes[column] = self.batch.code_text(column, &self.texts[index])
        return 0

    cdef int set_thread(
        self, uint32_t machine, bint has_tid, int32_t pid, int64_t tid, RowDetails *w
    ) except -1 nogil:
        """A process, and the thread of it where there is one."""
        w.pid = pid
        w.has |= HAS_PID
        self.set_known(TEXT_PROCESS_NAME, self.directory.process_of(machine, pid), w)
        if has_tid:
            w.tid = tid
            w.has |= HAS_TID
            self.set_known(TEXT_THREAD_NAME, self.directory.thread_of(machine, True, pid, tid), w)
        return 0

    cdef int set_tid(self, uint32_t machine, int64_t tid, RowDetails *w) except -1 nogil:
        """A thread by its tid alone, with its process where that is known."""
        cdef int32_t index = self.directory.find(machine, THREAD, 0, <uint64_t>tid)
        cdef int32_t process
        w.tid = tid
        w.has |= HAS_TID
        self.set_known(TEXT_THREAD_NAME, index, w)
        if index >= 0 and self.directory.known[index].has_pid:
            w.pid = self.directory.known[index].pid
            w.has |= HAS_PID
            process = self.directory.process_of(machine, w.pid)
        else:
            # Dumps may list a process without its main thread, which has the same number.
            process = self.directory.process_of(machine, <int32_t>tid)
            if process >= 0:
                w.pid = <int32_t>tid
                w.has |= HAS_PID
        return self.set_known(TEXT_PROCESS_NAME, process, w)

    cdef int set_event(self, uint32_t number, RowDetails *w) except -1 nogil:
        """Name an ftrace event by its field."""
        if <int64_t>number < self.n_ftrace:
            w.codes[TEXT_NAME] = self.batch.code_text(TEXT_NAME, &self.ftrace[number].text)
        return 0
