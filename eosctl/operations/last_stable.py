"""What `transactions lso` answers: last stable offsets and who holds them back, once or again and again."""

from collections.abc import Callable
from dataclasses import dataclass

from eosctl.analysis.hanging import ALL_AGES, find_candidates
from eosctl.analysis.last_stable import stability
from eosctl.analysis.owners import owners_of
from eosctl.errors import UsageError
from eosctl.model.last_stable import LastStableOffsets
from eosctl.model.skipped import Skipped
from eosctl.operations.hanging import join_with_coordinators
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.operations.reporter import Reporter
from eosctl.sources.cluster_reader import ClusterReader, Wanted


@dataclass(frozen=True, slots=True)
class StabilityRequest:
    """Which partitions (none: all that are held back), and how often to look at them.

    every_s is the time between two looks, None for a single one; looks bounds their number.
    """

    topics: tuple[str, ...]
    config_topic: str
    every_s: float | None = None
    looks: int | None = None


def last_stable_offsets(reader: ClusterReader, request: StabilityRequest) -> LastStableOffsets:
    """Offsets of the partitions named, or of all that are held back, with who holds them back."""
    return _look(reader, wanted_partitions(request.topics), read_connect_names(reader, request.config_topic))


def watch_last_stable_offsets(
    reader: ClusterReader, request: StabilityRequest, show: Callable[[LastStableOffsets], None], console: Reporter
) -> LastStableOffsets:
    """The last look. Before it each look is shown, until there were as many as requested, or until Ctrl-C."""
    if request.every_s is None:
        if request.looks is not None:
            raise UsageError("--looks says how often to look, so it needs --watch")
        return last_stable_offsets(reader, request)
    wanted, pauses = wanted_partitions(request.topics), reader.every(request.every_s)
    connect = read_connect_names(reader, request.config_topic)
    found, count = _look(reader, wanted, connect), 1
    try:
        while request.looks is None or count < request.looks:
            show(found)
            next(pauses)
            found, count = _look(reader, wanted, connect), count + 1
    except KeyboardInterrupt:
        console.narrate(f"watched {count} times")
    return found


def _look(reader: ClusterReader, wanted: Wanted, connect: ConnectNames) -> LastStableOffsets:
    leaders = reader.partitions(wanted)
    answered = reader.offsets(list(leaders))
    offsets = {place: each for place, each in answered.items() if not isinstance(each, Skipped)}
    held = {place: each for place, each in offsets.items() if each.held_back > 0}
    as_of = reader.now()
    since = reader.first_timestamps({place: each.last_stable_offset for place, each in held.items()}, leaders)
    seen = reader.producers({place: leaders[place] for place in held}, quiet=True)
    joined = join_with_coordinators(reader, find_candidates(seen.producers, as_of, ALL_AGES))
    opened = (*joined.transactions, *joined.undecided)
    if any(each.transactional_id is None for each in opened):
        reader.access()  # the coverage keeps it if IDs may be hidden
    reasons = "; ".join(joined.reasons)
    return LastStableOffsets(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        partitions=stability(offsets if wanted else held, opened, since),
        free=len(offsets) - len(held),
        owners=owners_of([each.transactional_id for each in opened], connect.names),
        not_searched=tuple(place for place, each in answered.items() if isinstance(each, Skipped)),
        notes=(*([f"which IDs hold back is not known of all: {reasons}"] if reasons else []), *connect.notes),
        coverage=reader.coverage,
    )
