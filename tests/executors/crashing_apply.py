"""A process that applies a plan and kills itself (SIGKILL) at a named failpoint: the subject of the crash tests.

python crashing_apply.py PLAN BOOTSTRAP FAILPOINT [--one-transaction-per-record]

FAILPOINT is one of those of ApplyRun and write_offsets, or `never`; `pause:NAME` stops there until a line comes on
standard input. The last option makes it wrong on purpose, to show that the tests notice.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

from eosctl.clients.access import ClusterAccess
from eosctl.clients.librdkafka import PartitionRecord, TransactionalProducer
from eosctl.clients.wire import Wire
from eosctl.codecs.plan import decode_plan, plan_digest
from eosctl.errors import EosctlError
from eosctl.executors.apply import ApplyRun, Journal, Recheck
from eosctl.model.client_properties import ClientProperties
from eosctl.model.failpoints import Failpoint
from eosctl.model.names import Side
from eosctl.model.plan import WriteOffsets
from eosctl.operations.plan_facts import ReadSide, read_plan_facts
from eosctl.operations.plan_flow import performers_on
from tests.live_reader import reading_over

CONFIG_TOPIC = "connect-configs"


def main(path: str, bootstrap: str, wanted: str, *more: str) -> int:
    """Exit code of the run: 0, or that of the error it ended with."""
    file = Path(path)
    plan = decode_plan(file.read_text())
    with Wire(ClientProperties(tuple(bootstrap.split(","))), timeout_s=60) as wire:
        access = ClusterAccess(wire, (), 60)
        failpoint = _failpoint(wanted)

        def reading(_: Side) -> ReadSide:
            return reading_over(wire, CONFIG_TOPIC, timeout_s=60)

        table = dict(performers_on(lambda _: access, reading, failpoint))
        if more:
            table[WriteOffsets] = _record_by_record(wire.properties, failpoint)
        with Journal(file.with_name(file.name + ".journal"), plan_digest(plan)) as journal:
            run = ApplyRun(
                plan,
                journal,
                partial(read_plan_facts, reading),
                table,
                failpoint=failpoint,
            )
            outcome, failure = run.run()
    for result in outcome.results:
        sys.stdout.write(f"{result.number} {result.outcome.value} {result.detail}\n")
    if failure is not None:
        sys.stderr.write(failure.message + "\n")
    return 0 if failure is None else failure.exit_code


def _failpoint(wanted: str) -> Failpoint:
    def failpoint(name: str) -> None:
        if name == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        if f"pause:{name}" == wanted:
            sys.stdout.write("paused\n")
            sys.stdout.flush()
            sys.stdin.readline()

    return failpoint


def _record_by_record(properties: ClientProperties, failpoint: Failpoint):
    def perform(step: WriteOffsets, recheck: Recheck) -> str:
        with TransactionalProducer(
            properties, step.transactional_id, transaction_timeout_ms=60_000, timeout_s=60
        ) as producer:
            producer.initialise()
            failpoint("initialised")
            for number, each in enumerate(step.records):
                producer.begin()
                producer.write(step.topic, [PartitionRecord(each.partition, each.key, each.value)])
                producer.commit(step.topic)
                failpoint("first-written" if number == 0 else "written")
        return "one by one"

    return perform


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except EosctlError as error:
        sys.stderr.write(error.message + "\n")
        sys.exit(error.exit_code)
