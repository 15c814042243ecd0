"""Whether a move reads and writes in the Kafka cluster where the connector's offsets are."""

import pytest
from msgspec.structs import replace

from eosctl.model.migration import ConnectClusters, MigrationFacts, MigrationRequest, Move
from eosctl.model.offsets import SourceSupport
from eosctl.model.plan import Side
from eosctl.model.skipped import Skipped
from eosctl.planning.producing_elsewhere import find_clusters

ON, OFF = SourceSupport.ENABLED, SourceSupport.DISABLED
UNKNOWN = Skipped("nobody told")
TO_OWN = Move("c", "c", "old", "new", "new", None)
FROM_OWN = replace(TO_OWN, former_setting="old")
HERE, THERE = "here", "there"


def found(
    producer: str | Skipped | None,
    support: SourceSupport | Skipped,
    *,
    move: Move = TO_OWN,
    source: str = HERE,
    target: str | None = None,
    workers: str | Skipped = HERE,
    stays: bool = False,
) -> list[tuple[str, str, str]]:
    """ID and severity of each finding, and what it says."""
    producers = {} if producer is None else {"c": producer}
    facts = MigrationFacts(
        1,
        {Side.SOURCE: source, Side.TARGET: target or source},
        {},
        {},
        {},
        clusters=ConnectClusters(workers, producers, dict.fromkeys(producers, "there:9092"), support),
    )
    request = MigrationRequest((move,), "g", "g", other_cluster=target not in {None, source}, stays=stays)
    return [(each.name, each.severity.value, f"{each.message}; {each.cure}") for each in find_clusters(request, facts)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"producer": None, "support": ON}, None),
        ({"producer": None, "support": ON, "workers": THERE}, "keep their topics in Kafka cluster there; this is here"),
        ({"producer": None, "support": ON, "workers": UNKNOWN}, None),
        ({"producer": HERE, "support": ON}, None),
        ({"producer": THERE, "support": ON}, "its offsets are in cluster there, not in here, and so are its trans"),
        ({"producer": THERE, "support": ON, "source": THERE}, None),
        ({"producer": THERE, "support": OFF, "move": FROM_OWN}, "its offsets are in cluster there, not in here; give"),
        ({"producer": THERE, "support": OFF}, "it will keep its offsets there, not in here; name that cluster: --to-b"),
        ({"producer": THERE, "support": OFF, "source": THERE}, "its offsets are in cluster here, not in there"),
        ({"producer": THERE, "support": UNKNOWN}, "depends on the workers' exactly.once.source.support"),
        ({"producer": THERE, "support": UNKNOWN, "move": FROM_OWN, "source": THERE}, None),
        ({"producer": THERE, "support": ON, "target": THERE, "stays": True}, None),
        ({"producer": THERE, "support": OFF, "target": THERE, "stays": True}, None),
    ],
)
def test_a_move_reads_and_writes_where_the_offsets_are(given: dict, told: str | None):
    answers = found(**given)
    assert [severity for _, severity, _ in answers] == ([] if told is None else ["error"])
    assert told is None or told in answers[0][2]


def test_the_cluster_is_named_as_the_config_names_it():
    [(id_, _, words)] = found(THERE, ON)
    assert id_ == "produces-elsewhere"
    assert "(producer.override.bootstrap.servers=there:9092)" in words
    assert "-b there:9092" in words


def test_a_cluster_that_could_not_be_asked_is_told_and_does_not_stop_the_move():
    [(id_, severity, words)] = found(UNKNOWN, ON)
    assert (id_, severity) == ("produces-elsewhere", "warning")
    assert "nobody told" in words


def test_a_config_that_is_carried_to_another_connect_cluster_has_to_be_changed():
    [(id_, severity, words)] = found(HERE, ON, target=THERE)
    assert (id_, severity) == ("produces-elsewhere", "warning")
    assert "change producer.override.bootstrap.servers in its new config" in words
