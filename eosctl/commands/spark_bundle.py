"""`eosctl spark-bundle`: what spark-submit needs."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.render.answers.files import FILES, view_spark_bundle
from eosctl.shell.options import GlobalOptions, answer, printing, showing

app = typer.Typer()


@app.command("spark-bundle")
@showing(FILES)
@printing
def spark_bundle(
    options: GlobalOptions,
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="The directory to write to.")],
) -> int:
    """Write the files that spark-submit needs to run an audit.

    Use it if Spark runs on other machines: YARN, Kubernetes, a standalone cluster. On this machine `eosctl audit
    --engine spark` is enough. The directory's README.md has the commands.

    Examples:
      eosctl spark-bundle bundle
      eosctl spark-bundle bundle -o json
    """
    from eosctl.operations.audit import bundle_for_spark

    return answer(options, bundle_for_spark(directory), view_spark_bundle)
