"""`python -m tests.campaign.run 1 63`: eight histories for each of these seeds, on one site for some seeds at a time.

Each result is a line of build/campaign/results.jsonl; a seed with results there is not run again. The audited data
stays in build/campaign/<seed> after a wrong verdict. The table of counts is printed at the end. The exit code is 1
after a wrong verdict.
"""

import os
import shutil
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from tests.campaign.histories import Result, Round, append_results, count, kept_results, table
from tests.campaign.operations import Eosctl
from tests.campaign.site import Site, open_site
from tests.commands.conftest import Typed

KEPT = Path("build/campaign")
RESULTS = "results.jsonl"
AT_ONCE = 8
SEEDS_A_SITE = 8
"""Every second site has one worker, the others two."""
STEPS = 6
BOUNCED = 5
"""Every so many seeds exactly-once is switched off and on again."""


def run_seed(site: Site, seed: int, directory: Path, eosctl: Eosctl, recorded: Path | None = None) -> list[Result]:
    """The results of one seed; the audited data is kept in `recorded`."""
    histories = Round(site, seed, range(AT_ONCE), directory, eosctl)
    histories.play(STEPS, bounce=seed % BOUNCED == 0)
    results = list(histories.results(histories.report(recorded)))
    if recorded is not None:
        append_results(recorded / RESULTS, results)
    histories.clear()
    return results


def run_seeds(seeds: list[int], eosctl: Eosctl, kept: Path = KEPT) -> None:
    """All of them, on separate sites for some seeds at a time."""
    done = {each.seed for each in kept_results(kept / RESULTS)}
    left = [seed for seed in seeds if seed not in done]
    for number, of_site in groupby(left, key=lambda seed: seed // SEEDS_A_SITE):
        with (
            tempfile.TemporaryDirectory(prefix="eosctl-campaign-") as directory,
            open_site(Path(directory), workers=1 + number % 2) as site,
        ):
            for seed in of_site:
                results = run_seed(site, seed, Path(directory), eosctl, kept / str(seed))
                append_results(kept / RESULTS, results)
                if not any(each.why for each in results):
                    shutil.rmtree(kept / str(seed))
                sys.stdout.write(f"{seed} {' '.join(each.outcome for each in results)}\n")


def main(first: str, last: str) -> int:
    """Runs the seeds from first to last, both included."""
    with tempfile.TemporaryDirectory(prefix="eosctl-campaign-home-") as home:
        for name in [name for name in os.environ if name.startswith("EOSCTL_")]:
            del os.environ[name]
        os.environ |= {"XDG_CONFIG_HOME": f"{home}/config", "XDG_STATE_HOME": f"{home}/state"}
        run_seeds(list(range(int(first), int(last) + 1)), Typed().run)
    counts = count(kept_results(KEPT / RESULTS))
    sys.stdout.write(table(counts))
    seen = sorted(name for name in counts if name.startswith("witness of "))
    sys.stdout.writelines(f"{name}: {counts[name]}\n" for name in seen)
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
