"""What the user said with the options that commands share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from eosctl.clients.rest_answers import MAX_ANSWER_BYTES
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import UsageError
from eosctl.model.report import Triage
from eosctl.operations.reporter import Reporter

if TYPE_CHECKING:
    from eosctl.model.profile import Profile


class PlannedServers(NamedTuple):
    """Brokers that the user did not name, and what did: a plan file, a connector's config."""

    bootstrap_servers: tuple[str, ...]
    named_by: str


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What the user said with the shared options; those that a command does not take keep their default.

    console is how an operation speaks while it works; properties are those of `-X`, in Java's names; timeout_s bounds
    each request; snapshot is the file to read instead of the cluster, records a file of config topic records. sources
    says where a value that a profile can give came from. writes: the command changes the cluster, unless dry_run.
    worker_configs are workers' properties files; planned are the brokers where the user names none. named_servers are
    brokers that the user names beside those of the cluster at hand.
    max_answer_bytes is the limit of an answer of a Connect worker. triage is how findings are treated.
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
    max_answer_bytes: int = MAX_ANSWER_BYTES
    triage: Triage = field(default_factory=Triage)

    def __post_init__(self) -> None:
        """Take user and password out of the text of every REST address."""
        object.__setattr__(self, "connect_urls", tuple(map(WorkerUrl, self.connect_urls)))

    @property
    def words(self) -> tuple[str, ...]:
        """The options that name the same clusters and identity on a command line that is printed.

        What variables and the current profile give is left out: they give it again. What may be secret is hidden.
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

    def _is_typed(self, name: str) -> bool:
        """Whether the option is from the command line, as far as is known."""
        return self.sources.get(name, "--").startswith("--")

    def need_bootstrap_servers(self) -> str:
        """The brokers to start from; UsageError where none were given."""
        if self.bootstrap_servers is None:
            if self.profile is not None and self.profile.bootstrap_server is not None:
                return self.profile.bootstrap_server
            raise UsageError("no cluster was named", hint="give -b HOST:PORT (or set EOSCTL_BOOTSTRAP_SERVER)")
        return self.bootstrap_servers


def typed_urls(urls: Iterable[str]) -> list[str]:
    """Workers' addresses that the user gave, as they may be shown."""
    return [url.masked for url in map(WorkerUrl, urls) if url.named_by is None]


def as_words(given: Mapping[str, Iterable[object]]) -> tuple[str, ...]:
    """Each option with each of its values that is not None."""
    each = ((flag, str(value)) for flag, values in given.items() for value in values if value is not None)
    return tuple(word for option in each for word in option)
