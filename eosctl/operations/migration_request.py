"""The flags of migrate-offsets as a request; flags that contradict one another are refused here."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from eosctl.codecs.json_text import load_json
from eosctl.errors import ConfigError, UsageError
from eosctl.files import FileKind, read_text
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.migration import MergeRule, MigrationRequest, Move
from eosctl.model.names import is_topic_name
from eosctl.operations.two_clusters import TargetOptions

Configs = Mapping[str, Mapping[str, object]]


class MigrationOptions(Struct, frozen=True):
    """The command line."""

    connectors: tuple[str, ...]
    to_topic: str | None = None
    to_worker_topic: bool = False
    rename_to: str | None = None
    rename_map: Path | None = None
    to_group_id: str | None = None
    target: TargetOptions = field(default_factory=TargetOptions)
    merge: MergeRule = MergeRule.FAIL
    stop: bool = False
    set_config: bool = False
    resume: bool = False
    partitions: int = 25
    replication_factor: int | None = None
    offsets_topic: str | None = None
    worker_offsets_topic: str = "connect-offsets"
    plan_file: Path | None = None
    force: bool = False

    @property
    def goes_elsewhere(self) -> bool:
        """True if another Connect cluster or Kafka cluster was named."""
        return self.to_group_id is not None or self.target.other_cluster


def migration_request(options: MigrationOptions, group_id: str, configs: Configs) -> MigrationRequest:
    """The request; raises UsageError for flags that contradict one another or leave something open."""
    _check_flags(options)
    names = new_names(options.connectors, options.rename_to, options.rename_map)
    if options.to_group_id == group_id and not options.target.other_cluster and not _moves_within(options):
        raise UsageError(
            f"connector {', '.join(names)} is in Connect group {group_id} already",
            hint="--to-group-id names another Connect cluster; within this one, give --to-topic or --rename-to",
        )
    request = MigrationRequest(
        moves=tuple(_move(options, old, new, configs.get(old)) for old, new in names.items()),
        source_group_id=group_id,
        target_group_id=options.to_group_id or group_id,
        other_cluster=options.target.other_cluster,
        merge=options.merge,
        stop=options.stop,
        set_config=options.set_config,
        resume=options.resume,
        partitions=options.partitions,
        replication_factor=options.replication_factor,
        force=options.force,
    )
    if not request.elsewhere:
        _check_chains(options, names)
    for move in request.moves:
        if not (move.renamed or request.elsewhere or request.other_cluster) and move.source_topic == move.target_topic:
            raise UsageError(
                f"the offsets of connector {move.connector} are in topic {move.target_topic} already",
                hint=f"nothing is left to move; `eosctl offsets show --connector {move.connector}` shows them",
            )
    return request


def _moves_within(options: MigrationOptions) -> bool:
    """True if the move has another target than a Connect cluster: a topic, or a new name."""
    return bool(options.to_topic or options.to_worker_topic or options.rename_to or options.rename_map)


def _check_chains(options: MigrationOptions, names: Mapping[str, str]) -> None:
    """A name that is both old and new: its meaning would depend on the order of the moves."""
    both = sorted(name for name in {*names} & {*names.values()} if names[name] != name)
    if both:
        raise UsageError(
            f"{options.rename_map} has {both[0]} as an old name and as a new one",
            hint=f"rename in two runs: {both[0]} to its new name first (two that change names: by way of a third one)",
        )


def _check_flags(options: MigrationOptions) -> None:
    if options.to_topic is not None and options.to_worker_topic:
        raise UsageError(
            "--to-topic and --to-worker-topic contradict each other",
            hint="give --to-topic for a connector-specific offsets topic, --to-worker-topic for the worker-global one",
        )
    if options.to_topic is not None and not is_topic_name(options.to_topic):
        raise UsageError(
            f"--to-topic {options.to_topic!r} cannot be the name of a topic",
            hint="use letters, digits, `.`, `_` and `-`, at most 249",
        )
    if options.rename_map is None and not options.connectors:
        raise UsageError("no connector was named", hint="give --connector NAME or --rename-map FILE")
    wanted = (options.to_topic, options.to_worker_topic, options.rename_to, options.rename_map, options.goes_elsewhere)
    if not any(wanted):
        raise UsageError(
            "no target was named",
            hint="give one of --to-topic, --to-worker-topic, --rename-to, --rename-map, --to-group-id, "
            "--to-bootstrap-server",
        )
    if options.resume and not options.set_config:
        raise UsageError(
            "--resume without --set-config would start the connector with its old settings, and it would not use "
            "the moved offsets",
            hint="give --set-config as well, or resume it by hand",
        )
    if options.target.connect_urls and not options.goes_elsewhere:
        raise UsageError("--to-connect-url is for a move to another Connect cluster", hint="give --to-group-id as well")


def named_connectors(options: MigrationOptions) -> tuple[str, ...]:
    """The connectors to be moved; UsageError for flags that contradict one another."""
    _check_flags(options)
    return tuple(new_names(options.connectors, options.rename_to, options.rename_map))


def new_names(connectors: Sequence[str], rename_to: str | None, rename_map: Path | None) -> dict[str, str]:
    """Old names to new ones, unchanged ones included; UsageError for contradictory flags."""
    if rename_map is not None and (rename_to is not None or connectors):
        raise UsageError("--rename-map names the connectors: leave out --connector and --rename-to")
    if rename_to is not None and len(connectors) != 1:
        raise UsageError("--rename-to is for one connector", hint="--rename-map FILE renames several")
    if rename_map is None:
        return {name: rename_to or name for name in connectors}
    names = read_rename_map(rename_map)
    twice = sorted({new for new in names.values() if list(names.values()).count(new) > 1})
    if twice:
        raise UsageError(f"{rename_map} gives two connectors the name {twice[0]}")
    return names


A_MAP: Final = 'write {"old": "new"}'


def read_rename_map(path: Path, option: str = "--rename-map") -> dict[str, str]:
    """Old names to new ones, as the file of this option has them; ConfigError names the line or name that is wrong."""

    try:
        value = load_json(read_text(path, FileKind(option)), pairs=_each_once)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path} is not JSON at line {error.lineno} column {error.colno}", hint=A_MAP) from error
    except KeyError as error:
        raise ConfigError(f"{path} names {error.args[0]!r} twice") from error
    if not isinstance(value, dict) or not value:
        raise ConfigError(f"{path} is not an object of names", hint=A_MAP)
    for old, new in value.items():
        if not isinstance(new, str) or not new:
            raise ConfigError(f"{path}: the new name of {old!r} is not text", hint=A_MAP)
    return value


def _each_once(members: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in members:
        if name in found:
            raise KeyError(name)
        found[name] = value
    return found


def _move(options: MigrationOptions, old: str, new: str, config: Mapping[str, object] | None) -> Move:
    own = (config or {}).get(OFFSETS_TOPIC)
    former = own if isinstance(own, str) else None
    source = options.offsets_topic or former or options.worker_offsets_topic
    assumed, named = config is None and options.offsets_topic is None, options.offsets_topic is not None
    if options.to_topic is not None:
        return Move(old, new, source, options.to_topic, options.to_topic, former, assumed=assumed, named=named)
    if options.to_worker_topic:
        return Move(old, new, source, options.worker_offsets_topic, None, former, assumed=assumed, named=named)
    if options.to_group_id is not None and former is None and not options.target.other_cluster:
        raise UsageError(
            f"connector {old} keeps its offsets in its workers' topic, and the workers of {options.to_group_id} have "
            "another one",
            hint="name the topic with --to-topic: the worker-global topic, or a connector-specific topic",
        )
    return Move(old, new, source, source, former, former, unchanged=True, assumed=assumed, named=named)
