"""Healthy Connect clusters of unlike shapes: no rule finds anything, and none cannot tell that has what it needs."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.registry import diagnose
from eosctl.model.evidence import Evidence
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import TopicFacts
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BROKER,
    FILE,
    HEALTHY,
    A,
    B,
    but,
    described,
    inspection,
    topic,
    transaction_log,
    worker,
)

NO_BROKERS = not_asked("no -b/--bootstrap-server was given")
NO_WORKERS = not_asked("no --connect-url was given")
NO_FILES = not_asked("no --worker-config was given")
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
COMMITTED = {"source.consumer.isolation.level": "read_committed", "exactly.once.support": "required"}
EARLIER = {"exactly.once.source.support": "disabled"}
LEADER = "connect-cluster-g"
NO_OUTPUT = {"outputs": {}, "topics": {}}
ONE_FILE = {key: value for key, value in FILE.items() if not key.startswith("exactly")}


def status(name: str, kind: str, *workers: str) -> dict[str, ConnectorStatus]:
    tasks = tuple(TaskStatus(number, "RUNNING", each) for number, each in enumerate(workers))
    return {name: ConnectorStatus(name, kind, "RUNNING", tasks)}


def sinks_only() -> Evidence:
    """Workers that nobody enabled, for they have sinks only, which read committed."""
    config = {"consumer.override.isolation.level": "read_committed", "topics": "in"}
    log = Log().config("s", **config).tasks("s", 0).commit("s", 1)
    return but(
        workers={url: worker(url, enabled=False, connectors=("s",)) for url in (A, B)},
        worker_files={A: FILE | EARLIER, B: FILE | EARLIER},
        statuses=status("s", "sink", "a:8083"),
        inspection=replace(inspection(log, running=0), findings=()),
        preflight={},
        transaction_log=None,
        transactions={},
        transactional_ids=(),
        open_transactions=(),
        idle_since={},
        groups={"g": "connect", "connect-s": "consumer"},
        **NO_OUTPUT,
    )


def empty(enabled: bool) -> Evidence:
    """Workers without connectors, of which the leader has claimed its ID where they are enabled."""
    return but(
        workers={url: worker(url, enabled=enabled, connectors=()) for url in (A, B)},
        worker_files=dict.fromkeys((A, B), FILE if enabled else FILE | EARLIER),
        statuses={},
        inspection=inspection(Log()),
        preflight={},
        transactions={LEADER: described(LEADER)} if enabled else {},
        transactional_ids=(LEADER,) if enabled else (),
        open_transactions=(),
        idle_since={},
        transaction_log=transaction_log() if enabled else None,
        **NO_OUTPUT,
    )


def mirror(*members: str, internal_rest: bool) -> Evidence:
    """A dedicated MirrorMaker: without REST for users, so nothing is known but what brokers and files tell."""
    file = {"clusters": "K, L", "K.exactly.once.source.support": "enabled", "group.id": "g"}
    file |= {"dedicated.mode.enable.internal.rest": "true", "listeners": "http://:0"} if internal_rest else {}
    group = ConnectGroup("Stable", "connect", "sessioned", tuple(GroupMember(each, each) for each in members))
    return but(
        workers=NO_WORKERS,
        statuses=NO_WORKERS,
        preflight=NO_WORKERS,
        group=group,
        worker_files={f"mm2-{number}": file for number, _ in enumerate(members)},
        inspection=inspection(**{"connector.class": MIRROR}, **COMMITTED),
    )


def standalone() -> Evidence:
    """One worker without group, internal topics and exactly-once: only what REST answers is known.

    It lets connectors require exactly-once, as enabled workers do: only DistributedHerder refuses that.
    """
    alone = worker(A, enabled=True, connectors=("s",))
    known = Evidence(as_of=HEALTHY.as_of, workers={A: alone}, statuses=status("s", "sink", "a:8083"), preflight={})
    return replace(known, worker_files={A: {"offset.storage.file.filename": "/offsets"}}, group=NO_BROKERS)


def https(files: Mapping[str, str]) -> Evidence:
    first, second = A.replace("http", "https"), B.replace("http", "https")
    members = tuple(GroupMember(each, f"{each}/") for each in (first, second))
    return but(
        workers={each: worker(each) for each in (first, second)},
        worker_files=dict.fromkeys((first, second), FILE | files),
        group=ConnectGroup("Stable", "connect", "sessioned", members, first),
    )


def secured() -> Evidence:
    """TLS to brokers and between workers."""
    return https({"security.protocol": "SSL", "ssl.truststore.location": "/t", "listeners": "https://:8083"})


def with_password() -> Evidence:
    """Basic auth: the same to every worker, which rules see nothing of."""
    extension = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
    return https({"rest.extension.classes": extension})


def with_providers() -> Evidence:
    """Settings that a config provider gives: they are not judged by their text."""
    given = {"config.providers": "env", "bootstrap.servers": "${env:BROKERS}", "producer.sasl.jaas.config": "${env:J}"}
    config = {"exactly.once.support": "required", "file": "${env:FILE}", "connector.client.password": "${env:P}"}
    return but(worker_files={A: FILE | given, B: FILE | given}, inspection=inspection(**config))


def unlike_versions(workers: str, brokers: Release) -> Evidence:
    """Workers of one version over brokers of another, both without a bug that a newer release fixes."""
    return but(workers={url: worker(url, workers) for url in (A, B)}, broker_releases=dict.fromkeys(range(3), brokers))


def elsewhere() -> Evidence:
    """A connector whose producer, consumer and admin have other brokers, where no other group has our group.id."""
    servers = {f"{role}.override.bootstrap.servers": "there:9092" for role in ("producer", "consumer", "admin")}
    return but(
        inspection=inspection(**{"exactly.once.support": "required", **servers}),
        transactions={LEADER: described(LEADER)},
        outputs={"x": not_asked("x writes to another Kafka cluster: ask there")},
        topics={},
        groups_elsewhere={"x": ConnectGroup("Dead", "", "", ())},
    )


def one_broker() -> Evidence:
    """A laptop: one broker, one worker, one replica of everything."""
    single = {**BROKER, "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    one = {"min.insync.replicas": "1"}
    return but(
        brokers={0: single},
        broker_releases={0: Release(KafkaVersion(4, 1), None)},
        workers={A: worker(A)},
        worker_files={A: FILE},
        group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", A),), A),
        statuses=status("x", "source", "a:8083", "a:8083"),
        internal_topics=tuple(
            topic(role, factor=1, min_insync_replicas="1") for role in ("config", "offsets", "status")
        ),
        transaction_log=transaction_log(1, min_insync_replicas="1"),
        topics={"out": TopicFacts("out", 1, 1, one, in_sync=1)},
    )


FLEETS = {
    "sinks only": sinks_only(),
    "empty": empty(enabled=False),
    "empty and enabled": empty(enabled=True),
    "one node of MirrorMaker": mirror("http://m1:8083", internal_rest=True),
    "three nodes of MirrorMaker": mirror(*(f"http://m{number}:8083" for number in (1, 2, 3)), internal_rest=True),
    "standalone": standalone(),
    "TLS": secured(),
    "basic auth": with_password(),
    "config providers": with_providers(),
    "older brokers": unlike_versions("4.3.1", Release(KafkaVersion(3, 8), KafkaVersion(4, 0))),
    "connectors on another cluster": elsewhere(),
    "one broker": one_broker(),
}


@pytest.mark.parametrize("shape", FLEETS)
def test_nothing_is_found_in_a_healthy_fleet(shape: str) -> None:
    assert _words(diagnose(FLEETS[shape]).reported) == []


def test_of_older_workers_nothing_but_their_transaction_protocol_is_found() -> None:
    found = diagnose(unlike_versions("3.8.1", Release(KafkaVersion(4, 1), None))).reported
    assert {(each.id, each.severity) for each in found} == {("EOS303", Severity.INFO)}, _words(found)


def _words(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{each.id} {each.subject}: {each.message}" for each in findings]


@pytest.mark.parametrize("shape", [name for name in FLEETS if name not in {"standalone"}])
def test_a_fault_in_a_healthy_fleet_is_found_as_anywhere(shape: str) -> None:
    """So that a shape is not healthy because nothing is asked of it."""
    broken = replace(FLEETS[shape], brokers={0: BROKER | {"transactional.id.expiration.ms": "60000"}})
    assert [each.id for each in diagnose(broken).reported].count("EOS044") == 1


def test_what_a_shape_cannot_tell_is_for_want_of_input_and_no_gap() -> None:
    gaps = {
        shape: [answer.rule.id for answer in diagnose(evidence).answers if not answer.complete]
        for shape, evidence in FLEETS.items()
        if shape != "standalone" and not isinstance(evidence.brokers, Skipped)
    }
    assert {shape: rules for shape, rules in gaps.items() if rules} == {}
