"""Who performs the steps of a plan, with what each of them reads and decides by."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.explanations import is_overtaken
from eosctl.analysis.offsets import OffsetsFold
from eosctl.clients.access import ClusterAccess
from eosctl.executors.apply import Performer
from eosctl.executors.committing import CommitChecks
from eosctl.executors.connectors import ResumeChecks
from eosctl.executors.performers import performers
from eosctl.files import RESTORED_CONFIG, read_text
from eosctl.model.described import known
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.sides import Side
from eosctl.model.transactions import TransactionDescription
from eosctl.planning.answered_offsets import contradiction
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_transactions import describe_transactional_ids
from eosctl.sources.plan_facts import Folds, read_entries
from eosctl.sources.transaction_now import read_markers, read_transaction_now

FOLDS: Final = Folds(connector_states, OffsetsFold)
"""What preconditions are read again with."""
COMMITS: Final = CommitChecks(read_transaction_now, partition_offsets, read_markers)
"""What a commit is looked at with, before and after."""


def performers_on(
    access: Callable[[Side], ClusterAccess],
    failpoint: Failpoint = no_failpoint,
    say: Callable[[str], None] = lambda _: None,
) -> Mapping[type, Performer]:
    """The performer of each kind of step, with what it reads and decides by."""
    checks = ResumeChecks(partial(read_entries, access, OffsetsFold), partial(contradiction, nulls=False), is_overtaken)
    config = partial(read_text, kind=RESTORED_CONFIG)
    return performers(access, describe_known, checks, lambda file: config(Path(file)), COMMITS, failpoint, say)


def describe_known(access: ClusterAccess, transactional_ids: Sequence[str]) -> Mapping[str, TransactionDescription]:
    """Descriptions of the IDs that coordinators know; raises the error of one that did not answer."""
    return known(describe_transactional_ids(access.wire, transactional_ids))
