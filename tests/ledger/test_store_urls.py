"""The words for a URL that names no ledger: nothing of it is repeated that may be a secret."""

import pytest

from eosctl.errors import UsageError
from eosctl.ledger.ledger import LONGEST_SCHEME, ledger_store
from eosctl.sources.config_providers import look_up


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("ledger", ""),
        ("mysql", ""),
        ("sqlite", ""),
        ("postgresql", ""),
        ("mysql://host/db", ": mysql://"),
        ("my-sql://host/db", ""),
        ("://host/db", ""),
        ("x" * LONGEST_SCHEME + "://h", f": {'x' * LONGEST_SCHEME}://"),
        ("x" * (LONGEST_SCHEME + 1) + "://h", ""),
    ],
)
def test_a_url_of_another_kind_is_refused_with_its_scheme_where_it_is_one(url: str, named: str):
    with pytest.raises(UsageError) as raised:
        ledger_store(url, look_up)
    assert raised.value.message == f"no ledger has a URL of this form{named}"


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("ledger.db", "names no file"),
        ("/", "names no file"),
        ("/:memory:", "names no file"),
        ("/a\0b", "names no file"),
        ("/user:p@host/db", "holds a user or password; a file needs none"),
        ("/user@host/db", None),
        ("/a:b", None),
    ],
)
def test_a_file_of_sqlite_has_a_path_and_no_user_or_password(rest: str, words: str | None):
    if words is None:
        assert ledger_store(f"sqlite://{rest}", look_up).name.endswith(rest)
    else:
        with pytest.raises(UsageError) as raised:
            ledger_store(f"sqlite://{rest}", look_up)
        assert raised.value.message.endswith(words)
