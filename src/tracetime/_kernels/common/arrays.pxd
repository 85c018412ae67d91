# C arrays as NumPy's.

from cpython.buffer cimport (
    PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.string cimport memcpy


cdef inline object copied(array, const void *data):
    """The array, one-dimensional and of the caller's making, filled with what stands at data."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    if view.len:
        memcpy(view.buf, data, <size_t>view.len)
    PyBuffer_Release(&view)
    return array
