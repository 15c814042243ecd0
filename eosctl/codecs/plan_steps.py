"""Steps and preconditions as JSON objects and back: one entry in a table for each kind.

An object has `kind`, the name in the table, and one member for each field of the dataclass. Field types: text, whole
number, Side and the words of ACLs, list of texts or of ACL bindings, object of texts (null where a setting is taken
away), and bytes, which are base64.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum, StrEnum
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from eosctl.codecs.json_fields import JsonFields
from eosctl.errors import Undecodable
from eosctl.model import plan
from eosctl.model.acls import AclBinding, Operation, PatternType, Permission, ResourcePattern, ResourceType

T = TypeVar("T")

STEPS: Final[Mapping[str, type]] = {
    "stop-connector": plan.StopConnector,
    "fence-producers": plan.FenceProducers,
    "create-topic": plan.CreateTopic,
    "write-offsets": plan.WriteOffsets,
    "verify-offsets": plan.VerifyOffsets,
    "set-connector-config": plan.SetConnectorConfig,
    "resume-connector": plan.ResumeConnector,
    "abort-transaction": plan.AbortTransaction,
    "create-acls": plan.CreateAcls,
    "delete-acls": plan.DeleteAcls,
    "manual-step": plan.ManualStep,
}
"""Every kind of step by the name it has in files and in output."""

PRECONDITIONS: Final[Mapping[str, type]] = {
    "cluster-is": plan.ClusterIs,
    "connector-stopped": plan.ConnectorStopped,
    "topic-is-compact": plan.TopicIsCompact,
    "topic-is-compact-or-absent": plan.TopicIsCompactOrAbsent,
    "offsets-unchanged": plan.OffsetsUnchanged,
    "no-open-transaction": plan.NoOpenTransaction,
    "transaction-hangs": plan.TransactionHangs,
    "acls-present": plan.AclsPresent,
}
"""Every kind of precondition by the name it has in files and in output."""


def step_kind(step: plan.Step) -> str:
    """The name of the step's kind: `write-offsets`."""
    return _kind(step, STEPS)


def precondition_kind(precondition: plan.Precondition) -> str:
    """The name of the precondition's kind: `offsets-unchanged`."""
    return _kind(precondition, PRECONDITIONS)


def encode_step(step: plan.Step) -> dict[str, Any]:
    """The step as an object."""
    return {"kind": step_kind(step), **_encode(step)}


def decode_step(value: JsonFields) -> plan.Step:
    """The inverse of encode_step; Undecodable names the member that is missing or wrong."""
    return cast(plan.Step, _decode_kind(value, STEPS, "step"))


def encode_precondition(precondition: plan.Precondition) -> dict[str, Any]:
    """The precondition as an object."""
    return {"kind": precondition_kind(precondition), **_encode(precondition)}


def decode_precondition(value: JsonFields) -> plan.Precondition:
    """The inverse of encode_precondition; Undecodable names the member that is missing or wrong."""
    return cast(plan.Precondition, _decode_kind(value, PRECONDITIONS, "precondition"))


def _kind(value: object, kinds: Mapping[str, type]) -> str:
    return next(name for name, each in kinds.items() if type(value) is each)


def _encode(value: Any) -> dict[str, Any]:  # noqa: ANN401  # any of the dataclasses
    names = getattr(value, "_fields", None) or [field.name for field in fields(value)]
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case bytes():
            return base64.b64encode(value).decode()
        case plan.OffsetsWrite() | AclBinding() | ResourcePattern():
            return _encode(value)
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return dict(value)
    return value


def _decode_kind(value: JsonFields, kinds: Mapping[str, type], noun: str) -> object:
    name = value.text("kind")
    if name not in kinds:
        raise Undecodable(
            f"{value.place}.kind is {name!r}, which is no {noun} of this eosctl", hint="was it written by a newer one?"
        )
    return _decode(value, kinds[name])


def _decode(value: JsonFields, kind: type[T]) -> T:
    hints = get_type_hints(kind)
    unknown = set(value.members()) - set(hints) - {"kind"}
    if unknown:
        raise Undecodable(f"{value.place} has a member {min(unknown)!r} that does not belong there")
    return kind(**{name: _member(value, name, hint) for name, hint in hints.items()})


def _member(value: JsonFields, name: str, hint: object) -> object:
    if isinstance(hint, UnionType):
        inner = next(each for each in get_args(hint) if each is not NoneType)
        return value.optional(name, lambda name: _member(value, name, inner))
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        if item in _OBJECTS:
            return tuple(_decode(each, item) for each in value.inners(name))
        return tuple(_text(each, f"{value.place}.{name}[{i}]") for i, each in enumerate(value.listed(name)))
    if get_origin(hint) is Mapping:
        inner_fields = value.inner(name)
        return {key: inner_fields.optional(key, inner_fields.text) for key in inner_fields.members()}
    return _SCALARS[cast(type, hint)](value, name)


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise Undecodable(f"{place} is not text")
    return value


def _word(words: type[StrEnum]) -> Callable[[JsonFields, str], StrEnum]:
    """Reads one of the words of an enumeration."""

    def read(value: JsonFields, name: str) -> StrEnum:
        text = value.text(name)
        if text not in set(words):
            raise Undecodable(f"{value.place}.{name} is {text!r}, not one of {', '.join(words)}")
        return words(text)

    return read


def _pattern(value: JsonFields, name: str) -> ResourcePattern:
    return _decode(value.inner(name), ResourcePattern)


def _side(value: JsonFields, name: str) -> plan.Side:
    text = value.text(name)
    if text not in set(plan.Side):
        raise Undecodable(f"{value.place}.{name} is {text!r}, not source or target")
    return plan.Side(text)


def _bytes(value: JsonFields, name: str) -> bytes:
    try:
        return base64.b64decode(value.text(name), validate=True)
    except ValueError as error:  # letters outside ASCII, too
        raise Undecodable(f"{value.place}.{name} is not base64") from error


_OBJECTS: Final = frozenset({plan.OffsetsWrite, AclBinding})
"""What lists hold that is not text."""

_SCALARS: Final[Mapping[type, Callable[[JsonFields, str], object]]] = {
    str: JsonFields.text,
    int: JsonFields.whole,
    bool: JsonFields.flag,
    plan.Side: _side,
    ResourcePattern: _pattern,
    **{words: _word(words) for words in (ResourceType, PatternType, Operation, Permission)},
    bytes: _bytes,
}
