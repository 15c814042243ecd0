"""The published fields of each kind of document, in published_fields.txt, which later versions must keep.

A line is a kind, its version, the path of a field, and its types in JSON; `?` is a field that may be missing. A change
that programs would notice needs a new version of the kind. `make reference` writes the file again, and refuses others.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from eosctl.render.answers.kinds import KINDS

FILE: Final = Path(__file__).with_name("published_fields.txt")
Published = Mapping[str, tuple[int, Mapping[str, frozenset[str]]]]
"""The version of each kind, and the types of its fields by their paths."""
ABSENT: Final = "?"


def published_now() -> Published:
    """The fields that eosctl publishes now."""
    return {kind.name: (kind.version, dict(fields_of(kind.schema()))) for kind in KINDS}


def fields_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    """The path of each field of documents with this schema, and its types; of one that holds itself, once."""
    definitions = schema["$defs"]

    def walk(at: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if "$ref" in at:
            if at["$ref"] not in inside:
                name = at["$ref"].rpartition("/")[2]
                yield from walk(definitions[name], path, (*inside, at["$ref"]))
            return
        for each in at.get("anyOf", ()):
            yield from walk(each, path, inside)
        kinds = at.get("type", () if {"anyOf", "const"} & at.keys() else "any")
        yield from ((path, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
        for name, each in at.get("properties", {}).items():
            yield from walk(each, f"{path}.{name}", inside)
            if name not in at["required"]:
                yield f"{path}.{name}", ABSENT
        if "items" in at:
            yield from walk(at["items"], f"{path}[]", inside)
        if isinstance(at.get("additionalProperties"), dict):
            yield from walk(at["additionalProperties"], f"{path}.*", inside)

    found: dict[str, set[str]] = {}
    for path, kind in walk(schema, "", ()):
        found.setdefault(path.removeprefix("."), set()).add(kind)
    return ((path, frozenset(kinds)) for path, kinds in found.items() if path)


def incompatible(before: Published, now: Published) -> Iterator[str]:
    """Changes that programs written for `before` would notice: a removed field, or another type."""
    for kind, (version, fields) in before.items():
        if kind not in now:
            yield f"there are no documents of kind {kind} any more"
        elif now[kind][0] == version:
            found = now[kind][1]
            for path, types in fields.items():
                if path not in found and "object" in found.get(path.rpartition(".")[0], {"object"}):
                    yield f"{kind}: {path} was removed"
                elif more := found.get(path, frozenset()) - types - ({"integer"} if "number" in types else set()):
                    what = "may be missing" if more == {ABSENT} else f"may be {', '.join(sorted(more))}"
                    yield f"{kind}: {path} was {', '.join(sorted(types))}, and now {what}"


def encoded(published: Published) -> str:
    """The text of the file."""
    return "".join(
        f"{kind} {version} {path} {','.join(sorted(types))}\n"
        for kind, (version, fields) in sorted(published.items())
        for path, types in sorted(fields.items())
    )


def decoded(lines: Iterable[str]) -> Published:
    """The content of the file."""
    found: dict[str, tuple[int, dict[str, frozenset[str]]]] = {}
    for line in lines:
        kind, version, path, types = line.split()
        found.setdefault(kind, (int(version), {}))[1][path] = frozenset(types.split(","))
    return found


def main() -> str | None:
    """Writes the file, unless it would break a published field."""
    before = decoded(FILE.read_text(encoding="utf-8").splitlines()) if FILE.exists() else {}
    if broken := list(incompatible(before, published_now())):
        return "\n".join(
            (*broken, "raise the version of the kind in eosctl/render/answers/kinds.py, and say it in CHANGELOG.md")
        )
    FILE.write_text(encoded(published_now()), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
