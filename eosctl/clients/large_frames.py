"""Large answers straight from the socket into their frame: kafka-python (3.0.12) would copy every byte five times.

1. Between two answers the size of the next one is read first. A large one gets a frame that an earlier one has left
   behind, if there is one: a new one would have to be filled with zeros. Of others pieces of at most PIECE bytes are
   read, and handed on.
2. Of a large answer all bytes but the last are read into the frame that waits for them. The last one goes the usual
   way, with what follows it, so that the library finds the answer complete.
3. The library decodes a view of the frame, and large fields, such as the records of a Fetch, are views too.
4. What an answer says of its size is not believed: its frame grows as bytes arrive. Who has not answered to the login
   yet may send BEFORE_LOGIN bytes at most, as brokers limit clients (sasl.server.max.receive.size), others MOST_BYTES.

These use private names of the library, as clients.kafka_connections does.
"""

import socket
import ssl
import sys
from collections.abc import Callable
from typing import Any, Final

import kafka.protocol.parser
from kafka.errors import KafkaConnectionError
from kafka.protocol.frame import KafkaBytes

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

_NOTHING_YET: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class LargeFrame(KafkaBytes):  # type: ignore[misc]  # the library is untyped
    """A frame that is decoded where it lies. To the library it has all its bytes at once; it grows as they arrive."""

    def __init__(self, size: int) -> None:
        super().__init__(min(size, AT_FIRST))
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def room(self) -> int:
        """How many bytes there is room for now."""
        return bytearray.__len__(self)

    def grow(self) -> None:
        """Make room for as much again, at most for all."""
        self += bytes(min(self.room, self.size - self.room))

    def read(self, nbytes: int | None = None) -> bytes | memoryview:
        """The next `nbytes`; None: a view of all that are left."""
        if nbytes is not None:
            return super().read(nbytes)  # type: ignore[no-any-return]  # the library is untyped
        start = self.tell()
        self.seek(len(self))
        return memoryview(self).toreadonly()[start:]


kafka.protocol.parser.KafkaBytes = LargeFrame
"""The frame of every answer: the library would fill as many bytes with zeros as any peer says that it will send."""


class _Frames:
    """Frames of up to MOST_KEPT bytes, used again once nobody has a view of them any more."""

    def __init__(self) -> None:
        self._kept: list[LargeFrame] = []

    def take(self, size: int) -> LargeFrame:
        """A frame of so many bytes, whatever they are."""
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
    """Whether there is no view of the frame: Python lets nobody change the length of one that is seen."""
    try:
        frame.append(0)
    except BufferError:
        return False
    return True


def receiver(transport: Any) -> Callable[[], Received]:  # noqa: ANN401  # untyped library
    """What reads from the transport's socket: bytes for the library's parser, or the error that ended the connection.

    What came before an error is handed on before the error is.
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
        except _NOTHING_YET:
            return begun, None
        except OSError as error:
            return begun, KafkaConnectionError(error)
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
    """The large answer that the connection is in the middle of."""
    if not parser._receiving or len(parser._rbuffer) < LARGE:
        return None
    _prepare(parser)
    frame: LargeFrame = parser._rbuffer
    return frame


def _decode_in_place(answer: Any) -> None:  # noqa: ANN401  # untyped library
    """Have the library's generated decoder of this answer copy small fields only: it calls `bytes` on each."""
    decoder_of(answer).__globals__["bytes"] = _bytes_or_view


def decoder_of(answer: Any) -> Any:  # noqa: ANN401  # untyped library
    """What makes the answer of bytes and a place in them, and says where it ends."""
    version = answer._class_version
    flexible = answer.flexible_version_q(version)
    return answer._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=answer[None])


def _bytes_or_view(field: memoryview) -> bytes | memoryview:
    return field if len(field) >= LARGE else bytes(field)


def _fill(sock: Any, frame: LargeFrame) -> None:  # noqa: ANN401  # untyped library
    """Read on until one byte is missing; raises one of _NOTHING_YET where nothing more has come."""
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
    """Let a poll show the socket once so many bytes are there, AT_ONCE at most: each poll costs as much as 100 kB."""
    if sys.platform == "linux" and not isinstance(sock, ssl.SSLSocket):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(size, AT_ONCE))


def _piece(sock: Any) -> Received:  # noqa: ANN401  # untyped library
    data = sock.recv(PIECE)
    if not data:
        return b"", KafkaConnectionError("socket disconnected")
    # A poll does not show what TLS has decrypted already.
    while isinstance(sock, ssl.SSLSocket) and sock.pending():
        data += sock.recv(PIECE)
    return data, None
