"""Transactional IDs that two owners share, against a search of all pairs."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.analysis.acl_findings import Collision, IdOwner, find_collisions
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id

NAMES = st.text(alphabet="ab-01", min_size=1, max_size=4)
GROUPS = st.dictionaries(NAMES | st.just("connect-cluster"), st.lists(NAMES, max_size=4, unique=True), max_size=4)


def ids(owner: IdOwner) -> set[str]:
    if owner.connector is None:
        return {leader_transactional_id(owner.group_id)}
    return {task_transactional_id(owner.group_id, ConnectorTaskId(owner.connector, task)) for task in range(12)}


def owners(groups: dict[str, list[str]]) -> list[IdOwner]:
    return [IdOwner(group, name) for group, names in groups.items() for name in (*names, None)]


@settings(max_examples=300)
@given(GROUPS)
def test_owners_that_share_an_id_are_found_and_no_others(groups):
    found = [each for each in find_collisions(groups) if each.equal]
    shared = {frozenset((a, b)) for a, b in combinations(owners(groups), 2) if ids(a) & ids(b)}
    told = {frozenset((each.first, each.second)) for each in found}
    assert told <= shared
    # Of three owners of one ID the first is told with each of the others.
    assert {owner for pair in told for owner in pair} == {owner for pair in shared for owner in pair}


@settings(max_examples=300)
@given(GROUPS)
def test_every_owner_whose_ids_a_prefix_of_another_covers_is_told(groups):
    told = {each.second.text for each in find_collisions(groups) if not each.equal}
    known = owners(groups)
    covered = {
        one.text
        for one in known
        if any(
            other.connector is not None
            and one.text.startswith(other.text)
            and (one.connector is None or one.text != other.text)
            for other in known
        )
    }
    assert told == covered


def test_the_same_text_from_another_split_is_the_same_ids():
    [found] = [each for each in find_collisions({"a": ["b-c"], "a-b": ["c"]}) if each.equal]
    assert found == Collision("a-b-c-", IdOwner("a", "b-c"), IdOwner("a-b", "c"), equal=True)


def test_the_leader_of_one_group_may_be_a_task_of_another():
    found = [each for each in find_collisions({"connect-cluster": ["x"], "x-3": []}) if each.equal]
    assert [(each.shared, str(each.second)) for each in found] == [("connect-cluster-x-3", "the leader of group x-3")]


def test_a_prefix_with_its_dash_spares_the_connector_that_is_called_alike():
    assert list(find_collisions({"g": ["orders", "orders2"]})) == []


def test_a_connector_that_is_called_like_another_and_a_dash_is_told():
    [found] = find_collisions({"g": ["orders", "orders-eu"]})
    assert (found.shared, str(found.second)) == ("g-orders-", "connector orders-eu of group g")
