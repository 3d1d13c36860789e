"""``barrow registry``: a release as a record for the public registry of differential privacy deployments."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from barrow.cli.files import write_new
from barrow.cli.terminal import Printer, output_options
from barrow.questions.statement import Publication
from barrow.study.formats import registry_record
from barrow.study.publication import publication_of
from barrow.study.verification import read_statement


@click.command()
@click.argument("folder", type=click.Path())
@click.option("--curator", help="Who publishes it, if the study does not say.")
@click.option("--purpose", help="What it is for, if the study does not say.")
@click.option("--region", help="The region that it is about, if the study does not say.")
@click.option("--contact", help="Who wrote the record; the curator by default.")
@click.option("--date", help="When it was published, e.g. 2026-11-18, if the release does not say.")
@click.option("--title", help="The title of the release.")
@click.option("--url", help="The address where it is published.")
@click.option("--out", type=click.Path(path_type=Path), help="Write to this new file instead of the screen.")
@output_options
def registry(folder: str, out: Path | None, output: Printer, **given: str | None) -> None:
    """Write the record of the release in FOLDER for the public registry of differential privacy deployments, as YAML.

    What the study's [publication] says is in the release already; options add to it. The guarantee is written as a
    custom variant with its privacy relation. Send the record to the registry yourself: nothing leaves this machine.

    \b
    Example:
      barrow registry release/map --out taxi.yaml
    """  # noqa: D301  (click reads the backspace)
    statement = read_statement(folder)
    said = {} if statement.publication is None else msgspec.to_builtins(statement.publication)
    told = publication_of({**said, **{name: value for name, value in given.items() if value}})
    record = registry_record(statement, told or Publication())
    if out is None:
        Printer(output.as_json).tell({"record": record}, None, record.rstrip("\n"))
        return
    write_new(out, [record.encode()], "--out another.yaml")
    output.tell({"record": record, "out": str(out)}, str(out), f"Wrote {out}.")
