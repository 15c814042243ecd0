"""Whose a transaction is: each kind of trouble by what is known of its producer and of its topic."""

import pytest

from eosctl.analysis.audit.owners import (
    AnomalyKind,
    Owners,
    Writers,
    find_writers,
    name_owners,
    name_stall,
    name_trouble,
)
from eosctl.model.audit import (
    Anomaly,
    AuditedTopic,
    ConfigSummary,
    KeySummary,
    OwnerFigures,
    Stall,
    Tally,
    TopicRole,
    TransactionSummary,
)
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionalIdHolder
from tests.analysis.audit.summaries import history, keys, summaries

C, BOTH = ("c",), ("c", "d")
OWNERS = Owners({7: C, 8: BOTH}, {"out": C, "shared": BOTH}, frozenset({9}))
"""7 is c's producer, 8 one of two connectors; 9 is another application's, 5 is not known."""
DATA, UNCLEAR, UNJUDGED = AnomalyKind.DATA_WITHOUT_OFFSETS, AnomalyKind.UNCLEAR, AnomalyKind.UNJUDGED
UNKNOWN, OTHER, MIXED = AnomalyKind.UNKNOWN_WRITER, AnomalyKind.OTHER_WRITER, AnomalyKind.MIXED_MARKERS


@pytest.mark.parametrize(
    ("kind", "producer_id", "topic", "named"),
    [
        (MIXED, 7, "out", (MIXED, C)),
        (MIXED, 5, "out", (MIXED, ())),
        (MIXED, 9, "out", None),
        (AnomalyKind.MISSING_MARKER, 7, "shared", (AnomalyKind.MISSING_MARKER, C)),
        (AnomalyKind.MISSING_MARKER, 9, "out", (AnomalyKind.MISSING_MARKER, ())),
        (AnomalyKind.OFFSETS_WITHOUT_DATA, 5, "out", (AnomalyKind.OFFSETS_WITHOUT_DATA, ())),
        (AnomalyKind.OFFSETS_WITHOUT_DATA, 8, "out", (AnomalyKind.OFFSETS_WITHOUT_DATA, BOTH)),
        (DATA, 7, "out", (DATA, C)),
        (DATA, 7, "shared", (DATA, C)),
        (DATA, 7, "unwritten", (DATA, C)),
        (DATA, 8, "out", (DATA, BOTH)),
        (DATA, 5, "out", (UNKNOWN, C)),
        (DATA, 5, "shared", (UNKNOWN, BOTH)),
        (DATA, 5, "unwritten", None),
        (DATA, 9, "out", (OTHER, C)),
        (DATA, 9, "unwritten", None),
        (UNCLEAR, 7, "out", (UNCLEAR, C)),
        (UNCLEAR, 5, "out", (UNKNOWN, C)),
        (UNCLEAR, 9, "out", (OTHER, C)),
        (UNJUDGED, 7, "out", (UNJUDGED, C)),
        (UNJUDGED, 5, "out", (UNJUDGED, C)),
        (UNJUDGED, 5, "unwritten", None),
        (UNJUDGED, 9, "out", (OTHER, C)),
    ],
)
def test_trouble_concerns_the_producer_s_connectors_or_those_that_write_to_the_topic(kind, producer_id, topic, named):
    place = Anomaly(kind.value, (), topic, 0, 1, 2, producer_id, 0, 9, 2)
    tally = Tally(kind.value, (), topic, 3, 4)
    found = name_trouble(place, OWNERS)
    summary = name_owners(producer_id, TransactionSummary(tallies=(tally,), anomalies=(place,)), OWNERS)
    if named is None:
        assert (found, summary.tallies, summary.anomalies) == (None, (), ())
    else:
        kept = {"kind": named[0].value, "connectors": named[1]}
        assert found == place._replace(**kept)
        assert (summary.tallies, summary.anomalies) == ((tally._replace(**kept),), (place._replace(**kept),))


@pytest.mark.parametrize(("producer_id", "connector"), [(7, "c"), (8, None), (5, None), (9, None)])
def test_figures_and_stalls_are_one_connector_s_or_no_one_s(producer_id, connector):
    stall = Stall("out", 0, 1, 2, 3, producer_id, None)
    figures = OwnerFigures(None, 1, 2, 3, 4, 5, 6, (), ())
    assert name_stall(stall, OWNERS).connector == connector
    found = name_owners(producer_id, TransactionSummary((figures,), stalls=(stall,)), OWNERS)
    assert [each.connector for each in (*found.figures, *found.stalls)] == [connector, connector]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("g-c-0",), Writers({7: C}, frozenset())),
        (("g-c-0", "app"), Writers({7: C}, frozenset())),
        (("g-c-0", "g-d-1"), Writers({7: BOTH}, frozenset())),
        (("app",), Writers({}, frozenset({7}))),
        (("app", "h-c-0"), Writers({}, frozenset())),
        (("c-0",), Writers({}, frozenset())),
        (("h-c-0",), Writers({}, frozenset())),
        (("xc-0",), Writers({}, frozenset({7}))),
        (("g-e-0",), Writers({7: ("e",)}, frozenset())),
        (("g-f-0",), Writers({7: ("f",)}, frozenset())),
        (("g-o-0",), Writers({7: ("o",)}, frozenset())),
        (("g-z-0",), Writers({}, frozenset({7}))),
    ],
)
@pytest.mark.parametrize("earlier", [True, False])
def test_a_producer_id_is_a_task_s_another_s_or_unknown_by_all_ids_that_held_it(names, found, earlier):
    """Connectors are those of the workers, of offsets (f), of the config topic (e) and of topics (o)."""
    holders = tuple(TransactionalIdHolder(7, each) for each in names)
    plan = summaries(
        group_id="g",
        connectors=("c", "d"),
        topics=(AuditedTopic("out", TopicRole.OUTPUT, connectors=("o",)),),
        holders=() if earlier else holders,
    ).plan
    offsets, configs = KeySummary((keys("f")._replace(producers=()), keys(None))), ConfigSummary((history(name="e"),))
    assert find_writers(plan, offsets, configs, holders if earlier else ()) == found


@pytest.mark.parametrize("unread", [Skipped("denied"), ()])
def test_who_wrote_offsets_is_their_connector_where_no_holder_is_known(unread):
    plan = summaries(connectors=Skipped("denied"), holders=unread).plan
    wrote = KeySummary((keys("c"), keys("d"), keys(None)._replace(producers=(8,))))
    assert find_writers(plan, wrote, ConfigSummary(())) == Writers({7: BOTH}, frozenset())
