"""The address of an HTTP request, in the ASCII that is sent (RFC 3986)."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Self
from urllib.parse import quote, urljoin

from msgspec import Struct

from eosctl.late_pattern import late_pattern

MOST_CHARACTERS: Final = 1 << 16
PORTS: Final = {"http": 80, "https": 443}
_PARTS: Final = late_pattern(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?")
_PLACE: Final = late_pattern(r"(\[.*\]|[^:]*):?(.*)")
_IPV4: Final = late_pattern(r"\d+(\.\d+){3}", re.ASCII)
# What WHATWG leaves as it is; a percent sign too: the text may have escapes, as the name of a connector.
_HOST_SAFE: Final = "!$&'()*+,;=\"`{}%|\\"
_PATH_SAFE: Final = "!$%&'()*+,/:;=@[\\]^|"
_QUERY_SAFE: Final = _PATH_SAFE + "?`{}"


class InvalidUrl(ValueError):
    """The text is no URL; why, without the text."""


class HttpUrl(Struct, frozen=True):
    """host is in lower case, IDNA where it is not ASCII, and without the brackets of IPv6; target is path and query.

    port is None for the scheme's own. Whether the scheme is http or https is not decided here.
    """

    scheme: str
    userinfo: str
    host: str
    port: int | None
    target: str

    @classmethod
    def of(cls, text: str) -> Self:
        """The URL. Raises InvalidUrl, also for a host that begins as IDNA's do, and is none."""
        require_printable(text)
        scheme, authority, path, query = _matched(_PARTS, text)
        userinfo, _, place = (authority or "").rpartition("@")
        host, port = _matched(_PLACE, place)
        if port and not port.isdecimal():
            raise InvalidUrl("its port is no number")
        scheme = (scheme or "").lower()
        try:
            target = quote(_without_dots(path) or "/", _PATH_SAFE) + quote(query or "", _QUERY_SAFE)
            host = _host(host)
        except UnicodeError as error:
            raise InvalidUrl("its host or path has characters that no URL has") from error
        own = None if not port or int(port) == PORTS.get(scheme) else int(port)
        return cls(scheme, userinfo, host, own, target)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def netloc(self) -> str:
        """Host and port, as the header Host names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int | None]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    def under(self, path: str) -> Self:
        """The URL of a path below this one, such as a worker's REST interface behind a proxy."""
        return self.of(f"{self.scheme}://{self.netloc}{self.target.removesuffix('/')}/{path.lstrip('/')}")

    def join(self, location: str) -> Self:
        """The URL that a Location means on an answer from this one; InvalidUrl if it is none."""
        require_printable(location)
        try:
            return self.of(urljoin(str(self), location.replace(" ", "%20")))  # it strips blanks
        except ValueError as error:
            raise InvalidUrl(str(error)) from error


def require_printable(text: str) -> None:
    """Raises InvalidUrl for a control character of ASCII, and for a text that is too long."""
    if len(text) > MOST_CHARACTERS or any(char < " " or char == "\x7f" for char in text):
        raise InvalidUrl("it is too long, or has a control character")


def _matched(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = pattern.match(text)
    assert found is not None  # each part may be empty
    return found.groups()


def _host(text: str) -> str:
    if _IPV4.fullmatch(text):
        return _address(IPv4Address, text)
    if text.startswith("[") and text.endswith("]"):
        return _address(IPv6Address, text[1:-1])
    if text.isascii() and not text.lower().startswith("xn--"):
        return quote(text.lower(), _HOST_SAFE)
    import idna

    if not text.isascii():
        return idna.encode(text.lower()).decode("ascii")
    idna.decode(text)
    return quote(text.lower(), _HOST_SAFE)


def _address(kind: type[IPv4Address] | type[IPv6Address], text: str) -> str:
    try:
        kind(text)
    except ValueError as error:
        raise InvalidUrl("its host is no IP address") from error
    return text


def _without_dots(path: str) -> str:
    """The path without the segments `.` and `..` (RFC 3986, 5.2.4)."""
    segments = path.split("/")
    if "." not in segments and ".." not in segments:
        return path
    kept: list[str] = []
    for segment in segments:
        if segment not in {".", ".."}:
            kept.append(segment)
        elif segment == ".." and kept not in ([], [""]):
            kept.pop()
    return "/".join(kept)
