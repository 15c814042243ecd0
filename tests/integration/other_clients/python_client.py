"""A transactional producer and a read_committed consumer of librdkafka or aiokafka, told by lines what to do.

Arguments: librdkafka or aiokafka, bootstrap servers, topic, transactional ID, transaction timeout in ms. Each line of
standard input is answered by `ok`, with a count where records were read, or by `refused`.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

LAST = b"last"


class Librdkafka:
    def __init__(self, servers: str, topic: str, name: str, timeout_ms: int) -> None:
        from confluent_kafka import Producer

        settings = {"bootstrap.servers": servers, "client.id": "librdkafka-client", "log_level": 0}
        self._settings, self._topic = settings, topic
        self._producer = Producer({**settings, "transactional.id": name, "transaction.timeout.ms": timeout_ms})

    async def start(self) -> None:
        self._producer.init_transactions(60)

    async def begin(self) -> None:
        self._producer.begin_transaction()

    async def send(self, value: bytes) -> None:
        self._producer.produce(self._topic, value)
        assert self._producer.flush(60) == 0

    async def commit(self) -> None:
        self._producer.commit_transaction(60)

    async def abort(self) -> None:
        self._producer.abort_transaction(60)

    async def subscribe(self, group: str) -> None:
        from confluent_kafka import Consumer

        settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self._consumer = Consumer({**self._settings, **settings, "isolation.level": "read_committed"})
        self._consumer.subscribe([self._topic])

    async def next_value(self) -> bytes:
        while (message := self._consumer.poll(60)) is None or message.error() is not None:
            assert message is not None, "no record came"
        self._message = message
        return bytes(message.value() or b"")

    async def commit_offset(self) -> None:
        self._consumer.commit(self._message, asynchronous=False)


class Aiokafka:
    def __init__(self, servers: str, topic: str, name: str, timeout_ms: int) -> None:
        self._servers, self._topic, self._name, self._timeout_ms = servers, topic, name, timeout_ms

    async def start(self) -> None:
        from aiokafka import AIOKafkaProducer

        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._servers,
            client_id="aiokafka-client",
            transactional_id=self._name,
            transaction_timeout_ms=self._timeout_ms,
        )
        await self._producer.start()

    async def begin(self) -> None:
        await self._producer.begin_transaction()

    async def send(self, value: bytes) -> None:
        await self._producer.send_and_wait(self._topic, value)

    async def commit(self) -> None:
        await self._producer.commit_transaction()

    async def abort(self) -> None:
        await self._producer.abort_transaction()

    async def subscribe(self, group: str) -> None:
        from aiokafka import AIOKafkaConsumer

        self._consumer = AIOKafkaConsumer(
            self._topic,
            bootstrap_servers=self._servers,
            client_id="aiokafka-client",
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        await self._consumer.start()

    async def next_value(self) -> bytes:
        return bytes((await self._consumer.getone()).value or b"")

    async def commit_offset(self) -> None:
        await self._consumer.commit()


class Client:
    def __init__(self, library: Librdkafka | Aiokafka) -> None:
        self._library = library
        self._begun = False

    async def write(self, count: str) -> str:
        await self._write([b"value"] * int(count))
        return "ok"

    async def last(self) -> str:
        await self._write([LAST])
        return await self.commit()

    async def _write(self, values: list[bytes]) -> None:
        if not self._begun:
            await self._library.begin()
            self._begun = True
        for value in values:
            await self._library.send(value)

    async def commit(self) -> str:
        await self._library.commit()
        self._begun = False
        return "ok"

    async def abort(self) -> str:
        await self._library.abort()
        self._begun = False
        return "ok"

    async def read(self, group: str, count: str) -> str:
        await self._library.subscribe(group)
        for _ in range(int(count)):
            await self._library.next_value()
        await self._library.commit_offset()
        return "ok"

    async def rest(self) -> str:
        count = 0
        while await self._library.next_value() != LAST:
            count += 1
        return f"ok {count}"


async def main(library: str, servers: str, topic: str, name: str, timeout_ms: str) -> None:
    kind = {"librdkafka": Librdkafka, "aiokafka": Aiokafka}[library]
    client = Client(made := kind(servers, topic, name, int(timeout_ms)))

    async def starts() -> str:
        await made.start()
        return "ok"

    commands: dict[str, Callable[..., Awaitable[str]]] = {
        each.__name__: each
        for each in (client.write, client.last, client.commit, client.abort, client.read, client.rest)
    }
    if name:
        await answered(starts)
    else:
        say("ok")
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        word, *arguments = line.split()
        await answered(commands[word], *arguments)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def answered(command: Callable[..., Awaitable[str]], *arguments: str) -> None:
    try:
        say(await command(*arguments))
    except Exception as error:  # noqa: BLE001  # whatever a library raises is its answer
        say(f"refused {type(error).__name__} {error}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
