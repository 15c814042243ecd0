"""The pods that Spark makes of the printed command, against the schemas of Kubernetes: `make spark`.

There is no Kubernetes here to run them: spark-submit posts the driver's pod to a stand-in for the API server. A driver,
which is not started here, would post its executors' pods.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import kubernetes_validate
import pytest

from tests.spark.standalone import BUNDLED, SPARK_SUBMIT, plain_environment, printed
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)


class ApiServer(ThreadingHTTPServer):
    """Takes every object that is made, and has no others."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.made: list[dict[str, Any]] = []

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The objects of a kind that were made."""
        return [each for each in self.made if each["kind"] == kind]


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer
    protocol_version = "HTTP/1.1"

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith(("/pods", "/configmaps", "/services", "/persistentvolumeclaims")):
            self._answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []})
        else:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            self._answer(404, status)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.made.append(body)
        number = len(self.server.made)
        self._answer(201, {**body, "metadata": {**body["metadata"], "uid": f"uid-{number}", "resourceVersion": "1"}})

    def do_PATCH(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the requests are in `made`."""


@pytest.fixture
def api_server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def submitting(api_server: ApiServer, directory: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The printed command, with the address of the stand-in and the settings that follow `spark-submit` before."""
    command = printed("k8s", "cluster", BUNDLED).with_values(
        {"--master": f"k8s://http://127.0.0.1:{api_server.server_address[1]}"}
    )
    process = subprocess.Popen([SPARK_SUBMIT, *more, *command], cwd=directory, env=plain_environment())
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_drivers_pod_is_one_that_kubernetes_takes(api_server: ApiServer, tmp_path: Path):
    settings = ("--conf", "spark.kubernetes.submission.waitAppCompletion=false")
    with submitting(api_server, tmp_path, *settings) as process:
        (pod,) = eventually(lambda: api_server.of("Pod"), "the driver's pod", deadline_s=300)
        assert process.wait(300) == 0

    newest = kubernetes_validate.latest_version()
    for each in api_server.made:
        if each.get("apiVersion"):
            kubernetes_validate.validate(each, newest, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**pod, "spec": {**pod["spec"], "container": []}}, newest, strict=True)
    (container,) = pod["spec"]["containers"]
    assert "local:///opt/eosctl/eosctl_submit.py" in container["args"]
    from_secrets = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each
                    and "secretKeyRef" in each["valueFrom"]}  # fmt: skip
    assert from_secrets["KAFKA_CLIENT"] == {"name": "kafka-client", "key": "client.properties"}
    assert {"name": "kafka-client-volume", "secret": {"secretName": "kafka-client"}} in pod["spec"]["volumes"]
    (mounted,) = [each for each in container["volumeMounts"] if each["name"] == "kafka-client-volume"]
    assert mounted["mountPath"] == "/etc/kafka-client"
