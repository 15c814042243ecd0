"""In which phase workers are: by their answers and files, and never by a default that nobody said."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.phases import in_force, worker_phases
from eosctl.codecs.connector_files import worker_of
from eosctl.model.client_roles import ConnectCluster, WorkerConfig
from eosctl.model.evidence import declared_support
from eosctl.model.offsets import SOURCE_SUPPORT, SourceSupport
from eosctl.model.rules import Phase
from eosctl.model.skipped import Skipped, not_asked
from tests.analysis.evidence import A, B, worker
from tests.planning.test_acls import NAMES

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


def test_a_worker_of_which_nobody_read_the_settings_has_no_phase() -> None:
    assert UNREAD.phase is None
    assert from_file().phase is DISABLED
    assert from_file(exactly_once_source_support="Preparing").phase is PREPARING


def test_a_file_says_it_also_by_not_setting_it() -> None:
    assert phases(from_file(exactly_once_source_support="enabled"), {}) == [(ENABLED, "w.properties")]
    assert phases(from_file(), {A: OFF}) == [(DISABLED, "w.properties, which does not set it")]


def test_a_worker_that_answers_that_it_is_enabled_counts_beside_a_file_that_says_less() -> None:
    both = [(PREPARING, "w.properties"), (ENABLED, f"the answer of {A}")]
    assert phases(from_file(exactly_once_source_support="preparing"), {A: ON}) == both
    ahead = from_file(exactly_once_source_support="enabled")
    assert phases(ahead, {A: OFF}) == [(ENABLED, "w.properties")]


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
        ({}, "no worker was asked"),
    ],
)
def test_without_a_file_and_an_enabled_worker_the_phase_is_not_known(workers: object, reason: str) -> None:
    said = phases(UNREAD, workers)
    assert isinstance(said, str)
    assert said.endswith(reason)


def test_a_worker_is_at_what_it_answers_before_what_its_file_says() -> None:
    enabled, preparing = {SOURCE_SUPPORT: "enabled"}, {SOURCE_SUPPORT: "preparing"}
    found = list(worker_phases({A: OFF, B: worker(B), "c": SILENT}, {A: preparing, B: preparing}))
    assert [each.phase for each in found] == [Phase.PREPARING, Phase.ENABLED, Phase.UNKNOWN]
    [stale] = worker_phases({A: OFF}, {A: enabled})
    assert stale.phase is Phase.NOT_ENABLED


def test_the_file_of_a_dedicated_mirrormaker_says_it_for_each_of_its_clusters_alone() -> None:
    assert declared_support({"clusters": "a, b", "b.exactly.once.source.support": "enabled"}) is None
