"""A script that plays Strimzi's operator for connectors, as AbstractConnectOperator does it, and kubectl."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
import yaml

DELAY_S = 1.0
"""How long after it was applied a resource is carried out."""
ACTIONS = {"stopped": ("STOPPED", "stop"), "running": ("RUNNING", "resume"), "paused": ("PAUSED", "pause")}


def _connectors(resource: dict) -> Iterator[dict]:
    """KafkaConnectors unchanged, and those that KafkaMirrorMaker2Connectors makes of a KafkaMirrorMaker2 (v1)."""
    if resource["kind"] == "KafkaConnector":
        yield resource
    for mirror in resource["spec"]["mirrors"] if resource["kind"] == "KafkaMirrorMaker2" else ():
        source, target, spec = mirror["source"], resource["spec"]["target"], mirror["sourceConnector"]
        sides = {
            f"{side}.cluster.{key}": each[field]
            for side, each in (("source", source), ("target", target))
            for key, field in (("alias", "alias"), ("bootstrap.servers", "bootstrapServers"))
        }
        name = f"{source['alias']}->{target['alias']}.MirrorSourceConnector"
        config = {**sides, **spec["config"], "topics": mirror["topicsPattern"]}
        class_name = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
        labels = {"strimzi.io/cluster": resource["metadata"]["name"]}
        yield {"metadata": {"name": name, "labels": labels}, "spec": {**spec, "class": class_name, "config": config}}


class Operator:
    """Reconciles connectors with a worker: config first, then state. Connectors without a resource are deleted.

    cluster is the KafkaConnect or KafkaMirrorMaker2 that the worker belongs to; KafkaConnectors with another label are
    none of its. Only connectors whose name begins with the prefix are looked at: the worker is shared.
    """

    def __init__(self, url: str, prefix: str, cluster: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False, verify=False)
        self._prefix, self._cluster = prefix, cluster
        self._lock = threading.Lock()
        self._resources: dict[str, tuple[float, dict]] = {}
        self._config_maps: dict[str, dict[str, str]] = {}
        self.done: list[str] = []
        self.errors: list[str] = []

    def apply(self, file: Path | str) -> None:
        """`kubectl apply -f`."""
        text = Path(file).read_text()
        for resource in yaml.safe_load_all(text):
            with self._lock:
                if resource["kind"] == "ConfigMap":
                    self._config_maps[resource["metadata"]["name"]] = resource["data"]
                for each in _connectors(resource):
                    self._resources.pop(each["metadata"]["name"], None)
                    if each["metadata"]["labels"]["strimzi.io/cluster"] == self._cluster:
                        self._resources[each["metadata"]["name"]] = (time.monotonic() + DELAY_S, each)

    def delete(self, name: str) -> None:
        """`kubectl delete kafkaconnector`."""
        with self._lock:
            del self._resources[name]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Reconciles while the block runs."""
        over = threading.Event()

        def reconcile() -> None:
            while not over.wait(0.2):
                try:
                    self._reconcile()
                except (httpx.HTTPError, KeyError) as error:  # a rebalance; the next reconciliation comes
                    self.errors.append(repr(error))

        thread = threading.Thread(target=reconcile)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _reconcile(self) -> None:
        with self._lock:
            resources = dict(self._resources)
        known = self._http.get("/connectors").raise_for_status().json()
        for name in known:
            if name.startswith(self._prefix) and name not in resources:
                self._act("DELETE", name)
        for name, (due, resource) in resources.items():
            if time.monotonic() > due:
                self._reconcile_one(name, resource["spec"])
                self._manage_offsets(name, resource)

    def _reconcile_one(self, name: str, spec: dict) -> None:
        wanted = {key: str(value) for key, value in (spec.get("config") or {}).items()}
        wanted |= {"name": name, "connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}
        path = f"/connectors/{quote(name, safe='')}"
        answer = self._http.get(f"{path}/config")
        if answer.status_code == 404 or answer.raise_for_status().json() != wanted:
            self._act("PUT", name, "/config", wanted)
        state = self._http.get(f"{path}/status").raise_for_status().json()["connector"]["state"]
        shall, verb = ACTIONS[spec.get("state", "running")]
        if state != shall and state in {"RUNNING", "PAUSED", "STOPPED"}:
            self._act("PUT", name, f"/{verb}")

    def _manage_offsets(self, name: str, resource: dict) -> None:
        """`strimzi.io/connector-offsets: alter` of a STOPPED connector; the annotation is removed then."""
        annotations = resource["metadata"].get("annotations", {})
        state = self._http.get(f"/connectors/{quote(name, safe='')}/status").json()["connector"]["state"]
        if annotations.get("strimzi.io/connector-offsets") == "alter" and state == "STOPPED":
            config_map = self._config_maps[resource["spec"]["alterOffsets"]["fromConfigMap"]["name"]]
            self._act("PATCH", name, "/offsets", json.loads(config_map["offsets.json"]))
            del annotations["strimzi.io/connector-offsets"]

    def _act(self, method: str, name: str, path: str = "", body: object = None) -> None:
        self._http.request(method, f"/connectors/{quote(name, safe='')}{path}", json=body).raise_for_status()
        self.done.append(f"{method} {name}{path}")
