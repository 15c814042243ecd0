"""Faults of a round: each breaks something while records flow, and heals it."""

import errno
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any, Final

from eosctl.clients.deadline import Deadline
from eosctl.clients.librdkafka import TransactionalProducer
from eosctl.clients.wire import Wire
from eosctl.codecs.status_topic import decode_status_records
from eosctl.errors import EosctlError, Refused
from eosctl.model.certification import Fault, Generation, Round
from eosctl.model.names import TopicPartition
from eosctl.model.status_topic import StatusKind
from eosctl.model.transactions import TransactionDescription
from eosctl.operations.certified_site import LOOK_S, PATIENCE_S, CertifiedSite
from eosctl.operations.certified_source import Source
from eosctl.operations.session import Session
from eosctl.sandbox.kafka_proxy import Hold, Moment
from eosctl.sandbox.properties import MOST_WORKERS
from eosctl.sources.delivered_records import DeliveredRecords
from eosctl.sources.kafka_log import partition_offsets, read_log
from eosctl.sources.kafka_transactions import describe_transactional_ids

COMMIT_S: Final = 60.0
TIMEOUT_MS: Final = 60_000
MOST_TASKS: Final = 4
FLOW_ON_S: Final = 1.0
"""How long records flow during a fault, such as beside a frozen worker: only time ends it."""
ZOMBIE_S: Final = 2.0
"""How long a worker that came back, or joined, may do harm before the round is over."""
EXPIRE: Final = {
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
GO_ON_S: Final = 30.0
"""After a changed config, tasks that have not started again by then have the same configs as before."""
RUNNING: Final = "RUNNING"
STATUS_TOPIC: Final = "connect-status"
REST_S: Final = 20.0
"""How long a connector may take to deliver everything while its source rests."""
FILLER: Final = "eosctl-filler"
MOST_AT_ONCE: Final = 1 << 20
AGAIN_S: Final = 0.002


class FaultMissed(Exception):  # it is no error of the command: the round cannot tell
    """The fault could not be brought about, with the reason."""


class Reports:
    """The states of the connector and its tasks that workers report to the status topic from now on.

    Until a request takes effect, the REST interface shows the states of before: they are no proof of a restart.
    """

    def __init__(self, wire: Wire, site: CertifiedSite) -> None:
        config = site.sandbox.spec.worker_config
        topic = config.get("status.storage.topic", STATUS_TOPIC)
        places = [TopicPartition(topic, each) for each in range(int(config.get("status.storage.partitions", "5")))]
        self._wire, self._connector, self._begun = wire, site.connector, monotonic()
        self._starts = {each: bounds.high_watermark for each, bounds in partition_offsets(wire, places).items()}
        self.task_configs = site.task_configs()

    @property
    def age_s(self) -> float:
        return monotonic() - self._begun

    def states(self) -> Mapping[int | None, str]:
        """The last state of each task, and under None the connector's own."""
        found: dict[int | None, str] = {}
        for place, start in self._starts.items():
            for each in decode_status_records(read_log(self._wire, place, start=start)):
                if each.connector == self._connector and each.kind is not StatusKind.TOPIC and each.state is not None:
                    found[each.task] = each.state
        return found


class RunningConnector:
    """The connector that is certified, all that its faults need, and the time at which each act happened."""

    def __init__(
        self,
        site: CertifiedSite,
        source: Source,
        records: DeliveredRecords,
        session: Session,
        config: Mapping[str, str],
    ) -> None:
        self.site, self.source, self.records, self.session = site, source, records, session
        self.config = dict(config)
        self.happened: list[tuple[int, str]] = []
        self.unsteady_offsets: set[str] = set()
        self.generations: list[Generation] = [Generation({})]

    def note(self, act: str) -> None:
        """Keeps when it happened. A request is noted before it is sent: records may come before its answer."""
        self.happened.append((Session.now(), act))

    def configure(self, **changed: str) -> None:
        self.replace_config({**self.config, **{key.replace("_", "."): value for key, value in changed.items()}})

    def replace_config(self, config: Mapping[str, str]) -> None:
        self.config = dict(config)
        self.site.request("PUT", "/config", self.config)

    def restart(self, pause_s: float = 0.0) -> None:
        """Restarts the connector and its tasks; returns when they have started, and not before that pause."""
        since = self.reports()
        self.note("restart the connector and its tasks")
        self.site.request("POST", "/restart?includeTasks=true")
        sleep(pause_s)
        self.await_started(since)

    def reports(self) -> Reports:
        return Reports(self.session.wire, self.site)

    def await_started(self, since: Reports, states: Collection[str] = (RUNNING,)) -> None:
        """Returns when the connector and all tasks have come to one of these states; failed tasks are restarted."""
        deadline = Deadline(PATIENCE_S)
        while not self._have_come(since, states):
            self.site.restart_failed()
            deadline.pause_or_raise(LOOK_S, f"the connector does not start again: {dict(since.states())}")

    def await_reconfigured(self, since: Reports) -> bool:
        """Returns when the connector and its tasks have taken a changed config; false if the tasks went on.

        The connector itself always starts again, its tasks only if it has other configs for them.
        """
        deadline = Deadline(PATIENCE_S)
        while not self._have_come(since, (RUNNING,)):
            is_same = self.site.task_configs() == since.task_configs and since.states().get(None) == RUNNING
            if is_same and since.age_s > GO_ON_S:
                return False
            self.site.restart_failed()
            deadline.pause_or_raise(LOOK_S, f"the connector does not take its config: {dict(since.states())}")
        return True

    def _have_come(self, since: Reports, states: Collection[str]) -> bool:
        found, count = since.states(), len(self.site.task_configs())
        return count > 0 and all(found.get(task) in states for task in (None, *range(count)))

    def read_all(self) -> None:
        """All records up to now, of all topics."""
        self.records.follow(self.site.topics())
        self.records.read_to_the_ends(PATIENCE_S)

    @property
    def seen(self) -> frozenset[str]:
        return frozenset(each.identity for each in self.records.records if each.identity is not None)


def bring_about(round_: Round, running: RunningConnector) -> None:
    """The fault of the round, from its break to its healing. Raises FaultMissed, or what a request raises."""
    sleep(round_.pick(0, 0, 800) / 1000)
    ACTS[round_.fault](round_, running)


def _none(_: Round, running: RunningConnector) -> None:
    sleep(FLOW_ON_S)


def _kill_at_commit(moment: Moment) -> Callable[[Round, RunningConnector], None]:
    def act(round_: Round, running: RunningConnector) -> None:
        site = running.site
        transactional_id, hold = _held_commit(running, moment)
        try:
            victim = site.task_workers().get(_task_of(transactional_id))
            if victim is None:
                raise FaultMissed(f"no worker reports that it runs the task of {transactional_id}")
            site.sandbox.kill_worker(victim)
        finally:
            hold.end(passes=False)
        running.note(f"SIGKILL worker {victim} {moment} the coordinator answered the commit of {transactional_id}")
        site.sandbox.start_worker(victim, until_ready=False)
        site.sandbox.await_worker(victim)

    return act


def _held_commit(running: RunningConnector, moment: Moment) -> tuple[str, Hold]:
    hold = Hold(running.site.id_prefix, moment)
    running.site.sandbox.set_hold(hold)
    transactional_id = hold.wait(COMMIT_S)
    running.site.sandbox.set_hold(None)
    if transactional_id is None:
        hold.end(passes=True)
        raise FaultMissed(f"no task committed a transaction within {COMMIT_S:g} s")
    return transactional_id, hold


def _task_of(transactional_id: str) -> int:
    return int(transactional_id.rpartition("-")[2])


def _victim(round_: Round, running: RunningConnector, which: int = 1) -> int:
    """A worker that runs a task."""
    deadline = Deadline(PATIENCE_S)
    while not (workers := sorted(set(running.site.task_workers().values()) & set(running.site.living))):
        deadline.pause_or_raise(LOOK_S, "no worker runs a task")
    return workers[round_.pick(which, 0, len(workers) - 1)]


def _kill_worker(round_: Round, running: RunningConnector) -> None:
    victim = _victim(round_, running)
    running.site.sandbox.kill_worker(victim)
    running.note(f"SIGKILL worker {victim}")
    running.site.sandbox.start_worker(victim)


def _restart_worker(round_: Round, running: RunningConnector) -> None:
    victim = _victim(round_, running)
    running.note(f"stop worker {victim} in order")
    running.site.sandbox.stop_worker(victim)
    running.site.sandbox.start_worker(victim)


def _freeze_worker(round_: Round, running: RunningConnector) -> None:
    """In some rounds its commit is held meanwhile, and gets to the coordinator after another worker has its task."""
    site = running.site
    hold: Hold | None = None
    if round_.pick(2, 0, 1) and site.sandbox.spec.exactly_once == "enabled":
        transactional_id, hold = _held_commit(running, Moment.BEFORE_COMMIT)
        victim = site.task_workers().get(_task_of(transactional_id)) or _victim(round_, running)
    else:
        victim = _victim(round_, running)
    site.sandbox.pause_worker(victim)
    site.frozen.add(victim)
    running.note(f"SIGSTOP worker {victim}{' while its commit is in progress' if hold else ''}")
    try:
        _await_others(running, victim)
        sleep(FLOW_ON_S)
    finally:
        site.sandbox.resume_worker(victim)
        site.frozen.discard(victim)
        running.note(f"SIGCONT worker {victim}, whose tasks run elsewhere")
        if hold is not None:
            hold.end(passes=True)
    sleep(ZOMBIE_S)


def _await_others(running: RunningConnector, victim: int) -> None:
    deadline = Deadline(PATIENCE_S)
    while not (places := set(running.site.task_workers().values())) or victim in places:
        deadline.pause_or_raise(LOOK_S, f"the tasks of the frozen worker {victim} do not start elsewhere")


def _join_worker(_: Round, running: RunningConnector) -> None:
    site = running.site
    number = max(site.workers) + 1
    if number > MOST_WORKERS:
        raise FaultMissed(f"there are {MOST_WORKERS} workers already")
    site.workers.append(number)
    try:
        site.sandbox.start_worker(number)
        running.note(f"worker {number} joins")
        sleep(ZOMBIE_S)
    finally:
        running.note(f"worker {number} leaves")
        site.workers.remove(number)
        site.sandbox.stop_worker(number)


def _kill_broker(round_: Round, running: RunningConnector) -> None:
    node = round_.pick(1, 1, running.site.sandbox.spec.brokers)
    running.site.sandbox.kill_broker(node)
    running.note(f"SIGKILL broker {node}")
    sleep(round_.pick(2, 0, 1500) / 1000)
    running.site.sandbox.start_broker(node)


def _move_coordinator(round_: Round, running: RunningConnector) -> None:
    """In some rounds tasks start meanwhile: running ones only send their requests to another broker."""
    [transactional_id] = _task_ids(running)[:1]
    before = _coordinator(running, transactional_id)
    if before is None:
        raise FaultMissed(f"no coordinator describes {transactional_id}")
    running.note(f"stop broker {before}, the coordinator of {transactional_id}")
    running.site.sandbox.stop_broker(before)
    try:
        if round_.pick(1, 0, 1):
            running.restart()
        deadline = Deadline(PATIENCE_S)
        while (now := _coordinator(running, transactional_id)) in {None, before}:
            if not deadline.pause(LOOK_S):
                raise FaultMissed(f"no other broker becomes the coordinator of {transactional_id}")
        running.note(f"broker {now} is the coordinator of {transactional_id}")
        sleep(FLOW_ON_S)
    finally:
        running.site.sandbox.start_broker(before)


def _coordinator(running: RunningConnector, transactional_id: str) -> int | None:
    with suppress(EosctlError):
        found = describe_transactional_ids(running.session.wire, [transactional_id])[transactional_id]
        return found.coordinator if isinstance(found, TransactionDescription) else None
    return None


def _task_ids(running: RunningConnector) -> list[str]:
    deadline = Deadline(PATIENCE_S)
    while not (tasks := sorted(running.site.task_workers())):
        deadline.pause_or_raise(LOOK_S, "no task runs")
    return [f"{running.site.id_prefix}{task}" for task in tasks]


def _cut_connections(round_: Round, running: RunningConnector) -> None:
    for turn in range(round_.pick(1, 3, 6)):
        count = running.site.sandbox.cut_connections()
        running.note(f"cut {count} connections to brokers")
        sleep(round_.pick(2 + turn, 300, 1500) / 1000)


def _restart_connector(round_: Round, running: RunningConnector) -> None:
    for turn in range(2):
        running.restart(round_.pick(1 + turn, 300, 1500) / 1000)


def _stop_connector(round_: Round, running: RunningConnector) -> None:
    running.note("stop the connector")
    _stop(running)
    sleep(round_.pick(1, 200, 1500) / 1000)
    running.note("resume it")
    running.site.request("PUT", "/resume")


def _stop(running: RunningConnector) -> None:
    running.site.request("PUT", "/stop")
    running.site.await_stopped()


def _pause_connector(round_: Round, running: RunningConnector) -> None:
    running.note("pause the connector")
    running.site.request("PUT", "/pause")
    running.site.await_paused()
    sleep(round_.pick(1, 500, 2000) / 1000)
    running.note("resume it")
    running.site.request("PUT", "/resume")


def _change_tasks(round_: Round, running: RunningConnector) -> None:
    for turn in range(2):
        now = int(running.config.get("tasks.max", "1"))
        others = [each for each in range(1, MOST_TASKS + 1) if each != now]
        wanted = others[round_.pick(1 + turn, 0, len(others) - 1)]
        since = running.reports()
        running.note(f"tasks.max from {now} to {wanted}")
        running.configure(tasks_max=str(wanted))
        if not running.await_reconfigured(since):
            running.note("its tasks have not started again: the connector gives them the same configs")
        sleep(FLOW_ON_S)


def _change_config(round_: Round, running: RunningConnector) -> None:
    since = running.reports()
    running.note("change a setting that the connector does not read")
    running.configure(eosctl_certify_round=str(round_.number))
    running.await_reconfigured(since)


def _fence(round_: Round, running: RunningConnector) -> None:
    properties = running.session.client_properties
    for turn in range(2):
        for transactional_id in _task_ids(running):
            running.note(f"fence {transactional_id}")
            with TransactionalProducer(
                properties, transactional_id, transaction_timeout_ms=TIMEOUT_MS, timeout_s=COMMIT_S
            ) as producer:
                producer.initialise()
        sleep(round_.pick(1 + turn, 500, 1500) / 1000)
        running.site.await_running()


def _expire_ids(_: Round, running: RunningConnector) -> None:
    ids = _task_ids(running)
    running.source.stop()
    nodes = range(1, running.site.sandbox.spec.brokers + 1)
    for node in nodes:
        running.site.sandbox.stop_broker(node)
        running.site.sandbox.start_broker(node, EXPIRE)
    deadline = Deadline(PATIENCE_S)
    while left := [each for each in ids if _is_known(running, each)]:
        if not deadline.pause(LOOK_S):
            raise FaultMissed(f"coordinators do not forget {', '.join(left)}: their tasks write all the time")
    running.note(f"coordinators have forgotten {', '.join(ids)}")
    for node in nodes:
        running.site.sandbox.stop_broker(node)
        running.site.sandbox.start_broker(node)
    running.source.start((3,))
    sleep(FLOW_ON_S)


def _is_known(running: RunningConnector, transactional_id: str) -> bool:
    found = describe_transactional_ids(running.session.wire, [transactional_id])[transactional_id]
    return isinstance(found, TransactionDescription | EosctlError)


def _alter_offsets(_: Round, running: RunningConnector) -> None:
    """To where they were some records before: all behind that may come once more, and nothing that was before.

    The source rests meanwhile, so that the same records lead to the same offsets if these are deterministic.
    """
    _stop(running)
    running.read_all()
    kept, before = running.site.offsets(), running.seen
    running.site.request("PUT", "/resume")
    if not kept:
        raise FaultMissed("the connector has no offsets")
    running.site.await_running()
    sleep(ZOMBIE_S)
    running.source.stop()
    _await_all(running)
    _stop(running)
    running.read_all()
    again, begun, reached = running.seen - before, len(running.records.records), _offsets(running)
    _rewind(running, "PATCH", {"offsets": list(kept)}, again, f"set the offsets back by {len(again)} records")
    running.site.await_running()
    if running.site.sandbox.spec.exactly_once == "enabled":
        running.unsteady_offsets.update(_differences(reached, _offsets_after(running, again, begun)))
    running.source.start((3,))
    sleep(FLOW_ON_S)


def _await_all(running: RunningConnector) -> None:
    """Returns when all records of the source have come, or after a while."""
    expected, deadline = running.source.expected(), Deadline(REST_S)
    wanted = frozenset(() if expected is None else expected.identities)
    while deadline.pause(LOOK_S) and not (wanted and wanted <= running.seen):
        running.records.read()


def _offsets(running: RunningConnector) -> Mapping[str, str]:
    """The offset of each source partition, as JSON."""
    return {_json(each.get("partition")): _json(each.get("offset")) for each in running.site.offsets()}


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _offsets_after(running: RunningConnector, again: frozenset[str], begun: int) -> Mapping[str, str]:
    """The offsets when exactly these records have come again; none if others came too, or these do not come.

    A transaction commits records with their offsets, so that both are of one moment if no record comes meanwhile.
    """
    deadline = Deadline(REST_S)
    while deadline.pause(LOOK_S):
        running.read_all()
        if again and again <= _identities(running, begun):
            offsets = _offsets(running)
            running.read_all()
            return offsets if again == _identities(running, begun) else {}
    return {}


def _identities(running: RunningConnector, begun: int) -> set[str]:
    return {each.identity for each in running.records.records[begun:] if each.identity is not None}


def _differences(reached: Mapping[str, str], now: Mapping[str, str]) -> Sequence[str]:
    return [
        f"{partition} had {reached[partition]}, and {now[partition]} after the same records again"
        for partition in reached
        if now.get(partition, reached[partition]) != reached[partition]
    ]


def _reset_offsets(_: Round, running: RunningConnector) -> None:
    _stop(running)
    running.read_all()
    _rewind(running, "DELETE", None, None, "delete the offsets")


def _rewind(
    running: RunningConnector, method: str, body: Mapping[str, Any] | None, again: frozenset[str] | None, act: str
) -> None:
    """Begins a generation where the connector takes other offsets; where it refuses them, nothing has changed."""
    try:
        answer = running.site.request(method, "/offsets", body)
        running.generations.append(Generation(running.records.ends, again))
        said = answer.get("message", "") if isinstance(answer, Mapping) else ""
        running.note(f"{act}: {said}" if said else act)
    except Refused as error:
        running.note(f"{act}: refused: {error.message}")
    finally:
        running.site.request("PUT", "/resume")


def _fill_disk(round_: Round, running: RunningConnector) -> None:
    assert running.site.state is not None
    with _filled(running.site.state):
        running.note(f"fill the file system of {running.site.state}")
        sleep(round_.pick(1, 1000, 3000) / 1000)
        since = running.reports()
        running.note("restart the connector and its tasks")
        running.site.request("POST", "/restart?includeTasks=true")
        running.await_started(since, (RUNNING, "FAILED"))
        sleep(round_.pick(2, 500, 2000) / 1000)
    running.note(f"free {running.site.state}")
    running.site.await_running()
    sleep(FLOW_ON_S)


@contextmanager
def _filled(directory: Path) -> Iterator[None]:
    """Leaves no room in the file system, also where files in it are removed or replaced."""
    filler, full, end = directory / FILLER, Event(), Event()
    thread = Thread(target=_fill, args=(filler, full, end), daemon=True)
    try:
        thread.start()
        if not full.wait(COMMIT_S):
            raise FaultMissed(f"the file system of {directory} does not become full")
        yield
    finally:
        end.set()
        thread.join()
        filler.unlink(missing_ok=True)


def _fill(filler: Path, full: Event, end: Event) -> None:
    size = MOST_AT_ONCE
    with filler.open("wb", buffering=0) as file:
        while not end.is_set():
            try:
                os.write(file.fileno(), bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                if size == 1:
                    full.set()
                    end.wait(AGAIN_S)
                size = max(1, size // 2)


ACTS: Final[Mapping[Fault, Callable[[Round, RunningConnector], None]]] = {
    Fault.NONE: _none,
    Fault.KILL_BEFORE_COMMIT: _kill_at_commit(Moment.BEFORE_COMMIT),
    Fault.KILL_AFTER_COMMIT: _kill_at_commit(Moment.AFTER_COMMIT),
    Fault.KILL_WORKER: _kill_worker,
    Fault.FREEZE_WORKER: _freeze_worker,
    Fault.RESTART_WORKER: _restart_worker,
    Fault.JOIN_WORKER: _join_worker,
    Fault.KILL_BROKER: _kill_broker,
    Fault.MOVE_COORDINATOR: _move_coordinator,
    Fault.CUT_CONNECTIONS: _cut_connections,
    Fault.RESTART_CONNECTOR: _restart_connector,
    Fault.STOP_CONNECTOR: _stop_connector,
    Fault.PAUSE_CONNECTOR: _pause_connector,
    Fault.CHANGE_TASKS: _change_tasks,
    Fault.CHANGE_CONFIG: _change_config,
    Fault.FENCE: _fence,
    Fault.EXPIRE_IDS: _expire_ids,
    Fault.ALTER_OFFSETS: _alter_offsets,
    Fault.RESET_OFFSETS: _reset_offsets,
    Fault.FILL_DISK: _fill_disk,
}
