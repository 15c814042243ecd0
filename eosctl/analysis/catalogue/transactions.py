"""Findings about the transactional IDs of the leader and of the tasks."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

IN_PREPARE: Final = (
    "bring back the leaders of its partitions (kafka-topics.sh --describe --unavailable-partitions); where all have "
    "one, restart the broker that coordinates the ID"
)

ONCE_RESUMED: Final = "one that is PAUSED claims its ID when it is resumed, and is reported until then"

NO_LEADER_ID: Final = FindingKind(
    id="EOS110",
    name="leader-id-unknown",
    title="no leader ever prepared",
    severity=Severity.ERROR,
    cause="A leader that is preparing or enabled claims connect-cluster-<group.id> as soon as it is elected. If the ID "
    "expires, because nothing was written for transactional.id.expiration.ms (with connect.protocol=sessioned a new "
    "session key each hour keeps it in use), the leader's next write fails (`Failed "
    "to perform fencable send to config topic`), and it claims the ID again only if that was a change of a config. "
    "After a failed `restart?includeTasks=true` it never does, and refuses every change until it is restarted "
    "(measured with 4.3.1).",
    fix="check --group-id and -b, and restart each worker whose file was changed since it started. If all is right: "
    "PUT /connectors/<connector>/config with what it is, and again if that is refused; if it stays refused, restart "
    "the leader's worker. If its log has authorization errors, the worker's principal needs Write on TransactionalId "
    "connect-cluster-<group.id>",
    source="KIP-618; DistributedHerder.writeToConfigTopicAsLeader",
)
NO_TASK_ID: Final = FindingKind(
    id="EOS111",
    name="task-ids-unknown",
    title="tasks run without known IDs",
    severity=Severity.WARNING,
    cause="A task claims its ID when it starts, and keeps its producer when it is PAUSED later; one that is started "
    "while it is PAUSED claims its ID when it is resumed, and does no harm before. An ID that nobody used "
    "for transactional.id.expiration.ms (7 days) is forgotten, and the task's next write fails with "
    "InvalidPidMappingException.",
    fix="restart each of them: POST /connectors/<connector>/tasks/<task>/restart, of which the leader writes nothing; "
    f"{ONCE_RESUMED}",
    source="KIP-98, KIP-618; TransactionCoordinator.handleAddPartitionsToTransaction, WorkerTask.doRun",
)
OVERDUE: Final = FindingKind(
    id="EOS112",
    name="transaction-overdue",
    title="transaction outlives its timeout",
    severity=Severity.ERROR,
    cause="A coordinator aborts what is Ongoing for longer than its timeout. In PrepareCommit and PrepareAbort the "
    "outcome is decided and has no timeout: markers wait for partitions without leader, or, with brokers before 3.8, "
    "for ever (KAFKA-16352). Fencing is refused there (CONCURRENT_TRANSACTIONS).",
    fix=f"for Ongoing: eosctl fence --transactional-id <id>; for Prepare*: {IN_PREPARE}",
    source="KIP-98, KAFKA-16352; TransactionCoordinator.abortTimedOutTransactions, "
    "TransactionMarkerChannelManager.addTxnMarkersToSend",
)
COLLISION: Final = FindingKind(
    id="EOS113",
    name="task-and-leader-share-id",
    title="task and leader share an ID",
    severity=Severity.ERROR,
    cause="Connect joins names with dashes and escapes nothing: group `connect` with connector `cluster-x` makes IDs "
    "that begin as those of leaders do.",
    fix="give the connector or the other group another name",
    source="KIP-618; Worker.taskTransactionalId, DistributedConfig.transactionalProducerId",
)
PREFIX: Final = FindingKind(
    id="EOS114",
    name="transactional-id-prefix",
    title="one connector's name begins another's",
    severity=Severity.WARNING,
    cause="Transactional IDs are <group.id>-<connector>-<task>. An ACL names one ID or a prefix of IDs, and the prefix "
    "that holds the IDs of all tasks of one connector holds those of the other, too.",
    fix="grant literal IDs, or give the connectors names of which none begins another",
    source="KIP-618, KIP-290; Worker.taskTransactionalId",
    commands=("acl-plan",),
)
FOREIGN: Final = FindingKind(
    id="EOS115",
    name="foreign-transactional-ids",
    title="IDs of nobody under the group's name",
    severity=Severity.INFO,
    cause="They are left over from deleted connectors, or another group's name begins with this one's.",
    fix="nothing for what is left over: it expires; give groups names of which none begins another",
    source="KIP-618; Worker.taskTransactionalId",
)
FORGOTTEN: Final = FindingKind(
    id="EOS116",
    name="open-transaction-without-leader",
    title="open transaction on a partition without leader",
    severity=Severity.ERROR,
    cause="Brokers of 4.3 forget the marker of a partition without leader and call the transaction complete: when the "
    "leader is back, its records hang there (up to 4.2 they wait for the leader). A restarted task, a new leader and "
    "`eosctl fence` all end the open transaction of their ID.",
    fix="start the brokers that hold its replicas (`kafka-topics.sh --describe --unavailable-partitions` names them); "
    "restart and fence nothing before that. What hangs already: `eosctl transactions hanging`",
    source="KIP-98; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue; measured with 3.3.2, 3.6.2, 3.9.2, "
    "4.0.0, 4.1.1, 4.2.0, 4.3.0 and 4.3.1",
)
NEAR_EXPIRY: Final = FindingKind(
    id="EOS117",
    name="transactional-id-near-expiry",
    title="idle transactional IDs are near expiry",
    severity=Severity.WARNING,
    cause="A coordinator forgets an ID that nothing was written under for transactional.id.expiration.ms, and the next "
    "write of the task that holds it fails (InvalidPidMappingException).",
    fix="restart each of them: POST /connectors/<connector>/tasks/<task>/restart, which claims the ID again; "
    f"{ONCE_RESUMED}",
    source="KIP-98; TransactionStateManager.removeExpiredTransactionalIds, WorkerTask.doRun",
    commands=("transactions log",),
)
SHARED_IDS: Final = FindingKind(
    id="EOS118",
    name="task-ids-shared",
    title="tasks of two groups share an ID",
    severity=Severity.ERROR,
    cause="Connect joins <group.id>-<connector>-<task> with dashes and escapes nothing: connector b-c of group a and "
    "connector c of group a-b have the same IDs, and fence each other for ever.",
    fix="stop the other connector (PUT /connectors/<its name>/stop on its own workers), give this one another name: "
    "`eosctl migrate-offsets --connector <connector> --rename-to <name> --stop --set-config --resume`, delete the old "
    "one (DELETE /connectors/<connector>), and resume the other",
    older=OlderFix(
        STOPPED_STATE,
        "delete both connectors (DELETE /connectors/<connector>; their offsets stay), give this one another name: "
        "`eosctl migrate-offsets --connector <connector> --rename-to <name>`, then create both again",
    ),
    source="Worker.taskTransactionalId",
)
SAME_GROUP_ELSEWHERE: Final = FindingKind(
    id="EOS119",
    name="group-id-elsewhere",
    title="two Connect clusters of one group.id write to one Kafka cluster",
    severity=Severity.WARNING,
    cause="A connector that writes to another Kafka cluster has its IDs, <group.id>-<connector>-<task>, there. "
    "Workers of the same group.id are there: connectors of one name in both would fence each other.",
    fix="give the connectors of the two Connect clusters different names, or one of the two another group.id (stop its "
    "source connectors first: the new IDs fence none of the old producers)",
    source="Worker.taskTransactionalId",
)
KINDS: Final = (
    NO_LEADER_ID,
    NO_TASK_ID,
    OVERDUE,
    COLLISION,
    PREFIX,
    FOREIGN,
    FORGOTTEN,
    NEAR_EXPIRY,
    SHARED_IDS,
    SAME_GROUP_ELSEWHERE,
)
