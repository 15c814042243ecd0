"""The storage of a KRaft node, formatted from a template that Kafka's own StorageTool made once per version."""

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from eosctl.errors import ConfigError
from eosctl.sandbox.cache import exclusive
from eosctl.sandbox.jars import KafkaJars
from eosctl.sandbox.properties import properties_text

METADATA_LOG = "__cluster_metadata-0"
TEMPLATE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
}


def new_uuid() -> str:
    """A random Kafka UUID: 22 characters of URL-safe base64, none of them a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def format_storage(
    java: Path,
    jars: KafkaJars,
    node: int,
    cluster_id: str,
    data: Path,
    features: Mapping[str, str],
    *,
    controller: bool,
) -> None:
    """Formats `data` for `node` unless it is formatted already. ConfigError when StorageTool refuses.

    The records that StorageTool writes depend on version and features only; `meta.properties` holds the IDs. So the
    tool runs once for each of those, which saves a JVM start per broker. The records are in `bootstrap.checkpoint`,
    from 4.4 on in the metadata log of the nodes that have the role controller.
    """
    if (data / "meta.properties").exists():
        return
    levels = [f"{name}={level}" for name, level in sorted(features.items())]
    template = jars.directory / "-".join(["formatted", *levels])  # log.dirs is a list: no comma in a path
    with exclusive(jars.directory.with_name(f"{jars.directory.name}.formatted.lock")):
        if not template.is_dir():
            _make_template(java, jars, levels, template)
    others = ("meta.properties",) if controller else ("meta.properties", METADATA_LOG)
    shutil.copytree(template, data, ignore=shutil.ignore_patterns(*others), dirs_exist_ok=True)
    (data / "meta.properties").write_text(_meta(template / "meta.properties", str(node), cluster_id))


def _make_template(java: Path, jars: KafkaJars, levels: Sequence[str], template: Path) -> None:
    staging = template.with_name(f"{template.name}.{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    server = staging / "server.properties"
    server.write_text(properties_text({**TEMPLATE_NODE, "log.dirs": str(staging / "data")}))
    features = [option for level in levels for option in ("--feature", level)]
    tool = [str(java), "-cp", jars.classpath, "kafka.tools.StorageTool", "format", "-t", new_uuid(), "-c", str(server)]
    answer = subprocess.run([*tool, *features], capture_output=True, text=True, check=False, timeout=120)
    if answer.returncode != 0:
        shutil.rmtree(staging)
        raise ConfigError(f"the storage of a broker could not be formatted:\n{answer.stdout}{answer.stderr}")
    (staging / "data").rename(template)
    shutil.rmtree(staging)


def _meta(template: Path, node: str, cluster_id: str) -> str:
    own = {"cluster.id": cluster_id, "node.id": node, "directory.id": new_uuid()}
    lines = [line for line in template.read_text().splitlines() if line and not line.startswith("#")]
    pairs = (line.partition("=") for line in lines)
    return "".join(f"{key}={own.get(key, value)}\n" for key, _, value in pairs)
