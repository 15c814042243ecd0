"""Findings about the workers' versions."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

TOO_OLD: Final = FindingKind(
    id="EOS001",
    name="worker-too-old",
    title="worker before 3.3",
    severity=Severity.ERROR,
    cause="Workers know exactly-once sources from Kafka 3.3.0 on. An older one ignores the setting, and nothing fences "
    "the tasks that it runs.",
    fix="upgrade the worker to Kafka 3.3 or newer and restart it; this may be the same restart that sets preparing",
    source="KIP-618; DistributedConfig.exactlyOnceSourceEnabled",
)
MIXED: Final = FindingKind(
    id="EOS002",
    name="mixed-versions",
    title="mixed versions",
    severity=Severity.WARNING,
    cause="Workers of different versions read some records of the config topic differently (KAFKA-16838, KIP-875).",
    fix="finish the rolling upgrade of the workers before the next rolling step",
    source="KIP-618, KIP-875; KafkaConfigBackingStore.onCompletion",
)
BUGS: Final = FindingKind(
    id="EOS003",
    name="known-bugs",
    title="bugs that are fixed in newer releases",
    severity=Severity.INFO,
    cause="Several bugs of exactly-once sources were fixed after 3.3.0: those of workers until 3.8.0, that of brokers "
    "(KAFKA-16352) in 3.8.0.",
    fix="upgrade the workers, or the brokers, to the release that the finding names",
    source="Kafka's issues that the finding names",
)
KINDS: Final = (
    TOO_OLD,
    MIXED,
    BUGS,
)
