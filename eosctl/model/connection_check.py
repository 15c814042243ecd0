"""Results of a check of the connections to a cluster."""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from eosctl.model.report import Result


class CheckStep(StrEnum):
    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    KAFKA = "Kafka"
    SASL = "SASL"
    ACL = "ACL"
    HTTP = "HTTP"


class CheckOutcome(StrEnum):
    """How a step ended; steps behind one that failed are not tried."""

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
