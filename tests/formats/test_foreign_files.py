"""Files that are not read, and what the error tells to do with them."""

import pytest

from tracetime import TraceError, open_trace


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(TraceError) as raised, open_trace(path) as trace:
        trace.read_all(names=True)
    return raised.value


def test_a_native_journal_is_told(tmp_path):
    error = refused(tmp_path / "system.journal", b"LPKSHHRH" + bytes(300))
    assert "journalctl -o export --file FILE" in error.message


HEAD = b"clock,timestamp,name\n"
ROW = b"REALTIME,1790000000000000123,a\n"


@pytest.mark.parametrize("rows", [0, 3, 100_000])
def test_a_csv_in_latin_1_is_told_with_its_line_and_byte(tmp_path, rows):
    bad = "REALTIME,1790000000000000456,Stra\xdfe\n".encode("latin-1")
    content = HEAD + rows * ROW + bad
    error = refused(tmp_path / "t.csv", content)
    assert f"line {rows + 2} is no UTF-8: save it as UTF-8" in error.message
    assert "iconv -f CP1252 -t UTF-8" in error.message
    assert error.offset == content.index(b"\xdf")


def test_a_csv_whose_header_is_in_latin_1_is_told(tmp_path):
    error = refused(tmp_path / "t.csv", "clock,timestamp,Gr\xf6\xdfe\n".encode("latin-1") + ROW)
    assert "text that is no UTF-8, perhaps CSV" in error.message
    assert "iconv" in error.message
    assert "no UTF-8" not in refused(tmp_path / "b", b"\x01,\xff,\x00,\n").message
