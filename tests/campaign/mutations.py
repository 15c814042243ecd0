"""Ways to spoil the audit's judge, each by one decision, that the campaign's histories have to notice."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from eosctl.analysis.audit.findings import BROKEN
from eosctl.analysis.catalogue import audit


class Mutation(NamedTuple):
    """A decision of the judge, by its path in eosctl.analysis.audit, and its replacement."""

    name: str
    decision: str
    spoilt: Any

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Make the judge decide so until the patch is undone."""
        patch.setattr(f"eosctl.analysis.audit.{self.decision}", self.spoilt)


def _always(value: object) -> Callable[..., object]:
    return lambda *_: value


def _nothing(*_: object) -> object:
    return iter(())


_WITHOUT_TRANSACTIONS = {audit.PLAIN_OFFSETS_WRITE, audit.DATA_OUTSIDE_TRANSACTION, audit.START_WITHOUT_FENCING}
_STORES = "key_judgement.KeyStores"

MUTATIONS = (
    Mutation("nothing breaks the promise", "conclusion.BROKEN", frozenset()),
    Mutation("writes outside transactions break nothing", "conclusion.BROKEN", BROKEN - _WITHOUT_TRANSACTIONS),
    Mutation("every finding is about every connector", "conclusion.concerns", _always(True)),
    Mutation("removed offsets are not mentioned", "conclusion.removed_findings", _nothing),
    Mutation("no transaction has offsets", "transactions._offsets", _always([])),
    Mutation("changes of the offsets topic go unseen", f"{_STORES}.changes", _nothing),
    Mutation("what a topic held already counts for nothing", f"{_STORES}._held", _always(None)),
    Mutation("workers' copies are somebody's plain writes", f"{_STORES}.is_copy_of_own", _always(False)),
    Mutation("setbacks go unseen", "key_judgement._OfOne.setbacks", _nothing),
    Mutation("snapshots that begin again go unseen", "key_judgement._OfOne._snapshot_changes", _nothing),
    Mutation("whatever went back was wished", "key_judgement.Circumstances.was_altered", _always(True)),
)
