"""The index of all kinds of findings: the theme of each, and the range of numbers that a theme has."""

from dataclasses import dataclass
from typing import Final

from eosctl.analysis.catalogue import (
    acls,
    audit,
    brokers,
    config_topic,
    connectors,
    consumers,
    fencing,
    group,
    migration,
    mirrors,
    offsets,
    outputs,
    progress,
    topics,
    transaction_log,
    transactions,
    versions,
    workers,
)
from eosctl.model.report import FindingKind


@dataclass(frozen=True, slots=True)
class Theme:
    """What kinds of one range of numbers are about. A new kind takes the next number, never one that was used."""

    title: str
    numbers: range
    kinds: tuple[FindingKind, ...]


THEMES: Final = (
    Theme("Versions", range(1, 10), versions.KINDS),
    Theme("Workers", range(10, 20), workers.KINDS),
    Theme("The group", range(20, 30), group.KINDS),
    Theme("Fencing", range(30, 40), fencing.KINDS),
    Theme("Brokers and the transaction log", range(40, 50), brokers.KINDS),
    Theme("Internal topics", range(50, 60), topics.KINDS),
    Theme("Records of the config topic", range(60, 80), config_topic.KINDS),
    Theme("Records of the offsets topics", range(80, 100), offsets.KINDS),
    Theme("Connectors", range(100, 110), connectors.KINDS),
    Theme("Transactional IDs", range(110, 120), transactions.KINDS),
    Theme("Consumers", range(120, 130), consumers.KINDS),
    Theme("ACLs", range(130, 150), acls.KINDS),
    Theme("Output topics", range(150, 160), outputs.KINDS),
    Theme("Progress of tasks", range(160, 170), progress.KINDS),
    Theme("Audit", range(200, 300), audit.KINDS),
    Theme("Records of the transaction log", range(300, 320), transaction_log.KINDS),
    Theme("Mirrors", range(320, 340), mirrors.KINDS),
    Theme("Moves and restores of offsets", range(400, 450), migration.KINDS),
)
KINDS: Final = tuple(kind for theme in THEMES for kind in theme.kinds)


def kinds_of_command(command: str) -> tuple[FindingKind, ...]:
    """The kinds that this command reports without being asked by a rule."""
    return tuple(kind for kind in KINDS if command in kind.commands)


def kinds_called(word: str) -> tuple[FindingKind, ...]:
    """The kind of this ID, in any case, or the kinds of this name; none where there is neither."""
    return tuple(kind for kind in KINDS if kind.id == word.upper() or kind.name == word.lower())
