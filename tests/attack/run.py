"""`python -m tests.attack.run 1 100`: this many hostile inputs of each class, of this seed, for whole commands.

Each command runs in a separate fork. The table counts the inputs, the ends of the commands, the longest time, the most
CPU and the most memory. It fails (exit code 1) if a command ends with 70 or by a signal, takes longer than its timeout
and 5 s, takes more than 512 MiB, or lies: its output contradicts its exit code, or it changes a file that it refuses.
"""

import json
import os
import random
import resource
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Final

from confluent_kafka import Producer

from eosctl.cli import run
from eosctl.codecs.plan import encode_journal_head, encode_plan
from eosctl.codecs.record_batches import Codec
from eosctl.errors import EosctlError
from eosctl.executors.apply import Journal
from eosctl.ledger.ledger import open_ledger
from eosctl.model.text import UNSEEN
from eosctl.render.answers.acls import AclFormat
from eosctl.render.console import terminal_of
from eosctl.sandbox.properties import SandboxSpec
from tests.attack.bombs import RECORD, batch, one_record
from tests.attack.damaged_site import (
    ASKED,
    ENDS,
    OF_HEADERS,
    OF_MIRROR,
    Planting,
    any_damage,
    any_planted,
    damaged_site,
    recorded,
)
from tests.attack.false_broker import after_login, false_broker, framed
from tests.attack.group_member import member_of
from tests.attack.hostile_postgresql import CASES, anything, hostile_postgresql
from tests.attack.hostile_worker import ENDLESS, TEXTS, answer, answering, hostile, wrong_shape
from tests.attack.odd_inputs import grown
from tests.attack.project_files import random_file
from tests.attack.recorder import CANARY, beyond_a_plain_get, honest, hostile_url, recording, redirecting
from tests.attack.slow_clients import healthy_beside, pushed
from tests.attack.test_rest import mistyped
from tests.attack.test_stores import COLUMNS, DAMAGE, damage
from tests.attack.test_terminal import HOSTILE
from tests.codecs.test_plan import PLAN
from tests.codecs.test_snapshot import FULL, written
from tests.faults.commands import Answer, Command
from tests.faults.damaged_answers import Damaging
from tests.faults.matrix import Outcome, judged
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.producers import create_topic
from tests.ledger.test_ledger import read_up_to, row

ODD: Final = ("orders", "ö", "-", "=", "'", '"', "\n", "\x85", "{", "$", "%")
TIMEOUT_S: Final = 2
GRACE_S: Final = 5
MANY_REQUESTS: Final = 12
"""A broker may say that it lives elsewhere: then each request of a command takes its time-out."""
MOST_MIB: Final = 512
NOBODY: Final = "127.0.0.1:1"
ELSEWHERE: Final = "kafka.example"
"""A name of brokers that is not known to be on the loopback address."""
WORKER: Final = (
    "bootstrap.servers=127.0.0.1:1\ngroup.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\n"
    "status.storage.topic=s\nexactly.once.source.support=enabled\n"
)
PROFILES: Final = (
    b"current: a\nprofiles:\n  a: {group-id: x, timeout: 3, connect-url: ['http://w:1'], properties: {a: b}}\n"
)
LINES: Final = (
    b'{"offset":1,"key":"connector-a","value":{"properties":{"connector.class":"X","tasks.max":"1"}}}\n'
    b'{"offset":2,"key":"commit-a","value":{"tasks":1}}\n{"offset":3,"key":"tasks-fencing-a","value":{"task-count":2}}\n'
)


SETTINGS: Final = (
    *(
        "connector.class",
        "topic",
        "topics",
        "topics.regex",
        "offsets.storage.topic",
        "tasks.max",
        "exactly.once.support",
    ),
    *(
        "transaction.boundary",
        "transaction.boundary.interval.ms",
        "producer.override.bootstrap.servers",
        "name",
        "transforms",
    ),
    *("consumer.override.isolation.level", "source.cluster.alias", "topic.prefix", "replication.policy.class"),
)
VALUES: Final = (
    *(None, True, 7, 1.5, -1, 10**30, ["x"], {"a": 1}, "", " ", "..", "no topic!", "[(", "::::", "0x10", "9" * 50),
    *("ö\n", "\u2028", "t" * 40_000, "${env:X}", "MirrorSource", "io.debezium.connector.mysql.MySqlConnector"),
)


@dataclass
class Counted:
    """The results for the inputs of one class."""

    codes: Counter[int] = field(default_factory=Counter)
    seconds: float = 0
    cpu_seconds: float = 0
    mib: int = 0
    wrong: list[str] = field(default_factory=list)


class Brokers:
    """A real Kafka, started when the first class asks for it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    @cached_property
    def sandbox(self) -> Sandbox:
        """One broker, with the topics of a worker that has stopped, and its connector orders."""
        sandbox = self._stack.enter_context(Sandbox(SandboxSpec(workers=1)))
        connectors = FileConnectors(sandbox.connect_url(1), sandbox.bootstrap_servers, sandbox.directory)
        connectors.file("orders").write_text("1\n")
        connectors.create("orders")
        connectors.await_running("orders")
        sandbox.stop_worker(1)
        return sandbox


@dataclass(frozen=True)
class Attack:
    """A directory for one input, where its words go, and brokers on the loopback address for all that need some."""

    home: Path
    counted: Counted
    brokers: Brokers

    def run(self, *args: str, what: bytes = b"", most_s: float = TIMEOUT_S + GRACE_S) -> int:
        """The exit code of `eosctl` with these arguments; a fault is kept, with the input."""
        out, begun = self.home / "out", monotonic()
        child = os.fork()
        if child == 0:
            os._exit(self._in_fork([*args, "-o", "json"], out))
        _, status, usage = os.wait4(child, 0)
        seconds, mib, code = monotonic() - begun, usage.ru_maxrss >> 10, os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        counted = self.counted
        counted.codes[code] += 1
        counted.seconds, counted.mib = max(counted.seconds, seconds), max(counted.mib, mib)
        counted.cpu_seconds = max(counted.cpu_seconds, cpu_s)
        late, large = seconds > most_s, mib > MOST_MIB
        if code in {70, 99} or code < 0 or late or large or not _is_true(out, code):
            used = f"{seconds:.1f} s, {cpu_s:.1f} s of CPU, {mib} MiB"
            counted.wrong.append(f"{' '.join(args)}: exit code {code}, {used}, {what[:200]!r}")
        return code

    def call(self, act: Callable[[], str | None]) -> None:
        """Keeps the fault that the act reports; 0 stands for its end, 70 for any exception."""
        begun = monotonic()
        try:
            wrong, code = act(), 0
        except Exception as error:  # noqa: BLE001  # none is expected
            wrong, code = f"{type(error).__name__}: {error}", 70
        seconds = monotonic() - begun
        counted = self.counted
        counted.codes[code] += 1
        counted.seconds = max(counted.seconds, seconds)
        if wrong is None and seconds > TIMEOUT_S + GRACE_S:
            wrong = f"{seconds:.1f} s"
        if wrong is not None:
            counted.wrong.append(wrong)

    def _in_fork(self, args: list[str], out: Path) -> int:
        try:
            signal.alarm(60)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resolve = socket.getaddrinfo
            socket.getaddrinfo = lambda host, *more, **named: resolve(
                "127.0.0.1" if host in {ELSEWHERE, ELSEWHERE.encode()} else host, *more, **named
            )
            with out.open("w") as stdout, (self.home / "err").open("w") as stderr, Path(os.devnull).open() as stdin:
                return run(args, terminal_of(stdin, stdout, stderr, {}))
        except BaseException:  # noqa: BLE001  # whatever gets past the boundary
            return 99


def _is_true(out: Path, code: int) -> bool:
    """True if standard output is one document that agrees with the exit code."""
    try:
        document = json.loads(out.read_text())
    except ValueError:
        return False
    return document["kind"] != "error" or document["error"]["exit_code"] == code


def plans(attack: Attack, chance: random.Random) -> None:
    """Plan files."""
    plan, hostile = attack.home / "a.plan", grown(encode_plan(PLAN).encode(), chance)
    plan.write_bytes(hostile)
    attack.run("apply", str(plan), "--yes", "--timeout", str(TIMEOUT_S), "-b", NOBODY, what=hostile)


def journals(attack: Attack, chance: random.Random) -> None:
    """Files in the place of a journal: one that is refused stays as it is."""
    journal, head = attack.home / "a.plan.journal", encode_journal_head("d").encode()
    hostile = grown(head + b'{"step": 1, "event": "done", "detail": ""}\n', chance)
    journal.write_bytes(hostile)
    code, begun = 0, monotonic()
    try:
        with Journal(journal, "d"):
            pass
    except EosctlError as error:
        code = error.exit_code
    attack.counted.codes[code] += 1
    attack.counted.seconds = max(attack.counted.seconds, monotonic() - begun)
    if code and journal.read_bytes() != hostile:
        attack.counted.wrong.append(f"a journal that is refused was changed: {hostile[:200]!r}")


def snapshots(attack: Attack, chance: random.Random) -> None:
    """Snapshot files."""
    file, hostile = attack.home / "a.snapshot", grown("".join(written(FULL)).encode(), chance)
    file.write_bytes(hostile)
    for command in (["inspect-config"], ["doctor"], ["transactions", "list"]):
        attack.run(*command, "--snapshot", str(file), what=hostile)


def records(attack: Attack, chance: random.Random) -> None:
    """Records of a config topic, as console consumers print them."""
    file, hostile = attack.home / "records", grown(LINES, chance)
    file.write_bytes(hostile)
    attack.run("inspect-config", "--records", str(file), what=hostile)


def impossible_connectors(attack: Attack, chance: random.Random) -> None:
    """Connectors of any name and settings: silence about the healthy one beside them is a fault."""
    file, sandbox = attack.home / "records", attack.brokers.sandbox
    lines = [LINES.decode()]
    for offset in range(4, 4 + chance.randint(1, 8)):
        name = "".join(chance.choice((*HOSTILE, *ODD, "b")) for _ in range(chance.randint(0, 4)))
        name = name.encode("utf-8", "ignore").decode()
        config = {key: chance.choice(VALUES) for key in chance.sample(SETTINGS, chance.randint(0, len(SETTINGS)))}
        record = {"offset": offset, "key": f"connector-{name}", "value": {"properties": config}}
        lines.append(json.dumps(record) + "\n")
    file.write_text("".join(lines))
    what = "".join(lines[1:])
    topic = f"odd-{chance.randrange(1 << 60):x}"
    create_topic(sandbox.bootstrap_servers, topic, cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for line in "".join(lines).splitlines():
        record = json.loads(line)
        producer.produce(topic, json.dumps(record["value"]), record["key"], 0)
    assert producer.flush(30) == 0
    there = ("-b", sandbox.bootstrap_servers, "--group-id", sandbox.spec.group_id, "--config-topic", topic)
    principals = ("--principal", "worker=User:worker", "--principal", "connector=User:connector")
    for command, codes in (
        (("inspect-config", "--records", str(file)), {1}),
        (("acl-plan", *there, "--phase", "enabled", *principals), {1}),
        (("doctor", *there, *principals), {1}),
        (("fence", "--all-connectors", "--dry-run", *there), {0, 3}),
        (("watch", "--once", *there), {0, 1, 3}),
    ):
        code = attack.run(*command, *(() if "--records" in command else ("--timeout", "5")), what=what.encode())
        if code not in codes or not _names((attack.home / "out").read_text(), "a"):
            attack.counted.wrong.append(
                f"{command[0]}: exit code {code}, and nothing of connector a beside {what[:200]}"
            )


def _names(out: str, connector: str) -> bool:
    """Whether the answer has the connector by its name, or a transactional ID of its first task."""
    return any(f'"{name}"' in out for name in (connector, f"connect-cluster-{connector}-0"))


def profiles(attack: Attack, chance: random.Random) -> None:
    """The user's file of profiles."""
    file, hostile = attack.home / "eosctl" / "config.yaml", grown(PROFILES, chance)
    file.parent.mkdir()
    file.write_bytes(hostile)
    os.environ["XDG_CONFIG_HOME"] = str(attack.home)
    attack.run("profile", "list", what=hostile)


def properties(attack: Attack, chance: random.Random) -> None:
    """Client properties."""
    hostile = grown(
        b'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=a required x="y";\n', chance
    )
    file = attack.home / "client.properties"
    file.write_bytes(hostile)
    attack.run("transactions", "list", "-b", NOBODY, "--timeout", "1", "--command-config", str(file), what=hostile)


def segments(attack: Attack, chance: random.Random) -> None:
    """Log segments with bombs, odd records and damage."""
    home = attack.home / "logs" / "connect-offsets-0"
    home.mkdir(parents=True)
    codec, size = chance.choice(list(Codec)), 1 << chance.randint(10, 27)
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: batch(codec, one_record(bytes(size)), 1),
        lambda: batch(codec, RECORD * (size >> 5), size >> 5),
        lambda: batch(codec, one_record(grown(b'["c",{"a":1}]', chance)), 1),
        lambda: grown(batch(codec, one_record(b'["c",{"a":1}]') * 3, 3), chance),
    )
    hostile = chance.choice(kinds)()
    (home / f"{0:020}.log").write_bytes(hostile)
    attack.run("audit", "--log-dir", str(home.parent), "--engine", "local", what=hostile)


def brokers(attack: Attack, chance: random.Random) -> None:
    """Brokers that send anything, before and after the login."""
    body = grown(b'{"a":1}', chance) if chance.random() < 0.5 else chance.randbytes(chance.randint(0, 200))
    claim = chance.choice([0, 1, 100, 1 << 19, (1 << 28) - 1, (1 << 30) - 1, (1 << 32) - 1]).to_bytes(4, "big")
    hostile = chance.choice([claim + body, framed(body), framed(bytes([0, 0, 0, chance.randint(1, 5)]) + body)])
    answer = after_login(hostile) if chance.random() < 0.7 else lambda key, version, ident: hostile
    with false_broker(answer) as address:
        attack.run("transactions", "list", "-b", address, "--timeout", str(TIMEOUT_S), what=hostile)


def answers(attack: Attack, chance: random.Random) -> None:
    """Answers of a real broker, one thing in one of them damaged: it is a lie to say less, and not that it is less."""
    command = chance.choice([each for each in ASKED if recorded(each).answers])
    damage = any_damage(command, chance)
    after = _damaged(attack, command, Damaging(damage))
    if after and not damage.possible and judged(recorded(command).answer, after) is Outcome.LIE:
        attack.counted.wrong.append(f"{command.name} ends with {after.exit_code} where {damage.name}")


def bombs(attack: Attack, chance: random.Random) -> None:
    """Batches of a real broker with bombs in them: not naming the place of an unreadable one is a lie."""
    command = chance.choice([each for each in ASKED if each != OF_HEADERS and any_planted(each, random.Random(0))])
    planted = any_planted(command, chance)
    assert planted is not None
    after = _damaged(attack, command, Planting(planted.damage))
    if after is None or not planted.bomb.is_refused:
        return
    # A mirror audit reads every record; other commands may not need the damaged ones.
    if command is not OF_MIRROR and judged(recorded(command).answer, after) is Outcome.SAME:
        return
    said = after.stdout + after.stderr
    if after.exit_code not in {1, 3, 7} or str(planted.place) not in said or str(planted.offset) not in said:
        attack.counted.wrong.append(f"{command.name} ends with {after.exit_code}: {planted.place} {planted.damage.how}")


def _damaged(attack: Attack, command: Command, damaging: Damaging) -> Answer | None:
    """The command's answer; None if it did not request the damaged part."""
    site = damaged_site()
    site.rest.plan(None, None)
    site.kafka.plan(None, None)
    site.kafka.other, damage = damaging, damaging.damage
    code = attack.run(
        *site.words(command),
        *("--timeout", str(TIMEOUT_S)),
        what=damage.name.encode(),
        most_s=MANY_REQUESTS * TIMEOUT_S if damage.possible else TIMEOUT_S + GRACE_S,
    )
    text = (attack.home / "out").read_text()
    after = Answer(code, json.loads(text) if text.startswith("{") else {}, (attack.home / "err").read_text(), text)
    return after if damaging.hit else None


def workers(attack: Attack, chance: random.Random) -> None:
    """Connect workers, or servers in their place, whose answers never end, are arbitrary, or have another form."""
    settings = attack.home / "worker.properties"
    settings.write_text(WORKER)
    kind = chance.randrange(3)
    hostile_peer = (
        chance.choice(ENDLESS)
        if kind == 0
        else answering(chance.choice(TEXTS))
        if kind == 1
        else wrong_shape(chance.randrange(1 << 30))
    )
    words = ("acl-plan", "--worker-config", str(settings), "--timeout", str(TIMEOUT_S))
    with hostile(hostile_peer) as url:
        attack.run(*words, "--connect-url", url, what=getattr(hostile_peer, "__qualname__", "").encode())


def addresses(attack: Attack, chance: random.Random) -> None:
    """Addresses of workers with a password in them, mistyped: it is a lie to repeat the password."""
    url = mistyped(chance.randrange(1 << 30))
    attack.run("inspect-config", "-b", NOBODY, "--timeout", "1", "--connect-url", url, what=url.encode())
    for stream in ("out", "err"):
        if "heim" in (attack.home / stream).read_text():
            attack.counted.wrong.append(f"the password of {url!r} is on std{stream}")


def redirects(attack: Attack, chance: random.Random) -> None:
    """Workers, named or only discovered, that redirect to other addresses: nothing arrives at any of these."""
    sandbox = attack.brokers.sandbox
    with recording(honest(sandbox.cluster_id)) as (port, victim):
        onward = hostile_url(port, chance).replace("HTTP://", chance.choice(["http://", "https://", "//", "ftp://"]))
        with recording(redirecting(onward, sandbox.cluster_id, chance)) as (own, asked):
            if chance.random() < 0.5:
                url = f"http://ops:{CANARY}@127.0.0.1:{own}"
                _ask_about_connect(attack, chance, "--connect-url", url, what=onward.encode())
                writes = [each for each in asked if not each.startswith((b"GET /", b"PUT /connector-plugins/"))]
            else:
                with member_of(sandbox.spec.group_id, sandbox.bootstrap_servers, f"http://127.0.0.1:{own}/"):
                    _ask_about_connect(attack, chance, what=onward.encode())
                writes = [each for each in asked if beyond_a_plain_get(each)]
    attack.counted.wrong += [f"sent to {onward!a}: {each[:200]!r}" for each in victim]
    attack.counted.wrong += [f"sent to who redirects to {onward!a}: {each[:200]!r}" for each in writes]


def discovered_workers(attack: Attack, chance: random.Random) -> None:
    """Members of the Connect group with hostile addresses: they get plain GET requests, and none on a loopback
    address if the brokers are elsewhere; none shows a password."""
    sandbox, is_here = attack.brokers.sandbox, chance.random() < 0.5
    with recording(honest(sandbox.cluster_id)) as (port, seen):
        url = hostile_url(port, chance)
        profile = attack.home / "eosctl" / "config.yaml"
        profile.parent.mkdir()
        os.environ["ATTACK_USER"] = f"ops:{CANARY}"
        properties = {"basic.auth.user.info": "env:ATTACK_USER"} if chance.random() < 0.5 else {}
        known = {"discover-workers": chance.random() < 0.5, "properties": properties}
        profile.write_text(json.dumps({"current": "a", "profiles": {"a": known}}))
        with member_of(sandbox.spec.group_id, sandbox.bootstrap_servers, url):
            _ask_about_connect(attack, chance, what=url.encode(), is_here=is_here)
    wrong = [each for each in seen if not is_here or beyond_a_plain_get(each)]
    attack.counted.wrong += [f"sent to {url!a}, brokers here: {is_here}: {each[:200]!r}" for each in wrong]


def _ask_about_connect(attack: Attack, chance: random.Random, *named: str, what: bytes, is_here: bool = True) -> None:
    """One command that queries workers; if the brokers are not here, their name is no loopback address.

    The group is the one with topics: a command reports any other group, and queries none of its members.
    """
    servers = attack.brokers.sandbox.bootstrap_servers
    command = chance.choice(
        [
            ("doctor",),
            ("doctor", "--preflight"),
            ("upgrade-check", "--to", "enabled"),
            ("offsets", "show"),
            ("inspect-config",),
            ("transactions", "list"),
            ("fence", "--connector", "orders", "--dry-run"),
            ("migrate-offsets", "--connector", "orders", "--to-topic", "moved", "--stop", "--set-config", "--yes"),
        ]
    )
    given = (
        "-b",
        servers if is_here else servers.replace("127.0.0.1", ELSEWHERE),
        "--group-id",
        attack.brokers.sandbox.spec.group_id,
    )
    attack.run(*command, *given, *named, "--timeout", str(TIMEOUT_S), what=what)


def project_files(attack: Attack, chance: random.Random) -> None:
    """Untrusted project files of profiles: sending the secrets that they refer to anywhere is a lie."""
    file = attack.home / ".eosctl.yaml"
    file.write_text(random_file(chance.randrange(1 << 30), str(attack.home / "secret"), str(attack.home)))
    before = Path.cwd()
    os.chdir(attack.home)
    try:
        attack.run("profile", "list", what=file.read_bytes())
    finally:
        os.chdir(before)
    if "evil" in (attack.home / "out").read_text():
        attack.counted.wrong.append(f"a project's profile is used: {file.read_text()!r}")


def postgresql_servers(attack: Attack, chance: random.Random) -> None:
    """Servers in the place of a ledger's, that answer for ever, anything, or in other messages."""
    name = chance.choice([*CASES, "anything"])
    os.environ["PGPASSWORD"] = "p"
    with hostile_postgresql(CASES.get(name) or anything(chance.randrange(1 << 30))) as place:
        store = f"postgresql://a@{place}/d?connect_timeout={TIMEOUT_S}"
        attack.run("audit", "history", "--store", store, "--timeout", str(TIMEOUT_S), what=name.encode())


def ledgers(attack: Attack, chance: random.Random) -> None:
    """Ledgers in SQLite with one value, or a page of the file, that is another."""
    file = attack.home / "ledger.db"
    read_up_to(open_ledger(f"sqlite:///{file}"), "job", 10, rows=(row(b"x"),))
    if chance.random() < 0.5:
        hostile = bytearray(file.read_bytes())
        for _ in range(chance.randint(1, 20)):
            hostile[chance.randrange(len(hostile))] = chance.randrange(256)
        file.write_bytes(hostile)
        what = b"damaged bytes"
    else:
        what = damage(file, *chance.choice(COLUMNS), chance.choice(DAMAGE)).encode()
    attack.run("audit", "history", "--store", f"sqlite:///{file}", "--job", "job", what=what)


def collectors(attack: Attack, chance: random.Random) -> None:
    """Collectors of OTLP that answer for ever, anything, or with redirects: a push is late at its timeout."""
    os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"
    statuses = [f"{chance.randint(100, 599)} X", "200 OK", "307 X\r\nLocation: http://127.0.0.1:1/"]
    with hostile(chance.choice([*ENDLESS, lambda c, _: c.sendall(answer(chance.choice(statuses), b"x" * 99))])) as url:
        attack.call(lambda: pushed(url))


def slow_clients(attack: Attack, chance: random.Random) -> None:
    """60 clients of `watch` that drip and reconnect: it is wrong if /healthz takes longer than a second."""
    pieces = [b"", b"G", b"GET /metrics HTTP/1.1\r\nX-", chance.randbytes(chance.randint(1, 100))]
    attack.call(lambda: healthy_beside(60, chance.choice(pieces)))


def names(attack: Attack, chance: random.Random) -> None:
    """Names of any characters, in every format: it is a lie to write one that a terminal obeys or hides."""
    name = "".join(chance.choice((*HOSTILE, *ODD)) for _ in range(chance.randint(1, 8)))
    name = name.encode("utf-8", "ignore").decode().replace("\0", "")
    worker, connector = attack.home / "worker.properties", attack.home / "connector.json"
    worker.write_text(WORKER)
    connector.write_text(json.dumps({"name": f"a{name}", "connector.class": "FileStreamSource", "topic": "t"}))
    words = ("acl-plan", "--worker-config", str(worker), "--connector-config", str(connector), "--phase", "enabled")
    form = chance.choice(list(AclFormat))
    files = ("--sarif", str(attack.home / "sarif"), "--junit", str(attack.home / "junit"))
    for more in (("--emit", form.value), (*files, "--csv-text"), ("--explain",)):
        attack.run(*words, *more, what=name.encode())
        written = [file.read_text() for file in attack.home.iterdir() if file.name in {"out", "err", "sarif", "junit"}]
        found = [ascii(char) for text in written for char in UNSEEN.findall(text) if char not in "\n\t"]
        if found:
            attack.counted.wrong.append(f"{more} of {name!a} writes {found}")


def huge_files(attack: Attack, chance: random.Random) -> None:
    """Files of 8 to 50 MB, of one comment or many, in each place: read in seconds, or refused by name."""
    size = chance.randint(8, 50) << 20
    line = b"#" + b"x" * chance.choice([10, 1000, size])
    file, worker = attack.home / "huge.yaml", attack.home / "worker.properties"
    file.write_bytes((line + b"\n") * (size // (len(line) + 1) or 1))
    worker.write_text(WORKER)
    place = chance.choice(
        [
            ("acl-plan", "--worker-config"),
            ("acl-plan", "--worker-config", str(worker), "--connector-config"),
            ("acl-plan", "--worker-config", str(worker), "--emit", "strimzi", "--merge-with"),
            ("transactions", "list", "-b", NOBODY, "--timeout", "1", "--command-config"),
            ("fence", "-b", NOBODY, "--timeout", "1", "--dry-run", "--ids-file"),
            ("apply", "--yes", "-b", NOBODY, "--timeout", "1"),
            ("doctor", "--snapshot"),
            ("inspect-config", "--records"),
        ]
    )
    attack.run(*place, str(file), what=f"{size} bytes, lines of {len(line)}".encode())


CLASSES: Final = (
    *(plans, journals, snapshots, records, profiles, properties, segments, brokers),
    *(answers, bombs, workers, redirects, discovered_workers, addresses, project_files, names, huge_files),
    *(impossible_connectors, postgresql_servers, ledgers, collectors, slow_clients),
)


@contextmanager
def _home() -> Iterator[Path]:
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="eosctl-attack-") as directory:
        os.environ |= {"XDG_CONFIG_HOME": directory, "XDG_STATE_HOME": directory, "HOME": directory}
        try:
            yield Path(directory)
        finally:
            os.environ.clear()
            os.environ.update(before)


def campaign(seed: int, inputs: int, names: tuple[str, ...] = ()) -> dict[str, Counted]:
    """The counts of each class."""
    found: dict[str, Counted] = {}
    with ENDS, ExitStack() as stack:
        brokers = Brokers(stack)
        for make in [each for each in CLASSES if not names or each.__name__ in names]:
            counted = found[make.__name__] = Counted()
            # Started in the user's home, where Kafka's jars are: the home of an input is removed with the input.
            if make in {answers, bombs}:
                damaged_site()
            if make in {redirects, discovered_workers, impossible_connectors}:
                _ = brokers.sandbox
            for number in range(inputs):
                with _home() as home:
                    make(Attack(home, counted, brokers), random.Random(f"{make.__name__} {seed} {number}"))
    return found


def table(found: dict[str, Counted]) -> str:
    """The counts as a page has them."""
    columns = ("class", "commands", "exit codes", "longest, s", "most CPU, s", "most memory, MiB", "wrong")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, each in found.items():
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(each.codes.items()))
        lines.append(
            f"| {name} | {each.codes.total()} | {codes} | {each.seconds:.1f} | {each.cpu_seconds:.1f} | {each.mib} |"
            f" {len(each.wrong)} |"
        )
    return "\n".join(lines) + "\n"


def main(seed: str = "1", inputs: str = "100", *names: str) -> int:
    """Prints the table and the faults; for the named classes, or for all."""
    for name in [name for name in os.environ if name.startswith("EOSCTL_")]:
        del os.environ[name]
    found = campaign(int(seed), int(inputs), names)
    wrong = [line for each in found.values() for line in each.wrong]
    sys.stdout.write("".join([table(found), *(f"{line}\n" for line in wrong)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
