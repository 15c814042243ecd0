"""Findings about ACLs: of doctor, and of the plan of `eosctl acl-plan`."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

LEADER: Final = FindingKind(
    id="EOS130",
    name="leader-acl-missing",
    title="leader may not claim its ID",
    severity=Severity.ERROR,
    cause="From preparing on, the leader writes the config topic in transactions. Any worker may be elected.",
    fix="kafka-acls.sh --add --allow-principal <principal> --operation Write --transactional-id <leader's ID>",
    source="KIP-618; KafkaApis.handleInitProducerIdRequest",
)
TASKS: Final = FindingKind(
    id="EOS131",
    name="task-acl-missing",
    title="tasks may not claim their IDs",
    severity=Severity.ERROR,
    cause="A task's producer claims its ID when it starts, and the connector's admin client fences those of the last "
    "task count record. The latter shows only at the first reconfiguration: all tasks turn FAILED.",
    fix="kafka-acls.sh --add --allow-principal <principal> --operation Write --resource-pattern-type prefixed "
    "--transactional-id <group.id>-<connector>-",
    source="KIP-618; KafkaApis.handleInitProducerIdRequest",
)
OTHERS: Final = FindingKind(
    id="EOS132",
    name="connect-acls-missing",
    title="ACLs of workers or connectors are missing",
    severity=Severity.ERROR,
    cause="Under exactly-once each task writes and reads the offsets topic with the connector's own clients, which "
    "need ACLs that only the worker needed before.",
    fix="`eosctl acl-plan --phase enabled --emit kafka-acls` prints all that are missing",
    source="KIP-618; StandardAuthorizer.authorize",
)
COLLISION: Final = FindingKind(
    id="EOS133",
    name="transactional-id-collision",
    title="two owners of one transactional ID",
    severity=Severity.ERROR,
    cause="Connect joins group.id, connector and task with dashes and escapes nothing. With exactly-once on one Kafka "
    "cluster each owner fences the other.",
    fix="rename one of the connectors, or give one Connect cluster another group.id",
    source="KIP-618",
    commands=("acl-plan",),
)
OVERRIDE_REFUSED: Final = FindingKind(
    id="EOS134",
    name="override-refused",
    title="client override is refused",
    severity=Severity.ERROR,
    cause="connector.client.config.override.policy of the worker does not allow it: the connector cannot be created or "
    "changed, and the tasks of one that exists fail when they start there.",
    fix="allow the overrides on every worker, or take them out of the connector's config",
    source="KIP-458; Worker.connectorClientConfigOverrides",
    commands=("acl-plan",),
)
OVERRIDE_POLICY_UNKNOWN: Final = FindingKind(
    id="EOS135",
    name="override-policy-unknown",
    title="override policy is none of Kafka's",
    severity=Severity.INFO,
    cause="Whether the policy lets an override count is not known; the plan assumes that it does.",
    fix="where it does not, name who the clients are: --principal <connector>/producer=User:NAME",
    source="KIP-458",
    commands=("acl-plan",),
)
TOPICS_UNKNOWN: Final = FindingKind(
    id="EOS136",
    name="topics-unknown",
    title="topics are not known",
    severity=Severity.WARNING,
    cause="The connector's config does not say which topics it uses, so no ACL or too wide a one is planned.",
    fix="name them: --topic <connector>=TOPIC, or --topic <connector>='PREFIX*'",
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
OWN_KAFKA_CLIENT: Final = FindingKind(
    id="EOS137",
    name="own-kafka-client",
    title="connector has a Kafka client of its own",
    severity=Severity.INFO,
    cause="The connector makes it without Connect; its ACLs are not planned.",
    fix="the connector's manual says what that client reads and writes",
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
TASKS_UNKNOWN: Final = FindingKind(
    id="EOS138",
    name="tasks-unknown",
    title="number of tasks is not known",
    severity=Severity.WARNING,
    cause="tasks.max is a reference that only a worker resolves, and literal ACLs name each task's ID.",
    fix="use --pattern prefixed, or --headroom N for so many tasks more",
    source="KIP-297",
    commands=("acl-plan",),
)
SETTING_HIDDEN: Final = FindingKind(
    id="EOS139",
    name="authorizer-setting-hidden",
    title="setting of the authorizer is hidden",
    severity=Severity.INFO,
    cause="Brokers do not show its value, or not whether it is set. Super users, and everybody where "
    "allow.everyone.if.no.acl.found is true, are allowed what no ACL allows.",
    fix="look into the brokers' settings; name super users with --super-user User:NAME",
    source="KIP-504",
    commands=("acl-plan",),
)
REFERENCE_UNRESOLVED: Final = FindingKind(
    id="EOS140",
    name="reference-unresolved",
    title="reference that only a worker resolves",
    severity=Severity.WARNING,
    cause="The name of a resource contains a config provider's reference, so no ACL on it is planned.",
    fix="give its config with the value in its place: --connector-config FILE",
    source="KIP-297",
    commands=("acl-plan",),
)
DENIED: Final = FindingKind(
    id="EOS141",
    name="acl-denied",
    title="needed, but denied",
    severity=Severity.ERROR,
    cause="A denial wins over every ACL that allows.",
    fix="remove the denial; adding the binding does not help, because a denial wins",
    source="KIP-11",
    commands=("acl-plan",),
)
PARTLY_DENIED: Final = FindingKind(
    id="EOS142",
    name="acl-partly-denied",
    title="needed, and denied in part",
    severity=Severity.WARNING,
    cause="A denial stands against part of what is needed: some hosts, some names, or Describe.",
    fix="remove the denial, or be sure that it never meets Connect's clients",
    source="KIP-11",
    commands=("acl-plan",),
)
REQUIRED_MISSING: Final = FindingKind(
    id="EOS143",
    name="required-acl-missing",
    title="required ACL is missing",
    severity=Severity.ERROR,
    cause="A worker or a connector fails without it: `eosctl acl-plan --explain` says how, and what needs it.",
    fix="`eosctl acl-plan --plan-file FILE` plans what is missing for `eosctl apply FILE`; --emit kafka-acls prints it "
    "for Kafka's own tool",
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
KINDS: Final = (
    LEADER,
    TASKS,
    OTHERS,
    COLLISION,
    OVERRIDE_REFUSED,
    OVERRIDE_POLICY_UNKNOWN,
    TOPICS_UNKNOWN,
    OWN_KAFKA_CLIENT,
    TASKS_UNKNOWN,
    SETTING_HIDDEN,
    REFERENCE_UNRESOLVED,
    DENIED,
    PARTLY_DENIED,
    REQUIRED_MISSING,
)
