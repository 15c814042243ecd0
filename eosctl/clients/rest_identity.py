"""Who eosctl is to Connect workers: TLS stores, and the user and password of basic auth."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients.request_log import RequestLog
from eosctl.codecs.json_text import halves_as_text, load_json
from eosctl.codecs.secrets import mask_text, mask_url
from eosctl.errors import ConfigError, OtherCluster, Refused, Undecodable, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import HIDDEN, ClientProperties
from eosctl.model.hidden_fields import HiddenFields

if TYPE_CHECKING:
    import ssl

    from eosctl.clients.http_transport import HttpClient


MAX_ANSWER_BYTES: Final = 32 << 20
"""The connectors of a large cluster, with configs and traces of failed tasks, are some MiB."""

BYTES_A_VALUE: Final = 16
"""A value takes on average at least this much of an answer; Python needs some 70 bytes for the smallest object."""

MAX_WORDS: Final = 2_000
MAX_TASK: Final = (1 << 31) - 1


def decode_json(content: bytes, max_bytes: int = MAX_ANSWER_BYTES) -> object:
    """The value in an answer's body.

    Half a surrogate pair, which the trace of a task can contain, is kept as the text of its escape. Raises ValueError
    for text that is not Unicode, for text that load_json refuses, and for a value that would need many times the memory
    of its text.
    """
    if sum(map(content.count, (b"[", b"{", b","))) > max_bytes // BYTES_A_VALUE:
        raise ValueError(f"it has more than {max_bytes // BYTES_A_VALUE} values")
    return load_json(halves_as_text(content.decode("utf-8")))


@contextmanager
def decoding(otherwise: str) -> Iterator[None]:
    """Takes an answer apart, and nothing else: raises Undecodable(otherwise) where it has another shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Undecodable(otherwise, hint="is this the address of a Connect worker?") from error


def text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def texts_of(value: object) -> tuple[str, ...]:
    return tuple(map(text_of, list_of(value)))


def list_of(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def object_of(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def config_of(value: object) -> dict[str, str | None]:
    return {key: None if each is None else text_of(each) for key, each in object_of(value).items()}


def task_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a number")
    if not 0 <= value <= MAX_TASK:
        raise ValueError("not the number of a task")
    return value


def sanitized(text: object) -> str:
    """A peer's words for an error: on one line, cut, with values that look like secrets hidden."""
    words = str(text)
    cut = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"
    return "".join(char if char.isprintable() else " " for char in mask_text(cut)).strip()


_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")


def internal_kind(address: str) -> str | None:
    """How the resolved address is internal: "loopback", "link-local" or "special"; None for an ordinary address.

    0.0.0.0 and :: lead to this machine as 127.0.0.1 does. IPv6 addresses that stand for an IPv4 address are judged as
    that one. Private networks (RFC 1918) are ordinary: workers use them. ValueError for other text.
    """
    found = _embedded_ipv4(ip_address(address.partition("%")[0]))
    if found.is_loopback or found.is_unspecified or (found.version == 4 and int(found) >> 24 == 0):
        return "loopback"
    if found.is_link_local:
        return "link-local"
    return "special" if found.is_multicast or found.is_reserved else None


def _embedded_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, otherwise itself."""
    if isinstance(address, IPv4Address):
        return address
    inside = address.ipv4_mapped or address.sixtofour
    if inside is None and (address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1)):
        inside = IPv4Address(int(address) & 0xFFFFFFFF)
    return inside or address


LISTENER: Final = "listeners.https.ssl."
BASIC_AUTH: Final = "basic.auth.user.info"
_SHOWN_KEY: Final = late_pattern(r"(^|\.)ssl\.key|^basic\.auth\.|^sasl\.")
_ADDRESS: Final = late_pattern(
    r"(https?://)(?:([^/?#]*)@)?(\[[^\]@]*\]|[^:/?#@\s]+)((?::\d{1,5})?(?:[/?#][^@\s]*)?)", re.IGNORECASE
)
_EXPECTED: Final = (
    "a worker's address is http://HOST:8083. Give user and password as basic.auth.user.info in --command-config, "
    "or as http://USER:PASSWORD@HOST:8083 (escape @ as %40, / as %2F, ? as %3F, # as %23 and a blank as %20)"
)


class RestIdentity(HiddenFields, frozen=True):
    """The client properties with the TLS settings and basic auth of REST requests.

    1. Where any `listeners.https.ssl.*` is given (as in a worker's file), those settings hold alone; otherwise `ssl.*`.
    2. Basic auth comes from the URL, otherwise from `basic.auth.user.info=user:password`.
    """

    hidden: ClassVar = ("credentials",)

    properties: ClientProperties | None = None
    credentials: tuple[str, str] | None = None

    @property
    def is_anonymous(self) -> bool:
        given = () if self.properties is None else self.properties.properties
        return self.basic_auth is None and not any("ssl.keystore" in key for key in given)

    @property
    def basic_auth(self) -> tuple[str, str] | None:
        """User and password, None where there are none."""
        if self.credentials is not None or self.properties is None:
            return self.credentials
        given = self.properties.get(BASIC_AUTH)
        if given is None:
            return None
        user, colon, password = given.partition(":")
        if not colon:
            raise ConfigError(f"{BASIC_AUTH} from {self.properties.origin(BASIC_AUTH)} is not user:password")
        return user, password

    @property
    def principal(self) -> str:
        given = self.basic_auth
        return "a REST user without a password" if given is None else f"REST user {given[0]}"

    def ssl_context(self) -> "ssl.SSLContext":
        """The context for https; raises ConfigError for a store that cannot be used."""
        from eosctl.clients.tls import ssl_context

        properties = self.properties or ClientProperties(())
        own = any(key.startswith(LISTENER) for key in properties.properties)
        return ssl_context(properties, LISTENER if own else "ssl.")


class IdleConnections(Struct, frozen=True):
    """The rest of a closed client: `identified` of its connections were open when the worker last named its cluster.

    since is in seconds of time.monotonic().
    """

    http: "HttpClient"
    identified: int
    since: float


class WorkerUrl(str):
    """The address of a worker with its identity.

    As text it is the address without user and password, so there is no secret in it when it is shown, stored or
    compared. `properties` are requested at the first request; max_answer_bytes is the limit of each answer; requests
    counts the sent ones. named_by is the source of the address if the user did not name it, such as a plan file: it
    gets no credentials before `confirm`. cluster_id is the Kafka cluster that the worker named first, None before: the
    address leads to no other one. idle are connections that clients left to the next one; None: each closes its own.
    """

    __slots__ = ("_credentials", "_properties", "cluster_id", "idle", "max_answer_bytes", "named_by", "requests")

    cluster_id: str | None
    idle: list[IdleConnections] | None
    max_answer_bytes: int
    requests: RequestLog
    named_by: str | None
    _credentials: tuple[str, str] | None
    _properties: Callable[[], ClientProperties] | None

    def __new__(
        cls,
        url: str,
        properties: Callable[[], ClientProperties] | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        requests: RequestLog | None = None,
        named_by: str | None = None,
    ) -> Self:
        """The address in `url`, whose `user:password@` is removed from the text; UsageError if it is none."""
        if isinstance(url, DiscoveredUrl):
            return cast("Self", url)  # it stays one that the user did not name
        found = _ADDRESS.fullmatch(url)
        if found is None:
            raise UsageError(f"{mask_url(url)} is not a URL of a Connect worker", hint=_EXPECTED)
        made = super().__new__(cls, (found[1] + found[3] + found[4]).rstrip("/"))
        made._credentials, made._properties, made.max_answer_bytes = None, properties, max_answer_bytes
        made.requests, made.named_by, made.cluster_id = requests or RequestLog(), named_by, None
        made.idle = None
        if isinstance(url, WorkerUrl):
            made.cluster_id = url.cluster_id
            made._credentials, made._properties = url._credentials, properties or url._properties
            made.max_answer_bytes = max(max_answer_bytes, url.max_answer_bytes)
            made.requests, made.named_by = requests or url.requests, named_by or url.named_by
        if found[2] is not None:
            user, _, password = found[2].partition(":")
            made._credentials = (unquote(user), unquote(password))
        return made

    def __deepcopy__(self, _: object) -> Self:
        """Itself: it does not change, and what counts requests to it is one."""
        return self

    def require_cluster(self, found: str) -> None:
        """Raises OtherCluster where a worker of another Kafka cluster answers at this address than before."""
        if self.cluster_id is None:
            self.cluster_id = found
        if self.cluster_id != found:
            raise OtherCluster(
                f"{self} is a worker of Kafka cluster {found} now; the worker that answered before was of "
                f"{self.cluster_id}",
                hint="workers of two clusters answer at one address, or the address was changed. Check that it "
                "leads to the right cluster, then run the command again",
            )

    def keep_connections(self) -> None:
        """From now on a client leaves its connections to the next one; `close` ends them."""
        self.idle = []

    def take_idle(self, since: float) -> IdleConnections | None:
        """Connections that were left after `since`; older ones are closed."""
        while self.idle:
            try:
                left = self.idle.pop()
            except IndexError:  # another thread took them
                break
            if left.since >= since:
                return left
            left.http.close()
        return None

    def close(self) -> None:
        for each in self.idle or ():
            each.http.close()
        self.idle = None

    @property
    def masked(self) -> str:
        return self if self._credentials is None else self.replace("://", f"://{HIDDEN}@", 1)

    @property
    def needs_confirmation(self) -> bool:
        """Whether credentials would be shown to a worker that the user did not name."""
        return self.named_by is not None and not self.identity.is_anonymous

    def require_named(self) -> None:
        """Raises Refused where a password or a certificate would be shown to a worker that the user did not name."""
        if self.needs_confirmation:
            raise Refused(
                f"the worker {self} is named by {self.named_by} and not by you: no credentials are shown to it",
                hint=f"if this is the right address, give --connect-url {self}",
            )

    def confirm(self) -> None:
        self.named_by = None

    @property
    def identity(self) -> RestIdentity:
        return RestIdentity(None if self._properties is None else self._properties(), self._credentials)

    def against(self, _address: str) -> str | None:
        """Never an objection to an IP address: the user named the host."""
        return None


class DiscoveredUrl(WorkerUrl):
    """The address of a worker that only the Connect group names: any client that may join the group chooses it.

    So it gets only GET requests, without a body, a password or a certificate, and no redirect from it is followed
    (RestClient refuses). is_here: the brokers are on the loopback address, so the worker may be there, too. Each
    connection is judged by its IP address: eosctl never connects to other internal addresses.
    """

    __slots__ = ("is_here",)

    is_here: bool

    @classmethod
    def of(
        cls, url: str, properties: Callable[[], ClientProperties], requests: RequestLog | None, *, is_here: bool
    ) -> Self:
        """The address that a member advertises; UsageError if it is none, or contains a user."""
        if "@" in url:
            raise UsageError("it advertises an address with a user in it")
        made = cls(url, properties, requests=requests)
        made.is_here = is_here
        return made

    @property
    def identity(self) -> RestIdentity:
        """The user's truststore, and nothing that shows who the user is."""
        given = super().identity.properties
        return RestIdentity(None if given is None else _without_secrets(given))

    def against(self, address: str) -> str | None:
        """Why this IP address is forbidden; None if it is allowed."""
        kind = internal_kind(address)
        if kind == "loopback":
            return None if self.is_here else "a loopback address leads every host to itself"
        return None if kind is None else f"a {kind} address is no address of a Connect worker"


def _without_secrets(properties: ClientProperties) -> ClientProperties:
    kept = {key: each for key, each in properties.properties.items() if _SHOWN_KEY.search(key) is None}
    return replace(properties, properties=kept)
