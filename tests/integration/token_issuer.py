"""An identity provider: a token endpoint for client credentials, and the keys that its tokens are signed with."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, SECRET = "tool", "geheim:es?"
AUDIENCE = "kafka"
GRANTED_S = 600


def coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class Issuer:
    """Signs tokens with one RSA key; `granted` are the claims of those that were given out."""

    url: str = ""
    audience: str = AUDIENCE
    granted: list[dict[str, object]] = field(default_factory=list)
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    @property
    def token_endpoint(self) -> str:
        return f"{self.url}/token"

    @property
    def jwks_endpoint(self) -> str:
        return f"{self.url}/jwks"

    def jwks(self) -> dict[str, object]:
        numbers = self.key.public_key().public_numbers()
        n, e = (coded(each.to_bytes((each.bit_length() + 7) // 8)) for each in (numbers.n, numbers.e))
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": n, "e": e}]}

    def token(self, client: str) -> str:
        now = int(time.time())  # noqa: TID251  # tokens end by the clock
        claims = {"iss": self.url, "aud": self.audience, "sub": client, "iat": now, "exp": now + GRANTED_S}
        self.granted.append(claims)
        parts = ".".join(coded(json.dumps(each).encode()) for each in ({"alg": "RS256", "kid": "1"}, claims))
        return f"{parts}.{coded(self.key.sign(parts.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def answer(self, path: str, authorization: str | None, form: str) -> tuple[int, dict[str, object]]:
        """Status and body for one request."""
        if path == "/jwks":
            return 200, self.jwks()
        basic = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != basic or parse_qs(form).get("grant_type") != ["client_credentials"]:
            return 401, {"error": "invalid_client"}
        return 200, {"access_token": self.token(CLIENT), "token_type": "Bearer", "expires_in": GRANTED_S}


@contextmanager
def issuer() -> Iterator[Issuer]:
    """An Issuer that answers on this machine."""
    made = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer("")

        def do_POST(self):
            self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, form):
            status, body = made.answer(self.path, self.headers["Authorization"], form)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
