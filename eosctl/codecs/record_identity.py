"""Which source record a record is: the part of its bytes that a selector names, as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from eosctl.codecs.json_text import load_json
from eosctl.model.certification import Part, Selector

BETWEEN: Final = ","
"""Between the values of several paths, as between columns of a query."""

Header = tuple[str, bytes | None]


def selected(
    selector: Selector, key: bytes | None, value: bytes | None, headers: Sequence[Header], partition: int
) -> str | None:
    """The text of that part of a record, or None."""
    match selector.part:
        case Part.JSON:
            return None if value is None else _of_json(value, selector.names)
        case Part.HEADER:
            found = [content for name, content in headers if name == selector.names[0]]
            return _text(found[-1]) if found else None
        case Part.PARTITION:
            return str(partition)
    return _text(key if selector.part is Part.KEY else value)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="backslashreplace")


def _of_json(value: bytes, paths: Sequence[str]) -> str | None:
    """The values at all paths, in the payload of an envelope of JsonConverter. None if one is absent or null."""
    try:
        root = load_json(value.decode())
    except ValueError:
        return None
    if isinstance(root, dict) and root.keys() == {"schema", "payload"}:
        root = root["payload"]
    found = [_at(root, path) for path in paths]
    return None if None in found else BETWEEN.join(map(_written, found))


def _at(root: Any, path: str) -> Any:  # noqa: ANN401  # any JSON
    if isinstance(root, Mapping) and path in root:
        return root[path]  # a name may have dots
    for name in path.split("."):
        if not isinstance(root, Mapping) or name not in root:
            return None
        root = root[name]
    return root


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
