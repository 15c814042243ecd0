"""What a TAB offers: commands, options and choices from the tree; profiles, connectors and topics from where they are.

A TAB never asks anything, says nothing when something fails, and waits for a cluster no longer than `budget_s`; what it
was told is kept in the user's cache (model.remembered_names says for how long).
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from eosctl.model.completion_cache import CachedNames
from eosctl.operations.session import Session
from eosctl.render.console import ColourChoice, Stream, Terminal
from eosctl.render.formats import Output
from eosctl.shell.options import ConsoleHolder, GlobalOptions, global_options
from eosctl.shell.profile_defaults import with_profile
from eosctl.shell.shared_options import CONNECTION_OPTIONS

if TYPE_CHECKING:
    import typer

PATIENCE: Final = "EOSCTL_COMPLETION_TIMEOUT"
BUDGET_S: Final = 2.0
"""How long a TAB waits for a cluster, where PATIENCE names no other number of seconds."""
CONNECTORS: Final = frozenset({"connector", "connectors"})
VARIABLE: Final = "_EOSCTL_COMPLETE"
"""In it a shell hands over the line up to the cursor."""

Read = Callable[[Session], Iterable[str]]
Names = tuple[str, ...]


def complete(root: Any, line: str) -> list[str]:  # noqa: ANN401  # Typer's command classes are its own
    """What can follow `line`, one offer a line: the word, and after a tab what it is. Empty: file names, or nothing."""
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete, split_arg_string

    words = [_expanded(word) for word in split_arg_string(line)[1:]]
    incomplete = "" if line[-1:].isspace() or not words else words.pop()
    context = _resolve_context(root, {}, str(root.name), list(words))
    asked, incomplete = _resolve_incomplete(context, words, incomplete)
    read = _profiles if words[-1:] == ["--profile"] else _reader(asked, cast("typer.Context", context))
    if read is None:
        items = [(item.value, item.help) for item in asked.shell_complete(context, incomplete) if item.type == "plain"]
    else:
        items = [(name, None) for name in read() if name.startswith(incomplete) and name.isprintable()]
    return [f"{value}\t{' '.join(text.split())}" if text else value for value, text in items]


def _expanded(word: str) -> str:
    """The word as the shell would hand it over: `~/` is the user's directory."""
    return str(Path(word).expanduser()) if word.startswith("~/") else word


def _reader(asked: Any, context: "typer.Context") -> Callable[[], Names] | None:  # noqa: ANN401  # as above
    """How to read the names that can stand for `asked`; None where it is no profile, connector or topic."""
    if asked.name == "name" and context.command_path.startswith("eosctl profile "):
        return _profiles
    if asked.name in CONNECTORS:
        topic = context.params.get("config_topic") or "connect-configs"
        return lambda: _cached(context, f"connectors of {topic}", partial(_connectors, config_topic=topic))
    if "TOPIC" in (getattr(asked, "metavar", None) or ""):
        return lambda: _cached(context, "topics", _topics)
    return None


def _profiles() -> Names:
    from eosctl.sources.profiles import read_profiles

    return tuple(sorted(read_profiles().profiles))


def _topics(session: Session) -> Iterable[str]:
    from eosctl.sources.kafka_topics import topic_facts

    return topic_facts(session.wire)


def _connectors(session: Session, config_topic: str) -> Iterable[str]:
    """As the first worker that was named says, else as the config topic says."""
    from eosctl.codecs.config_topic import decode_config_records
    from eosctl.model.config_topic import ConnectorConfigRecord
    from eosctl.model.names import TopicPartition
    from eosctl.sources.connect_rest import read_connectors
    from eosctl.sources.kafka_log import read_log

    for url in session.options.connect_urls:
        return read_connectors(url, session.options.timeout_s)
    found: dict[str, bool] = {}
    for record in decode_config_records(read_log(session.wire, TopicPartition(config_topic, 0))):
        if isinstance(record, ConnectorConfigRecord):
            found[record.connector] = record.properties is not None
    return (name for name, exists in found.items() if exists)


def _cached(ctx: "typer.Context", kind: str, read: Read) -> Names:
    """The names of `kind` in the cluster that the line names: those that are kept, or else read now and kept."""
    from eosctl.executors.completion_cache import cache_names, evict_old_names
    from eosctl.sandbox.cache import cache_directory
    from eosctl.sources.completion_cache import read_cached_names

    options, now = _options(ctx), Session.now()
    path = cache_directory() / "completion" / f"{_digest(kind, options)}.json"
    remembered = read_cached_names(path)
    if remembered.is_due(now):
        names = _within_budget(options, read)
        remembered = remembered.unanswered(now) if names is None else CachedNames(names, now, now)
        cache_names(path, remembered)
        evict_old_names(path.parent, now)
    return remembered.known(now)


def _options(ctx: "typer.Context") -> GlobalOptions:
    """The shared options as far as they are typed, with a console that nobody reads."""
    values = {each.name: ctx.params.get(each.name) for each in CONNECTION_OPTIONS} | {"timeout": budget_s()}
    output = {"output": Output.PLAIN, "output_file": None, "color": ColourChoice.NEVER, "no_color": True}
    silent = Terminal(Stream(StringIO()), Stream(StringIO()), Stream(StringIO()))
    manner = {**output, "quiet": True, "verbose": 0}
    return global_options(ConsoleHolder(silent), {**with_profile(ctx, values), **manner, "timeout": budget_s()})


def budget_s() -> float:
    """How long a TAB waits for a cluster."""
    told = os.environ.get(PATIENCE, "")
    return float(told) if told.isdecimal() else BUDGET_S


def _digest(kind: str, options: GlobalOptions) -> str:
    """A name for what was asked of which cluster as whom: it differs where the answer may."""
    asked = (kind, options.bootstrap_servers, options.command_config, options.profile, *map(str, options.connect_urls))
    return hashlib.sha256(repr((*asked, sorted(options.properties.items()))).encode()).hexdigest()[:32]


def _within_budget(options: GlobalOptions, read: Read) -> Names | None:
    """What `read` answers, sorted; None where it fails or takes longer than `budget_s`."""
    answers: list[Names] = []

    def ask() -> None:
        with suppress(Exception), Session(options) as session:
            answers.append(tuple(sorted(read(session))))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(budget_s())
    return next(iter(answers), None)
