"""Every pattern that is compiled late can be, and then is one of Python's."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import eosctl
from eosctl.late_pattern import LatePattern, late_pattern

PACKAGE = Path(eosctl.__file__).parent


def late_in(value):
    """The late patterns in the global of a module."""
    if isinstance(value, LatePattern):
        return [value]
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return [each for part in value for each in late_in(part)] if isinstance(value, (list, tuple)) else []


USERS = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if " = late_pattern(" in path.read_text()
]


@pytest.mark.parametrize("module", USERS)
def test_the_patterns_of_a_module_can_be_compiled(module):
    found = late_in(list(vars(import_module(module)).values()))
    assert found
    for each in found:
        assert re.compile(each.pattern, each.flags).groupindex == each.groupindex


def test_a_late_pattern_answers_as_the_compiled_one():
    late, compiled = late_pattern(r"(?P<word>b)c", re.IGNORECASE), re.compile(r"(?P<word>b)c", re.IGNORECASE)
    assert late.sub("x", "aBCd") == compiled.sub("x", "aBCd") == "axd"
    assert late.fullmatch("bc")["word"] == "b"
    assert [each[0] for each in late.finditer("bcBC")] == ["bc", "BC"]
    assert not hasattr(late, "__deepcopy__")
