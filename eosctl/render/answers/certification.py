"""The answer of `certify`: the verdict on a connector, with its rounds and witnesses."""

from typing import Annotated

from msgspec import Struct

from eosctl.model.certification import (
    Certificate,
    Delivered,
    Fault,
    Harm,
    Place,
    RoundResult,
    RoundVerdict,
    Support,
    Verdict,
    Witness,
)
from eosctl.model.times import rfc3339
from eosctl.render.document import Document, Table, Tone, col, columns, row_of

VERDICTS = {"certified": Tone.GOOD, "held": Tone.GOOD, "failed": Tone.BAD, "cannot-tell": Tone.WARN}
SUPPORT = {"supported": Tone.GOOD, "unsupported": Tone.BAD, "undeclared": Tone.BAD, "unknown": Tone.WARN}


class ActRow(Struct, frozen=True):
    """Something that was done to the connector in a round."""

    at: str
    what: str


class RoundRow(Struct, frozen=True):
    """A round: the fault, and what read_committed consumers have after it."""

    number: Annotated[int, col("the round's number; round 0 has no fault", "ROUND")]
    fault: Annotated[Fault, "what was broken"]
    boundary: Annotated[str | None, col("transaction.boundary in this round; null: the connector's own config")]
    verdict: Annotated[RoundVerdict, col("held, failed, or cannot-tell with its reason", tones=VERDICTS)]
    written: Annotated[int | None, "source records that the load made; null: the source makes its own"]
    delivered: Annotated[int, "records that the consumers got"]
    lost: Annotated[int, "source records that no consumer got"]
    doubled: Annotated[int, "records that came again"]
    reordered: Annotated[int, "records that came after a later record of their source partition"]
    aborted: Annotated[int, "source records in transactions that the connector may have aborted by its own choice"]
    restarted_tasks: Annotated[int, "failed tasks that certify restarted, as an operator does"]
    elapsed_s: float
    reason: Annotated[str, "why the verdict is cannot-tell"]
    acts: list[ActRow]


class PlacedRow(Struct, frozen=True):
    """A record in an output topic and the producer that wrote it; null where the batch was not read."""

    identity: str | None
    topic: str
    partition: int
    offset: int
    producer_id: int | None
    producer_epoch: int | None
    timestamp: str | None


class WitnessRow(Struct, frozen=True):
    """A source record that proves a failure.

    lost: before and after are the nearest source records that arrived. doubled: the first record and the second.
    reordered: the record that came too early, and the one that came too late. null: there is none. aborted: the lost
    source record's record in an aborted transaction.
    """

    harm: Annotated[Harm, "lost, doubled or reordered"]
    identity: Annotated[str, "the source record"]
    round: Annotated[int, "the round in which it was found"]
    fault: Fault
    fault_act: Annotated[str, col("the action just before", "JUST-BEFORE")]
    before: PlacedRow | None
    after: PlacedRow | None
    aborted: PlacedRow | None
    places: Annotated[str, "records that show it: topic, partition and offset, and their producer"]


class ClaimRow(Struct, frozen=True):
    """The connector's claim for its config, by the worker's preflight checks."""

    connector_class: Annotated[str, col("connector.class", "CLASS")]
    plugin_version: Annotated[str, col("the plugin's version", "PLUGIN")]
    exactly_once_support: Annotated[Support, col("exactlyOnceSupport() for this config", "EXACTLY-ONCE", tones=SUPPORT)]
    transaction_boundaries: Annotated[Support, col("canDefineTransactionBoundaries() for this config", "BOUNDARIES")]
    said: Annotated[list[str], "the worker's message"]
    overridden: Annotated[dict[str, str], "methods that matter to exactly-once, and the class that has each"]
    methods: Annotated[str, "methods of the plugin that matter to exactly-once"]


class CertificateData(Struct, frozen=True):
    """The verdict, its basis, and how to repeat it; witness is the first of witnesses."""

    verdict: Verdict
    reasons: list[str]
    kafka_version: str
    connect_version: str
    exactly_once: str
    plugins: Annotated[list[str], "--plugin as it was typed; none: the workers' own"]
    config: Annotated[dict[str, object], "the connector's config, secrets hidden"]
    claim: ClaimRow
    seed: int
    identity: str
    truth: str
    delivered: Annotated[int, "records that the consumers got in all rounds"]
    faults: Annotated[list[Fault], "faults that were tried"]
    rounds: list[RoundRow]
    witness: WitnessRow | None
    witnesses: list[WitnessRow]
    notes: list[str]
    repeat: str
    claims: list[ClaimRow]


CLAIMS = Table(
    "claims",
    columns(ClaimRow, "connector_class plugin_version exactly_once_support transaction_boundaries methods"),
    title="Claim",
)
ROUNDS = Table(
    "rounds",
    columns(RoundRow, "number fault boundary verdict written delivered lost doubled reordered reason"),
    title="Rounds",
)
WITNESSES = Table("witnesses", columns(WitnessRow, "harm identity round fault_act places"), title="Witnesses", most=5)


def view_certificate(certificate: Certificate) -> Document:
    """The verdict, the claim, the rounds and the witnesses."""
    claim = certificate.claim
    claimed = ClaimRow(
        connector_class=claim.connector_class,
        plugin_version=claim.plugin_version,
        exactly_once_support=claim.exactly_once,
        transaction_boundaries=claim.transaction_boundaries,
        said=list(claim.said),
        overridden=dict(claim.overridden),
        methods=", ".join(claim.overridden),
    )
    witnesses = [_witness_row(each) for each in certificate.witnesses]
    data = CertificateData(
        verdict=certificate.verdict,
        reasons=list(certificate.reasons),
        kafka_version=certificate.versions.kafka,
        connect_version=certificate.versions.connect,
        exactly_once=certificate.exactly_once,
        plugins=list(certificate.plugins),
        config=dict(certificate.config),
        claim=claimed,
        seed=certificate.seed,
        identity=certificate.identity,
        truth=certificate.truth,
        delivered=certificate.delivered,
        faults=list(certificate.faults),
        rounds=[_round_row(each) for each in certificate.rounds],
        witness=witnesses[0] if witnesses else None,
        witnesses=witnesses,
        notes=list(certificate.notes),
        repeat=certificate.repeat,
        claims=[claimed],
    )
    return Document(
        kind="certificate",
        as_of=rfc3339(certificate.as_of),
        data=data,
        blocks=tuple(each for each in (ROUNDS, CLAIMS, WITNESSES) if getattr(data, each.rows)),
        prose=(certificate.sentence, f"to repeat it: {certificate.repeat}"),
        notes=certificate.notes,
        concludes=True,
    )


def _round_row(result: RoundResult) -> RoundRow:
    acts = [ActRow(at=rfc3339(at), what=what) for at, what in result.happened]
    return row_of(
        RoundRow,
        result,
        number=result.round.number,
        fault=result.round.fault,
        boundary=result.round.boundary,
        acts=acts,
        elapsed_s=round(result.elapsed_s, 1),
    )


def _witness_row(witness: Witness) -> WitnessRow:
    anomaly = witness.anomaly
    sides = [each for each in (anomaly.before, anomaly.after) if each is not None]
    return WitnessRow(
        harm=anomaly.harm,
        identity=anomaly.identity,
        round=witness.round,
        fault=witness.fault,
        fault_act=witness.fault_act,
        before=_placed(anomaly.before),
        after=_placed(anomaly.after),
        aborted=None if anomaly.aborted is None else _row(anomaly.identity, anomaly.aborted, None),
        places=" then ".join(str(each.place) for each in sides)
        + ("" if anomaly.aborted is None else f"; aborted: {anomaly.aborted}"),
    )


def _placed(record: Delivered | None) -> PlacedRow | None:
    return None if record is None else _row(record.identity, record.place, record.timestamp)


def _row(identity: str | None, place: Place, timestamp: int | None) -> PlacedRow:
    return PlacedRow(
        identity=identity,
        topic=place.topic,
        partition=place.partition,
        offset=place.offset,
        producer_id=place.producer_id,
        producer_epoch=place.producer_epoch,
        timestamp=None if timestamp is None else rfc3339(timestamp),
    )
