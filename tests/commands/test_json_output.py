"""What commands print with --json is as the schemas say, and the schemas allow nothing else."""

import copy
import json

import pytest
from json_output import fault, fits, validator
from json_samples import every_sample

# The samples of all commands take half a minute. What other tests of commands print is checked, too
# (`helpers/cli.py`).
pytestmark = pytest.mark.sweep

NAMES = (
    "overview",
    "convert",
    "clocks",
    "at",
    "bake",
    "merge",
    "split",
    "doctor",
    "report",
    "fleet",
    "sql",
    "open",
    "record",
    "calibrate",
    "watch",
    "error",
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return every_sample(tmp_path_factory.mktemp("json"))


def test_every_schema_has_samples(samples):
    assert set(samples) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_fits_its_schema(samples, name):
    for value in samples[name]:
        assert fault(name, value) is None


# Everything that a schema describes is printed


def declared(schema, place):
    """Every key of a schema and whether it may be null: (place, "value" or "null")."""
    if "anyOf" in schema:
        found = [part for part in schema["anyOf"] if part != {"type": "null"}]
        assert len(found) == 1
        yield place, "null"
        yield place, "value"
        return
    if "oneOf" in schema:
        for part in schema["oneOf"]:
            yield from declared(part, f"{place}<{part['title']}>")
        return
    yield place, "value"
    if isinstance(schema.get("type"), list):
        yield place, "null"
    for key, part in schema.get("properties", {}).items():
        yield from declared(part, f"{place}.{key}")
    if schema.get("additionalProperties"):
        yield from declared(schema["additionalProperties"], f"{place}.*")
    if "items" in schema:
        yield from declared(schema["items"], f"{place}[]")


def seen(schema, value, place, root):
    """The same of a value: what it has of that."""
    if "anyOf" in schema:
        yield place, "null" if value is None else "value"
        if value is not None:
            yield from seen(schema["anyOf"][0], value, place, root)
    elif "oneOf" in schema:
        for part in schema["oneOf"]:
            if fits(part, value, root):
                yield from seen(part, value, f"{place}<{part['title']}>", root)
    elif "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield place, "value"
        yield from seen(root["$defs"][name], value, name, root)
    else:
        yield place, "null" if value is None else "value"
        if isinstance(value, dict):
            names = schema.get("propertyNames", {})
            for key, part in value.items():
                yield from seen(names, key, place, root) if "$ref" in names else ()
                known = key in schema.get("properties", {})
                if known or schema.get("additionalProperties"):
                    within = schema["properties"][key] if known else schema["additionalProperties"]
                    yield from seen(within, part, f"{place}.{key if known else '*'}", root)
        elif isinstance(value, list):
            for part in value:
                yield from seen(schema["items"], part, f"{place}[]", root)


def test_every_key_is_printed_and_null_where_it_may_be(samples):
    expected, found = set(), set()
    for name in NAMES:
        root = validator(name).schema
        expected.update(declared(root, f"${name}"))
        for shape, part in root.get("$defs", {}).items():
            expected.update(declared(part, shape))
        for value in samples[name]:
            found.update(seen(root, value, f"${name}", root))
    missing = expected - found
    assert not missing, sorted(missing)


# Nothing else fits


OTHERS = {str: 7, bool: "yes", int: 0.5, float: "0.5", list: {}, dict: []}
"""For a value of a type one of another type."""

WORDS = {
    "policy", "bars", "basis", "value_unit", "unit", "src_unit", "dst_unit", "scope", "status",
    "reason", "code", "severity", "extrapolated", "promise", "trace_clock", "src", "dst", "from",
    "to", "value_utc", "result_utc", "before", "after", "where",
}  # fmt: skip
"""Keys of strings that not every string can be."""

TIMES = {
    "first_ns", "last_ns", "value", "result", "earliest", "latest", "estimate", "snapshot_src_ns",
    "snapshot_dst_ns", "value_ns_before", "value_ns_after", "at_ns", "offset_ns", "worst_ns",
    "timestamp", "trace_time", "off_ns", "least", "greatest", "before_ts", "after_ts", "away_ns",
    "time_ns", "least_ns", "most_ns", "from_ns", "to_ns", "pid", "int_value", "at",
}  # fmt: skip
"""Keys of numbers that may be below 0: of 64 bits."""


def changed(value, place=()):
    """Yield what a value could wrongly be, and where: ways that the schemas must refuse."""
    if value is not None:
        yield place, OTHERS[type(value)]
    if type(value) is int:
        yield place, str(value)
        yield from ((place, put) for put in _not_that_number(place[-1]))
    if isinstance(value, str) and (place[-1] in WORDS and not _is_prose(place)):
        yield place, "no such word"
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*place, key), KeyError
            yield from changed(part, (*place, key))
        yield (*place, "an extra key"), 7
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from changed(part, (*place, number))


def _not_that_number(key):
    return (2**63, -(2**63) - 1) if key in TIMES else (-1,)


def _is_prose(place):
    """Whether a key that is a word elsewhere is text here: why a clock cannot be read, or is one."""
    return place[-1] == "reason" and place[0] in ("unavailable", "failed", "boots")


def with_change(value, place, put):
    if not place:
        return put
    made = copy.deepcopy(value)
    within = made
    for step in place[:-1]:
        within = within[step]
    if put is KeyError:
        del within[place[-1]]
    else:
        within[place[-1]] = put
    return made


def pattern(place):
    return ".".join("[]" if isinstance(step, int) else step for step in place)


ABSENT = {
    "at": {"value_utc", "result_utc"},
    "doctor": {"traces.[].events"},
    "calibrate": {"findings", "clocks.[].note", "clocks.[].time_domains"},
}
"""Keys that are not always there."""


def is_allowed(name, place, put):
    """Whether a change gives what a command could print, too."""
    within = pattern(place[:-1])
    if (name, within) == ("record", "floor_error_ns"):  # its keys are data
        return put is KeyError or place[-1] == "an extra key"
    if (name, within) in (
        ("convert", "kinds.[].statuses"),
        ("convert", "columns.[].statuses"),
        ("bake", "left_out_by"),
        ("merge", "written.files.[].left_out_by"),
    ):
        return put is KeyError
    return put is KeyError and pattern(place) in ABSENT.get(name, ())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sql"])
def test_no_key_may_be_missing_or_added_or_of_another_value(samples, name):
    tried = set()
    for value in sorted(samples[name], key=lambda value: len(str(value))):
        for place, put in changed(value):
            # Each alternative of a shape has keys of its own.
            alike = name, tuple(value), pattern(place), str(put)
            if alike in tried or is_allowed(name, place, put):
                continue
            tried.add(alike)
            # Any fault will do: which one is best takes long to say.
            changed_so = with_change(value, place, put)
            assert not validator(name).is_valid(changed_so), f"{place} may be {put}"
    assert len(tried) >= 8


def test_rows_of_sql_are_objects():
    assert fault("sql", [{"n": 1}, {"any": None}]) is None
    for value in ({}, [1], [[]], None, "rows"):
        assert fault("sql", value)


def test_times_are_whole_and_of_64_bits(samples):
    value = next(v for v in samples["at"] if v["policy"] == "floor")
    for put in (2**63, -(2**63) - 1, 1.0, "5", True):
        assert fault("at", value | {"result": put}), put
    assert json.loads(json.dumps(value | {"result": 2**63 - 1}))["result"] == 2**63 - 1
    assert fault("at", value | {"result": 2**63 - 1}) is None


WRONG = [
    ("convert", "trace_clock", "64@seq"),
    ("convert", "kinds.[].statuses", {"lost": 1}),
    ("convert", "columns.[].statuses", {"lost": 1}),
    ("convert", "reasons.[].reason", "resolved"),
    ("at", "value_utc", "2026-08-22 14:48"),
    ("at", "steps.[].half_width_ns", -0.5),
    ("at", "steps.[].drift_ppm", -0.5),
    ("at", "steps.[].wander_ppm", -0.5),
    ("doctor", "schema", 2),
    ("doctor", "traces", []),
    ("doctor", "traces.[].findings.[].clocks", ["no clock"]),
    ("doctor", "traces.[].findings.[].packets", [-1]),
    ("report", "findings.[].clocks", ["no clock"]),
    ("open", "errors.clocks.[].clock", "no clock"),
    ("record", "problems.[].times", 0),
    ("calibrate", "clocks", []),
    ("calibrate", "findings", []),
    ("calibrate", "clocks.[].tick_ns", -1.0),
    ("calibrate", "clocks.[].time_domains", []),
    ("calibrate", "checked", []),
    ("calibrate", "checked.[].promises", []),
    ("error", "schema", 0),
]
"""Values of the right type that no command prints."""


@pytest.mark.parametrize(("name", "place", "put"), WRONG)
def test_values_that_no_command_prints_are_refused(samples, name, place, put):
    found = [
        (value, at) for value in samples[name] for at, _ in changed(value) if pattern(at) == place
    ]
    assert found
    value, at = found[0]
    assert fault(name, with_change(value, at, put))
