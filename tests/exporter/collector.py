"""A collector of OpenTelemetry as far as the tests need one: it decodes what is pushed, with OTLP's own messages."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Series = dict[tuple[tuple[str, str], ...], float]


@dataclass
class Collector:
    """Its URL, and its received requests; status is its answer."""

    url: str = ""
    status: int = 200
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def requests(self) -> list[object]:
        """Each push as an ExportMetricsServiceRequest."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        return [ExportMetricsServiceRequest.FromString(each) for each in self.bodies]

    def series(self) -> dict[str, Series]:
        """Of the last push, the values of each metric by their attributes."""
        found: dict[str, Series] = {}
        for metric in self.metrics():
            for point in metric.gauge.data_points:
                attributes = tuple(sorted((each.key, each.value.string_value) for each in point.attributes))
                found.setdefault(metric.name, {})[attributes] = point.as_double or float(point.as_int)
        return found

    def metrics(self) -> list[object]:
        """The metrics of the last push."""
        [resource] = self.requests()[-1].resource_metrics
        [scope] = resource.scope_metrics
        return list(scope.metrics)

    def resource(self) -> dict[str, str]:
        """The attributes of who sent the last push."""
        [resource] = self.requests()[-1].resource_metrics
        return {each.key: each.value.string_value for each in resource.resource.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that listens while the block runs."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            collector.paths.append(self.path)
            collector.headers.append(headers)
            collector.bodies.append(gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
