"""The producers that had a transactional ID, one after the other, as the transaction log shows them."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.producer_state import ProducerStates
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import LogAnswer
from eosctl.model.transactions import Ownership


class EpochEnd(StrEnum):
    """The end of a producer's epochs.

    fenced: a later InitProducerId; timed-out: its coordinator, which aborted its transaction; expired: its coordinator,
    which forgot the ID; closed: the producer's own end of a transaction, which took the last epoch of its producer ID.
    """

    FENCED = "fenced"
    TIMED_OUT = "timed-out"
    EXPIRED = "expired"
    CLOSED = "closed"
    UNKNOWN = "unknown"


class ProducerEpochs(Struct, frozen=True):
    """One producer of a transactional ID, from its InitProducerId on; times are in ms since the epoch.

    producer has the epoch of its InitProducerId, or the first one that the log still has: begun_ms is None then.
    last_epoch is its last one: with transaction.version 2 each transaction takes one. committed and aborted count its
    transactions. client_version is the transaction.version by which it wrote, None where no record says it.

    ended_by is None while it has the ID; `by` says in words who or what ended it. was_open says whether a transaction
    was open then, None where the log does not show it. certain is False where the log would look the same in another
    case, which `by` names. partition and offset are the place of its first record.
    """

    transactional_id: str
    partition: int
    offset: int
    producer: ProducerIdAndEpoch
    last_epoch: int
    begun_ms: int | None
    last_ms: int
    committed: int
    aborted: int
    timeout_ms: int
    client_version: int | None
    ended_ms: int | None = None
    ended_by: EpochEnd | None = None
    by: str | None = None
    was_open: bool | None = None
    certain: bool = True


class EpochHistory(LogAnswer, frozen=True, kw_only=True):
    """The producers of each ID in their order, IDs by name. left_out are older ones that were read and are not kept."""

    epochs: tuple[ProducerEpochs, ...]
    left_out: int
    owners: Mapping[str, Ownership]
    findings: tuple[Finding, ...]

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings


class PrefixChurn(Struct, frozen=True):
    """The IDs of the transaction log that differ in their numbers, UUIDs or pod names only.

    ids are those that their coordinators have not forgotten, open those with a transaction in progress. new were
    initialized for the first time within the last day, by the records that the log still has: compaction removes the
    oldest, so there may be more. idle are those without a record for a day, and idle_per_day as many of them as fall on
    a day. Of the idle ones, used_once had one producer and at most one transaction, used_again more; of the others
    compaction left too few records. expiring are those in the last seventh of transactional.id.expiration.ms that were
    used again, None where that is not known; first_expiry_ms is when the first one is forgotten. Where no ID is new,
    they include the expiring_unknown ones, of which compaction left too few records: clients keep their IDs there.
    """

    prefix: str
    ids: int
    open: int
    new: int
    idle: int
    idle_per_day: float
    used_once: int
    used_again: int
    expiring: int | None = None
    expiring_unknown: int = 0
    first_expiry_ms: int | None = None
    an_id: str = ""


class IdChurn(LogAnswer, frozen=True, kw_only=True):
    """Prefixes of transactional IDs, those with most idle IDs first; other_ids counts the IDs of further prefixes.

    states are Skipped where they were not requested.
    """

    prefixes: tuple[PrefixChurn, ...]
    other_ids: int
    expiration_ms: int | Skipped
    states: ProducerStates | Skipped
    findings: tuple[Finding, ...]

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings
