"""Ten ways to spoil the audit's judge, each one decision: what the campaign's histories have to notice."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest


class Mutation(NamedTuple):
    """A decision, by the path of what makes it, and what is put in its place."""

    name: str
    path: str
    spoilt: Callable[[Any], Any]
    """From what is right to what is wrong."""

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Make the judge decide so until the patch is undone."""
        module, _, name = self.path.rpartition(".")
        patch.setattr(self.path, self.spoilt(getattr(_imported(module), name)))
