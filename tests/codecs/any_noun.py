"""Any value of a type hint of the model, for properties that hold for all of them."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from eosctl.codecs.snapshot import IN_LINES
from eosctl.model.versions import KafkaVersion

TEXT = st.text(max_size=4) | st.just("skipped")
SCALARS = {
    str: TEXT,
    int: st.integers(-(1 << 70), 1 << 70),
    bool: st.booleans(),
    type(None): st.none(),
    bytes: st.binary(max_size=4),
    object: st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2),
    KafkaVersion: st.builds(KafkaVersion, *[st.integers(0, 99)] * 3),
}


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Anything that the type hint allows; the fields of lines of their own are as after decoding."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in {Union, UnionType}:
        return st.one_of(*map(values_of, arguments))
    if origin in {tuple, frozenset}:
        return st.lists(values_of(arguments[0]), max_size=3).map(origin)
    if origin is Mapping:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    apart = IN_LINES.get(hint, {})
    fields = {name: values_of(each) for name, each in get_type_hints(hint).items() if name not in apart}
    return st.builds(hint, **fields, **{name: st.just(each) for name, each in apart.items()})
