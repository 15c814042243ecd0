"""Everything that can end a command, and the exit code it ends with.

    EosctlError
    ├── UsageError        2  the command line contradicts itself
    ├── ConfigError       2  a profile, properties or input file is wrong
    │   └── NotInstalled  2  a package of an extra is not installed
    ├── OtherCluster      3  brokers or a worker of another Kafka cluster answer than before
    ├── Incomplete        3  a program required a complete answer, and part of its evidence was not read
    ├── Unreachable       4  a broker or a Connect worker does not answer
    │   ├── TimedOut      4  it answered too late
    │   └── Throttled     4  a quota kept it from answering in time
    ├── NotAuthorized     5  an ACL is missing: principal, operation, resource
    ├── Unsupported       6  needs a newer broker or worker than was found
    ├── Undecodable       7  bytes that are not what the topic or file promises
    ├── Refused           8  a precondition does not hold; nothing was changed
    │   └── StaleRange    8  another audit was faster: plan again and retry
    ├── PartlyApplied     9  some steps were applied; the outcome lists all
    ├── Bug              70  eosctl is wrong
    ├── OutputLost       74  the answer could not be written
    └── Interrupted     130  stopped by the user

A finding is not an error: a command that worked and found something exits with 1, one that found nothing but could not
read something that its answer needs with 3.
"""

from typing import ClassVar, Final

DID_YOU_MEAN: Final = "did you mean "
"""Begins a hint that names what may be meant."""
EXIT_FINE: Final = 0
EXIT_FOUND: Final = 1
EXIT_INCOMPLETE: Final = 3


class EosctlError(Exception):
    """A reason to stop: the message describes the event, the hint the next step."""

    exit_code: ClassVar[int] = 70
    retriable: ClassVar[bool] = False
    """Whether asking again may help, while there is time."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EosctlError):
    """The command line contradicts itself or lacks something."""

    exit_code = 2


class ConfigError(EosctlError):
    """A profile, properties or input file is wrong; names file, key and what was expected."""

    exit_code = 2


class NotInstalled(ConfigError):
    """`what` needs a package of an extra of eosctl; the hint installs it into the environment that runs."""

    def __init__(self, what: str, extra: str, error: ImportError) -> None:
        name = getattr(error, "name", None)
        missing = f"{name}, which is not installed" if name else f"the extra {extra}: {error}"
        super().__init__(f"{what} needs {missing}", hint=install_command(extra))


def install_command(extra: str) -> str:
    """The command that installs an extra's packages where this eosctl runs, by uv where the environment has no pip.

    It names the packages, not eosctl: they are on every index, and eosctl came from a checkout, a wheel or one file.
    """
    import re
    import shlex
    import sys
    from importlib import metadata, util

    named = re.compile(rf"extra == ['\"]{extra}['\"]")
    packages = [each.partition(";")[0].strip() for each in metadata.requires("eosctl") or () if named.search(each)]
    by_pip, by_uv = [sys.executable, "-m", "pip", "install"], ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*(by_pip if util.find_spec("pip") else by_uv), *packages])


class OtherCluster(EosctlError):
    """Who answers is of another Kafka cluster than who answered before; names the address and both IDs."""

    exit_code = EXIT_INCOMPLETE


class Incomplete(EosctlError):
    """A program required a complete answer, and part of its evidence was not read; names that part."""

    exit_code = EXIT_INCOMPLETE


class Unreachable(EosctlError):
    """A broker or a Connect worker cannot be reached; names its address."""

    exit_code = 4
    retriable = True


class TimedOut(Unreachable):
    """The peer is there but did not answer in time; names the request and the time given."""


class WaitTimedOut(TimedOut):
    """The peer answered each time, and what was waited for did not come about: another peer would answer the same."""


class Throttled(Unreachable):
    """The broker refuses to answer while a quota is exceeded, and longer than there is time; names both."""

    retriable = False


_ACL_RESOURCES: Final = {
    "Topic": "topic",
    "Group": "group",
    "Cluster": "cluster",
    "TransactionalId": "transactional ID",
    "DelegationToken": "delegation token",
    "User": "user",
}


def reason_of(error: OSError) -> str:
    """In the system's words, without the number and the path; in its own where it has none."""
    return error.strerror or str(error)


def denial(principal: str, operation: str, resource: str) -> str:
    """That the principal lacks a right; resource is as in an ACL (`Topic orders`), or any other place."""
    kind, _, name = resource.partition(" ")
    if kind in _ACL_RESOURCES and operation[:1].isupper():
        return f"{principal} lacks {operation} on {_ACL_RESOURCES[kind]} {name}"
    return f"{principal} may not {operation} on {resource}"


class NotAuthorized(EosctlError):
    """The cluster denies it; names principal, operation and resource."""

    exit_code = 5

    def __init__(self, *, principal: str, operation: str, resource: str, hint: str | None = None) -> None:
        super().__init__(denial(principal, operation, resource), hint=hint)
        self.principal = principal
        self.operation = operation
        self.resource = resource


class Unsupported(EosctlError):
    """The peer is too old or too new; names the version needed and the version found."""

    exit_code = 6


class Undecodable(EosctlError):
    """Bytes that are not what their topic or file promises; names the place and the reason."""

    exit_code = 7

    def __init__(
        self,
        reason: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        where = "" if partition is None else f"-{partition}@{offset}"
        place = "" if topic is None else f"{topic}{where}: "
        super().__init__(f"{place}{reason}", hint=hint)
        self.reason = reason
        self.topic = topic
        self.partition = partition
        self.offset = offset


class Refused(EosctlError):
    """A precondition does not hold, or the user did not confirm; nothing was changed."""

    exit_code = 8


class StaleRange(Refused):
    """Another run of the same audit has moved a cursor since this one was planned; names the range. Plan again."""


class PartlyApplied(EosctlError):
    """Some steps were applied and some were not; the outcome lists all of them."""

    exit_code = 9


class Bug(EosctlError):
    """Something that cannot happen did: eosctl is wrong."""

    exit_code = 70


class OutputLost(EosctlError):
    """The work is done, and its answer could not be written; names where to and why."""

    exit_code = 74


class Interrupted(EosctlError):
    """The user stopped the command; the message says what was done until then."""

    exit_code = 130
