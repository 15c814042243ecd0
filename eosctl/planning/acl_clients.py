"""The clients of one worker and its connectors, with their principals: where every planned binding starts."""

from collections.abc import Callable
from dataclasses import dataclass, field

from eosctl.analysis.client_configs import connector_client, worker_client
from eosctl.codecs.principals import SubjectOf, Unresolved, resolve_principal
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclRequest, Need, Reason, same_cluster
from eosctl.model.acls import AclBinding, Operation, ResourcePattern
from eosctl.model.client_configs import ClientConfig
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig
from eosctl.model.counts import some
from eosctl.model.offset_stores import SourceSupport

Principals = Callable[[ClientConfig], str]


@dataclass(frozen=True, slots=True)
class Client:
    """A client that is known by principal; its needs are made here. cluster is its bootstrap servers."""

    config: ClientConfig
    principal: str
    cluster: frozenset[str]

    def needs(
        self,
        operation: Operation,
        pattern: ResourcePattern,
        why: str,
        *,
        source: str,
        symptom: str,
        loss: str | None = None,
    ) -> Need:
        """That this client needs `operation` on `pattern`, and why."""
        reason = Reason(self.config.role, self.config.connector, why, source, symptom, loss)
        return Need(AclBinding(self.principal, operation, pattern), self.cluster, reason)


class PrincipalBook:
    """Principals of clients: named ones first, then those in their properties. Gathers those that neither names."""

    def __init__(self, request: AclRequest, subject_of: SubjectOf) -> None:
        self._request = request
        self._subject_of = subject_of
        self._unresolved: dict[tuple[ClientRole, str | None], Unresolved] = {}

    def client(self, config: ClientConfig) -> Client:
        """The client with its principal; an unresolved one is remembered for `require`."""
        named = self._request.principals
        principal = named.get((config.role, config.connector)) or named.get((config.role, None))
        if principal is None:
            found = self._resolve(config)
            if isinstance(found, Unresolved):
                self._unresolved[config.role, config.connector] = found
                found = "User:?"
            principal = found
        return Client(config, principal, config.bootstrap_servers)

    def _resolve(self, config: ClientConfig) -> str | Unresolved:
        try:
            return resolve_principal(config.properties, self._subject_of, self._request.mapping_rules)
        except ConfigError as error:
            raise ConfigError(
                f"no principal is known for {_who(config.role, config.connector)}: {error.message}",
                hint=f"fix it, or name the principal: --principal {config.role}=User:NAME",
            ) from error

    def require(self) -> None:
        """Raise ConfigError where principals stayed unknown: which role, which property, and how to name them."""
        if not self._unresolved:
            return
        parts = [
            f"{_who(role, connector)} ({found.property}: {found.reason})"
            for (role, connector), found in self._unresolved.items()
        ]
        role = next(iter(self._unresolved))[0]
        raise ConfigError(
            f"no principal is known for {some(parts, '; ', 3)}", hint=f"name it: --principal {role}=User:NAME"
        )


def _who(role: ClientRole, connector: str | None) -> str:
    return str(role) if connector is None else f"{role} of connector {connector}"


@dataclass(frozen=True, slots=True)
class Planner:
    """What the rules of one worker work with."""

    request: AclRequest
    worker: WorkerConfig
    book: PrincipalBook
    phase: SourceSupport
    connectors: tuple[ConnectorConfig, ...] = field(default=())

    @property
    def group_id(self) -> str:
        """The Connect cluster."""
        return self.worker.group_id

    @property
    def sources(self) -> tuple[ConnectorConfig, ...]:
        """The source connectors."""
        return tuple(each for each in self.connectors if not each.is_sink)

    @property
    def exactly_once(self) -> bool:
        """Whether source tasks are transactional."""
        return self.phase is SourceSupport.ENABLED

    def own_client(self) -> Client:
        """The worker's own clients."""
        return self.book.client(worker_client(self.worker))

    def client(self, connector: ConnectorConfig, role: ClientRole) -> Client:
        """The client of this role of the connector."""
        return self.book.client(connector_client(self.worker, connector, role, exactly_once=self.exactly_once))

    def exists(self, client: Client, topic: str) -> bool | None:
        """Whether the topic exists where this client looks for it; None where that is not known."""
        here = self.request.here
        return self.request.topics_known.get(topic) if here is None or same_cluster(client.cluster, here) else None
