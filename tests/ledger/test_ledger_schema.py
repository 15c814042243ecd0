"""The schema of a ledger: made once, brought up to date, and left alone where another eosctl made it."""

import threading

import pytest

from eosctl.codecs.ledger import SCHEMA
from eosctl.errors import ConfigError, Undecodable, Unsupported
from eosctl.ledger.ledger import Ledger, open_ledger, prepare_ledger
from eosctl.model.ledger import STATE_VERSION
from tests.ledger.ledgers import CLUSTER, carried, read_up_to, row


def test_a_ledger_of_a_newer_eosctl_is_left_alone(ledger: Ledger, url: str):
    newer = (*SCHEMA, ("ALTER TABLE audit_run ADD COLUMN engine {text}",))
    prepare_ledger(ledger.store, create=False, schema=newer)
    with pytest.raises(Unsupported) as raised:
        open_ledger(url)
    assert raised.value.exit_code == 6
    assert raised.value.message == f"ledger {ledger.name} has schema 2, this eosctl knows those up to 1"


def test_a_ledger_of_an_older_eosctl_is_brought_up_to_date_with_all_that_it_holds(ledger: Ledger):
    read_up_to(ledger, "job", 10, rows=(row(b"kept"),))
    newer = (
        *SCHEMA,
        ("ALTER TABLE audit_job ADD COLUMN engine {text}", "UPDATE audit_job SET engine = 'local'"),
        ("CREATE TABLE audit_note (job {text}, note {blob})",),
    )
    for _ in range(2):
        prepare_ledger(ledger.store, create=False, schema=newer)
    with ledger.store.connect() as connection:
        connection.begin_reading()
        assert list(connection.rows("SELECT job, engine FROM audit_job")) == [("job", "local")]
        assert list(connection.rows("SELECT version FROM audit_schema")) == [(3,)]
        assert connection.has_table("audit_note")
    assert carried(ledger) == [b"kept"]


def test_a_migration_that_fails_leaves_the_old_schema(ledger: Ledger, url: str):
    newer = (*SCHEMA, ("ALTER TABLE audit_run ADD COLUMN engine {text}", "this is no statement"))
    with pytest.raises(Undecodable, match="syntax error"):
        prepare_ledger(ledger.store, create=False, schema=newer)
    read_up_to(open_ledger(url), "job", 10)


def test_state_that_another_eosctl_laid_out_is_not_gone_on_from(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    with ledger.store.connect() as connection:
        connection.begin_writing("test")
        connection.change("UPDATE audit_job SET state_version = ?", [(STATE_VERSION - 1,)])
        connection.commit()
    expected = f"carries state of version {STATE_VERSION - 1}, this eosctl goes on with version {STATE_VERSION}"
    with pytest.raises(Unsupported, match=f"job job {expected}"):
        ledger.state("job", CLUSTER)


def test_looking_into_a_store_makes_no_ledger(url: str):
    with pytest.raises(ConfigError, match=r"there is no ledger|holds no ledger"):
        open_ledger(url, create=False)
    open_ledger(url)
    assert open_ledger(url, create=False).jobs() == ()


def test_several_that_come_first_make_one_ledger(url: str):
    barrier = threading.Barrier(6)
    failed: list[Exception] = []

    def come() -> None:
        barrier.wait()
        try:
            assert open_ledger(url).jobs() == ()
        except Exception as error:  # noqa: BLE001  # told below, in the thread of the test
            failed.append(error)

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
