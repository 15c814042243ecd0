"""Which topics an audit is about: internal topics by the workers' settings, output topics by name, REST or config."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.offsets_report import Connectors
from eosctl.analysis.output_topics import output_topics
from eosctl.errors import UsageError
from eosctl.model.acls import PatternType
from eosctl.model.audit import AuditedTopic, TopicRole
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.names import is_topic_name
from eosctl.model.near_names import did_you_mean, no_such_topic
from eosctl.model.offset_stores import WorkerSettings
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.audit.bounds import guess_role
from eosctl.operations.audit.request import AuditRequest
from eosctl.operations.offset_stores import source_connectors, worker_settings
from eosctl.operations.worker_version import worker_version
from eosctl.sources.cluster_reader import ClusterReader

ELSEWHERE: Final = Skipped("they are in another cluster")


class FoundTopics:
    """The topics, the source connectors that exist, and what could not be read."""

    def __init__(self, reader: ClusterReader, request: AuditRequest) -> None:
        self._reader, self._request = reader, request.offsets
        self._topics: dict[str, AuditedTopic] = {}
        self.unread: dict[str, Skipped] = {}
        self.users: dict[str, tuple[str, ...]] = {}
        version = worker_version(reader, self._request.worker_version).version
        worker = worker_settings(reader, self._request, version)
        self._connectors = source_connectors(reader, self._request, version)
        self._require_connectors()
        self._existing = self._reader.topic_names()
        self.left_out: dict[str, tuple[str, ...]] = {}
        written = self._written()
        self._scope = _scope(self._request.connectors, request.topics, written)
        self._add_internal(worker, request.offsets_topics)
        self._add_named(request.topics, written)
        self._leave_out_of_scope()

    @property
    def topics(self) -> tuple[AuditedTopic, ...]:
        """Every topic under audit, by name."""
        return tuple(self._topics[name] for name in sorted(self._topics))

    @property
    def connectors(self) -> tuple[str, ...] | Skipped:
        """The source connectors that exist, by name."""
        configs = self._connectors.configs
        return configs if isinstance(configs, Skipped) else tuple(sorted(configs))

    def _require_connectors(self) -> None:
        """Refuse a name that no connector has or had: an audit of it would find nothing.

        Only the config topic knows connectors that were deleted: where it was not read, no name is refused.
        """
        configs = self._connectors.configs
        mentioned = self._connectors.named
        if isinstance(configs, Skipped) or not mentioned:
            return
        for name in self._request.connectors:
            if name not in configs and name not in mentioned:
                hint = did_you_mean(name, {*configs, *mentioned}, "without --connector, all connectors are audited")
                raise UsageError(
                    f"connector {name} does not exist, and the config topic does not mention it", hint=hint
                )

    def _add(self, name: str, role: TopicRole, connectors: Iterable[str] = (), *, own: bool = False) -> None:
        known = self._topics.get(name)
        users = tuple(sorted({*connectors, *(() if known is None else known.connectors)}))
        if name not in self._existing and not is_topic_name(name):
            return  # there is none, and never was
        if name not in self._existing:
            self._lack(f"topic {name}", "it does not exist, or Describe on it is missing", users)
        elif known is None or known.role is role:
            self._topics[name] = AuditedTopic(name, role, connectors=users, own=own)

    def _lack(self, what: str, reason: str, users: Iterable[str]) -> None:
        self.unread[what] = Skipped(reason)
        if users:
            self.users[what] = tuple(sorted({*users, *self.users.get(what, ())}))

    def _add_internal(self, worker: WorkerSettings, named: Iterable[str]) -> None:
        """Connectors' own offsets topics are those of now, and of before: what was moved away from is there."""
        self._add(self._request.config_topic, TopicRole.CONFIG)
        self._add(worker.offsets_topic, TopicRole.OFFSETS)
        for name, topic in _own_topics(worker, self._connectors):
            if isinstance(topic, Skipped):
                self._lack(f"offsets of connector {name}", topic.reason, [name])
            elif topic != worker.offsets_topic and self._is_in_scope([name]):
                self._add(topic, TopicRole.OFFSETS, [name], own=True)
        existing = () if isinstance(self._connectors.configs, Skipped) else self._connectors.configs
        for name, topics in sorted(self._connectors.named.items()):
            for topic in sorted(topics - {worker.offsets_topic}):
                if (name in existing or topic in self._existing) and self._is_in_scope([name]):
                    self._add(topic, TopicRole.OFFSETS, [name], own=True)
        for topic in named:
            self._add(topic, TopicRole.OFFSETS, self._request.connectors, own=topic != worker.offsets_topic)

    def _is_in_scope(self, connectors: Iterable[str]) -> bool:
        return self._scope is None or not self._scope.isdisjoint(connectors)

    def _leave_out_of_scope(self) -> None:
        """What only connectors use that nobody asked for is no gap of this audit."""
        for what, users in self.users.items():
            if not self._is_in_scope(users):
                del self.unread[what]
        self.users = {what: users for what, users in self.users.items() if what in self.unread}

    def _add_named(self, named: tuple[str, ...], written: Mapping[str, set[str]]) -> None:
        for name in named:
            if name in self._topics and self._topics[name].role is not TopicRole.OUTPUT:
                continue
            if name not in self._existing:
                raise no_such_topic(name, self._existing)
            self._add(name, self._role(name), written.get(name, self._request.connectors))
        for name, connectors in sorted(written.items()):
            if not named and self._is_in_scope(connectors):
                self._add(name, TopicRole.OUTPUT, connectors)
            for connector in connectors if named and name not in named and self._is_in_scope(connectors) else ():
                self.left_out[connector] = (*self.left_out.get(connector, ()), name)

    def _role(self, name: str) -> TopicRole:
        """By its first keys: an offsets topic of workers that nobody named is recognised."""
        return guess_role(self._reader.first_keys(name))

    def _written(self) -> Mapping[str, set[str]]:
        """Output topics to the connectors that write them: those that Connect saw (KIP-558), and those of configs.

        A topic that Connect saw and that is not there is hidden, or deleted. One that a config names may not have been
        written to; it is taken for hidden only where nobody knows what Connect saw.
        """
        configs = {} if isinstance(self._connectors.configs, Skipped) else self._connectors.configs
        active = self._reader.active_topics(sorted(configs)) if configs else {}
        if isinstance(active, Skipped):
            if active.cause is not Cause.NOT_ASKED:
                self.unread["active topics"] = active
            active = {}
        for name, topics in active.items():
            if isinstance(topics, Skipped):
                self.unread[f"active topics of {name}"] = topics
                self.users[f"active topics of {name}"] = (name,)
        known = {name: topics for name, topics in active.items() if not isinstance(topics, Skipped)}
        found: dict[str, set[str]] = {}
        for name in sorted(configs):
            seen = known.get(name, ())
            for topic in (*seen, *self._configured(name, configs[name])):
                if topic in seen or topic in self._existing or not seen:
                    found.setdefault(topic, set()).add(name)
        return found

    def _configured(self, name: str, config: Mapping[str, object]) -> Iterator[str]:
        properties = {key: Property(str(value), "config") for key, value in config.items() if value is not None}
        for pattern in output_topics(ConnectorConfig(name, properties)):
            if pattern.pattern_type is PatternType.LITERAL and pattern.name != "*":
                yield pattern.name
            else:
                prefix = "" if pattern.name == "*" else pattern.name
                yield from (topic for topic in self._existing if prefix and topic.startswith(prefix))


def _scope(connectors: Iterable[str], named: Iterable[str], written: Mapping[str, set[str]]) -> frozenset[str] | None:
    """The connectors that an audit is about: those asked for, or those that write to the topics asked for.

    None, which is all of them, where nothing is asked for, or one of the topics has no writer that is known.
    """
    wanted = frozenset(connectors)
    writers = [written.get(name, set()) for name in named]
    if wanted or not writers or not all(writers):
        return wanted or None
    return frozenset().union(*writers)


def _own_topics(worker: WorkerSettings, connectors: Connectors) -> Iterator[tuple[str, str | Skipped]]:
    """Each connector with the offsets topic that it writes first; Skipped where that cannot be read here."""
    if isinstance(connectors.configs, Skipped):
        return
    stores_of = connectors.stores(worker)
    for name in sorted(connectors.configs):
        stores = stores_of(name)
        if isinstance(stores, Skipped):
            yield name, stores
            continue
        for each in stores:
            yield name, each.written_to.topic if each.written_to.bootstrap_servers is None else ELSEWHERE
