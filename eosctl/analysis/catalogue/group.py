"""Findings about the group that the workers form."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

NO_GROUP: Final = FindingKind(
    id="EOS020",
    name="no-such-group",
    title="no such group of workers",
    severity=Severity.ERROR,
    cause="Transactional IDs begin with the group.id: with a wrong one nothing that is said about them is right.",
    fix="give --group-id the workers' group.id, and -b their brokers",
    source="KIP-618; Worker.taskTransactionalId, WorkerCoordinator.protocolType",
    commands=("migrate-offsets", "offsets restore", "offsets create-connector"),
    is_misnaming=True,
)
UNNAMED: Final = FindingKind(
    id="EOS021",
    name="unnamed-worker",
    title="worker that was not named",
    severity=Severity.ERROR,
    cause="One worker that is not enabled voids exactly-once for the tasks that it is given.",
    fix="name every worker with --connect-url, as it advertises itself (rest.advertised.host.name and .port)",
    source="KIP-618; Worker.startSourceTask",
)
STRANGER: Final = FindingKind(
    id="EOS022",
    name="worker-knows-other-connectors",
    title="worker that knows other connectors",
    severity=Severity.ERROR,
    cause="The worker belongs to another Connect cluster, or does not keep up with the config topic.",
    fix="give only workers of one Connect cluster; if it is of this one, look for errors of KafkaBasedLog in its log "
    "and restart it",
    source="DistributedHerder.connectors",
)
PROTOCOL: Final = FindingKind(
    id="EOS023",
    name="unsigned-requests",
    title="fencing endpoint is open",
    severity=Severity.WARNING,
    cause="Workers ask the leader to fence over REST. Only the protocol `sessioned` signs these requests (KIP-507), "
    "and it is used only where every worker supports it.",
    fix="set connect.protocol=sessioned (the default) on every worker and restart them one by one",
    source="KIP-507; DistributedHerder.requestNotSignedProperly",
)
MOVING: Final = FindingKind(
    id="EOS024",
    name="tasks-moving",
    title="tasks are moving",
    severity=Severity.WARNING,
    cause="While a worker is down its tasks wait for it (scheduled.rebalance.max.delay.ms, 5 minutes); a second "
    "restart before that ends moves them twice.",
    fix="wait: `eosctl upgrade-check --to <phase> --wait 300` ends when the group is at rest",
    source="KIP-415; IncrementalCooperativeAssignor.handleLostAssignments",
)
ONE_ADDRESS: Final = FindingKind(
    id="EOS025",
    name="shared-worker-address",
    title="workers that cannot reach each other",
    severity=Severity.ERROR,
    cause="A task start asks the leader to fence, and every change is forwarded to the leader, at the address that it "
    "advertises. Where two members advertise one address, or one of several hosts advertises its loopback address, "
    "such a request reaches no worker (500, `IO Error trying to forward REST request`) or one that does not lead (409, "
    "`Cannot complete request because of a conflicting operation`), and the tasks that asked for a round of fencing "
    "are FAILED.",
    fix="set rest.advertised.host.name and rest.advertised.port of every worker to what the other workers reach it by, "
    "and restart them one by one",
    source="DistributedHerder.fenceZombieSourceTasks, RestClient.httpRequest",
)
POLICIES: Final = FindingKind(
    id="EOS026",
    name="override-policies-differ",
    title="workers with different override policies",
    severity=Severity.WARNING,
    cause="The worker that answers a request checks the overrides of a connector's clients by its own policy, and so "
    "does each worker that starts one of its tasks: with `producer.override.` settings that only some allow, tasks are "
    "FAILED on the others.",
    fix="set connector.client.config.override.policy (and connector.client.config.override.allowlist) to the same "
    "value on every worker, and restart them one by one",
    source="AbstractHerder.validateClientOverrides, Worker.connectorClientConfigOverrides",
)
SIGNATURES: Final = FindingKind(
    id="EOS027",
    name="signatures-refused",
    title="signatures that a worker refuses",
    severity=Severity.ERROR,
    cause="With connect.protocol=sessioned workers sign their requests to the leader by "
    "inter.worker.signature.algorithm. A leader takes only those in its inter.worker.verification.algorithms; others "
    "end with 400 (`key signing algorithm used by other workers`), and the tasks that asked for a round of fencing are "
    "FAILED.",
    fix="have every worker's inter.worker.verification.algorithms hold the inter.worker.signature.algorithm of all "
    "(both are HmacSHA256 by default), and restart the workers one by one",
    source="DistributedHerder.requestNotSignedProperly, InternalRequestSignature.addToRequest",
)
ANSWERS_DIFFER: Final = FindingKind(
    id="EOS028",
    name="preflight-differs",
    title="workers disagree on a connector",
    severity=Severity.WARNING,
    cause="The worker that answers a request validates the config with the version of the plugin that it has, or that "
    "connector.plugin.version chooses there (KIP-891, from 4.1 on). Where workers have different versions, whether the "
    "connector supports exactly-once, and whether its config is accepted, depends on the worker that is asked, and "
    "its tasks run in what their worker has.",
    fix="install the same plugins in the same versions on every worker and restart them one by one, or set "
    "connector.plugin.version to one that supports exactly-once and that all of them have (PUT "
    "/connectors/<connector>/config)",
    source="KIP-618, KIP-891; AbstractHerder.validateConnectorConfig, DistributedHerder.validateSourceConnectorConfig",
)
KINDS: Final = (
    NO_GROUP,
    UNNAMED,
    STRANGER,
    PROTOCOL,
    MOVING,
    ONE_ADDRESS,
    POLICIES,
    SIGNATURES,
    ANSWERS_DIFFER,
)
