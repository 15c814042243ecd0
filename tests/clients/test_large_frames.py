"""Answers of any size arrive whole, however the network cuts them."""

import random
import select
import socket
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import KafkaConnectionError
from kafka.protocol.parser import KafkaProtocol

from eosctl.clients.kafka_python import LARGE, _Frames, receiver
from tests.waiting import eventually


class _Parser(KafkaProtocol):  # type: ignore[misc]  # the library is untyped
    def _process_response(self, read_buffer):
        return bytes(read_buffer.read(4)) + bytes(read_buffer.read())


def _received(pieces: list[bytes]) -> tuple[list[bytes], Exception | None]:
    """What the parser makes of bytes sent piece by piece, and the error at their end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        parser = _Parser()
        receive = receiver(SimpleNamespace(_sock=ours, _protocol=SimpleNamespace(parser=parser, connected=True)))
        answers: list[bytes] = []
        error = None
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[theirs.send(rest[: 1 << 15]) :]
                while data := receive()[0]:
                    answers += parser.receive_bytes(data)
        theirs.close()
        while error is None:
            data, error = receive()
            answers += parser.receive_bytes(data)
    return answers, error


SIZES = st.sampled_from([4, 5, 100, 4096, LARGE - 1, LARGE, LARGE + 1, LARGE + 4092, 3 * LARGE])


@given(
    st.lists(SIZES, min_size=1, max_size=4),
    st.lists(st.integers(1, 5000), max_size=6),
    st.binary(min_size=1, max_size=9),
)
def test_answers_arrive_whole_and_in_order(sizes: list[int], cuts: list[int], seed: bytes):
    sent = [random.Random(seed).randbytes(size) for size in sizes]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in sent)
    pieces = []
    for cut in cuts:
        pieces.append(stream[:cut])
        stream = stream[cut:]

    answers, error = _received([*pieces, stream])

    assert answers == sent
    assert isinstance(error, KafkaConnectionError)


def test_a_poll_shows_the_socket_once_the_rest_of_a_large_answer_is_there_and_then_at_each_byte():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        with theirs:
            ours.setblocking(False)
            parser = _Parser()
            receive = receiver(SimpleNamespace(_sock=ours, _protocol=SimpleNamespace(parser=parser, connected=True)))

            def read() -> list[bytes]:
                answers: list[bytes] = []
                while data := receive()[0]:
                    answers += parser.receive_bytes(data)
                return answers

            answer = bytes(2 * LARGE)
            theirs.sendall(len(answer).to_bytes(4, "big") + answer[:LARGE])
            eventually(lambda: read() or len(parser._rbuffer or b"") == len(answer), "the answer has begun")
            eventually(lambda: read() or parser._rbuffer.tell() == LARGE, "its first half was read")
            theirs.sendall(answer[LARGE : LARGE + 1000])
            assert select.select([ours], [], [], 0.2)[0] == []
            theirs.sendall(answer[LARGE + 1000 :])
            assert select.select([ours], [], [], 5)[0] == [ours]
            assert read() == [answer]
            theirs.sendall(b"x")
            assert select.select([ours], [], [], 5)[0] == [ours]


def test_a_frame_is_used_again_once_nobody_has_a_view_of_it():
    frames = _Frames()
    first = frames.take(LARGE)
    place, view = id(first), memoryview(first)[10:20]
    del first

    second = frames.take(LARGE)
    assert id(second) != place
    del second
    view.release()
    del view
    third = frames.take(LARGE - 5)
    assert id(third) == place
    assert len(third) == LARGE - 5
    assert len(frames.take(2 * LARGE)) == 2 * LARGE
