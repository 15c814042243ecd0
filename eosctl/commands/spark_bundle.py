"""`eosctl spark-bundle`: what spark-submit needs."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.shell.options import GlobalOptions, printing

app = typer.Typer()


@app.command("spark-bundle")
@printing
def spark_bundle(
    options: GlobalOptions,
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to write it.")],
) -> None:
    """Write what spark-submit needs to run an audit.

    Use it where Spark runs on other machines than this one: YARN, Kubernetes, a standalone cluster. On this machine
    `eosctl audit --engine spark` is enough. The directory's README.md has the commands.

    Examples:
      eosctl spark-bundle bundle
      eosctl spark-bundle bundle -o json

    Columns:
      FILE   the file
      BYTES  its size
    """
    from eosctl.executors.spark_bundle import write_spark_bundle
    from eosctl.render.views.spark_bundle import view_spark_bundle
    from eosctl.spark.quiet import QUIET

    written = write_spark_bundle(directory, QUIET)
    options.console.result(view_spark_bundle({str(path): path.stat().st_size for path in written}))
