"""Reading everything that a snapshot keeps."""

from collections.abc import Callable

from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.snapshot import OffsetsFacts, Snapshot
from eosctl.operations.reading import read_cluster, read_config_topic, read_listed_ids, read_transactions
from eosctl.operations.session import Context
from eosctl.operations.snapshot_transactions import look_at_producers, read_log_facts, read_producers_facts


def read_everything(context: Context, config_topic: str, read_offsets: Callable[[], OffsetsFacts]) -> Snapshot:
    """The cluster with all that any command reads; what cannot be read is Skipped, the cluster itself excepted.

    Producers are looked at before transactional IDs are described and once more afterwards: only then is it known
    which of the open transactions hang.
    """
    as_of, cluster = context.now(), read_cluster(context)
    first = or_skipped(lambda: look_at_producers(context))
    listed = or_skipped(lambda: read_listed_ids(context))
    ids = () if isinstance(listed, Skipped) else listed.transactional_ids
    transactions = listed if isinstance(listed, Skipped) else or_skipped(lambda: read_transactions(context, ids))
    producers = first if isinstance(first, Skipped) else or_skipped(lambda: read_producers_facts(context, first))
    return Snapshot(
        as_of=as_of,
        cluster=cluster,
        group_id=context.options.group_id,
        config_topic=or_skipped(lambda: read_config_topic(context, config_topic)),
        transactions=transactions,
        connect=or_skipped(context.read_connect),
        offsets=or_skipped(read_offsets),
        transaction_log=or_skipped(lambda: read_log_facts(context)),
        producers=producers,
        unlisted=() if isinstance(listed, Skipped) else listed.unlisted,
    )
