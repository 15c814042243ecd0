"""What the flags of migrate-offsets ask for, as a wish; flags that contradict one another are refused here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eosctl.commands.sides import TargetOptions
from eosctl.errors import ConfigError, UsageError
from eosctl.model.migration import MergeRule, MigrationWish, Move

Configs = Mapping[str, Mapping[str, object]]

OFFSETS_TOPIC_SETTING = "offsets.storage.topic"


@dataclass(frozen=True, slots=True)
class Asked:
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
    replication_factor: int = -1
    offsets_topic: str | None = None
    worker_offsets_topic: str = "connect-offsets"
    plan_file: Path | None = None

    @property
    def goes_elsewhere(self) -> bool:
        """Whether another Connect cluster or Kafka cluster was named."""
        return self.to_group_id is not None or self.target.other_cluster


def make_wish(asked: Asked, group_id: str, configs: Configs) -> MigrationWish:
    """The wish; raises UsageError for flags that contradict one another or leave something open."""
    _check_flags(asked)
    names = _names(asked)
    wish = MigrationWish(
        moves=tuple(_move(asked, old, new, configs.get(old)) for old, new in names.items()),
        source_group_id=group_id,
        target_group_id=asked.to_group_id or group_id,
        other_cluster=asked.target.other_cluster,
        merge=asked.merge,
        stop=asked.stop,
        set_config=asked.set_config,
        resume=asked.resume,
        partitions=asked.partitions,
        replication_factor=asked.replication_factor,
    )
    if not wish.elsewhere:
        _check_chains(asked, names)
    for move in wish.moves:
        if not (move.renamed or wish.elsewhere or wish.other_cluster) and move.source_topic == move.target_topic:
            raise UsageError(f"the offsets of connector {move.connector} are in topic {move.target_topic} already")
    return wish


def _check_chains(asked: Asked, names: Mapping[str, str]) -> None:
    """A name that is given away and taken: what it stands for would depend on the order of the moves."""
    both = sorted(name for name in {*names} & {*names.values()} if names[name] != name)
    if both:
        raise UsageError(
            f"{asked.rename_map} has {both[0]} as an old name and as a new one",
            hint=f"rename in two runs: {both[0]} to its new name first (two that change names: by way of a third one)",
        )


def _check_flags(asked: Asked) -> None:
    if asked.to_topic is not None and asked.to_worker_topic:
        raise UsageError("--to-topic and --to-worker-topic contradict each other")
    if asked.rename_map is not None and (asked.rename_to is not None or asked.connectors):
        raise UsageError("--rename-map names the connectors: leave out --connector and --rename-to")
    if asked.rename_map is None and not asked.connectors:
        raise UsageError("no connector was named", hint="give --connector NAME or --rename-map FILE")
    if asked.rename_to is not None and len(asked.connectors) > 1:
        raise UsageError("--rename-to is for one connector", hint="--rename-map FILE renames several")
    wanted = (asked.to_topic, asked.to_worker_topic, asked.rename_to, asked.rename_map, asked.goes_elsewhere)
    if not any(wanted):
        raise UsageError(
            "it was not said where to",
            hint="--to-topic, --to-worker-topic, --rename-to, --rename-map, --to-group-id or --to-bootstrap-server",
        )
    if asked.resume and not asked.set_config:
        raise UsageError(
            "--resume without --set-config would start the connector with its old settings: it would not use what was "
            "moved",
            hint="give --set-config as well, or resume it by hand",
        )
    if asked.target.connect_urls and not asked.goes_elsewhere:
        raise UsageError("--to-connect-url is for a move to another Connect cluster", hint="give --to-group-id as well")


def named_connectors(asked: Asked) -> tuple[str, ...]:
    """The connectors to be moved; UsageError for flags that contradict one another."""
    _check_flags(asked)
    return tuple(_names(asked))


def _names(asked: Asked) -> dict[str, str]:
    """Old names to new ones."""
    if asked.rename_map is None:
        return {name: asked.rename_to or name for name in asked.connectors}
    names = read_rename_map(asked.rename_map)
    twice = sorted({new for new in names.values() if list(names.values()).count(new) > 1})
    if twice:
        raise UsageError(f"{asked.rename_map} gives two connectors the name {twice[0]}")
    return names


def read_rename_map(path: Path) -> dict[str, str]:
    """Old names to new ones; ConfigError names the line or the name that is wrong."""
    from eosctl.sources.files import read_text

    try:
        value = json.loads(read_text(path, "--rename-map"), object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path} is not JSON at line {error.lineno} column {error.colno}") from error
    except KeyError as error:
        raise ConfigError(f"{path} names {error.args[0]!r} twice") from error
    if not isinstance(value, dict) or not value:
        raise ConfigError(f'{path} is not an object of names: {{"old": "new"}}')
    for old, new in value.items():
        if not isinstance(new, str) or not new:
            raise ConfigError(f"{path}: the new name of {old!r} is not text")
    return value


def _each_once(members: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in members:
        if name in found:
            raise KeyError(name)
        found[name] = value
    return found


def _move(asked: Asked, old: str, new: str, config: Mapping[str, object] | None) -> Move:
    own = (config or {}).get(OFFSETS_TOPIC_SETTING)
    former = own if isinstance(own, str) else None
    source = asked.offsets_topic or former or asked.worker_offsets_topic
    assumed, named = config is None and asked.offsets_topic is None, asked.offsets_topic is not None
    if asked.to_topic is not None:
        return Move(old, new, source, asked.to_topic, asked.to_topic, former, assumed=assumed, named=named)
    if asked.to_worker_topic:
        return Move(old, new, source, asked.worker_offsets_topic, None, former, assumed=assumed, named=named)
    if asked.to_group_id is not None and former is None and not asked.target.other_cluster:
        raise UsageError(
            f"connector {old} keeps its offsets in its workers' topic, and the workers of {asked.to_group_id} have "
            "another one",
            hint="name the topic with --to-topic: theirs, or one of the connector's own",
        )
    return Move(old, new, source, source, former, former, unchanged=True, assumed=assumed, named=named)
