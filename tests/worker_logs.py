"""The traces of eosctl's reading requests in the logs of Connect workers, by the access log and the errors before
it."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.faulty_sandbox import Sandbox

REQUEST: Final = re.compile(
    r'INFO .*?"(GET|HEAD|PUT|POST|DELETE|PATCH) (/\S*) HTTP/1\.1" (\d+) .*?"([^"]*)" \d+ \(\S*\.RestServer'
)
TROUBLE: Final = re.compile(r"^\[[^]]*\] (?:ERROR|WARN) ")
OF_A_REQUEST: Final = re.compile(r"REST call to /(\S*)|Failed while validating connector")
OF_TASKS: Final = re.compile(
    r"\(org\.apache\.kafka\.(?:clients|connect\.(?:mirror|file|storage|runtime\.(?:Worker|\w*Task)))\b"
)
OF_NO_CLASS: Final = re.compile(r"ClassCastException: .* cannot be cast to class java\.lang\.String")
"""The line after an error of a connector whose class is no text: every request for all connectors leaves it."""
VALIDATE: Final = "/config/validate"
EOSCTL: Final = "eosctl/"


class Request(NamedTuple):
    """A line of the access log, which a worker writes when it has answered."""

    method: str
    path: str
    status: int
    user_agent: str

    @property
    def is_reading_of_eosctl(self) -> bool:
        """True if eosctl sent it, and it changes nothing."""
        reads = self.method in {"GET", "HEAD"} or self.path.endswith(VALIDATE)
        return reads and self.user_agent.startswith(EOSCTL)


def requests_in(text: str) -> list[Request]:
    """The requests in the access log, in the order of their answers."""
    return [Request(each[1], each[2], int(each[3]), each[4]) for each in REQUEST.finditer(text)]


def trouble_in(text: str) -> list[str]:
    """Lines with ERROR or WARN, except those of connectors, tasks and clients, which continue meanwhile."""
    return [line for line in text.splitlines() if TROUBLE.match(line) and not OF_TASKS.search(line)]


def trouble_by_reading(logs: Iterable[Path]) -> list[str]:
    """Errors and warnings about a request, where the request that was answered next is a reading one of eosctl."""
    return [line for log in logs if log.exists() for line in _by_reading(log.read_text(errors="replace"))]


@contextmanager
def untroubled(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The sandbox, started; at its end no reading request of eosctl has left an error in a worker's log."""
    with sandbox:
        logs = sandbox.directory / "logs"
        yield sandbox
        found = trouble_by_reading(logs.glob("worker-*.log"))
        assert not found, f"reading requests of eosctl left this in a worker's log: {found}"


def _by_reading(text: str) -> list[str]:
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        about = OF_A_REQUEST.search(line) if TROUBLE.match(line) else None
        if about is None or OF_NO_CLASS.search("".join(lines[number + 1 : number + 2])):
            continue
        path = f"/{about[1]}" if about[1] is not None else ""
        answered = (request for each in lines[number:] for request in requests_in(each))
        its = next((each for each in answered if _is_about(each, path)), None)
        if its is not None and its.is_reading_of_eosctl:
            found.append(f"{its.method} {its.path}: {line}")
    return found


def _is_about(request: Request, path: str) -> bool:
    """True if it is for the path; an error of validation is about a submitted config."""
    if path:
        return request.path.partition("?")[0] == path
    return request.path.endswith(VALIDATE) or request.method in {"PUT", "POST", "PATCH"}
