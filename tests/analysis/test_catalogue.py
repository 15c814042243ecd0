"""The catalogue of findings and errors, and how each is explained."""

import ast
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eosctl.analysis.catalogue.index import KINDS, THEMES, kinds_called
from eosctl.analysis.errors import ERROR_PATTERNS, explain_error, is_overtaken, names_in
from eosctl.analysis.kafka_errors import KAFKA_ERRORS, _errors, is_general
from eosctl.analysis.rules.registry import RULES, commands_reporting, explain_finding
from eosctl.model.report import FindingKind, Severity

PACKAGE = Path(__file__).parents[2] / "eosctl"
CATALOGUE = "eosctl.analysis.catalogue"
LOCK = Path(__file__).parents[1] / "golden" / "findings.lock"
"""Every ID with its name. Both stay: a line is added there, never changed or taken away."""


def test_an_id_and_its_name_stay_what_they_were() -> None:
    assert [f"{kind.id} {kind.name}" for kind in KINDS] == LOCK.read_text().splitlines()


def test_each_id_is_one_kind_s_and_in_the_range_of_its_theme() -> None:
    ids = [kind.id for kind in KINDS]
    assert ids == sorted(set(ids))
    assert [kind.id for kind in KINDS if sum(kind.number in theme.numbers for theme in THEMES) != 1] == []


def test_a_theme_has_the_kinds_of_its_numbers() -> None:
    assert [kind for theme in THEMES for kind in theme.kinds] == list(KINDS)


def test_a_name_is_no_other_fault_s_and_no_error_s() -> None:
    names = [kind.name for kind in KINDS]
    assert {name for name in names if names.count(name) > 1} == {"open-transaction"}, "one fault of three topics"
    assert set(names).isdisjoint(pattern.id for pattern in ERROR_PATTERNS)


def test_every_kind_of_finding_has_a_description_a_reason_and_a_fix() -> None:
    texts = {kind.id: (kind.title, kind.cause, kind.fix, kind.source) for kind in KINDS}
    assert [each for each, written in texts.items() if not all(written)] == []
    assert [kind.id for kind in KINDS if not kind.cause.endswith(".") or kind.title.endswith(".")] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_every_id_and_every_name_is_explained_in_any_case(kind: FindingKind) -> None:
    [explained] = explain_finding(kind.id.lower())
    assert (explained.id, explained.name, explained.title) == (kind.id, kind.name, kind.title)
    assert (explained.cause, explained.commands, explained.source) == (kind.cause, kind.fixes, kind.source)
    assert kind.id in [each.id for each in explain_finding(kind.name.upper())]


def test_a_word_that_is_no_id_and_no_name_is_not_explained() -> None:
    assert (kinds_called("EOS999"), explain_finding("no-such-name")) == ((), ())


def test_a_finding_is_never_worse_than_its_kind() -> None:
    [info] = kinds_called("EOS073")
    assert info.finding("x", "message").cure == info.fix
    with pytest.raises(ValueError, match="EOS073 is at most of severity info, not error"):
        info.finding("x", "message", severity=Severity.ERROR)


def test_a_kind_is_declared_in_the_catalogue_alone_and_a_finding_is_made_by_its_kind() -> None:
    """So nothing can be found that has no ID here: the catalogue's index has every kind of its modules."""
    calls = [(name, call) for name, tree in modules() for call in called(tree)]
    assert {name for name, call in calls if call == "FindingKind"} == {
        name for name, _ in modules() if name.startswith("analysis.catalogue.") and not name.endswith(".index")
    }
    assert len([call for _, call in calls if call == "FindingKind"]) == len(KINDS)
    assert [name for name, call in calls if call == "Finding"] == ["model.report"]


def test_each_kind_is_found_somewhere_and_names_the_commands_that_report_it() -> None:
    finders = [tree for name, tree in modules() if not name.startswith("analysis.catalogue.")]
    assert {kind.id for tree in finders for kind in used_by(tree)} == {kind.id for kind in KINDS}
    claimed = {kind.id: set(commands_reporting(kind)) for kind in KINDS}
    assert [each for each, commands in claimed.items() if not commands] == []
    ruled = {rule.id for rule in RULES}
    assert {each for each, commands in claimed.items() if "doctor" in commands} == ruled
    left_out = {each for each in ruled if "upgrade-check" not in claimed[each]}
    infos = {kind.id for kind in KINDS if kind.severity is Severity.INFO}
    assert left_out == (infos & ruled) | {"EOS012", "EOS013"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module by its name within the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "Finding" in text or "catalogue" in text:
            yield ".".join(path.relative_to(PACKAGE).with_suffix("").parts), ast.parse(text)


def called(tree: ast.Module) -> Iterator[str]:
    """The name of each function or class that is called by its plain name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def used_by(tree: ast.Module) -> Iterator[FindingKind]:
    """The kinds that a module names, imported by themselves or by their module."""
    by_module: Mapping[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CATALOGUE):
            holder = __import__(str(node.module), fromlist=["*"])
            for name in node.names:
                value = __import__(f"{CATALOGUE}.{name.name}", fromlist=["*"]) if node.module == CATALOGUE else None
                by_module |= {name.asname or name.name: value or getattr(holder, name.name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in by_module:
            value = getattr(by_module[node.value.id], node.attr, None)
        elif isinstance(node, ast.Name):
            value = by_module.get(node.id)
        else:
            continue
        if isinstance(value, FindingKind):
            yield value


TRACE = """[2026-11-21 12:00:00,000] ERROR [orders|task-3] WorkerSourceTask{id=orders-3} Task threw it
org.apache.kafka.connect.errors.ConnectException: Failed to perform round of zombie fencing
Caused by: java.util.concurrent.TimeoutException
"""
DOCS = Path(__file__).resolve().parents[2] / "docs"
ERRORS = "org.apache.kafka.common.errors."


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (TRACE, ["fencing-timeout"]),
        (f"Failed to perform round of zombie fencing\nCaused by: {ERRORS}InvalidTxnTimeoutException: x",
         ["fencing-timeout-above-broker-limit"]),
        (f"Failed to perform zombie fencing\nCaused by: {ERRORS}TransactionalIdAuthorizationException",
         ["fencing-not-authorized", "transactional-id-not-authorized"]),
        ("org.apache.kafka.connect.runtime.rest.errors.ConnectRestException: Failed to perform zombie fencing\n",
         ["fencing-failed-at-the-leader"]),
        (f"{ERRORS}ClusterAuthorizationException: Cluster authorization failed.", ["cluster-not-authorized"]),
        (f"{ERRORS}ConcurrentTransactionsException", ["concurrent-transactions"]),
        ("The task orders-0 was unable to finish writing records to Kafka before its producer transaction expired.",
         ["transaction-expired-or-fenced"]),
        ("orders-0 with exactly-once support as the connector has already generated a new set of task configs",
         ["newer-task-configs"]),
        ("Failed to start task orders-0 as it has already been revoked from this worker", ["task-revoked"]),
        (f"{ERRORS}ProducerFencedException: a newer producer with the same transactionalId", ["producer-fenced"]),
        (f"{ERRORS}InvalidProducerEpochException: old", ["invalid-producer-epoch"]),
        (f"{ERRORS}InvalidPidMappingException", ["id-expired"]),
        (f"{ERRORS}UnknownProducerIdException", ["unknown-producer-id"]),
        (f"{ERRORS}OutOfOrderSequenceException", ["out-of-order-sequence"]),
        (f"{ERRORS}TransactionAbortableException", ["transaction-abortable"]),
        (f"{ERRORS}InvalidTxnStateException", ["invalid-transaction-state"]),
        ("Failed to perform round of zombie fencing\nCaused by: ConnectRestException: "
         "Cannot complete request because of a conflicting operation (e.g. worker rebalance)",
         ["fencing-during-rebalance"]),
        (f"{ERRORS}UnstableOffsetCommitException: There are unstable offsets that need to be cleared.",
         ["unstable-offset-commit"]),
        (f"{ERRORS}TransactionCoordinatorFencedException", ["transaction-coordinator-fenced"]),
        ("Failed to write to config topic; this may be due to a transient error", ["leader-write-failed"]),
        ("TimeoutException: expired after 60000ms while awaiting InitProducerId", ["init-transactions-timeout"]),
        ("Timed out waiting to read to end of topic connect-configs", ["not-read-to-end"]),
        ("COORDINATOR_NOT_AVAILABLE", ["coordinator-not-available"]),
        ("This worker does not have exactly-once source support enabled.", ["worker-not-enabled"]),
        ("The connector does not implement the API required for preflight validation", ["connector-does-not-say"]),
        ("The connector does not support exactly-once delivery guarantees with the provided configuration.",
         ["connector-unsupported"]),
        ("Source tasks may not produce to their own offsets topics when", ["own-offsets-topic"]),
        ("Internal request contained invalid signature.", ["request-signature"]),
        ("Topic 'c' is required to have a single partition", ["config-topic-partitions"]),
        ("required to have 'cleanup.policy=compact'", ["topic-not-compacted"]),
        ("dedicated.mode.enable.internal.rest", ["internal-rest-missing"]),
        (f"{ERRORS}InconsistentTopicIdException: x", ["InconsistentTopicIdException"]),
        (f"ConnectException\nCaused by: {ERRORS}WakeupException", ["WakeupException"]),
        ("Failed to perform fencable send to config topic", ["leader-without-privilege"]),
        ("Cannot produce to config topic without claiming write privileges first", ["leader-without-privilege"]),
        ("IO Error trying to forward REST request: java.net.ConnectException", ["forwarding-failed"]),
        (f"{ERRORS}NotEnoughReplicasException: Messages are rejected", ["too-few-replicas"]),
        ("Must set acks to all in order to use the idempotent producer.", ["idempotence-contradicted"]),
        ("Must set max.in.flight.requests.per.connection to at most 5",
         ["idempotence-contradicted"]),
        ("max.in.flight.requests.per.connection must be set to at most 5. Current value is 6.",
         ["idempotence-contradicted"]),
        ("The 'Principal' policy does not allow 'acks' to be overridden in the connector configuration.",
         ["override-refused-by-policy"]),
        (f"{ERRORS}TopicAuthorizationException: Not authorized to access topics: [out]", ["topic-not-authorized"]),
        ("IllegalStateException: Cannot add partition out-0 to transaction while in state  READY",
         ["producer-not-in-transaction"]),
        ("This worker does not support the 'HmacSHA1' key signing algorithm used by other workers.",
         ["request-signature"]),
        ("The transaction timeout is larger than the maximum value allowed by the broker (as configured by "
         "transaction.max.timeout.ms).", ["fencing-timeout-above-broker-limit"]),
        ("Failed to perform round of zombie fencing", ["fencing-failed"]),
        ("NotLeaderException: Only the leader may perform zombie fencing.", ["not-the-leader", "NotLeaderException"]),
        ("This worker is currently reclaiming write privileges for the config topic",
         ["reclaiming-write-privileges"]),
        ("ConnectException: OffsetStorageWriter is already flushing", ["offsets-not-flushed"]),
        ("ERROR Unexpected exception in Thread[KafkaBasedLog Work Thread - connect-configs,5,main]",
         ["topic-reader-failed"]),
        ("CRITICAL: Failed to serialize partition key when getting offsets for task with namespace orders.",
         ["source-partition-not-serialized"]),
        (f"{ERRORS}UnsupportedVersionException: Attempted to write a non-default clientTransactionVersion at version 0",
         ["transaction-version-lowered", "UnsupportedVersionException"]),
        ("INFO [Producer clientId=p, transactionalId=g-x-0] Transiting to fatal error state due to "
         f"{ERRORS}UnsupportedVersionException: The version of API is not supported.",
         ["transactional-request-unsupported", "UnsupportedVersionException"]),
        ("Request timed out. The worker is currently ensuring membership in the cluster, which began at 2026-11-26",
         ["worker-busy"]),
        ("Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config "
         "change)", ["stale-configuration"]),
        ("Could not find transaction metadata when trying to timeout transaction for a",
         ["timed-out-transaction-lost"]),
        ("Cannot fence producer with epoch equal to Short.MaxValue since this would overflow", ["epoch-exhausted"]),
        ("Failed to perform zombie fencing for source connector prior to modifying offsets",
         ["fencing-before-offsets-failed"]),
        ("ConnectException: Failed to reset consumer group offsets for connector s either because its tasks haven't",
         ["sink-group-not-empty"]),
        ("Unable to claim write privileges for config topic. Will backoff and possibly retry", ["leader-cannot-write"]),
        ("The connector does not support connector-defined transaction boundaries with the given configuration.",
         ["boundary-not-defined"]),
        ("ConnectException: Failed to flush offsets and/or records for task orders-0", ["commit-failed"]),
        ("Graceful stop of task orders-0 failed.", ["stop-timed-out"]),
        ("WARN Failed to write offsets to secondary backing store", ["secondary-offsets-failed"]),
        ("WorkerSourceTask{id=orders-0} Timed out waiting to flush offsets to storage; will try again",
         ["offsets-flush-timeout"]),
        ("Either no records were produced by the task since the last offset commit, or every record has been filtered",
         ["nothing-to-commit"]),
        ("Aborting transaction for record on topic out as requested by connector", ["aborted-by-connector"]),
        ("Could not look up partition metadata for topic 'connect-configs' in the allotted period.",
         ["internal-topic-unavailable"]),
        ("worker poll timeout has expired. The last known action being performed by the worker is : {}",
         ["poll-timeout"]),
        ("Task failed to create new topic (name=out). Ensure that the task is authorized to create topics",
         ["topic-not-created"]),
        ("We have an incomplete set of task configs for connector 'orders' probably due to compaction.",
         ["incomplete-task-configs"]),
        ("Skipping zombie fencing round for connector orders as all old task generations have been fenced out",
         ["fencing-skipped"]),
        ("This worker is still starting up and has not been able to read a session key from the config topic yet",
         ["session-key-missing"]),
        (f"{ERRORS}GroupAuthorizationException: Not authorized to access group: connect-s", ["group-not-authorized"]),
        ("The db history topic or its content is fully or partially missing.", ["schema-history-missing"]),
        ("ConfigException: Configuration 'plugin.path' values must not be empty.", ["empty-list-refused"]),
        ("Couldn't find leader endpoint for partitions Set(out-0) while trying to send transaction markers for c-0, "
         "these partitions are likely deleted already and hence can be skipped", ["marker-skipped"]),
        ("Idempotent transaction marker retry detected for producer 7 epoch 3.", ["marker-repeated"]),
        (f"{ERRORS}OutOfOrderSequenceException: Invalid sequence number for producer 7 at offset 9 in partition o-0: "
         "4 (incoming seq. number). Expected sequence 0 for transactions v2 idempotent producer.",
         ["first-sequence-refused", "out-of-order-sequence"]),
        ("Expected transactional write from producer 7 at offset 9 in partition out-0", ["write-outside-transaction"]),
        ("Completed rollback of ongoing transaction for transactionalId c-orders-0 due to timeout",
         ["timed-out-transaction-aborted"]),
        ("Rollback of ongoing transaction for transactionalId c-orders-0 failed due to error COORDINATOR_FENCED",
         ["timed-out-transaction-not-aborted"]),
        ("The coordinator failed to write an epoch fence transition for producer c-orders-0", ["fencing-not-written"]),
        ("Transaction topic number of partitions has changed from 50 to 60", ["transaction-topic-grown"]),
        ("The client hasn't received acknowledgment for some previously sent messages and can no longer retry them.",
         ["acknowledgement-lost"]),
        ("KafkaException: Cannot execute transactional method because we are in an error state",
         ["producer-in-error-state"]),
        ("Unexpected error in AddOffsetsToTxnResponse: The coordinator is gone", ["unexpected-transactional-answer"]),
        ("[Producer transactionalId=c-orders-0] ProducerId set to 7 with epoch 3", ["producer-initialized"]),
        ("Could not find any open transactions starting at offset 4 on partition out-0", ["no-transaction-to-abort"]),
        ("zombie", ["zombie"]),
        ("Zombie tasks?", ["zombie"]),
        ("Performing preflight zombie check for task orders-0", []),
        ("consumer stuck", ["consumer-stuck"]),
        ("why are read_committed consumers of orders stuck", ["consumer-stuck"]),
        (f"Failed to perform round of zombie fencing\nCaused by: {ERRORS}InvalidTopicException: x",
         ["fencing-failed", "InvalidTopicException"]),
        ("String length 70000 is larger than the maximum string length.", []),
        ("java.util.concurrent.TimeoutException", []),
        ("java.lang.NullPointerException", []),
    ],
)  # fmt: skip
def test_an_error_is_recognised(text: str, ids: list[str]):
    assert [each.id for each in explain_error(text)] == ids


@pytest.mark.parametrize(
    "quoted",
    [
        "Failed to write to config topic",
        "Cannot produce to config topic without claiming write privileges first",
        "OffsetStorageWriter is already flushing",
        "CRITICAL: Failed to serialize partition key",
        "Unexpected exception in Thread[KafkaBasedLog Work Thread",
    ],
)
def test_a_line_of_kafkas_logs_that_a_page_quotes_is_explained(quoted: str):
    assert any(quoted in " ".join(page.read_text().split()) for page in DOCS.rglob("*.md"))
    assert explain_error(quoted)


def test_every_kind_of_error_is_recognised_by_a_case_above():
    cases = next(mark.args[1] for mark in test_an_error_is_recognised.pytestmark)
    classes = {error.id for error in KAFKA_ERRORS}
    assert {pattern.id for pattern in ERROR_PATTERNS} == {each for _, ids in cases for each in ids} - classes


def test_names_found_in_the_text_are_filled_in_and_others_are_placeholders_in_capitals():
    (explained,) = explain_error(TRACE, "connect-cluster")
    assert "eosctl inspect-config --connector orders --group-id connect-cluster" in explained.commands
    assert any("/connectors/orders/tasks/3/restart" in each for each in explained.commands)
    (unnamed,) = explain_error("UnknownProducerIdException")
    assert any("/connectors/CONNECTOR/tasks/TASK/restart" in each for each in unnamed.commands)


def test_commands_with_any_names_can_be_pasted():
    text = "[it's; orders/a|task-3] Failed to perform round of zombie fencing: TimeoutException"
    (explained,) = explain_error(text, "my group")
    inspect = next(each for each in explained.commands if each.startswith("eosctl"))
    assert shlex.split(inspect) == [
        "eosctl",
        "inspect-config",
        "--connector",
        "it's; orders/a",
        "--group-id",
        "my group",
    ]
    (expired,) = explain_error("[it's; orders/a|task-3] InvalidPidMappingException", "my group")
    restart = next(each for each in expired.commands if "restart" in each)
    assert "POST /connectors/it%27s%3B%20orders%2Fa/tasks/3/restart" in restart


def test_no_error_of_a_round_of_fencing_is_answered_with_fencing_from_outside():
    """Each start of a task would begin Connect's own round again, and fail again."""
    rounds = {"concurrent-transactions", *(each.id for each in ERROR_PATTERNS if each.id.startswith("fencing"))}
    assert {"concurrent-transactions", "fencing-timeout", "fencing-failed-at-the-leader"} <= rounds
    commands = {each.id: each.commands for each in ERROR_PATTERNS if each.id in rounds}
    assert [each for each, known in commands.items() if "eosctl fence" in "; ".join(known)] == []


def test_a_transactional_id_comes_from_the_text_or_from_group_and_task():
    text = "[Producer clientId=a, transactionalId=my-id] ProducerFencedException"
    assert names_in(text)["transactional_id"] == "my-id"
    (explained,) = explain_error("[orders|task-3] InvalidPidMappingException", "g")
    assert explained.id == "id-expired"
    (fenced,) = explain_error("[orders|task-3] ProducerFencedException", "g")
    assert fenced.commands[0] == "eosctl transactions describe g-orders-3 --group-id g"


def test_ids_are_words_and_every_entry_has_a_next_step():
    assert len({each.id for each in ERROR_PATTERNS}) == len(ERROR_PATTERNS)
    assert all(each.commands and each.cause.endswith(".") and each.source for each in ERROR_PATTERNS)


@pytest.mark.parametrize(
    "text",
    [
        "There is a newer producer with the same transactionalId which fences the current one.",
        "the transactional id was fenced; the connector has failed and the topic cannot be read",
        "Connector is stopped: topics that are missing, topic exactly-once",
        "They are UNASSIGNED, or you have stopped the **connector:** fence them.",
        "There are two owners of the transactional ID: fence the older one. Look at the topic: read it first.",
    ],
)
def test_a_word_of_the_sentence_is_no_name(text):
    assert names_in(text) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("task pay-0 died", {"connector": "pay", "task": "0"}),
        ("transactionalId=my-id, fenced", {"transactional_id": "my-id"}),
        ("TransactionalId flink-sink-0-3: invalid", {"transactional_id": "flink-sink-0-3"}),
        ("transactional id 'pay'", {"transactional_id": "pay"}),
        ("Not authorized to access topics: [out]", {"topic": "out"}),
        ("connector 'pay' failed", {"connector": "pay"}),
        ("Failed to start connector: pay\n\tat x", {"connector": "pay"}),
        ("of a task (orders-0)", {"connector": "orders", "task": "0"}),
    ],
)
def test_a_name_that_the_text_marks_is_taken(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "says", "step"),
    [
        (
            "NotLeaderOrFollowerException",
            "org.apache.kafka.common.errors.NotLeaderOrFollowerException: NOT_LEADER_OR_FOLLOWER, code 6",
            "restart the task that FAILED with it",
        ),
        (
            "InvalidFetchSizeException",
            "org.apache.kafka.common.errors.InvalidFetchSizeException: INVALID_FETCH_SIZE, code 4",
            "remove the cause in the message",
        ),
        (
            "org.apache.kafka.common.errors.WakeupException",
            "org.apache.kafka.common.errors.WakeupException",
            "remove the cause in the message",
        ),
    ],
)
def test_an_error_of_kafka_is_named_with_its_code_where_it_has_one(text: str, says: str, step: str):
    [found] = explain_error(text)
    assert found.title == says
    assert found.cause.startswith("It is retriable: " if step.startswith("restart") else "It is not retriable: ")
    assert found.commands[0].startswith(step)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("the server experienced an unexpected error", ["UnknownServerException"]),
        ("org.apache.kafka.connect.errors.ConnectException: Unrecoverable", ["ConnectException"]),
        ("ConnectException ... InvalidFetchSizeException", ["InvalidFetchSizeException"]),
        ("nothing of that kind", []),
    ],
)
def test_an_error_is_known_by_its_message_and_a_wrapper_only_alone(text: str, ids: list[str]):
    assert [each.id for each in explain_error(text)] == ids


def test_an_error_of_a_code_is_more_than_a_class():
    coded, named = explain_error("InvalidFetchSizeException")[0], explain_error("WakeupException")[0]
    assert (is_general(coded), is_general(named)) == (False, True)


def test_kafka_s_errors_are_read_line_by_line():
    errors = tuple(_errors())
    assert errors == KAFKA_ERRORS
    by_id = {each.id: each for each in errors}
    refused, woken = by_id["InvalidFetchSizeException"], by_id["WakeupException"]
    assert (refused.code, refused.name, refused.messages) == (4, "INVALID_FETCH_SIZE", ("The requested fetch size",))
    assert (woken.code, woken.name, woken.messages) == (None, None, ())


def test_a_task_without_a_connector_gives_no_transactional_id():
    text = "ProducerFencedException: There is a newer producer with the same transactionalId"
    [found, *_] = explain_error(text, "g", known={"task": "0"})
    assert not any("g-" in each for each in found.commands)


def test_only_a_failure_that_connect_itself_ends_is_overtaken():
    assert not is_overtaken("org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer")
