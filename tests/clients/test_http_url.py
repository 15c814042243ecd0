"""URLs, held against httpx's."""

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eosctl.clients.http_url import HttpUrl, InvalidUrl

CHARACTERS = [chr(code) for code in range(0x180) if chr(code) != "#"] + ["\u2460", "\u3002", "\U0001f600"]
SCHEMES = st.sampled_from(["http", "https", "HTTP", "Https"])
HOSTS = st.one_of(
    st.sampled_from(
        [
            *("worker", "WORKER.example", "10.0.0.1", "256.1.1.1", "1.2.3", "a b", "a%2Fb", "*", "a..b"),
            *("[::1]", "[FE80::1%eth0]", "[v1.a]", "[::zz]", "[", "xn--", "xn--a", "xn--bcher-kva.de", "XN--a"),
            *("b\u00fccher.de", "fa\u00df.de", "\u2460.com"),
        ]
    ),
    st.text([char for char in CHARACTERS if char not in "/?@:"], min_size=1, max_size=6),
)
PORTS = st.sampled_from(["", ":", ":a", ":80", ":443", ":8083", ":65536"])
PIECES = st.lists(
    st.one_of(
        st.sampled_from(["/", ".", "..", "%2F", "%", "%zz", "?", "a", " ", *'`{}|^\\"<']),
        st.sampled_from(CHARACTERS),
    ),
    max_size=8,
).map("".join)
STARTS = ["", "/", "//", "//worker:8083/", "http://worker:8083", "https://other/", "http://me:pw@worker/"]


def theirs(text: str) -> tuple[str, str, int | None, str, str]:
    """The parts as httpx reads them; it takes 80 for http's own port only where the scheme is in small letters."""
    scheme, colon, rest = text.partition("://")
    url = httpx.URL(scheme.lower() + colon + rest)
    try:
        url.host  # noqa: B018  # it is decoded
    except UnicodeError as error:
        raise httpx.InvalidURL(str(error)) from error
    return url.scheme, url.raw_host.decode(), url.port, url.raw_path.decode(), url.netloc.decode()


def ours(url: HttpUrl) -> tuple[str, str, int | None, str, str]:
    return url.scheme, url.host, url.port, url.target, url.netloc


@given(SCHEMES, HOSTS, PORTS, PIECES)
def test_a_url_has_the_parts_that_httpx_reads_in_it(scheme: str, host: str, port: str, path: str) -> None:
    text = f"{scheme}://{host}{port}/{path}"
    try:
        expected = theirs(text)
    except httpx.InvalidURL:
        with pytest.raises(InvalidUrl):
            HttpUrl.of(text)
        return
    assert ours(HttpUrl.of(text)) == expected


@given(st.sampled_from(["", "/", "/connect", "/connect/", "/a%2Fb"]), PIECES)
@example("/connect", "connectors/a%2Fb/status?expand=info")
def test_a_path_is_put_below_the_address_of_a_worker_as_httpx_puts_it(start: str, path: str) -> None:
    base = f"http://worker:8083{start}"
    with httpx.Client(base_url=base, transport=httpx.MockTransport(lambda _: httpx.Response(200))) as http:
        try:
            expected = http.build_request("GET", f"/x{path}").url.raw_path.decode()
        except httpx.InvalidURL:
            with pytest.raises(InvalidUrl):
                HttpUrl.of(base).under(f"/x{path}")
            return
    assert HttpUrl.of(base).under(f"/x{path}").target == expected


@given(st.sampled_from(STARTS), PIECES)
def test_a_location_leads_where_httpx_would_go_or_is_refused(start: str, path: str) -> None:
    base = "http://worker:8083/connectors/a?b=c"
    try:
        found = HttpUrl.of(base).join(start + path)
    except InvalidUrl:
        return
    onward = httpx.URL(base).join(start + path)
    assert (found.scheme, found.netloc.lower()) == (onward.scheme, onward.netloc.decode().lower())
    assert found.target == onward.raw_path.decode()
    assert (found.userinfo != "") == (onward.userinfo != b"")


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "/b"),
        ("b", "/connectors/b"),
        ("?d=e", "/connectors/a?d=e"),
        ("../b%2Fc", "/b%2Fc"),
        ("", "/connectors/a?c"),
    ],
)
def test_a_location_is_relative_to_the_redirected_request(location: str, target: str) -> None:
    assert HttpUrl.of("http://worker:8083/connectors/a?c").join(location).target == target


@pytest.mark.parametrize("location", ["http://[", "//[::zz]/", "http://h:a/", "\x01", "/a\tb", "http://xn--/"])
def test_a_location_that_is_no_url_is_refused(location: str) -> None:
    with pytest.raises(InvalidUrl):
        HttpUrl.of("http://worker:8083/").join(location)


@pytest.mark.parametrize("text", ["http://h\ud800/", "http://h/\ud800", "http://h/" + "a" * 65_536])
def test_text_that_cannot_be_sent_is_no_url(text: str) -> None:
    with pytest.raises(InvalidUrl):
        HttpUrl.of(text)
