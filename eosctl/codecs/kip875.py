"""Export files: the body of KIP-875, as `GET /connectors/<name>/offsets` answers and PATCH takes it.

    {"offsets": [{"partition": {…}, "offset": {…}}, …]}

1. partition is an object, offset an object or null (PATCH deletes it then); both have no nested members.
2. A partition stands there once.
3. Integers beyond 64 bits are refused, because a worker would cut them.
"""

import json
from collections.abc import Iterable
from typing import Final

from eosctl.codecs.connect_json import long_value
from eosctl.codecs.json_limits import load_json
from eosctl.errors import ConfigError
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.unseen import escaped_in_json

HINT: Final = 'expected is the answer of GET /connectors/<name>/offsets: {"offsets": [{"partition": {}, "offset": {}}]}'
_BLANK: Final = " \t\r\n"


def encode_kip875(offsets: Iterable[ConnectorOffset]) -> str:
    """The body, one entry a line."""
    entries = [
        escaped_in_json(
            json.dumps({"partition": dict(each.partition), "offset": each.offset}, ensure_ascii=False, allow_nan=False)
        )
        for each in offsets
    ]
    return '{"offsets": [\n  ' + ",\n  ".join(entries) + "\n]}\n" if entries else '{"offsets": []}\n'


def decode_kip875(text: str, origin: str) -> tuple[ConnectorOffset, ...]:
    """The entries of the body in `text`; ConfigError names `origin` (the file), line and field."""
    try:
        body = load_json(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{origin} line {error.lineno}: not JSON ({error.msg})", hint=HINT) from error
    entries = body.get("offsets") if isinstance(body, dict) else None
    if not isinstance(entries, list) or len(body) != 1:
        raise ConfigError(f'{origin} line 1: not an object with the one member "offsets", a list', hint=HINT)
    return tuple(_Entries(text, origin).read(entries))


class _Entries:
    """Reads the entries of one file, and finds the line of one that is wrong."""

    def __init__(self, text: str, origin: str) -> None:
        self._text = text
        self._origin = origin
        self._seen: dict[str, int] = {}

    def read(self, entries: list[object]) -> list[ConnectorOffset]:
        return [self._entry(number, each) for number, each in enumerate(entries)]

    def _entry(self, number: int, entry: object) -> ConnectorOffset:
        place = f"offsets[{number}]"
        if not isinstance(entry, dict) or entry.keys() != {"partition", "offset"}:
            raise self._wrong(number, place, "is not an object with partition and offset")
        partition, offset = entry["partition"], entry["offset"]
        self._check(number, f"{place}.partition", partition)
        if offset is not None:
            self._check(number, f"{place}.offset", offset)
        identity = json.dumps(partition, sort_keys=True)
        if identity in self._seen:
            raise self._wrong(number, f"{place}.partition", f"repeats offsets[{self._seen[identity]}].partition")
        self._seen[identity] = number
        return ConnectorOffset(partition, offset)

    def _check(self, number: int, place: str, members: object) -> None:
        if not isinstance(members, dict):
            raise self._wrong(number, place, "is not an object")
        for name, value in members.items():
            if isinstance(value, dict | list):
                raise self._wrong(number, f"{place}.{name}", "is nested, which Connect refuses")
            if type(value) is int and value != long_value(value):
                raise self._wrong(number, f"{place}.{name}", "is beyond 64 bits")

    def _wrong(self, number: int, place: str, what: str) -> ConfigError:
        return ConfigError(f"{self._origin} line {self._line(number)}: {place} {what}", hint=HINT)

    def _line(self, number: int) -> int:
        """The line where entry `number` begins: the text is walked entry by entry, now that one is wrong."""
        decoder = json.JSONDecoder()
        place = self._text.index("[", self._text.index('"offsets"')) + 1
        for left in range(number, -1, -1):
            while self._text[place] in _BLANK + ",":
                place += 1
            if left:
                _, place = decoder.raw_decode(self._text, place)
        return self._text.count("\n", 0, place) + 1
