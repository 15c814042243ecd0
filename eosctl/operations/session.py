"""The composition root: builds a command's readers from the user's options. It decides nothing."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from eosctl.clients.request_log import RequestLog
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.codecs.client_properties import client_properties
from eosctl.codecs.properties import ENCODING
from eosctl.errors import ConfigError, EosctlError, NotAuthorized, OtherCluster, Refused, UsageError
from eosctl.files import COMMAND_CONFIG, read_content
from eosctl.model.client_properties import keys_not_followed, unknown_keys
from eosctl.model.groups import ConnectGroup
from eosctl.model.text import first_few
from eosctl.operations.session_options import SessionOptions

if TYPE_CHECKING:
    from eosctl.analysis.offsets import OffsetsFold
    from eosctl.clients.wire import Wire
    from eosctl.model.client_properties import ClientProperties, Property
    from eosctl.model.skipped import Skipped
    from eosctl.sources.cluster_reader import ClusterReader, KeptFacts
    from eosctl.sources.discovery import Discovery
    from eosctl.sources.saved_cluster import SavedCluster


class Session:
    """Connections of one command, made at first use and closed at its end.

    has_other_cluster: the command has a second session, on another Kafka cluster. found_group_id is the Connect group
    to write to although the user did not name it. kept are facts that all readers share, None: each queries again.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._worker_requests = self._request_log(options)
        urls = tuple(
            WorkerUrl(url, lambda: self.client_properties, options.max_answer_bytes, self._worker_requests)
            for url in options.connect_urls
        )
        self.options = replace(options, connect_urls=urls)
        for url in self._worker_urls():
            url.keep_connections()
        self.has_other_cluster = False
        self.found_group_id: str | None = None
        self.kept: KeptFacts | None = None
        self._discovery: Discovery | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if "wire" in self.__dict__:
            self.wire.close()
        for url in self._worker_urls():
            url.close()
        if self._discovery is not None:
            self._discovery.close()
        self.conclude(error)

    def _worker_urls(self) -> Iterator[WorkerUrl]:
        return (each for each in self.options.connect_urls if isinstance(each, WorkerUrl))

    def conclude(self, error: BaseException | None = None) -> None:
        """Ends one question: adds to its error the command that grants missing ACLs.

        Raises OtherCluster if it was met and not raised yet; Refused where it prevented a write.
        """
        if "wire" in self.__dict__:
            error = error or self.wire.left
        if isinstance(error, NotAuthorized):
            self._say_how_to_grant(error)
        if isinstance(error, OtherCluster):
            if self.options.writes and not self.options.dry_run:
                raise Refused(error.message, hint=error.hint) from error
            raise error

    @staticmethod
    def _request_log(options: SessionOptions) -> RequestLog:
        reporter = options.console
        return RequestLog(reporter.waiting, lambda text: reporter.narrate(text, verbosity=1))

    def _say_how_to_grant(self, error: NotAuthorized) -> None:
        """Adds the command that grants the missing ACLs. The cluster, of two, is unknown here."""
        if "client_properties" not in self.__dict__:  # it was not Kafka that refused
            return
        from eosctl.model.acl_plan import granting_command

        servers = "HOST:PORT" if self.has_other_cluster else ",".join(self.client_properties.bootstrap_servers)
        command = granting_command(error, servers)
        if command is not None and command not in (error.hint or ""):
            error.hint = "\n".join(filter(None, (error.hint, f"grant it with: {command}")))

    @staticmethod
    def now() -> int:
        return int(time.time() * 1000)  # noqa: TID251  # the Clock

    @cached_property
    def client_properties(self) -> "ClientProperties":
        """The cluster's address and the tool's identity, merged from -b, -X and --command-config."""

        path, profile = self.options.command_config, self.options.profile
        basis: dict[str, Property] = {}
        if profile is not None and profile.command_config is not None and path is None:
            basis = self._file_properties(Path(profile.command_config))
        properties = client_properties(
            command_config=None if path is None else read_content(path, COMMAND_CONFIG).decode(ENCODING),
            command_config_name="--command-config" if path is None else str(path),
            extra=[f"{key}={value}" for key, value in self.options.properties.items()],
            bootstrap_server=self.options.bootstrap_servers,
            basis=basis if profile is None else basis | profile.client_properties,
            lookup=_look_up,
        )
        for warning in self._doubts(properties):
            self.options.console.warn(warning)
        properties, planned = properties.naming(self.options.named_servers), self.options.planned
        if properties.bootstrap_servers or planned is None:
            return properties
        return properties.at(planned.bootstrap_servers, planned.named_by)

    def confirm_servers(self) -> None:
        """Asks before credentials go to the brokers in a plan."""
        vars(self)["client_properties"] = self.client_properties.confirmed()

    @staticmethod
    def _file_properties(path: Path) -> "dict[str, Property]":

        text = read_content(path, COMMAND_CONFIG).decode(ENCODING)
        return dict(client_properties(command_config=text, command_config_name=str(path)).properties)

    @staticmethod
    def _doubts(properties: "ClientProperties") -> Iterator[str]:
        """Properties without effect, one line for each kind and origin."""

        by_origin: dict[str, list[str]] = {}
        for key, given in properties.properties.items():
            by_origin.setdefault(given.origin, []).append(key)
        for origin, found in by_origin.items():
            if unknown := unknown_keys(found):
                yield f"{origin}: no Kafka client knows {first_few(unknown)}; not used"
            if ignored := keys_not_followed(found):
                yield f"{origin}: {first_few(ignored)} can only be followed in Java; not used"
        if properties.security_protocol.uses_tls:
            with suppress(ConfigError):  # reported where it is connected with
                from eosctl.codecs.tls import decode_tls_limits, unenforced_limits

                limits = decode_tls_limits(properties)
                yield from (f"{limits.origin}: {each}" for each in unenforced_limits(limits))

    @cached_property
    def wire(self) -> "Wire":
        """The brokers; connects at the first request."""
        if not self.client_properties.bootstrap_servers:
            self.options.need_bootstrap_servers()
        from eosctl.clients.wire import Wire

        requests = self._request_log(self.options)
        wire = Wire(self.client_properties, timeout_s=self.options.timeout_s, requests=requests)
        self._require_expected(wire)
        return wire

    def _require_expected(self, wire: "Wire") -> None:
        """Refuses to write to a cluster other than the profile's, and warns when reading one."""
        profile = self.options.profile
        if profile is None or profile.cluster_id is None or wire.cluster_id == profile.cluster_id:
            return
        what = f"this is cluster {wire.cluster_id}; {profile.label} expects {profile.cluster_id}"
        if self.options.writes and not self.options.dry_run:
            wire.close()
            raise Refused(what, hint="is it the right profile? `eosctl profile explain` shows where each value is from")
        self.options.console.warn(what)

    @cached_property
    def reader(self) -> "ClusterReader":
        """The reader: the one place that knows whether it is live or saved."""
        snapshot, records = self.options.snapshot, self.options.records
        if records is None:
            return self._live() if snapshot is None else self._of_group(self.saved(snapshot), snapshot)
        from eosctl.sources import saved_cluster

        if snapshot is not None:
            raise UsageError("--records and --snapshot exclude each other")
        return saved_cluster.SavedCluster(
            saved_cluster.read_records_file(records, self.options.group_id, self._live().connect())
        )

    def _of_group(self, saved: "SavedCluster", snapshot: Path) -> "SavedCluster":
        found, wanted = saved.snapshot.group_id, self.options.group_id
        if None not in {found, wanted} and found != wanted:
            raise UsageError(
                f"{snapshot} is a snapshot of Connect group {found}, not of {wanted}",
                hint="omit --group-id, or give the snapshot of that group",
            )
        return saved

    def _live(self) -> "ClusterReader":
        from eosctl.sources import discovery, live_cluster

        options = self.options
        if self._discovery is None and options.records is None:  # once: its discovery is reported once
            opted_in = options.profile is not None and options.profile.discover_workers
            self._discovery = discovery.Discovery(
                self, options.console.narrate, opted_in=opted_in, requests=self._worker_requests
            )
        found = None if options.writes else self._discovery  # a command that writes asks for it: `need_group_id`
        return live_cluster.LiveCluster(
            self,
            options.group_id,
            options.console.progress,
            new_fold,
            found,
            self.kept,
            named_topics=options.named_topics,
        )

    def fresh_reader(self, connect_urls: tuple[str, ...] | None = None) -> "ClusterReader":
        """A live reader that keeps no fact of another one: for facts that must be known at the moment of writing.

        Its coverage is in no answer. connect_urls are workers of another Connect cluster, whose group is not known.
        """
        group_id = (self.options.group_id or self.found_group_id) if connect_urls is None else None
        from eosctl.sources import group_belongings, live_cluster

        return live_cluster.LiveCluster(
            self,
            group_id,
            _no_progress,
            new_fold,
            connect_urls=connect_urls,
            named_topics=self.options.named_topics if connect_urls is None else group_belongings.SAMPLE_TOPICS,
        )

    def need_group_id(self, hint: str | None = None) -> str:
        """The Connect cluster's group.id: the named one, otherwise the only one of the Kafka cluster.

        UsageError if there is none, or several, or if a named worker is of another. Refused if the user would not see
        the group to be changed.
        """
        options = self.options
        known = options.group_id or self.reader.group_id
        found = known or self._only_group()
        if not isinstance(found, str):
            none = "" if self._discovery is None else ", and this Kafka cluster has no Connect group"
            reason = none if found is None else f": {found.reason}"
            hint = hint or "give --group-id, the worker's group.id (or set EOSCTL_GROUP_ID)"
            raise UsageError(f"no Connect cluster was named{reason}", hint=hint)
        if known is None and options.yes and not options.dry_run:
            raise Refused(
                f"Connect group {found} was found and not named: --yes alone is not enough",
                hint=f"give --group-id {found} too, or leave --yes out and answer",
            )
        self.found_group_id = None if known is not None else found
        self.reader.require_workers(found)
        return found

    def advertised_workers(self) -> tuple[str, ...]:
        """The REST addresses that members of the Connect group advertise; sends them no request."""
        group_id = self.options.group_id or self.found_group_id
        group = None if group_id is None else self.reader.connect_group(group_id)
        members = group.members if isinstance(group, ConnectGroup) else ()
        return tuple(each.url.rstrip("/") for each in members if each.url)

    def require_no_choice(self) -> None:
        """UsageError if there are several Connect groups and none was named."""
        try:
            self._only_group()
        except UsageError:
            raise
        except EosctlError:  # the coverage says so
            return

    def _only_group(self) -> "str | Skipped | None":
        """The only group of the cluster; a snapshot names its own or none."""
        return None if self._discovery is None else self._discovery.group()

    def saved(self, snapshot: Path) -> "SavedCluster":
        """A snapshot file as a cluster."""
        from eosctl.sources import saved_cluster

        return saved_cluster.SavedCluster(saved_cluster.read_snapshot_file(snapshot), self.options.group_id)

    def ask_again(self) -> None:
        """Forgets the reader: the next one asks all workers again, silent ones too."""
        vars(self).pop("reader", None)
        if self._discovery is not None:
            self._discovery.look_again()

    @property
    def requests(self) -> Mapping[str, int]:
        """The number of requests to the cluster's `brokers` and to its `workers`."""
        sent = self.wire.requests.total if "wire" in self.__dict__ else 0
        return {"brokers": sent, "workers": self._worker_requests.total}

    @property
    def connect_urls(self) -> tuple[str, ...]:
        return self.options.connect_urls

    @property
    def timeout_s(self) -> float:
        return self.options.timeout_s


def _look_up(provider: str, path: str, key: str) -> str:
    """The value that a config provider has for the key; raises ConfigError."""
    from eosctl.sources.config_providers import look_up

    return look_up(provider, path, key)


def _no_progress(*_: object, **__: object) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda _: None)


def new_fold() -> "OffsetsFold":
    from eosctl.analysis.offsets import OffsetsFold
    from eosctl.codecs.offsets_topic import decode_offsets_key

    return OffsetsFold(decode_offsets_key)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disables the cycle collector, for a million small objects without cycles.

    In a command, which froze its modules, the objects live until its end: they are not walked through afterwards.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count():
            gc.freeze()
        if enabled:
            gc.enable()
