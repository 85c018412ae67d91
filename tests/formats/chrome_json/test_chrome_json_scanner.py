"""What the scanner takes for an event, and what it refuses where."""

import pytest

from tracetime._kernels.chrome_json.reader import EventObserver, Scanner

EVENT = b'{"ph":"X","ts":1.5,"dur":2,"pid":1,"tid":2,"name":"a\\"]}","args":{"b":[{"c":"\\\\"}]}}'


def scan(content, chunk=1 << 20, lines=False):
    scanner = Scanner(EventObserver(), lines)
    for at in range(0, len(content), chunk):
        scanner.feed(content[at : at + chunk])
        while scanner.scan():
            pass
        if scanner.fault:
            return scanner
    while scanner.finish():
        pass
    return scanner


@pytest.mark.parametrize(
    ("content", "events"),
    [
        (b"[]", 0),
        (b"[" + EVENT + b"]", 1),
        (b" \xef\xbb\xbf"[1:] + b"\n[" + EVENT + b",\n" + EVENT + b",\n", 2),
        (b"[" + EVENT + b",]\n", 1),
        (b"[" + EVENT + b" " + EVENT + b"]", 2),
        (b'{"traceEvents":[' + EVENT + b"]}\n", 1),
        (b'{"a":[1,{"traceEvents":[]}],"traceEvents":[{}, {} ],"b":null,"c":-1e5}\0\0', 2),
        (b'{"traceEvents":[' + EVENT + b'],"b":{},"traceEvents":[' + EVENT + b"]}", 2),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 64, 1000])
def test_events_are_found_however_the_file_is_cut_into_chunks(content, events, chunk):
    scanner = scan(content, chunk)
    assert (scanner.fault, scanner.n_events) == (0, events)


def test_values_beside_the_events_are_kept_as_they_stand():
    scanner = scan(b'{"a": {"b": [1]} ,"traceEvents":[],"c":"\\u00e9"}')
    assert scanner.values == [(b"a", b'{"b": [1]}', 6), (b"c", b'"\\u00e9"', 39)]


@pytest.mark.parametrize(
    ("content", "fault", "offset"),
    [
        (b"x", 1, 0),
        (b"{1:2}", 2, 1),
        (b'{"a" 1}', 3, 5),
        (b'{"a":}', 4, 5),
        (b'{"a":1 "b":2}', 5, 7),
        (b"[{},7]", 6, 4),
        (b'[{"ph" "X"}]', 3, 7),
        (b'[{"ph":"X" 1}]', 5, 11),
        (b'[{"ph":}]', 4, 7),
        (b'[{"a":' + b"[" * 400, 7, 6),
        (b"[]x", 9, 2),
        (b'{"traceEvents":[{}', 10, 18),
        (b'[{"ph":', 10, 1),
        (b'{"a":1}', 11, 7),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1000])
def test_what_is_wrong_is_told_with_its_byte(content, fault, offset, chunk):
    scanner = scan(content, chunk)
    assert (scanner.fault, scanner.fault_offset) == (fault, offset)


def test_values_nest_256_levels_deep():
    def nested(depth):
        return b'[{"a":' + b"[" * depth + b"]" * depth + b"}]"

    assert scan(nested(256)).fault == 0
    assert scan(nested(257)).fault == 7


def test_lines_of_systrace_are_told_from_others():
    text = (
        b"# tracer: nop\n\n"
        b"     a-b [c]-12 (  77) [003] d..3 50260.647590: sched_wakeup: comm=x\n"
        b"what is this?\n"
        b"<idle>-0     [000]  0.002188: task_newtask: pid=1"
    )
    scanner = scan(text, lines=True)
    assert (scanner.n_lines, scanner.n_strange_lines, scanner.fault) == (2, 1, 0)
    inside = b'{"traceEvents":"' + text.replace(b"\n", b"\\n") + b'"}'
    for chunk in (1, 1000):
        scanner = scan(inside, chunk)
        assert (scanner.n_lines, scanner.n_strange_lines, scanner.fault) == (2, 1, 0)
