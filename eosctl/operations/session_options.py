"""The values of the options that commands share."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from eosctl.clients.rest_identity import MAX_ANSWER_BYTES, WorkerUrl
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import UsageError
from eosctl.model.report import Triage

if TYPE_CHECKING:
    from eosctl.model.profile import Profile


Advance = Callable[[int], None]


class Reporter(Protocol):
    """Narration, warnings, questions and progress. The command shows the subject of a question first."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Reports a step; silent under -q, and below that many -v."""

    def waiting(self, text: str) -> None:
        """Reports a long step; on a terminal only, silent under -q."""

    def warn(self, text: str) -> None:
        """Warn the user although the command continues."""

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        """Returns if the user agrees, by typing the name if given, or gave --yes; otherwise raises Refused."""

    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> AbstractContextManager[Advance]:
        """Shows the progress of a long read in the block; call the value with the number of new items."""

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        """Call the value with each of `total` results, which it prints unless the answer repeats them."""


class PlannedServers(Struct, frozen=True):
    """Brokers that the user did not name, and their origin: a plan file, a connector's config."""

    bootstrap_servers: tuple[str, ...]
    named_by: str


class SessionOptions(Struct, frozen=True):
    """The shared options; those that a command does not take keep their default.

    console is how an operation speaks while it works; properties are those of `-X`, in Java's names; timeout_s bounds
    each request; snapshot is the file to read instead of the cluster, records a file of config topic records. sources
    gives the origin of each value that a profile can set. writes: the command changes the cluster, unless dry_run.
    worker_configs are workers' properties files; planned are the brokers if the user names none. named_servers are
    further brokers that the user names. named_topics are the workers' internal topics, by role (config, offsets,
    status), whose names an option, a variable or a worker's file gives. max_answer_bytes is the limit of an answer of a
    Connect worker. triage is how findings are treated.
    """

    console: Reporter
    bootstrap_servers: str | None = None
    command_config: Path | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    connect_urls: tuple[str, ...] = ()
    group_id: str | None = None
    timeout_s: float = 30.0
    snapshot: Path | None = None
    records: Path | None = None
    dry_run: bool = False
    yes: bool = False
    profile: "Profile | None" = None
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    writes: bool = False
    worker_configs: tuple[Path, ...] = ()
    planned: "PlannedServers | None" = None
    named_servers: tuple[str, ...] = ()
    named_topics: frozenset[str] = frozenset()
    max_answer_bytes: int = MAX_ANSWER_BYTES
    triage: Triage = field(default_factory=Triage)

    def __post_init__(self) -> None:
        """Take user and password out of the text of every REST address."""
        force_setattr(self, "connect_urls", tuple(map(WorkerUrl, self.connect_urls)))
        force_setattr(self, "triage", replace(self.triage, kafka_tools=self._kafka_tools()))

    @property
    def words(self) -> tuple[str, ...]:
        """The options that name the same clusters and identity on a command line that is printed.

        Values of variables and of the current profile are left out. Possible secrets are hidden.
        """
        profile = None if self.profile is None else self.profile.name
        return as_words(
            {
                "--profile": (profile,) if self._is_typed("profile") else (),
                "-b": (self.bootstrap_servers,) if self._is_typed("bootstrap_server") else (),
                "--command-config": (self.command_config,) if self._is_typed("command_config") else (),
                "-X": [f"{key}={value}" for key, value in mask_properties(self.properties).items()],
                "--connect-url": typed_urls(self.connect_urls) if self._is_typed("connect_url") else (),
            }
        )

    def _kafka_tools(self) -> str:
        """The options for Kafka's own tools: brokers and client file, typed or of the profile; "" without brokers."""
        profile = self.profile
        brokers = self.bootstrap_servers or (profile and profile.bootstrap_server)
        file = self.command_config or (profile and profile.command_config)
        given = {"--bootstrap-server": (brokers,), "--command-config": (file,)}
        return shlex.join(as_words(given)) if brokers else ""

    def _is_typed(self, name: str) -> bool:
        """True if the option is known to come from the command line."""
        return self.sources.get(name, "--").startswith("--")

    def need_bootstrap_servers(self) -> str:
        """The brokers to start from; UsageError where none were given."""
        if self.bootstrap_servers is None:
            if self.profile is not None and self.profile.bootstrap_server is not None:
                return self.profile.bootstrap_server
            raise UsageError("no cluster was named", hint="give -b HOST:PORT or --profile NAME")
        return self.bootstrap_servers


def typed_urls(urls: Iterable[str]) -> list[str]:
    """The user's worker addresses in a form that may be shown."""
    return [url.masked for url in map(WorkerUrl, urls) if url.named_by is None]


def as_words(given: Mapping[str, Iterable[object]]) -> tuple[str, ...]:
    """Each option with each of its values that is not None."""
    each = ((flag, str(value)) for flag, values in given.items() for value in values if value is not None)
    return tuple(word for option in each for word in option)


def state_directory() -> Path:
    """`eosctl` in XDG_STATE_HOME, by default ~/.local/state; it need not exist yet."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "eosctl"
