"""A Kerberos realm on this machine: a KDC of MIT Kerberos in a directory of its own; the system's is not touched."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import eventually

REALM = "EOSCTL.TEST"
CONFIG = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""
KDC_CONFIG = """[kdcdefaults]
kdc_ports = ""
kdc_tcp_ports = {port}
[realms]
{realm} = {{
  database_name = {home}/principal
  key_stash_file = {home}/stash
  acl_file = {home}/acl
}}
"""


@dataclass(frozen=True)
class Realm:
    """Where its files are, and the environment with which Kerberos programs find it."""

    home: Path
    environment: dict[str, str]

    @property
    def config(self) -> Path:
        return self.home / "krb5.conf"

    def keytab(self, principal: str) -> Path:
        """A new principal with random keys, and the file that holds them."""
        path = self.home / f"{principal.replace('/', '-')}.keytab"
        self.run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}@{REALM}")
        self.run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}@{REALM}")
        return path

    def run(self, program: str, *arguments: object) -> str:
        command = [_found(program), *map(str, arguments)]
        ran = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=60, cwd=self.home
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


def _found(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found is not None, f"{program} is not installed: apt-get install krb5-kdc krb5-admin-server krb5-user"
    return found


@contextmanager
def realm(home: Path) -> Iterator[Realm]:
    """The realm REALM while it is served."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    facts = {"realm": REALM, "port": port, "home": home}
    (home / "krb5.conf").write_text(CONFIG.format(**facts))
    (home / "kdc.conf").write_text(KDC_CONFIG.format(**facts))
    named = {"KRB5_CONFIG": str(home / "krb5.conf"), "KRB5_KDC_PROFILE": str(home / "kdc.conf")}
    made = Realm(home, {**os.environ, **named})
    made.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of the realm")
    with (home / "kdc.log").open("w") as log:
        server = subprocess.Popen([_found("krb5kdc"), "-n", "-r", REALM], env=made.environment, stdout=log, stderr=log)
    try:
        eventually(lambda: _accepts(port), "the KDC listens")
        yield made
    finally:
        server.terminate()
        server.wait(10)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
