"""Upgrades to exactly-once: phases and answers."""

from itertools import product

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue.internal_topics import UNCOMMITTED_OFFSET
from eosctl.analysis.client_configs import UNREAD as UNREAD_CLIENTS
from eosctl.analysis.phases import in_force, worker_phases
from eosctl.analysis.upgrade import REPORTED, RULES, _blockers, _done, _doubts, check_feature, check_upgrade
from eosctl.codecs.connector_files import worker_of
from eosctl.model.client_roles import ClientRole, ConnectCluster, WorkerConfig
from eosctl.model.evidence import declared_support
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis, FeatureLevel, Phase, RuleAnswer, Verdict, WorkerPhase
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport
from tests.analysis.config_records import Log
from tests.analysis.evidence import BROKER, FILE, A, B, acls, but, inspection, logged, transactional_id, worker
from tests.planning.test_acls import NAMES

URLS = ("http://a:8083", "http://b:8083", "http://c:8083")
PHASES = (Phase.DISABLED, Phase.PREPARING, Phase.ENABLED)
RANK = {phase: number for number, phase in enumerate(PHASES)}
SUPPORT = "exactly.once.source.support"


def cluster(*phases, files=True, **changes):
    """Three workers at these phases; without any preparing worker, no coordinator knows the leader's ID."""
    given = {url: FILE | {SUPPORT: phase.value} for url, phase in zip(URLS, phases, strict=True)}
    members = tuple(GroupMember(url, url) for url in URLS)
    facts = {
        "workers": {url: worker(url, enabled=phase is Phase.ENABLED) for url, phase in zip(URLS, phases, strict=True)},
        "worker_files": given if files else Skipped("no --worker-config was given"),
        "group": ConnectGroup("Stable", "connect", "sessioned", members),
    }
    return but(**{**facts, **changes})


@pytest.mark.parametrize(("target", "phases"), list(product(PHASES, product(PHASES, repeat=3))))
def test_a_roll_may_start_when_no_worker_is_two_steps_away(target, phases) -> None:
    check = check_upgrade(cluster(*phases), target)
    near = all(abs(RANK[phase] - RANK[target]) <= 1 for phase in phases)
    assert check.verdict is (Verdict.YES if near else Verdict.NO)
    assert check.done is (set(phases) == {target})
    assert [each.phase for each in check.workers] == list(phases)
    to_do = {url for url, phase in zip(URLS, phases, strict=True) if phase is not target}
    if near:
        assert {step.url for step in check.steps} == to_do
        assert all(f"{SUPPORT}={target} " in step.action for step in check.steps)
    else:
        assert [(each.id, each.name) for each in check.blockers] == [("EOS018", "two-steps-away")]
        assert all(f"{SUPPORT}=preparing " in step.action for step in check.steps)


@pytest.mark.parametrize(
    ("phases", "target", "done"),
    [
        ((), Phase.ENABLED, None),
        ((Phase.ENABLED,), Phase.ENABLED, True),
        ((Phase.ENABLED, Phase.PREPARING), Phase.ENABLED, False),
        ((Phase.ENABLED, Phase.UNKNOWN), Phase.ENABLED, None),
        ((Phase.PREPARING, Phase.UNKNOWN), Phase.ENABLED, False),
        ((Phase.PREPARING, Phase.NOT_ENABLED), Phase.PREPARING, None),
        ((Phase.ENABLED, Phase.NOT_ENABLED), Phase.ENABLED, False),
    ],
)
def test_a_roll_is_done_where_every_worker_is_known_to_be_there(phases, target: Phase, done: bool | None) -> None:
    """Unknown is not done: who turns exactly-once on believes it, and the next connector is required to have it."""
    workers = tuple(WorkerPhase(f"http://{number}", phase, "file") for number, phase in enumerate(phases))
    assert _done(workers, target) is done


@pytest.mark.parametrize("phases", list(product(PHASES[:2], repeat=3)))
def test_without_files_the_roll_to_enabled_cannot_be_judged(phases) -> None:
    check = check_upgrade(cluster(*phases, files=False), Phase.ENABLED)
    assert check.verdict is Verdict.CANNOT_TELL
    assert len(check.unknown) == 3
    assert "--worker-config" in check.unknown[0]


@pytest.mark.parametrize("target", [Phase.PREPARING, Phase.DISABLED])
def test_without_files_the_other_rolls_can(target) -> None:
    check = check_upgrade(cluster(Phase.PREPARING, Phase.PREPARING, Phase.DISABLED, files=False), target)
    assert (check.verdict, check.done) == (Verdict.YES, None)
    assert len(check.steps) == 3


def test_all_enabled_needs_no_file_to_be_done() -> None:
    check = check_upgrade(cluster(*[Phase.ENABLED] * 3, files=False), Phase.ENABLED)
    assert (check.verdict, check.done, check.steps) == (Verdict.YES, True, ())


def test_disabled_workers_come_first_on_the_way_to_preparing() -> None:
    check = check_upgrade(cluster(Phase.ENABLED, Phase.PREPARING, Phase.DISABLED), Phase.PREPARING)
    assert [step.url for step in check.steps] == [URLS[2], URLS[0]]


def test_a_file_that_was_changed_without_a_restart_does_not_count() -> None:
    evidence = cluster(*[Phase.PREPARING] * 3)
    files = {url: FILE | {SUPPORT: "enabled"} for url in URLS}
    check = check_upgrade(replace(evidence, worker_files=files), Phase.ENABLED)
    assert check.verdict is Verdict.CANNOT_TELL
    assert "it was not restarted" in check.workers[0].known_by


PREPARED = cluster(*[Phase.PREPARING] * 3)
BLOCKED = [
    ({"workers": {URLS[0]: worker(URLS[0], "3.2.3", enabled=False)}}, Phase.PREPARING, "EOS001"),
    ({"brokers": {0: BROKER | {"transaction.max.timeout.ms": "60000"}}}, Phase.ENABLED, "EOS031"),
    ({"transactions": {}}, Phase.ENABLED, "EOS110"),
    ({"group": replace(PREPARED.group, members=(GroupMember("1", "http://d:1"),))}, Phase.ENABLED, "EOS021"),
    ({"group": replace(PREPARED.group, state="PreparingRebalance")}, Phase.ENABLED, "EOS024"),
    ({"inspection": inspection(**{"producer.override.acks": "1"})}, Phase.ENABLED, "EOS103"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "target", "rule"), BLOCKED)
def test_a_breaking_fault_blocks_the_next_phase(change, target, rule) -> None:
    check = check_upgrade(replace(PREPARED, **change), target)
    assert check.verdict is Verdict.NO
    assert rule in {each.id for each in check.blockers}


LEADER_DENIED = acls(("User:w", ClientRole.WORKER, None, transactional_id("connect-cluster-g")))
TASKS_DENIED = acls(("User:c", ClientRole.ADMIN, "x", transactional_id("g-x-0")))


@pytest.mark.parametrize(
    ("missing", "target", "rules"),
    [
        (LEADER_DENIED, Phase.PREPARING, ["EOS130"]),
        (LEADER_DENIED, Phase.DISABLED, []),
        (TASKS_DENIED, Phase.DISABLED, []),
    ],
)
def test_acls_that_the_planner_misses_stand_in_the_way_of_the_phase_that_needs_them(missing, target, rules) -> None:
    check = check_upgrade(replace(PREPARED, acl_differences=missing), target)
    assert [each.id for each in check.blockers] == rules


def test_acls_of_tasks_stand_in_the_way_of_enabled_alone() -> None:
    missing = {**acls(), SourceSupport.ENABLED: TASKS_DENIED[SourceSupport.ENABLED]}
    verdicts = {
        phase: check_upgrade(replace(PREPARED, acl_differences=missing), phase).verdict
        for phase in (Phase.PREPARING, Phase.ENABLED)
    }
    assert verdicts == {Phase.PREPARING: Verdict.YES, Phase.ENABLED: Verdict.NO}


def test_findings_that_matter_only_when_enabled_do_not_block_preparing() -> None:
    low = {0: BROKER | {"transaction.max.timeout.ms": "60000"}}
    check = check_upgrade(replace(PREPARED, brokers=low), Phase.PREPARING)
    assert check.verdict is Verdict.YES
    assert "EOS031" in {each.id for each in check.warnings}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"brokers": Skipped("denied")}, "EOS031"),
        ({"group": Skipped("denied")}, "EOS021"),
        ({"transactions": Skipped("denied")}, "EOS110"),
        ({"workers": {}, "group": replace(PREPARED.group, members=())}, "no worker was named"),
        ({"workers": {**PREPARED.workers, URLS[0]: replace(worker(URLS[0]), enabled=Skipped("500"))}}, "500"),
    ],
)
def test_an_unread_fact_is_not_a_yes(change, words) -> None:
    check = check_upgrade(replace(PREPARED, **change), Phase.ENABLED)
    assert check.verdict is Verdict.CANNOT_TELL
    assert words in " ".join(check.unknown)


@pytest.mark.parametrize(
    ("unread", "verdict"),
    [
        (Unread("the groups", "denied", Cause.DENIED), Verdict.CANNOT_TELL),
        (Unread("the groups", "denied", Cause.DENIED, needed=False), Verdict.YES),
        (Unread("ACLs", "no principal was given", Cause.NOT_ASKED), Verdict.YES),
    ],
)
def test_missing_evidence_is_not_a_yes_unless_it_could_only_add_a_finding(unread: Unread, verdict: Verdict) -> None:
    check = check_upgrade(PREPARED, Phase.ENABLED, Coverage((unread.what,), (unread,)))
    assert check.verdict is verdict


def test_a_worker_that_is_silent_stands_in_the_way() -> None:
    workers = {**PREPARED.workers, URLS[1]: Skipped("no answer")}
    check = check_upgrade(replace(PREPARED, workers=workers), Phase.ENABLED)
    assert check.verdict is Verdict.NO
    assert "EOS010" in {each.id for each in check.blockers}


def test_a_step_down_lists_its_consequences() -> None:
    log = Log().writer(7).config("x", **{"producer.override.bootstrap.servers": "other:9092"}).tasks("x", 0)
    log.commit("x", 1).fencing("x", 1)
    evidence = cluster(*[Phase.ENABLED] * 3, inspection=inspection(log))
    words = " ".join(check_upgrade(evidence, Phase.PREPARING).consequences)
    assert "without transactions" in words
    assert "task count records of 1 connector (x) become stale" in words
    assert "x has an offsets topic on its own cluster only because exactly-once is enabled" in words
    assert "before 3.3 is hard" in words
    own = inspection(**{"offsets.storage.topic": "x-offsets"})
    assert "x keeps its offsets topic x-offsets" in " ".join(
        check_upgrade(cluster(*[Phase.ENABLED] * 3, inspection=own), Phase.PREPARING).consequences
    )


def test_a_step_up_costs_nothing() -> None:
    assert check_upgrade(PREPARED, Phase.ENABLED).consequences == ()


UNCOMMITTED = UNCOMMITTED_OFFSET.finding("x", "an aborted offset is the last one", severity=Severity.INFO)


@pytest.mark.parametrize("target", PHASES)
def test_an_offset_that_was_not_committed_stands_in_the_way_of_phases_that_read_it(target) -> None:
    blocks = target is not Phase.ENABLED
    check = check_upgrade(cluster(*[Phase.PREPARING] * 3, offset_findings=(UNCOMMITTED,)), target)
    assert [(each.id, each.severity) for each in check.blockers] == ([("EOS092", Severity.ERROR)] if blocks else [])
    assert check.verdict is (Verdict.NO if blocks else Verdict.YES)


def test_an_error_of_workers_that_are_not_enabled_is_a_warning_on_the_way_up() -> None:
    found = replace(UNCOMMITTED, severity=Severity.ERROR)
    check = check_upgrade(cluster(*[Phase.PREPARING] * 3, offset_findings=(found,)), Phase.ENABLED)
    assert (check.blockers, check.warnings) == ((), (found,))


def test_the_way_back_begins_with_stopping_the_connectors() -> None:
    check = check_upgrade(cluster(*[Phase.ENABLED] * 3), Phase.PREPARING)
    assert any("Stop every source connector" in each for each in check.consequences)


DISABLED, PREPARING, ENABLED = SourceSupport
UNREAD = WorkerConfig(worker_of(NAMES, "the command line").properties, unread=not_asked("no --worker-config was given"))
OFF, ON, SILENT = worker(A, enabled=False), worker(A), Skipped("gone")


def from_file(**settings: str) -> WorkerConfig:
    return worker_of(NAMES | {key.replace("_", "."): value for key, value in settings.items()}, "w.properties")


def phases(config: WorkerConfig, workers: object) -> list[tuple[SourceSupport | None, str]] | str:
    found = in_force(ConnectCluster((config,), ()), workers)  # type: ignore[arg-type]
    if isinstance(found, Skipped):
        return found.reason
    return [(each.phase, each.phase_known_by) for each in found.workers]


def test_a_worker_with_unread_settings_has_no_phase() -> None:
    assert UNREAD.phase is None
    assert from_file().phase is DISABLED
    assert from_file(exactly_once_source_support="Preparing").phase is PREPARING


def test_a_file_without_the_setting_means_its_default() -> None:
    assert phases(from_file(exactly_once_source_support="enabled"), {}) == [(ENABLED, "w.properties")]
    assert phases(from_file(), {A: OFF}) == [(DISABLED, "w.properties, which does not set it")]


def test_a_worker_that_answers_enabled_overrules_a_file_with_a_lower_phase() -> None:
    both = [(PREPARING, "w.properties"), (ENABLED, f"the answer of {A}")]
    assert phases(from_file(exactly_once_source_support="preparing"), {A: ON}) == both
    ahead = from_file(exactly_once_source_support="enabled")
    assert phases(ahead, {A: OFF}) == phases(ahead, {A: ON}) == [(ENABLED, "w.properties")]


def test_without_a_file_workers_that_are_enabled_say_so() -> None:
    assert phases(UNREAD, {A: ON, B: worker(B)}) == [(ENABLED, f"the answer of {A} and 1 more")]


@pytest.mark.parametrize("other", [worker(B, enabled=False), SILENT, replace(worker(B), enabled=Skipped("denied"))])
def test_beside_one_that_is_enabled_another_may_still_be_preparing(other: object) -> None:
    [enabled, preparing] = phases(UNREAD, {A: ON, B: other})
    assert enabled == (ENABLED, f"the answer of {A}")
    assert preparing[0] is PREPARING
    assert B in preparing[1]


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        ({A: OFF}, f"{A} answers that it is not enabled, which is disabled or preparing"),
        ({A: SILENT}, "gone"),
        ({A: replace(ON, enabled=Skipped("denied"))}, "denied"),
        (not_asked("no --connect-url was given"), "no --connect-url was given"),
        ({}, "no worker was queried"),
    ],
)
def test_without_a_file_and_an_enabled_worker_the_phase_is_not_known(workers: object, reason: str) -> None:
    said = phases(UNREAD, workers)
    assert isinstance(said, str)
    assert said.endswith(reason)


def test_the_answer_of_a_worker_overrules_its_file() -> None:
    enabled, preparing = {SOURCE_SUPPORT: "enabled"}, {SOURCE_SUPPORT: "preparing"}
    found = list(worker_phases({A: OFF, B: worker(B), "c": SILENT}, {A: preparing, B: preparing}))
    assert [each.phase for each in found] == [Phase.PREPARING, Phase.ENABLED, Phase.UNKNOWN]
    [stale] = worker_phases({A: OFF}, {A: enabled})
    assert stale.phase is Phase.NOT_ENABLED


def test_the_file_of_a_dedicated_mirrormaker_sets_the_phase_of_each_cluster_separately() -> None:
    assert declared_support({"clusters": "a, b", "b.exactly.once.source.support": "enabled"}) is None


def test_the_way_back_warns_before_transaction_version_is_lowered() -> None:
    """kafka-features.sh accepts 0 without a warning; with it the tasks and the leader stop (EOS047)."""
    for level, warned in ((2, True), (1, False), (0, False)):
        evidence = cluster(*[Phase.ENABLED] * 3, finalized_features={"transaction.version": level})
        said = check_upgrade(evidence, Phase.PREPARING).consequences
        assert any("do not lower it to 0" in each for each in said) is warned, level


@pytest.mark.parametrize(
    ("present", "level", "used", "verdict", "done"),
    [
        (2, 0, 2, Verdict.NO, False),
        (2, 0, 0, Verdict.NO, False),  # another application's IDs may have used it
        (1, 0, 2, Verdict.NO, False),  # it was 2 before, and an ID still has its state
        (1, 0, 0, Verdict.YES, False),
        (2, 1, 2, Verdict.YES, False),
        (0, 2, 0, Verdict.YES, False),
        (2, 2, 2, Verdict.YES, True),
        (0, 0, 0, Verdict.YES, True),
    ],
)
def test_a_level_of_transaction_version_is_judged_before_it_is_set(present, level, used, verdict, done) -> None:
    evidence = but(finalized_features={"transaction.version": present}, logged={"g-x-0": logged(client=used)})
    check = check_feature(evidence, FeatureLevel("transaction.version", level))
    assert (check.verdict, check.done) == (verdict, done)
    assert [each.id for each in check.blockers] == (["EOS047"] if verdict is Verdict.NO else [])
    assert bool(check.consequences) is (verdict is Verdict.YES and level < present)


def test_a_level_that_could_not_be_read_is_no_yes() -> None:
    target = FeatureLevel("transaction.version", 0)
    assert check_feature(but(finalized_features=Skipped("denied")), target).verdict is Verdict.CANNOT_TELL
    unread = but(finalized_features={"transaction.version": 1}, logged=Skipped("denied"))
    assert check_feature(unread, target).verdict is Verdict.CANNOT_TELL


@pytest.mark.parametrize(
    ("present", "level", "verdict", "done"),
    [
        ({}, 0, Verdict.YES, True),
        ({"transaction.version": 0}, 0, Verdict.YES, True),
        ({"transaction.version": 1}, 0, Verdict.CANNOT_TELL, False),
        ({"transaction.version": 1}, 1, Verdict.YES, True),
        ({"transaction.version": 2}, 1, Verdict.YES, False),
        ({"transaction.version": 2}, 0, Verdict.NO, False),
        (Skipped("denied"), 0, Verdict.CANNOT_TELL, None),
        (Skipped("denied"), 2, Verdict.CANNOT_TELL, None),
    ],
)
def test_a_transaction_log_that_was_not_read_matters_where_version_2_may_have_left_state(present, level, verdict, done):
    coverage = Coverage(("logged",), (Unread("logged", "denied", Cause.DENIED),))
    evidence = but(finalized_features=present, logged=Skipped("denied"))
    check = check_feature(evidence, FeatureLevel("transaction.version", level), coverage)
    assert (check.verdict, check.done) == (verdict, done)
    assert bool(check.unknown) is (verdict is Verdict.CANNOT_TELL)
    assert check.coverage == (coverage if check.unknown else Coverage())
    assert bool(check.consequences) is (present == {"transaction.version": 2} and level == 1)


@pytest.mark.parametrize(("used", "named"), [(2, ", 1 ID of this Connect cluster among them (g-x-0)"), (0, ": at 0")])
def test_a_level_that_is_in_use_is_named_with_the_ids_of_this_connect_cluster(used: int, named: str) -> None:
    evidence = but(finalized_features={"transaction.version": 2}, logged={"g-x-0": logged(client=used)})
    [found] = check_feature(evidence, FeatureLevel("transaction.version", 0)).blockers
    assert named in found.message
    assert ("among them" in found.message) is (used == 2)


def test_something_misnamed_is_the_only_answer_of_a_roll() -> None:
    dead = ConnectGroup("Dead", "", "", ())
    check = check_upgrade(cluster(*[Phase.PREPARING] * 3, group=dead, transactions={}), Phase.ENABLED)
    assert (check.verdict, check.done, check.steps, check.warnings) == (Verdict.CANNOT_TELL, None, (), ())
    assert [each.id for each in check.blockers] == ["EOS020"]
    assert check.unknown == (check.blockers[0].message,)


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        ((Phase.DISABLED, Phase.PREPARING, Phase.PREPARING), "http://a:8083 is disabled."),
        ((Phase.DISABLED, Phase.DISABLED, Phase.PREPARING), "http://a:8083, http://b:8083 are disabled."),
    ],
)
def test_workers_that_are_two_steps_away_are_named(workers, words: str) -> None:
    check = check_upgrade(cluster(*workers), Phase.ENABLED)
    [found] = [each for each in check.blockers if each.id == "EOS018"]
    assert found.message.startswith(words)
    assert [each.url for each in check.steps] == found.evidence["workers"]


@pytest.mark.parametrize(
    ("workers", "target", "costs"),
    [
        ((Phase.ENABLED, Phase.PREPARING, Phase.PREPARING), Phase.PREPARING, True),
        ((Phase.PREPARING, Phase.PREPARING, Phase.PREPARING), Phase.PREPARING, False),
        ((Phase.PREPARING, Phase.DISABLED, Phase.DISABLED), Phase.DISABLED, True),
        ((Phase.DISABLED, Phase.DISABLED, Phase.DISABLED), Phase.DISABLED, False),
        ((Phase.DISABLED, Phase.PREPARING, Phase.DISABLED), Phase.PREPARING, False),
    ],
)
def test_only_a_worker_above_the_target_loses_something(workers, target, costs: bool) -> None:
    assert bool(check_upgrade(cluster(*workers), target).consequences) is costs


def test_a_step_down_names_only_what_is_known_of_the_connectors() -> None:
    down = cluster(*[Phase.ENABLED] * 3)
    for changed in ({"inspection": Skipped("denied")}, {"inspection": inspection(Log().config("x"))},
                    {"inspection": inspection(Log().healthy("x", 1).put("connector-x", None))}):  # fmt: skip
        said = " ".join(check_upgrade(replace(down, **changed), Phase.PREPARING).consequences)
        assert "task count records" not in said
        assert "keeps its offsets topic" not in said
        assert "before 3.3 is hard" in said
    unread = check_upgrade(replace(down, finalized_features=Skipped("denied")), Phase.PREPARING)
    assert not any("do not lower it to 0" in each for each in unread.consequences)


def test_a_worker_that_is_not_enabled_may_be_preparing_only_where_that_is_the_question() -> None:
    without_files = cluster(Phase.ENABLED, Phase.PREPARING, Phase.PREPARING, files=False)
    assert len(check_upgrade(without_files, Phase.ENABLED).unknown) == 2
    assert check_upgrade(without_files, Phase.PREPARING).unknown == ()
    check = check_upgrade(without_files, Phase.PREPARING)
    assert [each.url for each in check.steps] == [URLS[1], URLS[2], URLS[0]]


def test_a_finding_that_stands_in_the_way_is_no_warning_besides() -> None:
    low = {0: BROKER | {"transaction.max.timeout.ms": "60000"}}
    check = check_upgrade(replace(PREPARED, brokers=low), Phase.ENABLED)
    assert "EOS031" in {each.id for each in check.blockers}
    assert "EOS031" not in {each.id for each in check.warnings}
    assert [(each.url, each.phase) for each in check.steps] == []


@pytest.mark.parametrize(
    ("workers", "target", "done"),
    [
        ((Phase.UNKNOWN,), Phase.PREPARING, None),
        ((Phase.DISABLED, Phase.UNKNOWN), Phase.PREPARING, False),
        ((Phase.PREPARING, Phase.UNKNOWN), Phase.PREPARING, None),
        ((Phase.DISABLED, Phase.NOT_ENABLED), Phase.DISABLED, None),
        ((Phase.NOT_ENABLED,), Phase.ENABLED, False),
        ((Phase.DISABLED,), Phase.DISABLED, True),
    ],
)
def test_a_phase_that_is_not_known_leaves_it_open_unless_another_worker_is_elsewhere(workers, target, done) -> None:
    known = tuple(WorkerPhase(f"http://{number}", phase, "file") for number, phase in enumerate(workers))
    assert _done(known, target) is done


def test_the_kinds_of_an_answer_are_those_of_rules_whose_findings_count():
    expected = {"EOS018", *(rule.id for rule in REPORTED if rule.kind.severity is not Severity.INFO)}
    assert {each.id for each in check_upgrade(PREPARED, Phase.ENABLED).kinds} == expected
    assert any(rule.kind.severity is Severity.INFO for rule in REPORTED)


@pytest.mark.parametrize(
    ("of_kind", "severity", "blocks"),
    [
        (Severity.WARNING, Severity.WARNING, True),
        (Severity.WARNING, Severity.INFO, False),
        (Severity.ERROR, Severity.WARNING, False),
        (Severity.ERROR, Severity.ERROR, True),
        (Severity.INFO, Severity.INFO, False),
    ],
)
def test_an_error_blocks_a_roll_and_a_warning_does_where_its_rule_knows_no_worse(of_kind, severity, blocks) -> None:
    rule = RULES[0]
    rule = replace(rule, kind=replace(rule.kind, severity=of_kind))
    finding = rule.kind.finding("x", "something", severity=severity)
    found = list(_blockers(Diagnosis(evidence=PREPARED, answers=(RuleAnswer(rule, (finding,)),))))
    assert found == ([finding] if blocks else [])


def test_a_doubt_is_needed_where_its_rule_may_block_the_roll():
    def needed(blocks: frozenset[str], reason: str) -> bool:
        rule = replace(RULES[0], blocks=blocks, needs=("workers",))
        answers = (RuleAnswer(rule, cannot_tell=(reason,), complete=False),)
        [doubt] = _doubts(Diagnosis(evidence=PREPARED, answers=answers), Phase.ENABLED)
        return doubt.needed

    assert needed(frozenset({Phase.ENABLED}), "denied")
    assert not needed(frozenset({Phase.DISABLED}), "denied")
    assert not needed(frozenset(), "denied")
    assert not needed(frozenset({Phase.ENABLED}), UNREAD_CLIENTS.reason)
