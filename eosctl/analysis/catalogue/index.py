"""The index of all kinds of findings: the theme of each, and the range of numbers that a theme has."""

from typing import Final

from msgspec import Struct

from eosctl.analysis.catalogue import audit, connect, internal_topics, plans, transactions
from eosctl.model.report import FindingKind


class Theme(Struct, frozen=True):
    """What kinds of one range of numbers are about. A new kind takes the next number, never one that was used."""

    title: str
    numbers: range
    kinds: tuple[FindingKind, ...]


THEMES: Final = (
    Theme("Versions", range(1, 10), connect.VERSIONS_KINDS),
    Theme("Workers", range(10, 20), connect.KINDS),
    Theme("The group", range(20, 30), connect.GROUP_KINDS),
    Theme("Fencing", range(30, 40), transactions.FENCING_KINDS),
    Theme("Brokers and the transaction log", range(40, 50), transactions.BROKERS_KINDS),
    Theme("Internal topics", range(50, 60), internal_topics.TOPICS_KINDS),
    Theme("Records of the config topic", range(60, 80), internal_topics.KINDS),
    Theme("Records of the offsets topics", range(80, 100), internal_topics.OFFSETS_KINDS),
    Theme("Connectors", range(100, 110), connect.CONNECTORS_KINDS),
    Theme("Transactional IDs", range(110, 120), transactions.KINDS),
    Theme("Consumers", range(120, 130), connect.CONSUMERS_KINDS),
    Theme("ACLs", range(130, 150), plans.ACLS_KINDS),
    Theme("Output topics", range(150, 160), connect.OUTPUTS_KINDS),
    Theme("Progress of tasks", range(160, 170), connect.PROGRESS_KINDS),
    Theme("Audit", range(200, 300), audit.KINDS),
    Theme("Records of the transaction log", range(300, 320), transactions.TRANSACTION_LOG_KINDS),
    Theme("Mirrors", range(320, 340), audit.MIRRORS_KINDS),
    Theme("Moves and restores of offsets", range(400, 450), plans.KINDS),
)
KINDS: Final = tuple(kind for theme in THEMES for kind in theme.kinds)


def kinds_of_command(command: str) -> tuple[FindingKind, ...]:
    """The kinds that this command reports without being asked by a rule."""
    return tuple(kind for kind in KINDS if command in kind.commands)


def kinds_called(word: str) -> tuple[FindingKind, ...]:
    """The kind of this ID, in any case, or the kinds of this name; none where there is neither."""
    return tuple(kind for kind in KINDS if kind.id == word.upper() or kind.name == word.lower())
