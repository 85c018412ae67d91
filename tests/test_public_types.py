"""Public signatures are typed to the end, and what they return is in the reference."""

import ast
import inspect
import re
from importlib import import_module
from typing import ForwardRef

from places import ROOT

import tracetime

REFERENCE = (ROOT / "docs" / "reference" / "python.md").read_text()
# Of arrays of NumPy's: whose dtype may be any.
ANY_MAY_STAND_IN = {"NDArray", "integer"}


def members(thing):
    """(name, value) for what a class has, of its own and of the classes of tracetime below it."""
    own = [one for one in thing.__mro__ if one.__module__.startswith("tracetime")]
    return {key: value for one in reversed(own) for key, value in vars(one).items()}.items()


def functions(name):
    """(what it is called, function) for a public function, or all that a public class has."""
    thing = getattr(tracetime, name)
    if inspect.isfunction(thing):
        yield name, thing
    if inspect.isclass(thing):
        for key, value in members(thing):
            if isinstance(value, property):
                value = value.fget
            value = getattr(value, "__func__", value)
            ours = inspect.isfunction(value) and value.__module__.startswith("tracetime")
            if ours and (not key.startswith("_") or key in ("__init__", "__enter__", "__iter__")):
                yield f"{name}.{key}", value


def annotations(function):
    """(parameter or "return", annotation as written)."""
    signature = inspect.signature(function)
    for parameter in list(signature.parameters.values()):
        if parameter.name not in ("self", "cls"):
            yield parameter.name, parameter.annotation
    yield "return", signature.return_annotation


SIGNATURES = [
    (called, function.__module__, what, text)
    for name in tracetime.__all__
    for called, function in functions(name)
    for what, text in annotations(function)
    # A generated __init__ is annotated with None itself.
    if text is not None
]
FIELDS = [
    (f"{name}.{what}", thing.__module__, "return", text)
    for name in tracetime.__all__
    if isinstance(thing := getattr(tracetime, name), type)
    for what, text in vars(thing).get("__annotations__", {}).items()
    if not what.startswith("_")
]


def written(text):
    return text.__forward_arg__ if isinstance(text, ForwardRef) else text


def anys(node, inside=""):
    """The types in whose brackets `Any` is."""
    if isinstance(node, ast.Subscript):
        yield from anys(node.slice, ast.unparse(node.value).rpartition(".")[2])
    elif isinstance(node, ast.Name) and node.id == "Any":
        yield inside
    else:
        for child in ast.iter_child_nodes(node):
            yield from anys(child, inside)


def test_there_are_signatures_to_look_at():
    assert len(SIGNATURES) > 200
    assert len(FIELDS) > 100
    assert list(anys(ast.parse("dict[str, Any] | npt.NDArray[Any] | Any"))) == [
        "dict",
        "NDArray",
        "",
    ]


def test_no_signature_says_any():
    for called, _, what, text in SIGNATURES + FIELDS:
        assert isinstance(written(text), str), f"{called}: {what} has no type"
        wrong = set(anys(ast.parse(written(text)))) - ANY_MAY_STAND_IN
        assert not wrong, f"{called}: {what} is {written(text)}"


def test_classes_that_are_returned_stand_in_the_reference():
    described = {
        place.rpartition(".")[2] for place in re.findall(r"^::: ([\w.]+)$", REFERENCE, re.M)
    }
    for called, module, what, text in SIGNATURES + FIELDS:
        if what == "return":
            for name in {
                n.id for n in ast.walk(ast.parse(written(text))) if isinstance(n, ast.Name)
            }:
                thing = getattr(import_module(module), name, None)
                ours = getattr(thing, "__module__", "").startswith("tracetime")
                known = not (isinstance(thing, type) and ours) or name in described
                assert known, f"{called} returns {name}, which docs/reference/python.md has not"
