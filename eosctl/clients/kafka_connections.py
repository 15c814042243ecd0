"""kafka-python's connections, fixed where a failing one would lose something (3.0.12).

1. The socket of a connection that cannot be made, or whose handshake fails, is closed and not left to the collector.
2. What a broker sent before it closed the connection is delivered: it says why SASL failed.
3. Large answers are read as clients.large_frames says.
4. An answer that cannot be decoded closes the connection, whatever its decoder raises, and the request is named. The
   library's decoder lets some exceptions pass, after which nothing is answered, and takes a last text that is cut.
5. To look up a broker's name takes no longer than to connect may.

These override private names of the library, so look here first when its version changes. Imports kafka at once: import
this module where a connection is made, and not before.
"""

import socket
from typing import Any, Final

import kafka.net.connection
from kafka.errors import CorrelationIdError, KafkaConnectionError, KafkaProtocolError
from kafka.net.inet import KafkaNetSocket, create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.parser import KafkaProtocol

from eosctl.clients.deadline import done_by
from eosctl.clients.large_frames import decoder_of, receiver

CLOSING_SCHEME: Final = "eosctl"
CLOSING_PROXY: Final = f"{CLOSING_SCHEME}://socket"
"""The library picks the class of a socket by the scheme of its proxy URL."""


class DamagedResponse(KafkaProtocolError):  # type: ignore[misc]  # the library is untyped
    """An answer that is none to its request."""


class WholeAnswers(KafkaProtocol):  # type: ignore[misc]  # the library is untyped
    """Decodes an answer from all of its bytes, or raises DamagedResponse."""

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
            response, end = decoder_of(kind)(data := memoryview(read_buffer.read()), 0)
        except Exception as error:
            raise DamagedResponse(f"{what}: its bytes cannot be decoded") from error
        if answered != header.correlation_id:
            raise CorrelationIdError(f"Correlation IDs do not match: sent {header.correlation_id}, recv {answered}")
        if end > len(data):
            raise DamagedResponse(f"{what}: it is cut")
        return answered, response


kafka.net.connection.KafkaProtocol = WholeAnswers


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]  # the library is untyped
    """A socket that is closed when it cannot connect."""

    SCHEMES = (CLOSING_SCHEME,)

    async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401  # untyped library
        """The connected socket."""
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


def _require_name(host: str, port: int, end: float) -> None:
    """Raises where the name leads nowhere by then (time.monotonic). The library looks it up once more, in no time."""
    try:
        done_by(end, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
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
            transport = KafkaTCPTransport(self._net, sock, host=node.host)
        try:
            await transport.handshake()
        except BaseException as error:
            transport._sock.close()
            if isinstance(error, Exception):
                raise KafkaConnectionError(f"Handshake failed: {error}") from error
            raise
        transport._sock_recv = receiver(transport)
        return transport
