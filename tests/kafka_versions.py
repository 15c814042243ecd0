"""Versions of Kafka that tests run on: of brokers, and of workers where these have another one."""

from typing import Any, Self

from eosctl.sandbox.properties import SandboxSpec


class KafkaVersions(str):
    """The version of the brokers, as any text; `4.3.1/3.6.2` is a pair: brokers of 4.3.1 with workers of 3.6.2."""

    workers: str

    def __new__(cls, text: str) -> Self:
        brokers, _, workers = text.partition("/")
        found = super().__new__(cls, brokers)
        found.workers = workers or brokers
        return found

    def __eq__(self, other: object) -> bool:
        """Pairs of the same brokers are different ones: pytest keeps what fixtures made for an equal parameter."""
        return self.id == other.id if isinstance(other, KafkaVersions) else str(self) == other

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def is_pair(self) -> bool:
        """Whether workers have another version than brokers."""
        return self.workers != str(self)

    @property
    def id(self) -> str:
        """As it is given to --kafka-versions."""
        return f"{self!s}/{self.workers}" if self.is_pair else str(self)


def workers_of(kafka_version: str) -> str:
    """The version of the workers that go with these brokers."""
    return getattr(kafka_version, "workers", kafka_version)


def versions_of(kafka_version: str) -> dict[str, str]:
    """Both versions, as SandboxSpec takes them."""
    workers = workers_of(kafka_version)
    return {"kafka_version": str(kafka_version)} | ({} if workers == kafka_version else {"connect_version": workers})


def spec_of(kafka_version: str, **settings: Any) -> SandboxSpec:
    """A sandbox of these versions."""
    return SandboxSpec(**versions_of(kafka_version), **settings)
