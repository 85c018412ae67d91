"""`tracetime open`: one file, for the Perfetto UI alone, until it has been fetched."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from urllib.parse import parse_qs, urlsplit

import pytest
from building import event, pb, trace
from samples import CLOCK_SYNC, SLICES, UNRESOLVED

from tracetime import UsageError
from tracetime.verbs import serve
from tracetime.verbs.serve import PORT, UI, serving

pytest_plugins = ["cli"]

NAMES = (
    "t.pftrace",
    "a b+c#d?e&f=g%2e.pftrace",
    "..%2f..%2fetc%2fpasswd",
    "'\"><script>alert(1)<!--é漢",
    "\x1b[2J\n",
    b"\xff\xfe".decode(errors="surrogateescape"),
)


def as_the_ui_does(link):
    """The url that ui/src/core/router.ts takes from a link."""
    address = urlsplit(link)
    assert address.fragment.startswith("!/?")
    (url,) = parse_qs(address.fragment.removeprefix("!/?"), strict_parsing=True)["url"]
    return url


def ask(url, method="GET", path=None, **headers):
    """(status, headers, body) of one request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
    try:
        connection.putrequest(method, path or parts.path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


@pytest.fixture
def served(write):
    with serving(write(CLOCK_SYNC), port=0) as served:
        yield served


def test_the_link_is_the_one_that_the_ui_documents(write):
    assert (UI, PORT) == ("https://ui.perfetto.dev", 9001)
    with serving(write(CLOCK_SYNC), port=0) as served:
        port = urlsplit(served.url).port
        token = urlsplit(served.url).path.split("/")[1]
        assert served.url == f"http://127.0.0.1:{port}/{token}/t.pftrace"
        assert served.link == f"{UI}/#!/?url={served.url}"


@pytest.mark.parametrize("name", NAMES)
def test_whatever_its_name_the_ui_gets_the_file(write, tmp_path, name):
    (tmp_path / name).write_bytes(CLOCK_SYNC)
    with serving(tmp_path / name, port=0) as served:
        assert served.link.isascii() and served.link.isprintable() and " " not in served.link
        url = as_the_ui_does(served.link)
        assert url == served.url
        status, headers, body = ask(url, Origin=UI)
        assert (status, body) == (200, CLOCK_SYNC)
        assert headers["Access-Control-Allow-Origin"] == UI
        assert headers["Content-Length"] == str(len(CLOCK_SYNC))
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert served.wait(600)


@pytest.mark.parametrize(
    "path",
    ["/", "/other", "/t.pftrace/", "/./t.pftrace", "/x/../t.pftrace", "/../t.pftrace",
     "/..%2ft.pftrace", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "/secret", "/status", "t.pftrace",
     "http://127.0.0.1/t.pftrace"],
)  # fmt: skip
def test_nothing_else_is_served(served, tmp_path, path):
    (tmp_path / "secret").write_text("secret")
    for method in ("GET", "HEAD", "OPTIONS", "POST"):
        status, _, body = ask(served.url, method, path)
        assert status == 404
        assert b"secret" not in body
    assert not served.wait(0)


def test_the_path_cannot_be_guessed(write):
    path = write(CLOCK_SYNC)
    tokens = set()
    for _ in range(3):
        with serving(path, port=0) as served:
            _, token, name = urlsplit(served.url).path.split("/")
            assert name == "t.pftrace"
            assert len(token) >= 22  # 128 bits
            tokens.add(token)
            for guess in (
                "/t.pftrace",
                f"/{token[:-1]}/t.pftrace",
                f"/{'A' * len(token)}/t.pftrace",
            ):
                assert ask(served.url, "GET", guess)[0] == 404
            assert ask(served.url, "GET", f"/{token}/")[0] == 404
            assert ask(served.url, "GET", f"/{token}")[0] == 404
            assert not served.wait(0)
    assert len(tokens) == 3


def test_another_name_of_this_machine_gets_nothing(served):
    port = urlsplit(served.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", ""):
        assert ask(served.url, Host=host)[0] == 404
    assert ask(served.url, Host=f"localhost:{port}")[0] == 200


def test_a_fetch_by_another_page_is_refused_and_does_not_end_the_serving(served):
    for method in ("OPTIONS", "HEAD", "GET"):
        status, _, body = ask(served.url, method, Origin="https://elsewhere.example")
        assert status == 404
        assert body != CLOCK_SYNC
    assert not served.wait(0.1)
    assert ask(served.url, Origin=UI)[2] == CLOCK_SYNC
    assert served.wait(600)


def test_the_ui_asks_for_a_trace_processor_first(served):
    # ui/src/trace_processor/http_rpc_engine.ts: anything but 200 says that there is none.
    status, headers, _ = ask(served.url, "POST", "/status", Origin=UI, Content_Length="0")
    assert status == 404
    assert headers["Access-Control-Allow-Origin"] == UI
    assert ask(served.url, "PUT")[0] == 501


def test_a_preflight_is_answered(served):
    status, headers, body = ask(
        served.url, "OPTIONS", Origin=UI, Access_Control_Request_Private_Network="true"
    )
    assert (status, body) == (204, b"")
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert headers["Access-Control-Allow-Origin"] == UI
    assert not served.wait(0)


def test_head_is_get_without_the_file(served):
    status, headers, body = ask(served.url, "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(CLOCK_SYNC)))
    assert headers["Accept-Ranges"] == "bytes"
    assert not served.wait(0)


N = len(CLOCK_SYNC)


@pytest.mark.parametrize(
    ("requested", "status", "first", "last"),
    [
        ("bytes=0-9", 206, 0, 9),
        ("bytes=5-5", 206, 5, 5),
        ("bytes=10-", 206, 10, N - 1),
        ("bytes=-7", 206, N - 7, N - 1),
        (f"bytes=-{N + 5}", 206, 0, N - 1),
        (f"bytes=10-{N + 5}", 206, 10, N - 1),
        (f"bytes={N}-", 416, 0, -1),
        ("bytes=-0", 416, 0, -1),
        ("bytes=9-5", 200, 0, N - 1),
        ("bytes=0-1,4-5", 200, 0, N - 1),
        ("bytes=-", 200, 0, N - 1),
        ("bytes=" + "9" * 40 + "-", 200, 0, N - 1),
        ("lines=1-2", 200, 0, N - 1),
    ],
)
def test_ranges(served, requested, status, first, last):
    got, headers, body = ask(served.url, Range=requested)
    assert (got, body) == (status, CLOCK_SYNC[first : last + 1])
    if status == 206:
        assert headers["Content-Range"] == f"bytes {first}-{last}/{N}"
    if status == 416:
        assert headers["Content-Range"] == f"bytes */{N}"
    assert served.wait(30 if len(body) == N else 0) == (len(body) == N)


@pytest.mark.parametrize(
    ("requested", "first", "last"),
    [
        ("", 0, N + 4),
        (f"bytes={N - 3}-{N + 1}", N - 3, N + 1),
        (f"bytes={N}-", N, N + 4),
        (f"bytes={N + 2}-{N + 3}", N + 2, N + 3),
        (f"bytes=0-{N - 1}", 0, N - 1),
        ("bytes=-7", N - 2, N + 4),
        (f"bytes=0-{N + 99}", 0, N + 4),
    ],
)
def test_what_is_appended_follows_the_file(write, requested, first, last):
    content = CLOCK_SYNC + b"12345"
    with serving(write(CLOCK_SYNC), inserted=[(N, b"12345")], port=0) as served:
        status, headers, body = ask(served.url, Range=requested)
        assert (status, body) == (206 if requested else 200, content[first : last + 1])
        assert headers["Content-Length"] == str(len(body))
        assert served.wait(10 if body == content else 0) == (body == content)


def test_what_is_inserted_stands_between_the_bytes_of_the_file(write):
    inserted = [(0, b"first"), (50, b"12345"), (50, b""), (60, b"678")]
    file = CLOCK_SYNC[:100]
    content = b"first" + file[:50] + b"12345" + file[50:60] + b"678" + file[60:]
    with serving(write(CLOCK_SYNC), inserted=inserted, end=100, port=0) as served:
        assert ask(served.url)[2] == content
        for first in range(len(content)):
            for last in (first, first + 7, first + 30):
                body = ask(served.url, Range=f"bytes={first}-{last}")[2]
                assert body == content[first : last + 1]


def test_what_was_opened_is_served_whatever_is_there_later(write, tmp_path):
    path = write(CLOCK_SYNC)
    with serving(path, port=0) as served:
        (tmp_path / "t.pftrace").unlink()
        (tmp_path / "t.pftrace").symlink_to("/etc/passwd")
        assert ask(served.url)[2] == CLOCK_SYNC


def test_a_fetch_that_breaks_off_does_not_count(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    with serving(path, port=0) as served:
        parts = urlsplit(served.url)
        with socket.create_connection((parts.hostname, parts.port)) as client:
            client.sendall(f"GET {parts.path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
            assert client.recv(100)
        assert not served.wait(0.5)
        assert len(ask(served.url)[2]) == 64 << 20
        assert served.wait(600)


def test_a_port_in_use_is_reported(write):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is in use"):
            with serving(write(CLOCK_SYNC), port=port):
                pass


@pytest.mark.parametrize(
    "ui", ["", "ui.perfetto.dev", "javascript:alert(1)", "https://", "https://x\r\nA: b"]
)
def test_no_ui(write, ui):
    with pytest.raises(UsageError, match="UI"):
        with serving(write(CLOCK_SYNC), ui=ui, port=0):
            pass


def test_another_ui(write):
    with serving(write(CLOCK_SYNC), ui="http://localhost:10000/v50/", port=0) as served:
        assert served.link.startswith("http://localhost:10000/v50/#!/?url=http://127.0.0.1:")
        assert ask(served.url)[1]["Access-Control-Allow-Origin"] == "http://localhost:10000"


# The command


@pytest.fixture
def browser(monkeypatch):
    """A browser that fetches what a link says, on any free port; called, it gives what it got."""
    got = []
    threads = []

    def open_new_tab(link):
        threads.append(threading.Thread(target=lambda: got.append(ask(as_the_ui_does(link))[2])))
        threads[-1].start()
        return True

    monkeypatch.setattr(serve, "PORT", 0)
    monkeypatch.setattr(webbrowser, "open_new_tab", open_new_tab)

    def fetched():
        for thread in threads:
            thread.join()
        return got

    yield fetched
    fetched()


def test_open_ends_when_the_trace_was_fetched(tracetime, write, browser):
    code, text, err = tracetime("open", write(CLOCK_SYNC))
    assert (code, err) == (0, "")
    link, fetched = text.splitlines()
    assert link.startswith(f"{UI}/#!/?url=http://127.0.0.1:")
    assert fetched == "The UI has fetched the trace."
    code, text, _ = tracetime("open", write(CLOCK_SYNC, "b c"), "--json")
    assert code == 0
    assert json.loads(text)["link"].endswith("/b%2520c")
    assert browser() == [CLOCK_SYNC] * 2


def test_open_without_a_browser(tracetime, write, monkeypatch):
    monkeypatch.setattr(serve, "PORT", 0)
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda link: pytest.fail("opened"))
    code, text, err = tracetime("open", write(CLOCK_SYNC), "--no-browser", "--timeout", "0.1")
    assert (code, len(text.splitlines())) == (1, 1)
    assert err == "the UI did not fetch the trace within 0.1 s\n"
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda link: False)
    err = tracetime("open", write(CLOCK_SYNC), "--timeout", "0.1")[2]
    assert "open the link above" in err


def test_open_refuses_what_is_no_file(tracetime, write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for path, message in (
        (tmp_path / "none", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "pipe", "it is not a file"),
        (tmp_path / "empty", "it is empty"),
    ):
        code, text, err = tracetime("open", path, "--no-browser")
        assert (code, text) == (2, "")
        assert message in err
    assert tracetime("open", tmp_path / "empty", "--timeout", "0")[0] == 2


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")],
)
def test_a_signal_ends_it(write, number, code, said):
    # In a process of its own, with a port that nobody else has.
    program = (
        "import sys, tracetime.verbs.serve as s, tracetime.commands as c; s.PORT = 0; c.main()"
    )
    command = [sys.executable, "-c", program, "open", write(CLOCK_SYNC), "--no-browser"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as child:
        assert child.stdout.readline().startswith(b"https://ui.perfetto.dev/")
        child.send_signal(number)
        err = child.stderr.read()
    assert (child.returncode, err.strip()) == (code, b"tracetime: " + said)


# Error tracks


def served_with_tracks(tracetime, path, browser, *options):
    """(output, what the UI got after the file)."""
    content = path.read_bytes()
    code, text, err = tracetime("open", path, "--tube", *options)
    assert (code, err) == (0, "")
    assert path.read_bytes() == content
    got = browser()[-1]
    assert got[: len(content)] == content
    return text, got[len(content) :]


def test_open_with_the_tube_adds_tracks_to_what_is_served(tracetime, written, browser):
    path = written([CLOCK_SYNC])
    text, added = served_with_tracks(tracetime, path, browser)
    names = [p.track_descriptor.name for p in pb.Trace.FromString(added).packet]
    assert list(filter(None, names)) == [
        "tracetime",
        "tracetime: error of 64@seq7 (ns)",
        "tracetime: error of MONOTONIC (ns)",
        "tracetime: shift of MONOTONIC (ns)",
    ]
    lines = text.splitlines()
    assert lines[0] == "How far off events can be in the UI: tracks in the group tracetime"
    assert lines[1].split() == ["clock", "events", "at", "most", "drawn", "late", "by"]
    assert [line.split()[:2] for line in lines[2:4]] == [["64@seq7", "1"], ["MONOTONIC", "1"]]
    assert lines[-2].startswith(f"{UI}/#!/?url=http://127.0.0.1:")


def test_open_with_the_tube_as_json(tracetime, written, browser):
    content = CLOCK_SYNC + trace(event(2, 777))
    text, _ = served_with_tracks(tracetime, written([content]), browser, "--json")
    errors = json.loads(text)["errors"]
    assert [(c["clock"], c["events"], c["track"]) for c in errors["clocks"]] == [
        ("64@seq7", 1, True),
        ("MONOTONIC", 1, True),
    ]
    assert errors["clocks"][1]["error_ns"] >= 1000
    assert errors["clocks"][1]["shift_ns"] == {"least": -167, "greatest": -167}
    assert errors["without_error"] == [
        {
            "clock": "777",
            "name": "777",
            "events": 1,
            "drawn": False,
            "reason": "unknown_source_clock",
        }
    ]
    assert json.loads(tracetime("open", written([content]), "--json")[1])["errors"] is None


def test_open_names_clocks_without_an_error(tracetime, written, browser):
    text, added = served_with_tracks(tracetime, written([UNRESOLVED]), browser)
    named = "not drawn: 1 event in MONOTONIC (non_monotonic_source), 1 event in 777"
    assert text.startswith(named)
    assert added == b""


def test_open_says_so_where_nothing_can_be_off(tracetime, written, browser):
    text, added = served_with_tracks(tracetime, written([SLICES]), browser)
    assert text.startswith("All events are in trace time already: no tracks are added.\n")
    assert added == b""


def test_limits_of_clocks_are_used(tracetime, written, browser):
    options = ("--assume-half-width", "MONOTONIC=1ms", "--clock-name", "MONOTONIC=mine")
    text, added = served_with_tracks(tracetime, written([CLOCK_SYNC]), browser, *options)
    assert "1 ms" in text
    assert b"tracetime: error of mine (ns)" in added


def test_what_is_for_error_bars_needs_the_tube(tracetime, write):
    code, _, err = tracetime("open", write(CLOCK_SYNC), "--assume-half-width", "MONOTONIC=1ms")
    assert code == 2
    assert "give --tube, too" in err


def test_a_trace_that_is_cut_off_is_served_as_far_as_it_was_read(tracetime, write, browser):
    code, _, err = tracetime("open", write(CLOCK_SYNC[:-3]), "--tube", "--partial")
    assert (code, err) == (0, "")
    got = pb.Trace.FromString(browser()[-1]).packet
    whole = pb.Trace.FromString(CLOCK_SYNC).packet
    n = len(whole) - 1
    assert got[:n] == whole[:n]
    assert got[n].trusted_packet_sequence_id == (1 << 32) - 1


@pytest.mark.parametrize("content", [CLOCK_SYNC[:-3], b"{}", b"PK\x03\x04" + bytes(100)])
def test_a_broken_trace_gets_no_tracks(tracetime, write, content):
    code, text, err = tracetime("open", write(content), "--tube", "--no-browser")
    assert (code, text) == (3, "")
    assert err.startswith("tracetime: error: ")
    assert "without --tube it is opened as it is" in err
    assert ("(byte" in err) != content.startswith(b"PK"), "a zip has no place that is damaged"
