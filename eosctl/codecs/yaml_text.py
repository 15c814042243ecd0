"""YAML that people write by hand: plain values only, no key twice, and nothing that fills the memory."""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from eosctl.codecs.json_text import is_too_deep
from eosctl.errors import ConfigError
from eosctl.late_pattern import late_pattern
from eosctl.model.text import UNSEEN, escaped_in_yaml

if TYPE_CHECKING:
    import yaml


MOST_MERGED: Final = 100_000
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_MERGE: Final = "tag:yaml.org,2002:merge"
_INT: Final = "tag:yaml.org,2002:int"
_NUMBERS: Final = (_INT, "tag:yaml.org,2002:float")
_WITH_EXPONENT: Final = late_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+")


def decode_yaml(text: str, origin: str) -> object:
    """The one document in `text`; ConfigError names `origin` (the file) and the line."""
    return next(_parsed(text, origin, kubernetes=False, several=False))


def decode_kubernetes_yaml(text: str, origin: str) -> tuple[object, ...]:
    """The documents in `text` as Kubernetes' tools read them (sigs.k8s.io/yaml); ConfigError as `decode_yaml`.

    Other than in YAML 1.1 dates and times of day are text, and `1e3` is a number.
    """
    return tuple(_parsed(text, origin, kubernetes=True, several=True))


def _parsed(text: str, origin: str, *, kubernetes: bool, several: bool) -> Iterator[object]:
    import yaml

    if is_too_deep(text):
        raise ConfigError(f"{origin}: it is nested too deeply")
    loader = _strict_loader(origin)
    if kubernetes:
        _read_as_kubernetes(loader)
    try:
        if several:
            yield from yaml.load_all(text, loader)
        else:
            yield yaml.load(text, loader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f": line {error.problem_mark.line + 1}"
        raise ConfigError(f"{origin}{line}: this is not YAML: {error.problem}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{origin}: a value is too large or nested too deeply") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin}: this is not YAML") from error


def _strict_loader(origin: str) -> "type[yaml.SafeLoader]":
    import yaml

    class Strict(yaml.SafeLoader):
        """YAML's plain values only, and no key twice."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
            """The mapping; an error where a key is given twice."""
            seen: set[object] = set()
            for key, _ in node.value:
                if key.tag == _MERGE:
                    continue
                name = self.construct_object(key, deep=True)
                if not isinstance(name, Hashable):
                    raise ConfigError(f"{origin}: line {key.start_mark.line + 1}: a key is not text")
                if name in seen:
                    raise ConfigError(f"{origin}: line {node.start_mark.line + 1}: {name} is given twice")
                seen.add(name)
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Merges (`<<`) of merges multiply: a page of them would fill the memory."""
            super().flatten_mapping(node)
            if len(node.value) > MOST_MERGED:
                raise ConfigError(f"{origin}: line {node.start_mark.line + 1}: << merges more than {MOST_MERGED} keys")

    Strict.add_constructor(_INT, _printable_int)
    return Strict


def _printable_int(loader: "yaml.SafeLoader", node: "yaml.ScalarNode") -> int:
    """The number; ValueError where Python would not print it. When it reads numbers, it refuses decimal ones alone."""
    found: int = loader.construct_yaml_int(node)
    str(found)
    return found


def _read_as_kubernetes(loader: "type[yaml.SafeLoader]") -> None:
    loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != _TIMESTAMP]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver("tag:yaml.org,2002:float", _WITH_EXPONENT, list("-+.0123456789"))
    for tag in _NUMBERS:
        loader.add_constructor(tag, _NoTime(loader.yaml_constructors[tag]))


class _NoTime:
    """Constructs a number, but `12:30` is text."""

    def __init__(self, construct: Callable[..., object]) -> None:
        self._construct = construct

    def __call__(self, loader: "yaml.SafeLoader", node: "yaml.ScalarNode") -> object:
        return node.value if ":" in node.value else self._construct(loader, node)


# Changes to the text of YAML resources that leave all its other bytes as they are: comments, order, quotes, line ends.
# Libraries that load and dump keep comments but rewrite lists, quotes and long lines; a user who keeps resources in Git
# would see more changes than were made. Here the text is cut where the parser locates a value.


Node = Any
"""A node of PyYAML, whose stubs do not distinguish its kinds."""

Path = Sequence[str | int]
"""Keys of mappings and places in lists, from a resource on."""

_BY_HAND: Final = "make the change by hand"
_SEPARATOR: Final = late_pattern(r"^---(?:[ \t]+(?:#.*)?)?\r?\n", re.MULTILINE)
_NOTHING: Final = late_pattern(r"(?:[ \t]*(?:#.*|%.*)?\r?\n)*")


class Address(Struct, frozen=True):
    """A resource in a text: the document, and where that is a `List` the item. It holds for the text as edited, too."""

    document: int
    item: int | None = None


def addresses(text: str) -> Iterator[Address]:
    yield from (address for address, _ in _resources(text))


def address_of(text: str, kind: str, name: str) -> Address:
    return next(
        address
        for address, node in _resources(text)
        if _scalar_in(node, ("kind",)) == kind and _scalar_in(node, ("metadata", "name")) == name
    )


def scalar_at(text: str, address: Address, path: Path) -> str:
    return _scalar_in(_locate(text, address), path)


def set_value(text: str, address: Address, path: Path, value: Any) -> str:  # noqa: ANN401  # any JSON
    """The text with this value at `path`; mappings that lack on the way are made, items of lists are there.

    Raises ConfigError where something in the way is no mapping, or is shared with another place of the file.
    """
    node = _locate(text, address)
    in_flow = False
    for at, key in enumerate(path):
        _require_own(text, node, path[: at + 1])
        in_flow = in_flow or bool(node.flow_style)
        found = _child(node, key)
        if found is None:
            return _inserted(text, node, {key: _nested(path[at + 1 :], value)})
        if _is_empty(found) and isinstance(key, str):
            return set_value(_cut(text, node, key), address, path, value)
        node = found
    if node.id != "scalar" or node.style in {"|", ">"} or _is_shared(text, node):
        raise ConfigError(f"{_dotted(path)} is not a plain value", hint=_BY_HAND)
    return text[: node.start_mark.index] + _scalar(text, value, in_flow=in_flow) + text[node.end_mark.index :]


def append_items(text: str, address: Address, path: Path, items: Sequence[Any]) -> str:
    """The text with these items at the end of the list at `path`, which is created if it is missing. See
    `set_value`."""
    node: Node | None = _locate(text, address)
    for key in path:
        node = None if node is None else _child(node, key)
    if node is None or _is_empty(node):
        return set_value(text, address, path, list(items))
    if node.id != "sequence" or _is_shared(text, node):
        raise ConfigError(f"{_dotted(path)} is not a separate list", hint=_BY_HAND)
    return _inserted(text, node, list(items))


def remove_value(text: str, address: Address, path: Path) -> str:
    """The text without the value at `path`; the same where there is none. Raises ConfigError as `set_value`."""
    node = _locate(text, address)
    for at, key in enumerate(path[:-1]):
        _require_own(text, node, path[: at + 1])
        found = _child(node, key)
        if found is None:
            return text
        node = found
    _require_own(text, node, path)
    return text if _child(node, path[-1]) is None else _cut(text, node, str(path[-1]))


def _documents(text: str) -> list[Node | None]:
    import yaml

    return list(yaml.compose_all(text, yaml.SafeLoader))


def _resources(text: str) -> Iterator[tuple[Address, Node]]:
    for number, document in enumerate(_documents(text)):
        items = None if document is None else _child(document, "items")
        if items is not None and items.id == "sequence":
            yield from ((Address(number, at), each) for at, each in enumerate(items.value))
        elif document is not None and document.id == "mapping":
            yield Address(number), document


def _scalar_in(node: Node | None, path: Path) -> str:
    for key in path:
        node = None if node is None else _child(node, key)
    return str(node.value) if node is not None and node.id == "scalar" else ""


def _locate(text: str, address: Address) -> Node:
    found = _documents(text)[address.document]
    assert found is not None
    if address.item is not None:
        items = _child(found, "items")
        assert items is not None
        found = items.value[address.item]
    return found


def _child(node: Node, key: str | int) -> Node | None:
    if isinstance(key, int):
        return node.value[key] if node.id == "sequence" else None
    pairs = node.value if node.id == "mapping" else ()
    return next((value for name, value in pairs if name.value == key), None)


def _is_empty(node: Node) -> bool:
    """True if the node is absent, or an empty list or mapping."""
    return bool(node.tag == "tag:yaml.org,2002:null" or node.value == [])


def _require_own(text: str, node: Node, path: Path) -> None:
    """The node must have the last key of the path, or may get it, and nothing else may change with it."""
    wanted = "mapping" if isinstance(path[-1], str) else "sequence"
    if node.id != wanted or _is_shared(text, node):
        raise ConfigError(f"{_dotted(path[:-1])} is not a {wanted} of its own", hint=_BY_HAND)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


def _is_shared(text: str, node: Node) -> bool:
    """True if an alias (`*name`) elsewhere in the file stands for the value, too."""
    if "*" not in text:
        return False
    place = (node.id, node.start_mark.index)
    return any(
        places[place] > 1 for document in _documents(text) if document is not None if (places := _references(document))
    )


def _references(document: Node) -> Counter[tuple[str, int]]:
    """The number of references to each value; an aliased value is visited once."""
    found: Counter[tuple[str, int]] = Counter()
    left = [document]
    while left:
        node = left.pop()
        place = (node.id, node.start_mark.index)
        found[place] += 1
        if found[place] == 1 and node.id != "scalar":
            left += [each for _, each in node.value] if node.id == "mapping" else node.value
    return found


def _nested(path: Path, value: Any) -> Any:  # noqa: ANN401  # any JSON
    for key in reversed(path):
        value = {key: value}
    return value


def _end(node: Node) -> int:
    if node.id == "scalar" or node.flow_style:
        return int(node.end_mark.index)
    return _end_of_last(node)


def _end_of_last(node: Node) -> int:
    last = node.value[-1]
    return _end(last[1] if node.id == "mapping" else last)


def _inserted(text: str, node: Node, data: Any) -> str:  # noqa: ANN401  # a mapping or a list, as the node is
    if node.flow_style:
        at = _end_of_last(node) if node.value else node.start_mark.index + 1
        return text[:at] + (", " if node.value else "") + _flow(text, data)[1:-1] + text[at:]
    at = _line_end(text, _end(node))
    lead = "" if at == 0 or text[at - 1] == "\n" else "\n"
    lines = textwrap.indent(block(data), " " * node.start_mark.column, lambda _: True)
    return text[:at] + (lead + lines).replace("\n", "\r\n" if "\r\n" in text else "\n") + text[at:]


def _scalar(text: str, value: Any, *, in_flow: bool) -> str:  # noqa: ANN401  # a scalar
    """in_flow: it stands in braces or brackets, where a comma in a plain scalar would end it."""
    plain = block([value]).removeprefix("- ").removesuffix("\n")
    return _flow(text, value) if in_flow or "\n" in plain else plain


def _flow(text: str, value: Any) -> str:  # noqa: ANN401  # any JSON
    """The value on one line of the text, YAML or JSON: both read no escape beyond 16 bits in the same way."""
    written = json.dumps(value, ensure_ascii=False)
    if text.lstrip().startswith("{"):
        return UNSEEN.sub(lambda found: found[0] if ord(found[0]) >> 16 else f"\\u{ord(found[0]):04x}", written)
    return escaped_in_yaml(written)


def block(data: Any) -> str:  # noqa: ANN401  # any JSON
    """The data as lines of YAML, with escapes where a character is not seen, or YAML would fold or drop it."""
    import yaml

    options: dict[str, Any] = {"sort_keys": False, "width": 1 << 20, "default_flow_style": False}
    dumped = str(yaml.safe_dump(data, allow_unicode=True, **options))
    return dumped if UNSEEN.search(dumped.replace("\n", "")) is None else str(yaml.safe_dump(data, **options))


def _line_end(text: str, at: int) -> int:
    """Behind the line break that ends the line with `at`, which may be the place behind it already."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _cut(text: str, node: Node, key: str) -> str:
    """The text without a key of a mapping and its value; an empty mapping in braces where nothing is left."""
    at, (name, value) = next((at, pair) for at, pair in enumerate(node.value) if pair[0].value == key)
    start, end = name.start_mark.index, _end(value)
    if len(node.value) == 1:
        inside = "" if node.flow_style else "{}"
        return text[:start] + inside + text[end:]
    if node.flow_style:
        if at + 1 < len(node.value):
            return text[:start] + text[node.value[at + 1][0].start_mark.index :]
        return text[: _end(node.value[at - 1][1])] + text[end:]
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        raise ConfigError(f"{key} shares its line with another key", hint=_BY_HAND)
    return text[:line] + text[_line_end(text, end) :]


def append_document(text: str, document: Any) -> str:  # noqa: ANN401  # any JSON
    lead = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{lead}---\n{block(document)}"


def resource_text(text: str, address: Address) -> str:
    """The resource as a text of its own: its document with its comments, an item of a `List` without them."""
    import yaml

    if address.item is None:
        parts = _SEPARATOR.split(text)
        parts = parts[1:] if _NOTHING.fullmatch(parts[0]) and len(parts) > 1 else parts
        if len(parts) == len(_documents(text)):
            return parts[address.document]
    return block(yaml.load(yaml.serialize(_locate(text, address)), yaml.SafeLoader))
