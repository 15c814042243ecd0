"""The names that a TAB offers: profiles, topics, connectors, transactional IDs.

A TAB never prompts, is silent on failure, and waits for a cluster no longer than `budget_s`. The user's cache keeps the
names (model.completion_cache has the time).
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from eosctl.analysis.catalogue.index import KINDS
from eosctl.errors import Unreachable
from eosctl.executors.files import cache_names, evict_old_names, read_cached_names
from eosctl.model.config_topic import ConnectorConfigRecord
from eosctl.model.names import CachedNames
from eosctl.model.skipped import Skipped
from eosctl.operations.plan_files import own_plans
from eosctl.operations.profiles import known_profiles
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.sandbox.cache import cache_directory

PATIENCE: Final = "EOSCTL_COMPLETION_TIMEOUT"
BUDGET_S: Final = 2.0
"""How long a TAB waits for a cluster, where PATIENCE names no other number of seconds."""

Names = tuple[str, ...]
Read = Callable[[Session], Iterable[str]]


def profile_names() -> Names:
    return tuple(sorted(known_profiles().profiles))


def plan_names(typed: str, suffix: str) -> tuple[str, ...]:
    """Plan files that begin with the word: by path, and kept ones by name alone."""
    place = typed.rpartition("/")[0]
    there = Path(place) if place or typed.startswith("/") else Path()
    beside = (f"{typed[: len(place) + 1] if '/' in typed else ''}{each.name}" for each in there.glob(f"*{suffix}"))
    kept = () if "/" in typed else (each.name for each in own_plans().glob(f"*{suffix}"))
    return tuple(sorted({*beside, *kept}))


def finding_words() -> Names:
    """The IDs of all kinds of findings, and then their names."""
    return (*(kind.id for kind in KINDS), *sorted({kind.name for kind in KINDS}))


def topic_names(options: SessionOptions) -> Names:
    """The topics of the cluster that the options name."""
    return _cached(options, "topics", lambda session: {place.topic for place in session.reader.partitions({})})


def transactional_ids(options: SessionOptions) -> Names:
    return _cached(
        options,
        "transactional IDs",
        lambda session: (each.transactional_id for each in session.reader.transactional_ids().transactions),
    )


def connector_names(options: SessionOptions, config_topic: str) -> Names:
    """The connectors as the first worker that answers says, otherwise as the config topic says."""
    return _cached(options, f"connectors of {config_topic}", lambda session: _connectors(session, config_topic))


def _connectors(session: Session, config_topic: str) -> Iterable[str]:
    if session.connect_urls:
        statuses = session.reader.connector_statuses()
        if isinstance(statuses, Skipped):
            raise Unreachable(statuses.reason)
        return statuses
    found: dict[str, bool] = {}
    for record in session.reader.config_topic(config_topic).records:
        if isinstance(record, ConnectorConfigRecord):
            found[record.connector] = record.properties is not None
    return (name for name, exists in found.items() if exists)


def _cached(options: SessionOptions, kind: str, read: Read) -> Names:
    """The names of `kind` that are kept, or read now and kept."""
    now = Session.now()
    path = cache_directory() / "completion" / f"{_digest(kind, options)}.json"
    cached = read_cached_names(path)
    if cached.is_due(now):
        names = _within_budget(options, read)
        cached = cached.unanswered(now) if names is None else CachedNames(names, now, now)
        cache_names(path, cached)
        evict_old_names(path.parent, now)
    return cached.known(now)


def budget_s() -> float:
    """How long a TAB waits for a cluster."""
    given = os.environ.get(PATIENCE, "")
    return float(given) if given.isdecimal() else BUDGET_S


def _digest(kind: str, options: SessionOptions) -> str:
    """A file name for the cluster, principal and kind of answer."""
    what = (kind, options.bootstrap_servers, options.command_config, options.profile, *map(str, options.connect_urls))
    return hashlib.sha256(repr((*what, sorted(options.properties.items()))).encode()).hexdigest()[:32]


def _within_budget(options: SessionOptions, read: Read) -> Names | None:
    """The sorted answer of `read`; None if it fails or takes longer than `budget_s`."""
    answers: list[Names] = []

    def ask() -> None:
        with suppress(Exception), Session(options) as session:
            answers.append(tuple(sorted(read(session))))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(budget_s())
    return next(iter(answers), None)
