"""Findings about what each worker is set to."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

SILENT: Final = FindingKind(
    id="EOS010",
    name="worker-silent",
    title="worker does not answer",
    severity=Severity.ERROR,
    cause="What a worker is set to can only be asked of itself.",
    fix="start the worker or correct its address (--connect-url); give --connect-url without it if it is gone for good "
    "(the group drops it after session.timeout.ms, 10 s by default)",
    source="RootResource.serverInfo",
)
OTHER_KAFKA: Final = FindingKind(
    id="EOS011",
    name="workers-elsewhere",
    title="worker of another Kafka cluster",
    severity=Severity.ERROR,
    cause="Workers on different Kafka clusters do not form one Connect cluster: leader, config topic and fencing "
    "differ.",
    fix="give --connect-url only workers of one Connect cluster, and -b the brokers that are their bootstrap.servers",
    source="KIP-238; RootResource.serverInfo",
    commands=("migrate-offsets", "offsets restore", "offsets create-connector"),
)
MIXED: Final = FindingKind(
    id="EOS012",
    name="mixed-phases",
    title="mixed phases",
    severity=Severity.ERROR,
    cause="A worker that is not enabled writes without transactions and is fenced by nothing; only its peers hold the "
    "promise. During the second rolling restart this is so for a while.",
    fix="finish the rolling step: `eosctl upgrade-check --to enabled` says which worker is next",
    source="KIP-618; Worker.startExactlyOnceSourceTask, Worker.startSourceTask",
)
NOWHERE: Final = FindingKind(
    id="EOS013",
    name="exactly-once-not-enabled",
    title="exactly-once is not enabled",
    severity=Severity.WARNING,
    cause="exactly.once.source.support is disabled unless it is set; preparing alone gives no transactions to tasks.",
    fix="`eosctl upgrade-check --to preparing`, then `eosctl upgrade-check --to enabled`",
    source="KIP-618; DistributedConfig.exactlyOnceSourceEnabled",
)
CONTRADICTION: Final = FindingKind(
    id="EOS014",
    name="file-contradicts-worker",
    title="file and worker contradict each other",
    severity=Severity.WARNING,
    cause="A worker reads its properties file when it starts; a change has no effect before.",
    fix="restart the workers whose file was changed, one after the other; or give the file that they run with",
    source="ConnectDistributed.main",
)
INVALID: Final = FindingKind(
    id="EOS015",
    name="invalid-support-value",
    title="value that no worker accepts",
    severity=Severity.ERROR,
    cause="A worker refuses to start with any other value.",
    fix="set exactly.once.source.support to disabled, preparing or enabled",
    source="DistributedConfig.exactlyOnceSourceEnabled, ConfigDef.parseValue",
)
DRAFT: Final = FindingKind(
    id="EOS016",
    name="draft-names",
    title="names of KIP-618's draft",
    severity=Severity.WARNING,
    cause="The draft said exactly.once.source.enabled and tasks-count-<connector>; releases say "
    "exactly.once.source.support and tasks-fencing-<connector>.",
    fix="replace exactly.once.source.enabled=true by exactly.once.source.support=preparing, roll, then enabled, roll",
    source="KIP-618; KafkaConfigBackingStore.TASK_COUNT_RECORD_PREFIX",
)
DIFFER: Final = FindingKind(
    id="EOS017",
    name="worker-files-disagree",
    title="workers' files disagree",
    severity=Severity.ERROR,
    cause="Workers of one group that use different internal topics overwrite each other's state; two groups that use "
    "the same topics do too. Of a different connect.protocol it is a warning: the group uses the best that all know.",
    fix="give all workers of one Connect cluster the same values, and each Connect cluster its own topics and group.id",
    source="DistributedConfig.transactionalProducerId, WorkerCoordinator.metadata",
)
TWO_STEPS_AWAY: Final = FindingKind(
    id="EOS018",
    name="two-steps-away",
    title="worker two steps away from the target",
    severity=Severity.ERROR,
    cause="Between disabled and enabled every worker has to be preparing first: a leader that is disabled neither "
    "fences nor writes in transactions.",
    fix="`eosctl upgrade-check --to preparing`, and roll to preparing first",
    source="KIP-618",
    commands=("upgrade-check",),
)
PLUGINS: Final = FindingKind(
    id="EOS019",
    name="plugins-differ",
    title="workers with different plugins",
    severity=Severity.WARNING,
    cause="Each worker loads the plugins of its own plugin.path. A task that is given to a worker without the class is "
    "FAILED there, and one of another version may keep offsets in another form. Workers from 4.1 on load several "
    "versions of a class, and use the one that connector.plugin.version asks for, or the newest (KIP-891). An info "
    "where no connector uses the class.",
    fix="install the same plugins in the same versions on every worker, and restart the workers one by one",
    source="Plugins.newConnector, Worker.startTask, PluginUtils.connectorVersionRequirement (from 4.1 on)",
)
KINDS: Final = (
    SILENT,
    OTHER_KAFKA,
    MIXED,
    NOWHERE,
    CONTRADICTION,
    INVALID,
    DRAFT,
    DIFFER,
    TWO_STEPS_AWAY,
    PLUGINS,
)
