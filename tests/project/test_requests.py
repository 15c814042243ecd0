"""docs/dev/requests.md names every place that sends a request which is not a plain read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

KAFKA = {
    "init_producer_id": "InitProducerId",
    "add_partition": "AddPartitionsToTxn",
    "produce": "Produce",
    "end_transaction": "EndTxn",
    "write_marker": "WriteTxnMarkers",
    "create_acls": "CreateAcls",
    "delete_acls": "DeleteAcls",
    "TransactionalProducer": "TransactionalProducer",
}
TOPICS = {"create_topics": "CreateTopics", "delete_topics": "DeleteTopics"}
ALL = {**KAFKA, "OTLPMetricExporter": "POST"}
HTTP = {"request", "HttpRequest"}


def sent(root: Path) -> Iterator[tuple[str, str]]:
    """Each request, and the file that sends it."""
    for path in sorted((root / "eosctl").rglob("*.py")):
        place = str(path.relative_to(root / "eosctl"))
        if place.startswith("sandbox/"):  # of a Kafka of its own
            continue
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            method = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else "GET"
            # There, `produce` is librdkafka's, in the transaction that TransactionalProducer stands for.
            if isinstance(call.func, ast.Name) and call.func.id in ALL and place != "clients/librdkafka.py":
                yield ALL[call.func.id], place
            elif isinstance(call.func, ast.Attribute) and call.func.attr in TOPICS:
                yield TOPICS[call.func.attr], place
            elif getattr(call.func, "attr", getattr(call.func, "id", "")) in HTTP and method != "GET":
                yield str(method), place


def listed(root: Path) -> Iterator[tuple[str, str]]:
    """The same by the page."""
    known = "|".join(sorted({*KAFKA.values(), *TOPICS.values(), "PUT", "POST", "DELETE"}))
    for line in (root / "docs" / "dev" / "requests.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) > 3 and (place := re.search(r"`([\w/]+\.py)`", cells[2])):
            yield from ((name, place[1]) for name in re.findall(rf"\b({known})\b", cells[1]))


def test_every_request_that_is_not_a_plain_read_is_on_the_page_with_the_place_that_sends_it(root: Path) -> None:
    assert set(sent(root)) == set(listed(root))


def test_http_leaves_by_two_places_alone(root: Path) -> None:
    """RestClient, which refuses what is not for a discovered address, and the token request."""
    sends = re.compile(r"(?<!class )HttpClient\(|urlopen\(|http\.client|requests\.(post|get|put|Session)")
    files = (root / "eosctl").rglob("*.py")
    users = {str(path.relative_to(root / "eosctl")) for path in files if sends.search(path.read_text())}
    assert users - {"sandbox/site.py"} == {"clients/rest.py", "clients/oauthbearer.py"}
