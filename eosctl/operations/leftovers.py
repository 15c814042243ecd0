"""Reads transactions that applications left behind, and what their owners decided."""

from collections.abc import Collection
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from msgspec.structs import replace

from eosctl.analysis.leftovers import MARKERS_MS, Answering, LeftoverFold, find_leftovers, missing_markers
from eosctl.analysis.transaction_log import fold_transaction_log
from eosctl.analysis.transactions import owners_of
from eosctl.codecs.flink_checkpoint import METADATA, decode_flink_checkpoint
from eosctl.errors import UsageError
from eosctl.files import FLINK_STATE, list_files, read_content
from eosctl.model.leftovers import FlinkCheckpoint, Leftover, LeftoverKind, Leftovers, MissingMarker
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.text import pluralize
from eosctl.model.transactions import require_described
from eosctl.operations.transactions import read_connect_names, with_threads
from eosctl.sources.cluster_reader import ClusterReader


def read_leftovers(reader: ClusterReader, prefix: str, config_topic: str) -> Leftovers:
    """The open transactions under the prefix, from the transaction log."""
    log = reader.transaction_log(prefix=prefix)
    wanted = (each for each in log.records if each.transactional_id is None or each.transactional_id.startswith(prefix))
    fold, unknown = LeftoverFold(), 0
    for partition, of_partition in groupby(wanted, key=attrgetter("partition")):
        folded = fold_transaction_log(of_partition)
        unknown += len(folded.newer)
        values = {name: each.value for name, each in folded.ids.items() if each.value is not None}
        fold.add_all(values, partition, len(log.leaders))
    connect = read_connect_names(reader, config_topic)
    as_of = reader.now()
    found = tuple(with_missing(reader, each, as_of) for each in fold.found())
    ids = [each.transactional_id for each in found]
    newer = (f"{pluralize(unknown, 'record was', 'records were')} not read: a newer Kafka wrote them",)
    open_ones = pluralize(fold.misplaced, "open transaction lies", "open transactions lie")
    lost = (f"{open_ones} in a partition of the log where no coordinator looks: `eosctl transactions log` names them",)
    return Leftovers(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        prefix=prefix,
        leftovers=found,
        ids=fold.ids,
        owners=owners_of(ids, with_threads(reader, connect.names, ids)),
        unread=log.unread,
        notes=(*(newer if unknown else ()), *(lost if fold.misplaced else ()), *connect.notes),
        coverage=reader.coverage,
    )


def read_checkpoint(path: Path, prefix: str) -> FlinkCheckpoint:
    """The sinks with this prefix in a checkpoint's directory, or in its `_metadata` alone.

    Raises UsageError if a later checkpoint of the job lies beside it, ConfigError if it is none or cannot be read.
    """
    metadata = path / METADATA if path.is_dir() else path
    content = read_content(metadata, FLINK_STATE)
    files = [each for each in list_files(path, FLINK_STATE) if each != metadata] if path.is_dir() else []
    found = decode_flink_checkpoint(content, (read_content(each, FLINK_STATE) for each in files), prefix)
    for other in metadata.resolve().parent.parent.glob(f"chk-*/{METADATA}"):
        if (number := other.parent.name.removeprefix("chk-")).isdecimal() and int(number) > found.checkpoint_id:
            raise UsageError(f"{path} is not the last completed checkpoint", hint=f"give {other.parent}")
    return found


def read_decided(reader: ClusterReader, names: Collection[str]) -> tuple[Leftover, ...]:
    """IDs whose transaction was decided more than a minute ago and has not ended, by the log."""
    if not names:
        return ()
    log = reader.transaction_log(names)
    folded = fold_transaction_log(each for each in log.records if each.transactional_id in names)
    values = {name: each.value for name, each in folded.ids.items() if each.value is not None}
    as_of = reader.now()
    decided = [each for each in find_leftovers(values) if each.kind is LeftoverKind.PREPARED]
    found = (with_missing(reader, each, as_of) for each in decided)
    return tuple(each for each in found if isinstance(each.missing, Skipped) or each.missing)


def with_missing(reader: ClusterReader, left: Leftover, as_of: int) -> Leftover:
    """With the markers that are missing, where the transaction was decided more than a minute ago."""
    if left.kind is not LeftoverKind.PREPARED or as_of - left.value.last_update_ms < MARKERS_MS:
        return left
    return replace(left, missing=read_or_skip(partial(_missing, reader, left)))


def _missing(reader: ClusterReader, left: Leftover) -> tuple[MissingMarker, ...]:
    name = left.transactional_id
    described = require_described(reader.describe([name])).get(name)
    if described is None or not described.state.is_open:
        return ()
    wanted: dict[str, frozenset[int]] = {}
    for place in described.partitions:
        wanted[place.topic] = wanted.get(place.topic, frozenset()) | {place.partition}
    leaders = reader.partitions(wanted) if wanted else {}
    answered = reader.producers(leaders, quiet=True)
    with reader.optional_reads():
        known = Answering(reader.broker_releases(), read_or_skip(partial(reader.topic_facts, sorted(wanted))))
    held = described.producer.producer_id
    return missing_markers(described.partitions, leaders, answered, held, described.coordinator, known)
