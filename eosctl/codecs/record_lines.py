"""Records of one partition as lines of text, for reading a topic offline. Two forms, distinguished by the first line.

JSON lines, one object a line:

    {"offset": 41, "timestamp": 1790000000000, "key": "commit-orders", "value": {"tasks": 3}}

    offset          int, required, greater than in the line before
    key             text or null, required
    value           null (a tombstone), the value's text as a JSON string, or the value itself, required
    timestamp       int, ms since the epoch, -1 if left out
    partition       int, the same on all lines
    state           "committed" (if left out), "aborted" or "open": what became of the record's transaction
    transactional   boolean; true if left out and state is not committed
    producer_id, producer_epoch   int, -1 if left out

kafka-console-consumer with print.key=true (and print.timestamp, print.partition, print.offset, if wanted):

    [CreateTime:1790000000000<TAB>][Partition:0<TAB>][Offset:41<TAB>]commit-orders<TAB>{"tasks":3}

    null stands for a null key or value; without Offset the lines are numbered from 0
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from eosctl.codecs.json_text import load_json
from eosctl.errors import Undecodable
from eosctl.model.records import Record, RecordState

_HINT: Final = (
    'expected JSON lines {"offset":…,"timestamp":…,"key":…,"value":…} or the output of kafka-console-consumer '
    "--property print.key=true"
)
_PRINTED: Final = re.compile(rb"(CreateTime|LogAppendTime|Partition|Offset):(-?\d+)\t|NO_TIMESTAMP\t")
_NOTICE: Final = b"Option --property is deprecated"  # kafka-console-consumer 4.x says so on stdout
_NUL: Final = b"\0"


def read_record_lines(lines: Iterable[bytes | str], source: str = "records") -> Iterator[Record]:
    """The records, one for each line that is not blank, read lazily. `source` names the file in errors.

    Undecodable, naming the line, where a line is of neither form, offsets do not rise or partitions differ.
    """
    numbered = _numbered(lines)
    first = next(numbered, None)
    if first is None:
        return
    parse = _parse_json if first[1].startswith(b"{") else _parse_printed
    last_offset, partition = -1, None
    for number, line in chain([first], numbered):
        try:
            record, its_partition = parse(line, last_offset + 1)
        except _NotARecord as error:
            raise Undecodable(f"{source}, line {number}: {error}", hint=_HINT) from None
        if record.offset <= last_offset:
            raise Undecodable(f"{source}, line {number}: offset {record.offset} comes after offset {last_offset}")
        if its_partition is not None:
            if partition not in {None, its_partition}:
                raise Undecodable(f"{source}, line {number}: partition {its_partition} after partition {partition}")
            partition = its_partition
        last_offset = record.offset
        yield record


class _NotARecord(Exception):
    """Why a line is not a record, without quoting it: it may hold secrets."""


def _numbered(lines: Iterable[bytes | str]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        data = data.rstrip(b"\r\n")
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if data and not data.isspace() and not data.startswith(_NOTICE):
            yield number, data


def _parse_json(line: bytes, _next_offset: int) -> tuple[Record, int | None]:
    try:
        fields = load_json(line.decode())
    except UnicodeDecodeError:
        raise _NotARecord("the line is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise _NotARecord("the line is not JSON") from None
    if not isinstance(fields, dict):
        raise _NotARecord("the line is not a JSON object")
    state = _state(fields)
    return Record(
        _int(fields, "offset", None),
        _int(fields, "timestamp", -1),
        _key(fields),
        _value(fields),
        state,
        _flag(fields, "transactional", state is not RecordState.COMMITTED),
        _int(fields, "producer_id", -1),
        _int(fields, "producer_epoch", -1),
    ), (_int(fields, "partition", 0) if "partition" in fields else None)


def _int(fields: dict[str, Any], name: str, default: int | None) -> int:
    value = fields.get(name, default)
    if type(value) is not int:
        raise _NotARecord(f"`{name}` is missing or not a whole number")
    return value


def _flag(fields: dict[str, Any], name: str, default: bool) -> bool:
    value = fields.get(name, default)
    if not isinstance(value, bool):
        raise _NotARecord(f"`{name}` is neither true nor false")
    return value


def _state(fields: dict[str, Any]) -> RecordState:
    text = fields.get("state")
    if text is None:
        return RecordState.COMMITTED
    try:
        return RecordState(text)
    except ValueError:
        raise _NotARecord("`state` is not one of committed, aborted, open") from None


def _key(fields: dict[str, Any]) -> bytes | None:
    key = fields.get("key", False)
    if key is None or isinstance(key, str):
        return None if key is None else key.encode("utf-8", "replace")
    raise _NotARecord("`key` is missing or neither text nor null")


def _value(fields: dict[str, Any]) -> bytes | None:
    if "value" not in fields:
        raise _NotARecord("`value` is missing (a tombstone is null)")
    value = fields["value"]
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _parse_printed(line: bytes, next_offset: int) -> tuple[Record, int | None]:
    if _NUL in line:
        raise _NotARecord("the line has NUL characters (UTF-16 text?)")
    printed: dict[bytes, int] = {}
    start = 0
    while match := _PRINTED.match(line, start):
        start = match.end()
        if match[1]:
            printed[match[1]] = int(match[2][:20])
    key, tab, value = line[start:].partition(b"\t")
    if not tab:
        raise _NotARecord("there is no TAB between key and value")
    timestamp = printed.get(b"CreateTime", printed.get(b"LogAppendTime", -1))
    record = Record(
        printed.get(b"Offset", next_offset),
        timestamp,
        None if key == b"null" else key,
        None if value == b"null" else value,
    )
    return record, printed.get(b"Partition")
