"""Ports are free ones, and nobody gets one twice."""

import multiprocessing
import socket

import pytest

from eosctl.errors import ConfigError
from eosctl.sandbox.site import FIRST, LAST, PortLeases


@pytest.fixture
def leases(tmp_path):
    made = PortLeases(tmp_path)
    yield made
    made.release()


def test_ports_are_free_and_below_those_of_outgoing_connections(leases):
    ports = [leases.take() for _ in range(20)]
    assert len(set(ports)) == 20
    assert all(FIRST <= port < LAST for port in ports)
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_two_sandboxes_never_get_the_same_port(leases, tmp_path):
    port = leases.take()
    with pytest.raises(ConfigError, match=f"port {port} is in use"):
        PortLeases(tmp_path).take(port)


def test_a_port_that_somebody_listens_on_is_refused(leases):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is in use"):
            leases.take(port)
        assert leases.take_if_free(port) != port


def test_a_released_port_can_be_taken_again(leases, tmp_path):
    port = leases.take()
    leases.release()
    other = PortLeases(tmp_path)
    assert other.take(port) == port
    other.release()


def take_and_die(directory, pipe):
    pipe.send(PortLeases(directory).take())
    multiprocessing.current_process().kill()


def test_the_ports_of_a_killed_process_are_free_again(leases, tmp_path):
    fork = multiprocessing.get_context("spawn")
    here, there = fork.Pipe()
    process = fork.Process(target=take_and_die, args=(tmp_path, there))
    process.start()
    port = here.recv()
    process.join(20)
    assert leases.take(port) == port
