"""Pushes by OTLP: a collector that decodes them gets what /metrics shows, and one that refuses them is reported."""

import contextlib
import socket
import sys
import threading
import time

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from eosctl.analysis.metrics.catalogue import METRICS, UNREAD_FACTS
from eosctl.errors import ConfigError, UsageError, install_command
from eosctl.exporter.exporter import Board, Exporter, Exposition
from eosctl.exporter.otlp import OtlpPush, endpoint_of
from eosctl.model.watch import Cycle, Metric, Observation, Sample
from tests.attack.hostile_worker import (
    answer,
    continue_for_ever,
    drip_body,
    drip_header,
    endless_chunks,
    hostile,
    ten_gigabytes,
)
from tests.exporter.collector import collecting
from tests.waiting import eventually

LAG = Metric("eosctl_test_lag", "How far it is behind.", ("topic", "partition"), 10)
OTHER = Metric("eosctl_test_other", "Another one.")
TABLE = (LAG, OTHER, *METRICS)
AS_OF = 1_790_000_000_123
STALE = (Sample(UNREAD_FACTS, (), 1),)


def board(lifetime_s=60.0, **profiles):
    """A board with these samples of each profile."""
    made = Board()
    for profile, samples in profiles.items():
        found = Observation(
            profile=profile, cycle=Cycle(AS_OF, 10, {}), cluster_id="K", samples=samples, when_stale=STALE
        )
        made.publish(found, lifetime_s)
    return made


def scraped(published):
    """The content of /metrics: each metric's values by their labels."""
    text = Exporter(published, Exposition(TABLE)).page("/metrics").body.decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for each in family.samples:
            found.setdefault(each.name, {})[tuple(sorted(each.labels.items()))] = each.value
    return found


@pytest.mark.parametrize(("user", "sent"), [("", None), ("ops:word@", "Basic b3BzOndvcmQ=")])
def test_a_collector_gets_no_password_but_that_of_its_url(user, sent, tmp_path, monkeypatch):
    """And none of ~/.netrc, which `requests` sends to any host that it names."""
    file = tmp_path / ".netrc"
    file.write_text("machine 127.0.0.1 login ops password other\n")
    file.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    with collecting() as collector:
        url = collector.url.replace("http://", f"http://{user}")
        assert OtlpPush(url, TABLE).push(board(east=(Sample(LAG, ("orders", "0"), 5),)).latest()) is None
        assert [each.get("authorization") for each in collector.headers] == [sent]


def test_a_collector_gets_the_values_that_metrics_shows():
    odd = Sample(LAG, ('a "quoted"\nname, \udce4', "1"), 0)
    published = board(
        east=(Sample(LAG, ("orders", "0"), 5), odd, Sample(OTHER, (), 1.5)), west=(Sample(LAG, ("orders", "0"), 7),)
    )
    with collecting() as collector:
        assert OtlpPush(collector.url, TABLE).push(published.latest()) is None
        assert collector.paths == ["/v1/metrics"]
        assert collector.series() == scraped(published)
        [lag, other] = collector.metrics()
    assert (lag.name, lag.description, lag.unit) == ("eosctl_test_lag", "How far it is behind.", "")
    assert {point.time_unix_nano for point in lag.gauge.data_points} == {AS_OF * 1_000_000}
    assert (other.name, collector.resource()["service.name"]) == ("eosctl_test_other", "eosctl-watch")


def test_samples_that_are_too_old_are_not_pushed_either():
    with collecting() as collector:
        assert OtlpPush(collector.url, TABLE).push(board(0.0, east=(Sample(OTHER, (), 3),)).latest()) is None
        assert collector.series() == {"eosctl_unread_facts": {(("profile", "east"),): 1}}


def test_the_environment_of_opentelemetry_holds(monkeypatch):
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{collector.url}/base")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=team-a")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
        assert OtlpPush("env", TABLE).push(board(east=(Sample(OTHER, (), 3),)).latest()) is None
        assert collector.paths == ["/base/v1/metrics"]
        assert collector.headers[0]["x-tenant"] == "team-a"
        assert collector.headers[0]["content-encoding"] == "gzip"
        assert collector.resource()["deployment.environment"] == "test"
        assert collector.series()["eosctl_test_other"] == {(("profile", "east"),): 3}


def test_a_collector_that_refuses_or_is_silent_is_a_failure_with_its_reason(monkeypatch, capfd):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.3")
    latest = board(east=(Sample(OTHER, (), 3),)).latest()
    with collecting() as collector:
        collector.status = 401
        why = OtlpPush(collector.url, TABLE).push(latest)
        assert "401" in why or "Unauthorized" in why
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert "due to timeout" in OtlpPush(nobody, TABLE).push(latest)
    assert capfd.readouterr() == ("", ""), "it is eosctl that says so"


def pushed_to(attack):
    """Why a push to a collector that does this failed, and how long it took."""
    with hostile(attack) as url:
        began = time.monotonic()
        return OtlpPush(url, TABLE).push(board(east=(Sample(OTHER, (), 3),)).latest()), time.monotonic() - began


@pytest.mark.parametrize("attack", [drip_header, drip_body, continue_for_ever])
def test_a_collector_that_drips_is_late_after_the_whole_timeout(monkeypatch, attack):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    why, seconds = pushed_to(attack)
    assert why == "the collector did not answer within 0.5 s"
    assert seconds < 3


def test_a_tls_handshake_that_drips_is_late_too(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")

    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"\x16\x03\x03\x40\x00")
                while True:
                    connection.sendall(b"\x02")
                    threading.Event().wait(0.05)

        threading.Thread(target=drip, daemon=True).start()
        began = time.monotonic()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        why = OtlpPush(url, TABLE).push(board(east=(Sample(OTHER, (), 3),)).latest())
    assert why == "the collector did not answer within 0.5 s"
    assert time.monotonic() - began < 3


def test_a_name_that_is_looked_up_for_ever_makes_a_push_late_and_is_not_looked_up_twice(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.3")
    real, over, asked = socket.getaddrinfo, threading.Event(), []

    def look_up(host, *args, **options):
        if host == "localhost":
            asked.append(host)
            over.wait(60)
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    latest = board(east=(Sample(OTHER, (), 3),)).latest()
    with collecting() as collector:
        push, began = OtlpPush(collector.url.replace("127.0.0.1", "localhost"), TABLE), time.monotonic()
        assert [push.push(latest) for _ in range(3)] == ["the collector did not answer within 0.3 s"] * 3
        assert (asked, time.monotonic() - began < 3) == (["localhost"], True)
        over.set()
        eventually(lambda: push.push(latest) is None, "a push that succeeds")


@pytest.mark.parametrize("status", ["101 Switching Protocols", "503 Busy\r\nRetry-After: 999999", "429 Slower"])
def test_a_status_other_than_2xx_is_no_success_and_is_named(monkeypatch, status):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    head = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"
    why, seconds = pushed_to(lambda connection, _: connection.sendall(head.encode()))
    assert status[:3] in why
    assert seconds < 3


def test_an_error_that_the_sdk_does_not_expect_ends_one_push(monkeypatch):
    push = OtlpPush("http://127.0.0.1:1", TABLE)
    monkeypatch.setattr(push, "_data", lambda _: {}["no data"])
    assert push.push({}) == "KeyError: 'no data'"


@pytest.mark.parametrize("attack", [ten_gigabytes, endless_chunks])
def test_of_an_answer_without_end_64_kib_are_read(attack):
    sent = []

    def counting(connection, path):
        class Counting:
            def sendall(self, data):
                connection.sendall(data)
                sent.append(len(data))

        attack(Counting(), path)

    why, seconds = pushed_to(counting)
    assert why is None, "the status is 200"
    assert (seconds < 5, sum(sent) < 16 << 20) == (True, True)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_is_no_success(status):
    with collecting() as victim:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {victim.url}/v1/metrics\r\nContent-Length: 0\r\n\r\n"
        why, _ = pushed_to(lambda connection, _: connection.sendall(head.encode()))
        assert why == f"the collector answered {status}, and a redirect is not followed"
        assert victim.bodies == []


def test_values_that_a_collector_rejects_are_reported():
    partial = ExportMetricsPartialSuccess(rejected_data_points=1, error_message="too\x1b old")
    body = ExportMetricsServiceResponse(partial_success=partial).SerializeToString()
    why, _ = pushed_to(lambda connection, _: connection.sendall(answer("200 OK", body)))
    assert why.startswith("the collector rejected 1 values: 'too")
    assert "\x1b" not in why


def test_10000_label_sets_are_served_and_pushed_whole():
    published = board(east=tuple(Sample(LAG, (f"t{number}", "0"), number) for number in range(10_000)))
    with collecting() as collector:
        assert OtlpPush(collector.url, TABLE).push(published.latest()) is None
        assert collector.series() == scraped(published)
        assert len(collector.series()["eosctl_test_lag"]) == 10_000


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://c:4318", "http://c:4318/v1/metrics"),
        ("https://c/", "https://c/v1/metrics"),
        ("https://c/base/v1/metrics", "https://c/base/v1/metrics"),
        ("env", None),
    ],
)
def test_a_url_is_that_of_a_collector_or_of_its_metrics(url, endpoint):
    assert endpoint_of(url) == endpoint


@pytest.mark.parametrize("url", ["c:4318", "grpc://c:4317", "http://", "", "http://[c", "http://c:port", "http://c:0"])
def test_a_malformed_url_is_a_usage_error(url):
    with pytest.raises(UsageError, match="is no URL"):
        endpoint_of(url)


def test_without_the_extra_the_error_names_its_installation(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    with pytest.raises(ConfigError, match="--otlp needs opentelemetry") as caught:
        OtlpPush("http://c:4318", TABLE)
    assert caught.value.hint == install_command("otlp")
