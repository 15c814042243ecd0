"""Requests to Connect's REST interface as cures print them."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.connect_requests import for_connector, put_config, restart_tasks
from eosctl.model.connectors import connector_path
from eosctl.model.versions import KafkaVersion


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("orders", "/connectors/orders"),
        ("a b", "/connectors/a%20b"),
        ("a/b?c=%d", "/connectors/a%2Fb%3Fc%3D%25d"),
        ("ü-😀", "/connectors/%C3%BC-%F0%9F%98%80"),
    ],
)
def test_a_path_can_be_pasted_whatever_the_name_is(name: str, path: str) -> None:
    assert connector_path(name) == path


@given(st.text(st.characters(codec="utf-8")))
def test_the_name_can_be_read_from_the_path(name: str) -> None:
    path = connector_path(name)
    assert unquote(path.removeprefix("/connectors/")) == name
    assert path.count("/") == 2
    assert path == f"/connectors/{quote(name, safe='')}"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("orders", "PUT /connectors/orders/stop, then `eosctl offsets show --connector orders`"),
        ("it's a/b", "PUT /connectors/it%27s%20a%2Fb/stop, then `eosctl offsets show --connector 'it'\"'\"'s a/b'`"),
    ],
)
def test_a_cure_names_its_connector_so_that_it_can_be_pasted(name: str, told: str) -> None:
    cure = "PUT /connectors/<connector>/stop, then `eosctl offsets show --connector <connector>`"
    assert for_connector(cure, name) == told


def test_each_task_is_restarted_by_a_request_of_its_own() -> None:
    assert restart_tasks("c", [3, 0]) == "POST /connectors/c/tasks/0/restart; POST /connectors/c/tasks/3/restart"


def test_of_many_tasks_ten_are_told_in_full_and_none_is_left_out() -> None:
    told = restart_tasks("c", [*range(10), 10, 12, 13, 14, 99])
    assert told.count("POST") == 10
    assert told.endswith("/tasks/9/restart; and the same for tasks 10, 12-14, 99")


def test_workers_that_restart_no_task_for_a_change_are_asked_to() -> None:
    """The oldest worker decides: a task may be on any of them."""
    assert put_config("a b", ()) == "PUT /connectors/a%20b/config"
    assert put_config("c", (KafkaVersion(4, 3, 1), KafkaVersion(3, 7, 1))) == "PUT /connectors/c/config"
    assert put_config("c", (KafkaVersion(3, 7, 1), KafkaVersion(3, 7, 0))) == (
        "PUT /connectors/c/config; then POST /connectors/c/tasks/<task>/restart for each task, for workers before "
        "3.7.1 restart none where the task configs stay as they are (KAFKA-9228)"
    )
