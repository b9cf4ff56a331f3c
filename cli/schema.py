"""`granite schema`: the JSON Schema of a testbed, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import Overwrite
from granite.cli.screen import out, print_json
from granite.config.whole_file import write_whole


def schema(
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the schema, *.json; default: the screen")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """The JSON Schema of a testbed: with it an editor completes keys, explains them and marks wrong ones."""
    from granite.config.schema import bed_schema

    if file is None:
        print_json(bed_schema())
        return
    with write_whole("schema", file, (".json",), overwrite) as unfinished:
        unfinished.write_text(json.dumps(bed_schema(), indent=2) + "\n", encoding="utf-8")
    out.print(f"schema: {file}", soft_wrap=True)
    out.print(f"use it: the first line of a testbed is  #:schema {file.resolve()}", soft_wrap=True)
