"""One cycle of `watch`: the answers of the commands that it asks, and the samples made of them."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.model.hanging import HangingTransactions, LastStableOffsets
from eosctl.model.ledger import JobSummary
from eosctl.model.offsets import OffsetsReport
from eosctl.model.producer_epochs import IdChurn
from eosctl.model.report import Result
from eosctl.model.rules import Diagnosis
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked
from eosctl.model.transaction_log import LogReading
from eosctl.model.transactions import TransactionList


class Metric(Struct, frozen=True):
    """One gauge. bound is the most series that it has of one cluster; further ones are left out and counted."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    bound: int = 1


class Sample(NamedTuple):
    """One value of a metric; labels are in the order of the metric's."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


class Alert(Struct, frozen=True):
    """A condition that needs attention: the metric with these labels meets the condition for `lasting`, in Prometheus'
    terms.

    metric_seen is the compared value: by default the metric, or another expression with {} for the series. commands are
    three to run then, with `<profile>`, `<connector>` and the like for the alert's labels.
    """

    name: str
    metric: Metric
    condition: str
    lasting: str
    severity: str
    summary: str
    labels: tuple[tuple[str, str], ...] = ()
    metric_seen: str = "{}"
    commands: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Its place on the page of alerts, docs/alerts.md."""
        return self.name.lower()

    @property
    def expression(self) -> str:
        selector = ", ".join(f'{name}="{value}"' for name, value in self.labels)
        series = f"{self.metric.name}{{{selector}}}" if selector else self.metric.name
        return f"{self.metric_seen.replace('{}', series)} {self.condition}".strip()


class PanelKind(StrEnum):
    """How a panel of Grafana shows its metrics: the value now, over time, or as rows with their labels."""

    STAT = "stat"
    TIME_SERIES = "timeseries"
    TABLE = "table"


class Panel(NamedTuple):
    """One panel of a dashboard: metrics of one unit.

    expression is each one's value, in PromQL, with {} for the series; labels choose among them. bad_from is the
    value from which on it is red, None where no value is bad.
    """

    title: str
    kind: PanelKind
    metrics: tuple[Metric, ...]
    expression: str = "{}"
    labels: tuple[tuple[str, str], ...] = ()
    bad_from: float | None = None

    @property
    def unit(self) -> str:
        """The unit, in Grafana's terms, that the names of its metrics have by their end (or `short`)."""
        return "s" if all(each.name.endswith("_seconds") for each in self.metrics) else "short"


class PanelRow(NamedTuple):
    title: str
    panels: tuple[Panel, ...]


class Answers(Struct, frozen=True):
    """The answer of each command; Skipped where it ended with an error, or was not asked."""

    diagnosis: Diagnosis | Skipped
    transactions: TransactionList | Skipped
    hanging: HangingTransactions | Skipped
    last_stable: LastStableOffsets | Skipped
    offsets: OffsetsReport | Skipped
    audits: tuple[JobSummary, ...] | Skipped
    churn: IdChurn | Skipped = not_asked("--churn was not given")

    @classmethod
    def none(cls, reason: Skipped) -> "Answers":
        return cls(reason, reason, reason, reason, reason, reason)

    @property
    def by_command(self) -> Mapping[str, object]:
        return {
            "doctor": self.diagnosis,
            "transactions list": self.transactions,
            "transactions hanging": self.hanging,
            "transactions lso": self.last_stable,
            "offsets show": self.offsets,
            "audit status": self.audits,
            "transactions churn": self.churn,
        }

    @property
    def as_of(self) -> Iterator[tuple[str, int]]:
        """When each answer was read (ms since the epoch), with its command."""
        for command, answer in self.by_command.items():
            match answer:
                case Diagnosis():
                    yield command, answer.evidence.as_of
                case TransactionList() | HangingTransactions() | LastStableOffsets() | OffsetsReport() | IdChurn():
                    yield command, answer.as_of

    @property
    def unread(self) -> Iterator[tuple[str, Unread]]:
        """The unread facts that these answers need, each with its command."""
        for command, answer in self.by_command.items():
            if isinstance(answer, Skipped) and answer.cause.is_gap:
                yield command, Unread("the whole answer", answer.reason, answer.cause)
            elif isinstance(answer, Result):
                yield from ((command, each) for each in answer.coverage.gaps or _lacking(answer))


def _lacking(answer: Result) -> tuple[Unread, ...]:
    """The gap of an answer whose coverage names none, such as a record that a rule cannot decode."""
    if answer.complete and answer.failure is None:
        return ()
    reason = "run the command itself for the details" if answer.failure is None else answer.failure.message
    return (Unread("a part of the answer", reason, Cause.UNKNOWN),)


class Cycle(Struct, frozen=True):
    """The course of a cycle: times in ms since the epoch, requests by the kind of peer.

    last_success is the end of the last cycle that read everything, or None.
    """

    as_of: int
    duration_ms: int
    requests: Mapping[str, int]
    last_success: int | None = None


NO_CYCLE_IN_TIME: Final = Unread("a cycle that ended in time", "no cycle ended for long", Cause.UNKNOWN)


class Observation(Result, frozen=True, kw_only=True):
    """The findings of one cycle, as samples; the coverage names the missing parts of each command.

    profile is the name of the cluster's profile, or empty. when_stale are the samples that remain true after the others
    have expired. log is the reading of the transaction log that the next cycle continues, churn the last one of
    all IDs.
    """

    profile: str
    cycle: Cycle
    cluster_id: str | None
    samples: tuple[Sample, ...]
    when_stale: tuple[Sample, ...]
    log: LogReading = field(default_factory=LogReading)
    churn: IdChurn | None = None

    @property
    def stale(self) -> "Observation":
        """The part that still holds when no cycle has replaced it for long."""
        return replace(self, samples=self.when_stale, coverage=Coverage((), (NO_CYCLE_IN_TIME,)))


class Emitted(StrEnum):
    PROMETHEUS_RULES = "prometheus-rules"
    GRAFANA_DASHBOARD = "grafana-dashboard"
    SYSTEMD = "systemd"
    SYSTEMD_AUDIT = "systemd-audit"
    SYSTEMD_TIMER = "systemd-timer"
    KUBERNETES = "kubernetes"

    @property
    def names_profiles(self) -> bool:
        return self in {Emitted.SYSTEMD, Emitted.KUBERNETES}


class WatchFile(Result, frozen=True, kw_only=True):
    """The contents of a file to install.

    rows make up the dashboard. each_cluster is a metric that every cluster has after every cycle. profiles are the
    watched ones. address is where metrics are served. every_s is the interval between the beginnings of two cycles.
    program is the path of eosctl.
    """

    kind: Emitted
    alerts: tuple[Alert, ...]
    rows: tuple[PanelRow, ...]
    each_cluster: Metric
    profiles: tuple[str, ...]
    address: str
    every_s: float
    program: str
    version: str
    runbooks: str
