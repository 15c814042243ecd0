"""What `transactions hanging` decides and shows."""

from dataclasses import dataclass

from eosctl.analysis.transactions import ownership
from eosctl.commands.context import Context
from eosctl.commands.hanging import NO_LEADER, partitions_to_search, search
from eosctl.commands.held_back import connect_topics, read_held_back
from eosctl.commands.owning import read_connect_names
from eosctl.commands.partitions import wanted_partitions
from eosctl.errors import EXIT_FINE, EXIT_FOUND, Unreachable
from eosctl.render.document import Document, rfc3339
from eosctl.render.views.hanging import hanging_row, view_hanging


@dataclass(frozen=True, slots=True)
class HangingQuestion:
    """Where to search, how old a transaction must be, and which internal topics Connect has."""

    topics: tuple[str, ...]
    broker: int | None
    max_timeout_ms: int
    config_topic: str
    offsets_topic: str


def find_hanging(context: Context, question: HangingQuestion) -> Document:
    """All that hangs in the partitions asked for, with what it holds back and who owns it."""
    partitions = partitions_to_search(context, wanted_partitions(question.topics), question.broker)
    led = {partition: leader for partition, leader in partitions.items() if leader != NO_LEADER}
    searched = search(context, led, question.max_timeout_ms)
    connect = read_connect_names(context, question.config_topic)
    topics = connect_topics(context, connect, question.config_topic, question.offsets_topic)
    held = read_held_back(context, [each.transaction for each in searched.verdicts], connect, topics)
    rows = [
        (
            verdict,
            hanging_row(verdict, back, ownership(verdict.transaction.transactional_id, connect.names), searched.as_of),
        )
        for verdict, back in zip(searched.verdicts, held, strict=True)
    ]
    missing = [str(partition) for partition in partitions if partition not in led]
    as_of, cluster_id = rfc3339(searched.as_of), context.wire.cluster_id
    return view_hanging(rows, searched.access, len(led), missing, connect.notes, as_of, cluster_id)


def answer(document: Document) -> int:
    """The exit code, once the document is shown: 1 where something hangs; raises Unreachable where not all was seen."""
    if document.data["transactions"]:
        return EXIT_FOUND
    missing = document.data["not_searched"]
    if missing:
        raise Unreachable(f"nothing hangs where it could be seen, but {len(missing)} partitions have no leader")
    return EXIT_FINE
