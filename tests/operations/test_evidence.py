"""Evidence of a cluster: requested, discovered and skipped facts."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import ConfigError, EosctlError, Refused, Unreachable, UsageError
from eosctl.model.config_topic import ConfigTopicLog, Origin, TaskCountRecord
from eosctl.model.evidence import Evidence, InternalTopic, WorkerEvidence
from eosctl.model.groups import ConnectGroup, ListedGroup
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.planned import Planned
from eosctl.model.rules import Phase
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import ClusterFacts, TopicFacts
from eosctl.model.transaction_log import (
    CommitDay,
    CommitHistory,
    LogEnd,
    LogReading,
    TransactionLogRecord,
    TransactionLogRecords,
    TransactionLogValue,
)
from eosctl.model.transactions import ListedTransactions, TransactionDescription, TransactionListing, TransactionState
from eosctl.model.versions import KafkaVersion
from eosctl.operations.agreement import agree
from eosctl.operations.evidence import (
    EvidenceRequest,
    files_of,
    offsets_request,
    read_evidence,
    with_connectors,
    worker_files_of,
)
from eosctl.operations.session import Session
from eosctl.sources.live_cluster import NO_BROKERS, NO_WORKERS
from tests.analysis.evidence import but, inspection
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.quiet import session_with
from tests.operations.test_offsets import config_topic
from tests.operations.test_plan_flow import AT, PLAN
from tests.strimzi_shapes import SHAPES, THREE_PRINCIPALS, Shape

URL = "http://a:8083"
CLUSTER = ClusterFacts("K", {1: "b:9092"}, 900_000)
WORKERS = {URL: WorkerEvidence(URL, KafkaVersion(4, 3), "K", True, frozenset())}
LEADER = "connect-cluster-g"
DAY_0 = CommitDay(0, 1, 4_000)
SERVERS = "producer.override.bootstrap.servers"
ONLY_WORKER = "a reference that only the worker resolves"
OPEN = TransactionDescription(
    LEADER, TransactionState.ONGOING, ProducerIdAndEpoch(1, 0), 60_000, 5, (TopicPartition("t", 0),), 1
)


def evidence(request=None, **facts) -> Evidence:
    """Of a cluster with these facts."""
    given = {
        "cluster": CLUSTER,
        "worker_evidence": WORKERS,
        "connector_statuses": {},
        "preflight": {},
        "connect_version": KafkaVersion(4, 3),
        "worker_offsets_topic": lambda: None,
        "internal_topic": lambda role, name: InternalTopic(role, name, None),
        "transactional_ids": ListedTransactions((), {}),
        "transaction_log": lambda names, after: TransactionLogRecords({}, 1, (), {}),
        "describe": dict.fromkeys,
        "config_topic": lambda name: ConfigTopicLog(name, TopicFacts(name, 1, 3, {}), Skipped("-"), ()),
    }
    reader = FakeCluster(as_of=7, group_id="g", **(given | facts))
    return read_evidence(session_with(reader), request or EvidenceRequest({}))


def skipped(found: Evidence) -> dict[str, Skipped]:
    return {name: fact for name in found.__struct_fields__ if isinstance(fact := getattr(found, name), Skipped)}


def test_without_brokers_only_their_facts_are_reported_as_unread() -> None:
    found = evidence(cluster=NO_BROKERS)
    assert (found.as_of, found.group_id, found.workers, found.statuses) == (7, "g", WORKERS, {})
    others = {"as_of", "group_id", "workers", "worker_files", "statuses"}
    others |= {"log_reading", "preflight", "unlisted", "about"}
    names = set(Evidence.__struct_fields__) - others
    assert skipped(found) == {
        **dict.fromkeys(names, NO_BROKERS),
        "worker_files": Skipped("no --worker-config was given"),
    }


def test_with_neither_brokers_nor_workers_there_is_nothing_to_read() -> None:
    with pytest.raises(UsageError, match="no cluster was named"):
        evidence(cluster=NO_BROKERS, worker_evidence=NO_WORKERS)


def test_an_unreachable_cluster_ends_it_and_unreachable_workers_too() -> None:
    for what in ("cluster", "worker_evidence"):
        with pytest.raises(Unreachable, match="gone"):
            evidence(**{what: Unreachable("gone")})


def test_an_unread_fact_of_one_question_leaves_the_other_questions_unchanged() -> None:
    found = evidence(
        config_topic=UsageError("topic connect-configs does not exist"),
        transactional_ids=ListedTransactions(
            (TransactionListing("x-0", 1, TransactionState.EMPTY, 1),), {2: "gone"}, ("broker 2 is gone",)
        ),
        groups={"g": ListedGroup("g", "connect", "Stable")},
        broker_settings={1: {"transaction.max.timeout.ms": "1"}},
    )
    assert found.inspection == Skipped("topic connect-configs does not exist")
    assert (found.transactional_ids, found.unlisted) == (("x-0",), ("broker 2 is gone",))
    assert (found.groups, found.brokers) == ({"g": "connect"}, {1: {"transaction.max.timeout.ms": "1"}})


def test_the_leaders_id_is_described_and_partitions_of_its_open_transaction_are_looked_for() -> None:
    found = evidence(
        describe=lambda names: {name: OPEN if name == LEADER else None for name in names},
        leaderless=frozenset,
    )
    assert found.transactions == {LEADER: OPEN}
    assert found.leaderless == {TopicPartition("t", 0)}


def test_finalized_features_reach_the_rules() -> None:
    assert evidence(finalized_features={"transaction.version": 1}).finalized_features == {"transaction.version": 1}
    assert evidence(finalized_features=Skipped("gone")).finalized_features == Skipped("gone")


def test_the_group_is_asked_for_where_a_connector_writes_elsewhere_and_it_is_known_where() -> None:
    dead, asked = ConnectGroup("Dead", "", "", ()), []

    def groups_elsewhere(group_id: str, servers: object) -> dict[str, ConnectGroup]:
        asked.append((group_id, servers))
        return {"x": dead}

    reader = FakeCluster(groups_elsewhere=groups_elsewhere, topic_facts={})
    for servers, found in (("b:1, a:1", dead), ("${env:X}", Skipped(f"{SERVERS} is ${{env:X}}, {ONLY_WORKER}"))):
        known = with_connectors(reader, but(inspection=inspection(**{SERVERS: servers})), {})
        assert known.groups_elsewhere == {"x": found}
        assert known.outputs == {"x": not_asked("x writes to another Kafka cluster: ask there")}
    assert asked == [("g", {"x": frozenset({"a:1", "b:1"})})]


def test_ids_that_no_coordinator_describes_have_one_reason() -> None:
    found = evidence(describe=lambda names: {name: Unreachable("its coordinator is gone") for name in names})
    assert found.transactions == {LEADER: Skipped("1 transactional ID is unknown: its coordinator is gone")}


def test_settings_that_rules_read_reach_them_from_a_worker_file_and_secrets_do_not(tmp_path) -> None:
    """A setting that is left out reads as one that nobody set."""
    asked = {
        "producer.acks": "1",
        "producer.retries": "0",
        "producer.max.in.flight.requests.per.connection": "6",
        "producer.transaction.timeout.ms": "600000",
        "consumer.isolation.level": "read_committed",
        "admin.retry.backoff.ms": "5",
        "offset.flush.interval.ms": "1000",
        "connector.client.config.override.policy": "None",
        "connector.client.config.override.allowlist": "acks",
        "inter.worker.signature.algorithm": "HmacSHA512",
        "inter.worker.verification.algorithms": "HmacSHA512",
    }
    secret = {
        "producer.sasl.jaas.config": "j password=p;",
        "ssl.keystore.password": "p",
        "producer.my.interceptor": "k",
    }
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in (asked | secret).items()))
    assert evidence(EvidenceRequest({}, (file,))).worker_files == {str(file): asked}


def test_internal_topics_are_those_of_the_request_then_of_files_then_those_that_the_reader_knows(tmp_path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("group.id=g\nstatus.storage.topic=by-file\noffset.storage.topic=by-file-too\n")
    request = EvidenceRequest({"offsets": "asked-for"}, (file,))
    known = ConfigTopicLog("saved-configs", TopicFacts("saved-configs", 1, 3, {}), Skipped("-"), ())
    found = evidence(request, config_topic=lambda name: known)
    assert [each.name for each in found.internal_topics] == ["saved-configs", "asked-for", "by-file"]
    reader_knows = evidence(worker_offsets_topic=lambda: "saved-offsets")
    assert [each.name for each in reader_knows.internal_topics] == [
        "connect-configs",
        "saved-offsets",
        "connect-status",
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({URL: {"isolation.level": "read_committed"}}, {"isolation.level": "read_committed"}),
        ({URL: {}}, {}),
        ({"a.properties": {"isolation.level": "read_committed"}}, {}),  # the worker of the file is unknown
        ({URL: {"isolation.level": "read_committed"}, "http://b:8083": {}}, {}),
    ],
)
def test_offsets_are_read_as_the_files_of_all_workers_say(files, said) -> None:
    """KafkaOffsetBackingStore.configure: a worker that is not enabled reads its topic as isolation.level says."""
    known = but(worker_files=files, workers=WORKERS)
    asked = offsets_request(known, {"config": "configs", "offsets": "offsets"}, KafkaVersion(4, 3))
    assert asked.worker_clients == said


def test_no_id_of_a_connector_with_impossibly_many_tasks_is_asked_for() -> None:
    described: list[str] = []

    def describe(names: Iterable[str]) -> dict[str, None]:
        described.extend(names)
        return dict.fromkeys(described)

    source = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "t"}
    log = config_topic(orders=source, odd=source)
    counts = [TaskCountRecord(Origin(9, 1), "orders", 2), TaskCountRecord(Origin(10, 1), "odd", 100_001)]
    evidence(describe=describe, config_topic=lambda _: replace(log, records=[*log.records, *counts]))
    assert set(described) == {LEADER, "g-orders-0", "g-orders-1"}


def test_one_reading_of_the_transaction_log_gives_idle_times_and_commit_times_of_ids() -> None:
    commit = TransactionState.COMPLETE_COMMIT
    values = [TransactionLogValue(1, ProducerIdAndEpoch(1, 0), 60_000, commit, None, at, at) for at in (5_000, 9_000)]
    records = [TransactionLogRecord(0, offset, 0, LEADER, value) for offset, value in enumerate(values)]
    earlier = LogReading(commits={LEADER: CommitHistory(1_000, 5_000)})

    def log(_names: object, _after: object, **unread: Skipped) -> TransactionLogRecords:
        return TransactionLogRecords({0: 1}, 1, iter(records), {int(key[1:]): why for key, why in unread.items()})

    alone = evidence(transaction_log=log)
    assert (alone.idle_since, alone.commits) == ({LEADER: 9_000}, {LEADER: CommitHistory(5_000, 9_000, None, (DAY_0,))})
    continued = evidence(EvidenceRequest({}, log=earlier), transaction_log=log)
    assert continued.commits == {LEADER: CommitHistory(1_000, 9_000, None, (DAY_0,))}
    lost = evidence(transaction_log=lambda names, after: log(names, after, p0=Skipped("no leader")))
    assert (lost.idle_since, lost.commits) == ({LEADER: Skipped("no leader")}, {LEADER: Skipped("no leader")})
    denied = evidence(transaction_log=Unreachable("gone"))
    assert (denied.idle_since, denied.commits) == (Skipped("gone"), Skipped("gone"))
    assert (alone.log_reading.values[LEADER], denied.log_reading) == (values[1], None)


def test_a_reading_that_continues_another_ends_as_one_of_the_whole_log() -> None:
    """With any records before and after the end of the earlier reading: commits, an idle ID, an expired one."""
    commit, empty = TransactionState.COMPLETE_COMMIT, TransactionState.EMPTY
    said = [(empty, 1_000), (commit, 5_000), (commit, 9_000), None, (empty, 10_000), (commit, 12_000), (commit, 19_000)]
    values = [
        None if each is None else TransactionLogValue(1, ProducerIdAndEpoch(1, 0), 60_000, each[0], None, *each[1:] * 2)
        for each in said
    ]
    records = [TransactionLogRecord(0, offset, 0, LEADER, value) for offset, value in enumerate(values)]

    def log(_: object, after: Mapping[int, LogEnd], end: int) -> TransactionLogRecords:
        begin = after[0].offset if after else 0
        ends = {0: LogEnd(0, end)}
        return TransactionLogRecords({0: 1}, 1, iter(records[begin:end]), ends=ends, continues=bool(after))

    def read(end: int, earlier: LogReading) -> Evidence:
        return evidence(EvidenceRequest({}, log=earlier), transaction_log=lambda *asked: log(*asked, end))

    whole = read(len(records), LogReading())
    for end in range(len(records)):
        earlier = read(end, LogReading()).log_reading
        assert earlier.ends == {0: LogEnd(0, end)}
        found = read(len(records), earlier)
        assert (found.logged, found.idle_since, found.commits) == (whole.logged, whole.idle_since, whole.commits), end
        assert found.log_reading == whole.log_reading
    other = replace(read(4, LogReading()).log_reading, ids=frozenset({"connect-cluster-of-another-group"}))
    assert read(len(records), other).commits == whole.commits, "an ID that is new is looked for in the whole log"
    elsewhere = replace(read(4, LogReading()).log_reading, cluster_id="another", commits={LEADER: CommitHistory(1, 2)})
    assert read(len(records), elsewhere).commits == whole.commits, "nothing of another cluster is continued"


SEVERAL = UsageError("the Kafka cluster has 2 Connect groups: east, west", hint="name it: --group-id")


class Found:
    """A discovery with this answer."""

    def __init__(self, answer: str | EosctlError | None) -> None:
        self.answer = answer

    def group(self) -> str | None:
        if isinstance(self.answer, EosctlError):
            raise self.answer
        return self.answer


def finding(answer: str | EosctlError | None, said: Conversation, **options: object) -> Session:
    """A session on a cluster whose list of groups gives this answer."""
    session = session_on(FakeCluster(cluster=CLUSTER), said, **AT, **options)
    vars(session)["_discovery"] = Found(answer)
    return session


def test_the_question_before_a_change_names_the_group_that_the_user_did_not_name() -> None:
    said = Conversation()
    session = finding("ours", said, writes=True)
    assert session.need_group_id() == "ours"
    agree(session, Planned(plan=PLAN, cluster_id="c"), "Apply 1 step?", said.show)
    assert said.said == ["Apply 1 step (cluster fake, Connect group ours)?"]


def test_a_group_that_was_named_is_in_no_question() -> None:
    said = Conversation()
    session = finding("other", said, writes=True, group_id="ours")
    assert session.need_group_id() == "ours"
    assert session.found_group_id is None


def test_yes_alone_is_refused_for_a_group_that_the_user_did_not_name() -> None:
    with pytest.raises(Refused, match="Connect group ours was found and not named") as caught:
        finding("ours", Conversation(), writes=True, yes=True).need_group_id()
    assert caught.value.hint == "give --group-id ours too, or leave --yes out and answer"


def test_a_dry_run_needs_no_name() -> None:
    assert finding("ours", Conversation(), writes=True, yes=True, dry_run=True).need_group_id() == "ours"


def test_without_a_group_one_has_to_be_named() -> None:
    with pytest.raises(
        UsageError, match=r"^no Connect cluster was named, and this Kafka cluster has no Connect group$"
    ) as caught:
        finding(None, Conversation()).need_group_id()
    assert caught.value.hint == "give --group-id, the worker's group.id (or set EOSCTL_GROUP_ID)"


@pytest.mark.parametrize("error", [SEVERAL, Unreachable("broker 2 does not answer")])
def test_why_none_was_found_ends_a_command_that_needs_one(error: EosctlError) -> None:
    with pytest.raises(type(error)) as caught:
        finding(error, Conversation()).need_group_id()
    assert caught.value is error


def test_where_a_snapshot_is_read_no_cluster_is_asked_for_its_groups() -> None:
    session = session_on(FakeCluster(), Conversation(), **AT, snapshot=Path("monday.snapshot"))
    session.require_no_choice()
    with pytest.raises(UsageError, match="no Connect cluster was named"):
        session.need_group_id()


def test_the_checks_refuse_to_choose_one_of_several_groups() -> None:
    with pytest.raises(UsageError) as caught:
        read_evidence(finding(SEVERAL, Conversation()), EvidenceRequest({}))
    assert caught.value is SEVERAL


def test_a_list_that_fails_is_no_reason_for_the_checks_to_end() -> None:
    finding(Unreachable("broker 2 does not answer"), Conversation()).require_no_choice()


URLS = ("http://w1:8083", "http://w2:8083")
UNKNOWN: dict[str, WorkerEvidence | Skipped] = {url: Skipped("that was not read") for url in URLS}


def files_as(shape: Shape, folder: Path) -> tuple[EvidenceRequest, EvidenceRequest]:
    """The request with a properties file of each worker, and that with the resource."""
    worker = "".join(f"{key}={value}\n" for key, value in shape.worker.items())
    for number in (1, 2):
        (folder / f"w{number}").write_text(f"{worker}rest.advertised.host.name=w{number}\nrest.advertised.port=8083\n")
    (folder / "connect.yaml").write_text(shape.worker_yaml.replace("replicas: 1", "replicas: 2"))
    return (
        EvidenceRequest({}, (folder / "w1", folder / "w2")),
        EvidenceRequest({}, (folder / "connect.yaml",)),
    )


@pytest.mark.parametrize("name", SHAPES)
def test_both_forms_say_the_same_of_each_worker(tmp_path: Path, name: str):
    by_file, by_resource = (dict(worker_files_of(each, UNKNOWN)) for each in files_as(SHAPES[name], tmp_path))
    own = {"rest.advertised.host.name", "rest.advertised.port"}
    assert list(by_file) == list(by_resource) == list(URLS)
    for url in URLS:
        settings = {key: value for key, value in by_file[url].items() if key not in own}
        assert settings == {key: value for key, value in by_resource[url].items() if key in settings}
    verdicts = [
        check_upgrade(Evidence(as_of=0, worker_files=files, group_id="g"), phase).verdict
        for phase in Phase
        if phase in {Phase.PREPARING, Phase.ENABLED, Phase.DISABLED}
        for files in (by_file, by_resource)
    ]
    assert verdicts[0::2] == verdicts[1::2]


def test_the_file_of_the_resource_describes_each_worker(tmp_path: Path):
    _, request = files_as(THREE_PRINCIPALS, tmp_path)
    evidence = Evidence(as_of=0, worker_files=worker_files_of(request, UNKNOWN), group_id="g")
    assert files_of(request, evidence) == dict.fromkeys(URLS, str(tmp_path / "connect.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("observedGeneration: 4", "observedGeneration: 3", "has not carried out generation 4 of .* yet, it has 3"),
        ("replicas: 3", "replicas: 1", "has 1 replica, and 2 workers were asked"),
    ],
)
def test_a_resource_that_does_not_say_what_the_workers_run_with_is_refused(
    tmp_path: Path, old: str, new: str, said: str
):
    (tmp_path / "connect.yaml").write_text(THREE_PRINCIPALS.worker_yaml.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        worker_files_of(EvidenceRequest({}, (tmp_path / "connect.yaml",)), UNKNOWN)
