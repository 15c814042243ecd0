"""An empty ledger, in SQLite and in PostgreSQL."""

from pathlib import Path

import pytest

from eosctl.ledger.ledger import Ledger, open_ledger
from tests.postgresql import PostgreSQL


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that holds nothing yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return server.url(server.new_database())


@pytest.fixture
def ledger(url: str) -> Ledger:
    return open_ledger(url)
