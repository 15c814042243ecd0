"""Source and target of a plan, as the command line names them: -b and its like, and --to-… for the target."""

import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients.access import ClusterAccess
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.model.names import Side
from eosctl.model.plan import PlanTarget
from eosctl.operations.plan_facts import ReadSide, States, read_connector_states
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers, as_words, typed_urls


class TargetOptions(Struct, frozen=True):
    """The user's options for the target; nothing where it is the same as the source. planned are its brokers where the
    user names none.
    """

    bootstrap_server: str | None = None
    command_config: Path | None = None
    connect_urls: Sequence[str] = ()
    config_topic: str | None = None
    planned: PlannedServers | None = None

    @property
    def other_cluster(self) -> bool:
        """True if another Kafka cluster was named."""
        return not (self.bootstrap_server is None and self.command_config is None and self.planned is None)

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command line that name the target again, without secrets."""
        return as_words(
            {
                "--to-bootstrap-server": (self.bootstrap_server,),
                "--to-command-config": (self.command_config,),
                "--to-connect-url": typed_urls(self.connect_urls),
            }
        )


class SourceAndTarget:
    """Source and target, as they are read and written to.

    The target's Connect cluster is reached by the options of the target only.
    """

    def __init__(self, session: Session, config_topic: str, target: TargetOptions) -> None:
        self._session = session
        self._config_topic = config_topic
        self._target = target
        self._target_session = session
        if target.other_cluster:
            options = replace(
                session.options,
                bootstrap_servers=target.bootstrap_server,
                command_config=target.command_config,
                planned=target.planned,
                properties=MappingProxyType({}),
                profile=None,
            )
            self._target_session = Session(options)
            session.has_other_cluster = True

    def __enter__(self) -> "SourceAndTarget":
        return self

    def __exit__(self, *_: object) -> None:
        if self._target_session is not self._session:
            self._target_session.__exit__()

    def access(self, side: Side) -> ClusterAccess:
        options = self._session.options
        if side is Side.SOURCE:
            return ClusterAccess(self._session.wire, options.connect_urls, options.timeout_s)
        return ClusterAccess(self._target_session.wire, self._target_urls, options.timeout_s)

    def reading(self, side: Side) -> ReadSide:
        """The clusters of one side as they are now: each call is another reader, which keeps nothing of before."""
        if side is Side.SOURCE:
            return ReadSide(self._session.fresh_reader(), self._config_topic)
        return ReadSide(self._target_session.fresh_reader(self._target_urls), self._target.config_topic)

    @cached_property
    def _target_urls(self) -> tuple[WorkerUrl, ...]:
        target, limit = self._target_session, self._session.options.max_answer_bytes
        return tuple(WorkerUrl(url, lambda: target.client_properties, limit) for url in self._target.connect_urls)

    def command(self, verb: str, file: Path | str) -> str:
        """`eosctl VERB FILE` with the options by which the user named both sides, as it can be pasted into a shell."""
        return shlex.join(["eosctl", verb, str(file), *self.words])

    @property
    def words(self) -> tuple[str, ...]:
        """The options by which the user named both sides, for a printed command line."""
        return (*self._session.options.words, *self._target.words)

    def unnamed(self) -> dict[str, bool]:
        """Brokers and workers that the user did not name, and whether they would receive credentials."""
        sessions = dict.fromkeys((self._session, self._target_session))
        brokers = (each.client_properties for each in sessions)
        found = {at: each.needs_confirmation for each in brokers if each.named_by for at in each.bootstrap_servers}
        return found | {str(each): each.needs_confirmation for each in self._urls() if each.named_by}

    def confirm(self) -> None:
        """Asks before credentials go to these addresses."""
        for session in dict.fromkeys((self._session, self._target_session)):
            session.confirm_servers()
        for url in self._urls():
            url.confirm()

    def _urls(self) -> Iterator[WorkerUrl]:
        every = (*self._session.options.connect_urls, *self._target_urls)
        return (each for each in every if isinstance(each, WorkerUrl))

    @property
    def places(self) -> tuple[PlanTarget, ...]:
        """The addresses of the sides for a plan, without secrets. The target's if it is another."""
        options, target = self._session.options, self._target
        found = [
            PlanTarget(
                Side.SOURCE,
                self._session.client_properties.bootstrap_servers,
                tuple(map(str, options.connect_urls)),
                self._config_topic,
            )
        ]
        if target != TargetOptions():
            servers = self._target_session.client_properties.bootstrap_servers if target.other_cluster else ()
            urls = tuple(map(str, self._target_urls))
            found.append(PlanTarget(Side.TARGET, servers, urls, target.config_topic))
        return tuple(found)

    def connector_states(self, side: Side) -> States:
        """The connectors of one side's Connect cluster, as its config topic has them. UsageError for another's."""
        found = self.reading(side)
        if found.config_topic is not None:
            found.reader.require_topic("config", found.config_topic)
        return read_connector_states(found)
