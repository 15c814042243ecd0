"""A command's answer: one tree of data, and the layout of its parts for people.

A view builds `data` once. A block names a place in that tree by path (`connectors`, `next_start.rule`), so the formats
only look values up: every value in a table is also in the JSON, and the two cannot differ.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from enum import Enum, StrEnum
from functools import cache
from itertools import islice
from json import dumps
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, field
from msgspec.structs import force_setattr

from eosctl.errors import UsageError
from eosctl.model.report import Severity
from eosctl.model.skipped import Coverage, Skipped

MOST: Final = 5
"""The most rows of a secondary table, and findings of one kind, on a terminal."""
MOST_GAPS: Final = 20
INCOMPLETE: Final = "This answer is incomplete: some of its evidence could not be read."
Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool | None"


class Align(StrEnum):
    """Which edge of its column a value touches: figures right, all else left."""

    LEFT = "left"
    RIGHT = "right"


class Tone(StrEnum):
    """The meaning of a value for the reader; the console decides the colour."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    FAINT = "faint"


class Column(Struct, frozen=True):
    """One column of a table, or one line of Fields.

    header has no spaces and carries the unit (`AGE-S`, `TIMEOUT-MS`). path leads from the row to the value (dots go
    into nested objects). meaning is the glossary's sentence. tones colours a cell by its text. brief returns a row's
    short form of the value, for tables on a terminal.
    """

    header: str
    path: str
    meaning: str = ""
    align: Align = Align.LEFT
    tones: Mapping[str, Tone] = field(default_factory=dict)
    brief: Callable[[Tree], str] | None = None

    def __post_init__(self) -> None:
        if not self.header or any(char.isspace() or char == "_" for char in self.header):
            raise ValueError(f"a header is one word, and a hyphen joins its parts: {self.header!r}")


def figure(header: str, path: str, meaning: str = "") -> Column:
    """A column of figures, aligned right."""
    return Column(header, path, meaning, align=Align.RIGHT)


# The description of a row's field, once: tables, help and JSON Schemas use it.  class StepRow(Struct, frozen=True):
# transactional_id: Annotated[str, "the ID to fence"] producer_epoch: Annotated[int, col("the producer's epoch, which
# fencing raises", "EPOCH")]


class Explained(Struct, frozen=True):
    """The meaning of a field, the header of its column if that is not its name in capitals, and the look of a cell."""

    meaning: str = ""
    header: str = ""
    tones: Mapping[str, Tone] = {}
    brief: Callable[[Tree], str] | None = None


def col(
    meaning: str,
    header: str = "",
    *,
    tones: Mapping[str, Tone] | None = None,
    brief: Callable[[Tree], str] | None = None,
) -> Explained:
    """The annotation of a field that needs more than an explanation, which is a text."""
    return Explained(meaning, header, tones or {}, brief)


@cache
def hints_of(row: Hashable) -> Mapping[str, Any]:
    """The types of the row's fields, with their annotations."""
    return get_type_hints(row, include_extras=True)


def unfolded(hint: Any) -> tuple[Any, Explained]:  # noqa: ANN401  # types, unions and generic aliases
    """A field's type, and its annotation."""
    if get_origin(hint) is NotRequired:
        return unfolded(get_args(hint)[0])
    if get_origin(hint) is not Annotated:
        return hint, Explained()
    kind, said, *_ = get_args(hint)
    return kind, Explained(said) if isinstance(said, str) else said


def columns(row: type, *shown: str | Column) -> tuple[Column, ...]:
    """The columns of a table of such rows: the fields at these paths, several in one text, in this order.

    A path with dots leads into nested rows. A Column stands where the table means something else than the field says.
    """
    each = (part for place in shown for part in ([place] if isinstance(place, Column) else place.split()))
    return tuple(part if isinstance(part, Column) else _column(row, part) for part in each)


def _column(row: type, path: str) -> Column:
    kinds: tuple[Any, ...] = (row,)
    said, name = Explained(), ""
    for name in path.split("."):
        found = next((hints_of(kind)[name] for kind in kinds if _has(kind, name)), None)
        if found is None:
            raise TypeError(f"{row.__name__} has no field {path}")
        hint, said = unfolded(found)
        kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    is_figure = {int, float} & {*kinds} and not {str, bool} & {*kinds}
    align = Align.RIGHT if is_figure else Align.LEFT
    header = said.header or name.upper().replace("_", "-")
    return Column(header, path, said.meaning, align, said.tones, said.brief)


def _has(kind: Any, name: str) -> bool:  # noqa: ANN401  # types and generic aliases
    return hasattr(kind, "__annotations__") and name in hints_of(kind)


R = TypeVar("R", bound=Struct)


def row_of(kind: type[R], source: object, /, **more: object) -> R:
    """A row with the values that source has under the names of its fields, and with `more`."""
    return kind(**more, **{name: getattr(source, name) for name in kind.__struct_fields__ if name not in more})


class Table(Struct, frozen=True):
    """The rows at `rows` in the data, one line each; `empty` is said if there are none.

    most is the number of rows on a terminal; None: all. worth_showing is true for rows that a person looks for: if
    there are some, a terminal shows only these. below are the paths of the last columns, a sentence and its subject,
    that a narrow terminal shows below each row. name is the path that `-o name` prints, "" for the first column's.
    """

    rows: str
    columns: tuple[Column, ...]
    title: str = ""
    empty: str = "none"
    most: int | None = None
    worth_showing: Callable[[Tree], bool] | None = None
    below: tuple[str, ...] = ()
    name: str = ""

    def shows(self, row: Tree) -> bool:
        """True if a terminal shows this row, if not all are alike in that."""
        return self.worth_showing is None or self.worth_showing(row)


class Steps(Table, frozen=True):
    """Commands to run, each under the reason for it: a terminal keeps every command on one line, to be copied.

    The first column is the reason, the second the command.
    """


class Fields(Struct, frozen=True):
    """Single values of the object at `at` in the data (the root when empty), one per line."""

    columns: tuple[Column, ...]
    at: str = ""
    title: str = ""


class Findings(Struct, frozen=True):
    """The findings at `rows` in the data: severity, id, name, subject, message, cure, and evidence on request.

    most is how many of one kind a terminal shows; None: all. least is the least severity that a terminal shows.
    """

    rows: str = "findings"
    title: str = "Findings"
    empty: str = "no findings"
    evidence: bool = False
    most: int | None = None
    least: Severity = Severity.INFO


Block = Table | Fields | Findings


class Document(Struct, frozen=True):
    """A command's answer.

    kind names the shape of data and version its revision. as_of is when the facts were read (RFC 3339, UTC), None if
    nothing was read. cluster_id is the Kafka cluster's. prose are the sentences that begin the answer for people, notes
    those that end it. blocks are in reading order, and `plain` prints the first. concludes: prose is a verdict, which a
    terminal shows last, where the eye is after a long answer.
    """

    kind: str
    data: Any
    as_of: str | None = None
    cluster_id: str | None = None
    blocks: tuple[Block, ...] = ()
    prose: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    version: int = 1
    concludes: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "data", tree(self.data))
        for block in self.blocks:
            place = block.at if isinstance(block, Fields) else block.rows
            found = look_up(self.data, place)
            if not isinstance(found, dict if isinstance(block, Fields) else list):
                raise TypeError(f"{self.kind}: a block shows {place!r}, where data has {type(found).__name__}")
        shown = [look_up(self.data, block.rows) for block in self.blocks if not isinstance(block, Fields)]
        for name, value in self.data.items():
            if isinstance(value, RowStream) and not any(value is each for each in shown):
                raise TypeError(f"{self.kind}: no block shows the rows that are streamed at {name!r}")

    def with_unread(self, coverage: Coverage, *, complete: bool = True) -> "Document":
        """The same with the unread facts: all of them in the data, the needed ones in the notes.

        complete: no needed fact is missing.
        """
        unread = [{"what": each.what, "reason": each.reason} for each in coverage.unread]
        data = {**self.data, "complete": complete, "unread": unread}
        missing = (each for each in lacking(coverage, complete=complete) if each not in self.notes)
        return self._with(data, (*self.notes, *missing))

    def arranged(self, sort: str | None, limit: int | None) -> "Document":
        """The same with the rows of one table sorted by column `sort` (`-` before it: descending), and only the
        first `limit` of them. It is the first table that has the column. UsageError if none has it."""
        tables = [block for block in self.blocks if isinstance(block, Table)]
        header = (sort or "").removeprefix("-").upper().replace("_", "-")
        found = [(table, each.path) for table in tables for each in table.columns if each.header == header]
        if sort is not None and not found:
            known = ", ".join(each.header for each in tables[0].columns) if tables else "none"
            raise UsageError(f"--sort: there is no column {header}", hint=f"the columns are: {known}")
        if not tables or (sort is None and limit is None):
            return self
        table, path = found[0] if found else (tables[0], "")
        rows = look_up(self.data, table.rows)
        assert isinstance(rows, list)
        if sort is not None:
            rows = sorted(rows, key=lambda row: _sort_key(look_up(row, path)), reverse=sort.startswith("-"))
        kept = list(islice(rows, limit))
        names = table.rows.split(".")
        data = _replaced(self.data, names, kept) | {"rows_left_out": len(rows) - len(kept)}
        notes = (f"{len(kept):,} of {len(rows):,} rows are shown (--limit)",) if len(kept) < len(rows) else ()
        return self._with(data, (*self.notes, *notes))

    def _with(self, data: Mapping[str, Any], notes: tuple[str, ...]) -> "Document":
        """The same with other data, which is a Tree already: to make one of 10,000 rows again takes 0.1 s."""
        made = copy(self)
        for name, value in (("data", data), ("notes", notes)):
            force_setattr(made, name, value)
        return made

    def envelope(self) -> dict[str, Tree]:
        """The whole answer as every machine format writes it."""
        return {
            "kind": self.kind,
            "version": self.version,
            "as_of": self.as_of,
            "cluster_id": self.cluster_id,
            "data": self.data,  # made a Tree when built
        }


def _sort_key(value: Tree) -> tuple[int, float, str]:
    """Figures by size, then texts, then what is null or unknown."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, value, ""
    if value is None or is_skipped(value):
        return 2, 0, ""
    return 1, 0, value if isinstance(value, str) else dumps(value, sort_keys=True)


def _replaced(data: Mapping[str, Any], names: Sequence[str], rows: Tree) -> dict[str, Any]:
    name, *rest = names
    return {**data, name: _replaced(data[name], rest, rows) if rest else rows}


def lacking(coverage: Coverage, *, complete: bool) -> Iterator[str]:
    """For people: each missing part of an answer, and the note that it is incomplete."""
    for each in coverage.gaps[:MOST_GAPS]:
        yield f"not read: {each.what}: {each.reason}"
    if len(coverage.gaps) > MOST_GAPS:
        yield f"and {len(coverage.gaps) - MOST_GAPS} more: data.unread of -o json has all"
    if not complete:
        yield INCOMPLETE


def error_envelope(type_name: str, message: str, hint: str | None, exit_code: int) -> dict[str, Tree]:
    """The document of the machine formats if there is no answer."""
    error: dict[str, Tree] = {"type": type_name, "message": message, "hint": hint, "exit_code": exit_code}
    return {"kind": "error", "version": 1, "error": error}


class Rows(list[Any]):
    """Many rows that the view made of JSON's own types alone: `tree` does not look at them."""


_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
_OBJECTS: Final = (dict, Mapping)  # dict first: it is quick to ask, and nearly all are dicts


class RowStream(list[Any]):
    """Very many rows, in JSON's own types, made again whenever they are gone through and never kept.

    No double among them is infinite or NaN, which JSON does not have. `doubtful` makes those of them that may hold
    unknown values: where it is given, no reason is looked for in the others.

    To the formats it is a list, of `count` rows. It must stand where a block shows it: an encoder that reads a list's
    memory instead of going through it would find nothing.
    """

    def __init__(
        self, count: int, make: Callable[[], Iterable[Any]], doubtful: Callable[[], Iterable[Any]] | None = None
    ) -> None:
        super().__init__()
        self._count = count
        self._make = make
        self.doubtful = make if doubtful is None else doubtful

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as of a list


def tree(value: object) -> Tree:
    """`value` in JSON's own types: tuples and sets become lists, enums their values, Structs and named tuples objects.

    Skipped becomes {"skipped": reason}, so that unknown stays different from null. Raises TypeError for a value without
    one obvious form (bytes, times), because only the view knows its meaning.
    """
    match value:
        case None | str() | int() | float() if not isinstance(value, Enum):
            # YAML knows no kinds of str.
            return str(value) if isinstance(value, str) else value
        case Enum():
            return tree(value.value)
        case Skipped():
            return {"skipped": value.reason}
        case Struct():
            names, items_of = _own_first(type(value))
            named = zip(names, items_of(value), strict=True)
            return {name: item if type(item) in _LEAVES else tree(item) for name, item in named if item is not UNSET}
        case list() | tuple() | frozenset() | set():
            return tree(value._asdict()) if hasattr(value, "_asdict") else _items(value)
        case dict() | Mapping():
            pairs = ((key if type(key) is str else _key(key), item) for key, item in value.items())
            return {key: item if type(item) in _LEAVES else tree(item) for key, item in pairs}
    raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


@cache
def _own_first(kind: type[Struct]) -> tuple[tuple[str, ...], Callable[[Struct], Iterable[Any]]]:
    """The names of its fields, those that it has from another one last, and what gets their values."""
    base = kind.__mro__[1]
    inherited = _own_first(base)[0] if issubclass(base, Struct) else ()
    names = (*(name for name in kind.__struct_fields__ if name not in inherited), *inherited)
    return names, attrgetter(*names) if names[1:] else lambda value: [getattr(value, name) for name in names]


def _items(value: "list[Any] | tuple[Any, ...] | frozenset[Any] | set[Any]") -> list[Tree]:
    if isinstance(value, Rows | RowStream):
        return value if isinstance(value, RowStream) else list(value)
    items = sorted(value) if isinstance(value, frozenset | set) else value
    return [item if type(item) in _LEAVES else tree(item) for item in items]


def _key(key: object) -> str:
    key = key.value if isinstance(key, Enum) else key
    if isinstance(key, str | int) and not isinstance(key, bool):
        return str(key)
    raise TypeError(f"not an object's key: {key!r}")


@cache
def _names(path: str) -> tuple[str, ...]:
    return tuple(filter(None, path.split(".")))


def look_up(value: object, path: str) -> Tree:
    """The value at `path`; null where an object on the way is null, and the Skipped where it is one."""
    if type(value) is dict and len(value) > 1 and path in value and "." not in path:
        return value[path]  # type: ignore[no-any-return]  # parts of a Tree are Trees
    for name in _names(path):
        if value is None or is_skipped(value):
            break
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
            continue
        if not isinstance(value, _OBJECTS) or name not in value:
            raise KeyError(f"no {name!r} on the way to {path!r}")
        value = value[name]
    return value  # type: ignore[return-value]  # parts of a Tree are Trees


def is_skipped(value: object) -> bool:
    """Whether `value` is the tree form of a Skipped."""
    return isinstance(value, _OBJECTS) and len(value) == 1 and "skipped" in value
