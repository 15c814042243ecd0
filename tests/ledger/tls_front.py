"""A front of a PostgreSQL server that speaks TLS: the server of the tests is built without."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from certificates import Authority

REQUEST_BYTES = 8
"""Of libpq's SSLRequest."""


@contextmanager
def tls_front(port: int, host: str, directory: Path) -> Iterator[tuple[int, Path]]:
    """A port that leads to the server's over TLS, with a certificate for the host, and the file of its authority."""
    authority = Authority()
    holder, root, own = authority.issue("database", host), directory / "root.pem", directory / "own.pem"
    root.write_text(authority.root_pem)
    own.write_text(holder.key_pem() + holder.chain_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_accept, args=(server, context, port), daemon=True).start()
        try:
            yield server.getsockname()[1], root
        finally:
            server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError):
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_serve, args=(peer, context, port), daemon=True).start()


def _serve(peer: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError), peer, socket.create_connection(("127.0.0.1", port)) as onward:
        peer.recv(REQUEST_BYTES)
        peer.sendall(b"S")
        with context.wrap_socket(peer, server_side=True) as secured:
            while _copied(secured, onward):
                pass


def _copied(secured: ssl.SSLSocket, onward: socket.socket) -> bool:
    """Copies available bytes in both directions; True while both sides are open. One thread: OpenSSL requires it."""
    readable = [secured] if secured.pending() else select.select([secured, onward], [], [])[0]
    for origin in readable:
        piece = origin.recv(1 << 16)
        (onward if origin is secured else secured).sendall(piece)
        if not piece:
            return False
    return True
