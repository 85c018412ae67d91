"""The exception tree and the reason strings, as api.md names them."""

import pickle

import pytest

from tracetime import errors
from tracetime.errors import (
    REASONS,
    ConversionError,
    SourceError,
    TraceError,
    TracetimeError,
    UsageError,
)


def test_reasons_are_those_of_the_interface_in_the_kernels_order():
    assert REASONS == (
        "resolved",
        "as_is",
        "unknown_source_clock",
        "unknown_target_clock",
        "no_path",
        "non_monotonic_source",
        "ambiguous_source",
        "overflow",
        "skipped_incremental_state",
        "one_sided",
    )


def test_each_reason_has_its_code():
    assert [getattr(errors, reason.upper()) for reason in REASONS] == list(range(len(REASONS)))


@pytest.mark.parametrize("kind", [UsageError, TraceError, ConversionError, SourceError])
def test_every_error_is_a_tracetime_error(kind):
    assert issubclass(kind, TracetimeError)
    assert kind.__bases__ == (TracetimeError,)


@pytest.mark.parametrize(
    ("offset", "packet", "text"),
    [
        (None, None, "cut off"),
        (12, None, "cut off (byte 12)"),
        (None, 0, "cut off (packet 0)"),
        (0, 3, "cut off (byte 0, packet 3)"),
    ],
)
def test_trace_error_says_where(offset, packet, text):
    error = TraceError("cut off", offset, packet)
    assert str(error) == text
    assert (error.offset, error.packet) == (offset, packet)


def test_conversion_error_carries_its_reason():
    error = ConversionError("no way from A to B", "no_path")
    assert error.reason == "no_path"
    assert str(error) == "no way from A to B"


def test_conversion_error_takes_no_reason_of_its_own_making():
    with pytest.raises(ValueError, match="not a reason string"):
        ConversionError("x", "because")


@pytest.mark.parametrize(
    "error", [TraceError("m", 1, 2), ConversionError("m", "overflow"), UsageError("m")]
)
def test_errors_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
