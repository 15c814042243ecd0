"""What the errors of the Kafka clients mean to the user: one table per library, one EosctlError per code."""

from dataclasses import dataclass

from eosctl.errors import EosctlError, NotAuthorized, TimedOut, Unreachable


@dataclass(frozen=True, slots=True)
class Peer:
    """Whom a request went to and as whom: what an error message has to name."""

    address: str
    principal: str
    mechanism: str | None = None


def connection_error(error: BaseException, peer: Peer) -> EosctlError:
    """What kafka-python's exception on a connection means."""
    import kafka.errors as names

    if isinstance(error, EosctlError):
        return error
    if isinstance(error, names.SaslAuthenticationFailedError):
        return NotAuthorized(
            principal=peer.principal, operation=f"authenticate with {peer.mechanism}", resource=peer.address
        )
    if isinstance(error, names.RequestTimedOutError | names.KafkaTimeoutError):
        return TimedOut(f"{peer.address} accepts connections but did not answer: {error}")
    return Unreachable(f"{peer.address} cannot be reached: {error}")
