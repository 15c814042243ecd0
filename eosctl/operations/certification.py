"""Certifies a connector: rounds of faults on a sandbox, and what read_committed consumers have against its source."""

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.certification import (
    Expected,
    by_harm,
    judge,
    new_anomalies,
    not_unique,
    outside_truth,
    unlike_truth,
)
from eosctl.clients.rest import NotFound
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.codecs.connector_files import decode_connector
from eosctl.codecs.record_identity import selected
from eosctl.codecs.secrets import mask_properties, mask_text
from eosctl.errors import ConfigError, EosctlError, Refused, TimedOut, Undecodable, UsageError
from eosctl.files import CERTIFIED_CONFIG, read_text
from eosctl.late_pattern import late_pattern
from eosctl.model.certification import (
    FAULTS,
    Anomaly,
    Certificate,
    Claim,
    Delivered,
    Fault,
    FaultKind,
    Harm,
    Judgement,
    Place,
    Round,
    RoundResult,
    RoundVerdict,
    Selector,
    Support,
    Versions,
    Witness,
    fault_kinds,
)
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.text import pluralize
from eosctl.model.versions import KafkaVersion
from eosctl.operations.certified_site import CONNECTOR, GROUP, PATIENCE_S, CertifiedSite, SiteSpec, open_site
from eosctl.operations.certified_source import Source, SourceOptions, open_source
from eosctl.operations.connector_faults import FaultMissed, RunningConnector, bring_about
from eosctl.operations.session import Session
from eosctl.operations.session_options import Reporter, SessionOptions
from eosctl.planning.certification import schedule
from eosctl.sources.delivered_records import DeliveredRecords
from eosctl.sources.kafka_log import read_log

FLOW_S: Final = 120.0
MOST_S: Final = 900.0
FLOWS_ON_S: Final = 10.0
"""A source that makes its own records may never be quiet."""
SKIPPED_S: Final = 30.0
"""Records behind altered offsets come again; a task may pause in between."""
QUIET_S: Final = 4.0
SETTLE_S: Final = 1.0
CONFIRM_S: Final = 6.0
PROBES: Final = 8
"""For each source partition: a task that has not begun yet delivers none of its own."""
MOST_WITNESSES: Final = 20
HOOKS: Final = frozenset({"commit", "commitRecord"})
PLACEHOLDER: Final = late_pattern(r"\$\{certify:([^}]*)\}")
NOT_TRIED: Final = "No round was run; --undeclared runs the rounds nevertheless, for a verdict on losses and repeats."
UNTRIED: Final[Mapping[Support, str]] = {
    Support.UNDECLARED: f"The connector does not implement exactlyOnceSupport, which is its claim. {NOT_TRIED}",
    Support.UNSUPPORTED: f"exactlyOnceSupport answers UNSUPPORTED for this config. {NOT_TRIED}",
}
NAMES_A_CLASS: Final = late_pattern(r"(?:key|value|header)\.converter|(?:transforms|predicates)\.[^.]+\.type")
BOUNDARY_INTERVAL: Final = "transaction.boundary.interval.ms"
JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"


class CertifyRequest(Struct, frozen=True, kw_only=True):
    """The connector to certify, and the conditions; command are the words that repeat it.

    config is the connector's file. only are the rounds of the schedule to run, none: all. keep_going: continue after a
    failed round. undeclared: also certify a connector that does not declare its support.
    """

    site: SiteSpec
    config: Path
    identity: Selector
    source: SourceOptions
    lane: Selector | None = None
    order: Selector | None = None
    topics: tuple[str, ...] = ()
    rounds: int = 10
    seed: int = 0
    faults: tuple[str, ...] = ()
    only: tuple[int, ...] = ()
    keep_going: bool = False
    undeclared: bool = False
    command: tuple[str, ...] = ()


def certify(request: CertifyRequest, reporter: Reporter) -> Certificate:
    """The verdict on the connector, from rounds that it ran on brokers and workers of its own."""
    version = KafkaVersion.parse(request.site.connect_version or request.site.kafka_version)
    has_state = request.site.state is not None
    kinds = fault_kinds(request.faults, request.site.brokers, request.site.workers, version, has_state=has_state)
    written = _connector_file(request.config)
    source = request.source
    with open_site(_named_by(written, request.site), reporter) as site:
        if site.sandbox.spec.postgres and source.dsn is None:
            source = replace(source, dsn=site.sandbox.postgresql.url)
        values = _values(site, source)
        filled = _filling(values)
        config = _config({key: filled(value) for key, value in written.items()}, request)
        claim = site.claim(config)
        options = SessionOptions(
            console=reporter, bootstrap_servers=site.sandbox.bootstrap_servers, group_id=GROUP,
            connect_urls=tuple(WorkerUrl(each) for each in site.sandbox.connect_urls),
        )  # fmt: skip
        with Session(options) as session:
            if claim.exactly_once in {Support.UNDECLARED, Support.UNSUPPORTED} and not request.undeclared:
                return _certificate(
                    request, claim, written, (), (), (f"its support of exactly-once is {claim.exactly_once}",),
                    "not read", (UNTRIED[claim.exactly_once],),
                )  # fmt: skip
            opened = open_source(source, request.identity, filled, session.client_properties, _environment(values))
            selectors = request.identity, request.lane, request.order
            with DeliveredRecords(session.client_properties, selectors) as records:
                running = RunningConnector(site, opened, records, session, _supported(config, claim, request))
                return _Certification(request, kinds, claim, written, running, reporter).run()


def _named_by(written: Mapping[str, str], site: SiteSpec) -> SiteSpec:
    """The site with the classes that the config names."""
    others = sorted({value for key, value in written.items() if NAMES_A_CLASS.fullmatch(key)})
    return replace(site, connector_class=written.get("connector.class", ""), others=tuple(others))


def _connector_file(file: Path) -> Mapping[str, str]:
    return decode_connector(read_text(file, CERTIFIED_CONFIG), str(file), name=CONNECTOR)


def _values(site: CertifiedSite, source: SourceOptions) -> Mapping[str, str]:
    """The sandbox's values by the NAME of ${certify:NAME}; empty: this sandbox has none."""
    from urllib.parse import unquote, urlsplit

    url = urlsplit(source.dsn or "")
    return {
        "bootstrap.servers": site.sandbox.bootstrap_servers,
        "directory": str(site.directory),
        "state": str(site.state or ""),
        "source.host": url.hostname or "",
        "source.port": str(url.port or ""),
        "source.user": unquote(url.username or ""),
        "source.password": unquote(url.password or ""),
        "source.database": unquote(url.path.strip("/")),
    }


def _filling(values: Mapping[str, str]) -> Callable[[str], str]:
    """Puts them in the place of ${certify:NAME}. Raises UsageError for another name."""

    def value_of(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UsageError(f"{found[0]} is not known", hint=f"there are {', '.join(values)}")
        return values[found[1]]

    return lambda text: PLACEHOLDER.sub(value_of, text)


def _environment(values: Mapping[str, str]) -> Mapping[str, str]:
    """For the user's command: ${certify:source.host} is EOSCTL_CERTIFY_SOURCE_HOST."""
    return {**os.environ, **{f"EOSCTL_CERTIFY_{name.replace('.', '_').upper()}": values[name] for name in values}}


def _config(written: Mapping[str, str], request: CertifyRequest) -> Mapping[str, str]:
    """The connector's, without its name; JSON is read from JSON, unless the config names converters itself."""
    config = {key: value for key, value in written.items() if key != "name"}
    reads_json = any(
        each is not None and each.names and each.part == "json"
        for each in (request.identity, request.lane, request.order)
    )
    if reads_json and "value.converter" not in config:
        config |= {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "false"}
    return {"tasks.max": "1", **config}


def _supported(config: Mapping[str, str], claim: Claim, request: CertifyRequest) -> Mapping[str, str]:
    required = claim.exactly_once is Support.SUPPORTED and request.site.exactly_once == "enabled"
    return {**config, "exactly.once.support": "required" if required else "requested"}


def _boundaries(config: Mapping[str, str], claim: Claim) -> tuple[str, ...]:
    """The boundaries that the connector offers for this config; only its own if it sets one."""
    if "transaction.boundary" in config:
        return (config["transaction.boundary"],)
    offers = claim.transaction_boundaries is Support.SUPPORTED
    return ("poll", "interval", "connector") if offers else ("poll", "interval")


class _Certification:
    """The rounds of one certification."""

    def __init__(
        self,
        request: CertifyRequest,
        kinds: Sequence[FaultKind],
        claim: Claim,
        written: Mapping[str, str],
        running: RunningConnector,
        reporter: Reporter,
    ) -> None:
        self._request, self._claim, self._running, self._reporter = request, claim, running, reporter
        self._written = written
        self._kinds = [each for each in kinds if not each.transactional or request.site.exactly_once == "enabled"]
        self._known: list[Anomaly] = []
        self._witnesses: list[Witness] = []
        self._results: list[RoundResult] = []
        self._partitions: set[str] = set()
        self._chosen = 0

    def run(self) -> Certificate:
        request = self._request
        boundaries = _boundaries(self._running.config, self._claim) if request.site.exactly_once == "enabled" else ()
        rounds = schedule(request.seed, request.rounds, self._kinds, boundaries)
        chosen = [each for each in rounds if not request.only or each.number in {0, *request.only}]
        with self._reporter.progress("certifying", len(chosen), unit="rounds") as advance:
            for number, each in enumerate(chosen):
                result = self._round(each)
                self._results.append(result)
                self._narrate(result, len(chosen) - number - 1)
                advance(1)
                if result.verdict is RoundVerdict.FAILED and not request.keep_going:
                    break
                if self._is_hopeless():
                    break
        truth = self._running.source.truth.description
        return _certificate(
            request, self._claim, self._written, self._results, self._witnesses, self._reasons(), truth, self._notes()
        )

    def _notes(self) -> Sequence[str]:
        expected = self._running.source.expected()
        unjudged = self._order_unjudged(expected)
        notes = [f"Order was not judged: {unjudged}."] if unjudged else []
        hooks = [f"{owner}.{name}" for name, owner in self._claim.overridden.items() if name in HOOKS]
        if hooks:
            notes.append(f"{', '.join(hooks)}: Kafka Connect calls it after the commit, so no state may rest on it.")
        if outside := outside_truth(self._running.records.records, expected):
            notes.append(
                f"The truth does not have the identity of {pluralize(len(outside), 'record')}, the first "
                f"{outside[0].identity!r} at {outside[0].place}. Only their repeats were judged."
            )
        notes += [f"Offsets are not deterministic: {each}." for each in sorted(self._running.unsteady_offsets)]
        return notes

    def _is_hopeless(self) -> bool:
        """True if the connector does not even run without faults, or if two rounds in a row could not judge it."""
        judged = [each.is_judged for each in self._results]
        return judged[:1] == [False] or judged[-2:] == [False] * 2

    def _narrate(self, result: RoundResult, left: int) -> None:
        figures = (
            f"{result.delivered:,} records, {result.lost} lost, {result.doubled} doubled, {result.reordered} reordered"
        )
        why = f" ({result.reason})" if result.reason else ""
        mean = sum(each.elapsed_s for each in self._results) / len(self._results)
        ahead = f"; about {mean * left:.0f} s left" if left else ""
        self._reporter.narrate(
            f"round {result.round.number} {result.round.fault}: {result.verdict}, {figures}{why}{ahead}"
        )

    def _round(self, round_: Round) -> RoundResult:
        running, start, begun = self._running, monotonic(), len(self._running.records.records)
        written = running.source.count or 0
        running.happened.clear()
        self._chosen = 0
        reason, restarted = "", running.site.restarted_tasks
        try:
            self._break(round_, begun)
            reason = self._drain(may_abort=self._may_abort(round_))
        except (FaultMissed, EosctlError) as error:
            reason = error.message if isinstance(error, EosctlError) else str(error)
        finally:
            running.source.stop()
        found: tuple[Anomaly, ...] = ()
        try:
            found = self._judge(round_, drained=not reason)
        except EosctlError as error:
            reason = reason or error.message
        counts = by_harm(found)
        if running.source.failure is not None:
            reason = f"the load failed: {running.source.failure}"
        delivered = len(running.records.records) - begun
        if self._chosen and not reason:
            reason = (
                f"{pluralize(self._chosen, 'source record')} missing, and the connector may have aborted their "
                "transactions by its own choice: name with --expected the records that must arrive"
            )
        if not delivered and not reason:
            reason = "no record was delivered"
        verdict = RoundVerdict.FAILED if found else RoundVerdict.CANNOT_TELL if reason else RoundVerdict.HELD
        return RoundResult(
            round=round_,
            verdict=verdict,
            delivered=delivered,
            written=None if running.source.count is None else running.source.count - written,
            lost=counts[Harm.LOST],
            doubled=counts[Harm.DOUBLED],
            reordered=counts[Harm.REORDERED],
            aborted=self._chosen,
            restarted_tasks=running.site.restarted_tasks - restarted,
            elapsed_s=monotonic() - start,
            happened=tuple(running.happened),
            reason=reason,
        )

    def _break(self, round_: Round, begun: int) -> None:
        """Load, fault, healing, until the tasks run again.

        At first the source has one record: some connectors need one, and a snapshot of more has no order.
        """
        running, begins = self._running, not self._results
        running.site.revive()
        if begins:
            running.source.write(1)
        try:
            self._set_boundary(round_, begins=begins)
        except Refused as error:
            raise ConfigError(f"workers refuse the config: {error.message}") from error
        running.source.start(tuple(1 + each % 10 for each in round_.chance))
        running.site.await_running()
        self._await_flow(begun)
        bring_about(round_, running)
        running.site.await_running()
        running.source.stop()

    def _set_boundary(self, round_: Round, *, begins: bool) -> None:
        """Returns when all tasks have the round's boundary: with that of before they may abort by their own choice."""
        running = self._running
        config = {key: value for key, value in running.config.items() if key != BOUNDARY_INTERVAL}
        if round_.boundary is not None:
            config["transaction.boundary"] = round_.boundary
        if round_.boundary == "interval":
            config[BOUNDARY_INTERVAL] = "500"
        if begins:
            running.replace_config(config)
            running.site.await_running()
        elif config != running.config:
            since = running.reports()
            running.note(f"set transaction.boundary to {round_.boundary or 'its default'}")
            running.replace_config(config)
            if not running.await_reconfigured(since):
                running.restart()

    def _await_flow(self, begun: int) -> None:
        """Returns when a record of this round was delivered: what flows can be broken."""
        running, end = self._running, monotonic() + FLOW_S
        while len(running.records.records) <= begun:
            if running.source.failure is not None or monotonic() > end:
                raise TimedOut(f"no record was delivered within {FLOW_S:g} s")
            running.records.follow(self._topics())
            running.records.read()

    def _topics(self) -> Sequence[str]:
        return self._request.topics or self._running.site.topics()

    def _may_abort(self, round_: Round) -> bool:
        """Whether the connector may drop records by its own choice, and nothing says which."""
        return round_.boundary == "connector" and self._request.source.expected is None

    def _drain(self, *, may_abort: bool) -> str:
        """Returns when the source is drained: empty, or why that is unknown.

        If records are missing and nothing comes, further source records are written as probes. If the probes are
        delivered and nothing more comes, the missing records are lost. A restarted worker reports tasks as running
        before it has begun them, so each source partition has its probes.
        """
        running, begun = self._running, monotonic()
        expected = running.source.expected()
        probes: frozenset[str] | None = None
        quiet_since = monotonic()
        while monotonic() < min(quiet_since + PATIENCE_S, begun + MOST_S):
            running.records.follow(self._topics())
            if running.records.read():
                quiet_since = monotonic()
            quiet = monotonic() - quiet_since
            missing = frozenset() if expected is None else frozenset(expected.identities) - running.seen
            flows_on = running.source.load is None and monotonic() > begun + FLOWS_ON_S
            if self._has_all(expected, quiet, flows_on=flows_on):
                return ""
            if quiet >= QUIET_S and running.site.restart_failed():
                continue  # a task failed after the fault, as when a broker was killed
            if quiet >= QUIET_S and (unlike := unlike_truth(running.records.records, expected)):
                return unlike
            if expected is None and (quiet >= QUIET_S or flows_on):
                return ""
            if quiet >= QUIET_S and missing and probes is None and running.source.load is not None:
                running.site.await_running()
                expected, probes = self._probe(expected)
            waited = missing if probes is None else probes & missing
            if probes and waited != probes and quiet >= self._confirmed_s(probes - waited, waited, may_abort=may_abort):
                return ""
        if not missing:
            return "its tasks fail again and again"
        came = f"the last record came {monotonic() - quiet_since:.0f} s ago"
        return f"{pluralize(len(missing), 'source record')} not delivered, nor all that were written later; {came}"

    def _has_all(self, expected: Expected | None, quiet_s: float, *, flows_on: bool) -> bool:
        """Whether each source record came, also those that altered offsets make come again."""
        if expected is None or frozenset(expected.identities) - self._running.seen:
            return False
        if flows_on or quiet_s >= SKIPPED_S:
            return True
        settle_s = SETTLE_S if len(self._running.generations) == 1 else QUIET_S
        return quiet_s >= settle_s and not self._judgement(expected).missing

    def _confirmed_s(self, came: frozenset[str], waited: frozenset[str], *, may_abort: bool) -> float:
        """The time without a record after which missing records are lost, when these probes came.

        A connector may lose probes too. Then all source partitions flow if each has a probe that came.
        """
        if not waited or may_abort:
            return CONFIRM_S
        lanes = {each.lane for each in self._running.records.records if each.identity in came}
        return SKIPPED_S if 0 < len(self._partitions) <= len(lanes) else inf

    def _probe(self, expected: Expected | None) -> tuple[Expected | None, frozenset[str]]:
        """Writes some more source records; the truth with them, and their identities."""
        running = self._running
        self._count_partitions()
        lanes = {each.lane for each in running.records.records}
        running.source.write(PROBES * max(1, len(self._partitions), len(lanes)))
        probed = running.source.expected()
        before, now = (frozenset(() if each is None else each.identities) for each in (expected, probed))
        return probed, now - before

    def _judge(self, round_: Round, *, drained: bool) -> tuple[Anomaly, ...]:
        running = self._running
        running.read_all()
        expected = running.source.expected()
        self._count_partitions()
        found = [
            each
            for each in new_anomalies(self._judgement(expected), self._known)
            if drained or each.harm is not Harm.LOST
        ]
        if round_.fault is Fault.NONE and (why := not_unique(found, expected)):
            raise Undecodable(why)
        found = self._looked_up(found)
        self._known.extend(found)
        if self._may_abort(round_):
            # A producer that aborts drops its unsent records, so the log need not show that it aborted.
            self._chosen = sum(each.harm is Harm.LOST for each in found)
            found = [each for each in found if each.harm is not Harm.LOST]
        for each in found[: MOST_WITNESSES - len(self._witnesses)]:
            self._witnesses.append(self._witness(each, round_))
        return tuple(found)

    def _judgement(self, expected: Expected | None) -> Judgement:
        running, knows_lanes = self._running, not self._order_unjudged(expected)
        return judge(running.records.records, expected, running.generations, knows_lanes=knows_lanes)

    def _looked_up(self, found: Sequence[Anomaly]) -> list[Anomaly]:
        """The same; a lost source record gets its record in an aborted transaction, if there is one.

        Raises Undecodable if the log has a committed record that the consumer did not get.
        """
        lost = {each.identity for each in found if each.harm is Harm.LOST}
        aborted: dict[str, Place] = {}
        for topic, partition in self._running.records.ends if lost else ():
            for each in read_log(self._running.session.wire, TopicPartition(topic, partition)):
                name = selected(self._request.identity, each.key, each.value, (), partition)
                if name not in lost:
                    continue
                place = Place(topic, partition, each.offset, each.producer_id, each.producer_epoch)
                if each.state is RecordState.COMMITTED and len(self._running.generations) == 1:
                    raise Undecodable(f"{place} is committed, and the read_committed consumer did not get it")
                aborted |= {name: place} if each.state is RecordState.ABORTED else {}
        return [replace(each, aborted=aborted.get(each.identity)) if each.harm is Harm.LOST else each for each in found]

    def _count_partitions(self) -> None:
        """Notes the source partitions that have offsets by now."""
        with suppress(NotFound):  # workers before 3.6
            for each in self._running.site.offsets():
                self._partitions.add(json.dumps(each.get("partition"), sort_keys=True))

    def _order_unjudged(self, expected: Expected | None) -> str:
        """Why the order of the records is not judged; empty: it is."""
        request = self._request
        if request.order is None and (expected is None or not expected.is_ordered):
            return "the truth has no order"
        if request.lane is None and len(self._partitions) != 1:
            found = pluralize(len(self._partitions), "source partition has", "source partitions have")
            return f"{found} offsets, and --source-partition does not relate a record to an offset"
        return ""

    def _witness(self, anomaly: Anomaly, round_: Round) -> Witness:
        placed = replace(anomaly, before=self._placed(anomaly.before), after=self._placed(anomaly.after))
        until = anomaly.after.timestamp if anomaly.after is not None else Session.now()
        acts = [text for at, text in self._running.happened if at <= until]
        if not acts and anomaly.harm is Harm.LOST:  # its neighbour came before the fault
            acts = [text for _, text in self._running.happened[:1]]
        return Witness(placed, round_.number, round_.fault, acts[-1] if acts else "no fault")

    def _placed(self, record: Delivered | None) -> Delivered | None:
        """The same with the producer that wrote it, where its batch can be read."""
        if record is None:
            return None
        place = record.place
        try:
            log = read_log(self._running.session.wire, TopicPartition(place.topic, place.partition), start=place.offset)
            found = next((each for each in log if each.offset == place.offset), None)
        except EosctlError:
            return record
        if found is None:
            return record
        return replace(record, place=place._replace(producer_id=found.producer_id, producer_epoch=found.producer_epoch))

    def _reasons(self) -> tuple[str, ...]:
        """Why the connector is not certified although no fault was found."""
        return tuple(_reasons(self._request, self._claim, self._results, self._running.source))


def _reasons(request: CertifyRequest, claim: Claim, results: Sequence[RoundResult], source: Source) -> Sequence[str]:
    reasons = [f"round {each.round.number} ({each.round.fault}): {each.reason}" for each in results if each.reason]
    judged = {each.round.fault for each in results if each.is_judged}
    untried = [each.fault.value for each in FAULTS if each.is_needed and each.fault not in judged]
    if untried:
        reasons.append(f"not tried: {', '.join(untried)}")
    if isinstance(source.expected(), type(None)):
        reasons.append("losses were not judged: the records of the source are not known")
    if request.site.exactly_once != "enabled":
        reasons.append(f"exactly-once is {request.site.exactly_once} on these workers")
    if claim.exactly_once is not Support.SUPPORTED:
        reasons.append(f"its support of exactly-once is {claim.exactly_once}")
    return reasons


def _certificate(
    request: CertifyRequest,
    claim: Claim,
    written: Mapping[str, str],
    results: Sequence[RoundResult],
    witnesses: Sequence[Witness],
    reasons: Sequence[str],
    truth: str,
    notes: Sequence[str] = (),
) -> Certificate:
    site = request.site
    return Certificate(
        as_of=Session.now(),
        versions=Versions(site.kafka_version, site.connect_version or site.kafka_version, claim.plugin_version),
        claim=claim,
        plugins=site.plugins,
        config=mask_properties(written),
        seed=request.seed,
        identity=str(request.identity),
        truth=truth,
        exactly_once=site.exactly_once,
        rounds=tuple(results),
        witnesses=tuple(witnesses),
        reasons=tuple(reasons),
        notes=tuple(notes),
        repeat=shlex.join(map(mask_text, request.command)),
    )
