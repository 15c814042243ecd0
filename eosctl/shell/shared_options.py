"""The names of the shared options, their values, and how they are found before the command's name.

Each can also be set in the environment, as EOSCTL_ and its name: EOSCTL_OUTPUT=json. Repeatable ones take values
separated by spaces there.
"""

import inspect
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from typer.models import OptionInfo

from eosctl.model.report import Severity
from eosctl.render.console import ColourChoice
from eosctl.render.formats import Output

CONNECTION: Final = "Connection"
FINDINGS: Final = "Findings"
OUTPUT: Final = "Output"
SAFETY: Final = "Safety"


def _option(*names: str, help: str, panel: str, **more: Any) -> OptionInfo:  # noqa: ANN401  # Typer's own types
    env = "EOSCTL_" + max(names, key=len).lstrip("-").upper().replace("-", "_")
    more.setdefault("envvar", env)
    option: OptionInfo = typer.Option(*names, help=help, rich_help_panel=panel, show_envvar=False, **more)
    return option


def _parameter(name: str, annotation: object, default: object, option: OptionInfo) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[annotation, option])


CONNECTION_OPTIONS: Final = (
    _parameter("bootstrap_server", str | None, None, _option(
        "--bootstrap-server", "--bootstrap-servers", "-b", metavar="HOST:PORT,…", panel=CONNECTION,
        envvar="EOSCTL_BOOTSTRAP_SERVER", help="Bootstrap brokers of the Kafka cluster.")),
    _parameter("command_config", Path | None, None, _option(
        "--command-config", metavar="FILE", panel=CONNECTION, help="A Java client's properties file, used unchanged.")),
    _parameter("property_", list[str] | None, None, _option(
        "-X", metavar="KEY=VALUE", panel=CONNECTION, show_default=False,
        help="One client property, in Java's names; wins over the file. May be repeated.")),
    _parameter("connect_url", list[str] | None, None, _option(
        "--connect-url", metavar="URL", panel=CONNECTION, show_default=False,
        help="A Connect worker's REST address. May be repeated.")),
    _parameter("group_id", str | None, None, _option(
        "--group-id", metavar="ID", panel=CONNECTION, show_default=False,
        help="The Connect cluster: its workers' group.id. [default: the only one on the cluster]")),
    _parameter("worker_config", list[Path] | None, None, _option(
        "--worker-config", metavar="FILE", panel=CONNECTION, show_default=False,
        help="A worker's properties file or Strimzi's KafkaConnect: its group ID and topics, unless an option gives "
        "them. May be repeated.")),
    _parameter("profile", str | None, None, _option(
        "--profile", metavar="NAME", panel=CONNECTION,
        help="A named cluster of config.yaml; empty: none. [default: the profile of `profile use`]")),
    _parameter("timeout", float, 30.0, _option(
        "--timeout", metavar="SECONDS", min=0.001, panel=CONNECTION,
        help="Timeout of one request. A connection to a broker must open within 10 s.")),
    _parameter("max_answer", int, 32, _option(
        "--max-answer", metavar="MIB", min=1, max=1 << 20, panel=CONNECTION,
        help="Maximum size of an answer of a Connect worker.")),
)  # fmt: skip

OUTPUT_OPTIONS: Final = (
    _parameter("output", Output, Output.TABLE, _option(
        "--output", "-o", metavar="|".join(Output), panel=OUTPUT, help="The format of the answer.")),
    _parameter("output_file", Path | None, None, _option(
        "--output-file", metavar="FILE", panel=OUTPUT, help="Write the complete answer to this file, or nothing.")),
    _parameter("csv_text", bool, False, _option(
        "--csv-text", panel=OUTPUT,
        help="In CSV, put an apostrophe before a cell that a spreadsheet would read as a formula.")),
    _parameter("color", ColourChoice, ColourChoice.AUTO, _option(
        "--color", metavar="|".join(ColourChoice), panel=OUTPUT,
        help="When to use colours; auto: on a terminal. NO_COLOR and FORCE_COLOR are honoured.")),
    _parameter("no_color", bool, False, _option(
        "--no-color", panel=OUTPUT, envvar=None, help="The same as --color never.")),
    _parameter("quiet", bool, False, _option(
        "--quiet", "-q", panel=OUTPUT, help="Print only the answer, warnings and errors.")),
    _parameter("verbose", int, 0, _option(
        "--verbose", "-v", count=True, panel=OUTPUT, show_default=False,
        help="Show each request with its address and duration, and the traceback of a bug.")),
)  # fmt: skip

SNAPSHOT_OPTIONS: Final = (
    _parameter("snapshot", Path | None, None, _option(
        "--snapshot", metavar="FILE", panel=CONNECTION, help="Read from this snapshot instead of the cluster.")),
)  # fmt: skip

SAFETY_OPTIONS: Final = (
    _parameter("dry_run", bool, False, _option(
        "--dry-run", panel=SAFETY, help="Show the plan, and change nothing.")),
    _parameter("yes", bool, False, _option(
        "--yes", "-y", panel=SAFETY, help="Do not ask. Required without a terminal.")),
)  # fmt: skip

FINDING_OPTIONS: Final = (
    _parameter("severity", Severity, Severity.INFO, _option(
        "--severity", metavar="|".join(Severity), panel=FINDINGS, help="The lowest severity to show.")),
    _parameter("fail_on", Severity | None, None, _option(
        "--fail-on", metavar="|".join(Severity), panel=FINDINGS, show_default=False,
        help="The lowest severity that exits with 1, unless a waiver of the profile holds for the finding. "
        "[default: warning; upgrade-check: what blocks the step]")),
)  # fmt: skip

GATE_OPTIONS: Final = tuple(
    _parameter(name, Path | None, None, _option(f"--{name}", metavar="FILE", panel=FINDINGS, envvar=None, help=help))
    for name, help in (
        ("sarif", "Write the findings there too, as SARIF 2.1.0 for code scanning; the exit code stays."),
        ("junit", "Write the rules there too, as test cases in JUnit's XML; the exit code stays."),
    )
)

LIST_OPTIONS: Final = (
    _parameter("sort", str | None, None, _option(
        "--sort", metavar="COLUMN", panel=OUTPUT, help="Sort rows by a column; -COLUMN: descending.")),
    _parameter("limit", int | None, None, _option(
        "--limit", metavar="N", min=0, panel=OUTPUT, help="Show only the first rows.")),
)  # fmt: skip

SHARED_OPTIONS: Final = (
    *CONNECTION_OPTIONS,
    *SNAPSHOT_OPTIONS,
    *SAFETY_OPTIONS,
    *FINDING_OPTIONS,
    *GATE_OPTIONS,
    *OUTPUT_OPTIONS,
    *LIST_OPTIONS,
)


def _names(parameter: inspect.Parameter) -> tuple[str, ...]:
    option = get_args(parameter.annotation)[1]
    return (option.default, *(option.param_decls or ()))


def _is_flag(parameter: inspect.Parameter) -> bool:
    annotation, option = get_args(parameter.annotation)
    return annotation is bool or bool(option.count)


FLAGS: Final = frozenset(name for each in SHARED_OPTIONS if _is_flag(each) for name in _names(each))
"""Names of the shared options that take no value."""

VALUED: Final = frozenset(name for each in SHARED_OPTIONS if not _is_flag(each) for name in _names(each))
"""Names of the shared options that take one."""


def leading_shared(args: list[str]) -> int:
    """How many of `args`, from the first, are shared options and their values."""
    count = 0
    while count < len(args) and (taken := _argument_count(args[count])):
        count += taken
    return min(count, len(args))


def _argument_count(token: str) -> int:
    """Arguments that the shared option at the start of `token` takes, itself included; 0 where it is none."""
    if token.startswith("--"):
        name, equals, _ = token.partition("=")
        return 0 if name not in FLAGS | VALUED else 2 if name in VALUED and not equals else 1
    for place, char in enumerate(token[1:], start=1) if token.startswith("-") and len(token) > 1 else ():
        if f"-{char}" in VALUED:
            return 2 if place == len(token) - 1 else 1
        if f"-{char}" not in FLAGS:
            return 0
    return 1 if token.startswith("-") and len(token) > 1 else 0
