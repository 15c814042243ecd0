"""The plan just beside each situation: an offset one off, an owner more, a fact left out or unread."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import decode_worker_file
from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.model.acl_plan import AclRequest, PlannedBinding
from eosctl.model.acls import AclBinding, Operation, PatternType, Permission, topic, transactional_id
from eosctl.model.audit import AuditedTopic, PartitionBounds, TopicRole
from eosctl.model.client_roles import ClientRole, ConnectCluster
from eosctl.model.fencing import FencingRequest
from eosctl.model.ledger import Cursor
from eosctl.model.migration import ConnectClusters, KeptHistory, MergeRule
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import KnownPhase, SourceSupport
from eosctl.planning.acl_difference import compare_acls, plan_acl_changes
from eosctl.planning.acls import plan_acls
from eosctl.planning.audit import resume
from eosctl.planning.fencing import plan_fencing, select_candidates
from eosctl.planning.migration import merge_offsets, plan_migration
from eosctl.planning.operated import for_operator
from eosctl.planning.producing_elsewhere import find_clusters
from eosctl.planning.restore import find_differences, find_positions, plan_restore
from eosctl.planning.transaction_ends import plan_abort, plan_commit
from eosctl.planning.undo import undo_plan
from tests.looked_at import AsLookedAt
from tests.neighbours import by_call, flat
from tests.planning import test_acl_difference as acls
from tests.planning import test_acls, test_fencing, test_migration, test_restore
from tests.planning import test_transaction_ends as ends
from tests.planning.golden_plans import OWNED, target
from tests.planning.offsets_topics import java, topic_of
from tests.planning.test_migration import ALL, CREATE, FACTS, NEW_FACTS, OWN, OWN_FACTS, RUNNING, S, T

Asked = tuple[Callable[..., Any], tuple[Any, ...]]

ELSEWHERE = replace(ALL, other_cluster=True, target_group_id="h")
THERE = replace(
    FACTS,
    cluster_ids={S: "k", T: "l"},
    connectors={(S, "c"): ConnectorFacts("STOPPED"), (T, "c"): ConnectorFacts(None)},
    histories={"c": KeptHistory("h", "k", 3)},
    clusters=ConnectClusters("k", {"c": "l"}, {"c": "there:9092"}, KnownPhase.NOT_ENABLED),
)
HELD = replace(FACTS, answers={"c": (test_restore.AT_9,)}, live_owners={S: OWNED, T: OWNED}, **target())
A, B = test_restore.KEY_A, test_restore.KEY_B
TWO = topic_of("old", 3, java(3, {A: b"1", B: b"2"}))
LIVE = test_fencing.at_work("g", test_fencing.ConnectorTaskId("orders", 0))
KNOWN = test_fencing.described("g-orders-0", "g-orders-1") | test_fencing.described(
    "g-orders-2", state=TransactionState.ONGOING
)
FENCED = FencingRequest(connectors=("orders",), transactional_ids=("g-orders-2",))
CANDIDATES = select_candidates(FENCED, "g", {"orders": 2}, KNOWN, test_fencing.NAMES)
DENIED = AclBinding("User:producer", Operation.WRITE, topic("out"), Permission.DENY)
GONE = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
WIDE = AclBinding("User:producer", Operation.ALL, transactional_id("g-", PatternType.PREFIXED))
EXISTING = frozenset(sorted(acls.NEEDED)[::2]) | {DENIED, GONE, WIDE}
USERS = {(role, None): f"User:{role}" for role in ClientRole}
ENTRIES = tuple(
    entries_by_connector(topic_of("t", 5, java(5, offsets)))["c"]
    for offsets in ({A: b"1", B: b"2"}, {A: b"3", test_restore.KEY: b"4"})
)
STEPS = test_migration.plan(test_migration.STOP, test_migration.VERIFY, test_migration.CONFIGURE, test_migration.RESUME)
OPEN = TransactionState.ONGOING
VERDICTS = (
    ends.hanging(ends.opened(7)),
    ends.hanging(ends.opened(9, 2, state=OPEN)),
    ends.live(ends.opened(1, 1, state=OPEN)),
)
MIRROR = decode_worker_file(
    test_acls.MIRROR_MAKER.format(a=test_acls.JAAS.format("a"), b=test_acls.JAAS.format("b")), "mm2.properties"
)
MYSQL_HISTORY = {"schema.history.internal.kafka.bootstrap.servers": "broker:9092"}
SOURCES = (
    test_acls.SOURCE,
    test_acls.SINK,
    test_acls.debezium(**test_acls.CREATED, **test_acls.HEARTBEATS, **test_acls.NOTICES, **test_acls.SIGNALS),
    test_acls.debezium(test_acls.MYSQL, **MYSQL_HISTORY, **test_acls.ROUTER),
    replace(test_acls.with_settings(test_acls.SOURCE, offsets_storage_topic="own", tasks_max="2"), task_count=1),
)
PREFIXES = AclRequest((), SourceSupport.ENABLED, pattern_type=PatternType.PREFIXED, headroom=1)


def line(binding: PlannedBinding | AclBinding) -> str:
    """In one word: it is no prose."""
    planned = binding.binding if isinstance(binding, PlannedBinding) else binding
    optional = "?" if isinstance(binding, PlannedBinding) and binding.is_optional else ""
    return f"{optional}{planned.principal}/{planned.operation}/{planned.pattern}".replace(" ", "/")


def needed(request: AclRequest) -> list[str]:
    found = plan_acls(request, lambda _: "")
    return [*map(line, found.bindings), *(f"{each.id} {each.subject}" for each in found.findings)]


def difference_of(
    existing: frozenset[AclBinding], servers: frozenset[str], super_users: frozenset[str]
) -> dict[str, object]:
    found = compare_acls(acls.WISH, acls.PLAN, existing, servers, super_users=super_users)
    statuses = {line(each.planned): each.status for each in found.compared}
    rows = [f"{each.id} {each.severity} {each.subject}" for each in found.findings]
    return {**statuses, "extra": [line(each.binding) for each in found.extra], "findings": rows}


def changes_of(existing: frozenset[AclBinding], prune: bool) -> list[str]:
    plan = plan_acl_changes(acls.compare(existing), acls.PLAN, existing, "k", 1, prune=prune)
    return [f"{type(each.step).__name__} {line(one)}" for each in plan.steps for one in each.step.bindings]  # type: ignore[union-attr]


def acl_request(*connectors: Any) -> AclRequest:
    return replace(PREFIXES, clusters=(ConnectCluster((test_acls.WORKER,), connectors),))


SITUATIONS: dict[str, Asked] = {
    "move": (plan_migration, (ALL, FACTS)),
    "move-running": (plan_migration, (ALL, RUNNING)),
    "move-held": (plan_migration, (test_migration.WISH, HELD)),
    "move-elsewhere": (plan_migration, (ELSEWHERE, THERE)),
    "restore": (plan_restore, (test_restore.FROM_FILE, FACTS)),
    "restore-held": (plan_restore, (replace(test_restore.RESTORE, offsets=(test_restore.AT_9,), stop=True), HELD)),
    "create": (plan_restore, (CREATE, NEW_FACTS)),
    "create-own": (plan_restore, (OWN, OWN_FACTS)),
    "positions": (
        find_positions,
        ("shop", [test_restore.MYSQL, ConnectorOffset(test_restore.SHOP, {"lsn": 0x1FF})], test_restore.READ),
    ),
    "differences": (
        find_differences,
        ("c", test_restore.FILE, {"position": 9}, {"position": 10}),
    ),
    "merge": (merge_offsets, (test_restore.STAY, *ENTRIES, 5, MergeRule.FAIL)),
    "operated": (for_operator, (STEPS, test_migration.EMITTED)),
    "operated-mirror": (for_operator, (STEPS, test_migration.MIRRORED)),
    "undo": (undo_plan, (plan_migration(ALL, RUNNING).plan,)),
    "undo-create": (undo_plan, (plan_restore(OWN, OWN_FACTS).plan,)),
    "undo-acls": (undo_plan, (acls.changes(EXISTING, prune=True),)),
    "clusters": (find_clusters, (ELSEWHERE, THERE)),
    "fence": (plan_fencing, (FENCED, CANDIDATES, KNOWN, LIVE, 60_000)),
    "candidates": (select_candidates, (FENCED, "g", {"orders": 2}, KNOWN, test_fencing.NAMES)),
    "abort": (plan_abort, (ends.WISH, VERDICTS, ends.NOW, "k")),
    "abort-one": (plan_abort, (replace(ends.WISH, producer_id=9, start_offset=7), VERDICTS, ends.NOW, "k")),
    "commit": (plan_commit, (ends.COMMIT, ends.facts())),
    "commit-live": (plan_commit, (ends.COMMIT, ends.facts(live=ends.AT_WORK))),
    "resume": (
        resume,
        (
            {TopicPartition("t", at): Cursor("t", at, "A", 50) for at in (0, 1)},
            [AuditedTopic("t", TopicRole.OFFSETS, "A")],
            [PartitionBounds("t", 0, 50, 50, 90, 0)],
        ),
    ),
    "acl-difference": (difference_of, (EXISTING, acls.HERE, frozenset({"User:admin"}))),
    "acl-changes": (changes_of, (EXISTING, True)),
    **{f"acls-{number}": (needed, (acl_request(each),)) for number, each in enumerate(SOURCES)},
    "acls-mirror": (needed, (replace(PREFIXES, clusters=MIRROR),)),
}
NAMED = {"differences": {"force": False}}


def lines(name: str) -> Iterator[str]:
    function, given = SITUATIONS[name]
    named = NAMED.get(name, {})
    yield from flat(function(*given, **named))
    yield from by_call(function, *given, **named)


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_gives_the_plan_of_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"planning/{name}", lines(name))
