"""Java client properties as kafka-python takes them."""

import logging
import socket
import ssl
import sys
from collections.abc import Callable
from io import BytesIO
from time import monotonic
from typing import Any, Final

import kafka.net.connection
import kafka.net.selector
import kafka.protocol.parser
from kafka.errors import CorrelationIdError, KafkaConnectionError, KafkaProtocolError
from kafka.net.inet import KafkaNetSocket, create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.schemas.fields.struct import StructField

from eosctl.clients.deadline import in_ascii, look_up
from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties, is_broker_address
from eosctl.version import __version__

# Large answers straight from the socket into their frame: kafka-python (3.0.12) would copy every byte five times.
#
# 1. Between two answers the size of the next one is read first. A large one gets a frame that an earlier one has left
#    behind, if there is one: a new one would have to be filled with zeros. Of others pieces of at most PIECE bytes are
#    read, and handed on.
# 2. Of a large answer all bytes but the last are read into the frame that waits for them. The last one goes the usual
#    way, with what follows it, so that the library finds the answer complete.
# 3. The library decodes a view of the frame, and large fields, such as the records of a Fetch, are views too.
# 4. The size field of an answer is not trusted: its frame grows as bytes arrive. Who has not answered to the login yet
#    may send BEFORE_LOGIN bytes at most, as brokers limit clients (sasl.server.max.receive.size), others MOST_BYTES.
#
# These use private names of the library, as clients.kafka_connections does.


BEFORE_LOGIN: Final = 1 << 19
MOST_BYTES: Final = 1 << 28
PIECE: Final = 1 << 12
LARGE: Final = 1 << 16
AT_ONCE: Final = 1 << 21

AT_FIRST: Final = 1 << 20
KEPT_FRAMES: Final = 3
MOST_KEPT: Final = 1 << 24
SIZE_BYTES: Final = 4

Received = tuple[bytes, Exception | None]


class LargeFrame(KafkaBytes):  # type: ignore[misc]  # the library is untyped
    """A frame that is decoded where it lies. To the library it has all its bytes at once; it grows as they arrive."""

    def __init__(self, size: int) -> None:
        super().__init__(min(size, AT_FIRST))
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def room(self) -> int:
        return bytearray.__len__(self)

    def grow(self) -> None:
        self += bytes(min(self.room, self.size - self.room))

    def read(self, nbytes: int | None = None) -> bytes | memoryview:
        if nbytes is not None:
            return super().read(nbytes)  # type: ignore[no-any-return]  # the library is untyped
        start = self.tell()
        self.seek(len(self))
        return memoryview(self).toreadonly()[start:]


kafka.protocol.parser.KafkaBytes = LargeFrame
"""The frame of every answer: the library would fill as many bytes with zeros as any peer says that it will send."""


class _Frames:
    def __init__(self) -> None:
        self._kept: list[LargeFrame] = []

    def take(self, size: int) -> LargeFrame:
        for number, frame in enumerate(self._kept):
            if frame.room >= size >= frame.room // 2 and _is_unseen(frame):
                del self._kept[number]
                del frame[size:]
                frame.size = size
                break
        else:
            frame = LargeFrame(size)
        frame.seek(0)
        self._kept = [*self._kept, frame][-KEPT_FRAMES:]
        return frame


def _is_unseen(frame: LargeFrame) -> bool:
    """True if there is no view of the frame: Python forbids changing the length of an array with a view."""
    try:
        frame.append(0)
    except BufferError:
        return False
    return True


def receiver(transport: Any) -> Callable[[], Received]:  # noqa: ANN401  # untyped library
    """The function that reads from the transport's socket: bytes for the library's parser, or the final error of the
    connection.

    Bytes before an error are passed on before the error.
    """
    sock = transport._sock
    frames = _Frames()

    def receive() -> Received:
        begun = b""
        try:
            connection = transport._protocol
            parser = None if connection is None else connection.parser
            if parser is not None:
                parser._max_frame_size = MOST_BYTES if connection.connected else BEFORE_LOGIN
            if parser is not None and not parser._receiving and not parser._header.tell():
                begun = sock.recv(SIZE_BYTES)
                if _begin_large(parser, begun, frames):
                    begun = b""
            frame = None if parser is None else _large_frame(parser)
            if frame is not None:
                _fill(sock, frame)
            data, error = _piece(sock)
        except (BlockingIOError, InterruptedError):
            return begun, None
        except OSError as error:
            waits = isinstance(error, (ssl.SSLWantReadError, ssl.SSLWantWriteError))
            return begun, None if waits else KafkaConnectionError(error)
        return begun + data, error

    return receive


def _begin_large(parser: Any, size: bytes, frames: _Frames) -> bool:  # noqa: ANN401  # untyped library
    """Have the parser wait for a large answer, if it is one by its size: as it does itself, in a frame of ours."""
    most = min(MOST_KEPT, parser._max_frame_size)
    if len(size) < SIZE_BYTES or not LARGE <= int.from_bytes(size, "big", signed=True) <= most:
        return False
    parser._rbuffer = frames.take(int.from_bytes(size, "big"))
    parser._receiving = True
    _prepare(parser)
    return True


def _prepare(parser: Any) -> None:  # noqa: ANN401  # untyped library
    if parser.in_flight_requests:
        _decode_in_place(parser.in_flight_requests[0].get_response_class())


def _large_frame(parser: Any) -> LargeFrame | None:  # noqa: ANN401  # untyped library
    if not parser._receiving or len(parser._rbuffer) < LARGE:
        return None
    _prepare(parser)
    frame: LargeFrame = parser._rbuffer
    return frame


def _decode_in_place(answer: Any) -> None:  # noqa: ANN401  # untyped library
    """Have the library's generated decoder of this answer copy small fields only: it calls `bytes` on each."""
    _decoder_of(answer, _compiled_decoder).__globals__["bytes"] = _bytes_or_view


def _decoder_of(answer: Any, made: Callable[..., Any]) -> Any:  # noqa: ANN401  # untyped library
    version = answer._class_version
    flexible = answer.flexible_version_q(version)
    return made(answer._struct, version, compact=flexible, tagged=flexible, data_class=answer[None])


def _bytes_or_view(field: memoryview) -> bytes | memoryview:
    return field if len(field) >= LARGE else bytes(field)


def _fill(sock: Any, frame: LargeFrame) -> None:  # noqa: ANN401  # untyped library
    """Read on until one byte is missing; raises as recv does where nothing more has come."""
    while (begin := frame.tell()) < len(frame) - 1:
        if begin >= frame.room:
            frame.grow()
        with memoryview(frame) as view:
            try:
                count = sock.recv_into(view[begin : len(frame) - 1])
            except BlockingIOError:
                _wake_at(sock, len(frame) - 1 - begin)
                raise
        if not count:
            return
        frame.seek(begin + count)
    _wake_at(sock, 1)


def _wake_at(sock: Any, size: int) -> None:  # noqa: ANN401  # untyped library
    """Let a poll report the socket once this many bytes are there, AT_ONCE at most: each poll costs as much as 100
    kB."""
    if sys.platform == "linux" and not _has_tls(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(size, AT_ONCE))


def _has_tls(sock: Any) -> bool:  # noqa: ANN401  # untyped library
    """Whether it is an ssl.SSLSocket, without that module, which takes 10 ms to load."""
    return hasattr(sock, "pending")


def _piece(sock: Any) -> Received:  # noqa: ANN401  # untyped library
    data = sock.recv(PIECE)
    if not data:
        return b"", KafkaConnectionError("socket disconnected")
    # A poll does not show what TLS has decrypted already.
    while _has_tls(sock) and sock.pending():
        data += sock.recv(PIECE)
    return data, None


# To generate and compile the code for a kind and version of message takes 1 to 3 ms, as long as 4 kB field by field.


BY_FIELDS: Final = 1 << 12
"""Bytes of one kind and version of message in one direction, until its code is compiled."""
FETCHED: Final = 16
"""As many bytes of a Fetch count as one: the batches of a partition are one field."""

_compiled_encoder = StructField.compiled_encode_into
_compiled_decoder = StructField.compiled_decode_from


def _encoder(struct: Any, version: int, compact: bool = False, tagged: bool = False) -> Callable[[Any, Any], None]:  # noqa: ANN401  # untyped library
    """The library's encoder field by field, later the compiled one."""
    sizes, key = _sizes_by_fields(struct), ("encoded", version, compact, tagged)
    if sizes.get(key, 0) >= BY_FIELDS:
        return _compiled_encoder(struct, version, compact, tagged)  # type: ignore[no-any-return]  # untyped library

    def encode(item: Any, out: Any) -> None:  # noqa: ANN401  # untyped library
        begin = out.pos
        struct.encode_into(item, out, version=version, compact=compact, tagged=tagged)
        sizes[key] = sizes.get(key, 0) + out.pos - begin

    return encode


def _decoder(
    struct: Any,  # noqa: ANN401  # untyped library
    version: int,
    compact: bool = False,
    tagged: bool = False,
    data_class: Any = None,  # noqa: ANN401  # untyped library
) -> Callable[[Any, int], tuple[Any, int]]:
    """Likewise. What it decodes has no views of the bytes that were given, and is not cut."""
    sizes, key = _sizes_by_fields(struct), ("decoded", version, compact, tagged)

    def decode(data: Any, begin: int) -> tuple[Any, int]:  # noqa: ANN401  # untyped library
        given = len(data) - begin
        size = sizes[key] = sizes.get(key, 0) + (given // FETCHED if struct.name == "fetch_response" else given)
        if size > BY_FIELDS or given >= LARGE:
            return _compiled_decoder(struct, version, compact, tagged, data_class)(data, begin)  # type: ignore[no-any-return]  # untyped library
        rest = BytesIO(data[begin:])
        item = struct.decode(rest, version=version, compact=compact, tagged=tagged, data_class=data_class)
        return item, begin + rest.tell()

    return decode


def _sizes_by_fields(struct: Any) -> dict[tuple[str, int, bool, bool], int]:  # noqa: ANN401  # untyped library
    sizes: dict[tuple[str, int, bool, bool], int] = struct.__dict__.setdefault("sizes_by_fields", {})
    return sizes


StructField.compiled_encode_into = _encoder
StructField.compiled_decode_from = _decoder


# kafka-python's connections, fixed where a failing one would lose something (3.0.12).
#
# 1. The socket of a connection that cannot be made, or whose handshake fails, is closed and not left to the collector.
# 2. Bytes that a broker sent before it closed the connection are delivered: they contain the reason of a SASL failure.
# 3. Large answers are read as clients.large_frames says.
# 4. An answer that cannot be decoded closes the connection, whatever its decoder raises, and the request is named. The
#    library's decoder lets some exceptions pass, after which nothing is answered, and takes a last text that is cut.
# 5. To look up a broker's name takes no longer than to connect may.
# 6. A request is sent at once: the library would wait for two turns of its loop until it tries.
#
# These override private names of the library, so look here first when its version changes. Imports kafka at once:
# import this module where a connection is made, and not before.


CLOSING_SCHEME: Final = "eosctl"
CLOSING_PROXY: Final = f"{CLOSING_SCHEME}://socket"
"""The library picks the class of a socket by the scheme of its proxy URL."""


class DamagedResponse(KafkaProtocolError):  # type: ignore[misc]  # the library is untyped
    """An answer that is none to its request."""


class WholeAnswers(KafkaProtocol):  # type: ignore[misc]  # the library is untyped
    def _process_response(self, read_buffer: Any) -> Any:  # noqa: ANN401  # untyped library
        header = self.in_flight_requests[0] if self.in_flight_requests else None
        # SASL without frames has no header, and ApiVersions may be answered in another version than it was asked in.
        if not isinstance(header, RequestHeader) or header.request_api_key == ApiVersionsResponse.API_KEY:
            return super()._process_response(read_buffer)
        kind = header.get_response_class()
        self.in_flight_requests.popleft()
        what = f"{kind.name.removesuffix('Response')} (version {kind._class_version}) with a damaged response"
        try:
            answered = kind.parse_header(read_buffer).correlation_id
            response, end = _decoder_of(kind, _decoder)(data := memoryview(read_buffer.read()), 0)
        except Exception as error:
            raise DamagedResponse(f"{what}: its bytes cannot be decoded") from error
        if answered != header.correlation_id:
            raise CorrelationIdError(f"Correlation IDs do not match: sent {header.correlation_id}, recv {answered}")
        if end > len(data):
            raise DamagedResponse(f"{what}: it is cut")
        return answered, response


kafka.net.connection.KafkaProtocol = WholeAnswers


class PromptTransport(KafkaTCPTransport):  # type: ignore[misc]  # the library is untyped
    def write(self, data: bytes) -> None:
        if self._writing or self._closed or not self._write:
            super().write(data)
            return
        try:
            sent = self._sock.send(data)
        except OSError:  # the library's loop meets it again, and ends the connection
            sent = 0
        self.last_write = monotonic()
        if sent < len(data):
            super().write(memoryview(data)[sent:])


def _no_trace(*_: object) -> None:
    """The library's loop has twenty lines for its own log in each turn."""


kafka.net.selector.log_trace = _no_trace


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]  # the library is untyped
    SCHEMES = (CLOSING_SCHEME,)

    def dns_lookup(self, host: str, port: int, raise_error: bool = False) -> Any:  # noqa: ANN401  # untyped library
        return super().dns_lookup(in_ascii(host), port, raise_error)

    async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401  # untyped library
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


def _require_name(host: str, port: int, end: float) -> None:
    """Raises where the name leads nowhere by then (time.monotonic). The library looks it up once more, in no time."""
    try:
        look_up(host, port, end)
    except OSError as error:
        raise KafkaConnectionError("DNS Resolution failure") from error


class ClosingManager(KafkaConnectionManager):  # type: ignore[misc]  # the library is untyped
    """A connection manager whose transports close on a failed handshake and hand on a broker's last words."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401  # untyped library
        options, proxy_url = self.config["socket_options"], self.config["proxy_url"]
        if timeout_at is not None:
            _require_name(node.host, node.port, timeout_at)
        sock = await create_connection(self._net, node.host, node.port, options, proxy_url, timeout_at)
        if self.ssl_enabled:
            context = self.config["ssl_context"]
            transport = KafkaSSLTransport(self._net, sock, host=node.host, ssl_context=context)
        else:
            transport = PromptTransport(self._net, sock, host=node.host)
        try:
            await transport.handshake()
        except BaseException as error:
            transport._sock.close()
            if isinstance(error, Exception):
                raise KafkaConnectionError(f"Handshake failed: {error}") from error
            raise
        transport._sock_recv = receiver(transport)
        return transport


LONGEST_BACKOFF_MS: Final = 1000
UNBOUNDED: Final = 1 << 20


def connection_manager(net: Any, properties: ClientProperties) -> ClosingManager:  # noqa: ANN401  # untyped library
    """kafka-python's connection manager on the loop `net`, for the cluster and identity of `properties`."""
    return ClosingManager(
        net,
        client_id=f"eosctl/{__version__}",
        proxy_url=CLOSING_PROXY,
        receive_message_max_bytes=BEFORE_LOGIN,
        max_in_flight_requests_per_connection=UNBOUNDED,
        reconnect_backoff_max_ms=LONGEST_BACKOFF_MS,
        **configuration(properties),
    )


def configuration(properties: ClientProperties) -> dict[str, object]:
    """Arguments for kafka-python's connection manager: bootstrap servers, protocol, SASL, TLS context.

    Raises ConfigError naming the property that is missing or cannot be used, Unsupported for a
    store that cannot be read.
    """
    # Without a handler of its own the library's log would go to stderr, between the lines of the result.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    if not properties.bootstrap_servers:
        raise ConfigError("no bootstrap server is given", hint="use -b HOST:PORT or bootstrap.servers in the file")
    for server in properties.bootstrap_servers:  # a connector's config was not checked before
        if not is_broker_address(server):
            raise ConfigError(f"{server!r} of {properties.named_by or 'bootstrap.servers'} is not HOST:PORT")
    settings: dict[str, object] = {
        "bootstrap_servers": [server.rpartition("://")[2] for server in properties.bootstrap_servers],
        "security_protocol": properties.security_protocol.value,
    }
    if properties.security_protocol.uses_sasl:
        settings |= _sasl(properties)
    if properties.security_protocol.uses_tls:
        from eosctl.clients.tls import ssl_context

        settings["ssl_context"] = ssl_context(properties)
    return settings


def _sasl(properties: ClientProperties) -> dict[str, object]:
    sasl = properties.sasl
    if sasl is None:
        raise ConfigError("security.protocol asks for SASL but sasl.jaas.config is missing")
    settings: dict[str, object] = {"sasl_mechanism": sasl.mechanism}
    if sasl.mechanism == "GSSAPI":
        from eosctl.clients import kerberos

        return settings | {"sasl_kerberos_service_name": kerberos.kerberos_service(properties)}
    if sasl.mechanism == "OAUTHBEARER":
        return settings | {"sasl_oauth_token_provider": _token_provider(properties)}
    if sasl.mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        raise ConfigError(
            f"SASL mechanism {sasl.mechanism} is not supported", hint="use PLAIN, SCRAM, OAUTHBEARER or GSSAPI"
        )
    if sasl.username is None or sasl.password is None:
        raise ConfigError(f"{sasl.mechanism} needs username and password in sasl.jaas.config")
    return settings | {"sasl_plain_username": sasl.username, "sasl_plain_password": sasl.password}


def _token_provider(properties: ClientProperties) -> object:
    from kafka.net.sasl.oauth import AbstractTokenProvider

    from eosctl.clients import oauthbearer

    source = oauthbearer.TokenSource(properties)
    # A failed token request is raised here, with its own error, instead of on the connection.
    source.token()

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # the library is untyped
        def token(self) -> str:
            return source.token().text

        def extensions(self) -> dict[str, str]:
            return source.extensions

    return Provider()
