"""Files of an audit: its report as Parquet, one a table, to be asked for more, and what spark-submit needs."""

import json
import os
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosctl.atomic_write import atomic_file, make_directory, write_atomic_file
from eosctl.errors import NotInstalled
from eosctl.model.audit import AuditReport, ConnectorVerdict, RangeEvidence
from eosctl.model.audit_states import bucket_bounds

if TYPE_CHECKING:
    import pyarrow


TEXT: Final = "string"
INTEGER: Final = "int64"
Columns = tuple[tuple[str, str], ...]
WORDS: Final = "list<string>"
TIME: Final = "timestamp[ms, UTC]"


PLACE: Final = (("topic", TEXT), ("partition", INTEGER))
TABLES: Final[dict[str, Columns]] = {
    "connectors": (
        ("name", TEXT),
        ("verdict", TEXT),
        ("evidence", WORDS),
        ("reasons", WORDS),
        ("repeated_by_change_at_least", INTEGER),
        ("repeated_by_change_at_most", INTEGER),
        ("left_out_by_change_at_least", INTEGER),
        ("left_out_by_change_at_most", INTEGER),
        ("covers", WORDS),
        ("not_covered", WORDS),
    ),
    "findings": (
        ("id", TEXT),
        ("name", TEXT),
        ("severity", TEXT),
        ("subject", TEXT),
        ("message", TEXT),
        ("cure", TEXT),
        ("evidence_json", TEXT),
    ),
    "ranges": (
        *PLACE,
        ("start", INTEGER),
        ("end", INTEGER),
        ("records", INTEGER),
        ("control_records", INTEGER),
        ("aborted_records", INTEGER),
        ("plain_records", INTEGER),
        ("batches", INTEGER),
        ("size_bytes", INTEGER),
        ("first_timestamp", TIME),
        ("last_timestamp", TIME),
    ),
    "gaps": (*PLACE, ("start", INTEGER), ("end", INTEGER), ("kind", TEXT)),
    "transactions": (
        ("connector", TEXT),
        ("committed", INTEGER),
        ("aborted", INTEGER),
        ("records", INTEGER),
        ("size_bytes", INTEGER),
        ("aborted_records", INTEGER),
        ("aborted_bytes", INTEGER),
    ),
    "histograms": (("connector", TEXT), ("of", TEXT), ("low", INTEGER), ("high", INTEGER), ("transactions", INTEGER)),
    "timeline": (
        ("connector", TEXT),
        ("timestamp", TIME),
        ("kind", TEXT),
        *PLACE,
        ("offset", INTEGER),
        ("tasks", INTEGER),
        ("producer_id", INTEGER),
        ("producer_epoch", INTEGER),
    ),
    "epochs": (
        *PLACE,
        ("producer_id", INTEGER),
        ("producer_epoch", INTEGER),
        ("timestamp", TIME),
        ("connector", TEXT),
    ),
    "growth": (*PLACE, ("hour", TIME), ("records", INTEGER), ("tombstones", INTEGER)),
    "stalls": (
        *PLACE,
        ("start_offset", INTEGER),
        ("from_time", TIME),
        ("until_time", TIME),
        ("producer_id", INTEGER),
        ("connector", TEXT),
    ),
}
"""The columns of each file. Times are UTC, null for none; a histogram's low and high are records or ms, inside both."""


def prepare_export(directory: Path) -> None:
    """Creates the directory; raises as `export_audit` does. Called before an audit too, whose answer would be lost."""
    try:
        import pyarrow.parquet  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise NotInstalled("--export", "report", error) from error
    make_directory(directory)


def export_audit(directory: Path, report: AuditReport) -> tuple[Path, ...]:
    """Writes one file for each table into `directory`, which is created if missing; returns the files.

    Each file is written whole or not at all, readable by its owner only, and names the audited cluster and the time in
    its metadata. Raises ConfigError if the extra `report` is not installed or the directory cannot be written.
    """
    prepare_export(directory)
    from pyarrow import parquet

    written = []
    with ExitStack() as files:
        for name, rows in _rows(report).items():
            path = directory / f"{name}.parquet"
            file = files.enter_context(atomic_file(path))
            parquet.write_table(_table(TABLES[name], rows, report), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
            written.append(path)
    return tuple(written)


def _rows(report: AuditReport) -> dict[str, Iterable[Sequence[object]]]:
    return {
        "connectors": (_connector(each) for each in report.connectors),
        "findings": (
            (
                each.id,
                each.name,
                each.severity.value,
                each.subject,
                each.message,
                each.cure,
                json.dumps(dict(each.evidence)),
            )
            for each in report.findings
        ),
        "ranges": (_range(each) for each in report.ranges),
        "gaps": ((each.topic, each.partition, *gap) for each in report.ranges for gap in each.gaps),
        "transactions": (
            (
                each.connector,
                each.committed,
                each.aborted,
                each.records,
                each.size_bytes,
                each.aborted_records,
                each.aborted_bytes,
            )
            for each in report.transactions
        ),
        "histograms": (
            (each.connector, of, *bucket_bounds(bucket), count)
            for each in report.transactions
            for of, histogram in (("records", each.sizes), ("duration_ms", each.durations))
            for bucket, count in sorted(histogram.items())
        ),
        "timeline": report.timeline,
        "epochs": report.epochs,
        "growth": (
            (topic, partition, hour * 3_600_000, records, tombstones)
            for topic, partition, hour, records, tombstones in report.growth
        ),
        "stalls": report.stalls,
    }


def _connector(judged: ConnectorVerdict) -> Sequence[object]:
    what = judged.name, judged.verdict.value, judged.evidence, judged.reasons
    counts = (*judged.repeated_by_change, *judged.left_out_by_change)
    return (*what, *counts, judged.covers, judged.not_covered)


def _range(evidence: RangeEvidence) -> Sequence[object]:
    return tuple(getattr(evidence, name) for name, _ in TABLES["ranges"])


def _table(columns: Columns, rows: Iterable[Sequence[object]], report: AuditReport) -> "pyarrow.Table":
    import pyarrow

    types = {
        TEXT: pyarrow.string(),
        INTEGER: pyarrow.int64(),
        WORDS: pyarrow.list_(pyarrow.string()),
        TIME: pyarrow.timestamp("ms", tz="UTC"),
    }
    by_column = list(zip(*rows, strict=True)) or [()] * len(columns)
    plan = report.plan
    schema = pyarrow.schema(
        [(name, types[kind]) for name, kind in columns],
        metadata={"eosctl.as_of_ms": str(plan.as_of), "eosctl.cluster_id": _text(plan.cluster_id or "")},
    )
    arrays = [
        pyarrow.array([_value(value, kind) for value in values], types[kind])
        for values, (_, kind) in zip(by_column, columns, strict=True)
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _value(value: Any, kind: str) -> Any:  # noqa: ANN401  # a cell of any column
    if value is None or (kind == TIME and value < 0):
        return None
    if kind == WORDS:
        return [_text(each) for each in value]
    return _text(value) if kind == TEXT else value


def _text(text: str) -> str:
    """`text` with lone surrogates, which UTF-8 has no bytes for, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


# The files with which spark-submit runs an audit.


PACKAGE: Final = "eosctl"
ZIP: Final = "eosctl.zip"
REQUIREMENTS: Final = "requirements.txt"
EXECUTORS_NEED: Final = ("pyarrow", "pandas")
"""pyspark's own dependencies; pyspark is there already."""
STORE_NEEDS: Final = ("psycopg", "psycopg-binary")
"""The dependencies of a ledger in PostgreSQL, if installed here."""
_DATED: Final = (1980, 1, 1, 0, 0, 0)


def write_spark_bundle(directory: Path) -> tuple[Path, ...]:
    """Writes the files, each whole or not at all, into `directory`, which is created; returns them in order of name.

    The zip is the same for the same eosctl. Raises ConfigError if a file cannot be written.
    """
    make_directory(directory)
    texts = {each.name: each.read_text(encoding="utf-8") for each in _bundled()}
    texts |= {REQUIREMENTS: _requirements()}
    for name, text in texts.items():
        write_atomic_file(directory / name, text)
    with atomic_file(directory / ZIP) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, each in _members(files(PACKAGE), PACKAGE):
            zipped.writestr(zipfile.ZipInfo(name, _DATED), each.read_bytes(), zipfile.ZIP_DEFLATED)
    return tuple(sorted(directory / name for name in (*texts, ZIP)))


def _bundled() -> list[Traversable]:
    return [each for each in files(PACKAGE).joinpath("spark", "bundle").iterdir() if each.is_file()]


def _members(directory: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in sorted(directory.iterdir(), key=lambda each: each.name):
        name = f"{path}/{each.name}"
        if each.is_file() and not each.name.endswith(".pyc"):
            found.append((name, each))
        elif each.is_dir() and each.name != "__pycache__":
            found += _members(each, name)
    return found


def _requirements() -> str:
    from importlib import metadata  # twenty modules of the standard library

    names = [_name(each) for each in metadata.requires(PACKAGE) or () if "extra ==" not in each]
    installed = {each.name for each in metadata.distributions()} & {*STORE_NEEDS}
    return "".join(f"{name}=={metadata.version(name)}\n" for name in sorted({*names, *EXECUTORS_NEED, *installed}))


def _name(requirement: str) -> str:
    end = next((place for place, each in enumerate(requirement) if not each.isalnum() and each not in "-_."), None)
    return requirement[:end]
