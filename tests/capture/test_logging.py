"""`tracetime.logging.Handler`: log messages as events."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Live

import tracetime as tt
from tracetime import Recorder, open_trace
from tracetime.logging import Handler


@pytest.fixture
def rec(tmp_path: Path) -> Iterator[Recorder]:
    with tt.record(tmp_path / "out.pftrace", interval=None, sampler=Live()) as recorder:
        yield recorder


@pytest.fixture
def logger(rec: Recorder) -> Iterator[logging.Logger]:
    made = logging.getLogger("app.store")
    made.propagate = False
    made.setLevel(logging.DEBUG)
    handler = Handler(rec, logging.INFO)
    made.addHandler(handler)
    yield made
    made.removeHandler(handler)


def rows(rec: Recorder) -> list[dict[str, Any]]:
    rec.close()
    with open_trace(rec.path) as trace:
        return trace.read_all(names=True).to_pylist()


def test_messages_are_instants_of_the_thread(rec, logger):
    with rec.span("load"):
        logger.debug("left out")
        logger.info("%d rows of %s", 5, "a.txt")
        logger.info("%d rows of %s", 6, "b.txt")
    _, first, second, _ = rows(rec)
    assert first["name"] == second["name"] == "%d rows of %s"
    assert first["category"] == "app.store"
    assert first["thread_name"] == "MainThread"
    args = json.loads(first["args"])
    assert (args["message"], args["level"]) == ("5 rows of a.txt", "INFO")
    assert args["file"] == __file__ and isinstance(args["line"], int)
    assert json.loads(second["args"])["message"] == "6 rows of b.txt"


def test_an_exception_is_there_by_its_type(rec, logger):
    try:
        json.loads("{")
    except ValueError:
        logger.exception("broken")
    (row,) = rows(rec)
    assert json.loads(row["args"])["exception"] == "json.decoder.JSONDecodeError"


def test_messages_that_are_no_plain_text(rec, logger):
    logger.info(ValueError("an object"))
    logger.info("half \ud800")
    logger.info("long " * 20_000)
    first, second, third = rows(rec)
    assert (first["name"], second["name"]) == ("an object", "half ?")
    assert third["name"] == "long " * 200


def test_a_message_that_cannot_be_made_is_reported_as_logging_does(rec, capsys):
    record = logging.makeLogRecord({"msg": "%d", "args": ("no number",)})
    Handler(rec).handle(record)
    assert "Logging error" in capsys.readouterr().err
    assert rows(rec) == []


def test_messages_after_the_end_are_left_out(rec, logger, capsys):
    rec.close()
    logger.info("too late")
    assert capsys.readouterr().err == ""
    assert rows(rec) == []
