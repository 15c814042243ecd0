"""Profiles: named clusters, the settings that reach them, the guards on writing to them, and their checks."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Struct, field

from eosctl.model.client_properties import Property
from eosctl.model.hidden_fields import HiddenFields
from eosctl.model.report import Result, Waiver


class Profile(HiddenFields, frozen=True):
    """One named cluster; `origin` is the file the file that defines it.

    properties are client properties whose secrets are references. A protected profile takes `--yes` only if the command
    line names the profile. cluster_id is the Kafka cluster that commands may write to, None: any. worker_configs are
    workers' properties files; audit_store is the URL of the ledger of `eosctl audit`. discover_workers: also query
    workers that only the Connect group names, although the profile has a password or certificate. waivers are accepted
    findings.
    """

    hidden: ClassVar = ("properties",)

    name: str
    origin: str
    bootstrap_server: str | None = None
    command_config: str | None = None
    connect_urls: tuple[str, ...] = ()
    group_id: str | None = None
    timeout_s: float | None = None
    cluster_id: str | None = None
    protected: bool = False
    worker_configs: tuple[str, ...] = ()
    audit_store: str | None = None
    discover_workers: bool = False
    waivers: tuple[Waiver, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def client_properties(self) -> dict[str, Property]:
        own = dict(self.properties)
        if self.bootstrap_server is not None:
            own["bootstrap.servers"] = self.bootstrap_server
        return {key: Property(value, self.label) for key, value in own.items()}

    @property
    def label(self) -> str:
        return f"profile {self.name} ({self.origin})"


class Profiles(Struct, frozen=True):
    """Profiles by name, the one in use by default, and the ignored parts of a project's file with the reasons."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    current: str | None = None
    unused: tuple[str, ...] = ()

    def over(self, other: "Profiles") -> "Profiles":
        """These profiles win over the ones of `other`, and so does their choice."""
        twice = sorted(self.profiles.keys() & other.profiles.keys())
        unused = tuple(
            f"{other.profiles[name].label} is not used: {self.profiles[name].origin} has one of the name"
            for name in twice
        )
        return Profiles({**other.profiles, **self.profiles}, self.current or other.current, unused)


class EffectiveSetting(Struct, frozen=True):
    """A setting, its value (None: there is none; a secret is hidden already) and its origin."""

    setting: Annotated[str, "option or client property"]
    value: Annotated[str | None, "its value"]
    source: Annotated[str, "where it was given"]


class EffectiveSettings(Result, frozen=True):
    settings: tuple[EffectiveSetting, ...]


class CheckStep(StrEnum):
    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    KAFKA = "Kafka"
    SASL = "SASL"
    ACL = "ACL"
    HTTP = "HTTP"


class CheckOutcome(StrEnum):
    """How a step ended; steps after a failed one are not tried."""

    OK = "ok"
    FAILED = "failed"


class CheckedStep(Struct, frozen=True):
    """One step of one client (network, wire, librdkafka, REST) to one address: how it ended, why, and what to do."""

    client: Annotated[str, "network, wire and librdkafka (Kafka's protocol), REST"]
    address: Annotated[str, "the address that was tried"]
    step: Annotated[CheckStep, "DNS, TCP, TLS, SASL or Kafka, ACL, HTTP"]
    outcome: CheckOutcome
    detail: Annotated[str, "what was seen"]
    hint: Annotated[str | None, "what to do"] = None


class ConnectionCheck(Result, frozen=True):
    steps: tuple[CheckedStep, ...]

    @property
    def found(self) -> bool:
        return any(each.outcome is CheckOutcome.FAILED for each in self.steps)
