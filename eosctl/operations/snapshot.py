"""Reading everything that a snapshot keeps."""

from collections.abc import Callable

from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.snapshot import OffsetsFacts, Snapshot
from eosctl.operations.reading import read_cluster, read_config_topic, read_listed_ids, read_transactions
from eosctl.operations.session import Session
from eosctl.operations.snapshot_transactions import look_at_producers, read_log_facts, read_producers_facts


def read_everything(session: Session, config_topic: str, read_offsets: Callable[[], OffsetsFacts]) -> Snapshot:
    """The cluster with all that any command reads; what cannot be read is Skipped, the cluster itself excepted.

    Producers are looked at before transactional IDs are described and once more afterwards: only then is it known
    which of the open transactions hang.
    """
    as_of, cluster = session.now(), read_cluster(session)
    first = or_skipped(lambda: look_at_producers(session))
    listed = or_skipped(lambda: read_listed_ids(session))
    ids = () if isinstance(listed, Skipped) else listed.transactional_ids
    transactions = listed if isinstance(listed, Skipped) else or_skipped(lambda: read_transactions(session, ids))
    producers = first if isinstance(first, Skipped) else or_skipped(lambda: read_producers_facts(session, first))
    return Snapshot(
        as_of=as_of,
        cluster=cluster,
        group_id=session.options.group_id,
        config_topic=or_skipped(lambda: read_config_topic(session, config_topic)),
        transactions=transactions,
        connect=or_skipped(session.read_connect),
        offsets=or_skipped(read_offsets),
        transaction_log=or_skipped(lambda: read_log_facts(session)),
        producers=producers,
        unlisted=() if isinstance(listed, Skipped) else listed.unlisted,
    )
