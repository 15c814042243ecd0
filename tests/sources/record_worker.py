"""`python -m tests.sources.record_worker`: what a real worker answers, for the fake one, from a sandbox."""

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

RECORDING: Final = Path(__file__).resolve().parents[1] / "golden" / "worker.json"
CLASS: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
CONFIG: Final = {"name": "orders", "connector.class": CLASS, "tasks.max": "1", "file": "/dev/null", "topic": "out"}
CREATED: Final = {"name": "orders", "config": CONFIG, "initial_state": "STOPPED"}
EXPANDED: Final = "/connectors?expand=info&expand=status"
VALIDATE: Final = f"/connector-plugins/{CLASS}/config/validate"
ASKED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/", None),
    ("GET", "/connectors", None),
    ("GET", "/connector-plugins", None),
    ("PUT", VALIDATE, CONFIG),
    ("PUT", VALIDATE, CONFIG | {"exactly.once.support": "required", "topic": "", "tasks.max": "no"}),
    ("PUT", "/connectors/orders/stop", None),
    ("POST", "/connectors", CREATED),
    ("POST", "/connectors", CREATED),
    ("GET", EXPANDED, None),
    ("GET", "/connectors/orders/config", None),
    ("GET", "/connectors/orders/offsets", None),
    ("PUT", "/connectors/orders/config", CONFIG | {"tasks.max": "2"}),
    ("PUT", "/connectors/orders/resume", None),
    ("GET", EXPANDED, None),
    ("PUT", "/connectors/orders/stop", None),
    ("GET", EXPANDED, None),
    ("DELETE", "/connectors/orders", None),
    ("GET", "/connectors/orders/config", None),
)


def asked(url: str, method: str, path: str, body: Any) -> dict[str, Any]:
    """One request with its answer; of a validation only the setting about exactly-once."""
    request = urllib.request.Request(
        url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    found = json.loads(text) if text else None
    if path == VALIDATE:
        values = [{"value": each["value"]} for each in found["configs"]]
        found["configs"] = [each for each in values if each["value"]["name"] == "exactly.once.support"]
        found.pop("groups")
    return {"method": method, "path": path, "body": body, "status": status, "answer": found}


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        eosctl = [sys.executable, "-m", "eosctl", "sandbox"]
        up = subprocess.run(
            [*eosctl, "up", "--directory", place, "-o", "json"], capture_output=True, text=True, check=True
        )
        try:
            url = json.loads(up.stdout)["data"]["connect_urls"][0].rstrip("/")
            recorded = []
            for each in ASKED:
                recorded.append(asked(url, *each))
                time.sleep(5 if each[0] in {"PUT", "POST"} and "validate" not in each[1] else 0)
        finally:
            subprocess.run([*eosctl, "down", "--directory", place], check=False)
    RECORDING.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
