"""What a sandbox keeps between two starts on the same directory: cluster ID, passwords, ports."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from eosctl.atomic_write import write_atomic_file
from eosctl.errors import ConfigError
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.properties import BrokerPorts
from eosctl.sandbox.spec import MOST_WORKERS, SandboxSpec
from eosctl.sandbox.storage import new_uuid
from eosctl.sandbox.versions import parse_kafka_version


@dataclass(frozen=True, slots=True)
class Identity:
    """Cluster ID, password of each SASL user, ports of the brokers (in order of node ID) and of the workers' REST."""

    kafka_version: str
    cluster_id: str
    passwords: dict[str, str]
    brokers: tuple[BrokerPorts, ...]
    workers: tuple[int, ...]


def establish_identity(directory: Path, spec: SandboxSpec, leases: PortLeases) -> Identity:
    """The identity kept in `directory`, fitted to `spec`, or a new one; its ports are leased and the file is written.

    A kept port that somebody took meanwhile is replaced, unless `spec.port` names it. Raises ConfigError when the
    directory holds the data of a newer Kafka or of another number of brokers, or when the file is damaged.
    """
    file = directory / "identity.json"
    kept = read_identity(file) if file.exists() else None
    if kept is not None:
        _check_fits(kept, spec, directory)
    identity = Identity(
        kafka_version=spec.kafka_version,
        cluster_id=new_uuid() if kept is None else kept.cluster_id,
        passwords=_passwords(spec, {} if kept is None else kept.passwords),
        brokers=_broker_ports(spec, leases, kept),
        workers=_worker_ports(leases, kept),
    )
    file.touch(mode=0o600)
    write_atomic_file(file, json.dumps(asdict(identity), indent=1))
    return identity


def read_identity(file: Path) -> Identity:
    """The identity in `file`; ConfigError when it is not one."""
    try:
        fields = json.loads(file.read_text())
        brokers = tuple(BrokerPorts(**ports) for ports in fields.pop("brokers"))
        return Identity(brokers=brokers, workers=tuple(fields.pop("workers")), **fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} is damaged", hint="remove the directory to start again") from error


def _check_fits(kept: Identity, spec: SandboxSpec, directory: Path) -> None:
    """Data may be resumed by the same or by a newer Kafka, and by as many brokers as wrote it."""
    held = f"{directory} holds the data of {len(kept.brokers)} broker(s) of Kafka {kept.kafka_version}"
    hint = "name another directory, or remove this one to start again"
    if parse_kafka_version(kept.kafka_version) > spec.version:
        raise ConfigError(f"{held}; {spec.kafka_version} is older and cannot read it", hint=hint)
    if len(kept.brokers) != spec.brokers:
        raise ConfigError(f"{held}; it cannot go on with {spec.brokers}", hint=hint)


def _passwords(spec: SandboxSpec, kept: dict[str, str]) -> dict[str, str]:
    return {**kept, **{user: kept.get(user) or secrets.token_hex(12) for user in spec.all_users}}


def _broker_ports(spec: SandboxSpec, leases: PortLeases, kept: Identity | None) -> tuple[BrokerPorts, ...]:
    if kept is None:
        named = (spec.port, *([None] * (spec.brokers - 1)))
        return tuple(BrokerPorts(leases.take(port), leases.take(), leases.take()) for port in named)
    return tuple(
        BrokerPorts(
            leases.take(spec.port) if spec.port and node == 0 else leases.take_if_free(ports.plaintext),
            leases.take_if_free(ports.sasl),
            leases.take_if_free(ports.controller),
        )
        for node, ports in enumerate(kept.brokers)
    )


def _worker_ports(leases: PortLeases, kept: Identity | None) -> tuple[int, ...]:
    if kept is None:
        return tuple(leases.take() for _ in range(MOST_WORKERS))
    return tuple(leases.take_if_free(port) for port in kept.workers)
