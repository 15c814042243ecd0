"""A headless browser driven over the DevTools protocol: JSON messages with a zero byte after each, over two pipes."""

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.render.chromium import find_chromium

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-zygote",
    "--in-process-gpu",
    "--disable-extensions",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--remote-debugging-pipe",
)
# The protocol's pipes are the descriptors 3 and 4, which may be taken: both are moved out of the way first.
WITH_PIPES = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for number, pipe in enumerate(pipes, 3):
    os.dup2(pipe, number)
    os.close(pipe)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE_S = 60.0


class Browser:
    """One Chromium process; pages are opened in it."""

    def __init__(self, directory: Path) -> None:
        self._log = (directory / "browser.log").open("wb")
        self._start(directory / "profile")
        try:
            self.command("Browser.getVersion")
        except EOFError:  # Chromium on a busy machine may end as it starts, which says nothing of any page
            self.__exit__(None, None, None)
            self._log = (directory / "browser.log").open("ab")
            self._start(directory / "profile of the second start")

    def _start(self, profile: Path) -> None:
        chromium = find_chromium()
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        flags = (*FLAGS, f"--user-data-dir={profile}")
        self._process = subprocess.Popen(
            [sys.executable, "-c", WITH_PIPES, str(theirs_in), str(theirs_out), chromium.program, *flags],
            env=chromium.environment,
            pass_fds=(theirs_in, theirs_out),
            stdout=self._log,
            stderr=self._log,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._unread = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._out)
        os.close(self._in)
        self._log.close()

    def command(self, method: str, session: str | None = None, /, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result; events in between are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def events(self, session: str, *methods: str) -> list[dict[str, Any]]:
        """Parameters of the events so far of these kinds."""
        return [
            each["params"] for each in self._events if each.get("sessionId") == session and each["method"] in methods
        ]

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser said nothing; its log: {Path(self._log.name).read_text()[-2000:]}")
            part = os.read(self._in, 1 << 20)
            if not part:
                code = self._process.wait(PATIENCE_S)
                raise EOFError(f"the browser ended with {code}; its log: {Path(self._log.name).read_text()[-2000:]}")
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


class Page:
    """One tab, with its network requests and its complaints."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        target = browser.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self._do(f"{domain}.enable")

    def _do(self, method: str, /, **parameters: object) -> dict[str, Any]:
        return self._browser.command(method, self._session, **parameters)

    def shape(self, width: int, height: int = 900, *, phone: bool = False, dark: bool = False) -> Self:
        """As wide as that; on a phone with touch; with the reader's wish for a dark page."""
        self._do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self._do("Emulation.setTouchEmulationEnabled", enabled=phone)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._do("Emulation.setEmulatedMedia", features=features)
        return self

    def media(self, kind: str) -> Self:
        """As on a `screen`, or in `print`."""
        self._do("Emulation.setEmulatedMedia", media=kind)
        return self

    def open(self, file: Path) -> Self:
        """Load the file, and wait until the page says that its plots are drawn."""
        self._do("Page.navigate", url=file.as_uri())
        self.wait_for("document.documentElement.dataset.ready === 'yes'")
        return self

    def wait_for(self, condition: str) -> None:
        """Wait until this JavaScript is true, at every frame again."""
        loop = f"new Promise(done => {{const look = () => ({condition}) ? done(true) : setTimeout(look, 20); look()}})"
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                assert self.evaluate(loop) is True
            except RuntimeError:  # the page went away for the next one meanwhile
                continue
            return
        raise TimeoutError(condition)

    def evaluate(self, expression: str) -> Any:
        """The value of this JavaScript in the page; a promise's is waited for."""
        answer = self._do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, file: Path, *, whole: bool = True) -> Path:
        """A PNG of the view."""
        shot = self._do("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        file.write_bytes(base64.b64decode(shot["data"]))
        return file

    def _clip(self, whole: bool) -> Mapping[str, object]:
        if not whole:
            return {}
        size = self._do("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._do("Page.printToPDF", printBackground=True)["data"])

    def accessible(self) -> list[dict[str, Any]]:
        """The page for screen readers: roles and names, in order."""
        return self._do("Accessibility.getFullAXTree")["nodes"]

    def requests(self) -> list[str]:
        """The requested addresses, including the page's own; a `data:` URL needs no request."""
        sent = self._browser.events(self._session, "Network.requestWillBeSent")
        return [each["request"]["url"] for each in sent if not each["request"]["url"].startswith("data:")]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, of scripts and of the content security policy."""
        logged = self._browser.events(self._session, "Log.entryAdded")
        said = self._browser.events(self._session, "Runtime.consoleAPICalled")
        thrown = self._browser.events(self._session, "Runtime.exceptionThrown")
        return [
            *(each["entry"]["text"] for each in logged if each["entry"]["level"] != "verbose"),
            *(str(each["args"]) for each in said if each["type"] in {"error", "warning", "assert"}),
            *(str(each["exceptionDetails"]) for each in thrown),
        ]
