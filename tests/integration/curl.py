"""`curl` as the pages use it: -X METHOD, -H HEADER, -d @FILE and a URL. It ends with 1 where the answer is an error."""

import argparse
import sys
from pathlib import Path

import httpx

from tests.integration.rebalance import is_for_now
from tests.waiting import eventually


def main(directory: str, *words: str) -> int:
    """The answer is on stdout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-X", default="GET", dest="method")
    parser.add_argument("-H", action="append", default=[], dest="headers")
    parser.add_argument("-d", default=None, dest="body")
    parser.add_argument("url")
    given = parser.parse_args(words)
    headers = dict(each.split(": ", 1) for each in given.headers)
    body = None if given.body is None else Path(directory, given.body.removeprefix("@")).read_bytes()
    answers: list[httpx.Response] = []

    def settled() -> bool:
        answer = httpx.request(
            given.method, given.url, headers=headers, content=body, timeout=90, trust_env=False, verify=False
        )
        answers.append(answer)
        return not is_for_now(answer)

    eventually(settled, f"{given.method} {given.url}")
    sys.stdout.write(f"{answers[-1].text}\n")
    return int(answers[-1].is_error)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
