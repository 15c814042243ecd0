"""Creating a connector that begins at given offsets: what speaks against it, beside what does against a restore.

1. The connector does not exist, and workers can create one STOPPED (KIP-980, 3.7): one that runs before its offsets
   are written begins from nothing.
2. Offsets outlive a connector that is deleted (KIP-875). Where some of this name are left and are not those that are to
   be written, the user has to say that they may be written over.
3. At least one offset is to be written: without, it would begin from nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eosctl.model.connector_steps import CreateConnector
from eosctl.model.counts import counted
from eosctl.model.migration import MigrationFacts
from eosctl.model.offsets import Entry
from eosctl.model.plan import ClusterIs, ConnectorStopped, CreateTopic, PlannedStep, TopicIsCompactOrAbsent
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped
from eosctl.model.versions import INITIAL_STATE

PARTITIONS: Final = 25
"""Of a connector's own offsets topic, as Connect creates it."""


@dataclass(frozen=True, slots=True)
class NewConnector:
    """The connector to create: the file with its config, and the digest of that (codecs.connector_files).

    overwrite: offsets that a deleted connector of this name left may be written over.
    """

    name: str
    file: str
    digest: str
    overwrite: bool = False


def objections_to(
    new: NewConnector,
    facts: MigrationFacts,
    entries: Mapping[str, Sequence[Entry]],
    wanted: Mapping[bytes, bytes | None],
) -> Iterator[tuple[str, str]]:
    """Why it must not be created, each with what to do. entries are by topic, wanted the values by raw key."""
    now = facts.connectors[Side.SOURCE, new.name]
    if isinstance(now, Skipped):
        yield f"whether connector {new.name} exists is unknown: {now.reason}", "ask a worker: --connect-url"
    elif now.state is not None:
        change = (
            f"to change its offsets: `eosctl offsets restore FILE --connector {new.name}`; to create "
            "another connector, change `name` in the config"
        )
        yield f"connector {new.name} exists: it is {now.state}", change
        return
    version = facts.worker_version
    if not isinstance(version, Skipped) and version < INITIAL_STATE:
        yield (
            f"workers of {version} cannot create a connector STOPPED (KIP-980, since {INITIAL_STATE})",
            "`eosctl offsets restore` writes the offsets of a connector that does not exist: do that first, then "
            "create it (POST /connectors), and it begins there",
        )
    if not any(wanted.values()):
        yield (
            "the file has no offset to begin at",
            "without one, create the connector over REST: it begins from nothing",
        )
    for topic, held in entries.items():
        left = _left(held, wanted)
        if left and not new.overwrite:
            what = counted(left, "offset that is", "offsets that are")
            yield (
                f"topic {topic} holds {what} not those of the file, of a connector {new.name} that was deleted",
                "`eosctl offsets show` shows them; --force writes over those that the file names and keeps the others; "
                "an offset of null in the file deletes one",
            )


def _left(held: Iterable[Entry], wanted: Mapping[bytes, bytes | None]) -> int:
    """How many live source partitions there are otherwise than wanted."""
    live = {key.raw: records.committed.value for key, records in held if records.committed is not None}
    return sum(1 for raw, value in live.items() if value is not None and wanted.get(raw) != value)


def creating_steps(
    new: NewConnector, facts: MigrationFacts, topics: Sequence[str], guards: tuple[ClusterIs, ConnectorStopped]
) -> Iterator[PlannedStep]:
    """The connector, STOPPED, and its own offsets topic where that does not exist, replicated as the workers' is."""
    yield PlannedStep(CreateConnector(Side.SOURCE, new.name, new.file, new.digest), guards)
    workers, own = facts.topics.get((Side.SOURCE, topics[0])), topics[-1]
    if facts.topics[Side.SOURCE, own] is None and own != topics[0]:
        factor = -1 if workers is None else workers.facts.replication_factor
        absent = TopicIsCompactOrAbsent(Side.SOURCE, own, PARTITIONS)
        yield PlannedStep(CreateTopic(Side.SOURCE, own, PARTITIONS, factor), (guards[0], absent))
