"""tools/check_functions.py: long functions and wide kernels are found, unless they say why."""

import pytest

from tools.check_functions import faults, of_cython, of_python

LONG = "def f():\n" + "    pass\n" * 60
KERNEL = """\
cdef class Tube:
    cdef int rows

    # wide: because
    cdef inline int hop(
        self, int a, int64_t[::1] b, (int, int) c, int d,   # a comment, (odd, one
        int e, int f, int g, int h,
    ) except -1 nogil:
        cdef int x = put(a, b)

        return x

cdef extern from "x.h":
    int outside(int a, int b)

cdef int declared(int a)

def last(a, *, b=(1, 2)):
    pass
"""


def faults_of(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return [fault.removeprefix(f"{path}:") for fault in faults(path)]


def test_functions_of_kernels_end_where_the_indentation_does():
    assert [tuple(one) for one in of_cython(KERNEL)] == [("hop", 5, 7, 8), ("last", 18, 2, 2)]


def test_functions_of_python_count_their_docstrings():
    text = 'class A:\n    def f(self):\n        """One.\n\n        Two."""\n'
    assert [tuple(one) for one in of_python(text)] == [("f", 2, 4, 0)]


@pytest.mark.parametrize("name", ["f.py", "f.pyx"])
def test_what_is_too_long_says_why(tmp_path, name):
    (fault,) = faults_of(tmp_path, name, LONG)
    assert fault == "1: f has 61 lines: at most 60, or `# long: WHY`"
    assert faults_of(tmp_path, name, f"# long: a list\n{LONG}") == []
    assert faults_of(tmp_path, name, LONG.replace("f():", "f():  # long: a list")) == []
    assert len(faults_of(tmp_path, name, f"# long:\n{LONG}")) == 1


def test_what_is_too_wide_says_why(tmp_path):
    assert faults_of(tmp_path, "f.pyx", KERNEL) == []
    (fault,) = faults_of(tmp_path, "f.pyx", KERNEL.replace("# wide: because", "# because"))
    assert fault == "5: hop has 8 parameters: at most 7, or `# wide: WHY`"


def test_a_reason_for_nothing_is_a_fault(tmp_path):
    (fault,) = faults_of(tmp_path, "f.py", "# long: it was\ndef f():\n    pass\n")
    assert fault == "2: f has 2 lines: remove `# long:`"
