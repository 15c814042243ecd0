"""What a suspicious offset is, once the data of its transaction is known."""

import pytest

from eosctl.analysis.audit.key_judgement import (
    HEARTBEATS,
    KeyAnomalyKind,
    add_key_summaries,
    circumstances,
    first_key_troubles,
    is_stopped,
    metadata_topic,
    resolve,
)
from eosctl.model.audit import (
    CommittedData,
    KeySummary,
)
from eosctl.model.audit_states import KEPT_PLACES
from tests.analysis.audit.summaries import (
    AS_OF,
    NOW,
    RUNNING,
    STOPPED,
    WAS,
    anomaly,
    history,
    keys,
    part,
)

# Keys


@pytest.mark.parametrize(
    ("starts", "stopped"),
    [
        ((), False),
        (((5, 1, "commit", 0),), True),
        (((9, 1, "commit", 0),), True),
        (((10, 1, "commit", 0),), False),
        (((5, 1, "commit", 1),), False),
        (((5, 1, "fencing", 0),), False),
        (((5, 1, "commit", 0), (6, 2, "commit", 1)), False),
        (((5, 1, "commit", 1), (6, 2, "commit", 0)), True),
    ],
)
def test_a_connector_is_stopped_whose_last_commit_left_it_without_tasks(starts, stopped):
    assert is_stopped(history(*starts), 9) is stopped


@pytest.mark.parametrize(
    ("change", "data", "owners", "known", "altered"),
    [
        ({}, (), {7: ("c",)}, [STOPPED], True),
        ({}, (part(),), {7: ("c",)}, [STOPPED], False),
        ({}, None, {7: ("c",)}, [STOPPED], False),
        ({"now": None}, (), {7: ("c",)}, [STOPPED], False),
        ({"connector": None}, (), {7: ("c",)}, [STOPPED], False),
        ({}, (), {7: ("d",)}, [STOPPED], False),
        ({}, (), {}, [STOPPED], False),
        ({}, (), {7: ("c",)}, [RUNNING], False),
        ({}, (), {7: ("c",)}, [], False),
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        KeyAnomalyKind.SET_BACK,
        KeyAnomalyKind.SET_BACK_UNCLEAR,
        KeyAnomalyKind.NOT_TAKEN_OVER,
        KeyAnomalyKind.SNAPSHOT,
    ],
)
def test_an_offset_was_altered_by_a_stopped_connector_s_own_producer_without_data(
    kind, change, data, owners, known, altered
):
    committed = [] if data is None else [CommittedData(NOW, data)]
    expected = KeyAnomalyKind.ALTERED if altered and kind is not KeyAnomalyKind.SNAPSHOT else kind
    assert resolve(anomaly(kind, **change), circumstances(committed, owners, known)) is expected


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        ((part(),), KeyAnomalyKind.SET_BACK),
        ((part(topic="shop.transaction"), part()), KeyAnomalyKind.SET_BACK),
        ((part(topic="shop.transaction"), part(topic=f"{HEARTBEATS}shop")), KeyAnomalyKind.SET_BACK_UNCLEAR),
        ((), KeyAnomalyKind.SET_BACK_UNCLEAR),
        (None, KeyAnomalyKind.SET_BACK_UNCLEAR),
    ],
)
def test_a_database_s_transaction_is_read_again_where_the_session_that_began_at_its_start_committed_data(then, kind):
    later = NOW._replace(offset=NOW.offset + 1)
    suspicion = anomaly(KeyAnomalyKind.READ_AGAIN, key='["c",{"server":"shop"}]')._replace(then=later)
    committed = [] if then is None else [CommittedData(later, then)]
    assert resolve(suspicion, circumstances(committed, {7: ("c",)}, [RUNNING])) is kind
    altered = circumstances([*committed, CommittedData(NOW, ())], {7: ("c",)}, [STOPPED])
    assert resolve(suspicion, altered) is KeyAnomalyKind.ALTERED


@pytest.mark.parametrize(
    ("before", "after", "repeated"),
    [
        ((), (part(),), True),
        (None, (part(),), True),
        ((part(),), (part(),), True),
        ((part("x"),), (part(),), False),
        ((part("x"), part()), (part(),), True),
        ((part(),), (), False),
        ((part(),), None, False),
        ((), (part(f"{HEARTBEATS}shop"),), False),
        ((part(f"{HEARTBEATS}shop"),), (part(),), True),
        ((), (part("shop.transaction"),), False),
        ((), (part("other.transaction"),), True),
    ],
)
def test_an_offset_is_read_again_where_its_data_goes_where_the_data_before_went(before, after, repeated):
    both = zip((WAS, NOW), (before, after), strict=True)
    known = circumstances([CommittedData(write, data) for write, data in both if data is not None], {}, [])
    found = resolve(anomaly(KeyAnomalyKind.REPEATED, key='["c",{"server":"shop"}]'), known)
    assert found is (KeyAnomalyKind.REPEATED if repeated else None)


@pytest.mark.parametrize(("data", "kind"), [((part(),), KeyAnomalyKind.NOT_TAKEN_OVER), ((), None), (None, None)])
def test_a_copied_offset_with_data_was_not_taken_over(data, kind):
    committed = [] if data is None else [CommittedData(NOW, data)]
    assert resolve(anomaly(KeyAnomalyKind.COPIED), circumstances(committed, {}, [])) is kind


@pytest.mark.parametrize(
    ("key", "topic"),
    [
        ('["c",{"server":"shop"}]', "shop.transaction"),
        ('["c",{"server":5}]', None),
        ('["c",{}]', None),
        ('[5,{"server":"shop"}]', None),
        ("no json", None),
    ],
)
def test_metadata_of_transactions_are_in_the_topic_of_the_server(key, topic):
    assert metadata_topic(key) == topic


def test_the_earliest_places_of_each_kind_and_connector_are_kept():
    many = [anomaly(KeyAnomalyKind.SET_BACK, offset=each, timestamp=AS_OF + each) for each in range(KEPT_PLACES + 1)]
    found = first_key_troubles([*reversed(many), anomaly(KeyAnomalyKind.SET_BACK, "d"), anomaly(KeyAnomalyKind.ZOMBIE)])
    assert [each.offset for each in found if each.connector == "c" and each.kind == "offset-set-back"] == [
        *range(KEPT_PLACES)
    ]
    assert len(found) == KEPT_PLACES + 2


def test_summaries_of_keys_are_added_by_connector_with_the_earliest_begin_and_the_last_upgrade():
    begun = [KeySummary((keys(first=each, upgraded=each),)) for each in (5, None, 3)]
    [found] = add_key_summaries([*begun, KeySummary((keys("d"), keys(None)))]).connectors[:1]
    assert (found.keys, found.first_transactional, found.upgraded, found.producers) == (3, 3, 5, (7,))
    named = add_key_summaries([KeySummary((keys(None), keys("d"), keys("")))]).connectors
    assert [each.connector for each in named] == ["", "d", None]
