"""One cycle of `watch`: the samples as a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.report import Severity
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import lasting, rfc3339
from eosctl.model.watch import Observation
from eosctl.render.document import Column, Document, Fields, Table, Tone, columns, figure

# The answer of `watch --once`.


class SampleRow(Struct, frozen=True):
    """A value of a metric (docs/metrics.md); labels by their names."""

    metric: Annotated[str, "the name of the metric"]
    labels: Annotated[dict[str, str], "its labels, without the profile's label"]
    value: Annotated[float, "its value"]


class WatchData(Struct, frozen=True):
    """Every sample of one cycle; profile is empty where none is in use."""

    profile: str
    samples: list[SampleRow]


SAMPLES: Final = Table(
    "samples",
    columns(SampleRow, "metric labels value"),
    empty="nothing was read",
)


def view_observation(found: Observation) -> Document:
    """`watch --once`: every sample as it would be exposed."""
    rows: list[SampleRow] = [
        SampleRow(
            metric=each.metric.name,
            labels=dict(zip(each.metric.labels, each.labels, strict=True)),
            value=each.value,
        )
        for each in found.samples
    ]
    data = WatchData(profile=found.profile, samples=rows)
    return Document(
        kind="watch",
        as_of=rfc3339(found.cycle.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(SAMPLES,),
    )


# `watch --live`: one cycle as a summary, and the rows that need attention.  All figures come from the samples, so the
# terminal and the metrics agree. An unread fact has no sample, and is `not known` here.


Labels = Mapping[str, str]
Series = Sequence[tuple[Labels, float]]
NOT_KNOWN: Final = "not known"
QUIET: Final = "EOS160"
TASK: Final = Column("TASK", "task", "its connector and task")
ID: Final = Column("TRANSACTIONAL-ID", "transactional_id", "the transactional ID of the transaction")
AGE: Final = figure("SINCE-S", "since_s", "for how many seconds")
PLACE: Final = Column("PARTITION", "partition", "topic and partition")
TABLES: Final = (
    Table("held_back", (PLACE, AGE, ID, TASK), title="Read_committed consumers are held back"),
    Table(
        "hanging",
        (
            PLACE,
            AGE,
            ID,
            TASK,
            Column("ADVICE", "advice", "what to do: abort, commit, fence, complete, wait or unknown"),
        ),
        title="Hanging transactions",
    ),
    Table(
        "open",
        (ID, TASK, Column("STATE", "state", "the coordinator's state of the transaction"), AGE),
        title="Open transactions",
    ),
    Table(
        "quiet",
        (TASK, AGE, figure("RATIO", "ratio", "SINCE-S divided by the longest interval between two commits before")),
        title="Since the last commit",
    ),
    Table(
        "unread",
        (
            Column("COMMAND", "command", "the command that needs a fact that was not read"),
            Column("WHAT", "what", "the fact"),
            Column("CAUSE", "cause", "why it was not read"),
        ),
        title="Not read",
    ),
)
"""In the order of the screen."""


def view_live(found: Observation, now_ms: int, most: int) -> Document:
    """One cluster at now_ms (ms since the epoch), with that many rows of each table."""
    read = _Read(found, now_ms)
    summary = {name: text for name, text, _ in read.summary()}
    lines = tuple(Column(name, name, tones={} if tone is None else {text: tone}) for name, text, tone in read.summary())
    rows = {each.rows: list(read.rows(each.rows)) for each in TABLES}
    shown = tuple(_titled(each, len(rows[each.rows]), most) for each in TABLES if rows[each.rows])
    data = {"summary": summary, **{name: every[:most] for name, every in rows.items()}}
    return Document(
        kind="watch",
        as_of=rfc3339(found.cycle.as_of),
        cluster_id=found.cluster_id,
        data=data,
        prose=(read.heading(),),
        blocks=(Fields(lines, at="summary"), *shown),
    )


def _titled(table: Table, count: int, most: int) -> Table:
    return table if count <= most else replace(table, title=f"{table.title}: {most} of {count}")


class _Read:
    """The samples of one cycle by their metrics' names, without `eosctl_`."""

    def __init__(self, found: Observation, now_ms: int) -> None:
        self._found, self._now_ms = found, now_ms
        self._series: dict[str, list[tuple[Labels, float]]] = {}
        for each in found.samples:
            labels = dict(zip(each.metric.labels, each.labels, strict=True))
            self._series.setdefault(each.metric.name.removeprefix("eosctl_"), []).append((labels, each.value))

    def heading(self) -> str:
        cycle, cluster = self._found.cycle, self._found.cluster_id or "a cluster whose ID is not known"
        ago, took = lasting(max(0, self._now_ms - cycle.as_of)), lasting(cycle.duration_ms)
        name = f"{self._found.profile}, {cluster}" if self._found.profile else cluster
        return f"{name}: the last cycle ended {ago} ago and took {took}; q ends it"

    def summary(self) -> Iterator[tuple[str, str, Tone | None]]:
        """Name, text and tone of each line."""
        yield "HELD-BACK", *self._counted("lso_held_partitions", "lso_held_seconds", Tone.WARN)
        yield "HANGING", *self._hanging()
        yield "OPEN", *self._counted("open_transactions", "open_transaction_age_seconds", None)
        yield "FENCING", *self._named("fencing_pending", "a round is pending of")
        yield "EPOCHS", *self._counted("producer_epochs_near_exhaustion", "", Tone.WARN, "near exhaustion")
        yield "EXPIRY", *self._counted("transactional_ids_near_expiry", "", Tone.WARN, "near expiry")
        yield "OFFSETS", *self._offsets()
        yield "TASKS", *self._quiet()
        yield "FINDINGS", *self._findings()
        yield "UNREAD", *self._counted("unread_facts", "", Tone.BAD)
        yield "READ", self._readings(), None

    def rows(self, table: str) -> Iterator[Mapping[str, object]]:
        """The rows of one of the tables, the worst first."""
        if table == "unread":
            yield from (labels for labels, _ in self._all("unread"))
            return
        names = {
            "held_back": "lso_held_seconds",
            "hanging": "hanging_transaction_age_seconds",
            "open": "open_transaction_age_seconds",
            "quiet": "task_since_commit_seconds",
        }
        ratios = {tuple(labels.values()): ratio for labels, ratio in self._all("task_quiet_ratio")}
        for labels, value in self._all(names[table]):
            ratio = ratios.get(tuple(labels.values()))
            yield {
                **labels,
                "partition": f"{labels.get('topic')}-{labels.get('partition')}",
                "transactional_id": labels.get("transactional_id") or None,
                "task": f"{labels['connector']}-{labels['task']}" if labels["connector"] else None,
                "since_s": round(value),
                "ratio": None if ratio is None else f"{ratio:.1f}",
            }

    def _all(self, name: str) -> Series:
        return self._series.get(name, ())

    def _value(self, name: str) -> float | None:
        return next((value for _, value in self._all(name)), None)

    def _counted(self, name: str, oldest: str, tone: Tone | None, words: str = "") -> tuple[str, Tone | None]:
        count = self._value(name)
        if count is None:
            return NOT_KNOWN, Tone.WARN
        ages = [value for _, value in self._all(oldest)]
        more = f", the longest for {lasting(1000 * max(ages))}" if ages else ""
        return f"{count:,.0f}{f' {words}' if words else ''}{more}", tone if count else None

    def _hanging(self) -> tuple[str, Tone | None]:
        text, tone = self._counted("hanging_transactions", "hanging_transaction_age_seconds", Tone.BAD)
        undecided = self._value("hanging_undecided_transactions")
        return f"{text}; {undecided:,.0f} undecided" if undecided else text, tone

    def _named(self, name: str, words: str) -> tuple[str, Tone | None]:
        series = self._all(name)
        due = [labels["connector"] for labels, value in series if value]
        if not series:
            return NOT_KNOWN if self._found.coverage.gaps else "none of enabled workers", None
        return (f"{words} {first_few(due)}", Tone.WARN) if due else ("none pending", None)

    def _offsets(self) -> tuple[str, Tone | None]:
        ages = sorted(((value, labels["connector"]) for labels, value in self._all("source_offset_age_seconds")))
        shadows = [labels["connector"] for labels, value in self._all("null_shadows") if value]
        parts = (
            [f"of {pluralize(len(ages), 'connector')}, the oldest {lasting(1000 * ages[-1][0])} ({ages[-1][1]})"]
            if ages
            else []
        )
        parts += [f"shadowed offsets of {first_few(shadows)}"] if shadows else []
        return "; ".join(parts) or NOT_KNOWN, Tone.BAD if shadows else None

    def _quiet(self) -> tuple[str, Tone | None]:
        tasks = self._all("task_since_commit_seconds")
        if not tasks:
            return "no commit of a RUNNING task is known", None
        newest, oldest = (lasting(1000 * ends(value for _, value in tasks)) for ends in (min, max))
        quiet = int(sum(value for labels, value in self._all("findings") if labels["rule"] == QUIET))
        words = f"; {pluralize(quiet, 'connector')} quieter than ever ({QUIET})" if quiet else ""
        return f"last commits {newest} to {oldest} ago{words}", Tone.WARN if quiet else None

    def _findings(self) -> tuple[str, Tone | None]:
        rules: dict[str, dict[str, float]] = {}
        for labels, value in self._all("findings"):
            if value:
                rules.setdefault(labels["severity"], {})[labels["rule"]] = value
        if not self._all("findings"):
            return NOT_KNOWN, Tone.WARN
        parts = [
            f"{pluralize(int(sum(rules[each].values())), each)} ({first_few(sorted(rules[each]))})"
            for each in map(str, Severity)
            if each in rules
        ]
        worst = next(
            (tone for each, tone in ((Severity.ERROR, Tone.BAD), (Severity.WARNING, Tone.WARN)) if each in rules), None
        )
        return ", ".join(parts) or "none", worst

    def _readings(self) -> str:
        ages = [(labels["command"], self._now_ms - 1000 * value) for labels, value in self._all("read_as_of_seconds")]
        return ", ".join(f"{command} {lasting(max(0, age))} ago" for command, age in ages) or "nothing"
