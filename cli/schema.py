"""`granite schema`: the JSON Schema of a testbed, for editors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import Overwrite
from granite.cli.outputs import refuse_output
from granite.cli.screen import out, print_json
from granite.config.errors import InputError


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
    refuse_output("schema", file, (".json",), overwrite)
    unfinished = file.with_name(f".granite-{os.getpid()}.json")
    try:
        unfinished.write_text(json.dumps(bed_schema(), indent=2) + "\n", encoding="utf-8")
        os.replace(unfinished, file)
    except OSError as error:
        raise InputError(f"schema '{file}' can't be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    out.print(f"schema: {file}", soft_wrap=True)
    out.print(f"use it: the first line of a testbed is  #:schema {file.resolve()}", soft_wrap=True)
