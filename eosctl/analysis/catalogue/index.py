"""The index of all kinds of findings: the theme of each, and the range of numbers that a theme has."""

from typing import Final

from msgspec import Struct

from eosctl.analysis.catalogue import audit, connect, internal_topics, plans, transactions
from eosctl.model.report import FindingKind

KINDS: Final = tuple(
    sorted(
        (
            each
            for module in (audit, connect, internal_topics, plans, transactions)
            for each in vars(module).values()
            if isinstance(each, FindingKind)
        ),
        key=lambda kind: kind.number,
    )
)


class Theme(Struct, frozen=True):
    """The subject of the kinds in one range of numbers. A new kind takes the next number, never a used one."""

    title: str
    numbers: range

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        return tuple(kind for kind in KINDS if kind.number in self.numbers)


THEMES: Final = (
    Theme("Versions", range(1, 10)),
    Theme("Workers", range(10, 20)),
    Theme("The group", range(20, 30)),
    Theme("Fencing", range(30, 40)),
    Theme("Brokers and the transaction log", range(40, 50)),
    Theme("Internal topics", range(50, 60)),
    Theme("Records of the config topic", range(60, 80)),
    Theme("Records of the offsets topics", range(80, 100)),
    Theme("Connectors", range(100, 110)),
    Theme("Transactional IDs", range(110, 120)),
    Theme("Consumers", range(120, 130)),
    Theme("ACLs", range(130, 150)),
    Theme("Output topics", range(150, 160)),
    Theme("Progress of tasks", range(160, 170)),
    Theme("Losses that no state shows", range(170, 180)),
    Theme("Audit", range(200, 300)),
    Theme("Records of the transaction log", range(300, 320)),
    (MIRRORS := Theme("Mirrors", range(320, 340))),
    Theme("Moves and restores of offsets", range(400, 450)),
)


def kinds_of_command(command: str) -> tuple[FindingKind, ...]:
    """The kinds that this command reports without being asked by a rule."""
    return tuple(kind for kind in KINDS if command in kind.commands)


def kinds_called(word: str) -> tuple[FindingKind, ...]:
    """The kind of this ID, in any case, or the kinds of this name; none where there is neither."""
    return tuple(kind for kind in KINDS if kind.id == word.upper() or kind.name == word.lower())
