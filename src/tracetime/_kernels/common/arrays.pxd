# C arrays as arrays of NumPy.

from cpython.buffer cimport (
    PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.string cimport memcpy


cdef inline object copied(array, const void *data):
    """Fill an array of one dimension with the bytes at data; returns the array."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    if view.len:
        memcpy(view.buf, data, <size_t>view.len)
    PyBuffer_Release(&view)
    return array
