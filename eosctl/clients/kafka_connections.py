"""kafka-python's connections, fixed where a failing one would lose something (3.0.12).

1. The socket of a connection that cannot be made, or whose handshake fails, is closed and not left to the collector.
2. What a broker sent before it closed the connection is delivered: it says why SASL failed.
3. Large answers are read as clients.large_frames says.

These override private names of the library, so look here first when its version changes. Imports kafka at once: import
this module where a connection is made, and not before.
"""

from typing import Any, Final

from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket, create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from eosctl.clients.large_frames import receiver

CLOSING_SCHEME: Final = "eosctl"
CLOSING_PROXY: Final = f"{CLOSING_SCHEME}://socket"
"""The library picks the class of a socket by the scheme of its proxy URL."""


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


class ClosingManager(KafkaConnectionManager):  # type: ignore[misc]  # the library is untyped
    """A connection manager whose transports close on a failed handshake and hand on a broker's last words."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401  # untyped library
        options, proxy_url = self.config["socket_options"], self.config["proxy_url"]
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
