"""The catalogue of findings: IDs that stay, and nothing found that is not in it."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eosctl.analysis.catalogue.index import KINDS, THEMES, kinds_called
from eosctl.analysis.explanations import ERROR_PATTERNS
from eosctl.analysis.rules.registry import RULES, commands_reporting, explain_finding
from eosctl.model.report import FindingKind, Severity

PACKAGE = Path(__file__).parents[2] / "eosctl"
CATALOGUE = "eosctl.analysis.catalogue"
NAMES = """
    001 worker-too-old  002 mixed-versions  003 known-bugs
    010 worker-silent  011 workers-elsewhere  012 mixed-phases  013 exactly-once-not-enabled
    014 file-contradicts-worker  015 invalid-support-value  016 draft-names  017 worker-files-disagree
    018 two-steps-away  019 plugins-differ
    020 no-such-group  021 unnamed-worker  022 worker-knows-other-connectors  023 unsigned-requests
    024 tasks-moving  025 shared-worker-address  026 override-policies-differ  027 signatures-refused
    028 preflight-differs
    030 fencing-too-slow  031 fencing-timeout-refused  032 fencing-not-proved
    040 transaction-log-unwritable  041 transaction-log-leaderless  042 transaction-log-thinly-replicated
    043 partition-verification-off  044 transactional-ids-expire-early  045 transaction-log-repartitioned
    046 transaction-version-low
    050 missing-internal-topic  051 more-than-one-partition  052 wrong-cleanup-policy  053 internal-topic-unwritable
    054 internal-topic-thinly-replicated  055 own-offsets-topic-missing  056 not-a-status-topic
    060 not-a-config-topic  061 mixed-writers  062 interleaved-leaders  063 open-transaction  064 poison-record
    065 fatal-record  066 malformed-record  067 invalid-keys  068 pending-fencing-with-running-tasks
    069 task-count-mismatch  070 commit-without-task-count-record  071 inconsistent-connector
    072 commit-before-config  073 orphan-records  074 impossible-connector
    080 shadowed-offset  081 stores-disagree  082 malformed-offset  083 offsets-written-elsewhere
    084 orphan-offsets  085 key-in-two-partitions  086 logical-duplicates  087 malformed-offsets-key
    088 open-transaction  089 offsets-undeletable  090 null-partition-lost  091 produces-elsewhere
    092 uncommitted-offset  093 not-an-offsets-topic
    100 exactly-once-unsupported  101 exactly-once-not-required  102 override-ignored
    103 override-breaks-idempotence  104 transaction-timeout-too-long  105 transaction-interval-too-long
    106 mirror-reads-uncommitted  107 mirror-without-internal-rest  108 tasks-failed
    109 connector-transactions-unbound
    110 leader-id-unknown  111 task-ids-unknown  112 transaction-overdue  113 task-and-leader-share-id
    114 transactional-id-prefix  115 foreign-transactional-ids  116 open-transaction-without-leader
    117 transactional-id-near-expiry  118 task-ids-shared  119 group-id-elsewhere
    120 consumers-read-uncommitted  121 sink-reads-uncommitted  122 consumers-held-back
    130 leader-acl-missing  131 task-acl-missing  132 connect-acls-missing  133 transactional-id-collision
    134 override-refused  135 override-policy-unknown  136 topics-unknown  137 own-kafka-client  138 tasks-unknown
    139 authorizer-setting-hidden  140 reference-unresolved  141 acl-denied  142 acl-partly-denied
    143 required-acl-missing
    150 output-loses-committed  151 output-unwritable
    160 task-quiet
    200 offset-set-back  201 offset-repeated  202 plain-offsets-write  203 zombie-writer  204 offsets-removed
    205 offset-not-taken-over  206 offsets-altered  207 snapshot-begun-again  208 snapshot-unclear
    210 data-without-offsets  211 missing-marker  212 mixed-markers  213 data-outside-transaction
    214 hanging-transaction  215 other-writer  216 unknown-writer  217 unclear  218 unjudged
    219 offsets-without-data  220 start-without-fencing  221 plain-leader-write  230 lost-range
    231 unreadable-range  232 expired-range  233 open-transaction
    300 transactional-id-misplaced  301 producer-epochs-near-end  302 newer-log-record
    303 old-transaction-protocol  304 transaction-without-timeout
    320 mirror-gap  321 mirror-repeat  322 mirror-disorder  323 aborted-mirrored  324 mirror-unknown
    325 mirror-changed  326 source-purged  327 source-recreated  328 mirror-retention  329 mirror-unpaired
    330 mirror-began  331 checkpoint-ahead
    400 no-offsets  401 source-topic-assumed  402 foreign-keys  403 target-connector-unknown
    404 target-connector-exists  405 workers-answer-otherwise  406 key-in-foreign-partition  407 offsets-conflict
    408 offsets-only-in-target  409 source-partition-unclear  410 connector-unknown  411 position-at-source
    412 offset-unlike-before  413 records-skipped
"""
"""Every ID with its name. Both stay: a line is added here, never changed or taken away."""


def test_an_id_and_its_name_stay_what_they_were() -> None:
    listed = dict(re.findall(r"(\d{3}) (\S+)", NAMES))
    assert {kind.id: kind.name for kind in KINDS} == {f"EOS{number}": name for number, name in listed.items()}


def test_each_id_is_one_kind_s_and_in_the_range_of_its_theme() -> None:
    ids = [kind.id for kind in KINDS]
    assert ids == sorted(set(ids))
    for theme in THEMES:
        assert [kind.id for kind in theme.kinds if int(kind.id.removeprefix("EOS")) not in theme.numbers] == []


def test_a_name_is_no_other_fault_s_and_no_error_s() -> None:
    names = [kind.name for kind in KINDS]
    assert {name for name in names if names.count(name) > 1} == {"open-transaction"}, "one fault of three topics"
    assert set(names).isdisjoint(pattern.id for pattern in ERROR_PATTERNS)


def test_every_kind_says_what_it_is_why_it_matters_and_what_to_do() -> None:
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
